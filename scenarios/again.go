package scenarios

import (
	"testing"

	"lockstep/scenarios/script"
)

// replayVariable is the environment variable with the token of a run; a test plays only that run instead of a search.
const replayVariable = "LOCKSTEP_REPLAY"

// seeAgain is a command that makes a test play a run again, and nothing else.
func seeAgain(t *testing.T, page *script.Scenario) string {
	token, err := page.Token()
	if err != nil {
		return "there is no token to see it again: " + err.Error()
	}
	command := "see it again: " + replayVariable + "=" + token + " go test -run " + quote(only(t.Name()))
	if p := packagePath(); p != "" {
		command += " " + p
	}
	return command
}
