//go:build !unix

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
)

// become runs another program, and ends as that one does.
func become(ctx context.Context, file string, args []string) error {
	run := exec.CommandContext(ctx, file, args...)
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) } // it ends by itself, with what it has to put away
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := run.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ended.ExitCode() > 0 {
		return status(ended.ExitCode())
	}
	return err
}
