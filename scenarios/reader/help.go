package reader

import (
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// A Help is what the playground says about the language. The rows are those of its reference, the documentation of package script.
type Help struct {
	Example string             `json:"example"` // a whole scenario
	Steps   []script.StepForm  `json:"steps"`
	Faults  []history.FaultRow `json:"faults"`
}

const example = `# A pause outlives the lease.

client c1
  acquire
  pause 15s
  write A
client c2
  acquire within 20s
  write B

-- redlock nodes=5 --
`

// NewHelp returns the help.
func NewHelp() Help {
	return Help{example, script.StepForms(), history.FaultRows()}
}
