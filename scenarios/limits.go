package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lockstep/clients"
	"lockstep/scenarios/script"
	"lockstep/scenarios/search"
)

// Limits finds out how much of each fault a lock tolerates, one at a time: up to which pause, message delay, late write, clock jump,
// drift, outage and number of lost nodes each property holds, as lockstep limits does. It perturbs the calm runs of [Explore], all with one TTL,
// at every moment, and logs the sheet. The test fails if a value in [Have] is not within the limits, or if no run proves anything. What else a
// lock should tolerate is for you to say: Limits returns the sheet, whose magnitudes are nanoseconds, ppm, or a number, and whose rows
// are always in the same order. docs/limits.md explains it.
//
// How much is harmless depends on the TTL, the work of your clients and the number of nodes, which [Shaped] sets. The default TTL is
// 10 s, and the default work three tenths of it; the other defaults suit the reference. The other options are [Like], [Have],
// [Seed], [Limit], [Memory] and [Restless]. A lock on one node takes about ten seconds, and one on three nodes up to some minutes. The same seed
// gives the same sheet, unless the runs of the lock cannot be repeated ([Restless]).
//
// The runs take place in worker processes, like those of [Test]. In a worker for a later call, Limits returns an empty sheet, so code
// between two calls must not index rows without checking.
func Limits(t *testing.T, newLock clients.New, opts ...Option) *search.Sheet {
	t.Helper()
	call := enter(t, newLock)
	if call == "" {
		return &search.Sheet{}
	}
	o, err := gather(newLock, opts, (*options).forLimits)
	if err != nil {
		t.Fatal(err)
	}
	haves, err := o.haves()
	if err != nil {
		t.Fatal(err)
	}
	e := &exploration{bench: newBench(t, call, o), t: t, test: t.Name(), newLock: newLock}
	defer e.close()
	if page, err := replayed(t.Context()); err != nil {
		t.Fatal(err)
	} else if page != nil {
		e.edge(page)
		return &search.Sheet{}
	}
	shape := o.shape
	shape.Lock, shape.TTL = o.like[0], cmp.Or(shape.TTL, script.DefaultTTL)
	s := (&calmRun{exploration: e}).search(o.seed) // each calm run that is perturbed is made from the shape
	sheet, err := s.Limits(t.Context(), shape.Each(shape.Lock))
	switch {
	case errors.Is(err, search.ErrNotReproducible):
		e.unsteady(err.Error())
	case err != nil:
		t.Fatalf("scenarios.Limits: %v", err)
	}
	e.logSheet(sheet, shape)
	if sheet.NothingProved() {
		t.Error("nothing is proved: no run with a perturbation proves anything; see scenarios.Like and scenarios.Shaped")
	}
	for _, c := range sheet.Compare(haves) {
		text := fmt.Sprintf("you have %s %s: %s, %s", c.Row.Name(), c.Have.Text(), c.Word, c.Why)
		if c.Within {
			t.Log(text)
			continue
		}
		if limits := c.Row.Limits; len(limits) > 0 && limits[0].Harmful <= c.Have.Value {
			text += ", " + limits[0].Where + "\n" + seeAgain(t.Name(), limits[0].Above.Page)
		}
		t.Error(text)
	}
	return sheet
}

// edge plays a run of a sheet that [replayed] returned, and nothing else.
func (e *exploration) edge(page *script.Scenario) {
	e.t.Helper()
	run := page.Runs[0]
	o := e.play(page, run.With(e.test), e.newLock, cmp.Or(run.Seed, e.seed))
	switch {
	case o.Report != nil:
		e.t.Errorf("%s\n%s", headOf(o), whyUnended(o))
	case len(o.Result.Violations) > 0:
		e.t.Errorf("%s\n%s\n%s", headOf(o), page.LanesText(), o.Timeline())
	default:
		e.t.Logf("%s\n%s\n%s", headOf(o), page.LanesText(), o.Timeline())
	}
}

// Have says what your environment has, for [Limits], in the form that --have of lockstep limits takes: "pause=1.2s,drift=200ppm,jump=-300ms,
// lost-nodes=1", such as the longest pauses that you measure. [Limits] fails if a value is not shown to be harmless. A jump or a drift
// without a sign must be harmless in both directions. The default is nothing: then nothing is compared.
func Have(list string) Option { return option("Have", func(o *options) { o.have = list }) }

// forLimits checks the options of [Limits], and fills in the defaults.
func (o *options) forLimits() error {
	for _, name := range o.given {
		if !slices.Contains([]string{"Like", "Shaped", "Have", "Seed", "Limit", "Memory", "Restless"}, name) {
			return fmt.Errorf("scenarios.%s cannot be used with Limits, which finds out what the lock tolerates; it takes Like, Shaped, Have, Seed, Limit, Memory and Restless", name)
		}
	}
	if err := o.claimable(); err != nil {
		return err
	}
	o.shaped()
	_, err := o.haves()
	return err
}

// haves parses [Have].
func (o *options) haves() ([]search.Have, error) {
	if !slices.Contains(o.given, "Have") {
		return nil, nil
	}
	haves, err := search.ParseHaves(o.have, o.shape.Replicas)
	if err != nil {
		return nil, fmt.Errorf("scenarios.Have: %w", err)
	}
	return haves, nil
}

// logSheet logs a sheet.
func (e *exploration) logSheet(sheet *search.Sheet, shape search.Shape) {
	e.t.Helper()
	shape.Lock = e.test
	text := fmt.Sprintf("%s, %s, seed %d\n", shape.Title(), sheet.Work(shape), e.seed)
	if rows := sheet.Table(); rows != nil {
		text += "\n" + aligned(rows) + "\n"
	}
	e.t.Log(text + strings.Join(sheet.Sentences(), "\n"))
}
