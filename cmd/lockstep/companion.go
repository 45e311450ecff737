package main

import (
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
func newCompanion(name, short, example string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              short,
		Example:            "  " + example,
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			file, err := findCompanion()
			if err != nil {
				return fmt.Errorf("lockstep %s needs the program %s, beside lockstep or on PATH; make fleet builds it", name, companion)
			}
			if err := become(c.Context(), file, append([]string{name}, args...)); err != nil {
				if _, ok := err.(status); ok {
					return err
				}
				return fmt.Errorf("%s: %w", reports.Visible(file), err)
			}
			return nil
		},
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
