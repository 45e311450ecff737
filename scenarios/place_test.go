package scenarios

import (
	"slices"
	"testing"

	"lockstep/checker"
	"lockstep/clients"
	lacking "lockstep/clients/broken"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// atomicity lists the runs in which a lock must do in one step what a broken lock does in several, or leaves out, and the
// locks that are broken in that way.
var atomicity = []struct {
	run   string
	locks []string
}{
	{"release-race/single", []string{"getdel", "multidel", "fixed", "single-uncompared"}},
	{"release-race/single-delex", []string{"getdel", "multidel", "fixed", "single-uncompared"}},
	{"fixed-value/single", []string{"fixed", "single-uncompared"}},
	{"crash-before-expire/single", []string{"setnx", "setnx-expire", "setnx-repair"}},
	{"redlock-reply-lost/redlock", []string{"redlock-release-granted"}},
	{"extend-late/redlock-extend", []string{"redlock-recreating-extension"}},
}

// A broken lock is not SAFE in the place of a proper one, whatever commands it sends: a fault that waits for a command of the
// proper lock would not meet it, or would meet it at a harmless moment. UNKNOWN is good enough, for that proves nothing.
func TestBrokenLocksInPlace(t *testing.T) {
	play.QuietRedis()
	locks := slices.Concat(lacking.All(), clients.Locks())
	for _, a := range atomicity {
		s, r := find(t, a.run)
		for _, name := range a.locks {
			build, err := clients.FindIn(locks, name)
			if err != nil {
				t.Fatal(err)
			}
			for seed := range uint64(10) {
				o, err := play.Simulate(s, r.With(name), build, seed)
				if err != nil {
					t.Fatal(err)
				}
				if o.Result.Verdict == checker.Safe {
					t.Errorf("%s with %s, seed %d: SAFE\n%s", a.run, name, seed, o.Timeline())
				}
			}
		}
	}
}

// references are the locks that a lock may be like in [Test].
var references = []string{
	"single", "single-usec", "single-retries", "single-delex", "single-extend", "single-wait", "watchdog", "fenced", "redlock",
	"redlock-sequential", "redlock-wall", "redlock-extend",
}

// A run is played in another process, which reads its scenario from text. So each scenario that a reference meets must be one that can be read.
func TestTrialsCanBeRead(t *testing.T) {
	for _, name := range references {
		o, err := gather(findLock(t, name), []Option{Like(name)}, (*options).forCatalogue)
		if err != nil {
			t.Fatal(err)
		}
		trials, err := o.trials("mine", findLock(t, name))
		if err != nil {
			t.Fatal(err)
		}
		read := map[*script.Scenario]bool{}
		for _, a := range trials {
			if !read[a.Scenario] {
				if _, err := script.Parse(a.Scenario.Name, []byte(a.Scenario.String())); err != nil {
					t.Errorf("like %s: %v", name, err)
				}
			}
			read[a.Scenario] = true
		}
	}
}
