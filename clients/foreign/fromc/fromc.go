// Package fromc compiles programs in C to WebAssembly, for tests.
package fromc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Compile compiles a program, and returns the path of the module in a directory of the test. Without a compiler it skips the
// test, but fails it if CI is set.
func Compile(t testing.TB, name, source string, flags ...string) string {
	t.Helper()
	if out, err := compiler(); err != nil {
		why := fmt.Sprintf("there is no compiler from C to WebAssembly, which make wasi-libc gets: clang: %v %s", err, out)
		if os.Getenv("CI") != "" {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	module := filepath.Join(t.TempDir(), name)
	args := append([]string{"--target=wasm32-wasi", "-O2", "-Wall", "-Wextra", "-Werror", "-o", module}, append(flags, source)...)
	if out, err := exec.Command("clang", args...).CombinedOutput(); err != nil {
		t.Fatalf("clang %q: %v\n%s", args, err, out)
	}
	return module
}

// compiler tries the compiler with the smallest program.
var compiler = sync.OnceValues(func() ([]byte, error) {
	c := exec.Command("clang", "--target=wasm32-wasi", "-x", "c", "-", "-o", os.DevNull)
	c.Stdin = strings.NewReader("int main(void) { return 0; }")
	return c.CombinedOutput()
})
