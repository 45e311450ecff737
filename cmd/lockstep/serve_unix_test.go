//go:build unix

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A pipe instead of a directory is refused at once.
func TestServeRefusesPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, os.Args[0], "serve", name)
	c.Env = append(os.Environ(), asProgram+"=1")
	said, _ := c.CombinedOutput()
	if c.ProcessState.ExitCode() != 3 || !strings.Contains(string(said), "pipe is not a directory") {
		t.Errorf("%v: %s", c.ProcessState, said)
	}
}
