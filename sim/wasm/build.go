//go:build !wasm

package wasm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"sync"
	"testing"
	"time"
)

// source says where the source of the program of guests is.
var source struct {
	dir  string
	test bool
}

func init() {
	if testing.Testing() { // go test starts a test in the directory of its package; the test may change it
		source.test = true
		source.dir, _ = os.Getwd()
	}
}

// SetSource sets the directory of the program of guests, which is a main package. Without it, the program of guests is the test
// that is running.
func SetSource(dir string) {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	source.dir, source.test = dir, false
}

// Self returns the file of the program of guests, compiled to WebAssembly, and the directory in which [Compile] keeps its machine
// code. The first call builds the program with the go command, which takes up to two minutes, and keeps what it builds.
func Self() (program, cache string, err error) {
	r := self()
	return r.program, r.cache, r.err
}

var self = sync.OnceValue(func() (r built) {
	r.err = r.build(context.Background())
	return r
})

type built struct {
	program, cache string
	err            error
}

// buildLimit is the longest time that the go command may take.
const buildLimit = 10 * time.Minute

func (r *built) build(ctx context.Context) error {
	tool, err := exec.LookPath("go")
	if err != nil {
		return errors.New("there is no go command")
	}
	if source.dir == "" {
		return errors.New("it is not known where its source is")
	}
	dir, err := cacheDir()
	if err != nil {
		return err
	}
	prune(dir)
	r.cache = filepath.Join(dir, "code")
	ctx, cancel := context.WithTimeout(ctx, buildLimit)
	defer cancel()
	// Each package has a file of its own: the go command replaces the file only if the program has changed.
	name := sha256.Sum256([]byte(fmt.Sprint(source)))
	r.program = filepath.Join(dir, fmt.Sprintf("%x.wasm", name[:8]))
	var args []string
	if source.test {
		args = []string{"test", "-c", "-vet=off"}
	} else {
		args = []string{"build"}
	}
	args = append(args, "-ldflags=-s -w", "-o", r.program)
	args = append(args, tags()...)
	cmd := exec.CommandContext(ctx, tool, append(args, ".")...)
	cmd.Dir = source.dir
	cmd.Env = append(cmd.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWASM=", "CGO_ENABLED=0")
	note := time.AfterFunc(time.Second, func() {
		fmt.Fprintln(os.Stderr, "lockstep: compiling this program to WebAssembly, for clients whose code calls package time; this takes up to two minutes the first time")
	})
	defer note.Stop()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w: %s", args[0], err, firstLines(out))
	}
	code, err := os.ReadFile(r.program)
	if err != nil {
		return err
	}
	m, err := Compile(ctx, code, r.cache) // once, before several workers need it
	if err != nil {
		return err
	}
	return m.Close()
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

// cacheDir returns the directory for programs and their machine code. Everything in it may be deleted at any time.
func cacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	dir = filepath.Join(dir, "lockstep")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("the cache for it cannot be written: %w", err)
	}
	return dir, nil
}

// keptFor is how long a file of the cache is kept after it was last written.
const keptFor = 7 * 24 * time.Hour

// prune deletes the files of the cache that have not been written for longer than keptFor.
func prune(dir string) {
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > keptFor {
			os.Remove(path) // if this fails, it stays
		}
		return nil
	})
}
