package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/scenarios/search"
	"lockstep/sim/history"
	"lockstep/sim/workers"
)

// An Option says which runs [Test], [RunFile], [Explore], [Limits] or [Run] make with a lock, and what is claimed of the lock.
//
// The claim decides what fails. Without any option, the claim is that the lock is as good as single, the correct lock on one
// Redis node. A few claims, as options:
//
//	survives the crash of a minority of its nodes,      Like("redlock")
//	if those that come back have their keys
//	needs bounded pauses: a client that is paused       Like("fenced"), Needs(checker.BoundedPause)
//	past its lease may do harm where fenced would not
//	has fencing tokens, and the resource checks them    Like("fenced")
//	renews its leases                                   Like("watchdog")
//	survives any pause                                  Survives(checker.BoundedPause)
//
// docs/scenarios.md says which properties each reference lock keeps in which scenario.
type Option func(*options)

type options struct {
	given    []string // the names of the options, in the order given
	like     []string
	survives []checker.Assumption
	needs    []checker.Assumption
	seed     uint64
	only     []string
	limit    time.Duration
	memory   int64
	rewrite  bool
	known    []known
	against  string
	restless bool
	guests   play.Guests
	on       string
	speed    float64
	atLeast  float64       // the share of runs that must prove something
	longest  time.Duration // the longest time that a run on real servers can take

	// For Explore:
	shape  search.Shape
	from   string // the scenario file whose runs are perturbed
	within []script.Kind
	hunt   time.Duration

	have string // for Limits
}

func option(name string, set func(*options)) Option {
	return func(o *options) {
		o.given = append(o.given, name)
		set(o)
	}
}

// add appends those of more that to lacks; duplicates count once.
func add[T comparable](to, more []T) []T {
	for _, x := range more {
		if !slices.Contains(to, x) {
			to = append(to, x)
		}
	}
	return to
}

// Like names the locks that your lock claims to be as good as: its references. Your lock is played in their runs of the
// catalogue, and must keep every property that one of them keeps there. If a scenario has no run of a reference, your lock is
// played in the run of the lock that the reference is like: fenced, watchdog and single-extend are like single, and
// redlock-extend is like redlock. A lock like single-wait is also played in the runs of single, and of its other references on one
// node. If such a run has no replica, it gets one.
// A lock like single or redlock is also played in all runs of single-extend or redlock-extend: if it cannot extend its leases, such a
// run counts only if it violates a property for which the extension does not matter, and otherwise does not apply. If the runs of two
// references differ only in what is expected, your lock is played once. The default is single, a lock on one Redis node.
func Like(locks ...string) Option {
	return option("Like", func(o *options) { o.like = add(o.like, locks) })
}

// Survives claims that the lock keeps its properties even if the environment breaks these assumptions. If it breaks one of them,
// a violation fails, even if the reference has the same violation.
func Survives(assumptions ...checker.Assumption) Option {
	return option("Survives", func(o *options) { o.survives = add(o.survives, assumptions) })
}

// Needs weakens the claim: the lock need not keep its properties if the environment breaks these assumptions. If it breaks one of
// them, a violation is reported but does not fail, even if the reference has no such violation.
func Needs(assumptions ...checker.Assumption) Option {
	return option("Needs", func(o *options) { o.needs = add(o.needs, assumptions) })
}

// AtLeast is the share of the runs, from 0 to 1, that must prove something about the lock: [Test] fails if fewer do. Runs that do
// not apply to the lock do not count, for example because they extend a lease and the lock cannot. The default is 0.6.
func AtLeast(share float64) Option { return option("AtLeast", func(o *options) { o.atLeast = share }) }

const usualShare = 0.6

// Strict is [AtLeast] with 1: each run that applies to the lock must prove something.
func Strict() Option { return option("Strict", func(o *options) { o.atLeast = 1 }) }

// Seed sets the seed of the runs. The default is 1.
func Seed(seed uint64) Option { return option("Seed", func(o *options) { o.seed = seed }) }

// Only restricts the runs to the scenarios of the catalogue with these names. The default is all scenarios that have a run of a
// reference lock.
func Only(names ...string) Option {
	return option("Only", func(o *options) { o.only = add(o.only, names) })
}

// leastLimit is the least value of [Limit]. A shorter limit would end runs that are not stuck.
const leastLimit = 100 * time.Millisecond

// Limit is how much real time a run may take before it is stopped and reported. The default is 20 s and the least 100 ms; a run
// usually takes some milliseconds. A run with clients as WebAssembly may take five times the limit. With [OnRedis] it is the time that a run
// may take beyond what its steps say.
func Limit(d time.Duration) Option { return option("Limit", func(o *options) { o.limit = d }) }

