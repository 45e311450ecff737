package scenarios

import (
	"context"
	"fmt"
	"os"

	"lockstep/scenarios/script"
)

// replayVariable is the environment variable with the token of a run, or the file with its scenario. [Explore] and [Limits] play that
// run instead of a search, and [Test] instead of the catalogue.
const replayVariable = "LOCKSTEP_REPLAY"

// replayed returns the scenario that replayVariable names; nil if it is not set.
func replayed(ctx context.Context) (*script.Scenario, error) {
	name := os.Getenv(replayVariable)
	if name == "" {
		return nil, nil
	}
	load := func(name string) (*script.Scenario, error) { return script.Load(ctx, name) }
	if script.IsToken(name) {
		load = script.FromToken
	}
	page, err := load(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", replayVariable, err)
	}
	return page, nil
}

// seeAgain is a command that makes a test, or a fuzz target, play a run again, and nothing else.
func seeAgain(test string, page *script.Scenario) string {
	token, err := page.Token()
	if err != nil {
		return "there is no token to see it again: " + err.Error()
	}
	command := "see it again: " + replayVariable + "=" + token + " go test -run " + quote(only(test))
	if p := packagePath(); p != "" {
		command += " " + p
	}
	return command
}
