package scenarios

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"lockstep/checker"
	"lockstep/clients"
	lacking "lockstep/clients/broken"
	"lockstep/clients/planted"
	"lockstep/internal/draws"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/scenarios/search"
	"lockstep/sim/history"
	"lockstep/sim/workers"
)

// tried puts a lock, which may lack a safeguard, through the runs that some options ask for in one scenario.
func tried(t *testing.T, lock, scenario string, opts ...Option) map[string]*play.Outcome {
	t.Helper()
	play.QuietRedis()
	newLock, err := clients.FindIn(slices.Concat(clients.Locks(), lacking.Locks()), lock)
	if err != nil {
		t.Fatal(err)
	}
	o, err := gather(newLock, append(opts, Only(scenario)), (*options).forCatalogue)
	if err != nil {
		t.Fatal(err)
	}
	trials, err := o.trials("mine", newLock)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]*play.Outcome{}
	for _, trial := range trials {
		out, err := play.Simulate(trial.Scenario, trial.Run, newLock, trial.Seed)
		if err != nil {
			t.Fatal(err)
		}
		out.Promise = trial.promise
		got[trial.Run.ID()] = out
	}
	return got
}

// Each claim can be kept, and broken.
func TestClaimsDecide(t *testing.T) {
	everything := []checker.Assumption{checker.BoundedPause, checker.BoundedClockError, checker.BoundedDelay, checker.DurableNodes}
	for _, test := range []struct {
		name, lock, run string
		opts            []Option
		want            play.Standing
		claim           string // that is broken
	}{
		{"keeps what its reference keeps", "fenced", "pause-fenced/fenced", []Option{Like("fenced")}, play.Safe, ""},
		{"does not", "single", "pause-fenced/fenced", []Option{Like("fenced")}, play.Broke, "is as good as fenced, which keeps it here"},
		{"says that it does not", "single", "pause-fenced/fenced", []Option{Like("fenced"), Needs(checker.BoundedPause)}, play.Allowed, ""},
		{"says that it needs another thing", "single", "pause-fenced/fenced", []Option{Like("fenced"), Needs(checker.BoundedDelay)}, play.Broke, "is as good as fenced"},
		{"violates what its reference violates", "single", "pause-after-acquire/single", nil, play.AsOthers, ""},
		{"claims to survive that", "single", "pause-after-acquire/single", []Option{Survives(checker.BoundedPause)}, play.Broke, "survives a breach of bounded pause"},
		{"claims to survive another thing", "single", "pause-after-acquire/single", []Option{Survives(checker.DurableNodes)}, play.AsOthers, ""},
		{"is better than its reference", "fenced", "pause-fenced/fenced", []Option{Like("fenced"), Survives(everything...)}, play.Safe, ""},
		{"is at fault itself", "single-uncompared", "fixed-value/single", nil, play.Broke, "as long as no assumption breaks, as single does"},
		{"is at fault itself, whatever it needs", "single-uncompared", "fixed-value/single", []Option{Needs(everything...)}, play.Broke, "as long as no assumption breaks"},
		{"hands out what is over", "redlock-no-elapsed-check", "pause-in-acquire/redlock", []Option{Like("redlock")}, play.Broke, "is as good as redlock"},
		{"lets two majorities be", "redlock-half-quorum", "redlock-contended/redlock/even-split", []Option{Like("redlock")}, play.Broke, "as long as no assumption breaks, as redlock does"},
		{"survives a minority crash", "redlock", "crash-restart-5/redlock/durable", []Option{Like("redlock")}, play.Safe, ""},
		{"loses a token with its node, where its reference has none", "fenced", "failover-lag/single", []Option{Like("fenced")}, play.AsOthers, ""},
		{"as good as two", "fenced", "pause-fenced/single", []Option{Like("single", "fenced")}, play.Safe, ""},
		{"as good as only one of two", "single", "pause-fenced/single", []Option{Like("single", "fenced")}, play.Broke, "is as good as fenced"},
	} {
		t.Run(test.name, func(t *testing.T) {
			scenario, id, _ := strings.Cut(test.run, "/")
			o := tried(t, test.lock, scenario, test.opts...)[id]
			if o == nil {
				t.Fatal("there is no such run")
			}
			if got := o.Standing(); got != test.want {
				t.Errorf("standing %q, want %q\n%s", got.Word(), test.want.Word(), o.Timeline())
			}
			if broken := o.Broken(); (len(broken) > 0) != (test.want == play.Broke) {
				t.Errorf("broken claims: %+v", broken)
			}
			if test.claim != "" && !strings.Contains(o.Complain(), test.claim) {
				t.Errorf("the complaint does not say %q:\n%s", test.claim, o.Complain())
			}
		})
	}
}

