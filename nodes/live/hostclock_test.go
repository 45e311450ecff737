package live

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"lockstep/sim"
	"lockstep/sim/history"
)

// The clocks of a client process show the same as those of a simulated client.
func TestClocksAsInSimulation(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		var faults []history.Fault
		var times []time.Duration
		at := time.Duration(0)
		for range 6 {
			by := time.Duration(random.Int64N(int64(20*time.Second))) - 10*time.Second
			faults = append(faults, []history.Fault{
				history.Jump{Process: "c1", By: by},
				history.Slew{Process: "c1", By: by, Over: time.Duration(1 + random.Int64N(int64(3*time.Second)))},
				history.Drift{Process: "c1", PPM: random.Int64N(1_900_000) - 950_000},
			}[random.IntN(3)])
			at += time.Duration(random.Int64N(int64(2 * time.Second)))
			times = append(times, at)
		}
		type shown struct{ steady, ahead time.Duration }
		var want, got []shown
		err := sim.Bubble(func() {
			w := sim.NewWorld(sim.Config{Seed: 1})
			defer w.Close()
			p := w.Process("c1")
			for i, f := range faults {
				w.At(times[i], func() {
					w.Inject(f)
					now := shown{p.Steady(), p.WallOffset()}
					want = append(want, now)
				})
			}
			w.At(at+time.Second, func() { want = append(want, shown{p.Steady(), p.WallOffset()}) })
			w.RunFor(at + 2*time.Second)
		})
		if err != nil {
			t.Fatal(err)
		}
		var k history.Clock
		look := func(t time.Duration) {
			got = append(got, shown{k.Reading(t), k.Wall(t) - t})
		}
		for i, f := range faults {
			k = k.After(f, times[i])
			look(times[i])
		}
		look(at + time.Second)
		if !slices.Equal(got, want) {
			t.Fatalf("%v at %v:\n%v\nin simulation:\n%v", faults, times, got, want)
		}
	}
}

// bites collects the faults that have bitten.
type bites struct {
	mu  sync.Mutex
	all []int
}

func (b *bites) add(faults []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, faults...)
}

func (b *bites) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprint(b.all)
}

// A fault bites when anybody reads a clock, provided that the code under test has read one.
func TestClockFaultBites(t *testing.T) {
	var b bites
	k := newHostClocks(b.add)
	clock, lane := steadyClock{k}, sim.HarnessClock(steadyClock{k})
	expect := func(when, want string) {
		t.Helper()
		if got := b.String(); got != want {
			t.Errorf("%s: %s have bitten, want %s", when, got, want)
		}
	}
	k.set(setClocks{Nr: 1, Clocks: history.Clock{PPM: 100}, Faults: []int{1}})
	lane.Now()
	lane.Sleep(time.Millisecond)
	<-clock.After(time.Millisecond)
	expect("the lane reads, and timers come due", "[]")
	clock.Now()
	expect("the lock reads", "[1]")
	k.set(setClocks{Nr: 2, Faults: []int{2}})
	expect("before anybody reads", "[1]")
	lane.Now()
	expect("the lane reads after the lock has", "[1 2]")
	k.set(setClocks{Nr: 3, Faults: []int{3}})
	wallClock{clock}.Until(time.Now())
	expect("the lock reads the clock on the wall", "[1 2 3]")
}

func TestHostClocks(t *testing.T) {
	k := newHostClocks(func([]int) {})
	steady, wall := steadyClock{k}, wallClock{steadyClock{k}}
	before := steady.Now()
	k.set(setClocks{Nr: 2, Clocks: history.Clock{Ahead: -time.Hour}})
	k.set(setClocks{Nr: 1, Clocks: history.Clock{Ahead: time.Hour}}) // this one arrives late, and is ignored
	if d := steady.Since(before); d < 0 || d > time.Minute {
		t.Errorf("the steady clock went by %v when the other jumped", d)
	}
	if d := wall.Since(before.Round(0)); d > -59*time.Minute || d < -time.Hour {
		t.Errorf("the clock on the wall jumped by %v", d)
	}
}

// Timers follow the rate of their clock, even if it changes while they are set.
func TestHostTimers(t *testing.T) {
	k := newHostClocks(func([]int) {})
	clock := steadyClock{k}
	slow := clock.NewTimer(time.Hour)
	called := make(chan bool, 1)
	f := clock.AfterFunc(time.Hour, func() { called <- true })
	stopped := clock.NewTimer(time.Hour)
	if !stopped.Stop() || stopped.Stop() {
		t.Error("a timer that is stopped says whether it was set")
	}
	ticker := clock.NewTicker(50 * time.Minute)
	defer ticker.Stop()
	// From now on this clock shows almost 60 minutes and runs at 1.5 times the rate, so that an hour has soon passed.
	k.set(setClocks{Nr: 1, Clocks: history.Clock{Steady: 60*time.Minute - 10*time.Millisecond, PPM: 500_000}})
	select {
	case at := <-slow.Chan():
		if shown := at.Sub(k.start); shown < time.Hour-time.Second {
			t.Errorf("it came due when the clock showed %v", shown)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("a timer did not come due with its clock")
	}
	<-called
	<-ticker.Chan()
	if slow.Stop() || f.Stop() {
		t.Error("a timer that has fired is set")
	}
	select {
	case <-stopped.Chan():
		t.Error("a timer that was stopped has fired")
	default:
	}
	if slow.Reset(time.Millisecond) {
		t.Error("it was set")
	}
	<-slow.Chan()
	ticker.Reset(time.Millisecond)
	<-ticker.Chan()
	<-ticker.Chan()
}
