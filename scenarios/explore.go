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

	"pgregory.net/rapid"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/scenarios/search"
	"lockstep/sim/history"
	"lockstep/sim/workers"
)

// Explore searches for failures that [Test] does not cover: plans, which are sets of up to four perturbations of a calm run,
// under which your lock breaks a claim. In the calm run two clients contend for the lock, write and release, on the servers of
// the lock that yours is like; see [Shaped]. A perturbation is a fault at one moment of that run; see [script.Kinds] and
// [Within].
//
// Explore plays every plan with one perturbation, with the seed of [Seed]. Then rapid draws plans with up to four perturbations
// and other seeds: 100 of them, or as many as go test -rapid.checks says. A plan that breaks a claim fails the test, as does one
// whose run does not end. If there is nothing to perturb, or no perturbation has an effect, the test fails as well: it proves
// nothing. The claims are those of Test, made by [Like], [Survives] and [Needs]:
//
//   - A violation fails, whichever assumption was broken, unless the lock that yours is like does the same: it violates the same
//     property under the same plan, or the same property for the same reason under some plan with one perturbation of a kind that
//     this plan has. See [search.Reference].
//   - Survives adds assumptions under which every violation fails, Needs those under which none does.
//
// rapid stores the draws of a failure below testdata/rapid, and plays them first the next time. The log ends with the smallest
// run that fails in the same way, with its timeline, an explanation of the violation, and the command that repeats it. With go
// test -artifacts the run is kept as a page.
//
// The runs take place in worker processes, as those of Test.
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
	calm, err := o.calm()
	if err != nil {
		t.Fatal(err)
	}
	e := &exploration{bench: newBench(t, call, o), t: t, newLock: newLock, calm: calm, tried: map[string]*attempt{}}
	t.Cleanup(e.close)
	e.compare()
	if page, err := replayed(t.Context()); err != nil {
		t.Fatal(err)
	} else if page != nil {
		e.replay(page)
		return
	}
	if !e.survey() || !e.exhaust() {
		return
	}
	defer e.conclude() // rapid ends this goroutine when it fails the test
	rapid.Check(t, e.check)
}

// Shaped sets the calm run that [Explore] perturbs: how many clients and nodes there are, and so on. Its Lock is ignored. The
// default suits the locks that yours is like: three nodes for redlock and its variants, a replica for single-wait, a resource
// that compares fencing tokens for fenced, leases that are extended for single-extend and redlock-extend, and otherwise one node
// with two clients.
func Shaped(s search.Shape) Option { return option("Shaped", func(o *options) { o.shape = s }) }