// What no run of today brings about.
func TestClaimsByHand(t *testing.T) {
	result := func(v checker.Verdict, a checker.Assumption) checker.Result {
		r := checker.Result{Verdict: v, Violations: []checker.Violation{{Property: checker.LeaseExclusion, Assumption: a, What: "two held it"}}}
		for _, p := range checker.Properties() {
			r.Statuses = append(r.Statuses, checker.PropertyStatus{Property: p, Status: checker.OK})
		}
		return r
	}
	before := result(checker.Unsafe, checker.BoundedPause)
	outcome := func(v checker.Verdict, a checker.Assumption, p play.Promise) *play.Outcome {
		r := result(v, a)
		return &play.Outcome{Scenario: &script.Scenario{Name: "s"}, Run: p.As[0], History: &history.History{}, Result: r, Promise: p}
	}
	keeps := script.Section{Lock: "keeps"}
	violates := func(a checker.Assumption) script.Section {
		return script.Section{Lock: "violates", Expect: []script.Expectation{{Property: checker.LeaseExclusion, Status: checker.Violated, Assumption: a}}}
	}
	pause := []checker.Assumption{checker.BoundedPause}
	for name, test := range map[string]struct {
		o    *play.Outcome
		want play.Standing
	}{
		"its reference is at fault for a reason outside":   {outcome(checker.Unsafe, checker.None, play.Promise{As: []script.Section{violates(checker.BoundedPause)}}), play.Broke},
		"its reference is at fault itself":                 {outcome(checker.Unsafe, checker.None, play.Promise{As: []script.Section{violates(checker.None)}}), play.AsOthers},
		"its reference violates it for another reason":     {outcome(checker.Unsafe, checker.BoundedDelay, play.Promise{As: []script.Section{violates(checker.BoundedPause)}}), play.AsOthers},
		"one of two references keeps it":                   {outcome(checker.Unsafe, checker.BoundedPause, play.Promise{As: []script.Section{violates(checker.BoundedPause), keeps}}), play.Broke},
		"the run proves nothing":                           {outcome(checker.Inconclusive, checker.BoundedPause, play.Promise{As: []script.Section{keeps}}), play.Unproved},
		"the run proves nothing, but nobody else did it":   {outcome(checker.Inconclusive, checker.None, play.Promise{As: []script.Section{keeps}}), play.Broke},
		"the run proves nothing, but it claims to survive": {outcome(checker.Inconclusive, checker.BoundedPause, play.Promise{As: []script.Section{keeps}, Survives: pause}), play.Broke},
		"others wait in it, after a fault": {unserved(outcome(checker.Inconclusive, checker.None, play.Promise{As: []script.Section{keeps}}),
			history.Event{Kind: history.Injected, Op: "pause"}), play.Unproved},
		"others wait in it, without a fault": {unserved(outcome(checker.Inconclusive, checker.None, play.Promise{As: []script.Section{keeps}}),
			history.Event{Kind: history.Injected, Op: "heal"}), play.Broke},
		"it ran on in a pause":                           {ranOn(outcome(checker.Inconclusive, checker.None, play.Promise{As: []script.Section{keeps}})), play.Unproved},
		"it ran on in a pause that it claims to survive": {ranOn(outcome(checker.Inconclusive, checker.BoundedPause, play.Promise{As: []script.Section{keeps}, Survives: pause})), play.Unproved},
		"it did not end":                                 {unended(outcome(checker.Inconclusive, "", play.Promise{As: []script.Section{keeps}})), play.Failed},
		"it did not end, whatever the file expects":      {unended(outcome(checker.Inconclusive, "", play.Promise{As: []script.Section{keeps}, Exact: true})), play.Failed},
		"it is known to be broken":                       {outcome(checker.Unsafe, checker.BoundedPause, play.Promise{As: []script.Section{keeps}, Known: "why"}), play.Known},
		"it is known to be broken, and is not":           {outcome(checker.Unsafe, checker.None, play.Promise{As: []script.Section{violates(checker.None)}, Known: "why"}), play.Other},
		"it is known to be broken, and proves nothing":   {outcome(checker.Inconclusive, checker.BoundedPause, play.Promise{As: []script.Section{keeps}, Known: "why"}), play.Other},
		"it is known to be broken, and did not end":      {unended(outcome(checker.Inconclusive, "", play.Promise{As: []script.Section{keeps}, Known: "why"})), play.Failed},
		"it is as before, whatever is claimed":           {outcome(checker.Unsafe, checker.BoundedPause, play.Promise{As: []script.Section{keeps}, Earlier: &before}), play.AsOthers},
		"it is not as before, and keeps its claim":       {outcome(checker.Unsafe, checker.BoundedDelay, play.Promise{As: []script.Section{violates(checker.BoundedDelay)}, Earlier: &before}), play.Other},
		"there is nothing before":                        {outcome(checker.Unsafe, checker.BoundedPause, play.Promise{As: []script.Section{keeps}, Earlier: &checker.Result{}}), play.Other},
	} {
		if got := test.o.Standing(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got.Word(), test.want.Word())
		}
		if got, want := test.o.Failed(), test.want >= play.Failed; got != want {
			t.Errorf("%s: failed %v, want %v", name, got, want)
		}
	}
}

