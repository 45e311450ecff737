package packagetime

import (
	"time"

	"github.com/jonboulle/clockwork"

	"lockstep/sim/history"
)

// clockError must be the type in added.go.txt.
type clockError struct {
	since  int64
	steady int64
	drift  float64
	wall   int64
	slew   float64
	until  int64
}

// errorOf returns the error of clocks that show what c shows, in a run that began when the machine's monotonic clock showed
// start.
func errorOf(c history.Clock, start int64) *clockError {
	since := max(c.Since, c.Set)
	e := &clockError{
		since:  start + int64(since),
		steady: int64(c.Reading(since) - since),
		drift:  float64(c.PPM) / 1e6,
		wall:   int64(c.Offset(since)),
	}
	if e.until = e.since; c.Over > 0 && c.Set+c.Over > since {
		e.slew, e.until = float64(c.Slew)/float64(c.Over), start+int64(c.Set+c.Over)
	}
	return e
}

// Reads says how often package time was asked for the wall clock, and how often for either clock or for a timer.
type Reads struct{ Wall, Any int64 }

// Wall is the wall clock of the process as package time shows it, without the monotonic reading, which package time would use
// instead where it can. Its timers are those of package time.
func Wall() clockwork.Clock { return wall{clockwork.NewRealClock()} }

type wall struct{ clockwork.Clock }

func (wall) Now() time.Time                    { return time.Now().Round(0) }
func (w wall) Since(t time.Time) time.Duration { return w.Now().Sub(t) }
func (w wall) Until(t time.Time) time.Duration { return t.Sub(w.Now()) }

// Since returns how much time has passed on the monotonic clock of the machine since it showed start.
func Since(start int64) time.Duration { return time.Duration(Machine() - start) }
