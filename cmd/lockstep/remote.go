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

// passwordEnv is where redis-cli looks for a password, too. Unlike a URL it is in no list of processes.
const passwordEnv = "REDISCLI_AUTH"

// ownServers reports whether --on names servers, and reads them if it does. From then on --on is what it is for any real server.
func (f *runFlags) ownServers() error {
	if !strings.ContainsAny(f.on, ":@,/") {
		return nil
	}
	var err error
	if f.servers, err = live.ParseRemotes(f.on, os.Getenv(passwordEnv)); err != nil {
		return fmt.Errorf("--on: %w", err)
	}
	f.on = play.OnReal
	os.Unsetenv(passwordEnv) // what is started from here on need not have it
	return nil
}

// where is what --on says, without credentials.
func (f *runFlags) where() string {
	if len(f.servers) > 0 {
		return f.servers.String()
	}
	return f.on
}

// refuse says why a run cannot be done on real servers.
func (f *runFlags) refuse(s *script.Scenario, r script.Section) error {
	if len(f.servers) > 0 {
		return play.CheckRemote(s, r, f.speed, f.servers)
	}
	return play.CheckRedis(s, r, f.speed)
}

// greet makes sure that the servers of somebody are there, and fit.
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

// leftKeys says what is left on somebody's servers. If nothing else is wrong, every run has ended, and some of them as UNKNOWN,
// for the reason that kept the keys there: then that is what there is to tell, and no error is left.
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
