package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"lockstep/sim/overlay"
)

// A goCommand runs the go command on the source of Lockstep.
type goCommand struct {
	why string   // what it does, for an error: it "compiles the program"
	dir string   // where it runs; empty for the source
	env []string // in addition to the environment
}

// run runs the go command, and returns what it prints.
func (g goCommand) run(ctx context.Context, args ...string) (string, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return "", fmt.Errorf("the go command must be on the PATH, because it %s", g.why)
	}
	source, err := sourceDir(g.why)
	if err != nil {
		return "", err
	}
	out, said, err := overlay.Go(ctx, cmp.Or(g.dir, source), append([]string{"GOFLAGS="}, g.env...), args...)
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, strings.TrimSpace(string(said)))
	}
	return string(out), nil
}

// sourceDir is the directory of this file, from which the program was built.
func sourceDir(why string) (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if _, err := os.Stat(file); !ok || err != nil {
		return "", errors.New("the source of Lockstep must be where this program was built from, because the go command " + why + " from it")
	}
	return filepath.Dir(file), nil
}
