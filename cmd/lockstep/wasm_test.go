package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The same program, compiled to WebAssembly and run by Node, prints the same results with the same checksums: nothing in a
// run depends on the machine.
func TestWebAssembly(t *testing.T) {
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
	// The glue has room for few arguments and little environment.
	there := command(t, []string{"PATH=" + os.Getenv("PATH")}, node, "--stack-size=8192", glue, wasm, "run", "--json")
	here := command(t, append(os.Environ(), asProgram+"=1"), os.Args[0], "run", "--json")
	if there != here {
		t.Errorf("WebAssembly and native results differ:\n%s\n%s", firstDifference(there, here), firstDifference(here, there))
	}
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

// firstDifference returns the first line of a that is not in the same place in b.
func firstDifference(a, b string) string {
	bs := strings.Split(b, "\n")
	for i, line := range strings.Split(a, "\n") {
		if i >= len(bs) || line != bs[i] {
			return line
		}
	}
	return "(nothing more)"
}
