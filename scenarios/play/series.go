package play

import (
	"runtime/debug"

	"lockstep/clients"
	"lockstep/scenarios/script"
	"lockstep/sim/workers"
)

// A Player puts a lock through a run of a scenario and judges it. The history is byte for byte that of [Simulate], whatever
// was played before. A Player returns only if the run came to its end; otherwise the series ends with that run.
type Player func(s *script.Scenario, run script.Section, build clients.New, seed uint64) *Outcome

// seriesGC is GOGC within a series. So little is alive between two runs that Go's default of 100 would collect garbage every
// few runs.
const seriesGC = 1000

// Series calls f, which may play any number of runs, one after the other and from its own goroutine. If [Simulate] would
// return an error for a run, Series ends f and returns that error. It does the same for a run in which the lock connects without its Env,
// perhaps only after a fault.
//
// Each run has its own bubble. So every run begins at the same time, which shows in the traces of locks that write times into
// keys; and goroutines that a run leaves behind are found at its end and cannot disturb the next run. Objects that are
// expensive to make and keep no state outlive the bubbles: see [engine.Redis.Close].
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
	cache := &clientCache{}
	f(func(s *script.Scenario, run script.Section, build clients.New, seed uint64) *Outcome {
		o, err := simulateWith(cache, Variant{}, s, run, build, seed)
		cache.refresh()
		if err == nil && meetsHost(o.History) {
			err = workers.OwnConnection(func() { Simulate(s, run, build, seed) })
		}
		if err != nil {
			panic(seriesOver{err})
		}
		return o
	})
	return nil
}

// seriesOver ends the function that plays a series.
type seriesOver struct{ err error }

// clientCache holds the clients that a series keeps from run to run, by the names of their processes. A nil clientCache keeps none.
type clientCache struct {
	at     map[string]*clients.WarmClients
	wanted map[string][]string // the addresses of the nodes, by the processes that had no clients
}

// get returns the clients of a process, or nil if there are none yet; then [clientCache.refresh] makes some for the next run.
func (s *clientCache) get(name string, addrs []string) *clients.WarmClients {
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

// refresh drops clients that cannot be used again, and makes those that were missing. It is called between two runs, outside
// of any bubble.
func (s *clientCache) refresh() {
	for name, kept := range s.at {
		if !kept.Fit() {
			delete(s.at, name) // the run has closed its connections; nothing else is left to close
		}
	}
	if len(s.wanted) > 0 && s.at == nil {
		s.at = map[string]*clients.WarmClients{}
	}
	for name, addrs := range s.wanted {
		s.at[name] = clients.NewWarmClients(addrs)
	}
	clear(s.wanted)
}
