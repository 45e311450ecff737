package scenarios

import (
	"fmt"
	"strings"
	"time"

	"lockstep/scenarios/play"
)

// mostInVain is how many runs in a row may fail to end for one reason. Test also gives up if at least so many runs have not ended, in a row
// or not, and together took at least so many times the limit. The remaining runs would most likely not end either, and each would take as
// long as its limit, until go test ended all of them and nothing was reported.
const mostInVain = 3

// A streak counts consecutive runs that did not end for the same reason.
type streak struct {
	reason string // the reason of the last run that did not end
	n      int    // in a row
	vain   int    // runs that did not end, in a row or not
	lost   time.Duration
}

// note takes a run into account.
func (s *streak) note(o *play.Outcome, took time.Duration) {
	if o.Report == nil {
		s.n = 0
		return
	}
	s.vain++
	s.lost += took
	if o.Report.Reason != s.reason {
		s.reason, s.n = o.Report.Reason, 0
	}
	s.n++
}

// hopeless says why the next run should be skipped, given the time that go test leaves for it; empty if it should not.
func (s *streak) hopeless(left, limit time.Duration) string {
	switch {
	case s.n >= mostInVain:
		return fmt.Sprintf("not run: the three runs before did not end: %s", s.reason)
	case s.vain >= mostInVain && s.lost >= mostInVain*limit:
		return fmt.Sprintf("not run: %d runs did not end and took %v together; the last of them: %s", s.vain, s.lost.Round(time.Second), s.reason)
	case s.n > 0 && left < limit+time.Second:
		return fmt.Sprintf("not run: go test ends in %v, and the one before did not end: %s", max(0, left).Round(time.Second), s.reason)
	}
	return ""
}

// whyUnended says why a run did not end.
func whyUnended(o *play.Outcome) string {
	switch {
	case o.NotRun:
		return o.Report.Reason
	case o.Report.Memory:
		return strings.TrimSpace(o.Report.String())
	}
	why := "the run did not end: " + strings.TrimSpace(o.Report.String())
	if o.Sweep != nil && o.Sweep.Worst != "" {
		why = "with the fault " + o.Sweep.Worst + "\n" + why
	}
	return why
}
