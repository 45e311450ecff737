//go:build !js

package sim

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestWASM: a run has the same trace on another machine: that of browsers, with 32-bit pointers and a single thread. It needs Node.
func TestWASM(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program twice")
	}
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir := t.TempDir()
	build := func(name string, env ...string) string {
		out := filepath.Join(dir, name)
		cmd := exec.Command("go", "build", "-o", out, "./testdata/checksums")
		cmd.Env = append(os.Environ(), env...)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, text)
		}
		return out
	}
	run := func(path string, args ...string) string {
		cmd := exec.Command(path, args...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")} // GOOS=js has room for 12 kB of arguments and environment
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, text)
		}
		return string(text)
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	native := run(build("native" + exeSuffix()))
	node := run(filepath.Join(strings.TrimSpace(string(goroot)), "lib", "wasm", "go_js_wasm_exec"), build("js.wasm", "GOOS=js", "GOARCH=wasm"))
	if native != node || strings.Count(native, "\n") != 5 {
		t.Errorf("native:\n%s\nWASM:\n%s", native, node)
	}
}

func exeSuffix() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}
