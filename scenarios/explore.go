package scenarios

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/scenarios/search"
	"lockstep/sim/history"
	"lockstep/sim/workers"
)

// Explore searches for failures that [Test] does not cover. It starts from calm runs, in which nothing goes wrong: two clients
// contend for the lock, write and release, on the servers that its reference needs; see [Shaped]. The reference is the lock that
// yours is like; see [Like]. There is one calm run for each [search.Workload] that suits the reference. Explore injects faults
// into a calm run. A perturbation is a fault at one moment of it, and a plan is a set of perturbations; see [script.Kinds] and
// [Within].
//
// Explore plays every plan with one perturbation, with the seed of [Seed]. If none of them fails, it makes walks, which add up to
// eight perturbations at random, as lockstep explore --runs does. All of this is the same every time; [Hunt] adds plans that are
// different each time. A plan fails the test if it breaks a claim, or if its run does not end. Each way to fail is a subtest,
// which shows the smallest run that fails in this way. If there is nothing to perturb, or no perturbation has an effect, the test
// proves nothing, and fails. The claims are those of Test, made by [Like], [Survives] and [Needs]:
//
//   - A violation fails, whichever assumption was broken, unless the reference has it, too: for example, because it violates the
//     same property under the same plan. [search.Reference] has the rules.
//   - If an assumption breaks that the lock Survives, every violation fails; if one breaks that it Needs, none does.
//
// Two failures are the same way to fail if the property, the broken assumption and the steps that prove the violation are the
// same; see [search.Outline]. The log shows the timeline of the smallest run, an explanation of the violation, and the command
// that repeats it. With go test -artifacts the run is kept as a page.
//
// The runs take place in worker processes, like those of Test.
func Explore(t *testing.T, newLock clients.New, opts ...Option) {
	t.Helper()
	call := enter(t, newLock)
	if call == "" {
		return
	}
	o, err := gather(newLock, opts, (*options).forExploring)
	if err != nil {
		t.Fatal(err)
	}
	e := &exploration{bench: newBench(t, call, o), t: t, newLock: newLock}
	t.Cleanup(e.close)
	if page, err := replayed(t.Context()); err != nil {
		t.Fatal(err)
	} else if page != nil {
		e.replay(page)
		return
	}
	for _, shape := range o.shapes() {
		page, err := shape.Calm()
		if err != nil {
			t.Fatalf("scenarios.Explore: %v; see scenarios.Shaped", err)
		}
		c := e.calmly(page)
		c.workload = shape.Workload
		switch applies, ok := c.survey(); {
		case !ok:
			return
		case applies:
			e.calm = append(e.calm, c)
		}
	}
	for _, c := range e.calm {
		for i, reference := range c.references {
			for _, other := range e.calm {
				reference.Also(other.references[i])
			}
		}
	}
	if e.exhaust(); len(e.ways) == 0 {
		e.walk()
	}
	if t.Failed() || e.tell() {
		return
	}
	defer e.conclude() // rapid ends this goroutine when it fails the test
	if o.hunt > 0 {
		e.huntFor(o.hunt)
	}
}

// Hunt makes [Explore] go on for d, with plans that are different each time: rapid draws other seeds and up to four
// perturbations. It is for a nightly job, because the next run of the test may not find again what it has found. rapid stores the
// draws of a failure below testdata/rapid, and a later hunt plays them first. At least 100 plans are drawn, or as many as go test
// -rapid.checks says. The default is 0: no hunt.
func Hunt(d time.Duration) Option { return option("Hunt", func(o *options) { o.hunt = d }) }

// Shaped sets the calm runs that [Explore] perturbs: how many clients and nodes there are, and so on. Its Lock is ignored. With a
// Workload there is only the calm run of that workload. The default is two clients and one node, and what the reference needs:
// three nodes for redlock and its variants, a replica for single-wait, a resource that compares fencing tokens for fenced, leases
// that are extended for single-extend and redlock-extend.
func Shaped(s search.Shape) Option { return option("Shaped", func(o *options) { o.shape = s }) }

// Within restricts [Explore] to some kinds of perturbations. The default is all kinds. You need not leave out those that your
// lock does not survive: say with [Needs] which assumptions they break.
func Within(kinds ...script.Kind) Option {
	return option("Within", func(o *options) { o.within = add(o.within, kinds) })
}

