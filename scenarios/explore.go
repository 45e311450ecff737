package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/sim"
)

// Explore looks for what [Test] does not have: plans, which are sets of up to four perturbations of a calm run, under which your
// lock breaks what is claimed of it. In the calm run two clients contend, write and release, on servers as the lock has them that
// yours is like; see [Shaped]. A perturbation is anything that can go wrong at one of its moments; see [Kinds] and [Within].
//
// Plans are drawn by rapid, 100 of them or as many as go test -rapid.checks says. One that breaks a claim fails the test, as does
// one with which the lock does not come to an end. The claim is made as for Test, by [Like], [Survives] and [Needs]:
//
//   - A violation with which no assumption of the environment broke fails, unless the lock that yours is like has it too under
//     the same plan.
//   - So does one that comes with a long pause or a long delay, unless it is a write that arrives too late, against which no lease
//     helps. Clocks that jump and nodes that forget excuse whatever comes with them.
//   - Where there are fewer than three lock nodes, nobody need get the lock while one is gone.
//   - Survives adds assumptions with which every violation fails, Needs those with which none does.
//
// rapid keeps the draws of a failure below testdata/rapid, and plays them first the next time. The log has the smallest run that
// fails in the same way, with its timeline, why the violation came about, and the command that shows it again. With go test
// -artifacts the run is kept as a page.
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
	if token := os.Getenv(replayVariable); token != "" {
		e.replay(token)
		return
	}
	if !e.survey() {
		return
	}
	defer e.conclude() // rapid ends this goroutine where it fails the test
	rapid.Check(t, e.check)
}

// Shaped says which calm run [Explore] perturbs: how many clients and nodes there are, and so on. Its Lock is of no account. The
// default is what suits the locks that yours is like: three nodes for redlock and its kin, a replica for single-wait, a resource
// that compares fencing tokens for fenced, leases that are extended for redlock-extend, and one node with two clients otherwise.
func Shaped(s Shape) Option { return option("Shaped", func(o *options) { o.shape = s }) }

// Within restricts what [Explore] perturbs to some kinds. The default is all: what your lock is not claimed to survive fails
// nothing.
func Within(kinds ...Kind) Option {
	return option("Within", func(o *options) { o.within = add(o.within, kinds) })
}

// forExploring checks the options of [Explore], and fills in what was not said.
func (o *options) forExploring() error {
	for _, name := range o.given {
		if slices.Contains([]string{"Only", "OnRedis", "Speed", "Rewrite"}, name) {
			return fmt.Errorf("scenarios.%s is not for Explore, which runs no page of the catalogue, and in simulation only", name)
		}
	}
	if err := o.claimable(); err != nil {
		return err
	}
	for _, k := range o.within {
		if !slices.Contains(Kinds(), k) {
			return fmt.Errorf("scenarios.Within: %w", sim.Unknown("kind", string(k), wordsOf(Kinds())))
		}
	}
	if len(o.within) == 0 {
		if slices.Contains(o.given, "Within") {
			return errors.New("scenarios.Within names no kind; without it all are drawn")
		}
		o.within = Kinds()
	}
	if !slices.Contains(o.given, "Shaped") {
		for _, name := range o.like {
			o.shape = o.shape.with(shapeOf(name))
		}
	}
	return nil
}

// shapeOf is the setting that a lock of the literature is for; zero where one node and a plain resource will do.
func shapeOf(lock string) Shape {
	switch lock {
	case "redlock", "redlock-sequential", "redlock-wall":
		return Shape{Nodes: 3}
	case "redlock-extend":
		return Shape{Nodes: 3, Extend: true}
	case "single-wait":
		return Shape{Replicas: 1}
	case "fenced":
		return Shape{Resource: Fenced}
	}
	return Shape{}
}

// with is a shape that suits both of two locks.
func (s Shape) with(r Shape) Shape {
	s.Nodes, s.Replicas = max(s.Nodes, r.Nodes), max(s.Replicas, r.Replicas)
	s.Resource, s.Extend = cmp.Or(s.Resource, r.Resource), s.Extend || r.Extend
	return s
}