// Memory is how many bytes of memory the processes of a run may use together before it is stopped and reported. The default is
// 2 GB, and the least is 100 MB. Two runs at once, on two cores, may use twice as much.
func Memory(bytes int64) Option { return option("Memory", func(o *options) { o.memory = bytes }) }

// Rewrite makes [RunFile] renew the timelines in the file, but never the expectations. It cannot be combined with [OnRedis]
// there, because the timelines are those of simulation. Rewrite makes [Test] renew the file that is given with [Against]. Set it
// from a flag of your own:
//
//	var rewrite = flag.Bool("rewrite", false, "renew files in testdata")
//
//	scenarios.RunFile(t, "testdata/deploy.txtar", newLock, scenarios.Rewrite(*rewrite))
func Rewrite(yes bool) Option { return option("Rewrite", func(o *options) { o.rewrite = yes }) }

// A known is a run that is known to break the claim.
type known struct{ run, why string }

// Known names a run that is known to break the claim, such as "pause-fenced/fenced", and says why that is accepted for now, for
// example with the number of a ticket. It may be given several times. The violation is logged and the subtest passes. The table
// has "known" in the column claim, and its last line counts the run. [Test] fails once the run keeps the claim or proves nothing:
// then Known must be removed. A run that does not end still fails. It is an error if the reason is empty, or if Test has no such
// run.
func Known(run, why string) Option {
	return option("Known", func(o *options) { o.known = append(o.known, known{run, why}) })
}

// Against compares each run with what a file says of it, and not with the claims. [Test] fails if the verdict, the status of a
// property or the assumption that was broken differs, if a run is not in the file, or if a run of the file is missing. With
// [Rewrite], Test makes the file or renews it, and fails only for runs that do not end. If go test -run selects runs, the others
// are neither renewed nor missed. Use one file for each call of Test, and commit it.
//
// The file has a line of JSON for each run, with five of the fields that lockstep run --json prints: "scenario", "run",
// "verdict", "properties" and "violations". Other fields are ignored. If the file is malformed, the error names the line. Without
// Rewrite, the file must exist. Its name is relative to the directory of the package, like those of all files of a test.
func Against(file string) Option { return option("Against", func(o *options) { o.against = file }) }

// exploring lists the options for [Explore] only, and limiting those for [Limits] only. Shaped is for both.
var (
	exploring = []string{"From", "Within", "Hunt"}
	limiting  = []string{"Have"}
)

// forPages checks that no option is for [Explore] or [Limits] only.
func (o *options) forPages() error {
	for _, name := range o.given {
		switch {
		case name == "Shaped" || slices.Contains(exploring, name):
			return fmt.Errorf("scenarios.%s is for Explore; Test, Run and RunFile play scenario files", name)
		case slices.Contains(limiting, name):
			return fmt.Errorf("scenarios.%s is for Limits; Test, Run and RunFile play scenario files", name)
		}
	}
	return nil
}

// forTestOnly lists the options for [Test] only.
var forTestOnly = []string{"Known", "Against"}

// claiming lists the options that say what is expected. With [RunFile] the file says that instead.
var claiming = []string{"Like", "Survives", "Needs", "Only", "AtLeast", "Strict"}

// gather applies options, and calls fit to check them.
func gather(newLock clients.New, opts []Option, fit func(*options) error) (options, error) {
	o := options{seed: 1, on: play.OnSim, atLeast: usualShare}
	if newLock == nil {
		return o, errors.New("the lock is nil; it must be a func(clients.Env) clients.Locker")
	}
	for i, opt := range opts {
		if opt == nil {
			return o, fmt.Errorf("option %d is nil; it must be a scenarios.Option", i+1)
		}
		opt(&o)
	}
	if slices.Contains(o.given, "Limit") && o.limit < leastLimit {
		return o, fmt.Errorf("scenarios.Limit(%v): must be at least %v; a run takes some milliseconds, and more on a busy machine", o.limit, leastLimit)
	}
	if slices.Contains(o.given, "Memory") && workers.Memory(o.memory) < workers.LeastMemory {
		return o, fmt.Errorf("scenarios.Memory(%d): must be at least %d; a run without a lock already needs about %v", o.memory, int64(workers.LeastMemory), workers.LeastMemory/2)
	}
	if !(o.atLeast >= 0 && o.atLeast <= 1) { // not even NaN
		return o, fmt.Errorf("scenarios.AtLeast(%v): must be a share from 0 to 1", o.atLeast)
	}
	if modes := []play.Guests{play.GuestsAuto, GuestsAlways, GuestsNever}; !slices.Contains(modes, o.guests) {
		return o, fmt.Errorf("scenarios.Guests(%q): must be scenarios.GuestsAlways or scenarios.GuestsNever", o.guests)
	}
	if err := o.forServers(); err != nil {
		return o, err
	}
	return o, fit(&o)
}

