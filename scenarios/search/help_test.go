// go-redis, and libraries, draw from the source that all of a process share: it must take a seed.
//
//go:debug randseednop=0

package search

import (
	"flag"
	"path/filepath"
	"slices"
	"testing"

	"lockstep/clients"
	lacking "lockstep/clients/broken"
	"lockstep/clients/libraries"
	"lockstep/clients/sound"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/wasm"
)

var rewrite = flag.Bool("rewrite", false, "renew the counterexamples in testdata/found, and a table in docs/exploring.md")

// findLock returns a lock of the literature, a library, a broken lock, or a sound one.
func findLock(t testing.TB, name string) clients.New {
	t.Helper()
	if l, err := libraries.Find(name); err == nil {
		return l.New
	}
	build, err := clients.FindIn(slices.Concat(lacking.All(), clients.Locks(), sound.Locks()), name)
	if err != nil {
		t.Fatal(err)
	}
	return build
}

func TestMain(m *testing.M) {
	wasm.SetSource(filepath.Join("..", "testdata", "guest"), true) // the program of guests: these tests are none
	m.Run()
}

// simulated plays a run with the lock that it names.
func simulated(t *testing.T, s *script.Scenario, r script.Section, seed uint64) *play.Outcome {
	t.Helper()
	o, err := play.Simulate(s, r, findLock(t, r.Lock), seed)
	if err != nil {
		t.Fatal(err)
	}
	return o
}