// calm is the run that is perturbed, of the first lock that yours is like.
func (o *options) calm() (*Scenario, error) {
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
	calm      *Scenario
	constants constants

	played int
	tried  map[string]*attempt // by plan

	failing *failure // the way to fail that is being shrunk: that of the first plan which failed
	failed  *attempt // the last one that fails so
}

// A drawing is a plan and the seed of its run.
type drawing struct {
	seed uint64
	plan []Perturbation
}

// GoString is what rapid logs: the perturbations, one to a line, or that there are none.
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

// An attempt is what came of a drawing.
type attempt struct {
	drawing
	class    Class
	failures []failure
	excused  []Failing
	outcome  *Outcome // of one that fails

	possible map[Kind][]Perturbation
	kinds    []Kind
}

// A failure is a claim that a run breaks.
type failure struct {
	Failing // zero if the run did not come to its end

	What  string // has happened, in words
	Claim string // what is claimed, as the end of "it is claimed that the lock ..."
}

func (f failure) String() string {
	if f.Failing == (Failing{}) {
		return f.What
	}
	return fmt.Sprintf("%s: %s", f.Failing, f.What)
}

// The most perturbations in a plan, how many seeds there are, and how finely kinds and sites are told apart by what is drawn.
const (
	mostDrawn  = 4
	seedsDrawn = 8
	grains     = 32
)

// choice is what rapid draws for one perturbation. rapid prefers small numbers, in two places less than in one.
type choice struct{ kind, coarse, fine int }

var choices = rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) choice {
	grain := rapid.IntRange(0, grains-1)
	return choice{grain.Draw(rt, "kind"), grain.Draw(rt, "coarse"), grain.Draw(rt, "fine")}
}), 0, mostDrawn)

// draw draws a plan. What can be perturbed next is found in the run with the perturbations before it, so that a plan can hit what
// comes about by the plan itself. Smaller draws are earlier moments and smaller magnitudes, of the kinds that come first.
func (e *exploration) draw(rt *rapid.T) drawing {
	d := drawing{seed: e.seed + uint64(rapid.IntRange(0, seedsDrawn-1).Draw(rt, "seed"))}
	for _, c := range choices.Draw(rt, "choices") {
		a := e.try(d)
		if len(a.kinds) == 0 {
			break // the run did not come to its end
		}
		sites := a.possible[a.kinds[c.kind*len(a.kinds)/grains]]
		p := sites[(c.coarse*grains+c.fine)*len(sites)/(grains*grains)]
		d.plan = append(slices.Clip(d.plan), p)
		slices.SortStableFunc(d.plan, Perturbation.compare)
		d.plan = slices.CompactFunc(d.plan, func(p, q Perturbation) bool { return p.compare(q) == 0 })
	}
	return d
}

// check is the property. Once a plan has failed, only those fail that fail in the same way: or shrinking would lead from one
// mistake to another.
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
	e.failing, e.failed = &f, a
	rt.Fatal(f)
}

// try plays a plan, unless it was played before.
func (e *exploration) try(d drawing) *attempt {
	key := d.GoString()
	if a := e.tried[key]; a != nil {
		return a
	}
	s := e.calm.Perturbed(d.plan)
	o := e.play(s, s.Runs[0].With(e.t.Name()), e.newLock, d.seed)
	a := &attempt{drawing: d}
	e.tried[key] = a
	if o.Report != nil {
		what, _, _ := strings.Cut(o.unended(), "\n")
		a.class, a.failures, a.outcome = Violating, []failure{{What: what}}, o
		return a
	}
	a.class = o.class(d.plan, o.failing())
	e.judge(a, o)
	if len(a.failures) > 0 {
		a.outcome = o
	}
	if len(d.plan) < mostDrawn && e.constants != (constants{}) {
		e.find(a, o)
	}
	return a
}

// find finds what can be perturbed next.
func (e *exploration) find(a *attempt, o *Outcome) {
	a.possible = map[Kind][]Perturbation{}
	for _, p := range sites(e.calm, o, e.constants, e.within) {
		a.possible[p.Kind] = append(a.possible[p.Kind], p)
	}
	for _, k := range e.within {
		if len(a.possible[k]) > 0 {
			a.kinds = append(a.kinds, k)
		}
	}
}

