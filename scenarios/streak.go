package scenarios

import (
	"fmt"
	"strings"
	"time"
)

// mostInVain is how many runs in a row may fail to end for one reason. Those after them would most likely do the same, each
// for as long as its limit allows, until go test ended the lot and nothing were reported at all.
const mostInVain = 3

// A streak counts the runs of a call that, one right after the other, did not end for the same reason.
type streak struct {
	reason string
	n      int
}

// note takes a run into account.
func (s *streak) note(o *Outcome) {
	switch {
	case o.Report == nil:
		*s = streak{}
	case o.Report.Reason == s.reason:
		s.n++
	default:
		*s = streak{o.Report.Reason, 1}
	}
}

// hopeless says why the next run is not worth its time, of which go test leaves it so much; empty if it is.
func (s *streak) hopeless(left, limit time.Duration) string {
	switch {
	case s.n >= mostInVain:
		return fmt.Sprintf("not run: the three before did not end either: %s", s.reason)
	case s.n > 0 && left < limit+time.Second:
		return fmt.Sprintf("not run: go test ends in %v, and the one before did not end: %s", max(0, left).Round(time.Second), s.reason)
	}
	return ""
}

// unended says what became of a run that has no end.
func (o *Outcome) unended() string {
	if o.notRun {
		return o.Report.Reason
	}
	return "the run did not end: " + strings.TrimSpace(o.Report.String())
}
