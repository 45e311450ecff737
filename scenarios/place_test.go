package scenarios

import (
	"slices"
	"testing"

	"lockstep/checker"
	"lockstep/clients"
	lacking "lockstep/clients/broken"
	"lockstep/scenarios/play"
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
