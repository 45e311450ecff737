package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"lockstep/reports"
)

// companion is the program that does the commands which need a queue or a database. It is a module of its own, so that nobody else
// links those.
const companion = "lockstep-fleet"

// newCompanion makes a command that the companion carries out.
func newCompanion(name, short string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              short,
		DisableFlagParsing: true,
		RunE:               func(c *cobra.Command, args []string) error { return runCompanion(c, append([]string{name}, args...)) },
	}
}

// findCompanion looks beside this program, and then on PATH.
func findCompanion() (string, error) {
	name := companion
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	return exec.LookPath(name)
}

func runCompanion(c *cobra.Command, args []string) error {
	file, err := findCompanion()
	if err != nil {
		return fmt.Errorf("this needs the program %s, beside lockstep or on PATH; make fleet builds it", companion)
	}
	run := exec.CommandContext(c.Context(), file, args...)
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) } // it ends by itself, with what it has to put away
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, os.Stdout, os.Stderr    // if they are a terminal, it must know
	err = run.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ended.ExitCode() > 0 {
		return status(ended.ExitCode())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", reports.Visible(file), err)
	}
	return nil
}