// forTest checks the options of [Test].
func (o *options) forTest() error {
	for _, k := range o.known {
		if strings.TrimSpace(k.why) == "" {
			return fmt.Errorf("scenarios.Known(%q, %q): it must have a reason, such as the number of a ticket", k.run, k.why)
		}
	}
	compared := slices.Contains(o.given, "Against")
	if compared && o.against == "" {
		return errors.New("scenarios.Against must name a file, such as testdata/verdicts.json")
	}
	for _, name := range o.given {
		if compared && slices.Contains([]string{"Known", "Survives", "Needs", "AtLeast", "Strict"}, name) {
			return fmt.Errorf("scenarios.Against and scenarios.%s: with Against the file decides, and nothing is claimed", name)
		}
		if !compared && name == "Rewrite" {
			return errors.New("scenarios.Rewrite is for RunFile, and for Test with scenarios.Against, whose file it renews")
		}
	}
	return o.played()
}

// forCatalogue checks the options of [Run].
func (o *options) forCatalogue() error {
	for _, name := range o.given {
		if slices.Contains(forTestOnly, name) {
			return fmt.Errorf("scenarios.%s is for Test; Run returns the outcomes, and the program decides", name)
		}
		if name == "Rewrite" {
			return errors.New("scenarios.Rewrite is for RunFile; the timelines of the catalogue are those of its own locks")
		}
	}
	return o.played()
}

// played checks the options for runs of the catalogue.
func (o *options) played() error {
	if err := o.forPages(); err != nil {
		return err
	}
	return o.claimable()
}

// claimable checks the options that say what is claimed, and fills in the defaults.
func (o *options) claimable() error {
	if len(o.like) == 0 {
		if slices.Contains(o.given, "Like") {
			return errors.New("scenarios.Like must name a lock; without Like, the reference is single")
		}
		o.like = []string{"single"}
	}
	if len(o.only) == 0 && slices.Contains(o.given, "Only") {
		return errors.New("scenarios.Only must name a scenario; without Only, all scenarios are run")
	}
	for _, name := range o.like {
		if _, err := clients.Find(name); err != nil {
			return fmt.Errorf("scenarios.Like: %w; Like takes a reference lock, not a library; see docs/scenarios.md", err)
		}
	}
	for name, given := range map[string][]checker.Assumption{"Survives": o.survives, "Needs": o.needs} {
		if len(given) == 0 && slices.Contains(o.given, name) {
			return fmt.Errorf("scenarios.%s must name an assumption, such as checker.BoundedPause", name)
		}
		for _, a := range given {
			if err := checkAssumption(a); err != nil {
				return fmt.Errorf("scenarios.%s: %w", name, err)
			}
		}
	}
	for _, a := range o.survives {
		if slices.Contains(o.needs, a) {
			return fmt.Errorf("scenarios.Survives and scenarios.Needs both name %q, and contradict each other; name it in one of them only", a)
		}
	}
	return nil
}

// forFile checks the options of [RunFile].
func (o *options) forFile() error {
	for _, name := range o.given {
		if slices.Contains(claiming, name) {
			return fmt.Errorf("scenarios.%s is for Test and Run; with RunFile the file says what to run, and its expectations decide", name)
		}
		if slices.Contains(forTestOnly, name) {
			return fmt.Errorf("scenarios.%s is for Test; with RunFile the expectations in the file decide", name)
		}
	}
	if err := o.forPages(); err != nil {
		return err
	}
	if o.rewrite && o.on == play.OnReal {
		return errors.New("scenarios.Rewrite(true) and scenarios.OnRedis: the timelines in a file are those of simulation, and no two real runs have the same; renew them without OnRedis")
	}
	return nil
}

func checkAssumption(a checker.Assumption) error {
	if a == checker.None {
		return fmt.Errorf("%q is not an assumption; if none is broken, the lock itself is at fault, and a violation fails unless the reference has the same", a)
	}
	var names []string
	for _, known := range checker.Assumptions() {
		if known == a {
			return nil
		}
		if known != checker.None {
			names = append(names, string(known))
		}
	}
	return history.Unknown("assumption", string(a), names)
}

// A trial is a run of the catalogue with the lock under test.
type trial struct {
	play.Case
	promise play.Promise
}

// metAs returns the lock whose place your lock takes in a scenario: the one that yours is like, if it has a run there, or else the one
// that this lock is like itself, as fenced is like single.
func metAs(s *script.Scenario, like string) string {
	if slices.ContainsFunc(s.Runs, func(r script.Section) bool { return r.Lock == like }) {
		return like
	}
	if like == waits {
		return "single"
	}
	for _, l := range clients.Locks() {
		if l.Name == like && len(l.Like) > 0 {
			return l.Like[0]
		}
	}
	return like
}