// forExploring checks the options of [Explore], and fills in the defaults.
func (o *options) forExploring() error {
	for _, name := range o.given {
		if slices.Contains([]string{"Only", "OnRedis", "Speed", "Rewrite", "AtLeast", "Known", "Against"}, name) {
			return fmt.Errorf("scenarios.%s cannot be used with Explore, which runs no scenario of the catalogue, and runs in simulation only", name)
		}
	}
	if err := o.claimable(); err != nil {
		return err
	}
	if slices.Contains(o.given, "Hunt") && o.hunt <= 0 {
		return fmt.Errorf("scenarios.Hunt(%v): it must be longer than 0s, such as 10*time.Minute", o.hunt)
	}
	for _, k := range o.within {
		if !slices.Contains(script.Kinds(), k) {
			return fmt.Errorf("scenarios.Within: %w", history.Unknown("kind", string(k), script.WordsOf(script.Kinds())))
		}
	}
	if len(o.within) == 0 {
		if slices.Contains(o.given, "Within") {
			return errors.New("scenarios.Within must name a kind; without Within, all kinds are used")
		}
		o.within = script.Kinds()
	}
	if !slices.Contains(o.given, "Shaped") {
		for _, name := range o.like {
			o.shape = o.shape.With(shapeOf(name))
		}
	}
	return nil
}

// shapeOf returns the shape that suits a lock of the literature; zero if one node and a plain resource do.
func shapeOf(lock string) search.Shape {
	switch {
	case strings.HasPrefix(lock, "redlock"):
		return search.Shape{Nodes: 3, Extend: lock == "redlock-extend"}
	case lock == "single-extend":
		return search.Shape{Extend: true}
	case lock == "single-wait":
		return search.Shape{Replicas: 1}
	case lock == "fenced":
		return search.Shape{Resource: script.Fenced}
	}
	return search.Shape{}
}

// shapes returns the shapes of the runs that are perturbed, with the first lock that yours is like.
func (o *options) shapes() []search.Shape {
	s := o.shape
	s.Lock = o.like[0]
	return s.Each(s.Lock)
}

// An exploration is one call of Explore.
type exploration struct {
	*bench
	t       *testing.T
	newLock clients.New
	calm    []*calmRun
	played  int
	ways    []way // in which plans fail that are the same every time, in the order in which they were found

	failing *failure // the failure that rapid is shrinking: that of the first plan that failed
	failed  *attempt // the last attempt that fails so
}

// A way is one way to fail, with the first plan that does.
type way struct {
	failure
	outline string
	*attempt
}

// A calmRun is a run that an exploration perturbs.
type calmRun struct {
	*exploration
	page       *script.Scenario
	workload   search.Workload // empty if the page was given
	constants  search.Constants
	references []*search.Reference // the locks that this one is like

	tried   map[string]*attempt // by plan
	singles search.Level        // the counts of all plans with one perturbation, without those that violate something
	walks   map[search.Class]int
}

// calmly returns a run to perturb, with the locks that this one is like as references.
func (e *exploration) calmly(page *script.Scenario) *calmRun {
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

// A drawing is a plan, the calm run that it perturbs, and the seed of its run.
type drawing struct {
	of   *calmRun
	seed uint64
	plan []search.Perturbation
}

// GoString is logged by rapid: the perturbations, one per line, or a note that there are none.
func (d drawing) GoString() string {
	text := fmt.Sprintf("workload %s, seed %d", d.of.workload, d.seed)
	if len(d.plan) == 0 {
		return text + ", calm"
	}
	for _, p := range d.plan {
		text += "\n    " + p.String()
	}
	return text
}

// An attempt is the result of a drawing.
type attempt struct {
	drawing
	class    search.Class
	failures []failure
	excused  []play.Failing
	outcome  *play.Outcome // if it fails

	possible map[script.Kind][]search.Perturbation
	kinds    []script.Kind
}

// A failure is a claim that a run breaks.
type failure struct {
	play.Failing // zero if the run did not come to its end

	What  string // what happened, in words
	Claim string // what is claimed, as the end of "it is claimed that the lock ..."
}

func (f failure) String() string {
	if f.Failing == (play.Failing{}) {
		return f.What
	}
	return fmt.Sprintf("%s: %s", f.Failing, f.What)
}

// The greatest number of perturbations in a plan, the number of seeds, and the resolution at which kinds and sites are drawn.
const (
	mostDrawn  = 4
	seedsDrawn = 8
	grains     = 32
)

// choice is what rapid draws for one perturbation. rapid prefers small numbers, but less so if a number is split in two.
type choice struct{ kind, coarse, fine int }

var choices = rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) choice {
	grain := rapid.IntRange(0, grains-1)
	return choice{grain.Draw(rt, "kind"), grain.Draw(rt, "coarse"), grain.Draw(rt, "fine")}
}), 0, mostDrawn)

