package scenarios

import "lockstep/clients"

// A player puts a lock through a run of a scenario and judges it: the same history, with the same checksum, as [Simulate]
// gives. It returns only if the run came to its end; otherwise the series is over.
type player func(s *Scenario, run Section, build clients.New, seed uint64) *Outcome

// series calls f, which may play as many runs as it likes, one after the other. The error is that of [Simulate] for the run
// that was played last; f was ended there.
func series(f func(play player)) (err error) {
	defer func() {
		if r := recover(); r != nil {
			over, ok := r.(seriesOver)
			if !ok {
				panic(r)
			}
			err = over.err
		}
	}()
	f(func(s *Scenario, run Section, build clients.New, seed uint64) *Outcome {
		o, err := Simulate(s, run, build, seed)
		if err != nil {
			panic(seriesOver{err})
		}
		return o
	})
	return nil
}

// seriesOver ends the caller of a player.
type seriesOver struct{ err error }
