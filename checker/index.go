package checker

import (
	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// never is later than any instant of a run.
const never = history.NoEnd

// An index is the facts of a history, with methods for the properties and the musts.
type index struct {
	*facts.Facts
	needs []need // see unserved
}