// waits is the reference that grants nothing without a replica.
const waits = "single-wait"

// withReplica gives the runs of the other locks on one node the replica that a lock like single-wait needs. Runs of single with replicas of their own
// are about a failover, for which single-wait has its own runs: they are left out. So are runs of days, in which the two would exchange millions of
// messages: each second a replica says how far it is.
func withReplica(s *script.Scenario) *script.Scenario {
	single := func(r script.Section) bool { return r.Lock == "single" || r.Lock == "single-extend" }
	return s.Edited(func(s *script.Scenario) {
		s.Runs = slices.DeleteFunc(s.Runs, func(r script.Section) bool { return single(r) && (r.Replicas > 0 || r.TTL > 24*time.Hour) })
		for i, r := range s.Runs {
			if r.Replicas == 0 && r.Lock != waits && r.Nodes <= 1 && clients.UsualNodes(r.Lock) == 1 {
				s.Runs[i].Replicas, s.Runs[i].Pool = 1, "" // a pool can be warm only without replicas
			}
		}
	})
}

// trials lists the runs that the options ask for, with the lock under test, by name, in the place of the reference locks.
func (o *options) trials(name string, newLock clients.New) ([]trial, error) {
	all, err := script.Catalogue()
	if err != nil {
		return nil, err
	}
	if len(o.only) > 0 {
		all = nil
		for _, name := range o.only {
			s, err := script.Find(name)
			if err != nil {
				return nil, fmt.Errorf("scenarios.Only: %w", err)
			}
			all = append(all, s)
		}
	}
	var trials []trial
	for _, s := range all {
		if slices.Contains(o.like, waits) {
			s = withReplica(s)
		}
		var of []trial // this scenario
		for _, like := range o.like {
			at := metAs(s, like)
			for _, r := range s.Runs {
				// If the lock extends its leases, that must be as good as with the reference that does.
				if r.Lock == at || r.Lock == at+"-extend" && !slices.Contains(o.like, r.Lock) {
					of = o.addRun(of, s, r, name, newLock)
				}
			}
		}
		trials = append(trials, of...)
	}
	if len(trials) == 0 {
		return nil, fmt.Errorf("no run of %s in %s", strings.Join(o.like, " or "), strings.Join(o.only, ", "))
	}
	return trials, nil
}

// addRun adds a run to those of its scenario. If the run is there already, and only the reference differs, it adds what is
// expected.
func (o *options) addRun(of []trial, s *script.Scenario, r script.Section, name string, newLock clients.New) []trial {
	for i := range of {
		if slices.ContainsFunc(of[i].promise.As, func(a script.Section) bool { return a.ID() == r.ID() }) {
			return of // two variants of one lock meet its sweeps
		}
		if of[i].promise.As[0].Lock != r.Lock && s.Resolve(of[i].promise.As[0]).SameButForLock(s.Resolve(r)) {
			of[i].promise.As = append(of[i].promise.As, r)
			return of
		}
	}
	return append(of, trial{
		Case:    play.Case{Scenario: s, Run: r.With(name), Seed: o.seed, On: o.on, Speed: o.speed, Restless: o.restless, Guests: o.guests, New: newLock},
		promise: play.Promise{As: []script.Section{r}, Survives: o.survives, Needs: o.needs},
	})
}

// GuestsAlways and GuestsNever are for [Guests].
const (
	GuestsAlways = play.GuestsAlways
	GuestsNever  = play.GuestsNever
)

// Guests says in which simulated runs the clients are guests: your test, compiled to WebAssembly by the go command. For a guest,
// package time is the clock of the client, so faults can set it, and a pause stops its timers. Every run with guests can be
// repeated. A short run takes some thirty times as long.
//
// By default [Test], [RunFile] and [Run] play a run again with guests if it proves nothing because the lock calls package time, if
// it cannot be repeated, if a client's clock was wrong and the code under test may call package time, if the clients share package
// variables that may differ between processes, or if it does not end because one goroutine holds a mutex during a network call and
// another waits for it. If the test cannot be compiled, for example because it needs cgo, such a run stays unproved, or does not
// end, and says why, as it does with GuestsNever. By default [Explore] uses guests only for runs that do not end because of such a mutex.
func Guests(when play.Guests) Option { return option("Guests", func(o *options) { o.guests = when }) }

// Restless says that the runs of your lock are not reproducible, because it draws from randomness that cannot be seeded, or
// leaves the order of simultaneous actions to the Go scheduler. Each run is then played twice, and is marked if its clients see a
// difference. Without this option, a difference in any byte makes the run UNKNOWN, and [Explore] fails.
func Restless() Option { return option("Restless", func(o *options) { o.restless = true }) }