// draw draws a plan. The sites of each perturbation are found in the run with the perturbations before it, so that a plan can hit
// events that it has caused itself. Smaller draws are earlier moments and smaller magnitudes, of the kinds that come first.
func (e *exploration) draw(rt *rapid.T) drawing {
	c := e.calm[rapid.IntRange(0, len(e.calm)-1).Draw(rt, "calm run")]
	d := drawing{of: c, seed: e.seed + uint64(rapid.IntRange(0, seedsDrawn-1).Draw(rt, "seed"))}
	for _, choice := range choices.Draw(rt, "choices") {
		a := c.try(d)
		if len(a.kinds) == 0 {
			break // the run did not end
		}
		sites := a.possible[a.kinds[choice.kind*len(a.kinds)/grains]]
		p := sites[(choice.coarse*grains+choice.fine)*len(sites)/(grains*grains)]
		d.plan = append(slices.Clip(d.plan), p)
		slices.SortStableFunc(d.plan, search.Perturbation.Compare)
		d.plan = slices.CompactFunc(d.plan, func(p, q search.Perturbation) bool { return p.Compare(q) == 0 })
	}
	return d
}

// check is the property that rapid checks. Once a plan has failed, only plans that fail in the same way count, so that shrinking
// does not move from one bug to another.
func (e *exploration) check(rt *rapid.T) {
	d := rapid.Custom(e.draw).Draw(rt, "plan")
	a := d.of.try(d)
	if len(a.failures) == 0 {
		return
	}
	f := a.failures[0]
	if e.failing != nil {
		i := slices.IndexFunc(a.failures, func(f failure) bool { return f.Failing == e.failing.Failing })
		if i < 0 {
			return
		}
		f = a.failures[i]
	}
	e.failing, e.failed = &f, a
	rt.Fatal(f)
}

// huntFor lets rapid check as often as there is time for, and at least once.
func (e *exploration) huntFor(d time.Duration) {
	for start := time.Now(); ; {
		rapid.Check(e.t, e.check)
		if time.Since(start) >= d {
			return
		}
	}
}

// try plays a plan, unless it was played before.
func (c *calmRun) try(d drawing) *attempt {
	key := d.GoString()
	if a := c.tried[key]; a != nil {
		return a
	}
	s := search.Perturbed(c.page, d.plan)
	o := c.play(s, s.Runs[0].With(c.t.Name()), c.newLock, d.seed)
	a := &attempt{drawing: d}
	c.tried[key] = a
	if o.Report != nil {
		what, _, _ := strings.Cut(whyUnended(o), "\n")
		a.class, a.failures, a.outcome = search.Violating, []failure{{What: what}}, o
		return a
	}
	did := search.EffectOf(c.page, d.plan, o)
	a.class = search.Classify(o, did, o.Failing())
	c.judge(a, o)
	if len(a.failures) > 0 {
		a.outcome = o
		if rest, less := did.Rest(); less {
			return c.without(a, rest)
		}
	}
	if len(d.plan) < mostDrawn && c.constants != (search.Constants{}) {
		c.find(a, o)
	}
	return a
}

// without returns an attempt without the faults of a that had no effect, if it still fails: a report contains no such faults.
func (c *calmRun) without(a *attempt, rest []search.Perturbation) *attempt {
	bare := c.try(drawing{c, a.seed, rest})
	if len(bare.failures) == 0 {
		a.class, a.failures, a.outcome = search.Unproved, nil, nil
		return a
	}
	c.tried[a.GoString()] = bare
	return bare
}

// find finds the sites at which a plan can be extended.
func (c *calmRun) find(a *attempt, o *play.Outcome) {
	a.possible = map[script.Kind][]search.Perturbation{}
	for _, p := range search.Sites(c.page, o, c.constants, c.within) {
		a.possible[p.Kind] = append(a.possible[p.Kind], p)
	}
	for _, k := range c.within {
		if len(a.possible[k]) > 0 {
			a.kinds = append(a.kinds, k)
		}
	}
}