func ranOn(o *play.Outcome) *play.Outcome {
	o.Result.RanOn = true
	return o
}

// unserved makes the violation one of fault tolerance, in a run with an event.
func unserved(o *play.Outcome, e history.Event) *play.Outcome {
	o.Result.Violations[0].Property = checker.FaultTolerance
	o.History.Events = append(o.History.Events, e)
	return o
}

func unended(o *play.Outcome) *play.Outcome {
	o.Report, o.Result.Violations = &workers.Report{Reason: "a goroutine computes without waiting"}, nil
	return o
}

// A lock that ran on in a pause, as one does that calls package time, is not to blame for what came of that.
func TestRanOnBreaksNoClaim(t *testing.T) {
	play.QuietRedis()
	ticks, err := clients.FindIn(planted.Timed(), "a ticker that renews")
	if err != nil {
		t.Fatal(err)
	}
	newLock := planted.ByPackageTime(ticks)
	o, err := gather(newLock, []Option{Survives(checker.BoundedPause)}, (*options).forCatalogue)
	if err != nil {
		t.Fatal(err)
	}
	trials, err := o.trials("mine", newLock)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, trial := range trials {
		out, err := play.Simulate(trial.Scenario, trial.Run, newLock, 1)
		if err != nil {
			t.Fatal(err)
		}
		out.Promise = trial.promise
		if ran := out.Result.Verdict == checker.Inconclusive && beyondReach(out) == "pause"; ran != out.Result.RanOn {
			t.Errorf("%s: ran on %v, %q", out.Name(), out.Result.RanOn, out.Result.Unmet)
		}
		if !out.Result.RanOn || out.Inapplicable() != "" {
			continue
		}
		if len(out.Result.Violations) > 0 {
			n++
		}
		if got := out.Standing(); got != play.Unproved || len(out.Broken()) > 0 {
			t.Errorf("%s: %s, broken: %v", out.Name(), got.Word(), out.Broken())
		}
	}
	if n == 0 {
		t.Error("no run in which it ran on shows a violation")
	}
}

