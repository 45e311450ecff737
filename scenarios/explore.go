package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/scenarios/script"
	"lockstep/scenarios/search"
	"lockstep/sim/history"
)

// Explore searches for failures that [Test] does not cover. It starts from calm runs, in which nothing goes wrong: two clients
// contend for the lock, write and release, on the servers that its reference needs; see [Shaped]. The reference is the lock that
// yours is like; see [Like]. There is one calm run for each [search.Workload] that suits the reference, or, with [From], for each run
// of a scenario file. Explore injects faults into a calm run. A perturbation is a fault at one moment of it, and a plan is a set of
// perturbations; see [script.Kinds] and [Within].
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
	e := &exploration{bench: newBench(t, call, o), t: t, test: t.Name(), newLock: newLock}
	t.Cleanup(e.close)
	if page, err := replayed(t.Context()); err != nil {
		t.Fatal(err)
	} else if page != nil {
		e.replay(page)
		return
	}
	if !e.prepare("Explore") {
		return
	}
	if e.exhaust(); len(e.ways) == 0 {
		e.walk()
	}
	if t.Failed() || e.tell(t) {
		return
	}
	defer e.conclude() // rapid ends this goroutine when it fails the test
	if o.hunt > 0 {
		e.huntFor(o.hunt)
	}
}

// Shaped sets the calm runs that [Explore] and [Limits] perturb: how many clients and nodes there are, and so on. Its Lock is ignored. With a
// Workload there is only the calm run of that workload. The default is two clients and one node, and what the reference needs:
// three nodes for redlock and its variants, a replica for single-wait, a resource that compares fencing tokens for fenced, leases
// that are extended for single-extend and redlock-extend.
func Shaped(s search.Shape) Option { return option("Shaped", func(o *options) { o.shape = s }) }

// From makes [Explore] perturb what the clients of a scenario file do, without its faults, pauses and expectations, in place of the
// workloads. Each run of the file is perturbed, with your lock, whatever lock its section names. The file says which clients and
// nodes there are, so From cannot be combined with [Shaped]. Errors in the file are reported with file:line. The default is no file.
func From(path string) Option { return option("From", func(o *options) { o.from = path }) }

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
	for _, name := range limiting {
		if slices.Contains(o.given, name) {
			return fmt.Errorf("scenarios.%s is for Limits", name)
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
	if slices.Contains(o.given, "From") {
		if o.from == "" {
			return errors.New(`scenarios.From: the path must be that of a scenario file, such as "testdata/my-lock.txtar"`)
		}
		if slices.Contains(o.given, "Shaped") {
			return errors.New("scenarios.From and scenarios.Shaped: with From the file says which clients and nodes there are")
		}
	}
	if len(o.within) == 0 {
		if slices.Contains(o.given, "Within") {
			return errors.New("scenarios.Within must name a kind; without Within, all kinds are used")
		}
		o.within = script.Kinds()
	}
	o.shaped()
	return nil
}

// shaped fills in the shape that suits the references, unless one is given.
func (o *options) shaped() {
	if !slices.Contains(o.given, "Shaped") {
		for _, name := range o.like {
			o.shape = o.shape.With(shapeOf(name))
		}
	}
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
	t       testing.TB
	test    string // the name of what made the call
	newLock clients.New
	// patience limits the time for which a failure is reduced; 0: it takes as long as it takes.
	patience time.Duration
	calm     []*calmRun
	played   int
	ways     []way // in which plans fail that are the same every time, in the order in which they were found

	failing *failure // the failure that rapid is shrinking: that of the first plan that failed
	failed  *attempt // the last attempt that fails so
}

// prepare plays the calm runs, and keeps those that apply to the lock. It returns false if the test has failed.
func (e *exploration) prepare(call string) bool {
	e.t.Helper()
	runs, err := e.calmRuns()
	if err != nil {
		e.t.Fatalf("scenarios.%s: %v", call, err)
	}
	for _, c := range runs {
		switch applies, ok := c.survey(); {
		case !ok:
			return false
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
	return true
}

// exhaust plays every plan with one perturbation of each calm run. If there are none, the test fails.
func (e *exploration) exhaust() {
	e.t.Helper()
	perturbable := false
	for _, c := range e.calm {
		calm := c.try(drawing{of: c, seed: c.seed}, true)
		if len(calm.kinds) == 0 {
			continue
		}
		perturbable = true
		for _, plan := range c.suspects(calm) {
			e.note(c.try(drawing{c, c.seed, plan}, false))
		}
	}
	if !perturbable {
		e.t.Errorf("nothing is proved: the calm run has nothing to perturb by %s; see scenarios.Within for the kinds, and scenarios.Shaped for the clients and nodes", strings.Join(script.WordsOf(e.within), ", "))
	}
}

// walkRuns is about how many runs the walks of each calm run have together.
const walkRuns = 1000

// walk makes walks from each calm run, the same ones each time. With the workload Short it makes none: several faults at once leave too
// few tries in its TTL, and chance decides whether one of them succeeds. Nor does it with Again, whose runs are twice as long as those of Once.
func (e *exploration) walk() {
	e.t.Helper()
	for _, c := range e.calm {
		if c.name == workloadName(search.Again) || c.name == workloadName(search.Short) {
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
			e.note(c.try(drawing{c, f.Seed, f.Plan}, false))
		}
		for _, f := range r.Shared { // which may break a claim of Survives
			e.note(c.try(drawing{c, f.Seed, f.Plan}, false))
		}
	}
}

// replay plays a run that [replayed] returned, and nothing else.
func (e *exploration) replay(page *script.Scenario) {
	e.t.Helper()
	if len(page.Runs) != 1 {
		e.t.Fatalf("%s: the scenario has %d runs; it must have one", replayVariable, len(page.Runs))
	}
	run := page.Runs[0]
	c := e.calmly(page) // it is compared under this page only
	o := e.play(page, run.With(e.test), e.newLock, cmp.Or(run.Seed, 1))
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
