// Package fromc compiles programs in C to WebAssembly, for tests.
package fromc

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Compile compiles a program, and returns the path of the module in a directory of the test. Without a compiler it skips the test, but
// fails it if CI is set.
func Compile(t testing.TB, name, source string, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath("clang"); err != nil {
		missing(t, "clang is missing")
	}
	if _, err := os.Stat("/usr/include/wasm32-wasi/stdio.h"); err != nil {
		missing(t, "wasi-libc is missing")
	}
	module := filepath.Join(t.TempDir(), name)
	args := append([]string{"--target=wasm32-wasi", "-O2", "-Wall", "-Wextra", "-Werror", "-o", module}, append(flags, source)...)
	if out, err := exec.Command("clang", args...).CombinedOutput(); err != nil {
		t.Fatalf("clang %q: %v\n%s", args, err, out)
	}
	return module
}

func missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why + ", and CI must not pass by skipping; make wasi-libc gets it")
	}
	t.Skip(why + "; make wasi-libc gets it")
}