// waiting is a lock that sends a command before it asks, and fails if that fails.
type waiting struct {
	clients.Locker
	send func(context.Context) error
}

func (w waiting) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	if err := w.send(ctx); err != nil {
		return nil, err
	}
	return w.Locker.Acquire(ctx, name, ttl)
}

// A lock that sends a command of redis-server which simulated nodes lack is not to blame for what follows, and is not SAFE either.
func TestRefusedCommandProvesNothing(t *testing.T) {
	play.QuietRedis()
	for _, test := range []struct {
		command string
		send    func(context.Context, *redis.Client) error
	}{
		{"BLMOVE", func(ctx context.Context, c *redis.Client) error {
			return c.BLMove(ctx, "free", "taken", "LEFT", "RIGHT", time.Second).Err()
		}},
		{"SSUBSCRIBE", func(ctx context.Context, c *redis.Client) error {
			s := c.SSubscribe(ctx, "free")
			defer s.Close()
			s.Receive(ctx) // and no complaint about an error
			return nil
		}},
		{"SET IFEQ", func(ctx context.Context, c *redis.Client) error {
			return c.Do(ctx, "SET", "free", "2", "IFEQ", "1").Err()
		}},
		{"XADD", func(ctx context.Context, c *redis.Client) error {
			return c.Eval(ctx, "redis.call('XADD', KEYS[1], '*', 'a', 'b') return 1", []string{"log"}).Err()
		}},
	} {
		newLock := func(e clients.Env) clients.Locker {
			return waiting{clients.NewSingle(e), func(ctx context.Context) error { return test.send(ctx, e.Nodes[0]) }}
		}
		for _, name := range []string{"release-race/single", "pause-after-acquire/single"} {
			s, r := find(t, name)
			out, err := play.Simulate(s, r, newLock, 1)
			if err != nil {
				t.Fatal(err)
			}
			const reason = " to n1, a command that Lockstep does not simulate, and got an error"
			if got := out.Standing(); got != play.Unproved || len(out.Broken()) > 0 || out.WhyUnproved() != "not simulated: "+test.command ||
				!slices.Contains(out.Result.Unmet, "c1 sent "+test.command+reason) {
				t.Errorf("%s with %s: %s, broken: %v, %s: %q", name, test.command, got.Word(), out.Broken(), out.WhyUnproved(), out.Result.Unmet)
			}
		}
	}
}

// What is said twice is done once.
func TestOptionsSaidTwice(t *testing.T) {
	count := func(opts ...Option) int {
		o, err := gather(clients.NewSingle, opts, (*options).forCatalogue)
		if err != nil {
			t.Fatal(err)
		}
		trials, err := o.trials("mine", clients.NewSingle)
		if err != nil {
			t.Fatal(err)
		}
		for _, trial := range trials {
			if n := len(trial.promise.As); n != 1 {
				t.Errorf("%s/%s counts for %d locks", trial.Scenario.Name, trial.Run.ID(), n)
			}
		}
		return len(trials)
	}
	once := count(Only("pause-fenced"), Like("fenced"))
	if n := count(Only("pause-fenced", "pause-fenced"), Like("fenced", "fenced"), Only("pause-fenced"), Like("fenced")); n != once {
		t.Errorf("%d runs, want %d", n, once)
	}
}

// The timeline of a real run is nobody else's, and does not belong into a page.
func TestRewriteIsForSimulation(t *testing.T) {
	for _, test := range []struct {
		o    options
		fits bool
	}{
		{options{on: play.OnSim, rewrite: true}, true},
		{options{on: play.OnReal, rewrite: false}, true},
		{options{on: play.OnReal, rewrite: true}, false},
	} {
		err := test.o.forFile()
		if (err == nil) != test.fits || err != nil && !strings.Contains(err.Error(), "scenarios.Rewrite(true) and scenarios.OnRedis: ") {
			t.Errorf("on %s, rewrite %v: %v", test.o.on, test.o.rewrite, err)
		}
	}
}