// play has a worker put a lock through a run.
func (e *exploration) play(s *Scenario, run Section, lock clients.New, seed uint64) *Outcome {
	e.t.Helper()
	c := Case{Scenario: s, Run: run, Seed: seed, On: OnSim, Restless: e.restless, New: lock}
	job, err := c.job(e.played)
	if err != nil {
		e.t.Fatal(err)
	}
	e.played++
	result, err := e.perform(e.t.Context(), c, job)
	if err != nil {
		e.t.Fatalf("%v\nThe test binary, run again as a worker process, has to come to this call of scenarios: what stands before it in the test, and TestMain, must allow that.", err)
	}
	o := c.outcome(result)
	if i := slices.IndexFunc(o.Result.Unmet, func(u string) bool { return strings.HasPrefix(u, "not reproducible") }); i >= 0 {
		e.t.Fatalf("the same run with the same seed came out differently the second time: %s\nWhat rapid draws would mean something else each time. If that is the nature of the lock, say scenarios.Restless().\n%s", o.Result.Unmet[i], s)
	}
	return o
}

// judge says which violations of a run break a claim.
func (e *exploration) judge(a *attempt, o *Outcome) {
	if o.Result.RanOn {
		return
	}
	for _, f := range o.failing() {
		claim := e.claim(f, a.drawing)
		if claim == "" {
			a.excused = append(a.excused, f)
			continue
		}
		i := slices.IndexFunc(o.Result.Violations, func(v checker.Violation) bool { return v.Property == f.Property && v.Assumption == f.Assumption })
		a.failures = append(a.failures, failure{f, o.Result.Violations[i].What, claim})
	}
}

// claim says which claim a violation breaks; empty if none.
func (e *exploration) claim(f Failing, d drawing) string {
	switch {
	case slices.Contains(e.survives, f.Assumption):
		return fmt.Sprintf("survives a breach of %s", f.Assumption)
	case slices.Contains(e.needs, f.Assumption), f.excused(), f.Property == checker.FaultTolerance && e.calm.Runs[0].Nodes < leastMajority:
		return ""
	}
	for _, like := range e.like {
		if e.violates(like, f.Property, d) {
			return ""
		}
	}
	if f.Assumption == checker.None {
		return "keeps this as long as no assumption breaks, as " + e.asLike() + " under this plan"
	}
	return "keeps this however long a pause or a delay is, as " + e.asLike() + " under this plan"
}

// asLike says that the locks which this one is like do something.
func (o options) asLike() string {
	if len(o.like) == 1 {
		return o.like[0] + " does"
	}
	return strings.Join(o.like, " and ") + " do"
}

// leastMajority is the least number of lock nodes of which one may be gone.
const leastMajority = 3

// excused reports whether no lock with leases is to blame: clocks that jump and nodes that forget break them all, and a write that
// comes late no lease holds back. But how long it took to acquire a lease, and that it is over, a lock can see.
func (f Failing) excused() bool {
	switch f.Assumption {
	case checker.BoundedClockError, checker.DurableNodes:
		return true
	case checker.BoundedPause, checker.BoundedDelay:
		return f.Property == checker.ResourceExclusion || f.Property == checker.NoLostUpdate
	}
	return false
}

// violates reports whether a lock of the literature violates a property under a plan.
func (e *exploration) violates(lock string, p checker.Property, d drawing) bool {
	build, err := clients.Find(lock)
	if err != nil {
		panic("scenarios: " + err.Error()) // the options were checked
	}
	s := e.calm.Perturbed(d.plan)
	o := e.play(s, s.Runs[0].With(lock), build, d.seed)
	return o.Result.Status(p) == checker.Violated
}

