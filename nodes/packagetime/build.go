package packagetime

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Tag is the build tag of programs that [Build] makes.
const Tag = "lockstep_packagetime"

//go:embed added.go.txt
var added []byte

// A change replaces a text that occurs n times in a file of the standard library.
type change struct {
	file     string // below GOROOT/src
	old, new string
	n        int
}

// changes puts the clocks of the process between package time and the runtime. Build checks how often each text occurs, so it
// refuses a release of Go whose package time is different.
var changes = []change{
	{"time/time.go", ":= runtimeNow()", ":= ownNow()", 1},
	{"time/time.go", "runtimeNano()-startNano", "ownNano()-startNano", 2},
	{"time/sleep.go", "func Sleep(d Duration)\n", "func Sleep(d Duration) { machineSleep(Duration(ownWait(int64(d)))) }\n", 1},
	{"time/sleep.go", "runtimeNano() + int64(d)\n", "runtimeNano() + ownWait(int64(d))\n", 1},
	{"time/tick.go", "when(d), int64(d)", "when(d), ownWait(int64(d))", 2},
	{"runtime/time.go", "//go:linkname timeSleep time.Sleep\n", "//go:linkname timeSleep time.machineSleep\n", 1},
	{"internal/poll/fd_poll_runtime.go", "d = int64(time.Until(t))\n", "d = ownWait(int64(time.Until(t)))\n", 1},
	{"internal/poll/fd_poll_runtime.go", "func setDeadlineImpl(", "//go:linkname ownWait time.lockstepWait\nfunc ownWait(d int64) int64\n\nfunc setDeadlineImpl(", 1},
}

// Supported says why programs cannot be built with another package time on this machine; nil if they can.
func Supported() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("the package time of a client can be set only on Linux, not on %s", runtime.GOOS)
	}
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("there is no go command")
	}
	return nil
}

// Build compiles the package in the directory src, or its test, into the file target, with the given options of the go command.
// The first call compiles the standard library, which takes up to two minutes.
func Build(ctx context.Context, src string, test bool, options []string, target string) error {
	if err := Supported(); err != nil {
		return err
	}
	overlay, err := overlay(ctx, src, filepath.Dir(target))
	if err != nil {
		return err
	}
	args := []string{"build"}
	if test {
		args = []string{"test", "-c", "-vet=off"}
	}
	args = append(args, "-overlay", overlay, "-ldflags=-s -w", "-o", target)
	if out, err := goCommand(ctx, src, append(append(args, withTag(options)...), ".")...); err != nil {
		lines := strings.SplitN(strings.TrimSpace(string(out)), "\n", 4)
		return fmt.Errorf("go %s -overlay: %w: %s", args[0], err, strings.Join(lines[:min(3, len(lines))], "; "))
	}
	return nil
}

// withTag adds the tag to options that may have tags.
func withTag(options []string) []string {
	if len(options) == 2 && options[0] == "-tags" {
		return []string{"-tags", options[1] + "," + Tag}
	}
	return append([]string{"-tags", Tag}, options...)
}

func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "GOOS=", "GOARCH=")
	return cmd.CombinedOutput()
}

// overlay writes the changed files, and the file that tells the go command about them, into a directory below dir.
func overlay(ctx context.Context, src, dir string) (file string, err error) {
	out, err := goCommand(ctx, src, "env", "GOROOT")
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w: %s", err, out)
	}
	root := filepath.Join(strings.TrimSpace(string(out)), "src")
	files := map[string][]byte{filepath.Join(root, "time", "lockstep.go"): added}
	for _, c := range changes {
		path := filepath.Join(root, filepath.FromSlash(c.file))
		if files[path] == nil {
			if files[path], err = os.ReadFile(path); err != nil {
				return "", err
			}
		}
		if n := bytes.Count(files[path], []byte(c.old)); n != c.n {
			return "", fmt.Errorf("%s contains %q %d times, not %d: Lockstep does not know the package time of this release of Go", path, c.old, n, c.n)
		}
		files[path] = bytes.ReplaceAll(files[path], []byte(c.old), []byte(c.new))
	}
	sum := sha256.Sum256(fmt.Append(nil, root, changes, string(added))) // each release of Go and of Lockstep has its own directory
	dir = filepath.Join(dir, fmt.Sprintf("packagetime-%x", sum[:6]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for path, text := range files {
		rel, _ := filepath.Rel(root, path)
		replace[path] = filepath.Join(dir, strings.ReplaceAll(filepath.ToSlash(rel), "/", "_"))
		if err := write(replace[path], text); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, "overlay.json")
	return file, write(file, text)
}

// write writes a file that another process may be reading: it never sees a part of it.
func write(path string, text []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}
