package ci

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A gitlabJob is a job of GitLab, with the keys that docs/ci uses.
type gitlabJob struct {
	Stage string `yaml:"stage"`
	Needs words  `yaml:"needs"`
	Rules []struct {
		If string `yaml:"if"`
	} `yaml:"rules"`
	Parallel int `yaml:"parallel"`
	Retry    struct {
		Max  int   `yaml:"max"`
		When words `yaml:"when"`
	} `yaml:"retry"`
	ResourceGroup string `yaml:"resource_group"`
	Script        words  `yaml:"script"`
	Cache         struct {
		Key   string `yaml:"key"`
		Paths words  `yaml:"paths"`
		When  string `yaml:"when"`
	} `yaml:"cache"`
	Artifacts struct {
		When     string `yaml:"when"`
		Paths    words  `yaml:"paths"`
		ExpireIn string `yaml:"expire_in"`
		Reports  struct {
			JUnit string `yaml:"junit"`
		} `yaml:"reports"`
	} `yaml:"artifacts"`
}

// A gitlab is the file of a pipeline.
type gitlab struct {
	Variables map[string]string `yaml:"variables"`
	Stages    words             `yaml:"stages"`
	Default   struct {
		Image string `yaml:"image"`
	} `yaml:"default"`
	Source  string    `yaml:".source"`
	Comment string    `yaml:".comment"`
	Lock    gitlabJob `yaml:"lock"`
	Build   gitlabJob `yaml:"build"`
	Replay  gitlabJob `yaml:"replay"`
	Search  gitlabJob `yaml:"search"`
	Merge   gitlabJob `yaml:"merge"`
	Ledger  gitlabJob `yaml:"ledger"`
}

func readGitLab(t *testing.T) (g gitlab, jobs map[string]gitlabJob) {
	t.Helper()
	strict(t, "gitlab.yml", &g)
	return g, map[string]gitlabJob{"lock": g.Lock, "build": g.Build, "replay": g.Replay, "search": g.Search, "merge": g.Merge, "ledger": g.Ledger}
}

func TestGitLabSchema(t *testing.T) {
	g, jobs := readGitLab(t)
	for name, j := range jobs {
		if !slices.Contains(g.Stages, j.Stage) || len(j.Script) == 0 || len(j.Rules) != 1 {
			t.Errorf("the job %s needs a script, a rule, and one of the stages %v: %+v", name, g.Stages, j)
		}
		for _, needed := range j.Needs {
			if slices.Index(g.Stages, jobs[needed].Stage) > slices.Index(g.Stages, j.Stage) || jobs[needed].Rules[0] != j.Rules[0] {
				t.Errorf("the job %s cannot need %s, which may not be there", name, needed)
			}
		}
	}
}

// A pipeline runs jobs as a runner of GitLab does, each in a project directory of its own.
type pipeline struct {
	t         *testing.T
	variables map[string]string
	jobs      map[string]gitlabJob
	artifacts string
	bin       string // has a git that clones this repository from nowhere
	issues    *issues
}