// play makes a worker put a lock through a run.
func (e *exploration) play(s *script.Scenario, run script.Section, lock clients.New, seed uint64) *play.Outcome {
	e.t.Helper()
	c := play.Case{Scenario: s, Run: run, Seed: seed, On: play.OnSim, Restless: e.restless, New: lock}
	job, err := c.Job(e.played)
	if err != nil {
		e.t.Fatal(err)
	}
	e.played++
	result, err := e.perform(e.t.Context(), c, job)
	if err != nil {
		e.t.Fatalf("%v\nA worker process runs the test binary again and must reach this call of scenarios. TestMain, and the code before the call in the test, must allow that.", err)
	}
	o := c.Outcome(result)
	if o.Differs != "" {
		e.unsteady(o.Differs + "\n" + s.String())
	}
	return o
}

// unsteady ends the test of a lock whose runs are not reproducible.
func (e *exploration) unsteady(how string) {
	e.t.Helper()
	e.t.Fatalf("the same run with the same seed came out differently the second time, so a failure could not be repeated. If the lock is nondeterministic by nature, pass scenarios.Restless().\n%s", how)
}

// judge determines which violations of a run break a claim.
func (c *calmRun) judge(a *attempt, o *play.Outcome) {
	if o.Result.RanOn {
		return
	}
	for _, f := range o.Failing() {
		claim := c.claim(f, a.drawing)
		if claim == "" {
			a.excused = append(a.excused, f)
			continue
		}
		i := slices.IndexFunc(o.Result.Violations, f.Is)
		a.failures = append(a.failures, failure{f, o.Result.Violations[i].What, claim})
	}
}

// claim returns the claim that the violations of one kind in a run break; empty if none.
func (c *calmRun) claim(f play.Failing, d drawing) string {
	c.t.Helper()
	switch {
	case slices.Contains(c.survives, f.Assumption):
		return fmt.Sprintf("survives a breach of %s", f.Assumption)
	case slices.Contains(c.needs, f.Assumption):
		return ""
	}
	for _, reference := range c.references {
		shared, err := reference.Shares(c.t.Context(), f, d.plan, d.seed)
		if err != nil {
			c.t.Fatal(err)
		}
		if shared {
			return ""
		}
	}
	if f.Assumption == checker.None {
		return "keeps this as long as no assumption breaks, as " + c.asLike() + " under this plan"
	}
	return fmt.Sprintf("keeps this even with a breach of %s, as %s under this plan", f.Assumption, c.asLike())
}

// asLike names the locks that this one is like, as the subject of a sentence.
func (o options) asLike() string {
	if len(o.like) == 1 {
		return o.like[0] + " does"
	}
	return strings.Join(o.like, " and ") + " do"
}

// survey plays the calm run, and determines its time constants. The run does not apply if the lock cannot extend its leases, as the
// run asks for. It is not ok if the test has failed.
func (c *calmRun) survey() (applies, ok bool) {
	c.t.Helper()
	o := c.play(c.page, c.page.Runs[0].With(c.t.Name()), c.newLock, c.seed)
	if o.Report != nil {
		c.t.Errorf("nothing went wrong, and yet %s", whyUnended(o))
		return false, false
	}
	if o.Inapplicable() != "" {
		return false, true
	}
	a := &attempt{drawing: drawing{of: c, seed: c.seed}}
	if c.judge(a, o); len(a.failures) > 0 {
		a.outcome = o
		c.t.Error("nothing went wrong, and yet a claim is broken")
		c.explainSmallest(c.t, a, a.failures[0])
		return false, false
	}
	held := func(s *script.Scenario, run script.Section, lock clients.New, seed uint64) *play.Outcome {
		return c.play(s, run.With(c.t.Name()), lock, seed)
	}
	c.constants = search.Constants{TTL: o.Run.TTL, NodeTimeout: search.NodeTimeout(held, c.page, o, c.seed, c.newLock), Retry: search.RetryDelay(o)}
	return true, true
}

// exhaust plays every plan with one perturbation of each calm run. If there are none, the test fails.
func (e *exploration) exhaust() {
	e.t.Helper()
	perturbable := false
	for _, c := range e.calm {
		calm := c.try(drawing{of: c, seed: c.seed})
		if len(calm.kinds) == 0 {
			continue
		}
		perturbable = true
		for _, plan := range c.suspects(calm) {
			e.note(c.try(drawing{c, c.seed, plan}))
		}
	}
	if !perturbable {
		e.t.Errorf("nothing is proved: the calm run has nothing to perturb by %s; see scenarios.Within, and scenarios.Shaped for what takes part in it", strings.Join(script.WordsOf(e.within), ", "))
	}
}

// walkRuns is about how many runs the walks of each calm run have together.
const walkRuns = 1000

