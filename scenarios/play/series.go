package play

import (
	"runtime/debug"

	"lockstep/clients"
	"lockstep/scenarios/script"
)

// A Player puts a lock through a run of a scenario and judges it. The history is that of [Simulate], to the byte, whatever
// was played before. It returns only if the run came to its end; otherwise the series ends with it.
type Player func(s *script.Scenario, run script.Section, build clients.New, seed uint64) *Outcome

// seriesGC is how much garbage there may be in a series, in percent of what is alive. That is next to nothing between two
// runs, so that by Go's default of 100 there would be a collection every few runs.
const seriesGC = 1000

// Series calls f, which may play as many runs as it likes, one after the other and from its own goroutine. The error is that
// of [Simulate] for the run that was played last: f got no further.
//
// Each run has a bubble of its own. So its time begins where that of every other run does, which locks that write times into
// keys show in their traces; and what a run leaves behind is found out at its end, and cannot disturb the next. What is
// expensive to make and remembers nothing outlives the bubbles: see [engine.Redis.Close].
func Series(f func(play Player)) (err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(seriesGC))
	defer func() {
		r := recover()
		if over, ok := r.(seriesOver); ok {
			err = over.err
		} else if r != nil {
			panic(r)
		}
	}()
	kept := &staff{}
	f(func(s *script.Scenario, run script.Section, build clients.New, seed uint64) *Outcome {
		o, err := simulateWith(kept, s, run, build, seed)
		kept.review()
		if err != nil {
			panic(seriesOver{err})
		}
		return o
	})
	return nil
}

// seriesOver ends the function that plays a series.
type seriesOver struct{ err error }

// staff are the clients that a series keeps from run to run, by the names of their processes. A nil staff keeps none.
type staff struct {
	at     map[string]*clients.Standing
	wanted map[string][]string // which processes had none, and to which nodes
}

// attends returns the clients of a process, if they are kept; if not, [staff.review] makes some for the next run.
func (s *staff) attends(name string, addrs []string) *clients.Standing {
	if s == nil {
		return nil
	}
	if kept := s.at[name]; kept != nil && kept.To(addrs) {
		return kept
	}
	if s.wanted == nil {
		s.wanted = map[string][]string{}
	}
	s.wanted[name] = addrs
	return nil
}

// review is for the time between two runs, outside of bubbles: it parts with clients that are not as they were, and makes those
// that were missed.
func (s *staff) review() {
	for name, kept := range s.at {
		if !kept.Fit() {
			delete(s.at, name) // its connections were closed in its run, and there is nothing else of it
		}
	}
	if len(s.wanted) > 0 && s.at == nil {
		s.at = map[string]*clients.Standing{}
	}
	for name, addrs := range s.wanted {
		s.at[name] = clients.NewStanding(addrs)
	}
	clear(s.wanted)
}
