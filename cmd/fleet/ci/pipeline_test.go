package ci

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// repository is the root of this repository, and files the directory of the files under test.
var (
	repository = must(filepath.Abs("../../.."))
	files      = filepath.Join(repository, "docs/ci")
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// strict decodes a file, and refuses keys that the type does not have.
func strict(t *testing.T, name string, into any) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(read(t, filepath.Join(files, name))))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// environ is the environment of a script: that of this process, without what belongs to a pipeline in which this test itself may run.
// Nothing is to be had from the network that this repository does not need itself. With -trimpath, what has been compiled in one directory
// need not be compiled again in another.
func environ(more ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(e string) bool {
		return regexp.MustCompile(`^(GITHUB|CI|RUNNER|INPUT|LOCKSTEP|GITLAB)(_\w+)?=|^GOWORK=`).MatchString(e)
	})
	env = append(env, "GOFLAGS=-trimpath -buildvcs=false -vet=off", "GOPROXY=off", "GOSUMDB=off", "GOWORK=off")
	return append(env, more...)
}

// script runs a command in a directory, and returns what it printed and its status.
func script(t *testing.T, c *exec.Cmd) (out string, status int) {
	t.Helper()
	var b bytes.Buffer
	c.Stdout, c.Stderr = &b, &b
	c.WaitDelay = 10 * time.Second
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return b.String(), c.ProcessState.ExitCode()
}

// says demands that a script ended with a status, and printed some things.
func says(t *testing.T, out string, status, wantStatus int, want ...string) {
	t.Helper()
	if status != wantStatus {
		t.Fatalf("status %d, want %d:\n%s", status, wantStatus, out)
	}
	for _, w := range want {
		if !strings.Contains(out, w) {
			t.Errorf("the output does not contain %q:\n%s", w, out)
		}
	}
}

// copyTree copies files and directories. The mode of a file stays as it is only if it should: an artifact of GitHub loses it.
func copyTree(t *testing.T, from, to string, keepMode bool) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, must(filepath.Rel(from, path)))
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		mode := fs.FileMode(0o644)
		if info, err := d.Info(); err == nil && keepMode {
			mode = info.Mode()
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		os.Remove(target)
		return os.WriteFile(target, data, mode)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkout copies this repository, as it is now.
func checkout(t *testing.T, to string) {
	t.Helper()
	c := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	c.Dir = repository
	list, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		if from := filepath.Join(repository, name); exists(from) {
			copyTree(t, from, filepath.Join(to, name), true)
		}
	}
}

// program is lockstep, in a directory of its own, which every user can read.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "lockstep-ci-")
	if err != nil {
		return "", err
	}
	c := exec.Command("go", "build", "-o", filepath.Join(dir, "lockstep"), "./cmd/lockstep")
	c.Dir, c.Env, c.Stderr = repository, environ(), os.Stderr
	return filepath.Join(dir, "lockstep"), errors.Join(c.Run(), os.Chmod(dir, 0o755))
})

func TestMain(m *testing.M) {
	status := m.Run()
	if name, _ := program(); name != "" {
		os.RemoveAll(filepath.Dir(name))
	}
	os.Exit(status)
}

func lockstep(t *testing.T) string {
	t.Helper()
	name, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// The search that the tests make in place of that in the files. It finds a violation in the bounded part. One argument has a space.
var arguments = []string{"--lock=single", "--replicas=1", "--bound=1", "--runs=60", "--kinds=failover,pause", "--property=lease exclusion"}

// shardCount is how many shards it has.
const shardCount = 3

// A result is what a search prints, and what it saves.
type result struct{ text, json, found string }

// alone is the result of one process.
func alone(t *testing.T, env []string, seed string) result {
	t.Helper()
	dir := t.TempDir()
	run := func(want int, args ...string) string {
		c := exec.Command(lockstep(t), args...)
		c.Dir, c.Env = dir, env
		var stderr bytes.Buffer
		c.Stderr = &stderr
		out, err := c.Output()
		if c.ProcessState == nil || c.ProcessState.ExitCode() != want {
			t.Fatalf("lockstep %s: %v\n%s", strings.Join(args, " "), err, &stderr)
		}
		return string(out)
	}
	search := slices.Concat([]string{"explore"}, arguments, []string{"--seed=" + seed})
	r := result{text: run(1, append(search, "--out=found")...), json: run(0, "version", "--json") + run(1, append(search, "--json")...)}
	r.found = tree(t, filepath.Join(dir, "found"))
	if !strings.Contains(r.found, "\nexpect lease exclusion violated") {
		t.Fatalf("the search finds nothing:\n%s", r.text)
	}
	return r
}

// tree is all files of a directory as one text.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b.WriteString("-- " + must(filepath.Rel(dir, path)) + " --\n" + read(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s is not that of one process:\n%s\n--- one process:\n%s", what, got, want)
	}
}

// interrupt makes of a complete shard one whose machine was switched off half-way, in the middle of a line. It returns the part of the
// answers that must not be played again.
func interrupt(t *testing.T, shard string) (kept string) {
	t.Helper()
	answers := filepath.Join(shard, "answers.jsonl")
	text := read(t, answers)
	half := text[:strings.Index(text[len(text)/2:], "\n")+len(text)/2+1]
	write(t, answers, half+text[len(half):][:10])
	var manifest map[string]any
	if err := json.Unmarshal([]byte(read(t, filepath.Join(shard, "shard.json"))), &manifest); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"answers", "sha256"} {
		delete(manifest, key)
	}
	manifest["complete"] = false
	write(t, filepath.Join(shard, "shard.json"), string(must(json.Marshal(manifest))))
	return half
}

// continued demands that a shard that was interrupted has gone on where it was.
func continued(t *testing.T, shard, kept string) {
	t.Helper()
	got := read(t, filepath.Join(shard, "answers.jsonl"))
	if !strings.HasPrefix(got, kept) || len(got) == len(kept) {
		t.Errorf("the shard %s began anew, or did not go on", shard)
	}
}