// walk makes walks from each calm run, the same ones each time. With the workload Again it makes none: several faults at once leave too
// few tries in its TTL, and chance decides whether one of them succeeds.
func (e *exploration) walk() {
	e.t.Helper()
	for _, c := range e.calm {
		if c.workload == search.Again {
			continue
		}
		s := c.search(c.seed)
		s.Reference = c.references[0]
		r, err := s.Random(e.t.Context(), search.Portfolio, walkRuns, 0)
		switch {
		case r.Differs != "":
			e.unsteady(r.Differs)
		case err != nil:
			e.t.Fatal(err)
		}
		c.walks = r.Coverage.Classes
		for _, f := range r.Found {
			e.note(c.try(drawing{c, f.Seed, f.Plan}))
		}
		for _, f := range r.Shared { // which may break a claim of Survives
			e.note(c.try(drawing{c, f.Seed, f.Plan}))
		}
	}
}

// note keeps the ways in which an attempt fails, unless an earlier one fails so.
func (e *exploration) note(a *attempt) {
	for _, f := range a.failures {
		w := way{failure: f, attempt: a}
		if f.Failing != (play.Failing{}) {
			i := slices.IndexFunc(a.outcome.Result.Violations, f.Is)
			w.outline = search.Outline(a.outcome.History, a.outcome.Result.Violations[i])
		}
		if !slices.ContainsFunc(e.ways, func(v way) bool { return v.Failing == w.Failing && v.outline == w.outline }) {
			e.ways = append(e.ways, w)
		}
	}
}

// mostTold is how many ways to fail are explained. Of the others the log has the plan and the command that repeats it.
const mostTold = 3

// tell fails the test with a subtest for each way to fail. It returns false if there is none.
func (e *exploration) tell() bool {
	e.t.Helper()
	for i, w := range e.ways {
		e.t.Run(w.name(), func(t *testing.T) {
			perturbations := "one perturbation is enough"
			if len(w.plan) > 1 {
				perturbations = fmt.Sprintf("%d perturbations are enough", len(w.plan))
			}
			for _, p := range w.plan {
				perturbations += "\n    " + p.String()
			}
			t.Errorf("workload %s: %s\n%s", w.of.workload, perturbations, w.failure)
			if i < mostTold {
				e.explainSmallest(t, w.attempt, w.failure)
			} else {
				e.print(t, "%s", seeAgain(e.t, w.page()))
			}
		})
	}
	return len(e.ways) > 0
}

// name is the name of the subtest.
func (w way) name() string {
	if w.Failing == (play.Failing{}) {
		return "run does not end"
	}
	return string(w.Property)
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
	s := &search.Search{Calm: c.page, Lock: c.t.Name(), Seed: seed, Kinds: c.within, Restless: c.restless, Fixed: true, New: c.newLock}
	if c.pool != nil {
		s.Do = c.pool.Do
	}
	return s
}

// conclude explains what rapid has found, or sums up the test.
func (e *exploration) conclude() {
	e.t.Helper()
	if e.failed != nil {
		e.print(e.t, "The output above is rapid's. Use the command at the very end, not rapid's, which draws new plans.")
		e.explainSmallest(e.t, e.failed, *e.failing)
		return
	}
	proved := 0
	for _, c := range e.calm {
		singles, drawn := c.tally()
		proved += singles.Survived + singles.Violating + drawn.Survived + drawn.Violating
	}
	if proved == 0 {
		e.t.Errorf("nothing is proved: no run in which a perturbation had an effect came to a verdict\n%s", e.summary())
		return
	}
	e.print(e.t, "%s", e.summary())
}

// page returns the scenario of a drawing, ready to be saved.
func (d drawing) page() *script.Scenario {
	s := search.Perturbed(d.of.page, d.plan)
	s.Runs = slices.Clone(s.Runs)
	s.Runs[0].Seed = d.seed
	return s
}

// explainSmallest explains the smallest run that fails in the same way as an attempt, or, if it cannot be found, the attempt.
func (e *exploration) explainSmallest(t *testing.T, a *attempt, f failure) {
	t.Helper()
	if f.Failing == (play.Failing{}) {
		e.explain(t, a.outcome, a.page(), f)
		return
	}
	found := search.Found{Trial: search.Trial{Plan: a.plan, Seed: a.seed}, Failing: f.Failing}
	c, err := a.of.search(a.seed).Shrink(t.Context(), found)
	page := a.page()
	if err != nil {
		e.print(t, "it was not reduced further: %v", err)
	} else {
		e.print(t, "reduced further to:")
		page = c.Scenario
	}
	run := page.Runs[0]
	o := e.play(page, run.With(e.t.Name()), e.newLock, cmp.Or(run.Seed, 1))
	if i := slices.IndexFunc(o.Result.Violations, f.Is); i >= 0 {
		f.What = o.Result.Violations[i].What
	}
	e.explain(t, o, page, f)
}

