package scenarios

import (
	"testing"

	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// Played does in a test what [Run] does in a program: it plays a lock in the catalogue, and returns the outcome of each run, in the order
// of the catalogue. Then it plays all runs of the scenarios in more, whose outcomes come last. Unlike [Test] it has no subtests, logs nothing, and fails the test only if the
// runs are not possible: what an outcome is worth is for the caller to say. It takes the options of Run.
//
// The runs take place in worker processes, like those of Test. In a worker for a later call, Played returns nil.
func Played(t *testing.T, newLock clients.New, more []*script.Scenario, opts ...Option) []*play.Outcome {
	t.Helper()
	call := enter(t, newLock)
	if call == "" {
		return nil
	}
	o, err := gather(newLock, opts, (*options).forCatalogue)
	if err != nil {
		t.Fatal(err)
	}
	trials, err := o.trials(t.Name(), newLock)
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range more {
		var of []trial
		for _, r := range page.Runs {
			of = o.addRun(of, page, r, t.Name(), newLock)
		}
		trials = append(trials, of...)
	}
	if trials, _, err = o.possible(trials); err != nil {
		t.Fatal(err)
	}
	b := newBench(t, call, o)
	defer b.close()
	var outcomes []*play.Outcome
	for i, trial := range trials {
		outcomes = append(outcomes, b.play(t, trial.Case, i, trial.promise))
	}
	return outcomes
}
