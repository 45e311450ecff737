package scenarios

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/scenarios/search"
	"lockstep/sim/workers"
)

// A calmRun is a run that an exploration perturbs.
type calmRun struct {
	*exploration
	page       *script.Scenario
	name       string // for the log, such as workload once
	constants  search.Constants
	references []*search.Reference // the locks that this one is like

	tried     map[string]*attempt // by plan
	extended  []*attempt          // those whose sites are remembered
	singles   search.Level        // the counts of all plans with one perturbation, without those that violate something
	setClocks int                 // in how many of these plans a clock of a client was wrong
	walks     map[search.Class]int
}

func workloadName(w search.Workload) string { return "workload " + string(w) }

// calmRuns returns the runs to perturb: those of the file of [From], each once, or else one for each workload.
func (e *exploration) calmRuns() (all []*calmRun, err error) {
	if e.from == "" {
		for _, shape := range e.shapes() {
			page, err := shape.Calm()
			if err != nil {
				return nil, fmt.Errorf("%w; see scenarios.Shaped", err)
			}
			c := e.calmly(page)
			c.name = workloadName(shape.Workload)
			all = append(all, c)
		}
		return all, nil
	}
	s, err := script.Load(e.t.Context(), e.from)
	if err != nil {
		return nil, err
	}
	for _, run := range s.Runs {
		page, err := search.CalmRun(s, run)
		if err != nil {
			return nil, err
		}
		page.Runs[0].Lock = e.like[0]
		same := func(c *calmRun) bool {
			return c.page.Resolve(c.page.Runs[0]).SameButForLock(page.Resolve(page.Runs[0]))
		}
		if !slices.ContainsFunc(all, same) {
			c := e.calmly(page)
			c.name = "run " + s.Name + "/" + run.ID()
			all = append(all, c)
		}
	}
	return all, nil
}

// calmly returns a run to perturb, with the locks that this one is like as references.
func (e *exploration) calmly(page *script.Scenario) *calmRun {
	page.Runs[0].Guests = page.Runs[0].Guests || e.guests == play.GuestsAlways
	c := &calmRun{exploration: e, page: page, tried: map[string]*attempt{}}
	for _, like := range e.like {
		reference, err := c.search(e.seed).Against(like)
		if err != nil {
			panic("scenarios: " + err.Error()) // the options were checked
		}
		c.references = append(c.references, reference)
	}
	return c
}

// survey plays the calm run, and determines its time constants. The run does not apply if the lock cannot extend its leases, as the
// run asks for. It is not ok if the test has failed.
func (c *calmRun) survey() (applies, ok bool) {
	c.t.Helper()
	o := c.play(c.page, c.page.Runs[0].With(c.test), c.newLock, c.seed)
	if o.Report != nil {
		c.t.Errorf("nothing went wrong, and yet %s", whyUnended(o))
		return false, false
	}
	if why := o.Inapplicable(); why != "" {
		if c.from != "" {
			c.t.Errorf("%s does not apply to the lock: %s", c.name, why)
		}
		return false, c.from == ""
	}
	a := &attempt{drawing: drawing{of: c, seed: c.seed}}
	if c.judge(a, o); len(a.failures) > 0 {
		a.outcome = o
		c.t.Error("nothing went wrong, and yet a claim is broken")
		c.explainSmallest(c.t, a, a.failures[0])
		return false, false
	}
	held := func(s *script.Scenario, run script.Section, lock clients.New, seed uint64) *play.Outcome {
		return c.play(s, run.With(c.test), lock, seed)
	}
	c.constants = search.Constants{TTL: o.Run.TTL, NodeTimeout: search.NodeTimeout(held, c.page, o, c.seed, c.newLock), Retry: search.RetryDelay(o)}
	return true, true
}

// errLost ends a search because a worker process died, so that it is not known which plan it was playing.
var errLost = errors.New("a worker was lost")

// suspects lists, in the order of time, the plans with one perturbation that violate anything, claimed or not, and those whose
// runs do not end.
func (c *calmRun) suspects(calm *attempt) [][]search.Perturbation {
	c.t.Helper()
	s := c.search(c.seed)
	if do := s.Do; do != nil {
		s.Do = func(ctx context.Context, job json.RawMessage) (workers.Outcome, error) {
			out, err := do(ctx, job)
			if err == nil && out.Report != nil {
				err = errLost
			}
			return out, err
		}
	}
	parts := 4 * s.WorkerCount()
	var tasks []*search.Task
	for part := range parts {
		tasks = append(tasks, &search.Task{Kinds: c.within, Constants: c.constants, Expand: &search.Expansion{Part: part, Of: parts, Leaf: true}})
	}
	var plans [][]search.Perturbation
	differs := ""
	err := s.SendAll(c.t.Context(), tasks, func(_ int, y *search.Result) error {
		for _, trial := range y.Trials {
			plans = append(plans, trial.Plan)
		}
		for _, broken := range y.Broken {
			plans = append(plans, broken.Plan)
		}
		c.singles.Add(y.Tally)
		c.setClocks += y.SetClocks
		differs = cmp.Or(differs, y.Differs)
		return nil
	})
	switch {
	case errors.Is(err, errLost): // it may be any of them: they are played one at a time
		plans, c.singles = nil, search.Level{}
		for _, kind := range calm.kinds {
			for _, p := range calm.possible[kind] {
				plans = append(plans, []search.Perturbation{p})
			}
		}
	case err != nil:
		c.t.Fatal(err)
	case differs != "":
		c.unsteady(differs)
	}
	slices.SortFunc(plans, func(a, b []search.Perturbation) int { return slices.CompareFunc(a, b, search.Perturbation.Compare) })
	return plans
}

// search returns a search that the workers of the bench carry out.
func (c *calmRun) search(seed uint64) *search.Search {
	s := &search.Search{Calm: c.page, Lock: c.test, Seed: seed, Kinds: c.within, Restless: c.restless && !c.page.Runs[0].Guests, Fixed: true, New: c.newLock}
	if c.pool != nil {
		s.Do = c.pool.Do
	}
	return s
}
