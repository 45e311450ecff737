package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// A goCommand runs the go command on the source of Lockstep.
type goCommand struct {
	why string   // what it does, for an error: it "compiles the program"
	dir string   // where it runs; empty for the source
	env []string // in addition to the environment
}

// run runs the go command, and returns what it prints.
func (g goCommand) run(ctx context.Context, args ...string) (string, error) {
	tool, err := exec.LookPath("go")
	if err != nil {
		return "", fmt.Errorf("the go command must be on the PATH, because it %s", g.why)
	}
	source, err := sourceDir(g.why)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Dir = source
	if g.dir != "" {
		cmd.Dir = g.dir
	}
	cmd.Env = append(append(cmd.Environ(), "GOFLAGS="), g.env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
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
