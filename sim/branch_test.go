package sim

import (
	"context"
	"slices"
	"testing"
	"time"

	"lockstep/sim/history"
)

// From a branch on, the clocks of all processes run at the right rate. The errors that they have stay.
func TestBranchSteadiesClocks(t *testing.T) {
	const s = time.Second
	inWorld(t, Config{Seed: 1, Branch: &Branch{After: 10 * s, Seed: 2}}, func(w *World) {
		c1, n1 := w.Process("c1"), w.Serve("n1", &echo{})
		w.Plan(0, history.Drift{Process: "c1", PPM: 100_000})
		w.Plan(0, history.Slew{Process: "n1", By: 10 * s, Over: 20 * s})
		w.Process("c2").Go(func(context.Context) {
			for _, want := range []struct{ at, steady, wall time.Duration }{
				{5 * s, 5500 * time.Millisecond, 2500 * time.Millisecond},
				{10 * s, 11 * s, 5 * s},
				{20 * s, 21 * s, 5 * s},
			} {
				time.Sleep(want.at - w.Now())
				near := func(a, b time.Duration) bool { return (a - b).Abs() < time.Microsecond }
				if steady, wall := c1.Steady(), n1.WallOffset(); !near(steady, want.steady) || !near(wall, want.wall) {
					t.Errorf("at %v: the steady clock of c1 shows %v, and the wall clock of n1 is %v ahead; want %v and %v", want.at, steady, wall, want.steady, want.wall)
				}
			}
		})
	})
}

// The source from which all code of the process draws is seeded at the branch, and, once a client has crashed, before each event, alike in each
// run.
func TestReseed(t *testing.T) {
	const s = time.Second
	run := func(branch *Branch, fault history.Fault) (at []time.Duration, seeds []int64) {
		var w *World
		cfg := Config{Seed: 1, Branch: branch, Reseed: func(seed int64) { at, seeds = append(at, w.Now()), append(seeds, seed) }}
		inWorld(t, cfg, func(world *World) {
			w = world
			c1, c2 := w.Process("c1"), w.Process("c2")
			c1.Go(func(context.Context) { c1.Clock().Sleep(9 * s) })
			c2.Go(func(context.Context) {
				for range 4 {
					c2.Clock().Sleep(s)
				}
			})
			w.Plan(2500*time.Millisecond, fault)
		})
		return at, seeds
	}
	pause, crash := history.Pause{Process: "c1", For: s}, history.Crash{Process: "c1"}
	if at, _ := run(nil, pause); len(at) > 0 {
		t.Errorf("without a crash it is seeded at %v", at)
	}
	if at, seeds := run(&Branch{After: 2 * s, Seed: 7}, pause); !slices.Equal(at, []time.Duration{2*s + 1}) || seeds[0] != 7 {
		t.Errorf("with a branch it is seeded at %v with %v", at, seeds)
	}
	at, seeds := run(nil, crash)
	if len(at) < 2 || slices.Min(at) < 2500*time.Millisecond || slices.Max(at) < 4*s || seeds[0] == seeds[1] {
		t.Errorf("after a crash it is seeded at %v with %v", at, seeds)
	}
	if _, again := run(nil, crash); !slices.Equal(seeds, again) {
		t.Errorf("seeds %v, then %v", seeds, again)
	}
}