// survey plays the calm run, and finds out what its time constants are. It reports whether there is anything to perturb.
func (e *exploration) survey() bool {
	e.t.Helper()
	run := e.calm.Runs[0].With(e.t.Name())
	o := e.play(e.calm, run, e.newLock, e.seed)
	if o.Report != nil {
		e.t.Errorf("nothing went wrong, and yet %s", o.unended())
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
	ended := true
	held := func(s *Scenario, run Section, lock clients.New, seed uint64) *Outcome {
		o := e.play(s, run.With(e.t.Name()), lock, seed)
		ended = ended && o.Report == nil
		return o
	}
	e.constants = constants{TTL: o.Run.TTL, Patience: patience(held, e.calm, o, e.seed, e.newLock), Retry: retryDelay(o)}
	return true
}

// conclude explains the failure, or says what was seen.
func (e *exploration) conclude() {
	e.t.Helper()
	if e.failed == nil {
		e.print("%s", e.summary())
		return
	}
	if e.failing.Failing == (Failing{}) {
		e.explain(e.failed.outcome, e.page(), *e.failing)
		return
	}
	e.explainSmallest()
}

// page is the scenario of what failed, ready to be saved.
func (e *exploration) page() *Scenario {
	s := e.calm.Perturbed(e.failed.plan)
	s.Runs = slices.Clone(s.Runs)
	s.Runs[0].Seed = e.failed.seed
	return s
}

// explainSmallest explains the smallest run that fails in the same way, or, if it cannot be found, that of rapid.
func (e *exploration) explainSmallest() {
	e.t.Helper()
	search := &Search{Calm: e.calm, Lock: e.t.Name(), Seed: e.failed.seed, Restless: e.restless, New: e.newLock}
	if e.pool != nil {
		search.do = e.pool.Do
	}
	c, err := search.Shrink(e.t.Context(), Found{Trial: Trial{Plan: e.failed.plan, Seed: e.failed.seed}, Failing: e.failing.Failing})
	page := e.page()
	if err != nil {
		e.print("it was not made smaller: %v", err)
	} else {
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

// explain logs an outcome that breaks a claim, and keeps it.
func (e *exploration) explain(o *Outcome, page *Scenario, f failure) {
	e.t.Helper()
	keep(e.t, o)
	command := seeAgain(e.t, page)
	if o.Report != nil {
		e.print("%s\n%s\n%s", page.lanesText(), o.unended(), command)
		return
	}
	e.print("%s\n%s\n%s%s\nit is claimed that the lock %s\n%s", o.head(), page.lanesText(), o.Timeline(), f, f.Claim, command)
}

// print logs something. There is no line of the test to name: rapid is through with it.
func (e *exploration) print(format string, args ...any) {
	fmt.Fprintf(e.t.Output(), format+"\n", args...)
}

// lanesText is what the clients and the nemesis do, as it stands in a page.
func (s *Scenario) lanesText() string {
	var b strings.Builder
	for _, lane := range s.Resolve(s.Runs[0]).Lanes {
		fmt.Fprintf(&b, "%s\n", lane)
	}
	return strings.TrimRight(b.String(), "\n")
}

// replay plays the run in a token, and nothing else.
func (e *exploration) replay(token string) {
	e.t.Helper()
	page, err := FromToken(token)
	if err != nil {
		e.t.Fatalf("%s: %v", replayVariable, err)
	}
	run := page.Runs[0]
	e.calm = page
	o := e.play(page, run.With(e.t.Name()), e.newLock, cmp.Or(run.Seed, 1))
	if o.Report != nil {
		e.t.Errorf("%s\n%s", o.head(), o.unended())
		return
	}
	a := &attempt{drawing: drawing{seed: cmp.Or(run.Seed, 1)}}
	e.judge(a, o)
	if len(a.failures) == 0 {
		e.t.Logf("%s\n%s", o.head(), o.Timeline())
		return
	}
	e.t.Error("the run breaks what is claimed of the lock")
	e.explain(o, page, a.failures[0])
}

// summary says in a few words what came of all that was played.
func (e *exploration) summary() string {
	count := map[Class]int{}
	excused := map[string]int{}
	plans := 0
	for _, a := range e.tried {
		plans++
		count[a.class]++
		for _, f := range a.excused {
			excused[f.String()]++
		}
	}
	text := fmt.Sprintf("%s plans: %d survived, %d with a perturbation that had no effect, %d prove nothing, %d violate what is not claimed",
		Grouped(plans), count[Survived], count[Idle], count[Unproved], count[Violating])
	var lines []string
	for f, n := range excused {
		lines = append(lines, fmt.Sprintf("  %d times %s", n, f))
	}
	slices.Sort(lines)
	return strings.Join(append([]string{text}, lines...), "\n")
}
