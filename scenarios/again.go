package scenarios

import (
	"testing"

	"lockstep/scenarios/script"
)

// replayVariable is how a test is given a token: what it looks for otherwise is only this run then.
const replayVariable = "LOCKSTEP_REPLAY"

// seeAgain is what to type to have a test play a run again in the place of what it does otherwise.
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
