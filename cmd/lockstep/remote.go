package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockstep/nodes/live"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// passwordEnv is the variable in which redis-cli, too, looks for a password. Unlike a URL it does not show in lists of processes.
const passwordEnv = "REDISCLI_AUTH"

// ownServers parses the servers that --on names, if it names any. From then on, --on has the value that it has for all real servers.
func (f *runFlags) ownServers() error {
	if !strings.ContainsAny(f.on, ":@,/") {
		return nil
	}
	var err error
	if f.servers, err = live.ParseRemotes(f.on, os.Getenv(passwordEnv)); err != nil {
		return fmt.Errorf("--on: %w", err)
	}
	f.on = play.OnReal
	os.Unsetenv(passwordEnv) // processes started from here on do not need it
	return nil
}

// where is the value of --on, without credentials.
func (f *runFlags) where() string {
	if len(f.servers) > 0 {
		return f.servers.String()
	}
	return f.on
}

// refuse says why a run cannot be made on real servers.
func (f *runFlags) refuse(s *script.Scenario, r script.Section) error {
	if len(f.servers) > 0 {
		return play.CheckRemote(s, r, f.speed, f.servers)
	}
	return play.CheckRedis(s, r, f.speed)
}

// greet checks that the user's servers can be reached, and are suitable.
func (f *runFlags) greet(c *cobra.Command) error {
	if len(f.servers) == 0 {
		return nil
	}
	warnings, err := play.CheckServers(c.Context(), f.servers)
	for _, w := range warnings {
		fmt.Fprintln(c.ErrOrStderr(), "lockstep:", w)
	}
	return err
}

// leftKeys prints which keys are left on the user's servers. If every run has ended nevertheless, this is no error: the runs that left
// keys are UNKNOWN, for the same reason.
func leftKeys(w io.Writer, outcomes []*play.Outcome, err error) error {
	e, ok := errors.AsType[*live.LeftKeysError](err)
	if !ok {
		return err
	}
	fmt.Fprintln(w, "lockstep:", e)
	if slices.Contains(outcomes, nil) {
		return err
	}
	return nil
}