// A run that two references have in common is done once, and both count.
func TestLikeSeveral(t *testing.T) {
	o := options{like: []string{"single", "single-delex", "fenced"}, seed: 1}
	trials, err := o.trials("mine", clients.NewSingle)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, trial := range trials {
		if trial.Scenario.Name == "pause-after-acquire" {
			count[trial.Run.ID()] = len(trial.promise.As)
		}
	}
	if len(count) != 1 || count["single"] != 3 {
		t.Errorf("runs of pause-after-acquire, and for how many locks each counts: %v; want the one of single, for three", count)
	}
	names := map[string]bool{}
	for _, trial := range trials {
		name := trial.Scenario.Name + "/" + trial.Run.ID()
		if names[name] {
			t.Errorf("%s comes twice", name)
		}
		names[name] = true
	}
}

func TestOptionsContradict(t *testing.T) {
	forFile, forCatalogue, forTest, forExploring := (*options).forFile, (*options).forCatalogue, (*options).forTest, (*options).forExploring
	for _, test := range []struct {
		check func(*options) error
		opts  []Option
		want  string
	}{
		{forCatalogue, []Option{Like("redlok")}, `scenarios.Like: unknown lock "redlok"`},
		{forCatalogue, []Option{Like()}, "scenarios.Like must name a lock"},
		{forCatalogue, []Option{Survives("bounded pauses")}, `scenarios.Survives: unknown assumption "bounded pauses"; the assumptions are bounded pause, bounded clock error, bounded delay, durable nodes (did you mean`},
		{forCatalogue, []Option{Needs(checker.None)}, `scenarios.Needs: "none" is not an assumption`},
		{forCatalogue, []Option{Survives(checker.BoundedPause), Needs(checker.BoundedDelay, checker.BoundedPause)}, `both name "bounded pause", and contradict each other`},
		{forCatalogue, []Option{Only()}, "scenarios.Only must name a scenario"},
		{forTest, []Option{Hunt(time.Second)}, "scenarios.Hunt is for Explore"},
		{forCatalogue, []Option{Rewrite(false)}, "scenarios.Rewrite is for RunFile"},
		{forCatalogue, []Option{Limit(-time.Second)}, "scenarios.Limit(-1s): must be at least 100ms"},
		{forCatalogue, []Option{Limit(0)}, "scenarios.Limit(0s): must be at least 100ms"},
		{forCatalogue, []Option{Limit(99 * time.Millisecond)}, "scenarios.Limit(99ms): must be at least 100ms"},
		{forCatalogue, []Option{Survives()}, "scenarios.Survives must name an assumption"},
		{forCatalogue, []Option{Needs()}, "scenarios.Needs must name an assumption"},
		{forCatalogue, []Option{Like("redsync")}, "Like takes a reference lock, not a library"},
		{forCatalogue, []Option{nil}, "option 1 is nil"},
		{forCatalogue, []Option{Known("a/b", "why")}, "scenarios.Known is for Test; Run returns the outcomes"},
		{forCatalogue, []Option{Against("f")}, "scenarios.Against is for Test; Run returns the outcomes"},
		{forExploring, []Option{Known("a/b", "why")}, "scenarios.Known cannot be used with Explore"},
		{(*options).forFuzzing, []Option{Hunt(time.Second)}, "scenarios.Hunt cannot be used with Fuzz; go test -fuzztime says for how long"},
		{(*options).forFuzzing, []Option{Limit(time.Second)}, "scenarios.Limit cannot be used with Fuzz"},
		{(*options).forFuzzing, []Option{Known("a/b", "why")}, "scenarios.Known cannot be used with Explore"},
		{forExploring, []Option{Against("f")}, "scenarios.Against cannot be used with Explore"},
		{forExploring, []Option{Have("pause=1s")}, "scenarios.Have is for Limits"},
		{forTest, []Option{Have("pause=1s")}, "scenarios.Have is for Limits"},
		{(*options).forLimits, []Option{Survives(checker.BoundedPause)}, "scenarios.Survives cannot be used with Limits"},
		{(*options).forLimits, []Option{Have("")}, `scenarios.Have: "" must be NAME=VALUE`},
		{(*options).forLimits, []Option{Have("puase=1s")}, `did you mean "pause"?`},
		{(*options).forLimits, []Option{Have("lag=1s")}, "lag is for a lock node with a replica, and there is none"},
		{forExploring, []Option{From("")}, "scenarios.From: the path must be that of a scenario file"},
		{forExploring, []Option{From("a.txtar"), Shaped(search.Shape{Clients: 3})}, "scenarios.From and scenarios.Shaped: "},
		{forTest, []Option{From("a.txtar")}, "scenarios.From is for Explore"},
		{forFile, []Option{Known("a/b", "why")}, "scenarios.Known is for Test; with RunFile the expectations in the file decide"},
		{forFile, []Option{Against("f")}, "scenarios.Against is for Test; with RunFile the expectations in the file decide"},
		{forTest, []Option{Rewrite(false)}, "scenarios.Rewrite is for RunFile, and for Test with scenarios.Against"},
		{forTest, []Option{Against("")}, "scenarios.Against must name a file"},
		{forTest, []Option{Against("f"), Needs(checker.BoundedPause)}, "scenarios.Against and scenarios.Needs: with Against the file decides"},
		{forTest, []Option{Known("a/b", "why"), Against("f")}, "scenarios.Against and scenarios.Known: "},
		{forTest, []Option{Strict(), Against("f")}, "scenarios.Against and scenarios.Strict: "},
		{forTest, []Option{Known("a/b", "")}, `scenarios.Known("a/b", ""): it must have a reason`},
		{forTest, []Option{Like()}, "scenarios.Like must name a lock"},
		{forTest, []Option{Hunt(time.Minute)}, "scenarios.Hunt is for Explore"},
		{forFile, []Option{Like("single")}, "scenarios.Like is for Test and Run"},
		{forFile, []Option{Needs(checker.BoundedPause)}, "scenarios.Needs is for Test and Run"},
	} {
		if _, err := gather(clients.NewSingle, test.opts, test.check); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
	if _, err := gather(nil, nil, forCatalogue); err == nil || !strings.Contains(err.Error(), "the lock is nil") {
		t.Errorf("no lock: %v", err)
	}
	o := options{like: []string{"watch"}, only: []string{"clock-jump"}}
	if _, err := o.trials("mine", clients.NewSingle); err == nil || err.Error() != "no run of watch in clock-jump" {
		t.Errorf("no run: %v", err)
	}
	o.only = []string{"clock-jumps"}
	if _, err := o.trials("mine", clients.NewSingle); err == nil || !strings.Contains(err.Error(), `scenarios.Only: unknown scenario "clock-jumps" (did you mean "clock-jump"?)`) {
		t.Errorf("no scenario: %v", err)
	}
}

// The table has room for every run of the catalogue, with the longest words that it can have.
func TestSummaryIsNarrow(t *testing.T) {
	all, err := script.Stories()
	if err != nil {
		t.Fatal(err)
	}
	for _, exact := range []bool{false, true} {
		var outcomes []*play.Outcome
		for _, s := range all {
			for _, r := range s.Runs {
				r.Expect = nil
				result := checker.Result{
					Verdict:    checker.Inconclusive,
					Statuses:   []checker.PropertyStatus{{Property: checker.ResourceExclusion, Status: checker.Violated}},
					Violations: []checker.Violation{{Property: checker.ResourceExclusion, Assumption: checker.BoundedClockError}},
				}
				p := play.Promise{As: []script.Section{{Lock: "keeps"}}, Survives: []checker.Assumption{checker.BoundedClockError}, Exact: exact}
				outcomes = append(outcomes, &play.Outcome{Scenario: s, Run: r, Result: result, Promise: p})
			}
		}
		var b strings.Builder
		Summary(&b, outcomes)
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
		if want := map[bool]string{false: "BROKEN", true: "UNEXPECTED"}[exact]; !strings.Contains(b.String(), want) {
			t.Errorf("no row says %s:\n%s", want, b.String())
		}
	}
}

func TestFirstDifference(t *testing.T) {
	for _, test := range []struct {
		have, got string
		line      int
		diff      string
	}{
		{"a\nb\n", "a\nb\n", 0, ""},
		{"a\nb\nc\n", "a\nx\nc\n", 1, "    a\n  - b\n  + x"},
		{"a\n", "a\nb\n", 1, "    a\n  + b"},
		{"a\nb\n", "a\n", 1, "    a\n  - b"},
		{"1\n2\n3\n4\n5\n", "1\n2\n3\n4\n6\n", 4, "    2\n    3\n    4\n  - 5\n  + 6"},
	} {
		if line, diff := firstDifference(test.have, test.got); line != test.line || diff != test.diff {
			t.Errorf("%q and %q: line %d\n%s\nwant line %d\n%s", test.have, test.got, line, diff, test.line, test.diff)
		}
	}
}

// What is decided hangs on no sentence: with other words for each violation and each reason the decisions are the same.
func TestSentencesDecideNothing(t *testing.T) {
	type decisions struct {
		standing        play.Standing
		class           search.Class
		broken, failing int
		surprising      bool
		repeats         bool
		ownTime         bool
	}
	decide := func(o *play.Outcome) decisions {
		return decisions{o.Standing(), search.Classify(o, search.Effect{}, o.Failing()), len(o.Broken()), len(o.Failing()), o.Surprising(), o.Differs == "", o.Result.OwnTime}
	}
	said := 0
	for name, o := range wholeCatalogue(t) {
		before, other := decide(o), *o
		other.Result.Violations, other.Result.Unmet = slices.Clone(o.Result.Violations), slices.Clone(o.Result.Unmet)
		for i := range other.Result.Violations {
			said++
			other.Result.Violations[i].What = "colourless green ideas sleep furiously"
		}
		for i := range other.Result.Unmet {
			said++
			other.Result.Unmet[i] = "colourless green ideas sleep furiously"
		}
		if after := decide(&other); after != before {
			t.Errorf("%s: %+v, and in other words %+v", name, before, after)
		}
	}
	if said == 0 {
		t.Error("nothing was said")
	}
}

// named is a lock that gives its keys other names.
type named struct {
	clients.Locker
	as func(name string) string
}

func (l named) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	return l.Locker.Acquire(ctx, l.as(name), ttl)
}

