package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lockstep/clients/libraries"
	"lockstep/internal/draws"
	"lockstep/scenarios/script"
)

// The same program, compiled to WebAssembly and run by Node, prints the same results with the same checksums: nothing in a run depends on
// the machine. For libraries only the results are the same. The order of what they do at one instant without messages, such as collecting
// the errors of a cancelled context, depends on the Go scheduler, which is a different one there.
func TestWebAssembly(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the program for another system")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("node is missing, and CI must not pass by skipping")
		}
		t.Skip("node is missing")
	}
	wasm := filepath.Join(t.TempDir(), "lockstep.wasm")
	build := exec.Command("go", "build", "-o", wasm, ".")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	root := strings.TrimSpace(command(t, os.Environ(), "go", "env", "GOROOT"))
	glue := filepath.Join(root, "lib", "wasm", "wasm_exec_node.js")
	found, err := filepath.Glob("../../scenarios/search/testdata/found/*.txtar")
	if err != nil || len(found) == 0 {
		t.Fatalf("no counterexamples: %v", err)
	}
	stories, err := script.Stories()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i, s := range stories { // a sweep is up to a hundred runs, and each run takes five times as long there
		parts := uint64(4)
		if len(s.Sweep) > 0 {
			parts = 24
		}
		if draws.Due(uint64(i), parts) {
			names = append(names, withoutGuests(s)...)
		}
	}
	for _, files := range [][]string{names, found} {
		args := append([]string{"run", "--json"}, files...)
		// The glue code of Go has room for only a few arguments and a small environment.
		there := command(t, []string{"PATH=" + os.Getenv("PATH")}, node, append([]string{"--stack-size=8192", glue, wasm}, args...)...)
		here := command(t, append(os.Environ(), asProgram+"=1"), os.Args[0], args...)
		there, here = withoutChecksums(there), withoutChecksums(here)
		if there != here {
			t.Errorf("WebAssembly and native results differ:\n%s\n%s", firstDifference(there, here), firstDifference(here, there))
		}
	}
	out := command(t, []string{"PATH=" + os.Getenv("PATH")}, node, "--stack-size=8192", glue, wasm, "replay", found[0])
	if !strings.Contains(out, "the same run, to the byte") {
		t.Errorf("replayed as WebAssembly:\n%s", out)
	}
}

// withoutGuests names a scenario, or, if some of its runs have guests, its other runs: a guest cannot have guests.
func withoutGuests(s *script.Scenario) (names []string) {
	for _, r := range s.Runs {
		if !r.Guests {
			names = append(names, s.Name+"/"+r.ID())
		}
	}
	if len(names) == len(s.Runs) {
		return []string{s.Name}
	}
	return names
}

// withoutChecksums removes the checksums from the lines of libraries.
func withoutChecksums(lines string) string {
	checksum := regexp.MustCompile(`"checksum":"[^"]*",`)
	var b strings.Builder
	for line := range strings.Lines(lines) {
		for _, l := range libraries.Locks() {
			if strings.Contains(line, `"lock":"`+l.Name+`"`) {
				line = checksum.ReplaceAllString(line, "")
			}
		}
		b.WriteString(line)
	}
	return b.String()
}

func command(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Env = env
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, stderr.String(), out)
	}
	return string(out)
}

// firstDifference returns the first line of a that differs from the same line of b.
func firstDifference(a, b string) string {
	bs := strings.Split(b, "\n")
	for i, line := range strings.Split(a, "\n") {
		if i >= len(bs) || line != bs[i] {
			return line
		}
	}
	return "(nothing more)"
}

// program runs the program, which may end with any status.
func program(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	stdout, stderr, code := outputs(t, args...)
	return stdout + stderr, code
}

// outputs runs the program, and returns apart what it says of its progress.
func outputs(t *testing.T, args ...string) (out, progress string, code int) {
	t.Helper()
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), asProgram+"=1")
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := c.Run(); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), code
}