// explain logs an outcome that breaks a claim, and stores its files.
func (e *exploration) explain(t *testing.T, o *play.Outcome, page *script.Scenario, f failure) {
	t.Helper()
	keep(t, t.Name(), o)
	command := seeAgain(e.t, page)
	if o.Report != nil {
		e.print(t, "%s\n%s\n%s", page.LanesText(), whyUnended(o), command)
		return
	}
	e.print(t, "%s\n%s\n%s%s\nit is claimed that the lock %s\n%s", headOf(o), page.LanesText(), o.Timeline(), f, f.Claim, command)
}

// print logs a message. It has no line of the test, because rapid may be done with it.
func (e *exploration) print(t *testing.T, format string, args ...any) {
	fmt.Fprintf(t.Output(), format+"\n", args...)
}

// replay plays a run that [replayed] returned, and nothing else.
func (e *exploration) replay(page *script.Scenario) {
	e.t.Helper()
	if len(page.Runs) != 1 {
		e.t.Fatalf("%s: the scenario has %d runs; it must have one", replayVariable, len(page.Runs))
	}
	run := page.Runs[0]
	c := e.calmly(page) // it is compared under this page only
	o := e.play(page, run.With(e.t.Name()), e.newLock, cmp.Or(run.Seed, 1))
	if o.Report != nil {
		e.t.Errorf("%s\n%s", headOf(o), whyUnended(o))
		return
	}
	a := &attempt{drawing: drawing{of: c, seed: cmp.Or(run.Seed, 1)}}
	c.judge(a, o)
	switch {
	case len(a.failures) == 0 && len(o.Result.Unmet) > 0:
		e.t.Errorf("%s\n%s\nit no longer applies:\n%s", headOf(o), o.Timeline(), strings.Join(o.Unproved(), "\n"))
		return
	case len(a.failures) == 0:
		e.t.Logf("%s\n%s", headOf(o), o.Timeline())
		return
	}
	e.t.Error("the run breaks what is claimed of the lock")
	e.explain(e.t, o, page, a.failures[0])
}

// tally counts the plans, those with one perturbation separately. The calm run does not count as a plan.
func (c *calmRun) tally() (singles, drawn search.Level) {
	singles = c.singles
	for _, a := range c.tried {
		switch single := len(a.plan) == 1 && a.seed == c.seed; {
		case single && a.class == search.Violating:
			singles.Count(a.class)
		case !single && len(a.plan) > 0: // the other plans with one perturbation are in singles
			drawn.Count(a.class)
		}
	}
	return singles, drawn
}

// summary sums up all plans in a few words.
func (e *exploration) summary() string {
	var lines []string
	excused := map[string]int{}
	drawn := search.Level{}
	for _, c := range e.calm {
		singles, more := c.tally()
		drawn.Add(more)
		walks := search.Level{
			Survived: c.walks[search.Survived], Idle: c.walks[search.Idle], Violating: c.walks[search.Violating], Unproved: c.walks[search.Unproved],
		}
		walks.Plans = walks.Survived + walks.Idle + walks.Violating + walks.Unproved
		lines = append(lines, fmt.Sprintf("workload %s", c.workload),
			"  all plans with one perturbation, "+levelInWords(singles))
		if walks.Plans > 0 {
			lines = append(lines, "  runs of walks, "+levelInWords(walks))
		}
		for _, a := range c.tried {
			for _, f := range a.excused {
				excused[f.String()]++
			}
		}
	}
	if e.hunt > 0 {
		lines = append(lines, "plans drawn, "+levelInWords(drawn))
	}
	for _, f := range slices.Sorted(maps.Keys(excused)) {
		lines = append(lines, fmt.Sprintf("  %d × %s", excused[f], f))
	}
	return strings.Join(lines, "\n")
}

// levelInWords sums up plans of which none breaks a claim.
func levelInWords(l search.Level) string {
	return fmt.Sprintf("%s: %d survived, %d with a perturbation that had no effect, %d prove nothing, %d violate what is not claimed",
		search.Grouped(l.Plans), l.Survived, l.Idle, l.Unproved, l.Violating)
}