// The run on a cluster is about the shard that has the slot of the lock's name. A lock whose keys are elsewhere breaks no claim there.
func TestKeysOnAnotherShard(t *testing.T) {
	s, r := find(t, "failover-cluster/single")
	for as, want := range map[string]play.Standing{"pay:lock:%s": play.NotApplicable, "pay:lock:{%s}": play.AsOthers, "%s": play.AsOthers} {
		o, err := play.Simulate(s, r, func(env clients.Env) clients.Locker {
			return named{clients.NewSingle(env), func(name string) string { return fmt.Sprintf(as, name) }}
		}, 1)
		if err != nil {
			t.Fatal(err)
		}
		o.Promise.As = []script.Section{r}
		if o.Standing() != want {
			t.Errorf("%s: %s, not %s\n%s", as, o.Standing().Word(), want.Word(), o.Timeline())
		}
	}
}

// A lease that is counted from the reply, or by another clock than that of its client, is too long: the complaint says what helps.
func TestLeaseCountedForLonger(t *testing.T) {
	draws.Seldom(t, 3, 4)
	for _, lock := range []struct {
		name  string
		until func(clients.Env, time.Duration) time.Time
		run   string
	}{
		{"from the reply", func(env clients.Env, ttl time.Duration) time.Time { return env.Clock.Now().Add(ttl) }, "sweep-pause/single"},
		{"by package time", func(_ clients.Env, ttl time.Duration) time.Time { return time.Now().Add(ttl) }, "sweep-drift/single"},
	} {
		s, r := find(t, lock.run)
		c := play.Case{Scenario: s, Run: r, Guests: play.GuestsNever, Promise: play.Promise{As: []script.Section{r}}, New: func(env clients.Env) clients.Locker {
			return relied{clients.NewSingle(env), func(ttl time.Duration) time.Time { return lock.until(env, ttl) }}
		}}
		o, err := (&search.Search{}).Sweep(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if want := "what helps: let Until be at most one TTL after the request was sent, by Env.Clock; do not count from the reply"; o.Standing() != play.Broke || !strings.Contains(o.Complain(), want) {
			t.Errorf("%s: %s; there is no %q in\n%s", lock.name, o.Standing().Word(), want, o.Complain())
		}
	}
	s, r := find(t, "release-race/getdel")
	o := simulated(t, s, r, 1)
	o.Run.Expect = nil
	if got := o.Complain(); !strings.Contains(got, "lease exclusion violated") || strings.Contains(got, "let Until be") {
		t.Errorf("a lock that counts its leases as it must:\n%s", got)
	}
}

// relied is a lock whose leases end when its holder computes it, after the reply.
type relied struct {
	clients.Locker
	until func(ttl time.Duration) time.Time
}

func (l relied) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	lease, err := l.Locker.Acquire(ctx, name, ttl)
	if err != nil {
		return nil, err
	}
	return endsAt{lease, l.until(ttl)}, nil
}

