//go:build !wasm

package wasm

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"lockstep/sim/overlay"
)

// source says where the source of the program of guests is, and what it is.
var source struct {
	dir   string // empty if it is not known
	test  bool   // a test, not a main package
	known bool   // it contains only locks of this project
}

func init() {
	if testing.Testing() { // go test starts a test in the directory of its package; the test may change it
		source.test = true
		source.dir, _ = os.Getwd()
	}
}

// SetSource sets the directory of the program of guests, which is a main package. Without it, the program of guests is the test
// that is running. Known says that the program contains only locks of this project.
func SetSource(dir string, known bool) {
	if dir != "" {
		if abs, err := filepath.Abs(dir); err == nil {
			dir = abs
		}
	}
	source.dir, source.test, source.known = dir, false, known
}

// SourceUnderTest returns the directory of the program of guests, empty if it is not known, and the options with which the go command builds
// it. It reports false if the program contains only locks of this project.
func SourceUnderTest() (dir string, options []string, ok bool) {
	return source.dir, tags(), !source.known
}

// Self returns the file of the program of guests, compiled to WebAssembly, and the directory in which [Compile] keeps its machine
// code. The first call builds the program with the go command, which takes up to two minutes, and keeps what it builds. When ctx ends, that
// is given up.
func Self(ctx context.Context) (program, cache string, err error) {
	self.Lock()
	defer self.Unlock()
	if !self.known {
		self.built = built{}
		self.err = self.build(ctx)
		self.known = ctx.Err() == nil
	}
	return self.program, self.cache, self.err
}

var self struct {
	sync.Mutex
	built
	known bool
}

// Native builds the program of guests for this machine, and returns its file, which is kept in the cache. It calls build with the
// directory of the source, whether that is a test, the options of the go command, and the file to write.
func Native(ctx context.Context, build func(ctx context.Context, src string, test bool, options []string, target string) error) (string, error) {
	if source.dir == "" {
		return "", errNoSource
	}
	dir, err := cacheDir()
	if err != nil {
		return "", err
	}
	prune(dir, keptSize)
	ctx, cancel := context.WithTimeout(ctx, buildLimit)
	defer cancel()
	target := filepath.Join(dir, sourceName()+".native")
	defer note("compiling this program with a package time that can be set, for clients on real servers")()
	if err := build(ctx, source.dir, source.test, tags(), target); err != nil {
		return "", err
	}
	touch(target)
	return target, nil
}

var errNoSource = errors.New("it is not known where its source is")

// sourceName is the name of the source in the cache.
func sourceName() string {
	sum := sha256.Sum256([]byte(fmt.Sprint(source)))
	return fmt.Sprintf("%x", sum[:8])
}

type built struct {
	program, cache string
	err            error
}

// buildLimit is the longest time that the go command may take.
const buildLimit = 10 * time.Minute

func (r *built) build(ctx context.Context) error {
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("there is no go command")
	}
	if source.dir == "" {
		return errNoSource
	}
	dir, err := cacheDir()
	if err != nil {
		return err
	}
	prune(dir, keptSize)
	ctx, cancel := context.WithTimeout(ctx, buildLimit)
	defer cancel()
	// Each package has a file of its own: the go command replaces the file only if the program has changed.
	target := filepath.Join(dir, sourceName()+".wasm")
	var args []string
	if source.test {
		args = []string{"test", "-c", "-vet=off"}
	} else {
		args = []string{"build"}
	}
	args = append(args, "-ldflags=-s -w", "-o", target)
	changed, err := overlay.Write(ctx, source.dir, dir, "guest", hostName, map[string][]byte{"runtime/lockstep.go": runtimeAdded})
	if err != nil {
		return err
	}
	args = append(args, "-overlay", changed)
	args = append(args, tags()...)
	args = append(args, ".")
	defer note("compiling this program to WebAssembly, which some runs need (clients whose code calls package time, shares package variables, or waits for a mutex)")()
	for try := 1; ; try++ {
		_, said, err := overlay.Go(ctx, source.dir, []string{"GOOS=wasip1", "GOARCH=wasm", "GOWASM=", "CGO_ENABLED=0"}, args...)
		if err != nil {
			return fmt.Errorf("go %s: %w: %s", args[0], err, firstLines(said))
		}
		touch(target)
		// Another process may be writing the same file.
		if err = r.take(ctx, target); err == nil || try == buildTries {
			return err
		}
		select {
		case <-time.After(time.Duration(try) * time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// note prints what is being done if it takes longer than a second. The function that it returns must be called at the end.
func note(doing string) (done func()) {
	t := time.AfterFunc(time.Second, func() {
		fmt.Fprintf(os.Stderr, "lockstep: %s; this takes some ten seconds after each edit, and up to two minutes the first time\n", doing)
	})
	return func() { t.Stop() }
}

// hostName makes os.Hostname return the environment variable HOSTNAME. In the standard library it always returns wasip1.
var hostName = []overlay.Change{{
	File: "syscall/syscall_wasip1.go", N: 1,
	Old: "\t\treturn \"wasip1\", nil\n",
	New: "\t\tif name, ok := Getenv(\"HOSTNAME\"); ok {\n\t\t\treturn name, nil\n\t\t}\n\t\treturn \"wasip1\", nil\n",
}}

// runtimeAdded is what [Restart] calls.
//
//go:embed runtime.go.txt
var runtimeAdded []byte

// buildTries is how often a program is built that cannot be compiled to machine code.
const buildTries = 4

// take compiles a program to machine code, once, before several workers need it. It keeps a copy of the program beside its machine code,
// which nobody replaces while they read it.
func (r *built) take(ctx context.Context, program string) error {
	code, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	if r.cache, err = cacheOf(code, filepath.Dir(program)); err != nil {
		return err
	}
	compiled := make(chan error, 1)
	go func() {
		m, err := Compile(ctx, code, r.cache)
		if err == nil {
			m.Close()
		}
		compiled <- err
	}()
	select {
	case err = <-compiled:
	case <-ctx.Done(): // it cannot be interrupted, but nobody has to wait for it
		err = ctx.Err()
	}
	if err != nil {
		return err
	}
	r.program = filepath.Join(r.cache, "program.wasm")
	if _, err := os.Stat(r.program); err == nil {
		return nil
	}
	f, err := os.CreateTemp(r.cache, "new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(code)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), r.program)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// tags returns the build tags of this program, as options of the go command.
func tags() []string {
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, s := range b.Settings {
			if s.Key == "-tags" && s.Value != "" {
				return []string{"-tags", s.Value}
			}
		}
	}
	return nil
}

// firstLines returns the first lines that the go command printed, joined into one.
func firstLines(out []byte) string {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	return string(bytes.Join(lines[:min(3, len(lines))], []byte("; ")))
}
