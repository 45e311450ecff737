package ci

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
)

// An action is the file of a composite action.
type action struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
	Inputs      map[string]struct {
		Description string  `yaml:"description"`
		Default     *string `yaml:"default"`
	} `yaml:"inputs"`
	Outputs map[string]struct {
		Description string `yaml:"description"`
		Value       string `yaml:"value"`
	} `yaml:"outputs"`
	Runs struct {
		Using string `yaml:"using"`
		Steps []step `yaml:"steps"`
	} `yaml:"runs"`
}

func readAction(t *testing.T) action {
	t.Helper()
	var a action
	strict(t, "action.yml", &a)
	return a
}

// lint checks a workflow. An action that the workflow uses may be in this repository.
func lint(t *testing.T, name, text string) []*actionlint.Error {
	t.Helper()
	var printed bytes.Buffer
	l, err := actionlint.NewLinter(&printed, &actionlint.LinterOptions{Shellcheck: "shellcheck"}) // if it is there
	if err != nil {
		t.Fatal(err)
	}
	project, err := actionlint.NewProject(repository)
	if err != nil {
		t.Fatal(err)
	}
	found, err := l.Lint(filepath.Join(repository, ".github/workflows", name), []byte(text), project)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestActionSchema(t *testing.T) {
	a := readAction(t)
	if a.Runs.Using != "composite" || a.Name == "" || a.Description == "" {
		t.Errorf("this is no composite action: %+v", a)
	}
	for name, in := range a.Inputs {
		if in.Default == nil || in.Description == "" {
			t.Errorf("the input %s needs a description and a default", name)
		}
	}
	for _, s := range a.Runs.Steps {
		if s.Run != "" && s.Shell == "" {
			t.Errorf("step %s: in a composite action, a script needs a shell", s.Name)
		}
	}
	const use = "on: push\njobs:\n  lock:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: ./docs/ci\n        with:\n          %: ./lock\n"
	for input, want := range map[string]int{"packages": 0, "package": 1} {
		if found := lint(t, "lock.yml", strings.ReplaceAll(use, "%", input)); len(found) != want {
			t.Errorf("a workflow that gives the input %s has %d mistakes, want %d: %v", input, len(found), want, found)
		}
	}
}

// act runs the action in a repository.
func act(t *testing.T, workspace string, inputs map[string]string) *job {
	t.Helper()
	a := readAction(t)
	r := newJob(t, t.TempDir())
	r.workspace = workspace
	all := map[string]string{}
	for name, in := range a.Inputs {
		all[name] = *in.Default
	}
	for name, value := range inputs {
		all[name] = value
	}
	r.contexts["inputs"] = all
	r.run(a.Runs.Steps)
	return r
}

func TestAction(t *testing.T) {
	if testing.Short() {
		t.Skip("it tests locks in a module of their own")
	}
	workspace := t.TempDir()
	newModule(t, filepath.Join(workspace, "go"), true)
	before := tree(t, workspace)

	r := act(t, workspace, map[string]string{"working-directory": "go", "packages": "./sound", "args": "-count 1\n-v"})
	r.ended(false, "Lockstep is the one of this action, in "+repository, "--- PASS: TestMyLock/pause-after-acquire/single")
	if strings.Contains(r.log, "::error") {
		t.Errorf("there are annotations:\n%s", r.log)
	}
	says(t, read(t, r.summary), 0, 0, "TestMyLock", " proved ")
	kept(t, filepath.Join(r.service, "artifacts/lockstep"), "/index.html", "/junit.xml", "TestMyLock.txt")

	r = act(t, workspace, map[string]string{"working-directory": "go", "artifact": "mine"})
	r.ended(true, "\n::error title=TestFlawed/release-race/single", "--- FAIL: TestFlawed", "see it again: ")
	says(t, read(t, r.summary), 0, 0, "TestMyLock", "TestFlawed")
	kept(t, filepath.Join(r.service, "artifacts/mine"), "/index.html", "/junit.xml", "TestMyLock.txt", "TestFlawed-release-race-single.jsonl")

	if after := tree(t, workspace); after != before {
		t.Errorf("the action has changed the repository:\n%s", after)
	}
}

// TestActionInputs: what is not right ends with one annotation that says so, and no input becomes a part of a script.
func TestActionInputs(t *testing.T) {
	workspace := t.TempDir()
	write(t, filepath.Join(workspace, "go.mod"), "module mylock\n\ngo 1.26\n")
	write(t, filepath.Join(workspace, "go.sum"), "")
	for _, row := range []struct{ input, value, want string }{
		{"packages", " \n", "::error title=Lockstep::The input packages must name a package, such as ./..."},
		{"args", "-v -json", "::error title=Lockstep::The input args must not have -json"},
		{"args", "-outputdir=x", "::error title=Lockstep::The input args must not have -outputdir"},
		{"working-directory", "docs", "there is no file docs/go.mod"},
		{"packages", "./x; touch pwned; $(touch pwned) `touch pwned` *", "malformed import path"},
		{"packages", "go.*", `malformed import path "go.*"`},
		{"args", "'; touch pwned; \" ' && touch pwned", "malformed import path"},
	} {
		r := act(t, workspace, map[string]string{row.input: row.value})
		r.ended(true, row.want)
		if names := must(os.ReadDir(workspace)); len(names) != 2 {
			t.Errorf("%s %q: the directory has %v", row.input, row.value, names)
		}
	}
}
