package ci

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// A step of a job or of a composite action.
type step struct {
	ID              string            `yaml:"id"`
	Name            string            `yaml:"name"`
	If              string            `yaml:"if"`
	Uses            string            `yaml:"uses"`
	With            map[string]string `yaml:"with"`
	Run             string            `yaml:"run"`
	Shell           string            `yaml:"shell"`
	Dir             string            `yaml:"working-directory"`
	Env             map[string]string `yaml:"env"`
	ContinueOnError bool              `yaml:"continue-on-error"`
}

// words are one word or a list.
type words []string

func (w *words) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*w = words{n.Value}
		return nil
	}
	return n.Decode((*[]string)(w))
}

// A job runs steps, as the runner of GitHub Actions does on a machine of its own.
type job struct {
	t         *testing.T
	workspace string
	temp      string
	service   string // what the service keeps: artifacts and caches
	summary   string // the file with the summaries of the steps
	contexts  contexts
	env       map[string]string
	leaveOut  []string // names of steps that are not run
	failed    bool
	log       string // what the steps have printed
}

// newJob makes a job. Jobs of one workflow have the same service.
func newJob(t *testing.T, service string) *job {
	r := &job{t: t, workspace: t.TempDir(), temp: t.TempDir(), service: service, env: map[string]string{}}
	r.summary = filepath.Join(r.temp, "summary")
	r.contexts = contexts{
		"github": contexts{"run_id": "1234", "run_attempt": "1", "action_path": files, "token": "secret", "repository": "me/mine", "server_url": "https://github.com"},
		"steps":  contexts{},
		"matrix": contexts{}, "strategy": contexts{}, "inputs": map[string]string{},
	}
	return r
}

func (r *job) run(steps []step) {
	r.t.Helper()
	left := slices.Clone(r.leaveOut)
	for i, s := range steps {
		name := fmt.Sprintf("step %d: %s", i+1, s.Name+s.Uses)
		if n := slices.Index(left, s.Name); s.Name != "" && n >= 0 {
			left = slices.Delete(left, n, n+1)
			continue
		}
		if strings.Contains(s.Run, "${{") {
			r.t.Errorf("%s: a script must get values from its environment, never as a part of its text", name)
		}
		if !r.condition(s.If) {
			continue
		}
		var err error
		if s.Uses != "" {
			err = r.use(s)
		} else {
			err = r.script(s)
		}
		if err != nil {
			r.log += fmt.Sprintf("%s: %v\n", name, err)
			r.failed = r.failed || !s.ContinueOnError
		}
	}
	if len(left) > 0 {
		r.t.Errorf("no steps have the names %q", left)
	}
}

// script runs the text of a step in bash.
func (r *job) script(s step) error {
	text, output := filepath.Join(r.temp, "script.sh"), filepath.Join(r.temp, "output")
	write(r.t, text, s.Run)
	write(r.t, output, "")
	shell := []string{"-e", text}
	if s.Shell == "bash" {
		shell = []string{"--noprofile", "--norc", "-eo", "pipefail", text}
	}
	c := exec.Command("bash", shell...)
	c.Dir = filepath.Join(r.workspace, r.text(s.Dir))
	c.Env = onGitHub("GITHUB_OUTPUT="+output, "GITHUB_STEP_SUMMARY="+r.summary, "GITHUB_WORKSPACE="+r.workspace, "RUNNER_TEMP="+r.temp, "GITHUB_ACTION_PATH="+files)
	for _, env := range []map[string]string{r.env, s.Env} {
		for name, value := range env {
			c.Env = append(c.Env, name+"="+r.text(value))
		}
	}
	out, status := script(r.t, c)
	r.log += out
	if s.ID != "" {
		outputs := map[string]string{}
		for line := range strings.Lines(read(r.t, output)) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			outputs[name] = value
		}
		r.contexts["steps"].(contexts)[s.ID] = contexts{"outputs": outputs}
	}
	if status != 0 {
		return fmt.Errorf("exit status %d", status)
	}
	return nil
}

func onGitHub(more ...string) []string {
	return environ(append([]string{"GITHUB_ACTIONS=true", "GITHUB_RUN_NUMBER=" + runNumber}, more...)...)
}