type endsAt struct {
	clients.Lease
	at time.Time
}

func (l endsAt) Until() time.Time { return l.at }

// onPackageTime is a lock that takes all times from package time, and counts its leases as it must.
type onPackageTime struct{ clients.Env }

func (l onPackageTime) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	until, token := time.Now().Add(ttl), rand.Text()
	ok, err := l.Nodes[0].SetNX(ctx, name, token, ttl).Result()
	switch {
	case err != nil:
		return nil, err
	case !ok || !time.Now().Before(until):
		return nil, clients.ErrNotAcquired
	}
	return packageLease{l.Nodes[0], name, token, until}, nil
}

type packageLease struct {
	node        *redis.Client
	name, token string
	until       time.Time
}

func (l packageLease) Until() time.Time { return l.until }

func (l packageLease) Release(ctx context.Context) error {
	return l.node.Eval(ctx, `return redis.call("get", KEYS[1]) == ARGV[1] and redis.call("del", KEYS[1])`, []string{l.name}, l.token).Err()
}

// A wrong clock does not reach a lock on package time. Its runs prove nothing then, and it is not to blame for what the clock did.
func TestPackageTimeIsNotToBlame(t *testing.T) {
	for _, name := range []string{"sweep-drift/single", "sweep-stray/single"} {
		s, r := find(t, name)
		c := play.Case{Scenario: s, Run: r, Guests: play.GuestsNever, Promise: play.Promise{As: []script.Section{r}}, New: func(env clients.Env) clients.Locker { return onPackageTime{env} }}
		o, err := (&search.Search{}).Sweep(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if o.Standing() != play.Unproved || o.WhyUnproved() != "package time" {
			t.Errorf("%s: %s\n%s", name, o.Standing().Word(), o.Timeline())
		}
	}
}

// Runs that prove something about the reference, and nothing about the lock, are named if that is because of what the lock did.
func TestSparedRunsAreNamed(t *testing.T) {
	unproved := func(name string, r checker.Result) *play.Outcome {
		r.Verdict = checker.Inconclusive
		return &play.Outcome{
			Scenario: &script.Scenario{Name: name}, Run: script.Section{Lock: "single"}, History: &history.History{}, Result: r,
			Promise: play.Promise{As: []script.Section{{Lock: "single"}}},
		}
	}
	spared := []*play.Outcome{
		unproved("a", checker.Result{}), unproved("b", checker.Result{OwnTime: true}), unproved("c", checker.Result{Idle: []string{"a fault"}}),
		unproved("d", checker.Result{}), unproved("e", checker.Result{}),
	}
	if got, want := adviseStrict(spared), "unproved, though the same runs prove something about single: a/single, c/single, d/single and 1 more run\n"; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := adviseStrict(spared[1:2]); got != "" {
		t.Errorf("the lock calls package time, and the advice is %q", got)
	}
}
