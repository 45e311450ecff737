package scenarios

import (
	"flag"
	"regexp"
	"slices"
	"testing"

	"lockstep/checker"
	"lockstep/clients/libraries"
	"lockstep/internal/draws"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

var seedsOfRuns = flag.Uint64("seeds", 2, "how many seeds each run is done with, at least; 200: also count the shares")

var runsOfSeeds = flag.String("runs-of-seeds", "", "a `REGEXP` for the runs that -seeds is about, such as single-node-down; default all")

// byChanceOf are the runs in which chance decides how a library fares in the place of a lock. What a page says of its own locks
// stands there.
var byChanceOf = []chanceOf{
	{"hung-node-of-three/redlock", failFast, checker.Unsafe, 4, "c2 asks between two deletes of one release: one node grants, one refuses, and it waits for the node that hangs"},
	{"hung-node-of-three/redlock/short", failFast, checker.Unsafe, 4, "the same"},
	{"redlock-hung-node/redlock", failFast, checker.Unsafe, 2, "the same, among five nodes"},
	{"clock-drift/redlock/above", failFast, checker.Safe, 83, "whether one of c2, c3 and c4 wins, which are in each other's way, depends on the order of their messages"},
	{"clock-jump-back/redlock", failFast, checker.Inconclusive, 17, "c1 has the lock before its key is on n3, whose clock then jumps before the key is set"},
	{"clock-jump-back/redlock/only-reachable", failFast, checker.Inconclusive, 17, "the same"},
	{"redlock-slow-acquire/redlock/replies", []string{"redsync", "redsync-fail-fast", "redsync-setnx-extend", "redsync-no-retries"}, checker.Unsafe, 63,
		"the first attempt of the probe has opened its connections too late for a TTL of 42 ms, and redsync waits for 50 to 250 ms before the next"},
	{"born-expired/redlock", []string{"redsync", "redsync-fail-fast", "redsync-setnx-extend", "redsync-no-retries"}, checker.Unsafe, 0,
		"the same with a TTL of 50 ms, in 4 of 500 seeds"},
	{"redlock-majority-down/redlock", retrying, checker.Inconclusive, 0,
		"in 2 of 500 seeds the first Acquire of c2 lasts until n3 is back, at 15 s"},
	{"extend-other-ttl/single-extend/no-reply", []string{"redislock", "redislock-linear"}, checker.Unsafe, 0,
		"redislock measures a lease from the reply: in 1 of 500 seeds c2 asks in the millisecond between the end of the key and that of the lease"},
	{"ttl-fraction/single", countsFromReply, checker.Unsafe, 0, "the same, in 2 of 500 seeds"},
	{"ttl-fraction/single-extend/extended", countsFromReply, checker.Unsafe, 1, "the same, in 5 of 500 seeds"},
	{"split-brain/single/later", retrying, checker.Unsafe, 1, "the delays between the attempts of redsync are random, and their sum may be longer than is allowed"},
}

var (
	failFast        = []string{"redsync-fail-fast"}
	countsFromReply = []string{"redislock", "redislock-no-retries"}
	retrying        = []string{"redsync", "redsync-fail-fast", "redsync-setnx-extend", "redsync-timeout"}
)

type chanceOf struct {
	run     string
	locks   []string
	verdict checker.Verdict
	share   int // of the first 200 seeds with which the verdict is that one, and not the one of seed 1
	why     string
}

// runs names the runs with each lock.
func (c chanceOf) runs() (names []string) {
	for _, lock := range c.locks {
		names = append(names, c.run+" with "+lock)
	}
	return names
}

// A verdict does not change with the seed, unless it is said in which share of the seeds it does: by the page for its own locks,
// and above for libraries in their place. Restless libraries are left out: their traces differ with one seed already.
func TestVerdictsOfSeeds(t *testing.T) {
	asLibraryWorker()
	draws.Turn(t, 2, 4)
	if testing.Short() {
		t.Skip("plays every run with every library, and some with many seeds")
	}
	play.QuietRedis()
	shares := map[string]int{} // how often the verdict is another one than with seed 1, by the run and its lock
	name := func(o *play.Outcome) string { return o.Name() + " with " + o.Run.Lock }
	about := regexp.MustCompile(*runsOfSeeds)
	var cases []play.Case
	add := func(c play.Case, n uint64) {
		if !about.MatchString(name(&play.Outcome{Scenario: c.Scenario, Run: c.Run})) {
			return
		}
		for seed := range n {
			c.Seed = seed
			cases = append(cases, c)
		}
	}
	all, err := script.Stories()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for _, r := range s.Runs {
			n := *seedsOfRuns
			shared := slices.ContainsFunc(r.Expect, func(e script.Expectation) bool { return e.Share > 0 })
			if shared {
				n = max(n, script.ShareSeeds)
			}
			if !about.MatchString(s.Name + "/" + r.ID()) {
				continue
			}
			if _, err := libraries.Find(r.Lock); err == nil {
				add(play.Case{Scenario: s, Run: r}, n)
				continue
			}
			for seed := range n {
				o := simulated(t, s, r, seed)
				if diffs := append(o.Unexpected(), o.Result.Unmet...); len(diffs) > 0 {
					t.Errorf("%s, seed %d: %v", o.Name(), seed, diffs)
				}
			}
		}
	}
	violated := map[string]map[checker.Property]int{}
	played := 0
	runLibraries(t, cases, func(i int, o *play.Outcome) {
		played++
		if o.Report != nil {
			t.Errorf("%s, seed %d: %s", name(o), cases[i].Seed, o.Report)
			return
		}
		if diffs := append(o.Unexpected(), o.Result.Unmet...); len(diffs) > 0 {
			t.Errorf("%s, seed %d: %v", name(o), cases[i].Seed, diffs)
		}
		if violated[o.Name()] == nil {
			violated[o.Name()] = map[checker.Property]int{}
		}
		for _, s := range o.Result.Statuses {
			if s.Status == checker.Violated && cases[i].Seed < script.ShareSeeds {
				violated[o.Name()][s.Property]++
			}
		}
	})
	verdicts := map[string]map[uint64]checker.Verdict{}
	for _, l := range libraries.Locks() {
		if l.Restless {
			continue
		}
		cases = nil // all at once would take gigabytes
		for _, c := range libraryRuns(t, l) {
			add(c, max(2, *seedsOfRuns))
		}
		runLibraries(t, cases, func(i int, o *play.Outcome) {
			played++
			if o.Report != nil {
				t.Errorf("%s, seed %d: %s", name(o), cases[i].Seed, o.Report)
				return
			}
			if verdicts[name(o)] == nil {
				verdicts[name(o)] = map[uint64]checker.Verdict{}
			}
			verdicts[name(o)][cases[i].Seed] = o.Result.Verdict
		})
	}

	for _, s := range all {
		for _, r := range s.Runs {
			for _, e := range r.Expect {
				if n := violated[s.Name+"/"+r.ID()][e.Property]; e.Share > 0 && n != e.Share && about.MatchString(s.Name+"/"+r.ID()) {
					t.Errorf("%s/%s: %s is violated for %d of %d seeds, and the page says %d", s.Name, r.ID(), e.Property, n, script.ShareSeeds, e.Share)
				}
			}
		}
	}
	for run, bySeed := range verdicts {
		for seed, v := range bySeed {
			if v == bySeed[1] {
				continue
			}
			if seed < script.ShareSeeds {
				shares[run]++
			}
			if !slices.ContainsFunc(byChanceOf, func(c chanceOf) bool { return v == c.verdict && slices.Contains(c.runs(), run) }) {
				t.Errorf("%s is %s with seed %d, and %s with seed 1", run, v, seed, bySeed[1])
			}
		}
	}
	for _, c := range byChanceOf {
		for _, run := range c.runs() {
			switch n, done := shares[run], len(verdicts[run]); {
			case done == 0 && *runsOfSeeds == "":
				t.Errorf("%s is not done", run)
			case done >= script.ShareSeeds && n != c.share:
				t.Errorf("%s is %s for %d of %d seeds, want %d: %s", run, c.verdict, n, script.ShareSeeds, c.share, c.why)
			}
		}
	}
	t.Logf("%d runs of libraries", played)
}