// Within restricts [Explore] to some kinds of perturbations. The default is all kinds: those that your lock is not claimed to
// survive fail nothing.
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
	for _, k := range o.within {
		if !slices.Contains(script.Kinds(), k) {
			return fmt.Errorf("scenarios.Within: %w", history.Unknown("kind", string(k), script.WordsOf(script.Kinds())))
		}
	}
	if len(o.within) == 0 {
		if slices.Contains(o.given, "Within") {
			return errors.New("scenarios.Within names no kind; without it all are drawn")
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

// calm returns the run that is perturbed, with the first lock that yours is like.
func (o *options) calm() (*script.Scenario, error) {
	s := o.shape
	s.Lock = o.like[0]
	calm, err := s.Calm()
	if err != nil {
		return nil, fmt.Errorf("scenarios.Explore: %w; see scenarios.Shaped", err)
	}
	return calm, nil
}

// An exploration is one call of Explore.
type exploration struct {
	*bench
	t         *testing.T
	newLock   clients.New
	calm      *script.Scenario
	constants search.Constants

	references []*search.Reference // the locks that this one is like

	played  int
	tried   map[string]*attempt // by plan
	singles search.Level        // the counts of all plans with one perturbation, without those that violate something

	failing *failure // the failure that is being shrunk: that of the first plan that failed
	failed  *attempt // the last attempt that fails so
	drawn   bool     // by rapid, which logs its own message
}

// A drawing is a plan and the seed of its run.
type drawing struct {
	seed uint64
	plan []search.Perturbation
}

// GoString is logged by rapid: the perturbations, one per line, or a note that there are none.
func (d drawing) GoString() string {
	text := fmt.Sprintf("seed %d", d.seed)
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
	d := drawing{seed: e.seed + uint64(rapid.IntRange(0, seedsDrawn-1).Draw(rt, "seed"))}
	for _, c := range choices.Draw(rt, "choices") {
		a := e.try(d)
		if len(a.kinds) == 0 {
			break // the run did not end
		}
		sites := a.possible[a.kinds[c.kind*len(a.kinds)/grains]]
		p := sites[(c.coarse*grains+c.fine)*len(sites)/(grains*grains)]
		d.plan = append(slices.Clip(d.plan), p)
		slices.SortStableFunc(d.plan, search.Perturbation.Compare)
		d.plan = slices.CompactFunc(d.plan, func(p, q search.Perturbation) bool { return p.Compare(q) == 0 })
	}
	return d
}

// check is the property that rapid checks. Once a plan has failed, only plans that fail in the same way count, so that shrinking
// does not move from one bug to another.
func (e *exploration) check(rt *rapid.T) {
	a := e.try(rapid.Custom(e.draw).Draw(rt, "plan"))
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
	e.failing, e.failed, e.drawn = &f, a, true
	rt.Fatal(f)
}

// try plays a plan, unless it was played before.
func (e *exploration) try(d drawing) *attempt {
	key := d.GoString()
	if a := e.tried[key]; a != nil {
		return a
	}
	s := search.Perturbed(e.calm, d.plan)
	o := e.play(s, s.Runs[0].With(e.t.Name()), e.newLock, d.seed)
	a := &attempt{drawing: d}
	e.tried[key] = a
	if o.Report != nil {
		what, _, _ := strings.Cut(whyUnended(o), "\n")
		a.class, a.failures, a.outcome = search.Violating, []failure{{What: what}}, o
		return a
	}
	did := search.EffectOf(e.calm, d.plan, o)
	a.class = search.Classify(o, did, o.Failing())
	e.judge(a, o)
	if len(a.failures) > 0 {
		a.outcome = o
		if rest, less := did.Rest(); less {
			return e.without(a, rest)
		}
	}
	if len(d.plan) < mostDrawn && e.constants != (search.Constants{}) {
		e.find(a, o)
	}
	return a
}

// without returns an attempt without the faults of a that had no effect, if it still fails: a report contains no such faults.
func (e *exploration) without(a *attempt, rest []search.Perturbation) *attempt {
	bare := e.try(drawing{a.seed, rest})
	if len(bare.failures) == 0 {
		a.class, a.failures, a.outcome = search.Unproved, nil, nil
		return a
	}
	e.tried[a.GoString()] = bare
	return bare
}

// find finds the sites at which a plan can be extended.
func (e *exploration) find(a *attempt, o *play.Outcome) {
	a.possible = map[script.Kind][]search.Perturbation{}
	for _, p := range search.Sites(e.calm, o, e.constants, e.within) {
		a.possible[p.Kind] = append(a.possible[p.Kind], p)
	}
	for _, k := range e.within {
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
	e.t.Fatalf("the same run with the same seed came out differently the second time, so rapid cannot reduce what it draws. If the lock is nondeterministic by nature, pass scenarios.Restless().\n%s", how)
}

// judge determines which violations of a run break a claim.
func (e *exploration) judge(a *attempt, o *play.Outcome) {
	if o.Result.RanOn {
		return
	}
	for _, f := range o.Failing() {
		claim := e.claim(f, a.drawing)
		if claim == "" {
			a.excused = append(a.excused, f)
			continue
		}
		i := slices.IndexFunc(o.Result.Violations, func(v checker.Violation) bool { return v.Property == f.Property && v.Assumption == f.Assumption })
		a.failures = append(a.failures, failure{f, o.Result.Violations[i].What, claim})
	}
}

// claim returns the claim that the violations of one kind in a run break; empty if none.
func (e *exploration) claim(f play.Failing, d drawing) string {
	e.t.Helper()
	switch {
	case slices.Contains(e.survives, f.Assumption):
		return fmt.Sprintf("survives a breach of %s", f.Assumption)
	case slices.Contains(e.needs, f.Assumption):
		return ""
	}
	for _, reference := range e.references {
		shared, err := reference.Shares(e.t.Context(), f, d.plan, d.seed)
		if err != nil {
			e.t.Fatal(err)
		}
		if shared {
			return ""
		}
	}
	if f.Assumption == checker.None {
		return "keeps this as long as no assumption breaks, as " + e.asLike() + " under this plan"
	}
	return fmt.Sprintf("keeps this even with a breach of %s, as %s under this plan", f.Assumption, e.asLike())
}

// asLike names the locks that this one is like, as the subject of a sentence.
func (o options) asLike() string {
	if len(o.like) == 1 {
		return o.like[0] + " does"
	}
	return strings.Join(o.like, " and ") + " do"
}

// compare takes the locks that this one is like as references.
func (e *exploration) compare() {
	e.references = nil
	for _, like := range e.like {
		reference, err := e.search(e.seed).Against(like)
		if err != nil {
			panic("scenarios: " + err.Error()) // the options were checked
		}
		e.references = append(e.references, reference)
	}
}

// survey plays the calm run, and determines its time constants. It returns false if the test has failed.
func (e *exploration) survey() bool {
	e.t.Helper()
	run := e.calm.Runs[0].With(e.t.Name())
	o := e.play(e.calm, run, e.newLock, e.seed)
	if o.Report != nil {
		e.t.Errorf("nothing went wrong, and yet %s", whyUnended(o))
		return false
	}
	a := &attempt{drawing: drawing{seed: e.seed}}
	if e.judge(a, o); len(a.failures) > 0 {
		e.failing, a.outcome = &a.failures[0], o
		e.failed = a
		e.t.Error("nothing went wrong, and yet a claim is broken")
		e.conclude()
		return false
	}
	held := func(s *script.Scenario, run script.Section, lock clients.New, seed uint64) *play.Outcome {
		return e.play(s, run.With(e.t.Name()), lock, seed)
	}
	e.constants = search.Constants{TTL: o.Run.TTL, NodeTimeout: search.NodeTimeout(held, e.calm, o, e.seed, e.newLock), Retry: search.RetryDelay(o)}
	return true
}

// exhaust plays every plan with one perturbation. It returns false if there are none or the test has failed.
func (e *exploration) exhaust() bool {
	e.t.Helper()
	calm := e.try(drawing{seed: e.seed})
	if len(calm.kinds) == 0 {
		e.t.Errorf("nothing is proved: the calm run has nothing to perturb by %s; see scenarios.Within, and scenarios.Shaped for what takes part in it", strings.Join(script.WordsOf(e.within), ", "))
		return false
	}
	for _, plan := range e.suspects(calm) {
		a := e.try(drawing{e.seed, plan})
		if len(a.failures) == 0 {
			continue
		}
		e.failing, e.failed = &a.failures[0], a
		e.t.Errorf("one perturbation is enough:\n    %s\n%s", plan[0], e.failing)
		e.conclude()
		return false
	}
	return true
}

// errLost ends a search because a worker process died, so that it is not known which plan it was playing.
var errLost = errors.New("a worker was lost")

// suspects lists, in the order of time, the plans with one perturbation that violate anything, claimed or not, and those whose
// runs do not end.
func (e *exploration) suspects(calm *attempt) [][]search.Perturbation {
	e.t.Helper()
	s := e.search(e.seed)
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
		tasks = append(tasks, &search.Task{Kinds: e.within, Constants: e.constants, Expand: &search.Expansion{Part: part, Of: parts, Leaf: true}})
	}
	var plans [][]search.Perturbation
	differs := ""
	err := s.SendAll(e.t.Context(), tasks, func(_ int, y *search.Result) error {
		for _, trial := range y.Trials {
			plans = append(plans, trial.Plan)
		}
		for _, broken := range y.Broken {
			plans = append(plans, broken.Plan)
		}
		e.singles.Add(y.Tally)
		differs = cmp.Or(differs, y.Differs)
		return nil
	})
	switch {
	case errors.Is(err, errLost): // it may be any of them: they are played one at a time
		plans, e.singles = nil, search.Level{}
		for _, kind := range calm.kinds {
			for _, p := range calm.possible[kind] {
				plans = append(plans, []search.Perturbation{p})
			}
		}
	case err != nil:
		e.t.Fatal(err)
	case differs != "":
		e.unsteady(differs)
	}
	slices.SortFunc(plans, func(a, b []search.Perturbation) int { return slices.CompareFunc(a, b, search.Perturbation.Compare) })
	return plans
}

// search returns a search that the workers of the bench carry out.
func (e *exploration) search(seed uint64) *search.Search {
	s := &search.Search{Calm: e.calm, Lock: e.t.Name(), Seed: seed, Kinds: e.within, Restless: e.restless, New: e.newLock}
	if e.pool != nil {
		s.Do = e.pool.Do
	}
	return s
}

// conclude explains the failure, or sums up the test.
func (e *exploration) conclude() {
	e.t.Helper()
	if e.failed == nil {
		singles, drawn := e.tally()
		if singles.Survived+singles.Violating+drawn.Survived+drawn.Violating == 0 {
			e.t.Errorf("nothing is proved: no run in which a perturbation had an effect came to a verdict\n%s", e.summary())
			return
		}
		e.print("%s", e.summary())
		return
	}
	if e.drawn {
		e.print("The output above is rapid's. Use the command at the very end, not rapid's, which draws new plans.")
	}
	if e.failing.Failing == (play.Failing{}) {
		e.explain(e.failed.outcome, e.page(), *e.failing)
		return
	}
	e.explainSmallest()
}

// page returns the scenario of the failure, ready to be saved.
func (e *exploration) page() *script.Scenario {
	s := search.Perturbed(e.calm, e.failed.plan)
	s.Runs = slices.Clone(s.Runs)
	s.Runs[0].Seed = e.failed.seed
	return s
}

// explainSmallest explains the smallest run that fails in the same way, or, if it cannot be found, the one that rapid found.
func (e *exploration) explainSmallest() {
	e.t.Helper()
	c, err := e.search(e.failed.seed).Shrink(e.t.Context(), search.Found{Trial: search.Trial{Plan: e.failed.plan, Seed: e.failed.seed}, Failing: e.failing.Failing})
	page := e.page()
	if err != nil {
		e.print("it was not reduced further: %v", err)
	} else {
		e.print("reduced further to:")
		page = c.Scenario
	}
	run := page.Runs[0]
	o := e.play(page, run.With(e.t.Name()), e.newLock, cmp.Or(run.Seed, 1))
	f := *e.failing
	for _, v := range o.Result.Violations {
		if v.Property == f.Property && v.Assumption == f.Assumption {
			f.What = v.What
			break
		}
	}
	e.explain(o, page, f)
}

// explain logs an outcome that breaks a claim, and stores its files.
func (e *exploration) explain(o *play.Outcome, page *script.Scenario, f failure) {
	e.t.Helper()
	keep(e.t, e.t.Name(), o)
	command := seeAgain(e.t, page)
	if o.Report != nil {
		e.print("%s\n%s\n%s", page.LanesText(), whyUnended(o), command)
		return
	}
	e.print("%s\n%s\n%s%s\nit is claimed that the lock %s\n%s", headOf(o), page.LanesText(), o.Timeline(), f, f.Claim, command)
}

// print logs a message. It has no line of the test, because rapid is done with it.
func (e *exploration) print(format string, args ...any) {
	fmt.Fprintf(e.t.Output(), format+"\n", args...)
}

// replay plays a run that [replayed] returned, and nothing else.
func (e *exploration) replay(page *script.Scenario) {
	e.t.Helper()
	if len(page.Runs) != 1 {
		e.t.Fatalf("%s: the scenario has %d runs; it must have one", replayVariable, len(page.Runs))
	}
	run := page.Runs[0]
	e.calm = page
	e.compare() // under this page only
	o := e.play(page, run.With(e.t.Name()), e.newLock, cmp.Or(run.Seed, 1))
	if o.Report != nil {
		e.t.Errorf("%s\n%s", headOf(o), whyUnended(o))
		return
	}
	a := &attempt{drawing: drawing{seed: cmp.Or(run.Seed, 1)}}
	e.judge(a, o)
	switch {
	case len(a.failures) == 0 && len(o.Result.Unmet) > 0:
		e.t.Errorf("%s\n%s\nit no longer applies:\n%s", headOf(o), o.Timeline(), strings.Join(o.Unproved(), "\n"))
		return
	case len(a.failures) == 0:
		e.t.Logf("%s\n%s", headOf(o), o.Timeline())
		return
	}
	e.t.Error("the run breaks what is claimed of the lock")
	e.explain(o, page, a.failures[0])
}

// tally counts the plans, those with one perturbation separately. The calm run does not count as a plan.
func (e *exploration) tally() (singles, drawn search.Level) {
	singles = e.singles
	for _, a := range e.tried {
		switch single := len(a.plan) == 1 && a.seed == e.seed; {
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
	singles, drawn := e.tally()
	lines := []string{"all plans with one perturbation, " + levelInWords(singles), "plans drawn, " + levelInWords(drawn)}
	excused := map[string]int{}
	for _, a := range e.tried {
		for _, f := range a.excused {
			excused[f.String()]++
		}
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