func newPipeline(t *testing.T) *pipeline {
	g, jobs := readGitLab(t)
	p := &pipeline{t, g.Variables, jobs, t.TempDir(), t.TempDir(), newIssues(t)}
	const git = `#!/bin/bash
set -eu
[ "$*" = "clone --quiet --depth 1 --branch REF https://gitlab.com/OWNER/lockstep.git .lockstep" ]
ln -s %q .lockstep
`
	write(t, filepath.Join(p.bin, "git"), fmt.Sprintf(git, repository))
	if err := os.Chmod(filepath.Join(p.bin, "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

const iid = "12"

// run runs a job, and returns what it printed and its status. The index is that of a job with parallel.
func (p *pipeline) run(name, project string, index int) (string, int) {
	p.t.Helper()
	j := p.jobs[name]
	for _, needed := range j.Needs {
		for _, from := range must(filepath.Glob(filepath.Join(p.artifacts, needed+"-*"))) {
			copyTree(p.t, from, project, true)
		}
	}
	// The runner puts the entries one after the other.
	c := exec.Command("bash", "-eo", "pipefail", "-c", strings.Join(j.Script, "\n"))
	c.Dir = project
	c.Env = environ("PATH="+p.bin+":"+os.Getenv("PATH"), "CI=true", "CI_PIPELINE_IID="+iid, "CI_API_V4_URL="+p.issues.url, "CI_PROJECT_ID=4",
		"CI_PIPELINE_URL=https://gitlab.com/me/mine/-/pipelines/12")
	for name, value := range p.variables {
		if strings.HasPrefix(name, "GO") { // this test has no network, and needs the modules that are there
			if cached := p.jobs["build"].Cache.Paths; !strings.HasPrefix(value, "$CI_PROJECT_DIR/"+cached[0]+"/") {
				p.t.Errorf("%s is %s, which is not in the cache %v", name, value, cached)
			}
			continue
		}
		c.Env = append(c.Env, name+"="+value)
	}
	if j.Parallel > 0 {
		c.Env = append(c.Env, fmt.Sprintf("CI_NODE_INDEX=%d", index), fmt.Sprintf("CI_NODE_TOTAL=%d", shardCount))
	} else {
		c.Env = append(c.Env, "CI_NODE_TOTAL=1") // and no index
	}
	out, status := script(p.t, c)
	if status == 0 || j.Artifacts.When == "always" {
		for _, path := range j.Artifacts.Paths {
			if from := filepath.Join(project, path); exists(from) {
				copyTree(p.t, from, filepath.Join(p.artifacts, fmt.Sprintf("%s-%d", name, index), path), true)
			}
		}
	}
	return out, status
}

// issues are those of project 4 on a server of GitLab, which takes one token.
type issues struct {
	url  string
	sent []url.Values // what was sent to make the issue and its comments
	open bool
}

func newIssues(t *testing.T) *issues {
	i := &issues{}
	mux := http.NewServeMux()
	const all = "/projects/4/issues"
	mux.HandleFunc("GET "+all, func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("labels") != "lockstep" || q.Get("state") != "opened" {
			t.Errorf("the issues that are asked for are %v, not the open ones with the label lockstep", q)
		}
		if !i.open {
			fmt.Fprint(w, "[]")
			return
		}
		fmt.Fprintf(w, `[{"id":76,"iid":7,"project_id":4,"milestone":{"iid":3},"title":"a \"notes\":\"b\" c","_links":{"self":"%[1]s/7","notes":"%[1]s/7/notes","project":"%[1]s"}}]`, i.url+all)
	})
	post := func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		i.sent = append(i.sent, r.PostForm)
		i.open = true
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, "{}")
	}
	mux.HandleFunc("POST "+all, post)
	mux.HandleFunc("POST "+all+"/7/notes", post)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Private-Token") != "glpat-secret" {
			http.Error(w, "401 Unauthorized", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	i.url = s.URL
	return i
}

func TestGitLabLock(t *testing.T) {
	if testing.Short() {
		t.Skip("it tests locks in a module of their own")
	}
	p := newPipeline(t)
	for _, row := range []struct {
		flawed bool
		status int
		want   []string
	}{
		{false, 0, []string{"ok  \tmylock/sound"}},
		{true, 1, []string{"ok  \tmylock/sound", "--- FAIL: TestFlawed", "FAIL\tmylock/flawed"}},
	} {
		project := t.TempDir()
		newModule(t, project, row.flawed)
		out, status := p.run("lock", project, 0)
		says(t, out, status, row.status, row.want...)
		if want := "lockstep/_artifacts/**/junit*.xml"; p.jobs["lock"].Artifacts.Reports.JUnit != want {
			t.Errorf("the reports are %s, want %s", p.jobs["lock"].Artifacts.Reports.JUnit, want)
		}
		kept(t, filepath.Join(p.artifacts, "lock-0/lockstep"), "/index.html", "/junit.xml")
	}
	kept(t, filepath.Join(p.artifacts, "lock-0/lockstep"), "TestFlawed-release-race-single.jsonl")
}

func TestGitLabSearch(t *testing.T) {
	if testing.Short() {
		t.Skip("it plays a search in shards")
	}
	p := newPipeline(t)
	p.variables["SEARCH"] = strings.Join(arguments, "\n") + "\n"
	out, status := p.run("build", t.TempDir(), 0)
	says(t, out, status, 0)

	second := t.TempDir()
	for shard, project := range []string{t.TempDir(), second, t.TempDir()} {
		out, status := p.run("search", project, shard+1)
		says(t, out, status, 0, fmt.Sprintf("shard %d/%d is complete: ", shard+1, shardCount))
	}
	want := alone(t, environ(), iid)
	merged := func() {
		t.Helper()
		project := t.TempDir()
		out, status := p.run("merge", project, 0)
		says(t, out, status, 0)
		same(t, "the text", read(t, filepath.Join(project, "night.txt")), want.text)
		same(t, "the JSON", read(t, filepath.Join(project, "night.json")), want.json)
		same(t, "what was saved", tree(t, filepath.Join(project, "found")), want.found)
	}
	merged()

	// A job that was interrupted, and finds its shard in its cache.
	shard := filepath.Join(second, "shards/2")
	kept := interrupt(t, shard)
	if err := os.RemoveAll(filepath.Join(p.artifacts, "search-2")); err != nil {
		t.Fatal(err)
	}
	out, status = p.run("merge", t.TempDir(), 0)
	says(t, out, status, 3, "lockstep: shard 2 of 3 is missing\n")
	out, status = p.run("search", second, 2)
	says(t, out, status, 0)
	continued(t, shard, kept)
	merged()

	// On the first night, what is found is new, and the job fails. On the second, a replay finds it again. The cache carries the ledger over.
	cache := t.TempDir()
	job := func(name, day string) (string, int) {
		p.variables["CI_PIPELINE_CREATED_AT"] = day + "T23:05:00Z"
		project := t.TempDir()
		copyTree(t, cache, project, true)
		out, status := p.run(name, project, 0)
		for _, path := range p.jobs[name].Cache.Paths {
			if exists(filepath.Join(project, path)) {
				copyTree(t, filepath.Join(project, path), filepath.Join(cache, path), true)
			}
		}
		return out, status
	}
	out, status = job("replay", "2026-11-20")
	says(t, out, status, 0)
	p.variables["LOCKSTEP_TOKEN"] = "glpat-secret"
	out, status = job("ledger", "2026-11-20")
	says(t, out, status, 1, "1 new, 0 regressed, 0 ongoing, 0 resolved")
	out, status = job("replay", "2026-11-21")
	says(t, out, status, 0, "night 2026-11-21: replays of single", "0 new, 0 regressed, 1 ongoing, 0 resolved")
	out, status = job("ledger", "2026-11-21")
	says(t, out, status, 0, "night 2026-11-21: 1 search and replays of single", "0 new, 0 regressed, 1 ongoing, 0 resolved")

	// The first night opened an issue, and the second was silent. When everything is new again, the open issue is told. A token that is
	// refused, and none, do not hide that something is new.
	if len(p.issues.sent) != 1 {
		t.Fatalf("what was sent: %v, want one issue", p.issues.sent)
	}
	made := p.issues.sent[0]
	same(t, "the title", made.Get("title"), "The nightly search has found new or regressed violations")
	same(t, "the label", made.Get("labels"), "lockstep")
	says(t, made.Get("description"), 0, 0, "night 2026-11-20: 1 new", "| **new** |", "https://gitlab.com/me/mine/-/pipelines/12\n")
	for _, token := range []string{"glpat-secret", "glpat-old", ""} {
		p.variables["LOCKSTEP_TOKEN"] = token
		if err := os.RemoveAll(cache); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(cache, 0o755); err != nil {
			t.Fatal(err)
		}
		out, status = job("ledger", "2026-11-22")
		if token == "glpat-old" {
			says(t, out, status, 22, "1 new", "error: 401")
		} else {
			says(t, out, status, 1, "1 new")
		}
	}
	if len(p.issues.sent) != 2 {
		t.Fatalf("what was sent: %v, want an issue and a comment", p.issues.sent)
	}
	says(t, p.issues.sent[1].Get("body"), 0, 0, "night 2026-11-22: 1 new")

	parallel := p.jobs["search"]
	parallel.Parallel = 0
	p.jobs["search"] = parallel
	out, status = p.run("search", t.TempDir(), 1)
	says(t, out, status, 1, "CI_NODE_INDEX: must be set: the job must have parallel")
}