const runNumber = "41"

// use does what an action does.
func (r *job) use(s step) error {
	with := map[string]string{}
	for name, value := range s.With {
		with[name] = r.text(value)
	}
	action, _, _ := strings.Cut(s.Uses, "@")
	switch action {
	case "actions/checkout":
		if with["repository"] != "OWNER/lockstep" || with["ref"] != "REF" {
			return fmt.Errorf("it checks out %v", with)
		}
		checkout(r.t, r.workspace)
	case "actions/setup-go":
		for _, name := range []string{"go-version-file", "cache-dependency-path"} {
			if file := with[name]; file != "" && !exists(filepath.Join(r.workspace, file)) {
				return fmt.Errorf("there is no file %s", file)
			}
		}
	case "actions/upload-artifact":
		return r.upload(with)
	case "actions/download-artifact":
		return r.download(with)
	case "actions/cache/restore", "actions/cache/save":
		cache := filepath.Join(r.service, "cache", with["key"], with["path"])
		if here := filepath.Join(r.workspace, with["path"]); action == "actions/cache/save" {
			copyTree(r.t, here, cache, true)
		} else if cache = r.cached(cache, with); cache != "" {
			copyTree(r.t, cache, here, true)
		}
	default:
		r.t.Fatalf("this test does not know what %s does", s.Uses)
	}
	return nil
}

// cached returns what a cache restores: what was saved with the key or, if there is nothing, what was saved last with a key that begins with
// one of the others; empty if there is nothing at all.
func (r *job) cached(cache string, with map[string]string) string {
	if exists(cache) {
		return cache
	}
	for _, key := range strings.Fields(with["restore-keys"]) {
		all := must(filepath.Glob(filepath.Join(r.service, "cache", key+"*", with["path"])))
		if len(all) > 0 {
			return slices.MaxFunc(all, func(a, b string) int {
				return must(os.Stat(a)).ModTime().Compare(must(os.Stat(b)).ModTime())
			})
		}
	}
	return ""
}

// upload does what actions/upload-artifact@v4 does. Files in an artifact have no modes.
func (r *job) upload(with map[string]string) error {
	artifact := filepath.Join(r.service, "artifacts", with["name"])
	paths := strings.Fields(with["path"])
	if len(paths) == 0 || with["name"] == "" {
		return fmt.Errorf("it needs a name and a path, and has %v", with)
	}
	if exists(artifact) {
		if with["overwrite"] != "true" {
			return fmt.Errorf("there is an artifact %s already", with["name"])
		}
		if err := os.RemoveAll(artifact); err != nil {
			return err
		}
	}
	for _, path := range paths {
		from, to := path, artifact
		if !filepath.IsAbs(path) {
			from = filepath.Join(r.workspace, path)
		}
		if len(paths) > 1 { // then they are below the nearest directory that has all of them
			to = filepath.Join(artifact, path)
		}
		if exists(from) {
			copyTree(r.t, from, to, false)
		}
	}
	if !exists(artifact) && with["if-no-files-found"] == "error" {
		return fmt.Errorf("there is nothing to upload: %v", paths)
	}
	return nil
}

// download does what actions/download-artifact@v4 does. With a pattern, each artifact has a directory.
func (r *job) download(with map[string]string) error {
	to := filepath.Join(r.workspace, with["path"])
	if with["name"] != "" {
		from := filepath.Join(r.service, "artifacts", with["name"])
		if !exists(from) {
			return fmt.Errorf("there is no artifact %s", with["name"])
		}
		copyTree(r.t, from, to, false)
		return nil
	}
	for _, from := range must(filepath.Glob(filepath.Join(r.service, "artifacts", with["pattern"]))) {
		copyTree(r.t, from, filepath.Join(to, filepath.Base(from)), false)
	}
	return nil
}

// ended demands that the job has succeeded, or has failed, and has printed some things.
func (r *job) ended(failed bool, want ...string) {
	r.t.Helper()
	if r.failed != failed {
		r.t.Fatalf("the job has failed: %v, want %v:\n%s", r.failed, failed, r.log)
	}
	says(r.t, r.log, 0, 0, want...)
}
