package scenarios

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"lockstep/clients"
	lacking "lockstep/clients/broken"
	"lockstep/clients/libraries"
	"lockstep/internal/draws"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim"
)

// A played run is one of the catalogue, or one with a lock that lacks a safeguard.
type played struct {
	s                  *script.Scenario
	run                script.Section
	build              clients.New
	checksum, timeline string // of the run alone, after the pools were emptied; whole outcomes would slow down each forced garbage collection
}

// worst leaves behind whatever a run can: servers that are down with keys, loaded scripts and a log; a client that
// is paused, one that crashed, and one that stays; links that are cut, and messages that are held.
const worst = `# A run that ends in the middle of everything.

ttl 2s
client c1
  acquire
  write A
  pause 1h
client c2
  until 1s
  acquire within 10s
  stay
client c3
  until 1s
  acquire within 30s
nemesis
  at 500ms crash n1
  at 600ms cut c2-n2
  at 700ms hold n3->c3
  at 1200ms jump n4 +11s
  at 1300ms drift n5 +50000ppm
  at 2s restart n1
  at 4s crash c3
  at 5s crash n2
  at 6s crash n1

-- redlock nodes=5 --
-- redlock-extend nodes=5 persistence=aof-everysec --
-- single nodes=5 persistence=rdb --
`

func catalogueToPlay(t *testing.T) []played {
	t.Helper()
	all, err := script.Stories()
	if err != nil {
		t.Fatal(err)
	}
	page, err := script.Parse("worst.txtar", []byte(worst))
	if err != nil {
		t.Fatal(err)
	}
	var runs []played
	for _, s := range append(all, page) {
		for _, r := range s.Runs {
			if l, err := libraries.Find(r.Lock); err == nil && l.Restless {
				continue // its runs do not repeat themselves alone either
			}
			runs = append(runs, played{s: s, run: r, build: findLock(t, r.Lock)})
			if r.Replicas == 0 { // and with clients that the series keeps
				r.Pool = script.Warm
				runs = append(runs, played{s: s, run: r, build: findLock(t, r.Lock)})
			}
		}
	}
	locks := slices.Concat(lacking.All(), clients.Locks())
	for _, g := range safeguards {
		build, err := clients.FindIn(locks, g.lock)
		if err != nil {
			t.Fatal(err)
		}
		s, r := find(t, g.run)
		if g.resource != "" {
			r.Resource = g.resource
		}
		runs = append(runs, played{s: s, run: r, build: build})
	}
	for i := range runs {
		forget()
		o, err := play.Simulate(runs[i].s, runs[i].run, runs[i].build, 1)
		if err != nil {
			t.Fatalf("%s/%s: %v", runs[i].s.Name, runs[i].run.ID(), err)
		}
		runs[i].checksum, runs[i].timeline = o.History.Meta.Checksum, o.Timeline()
	}
	return runs
}

// forget has the process drop what runs use again: a sync.Pool outlives one collection, not two.
func forget() {
	runtime.GC()
	runtime.GC()
}

// A run in a series comes out as it does alone, to the byte, whatever was played before it.
func TestSeriesIsLikeRunsAlone(t *testing.T) {
	draws.Turn(t, 3, 4)
	if testing.Short() {
		t.Skip("plays every run four times and more")
	}
	play.QuietRedis()
	runs := catalogueToPlay(t)
	play := func(order string, of []played) {
		err := play.Series(func(play play.Player) {
			for _, p := range of {
				o := play(p.s, p.run, p.build, 1)
				if got := o.History.Meta.Checksum; got != p.checksum {
					t.Errorf("%s: checksum %s, alone %s", o.Name(), got, p.checksum)
				}
				if got := o.Timeline(); got != p.timeline {
					t.Errorf("%s: in a series\n%s\nalone\n%s", o.Name(), got, p.timeline)
				}
				if t.Failed() {
					t.Fatalf("in the order %s", order)
				}
			}
		})
		if err != nil {
			t.Fatalf("%s: %v", order, err)
		}
	}
	play("of the catalogue", runs)
	shuffled := slices.Clone(runs)
	random := rand.New(rand.NewPCG(1, 1))
	random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	play("shuffled", shuffled)

	var after []played
	for _, p := range runs {
		if p.s.Name == "worst" {
			after = append(after, p, runs[0], p, p, runs[1])
		}
	}
	play("after the worst", after)
}

// A run that leaves goroutines behind ends the series at once, and with the error that it has alone. What is played
// afterwards is none the worse for it.
func TestSeriesEndsWithALeak(t *testing.T) {
	play.QuietRedis()
	s, r := find(t, "redlock-calm/redlock")
	leaking := func(env clients.Env) clients.Locker {
		go func() { select {} }()
		return clients.NewRedlock(env)
	}
	want := simulated(t, s, r, 1).History.Meta.Checksum
	proper := func(play play.Player) {
		if got := play(s, r, clients.NewRedlock, 1).History.Meta.Checksum; got != want {
			t.Errorf("checksum %s, want %s", got, want)
		}
	}
	before, after := 0, 0
	err := play.Series(func(play play.Player) {
		for range 3 {
			proper(play)
			before++
		}
		play(s, r, leaking, 1)
		after++
	})
	var leak *sim.LeakError
	if before != 3 || after != 0 || !errors.As(err, &leak) || !strings.Contains(leak.Stacks, "TestSeriesEndsWithALeak") {
		t.Errorf("%d runs before, %d after, and the error is %v", before, after, err)
	}
	if err := play.Series(proper); err != nil {
		t.Errorf("after that: %v", err)
	}
}

// What goes wrong in the function that plays is no business of the series.
func TestSeriesPassesPanicsOn(t *testing.T) {
	defer func() {
		if r := recover(); r != "boom" {
			t.Errorf("recovered %v", r)
		}
	}()
	err := play.Series(func(play.Player) { panic("boom") })
	t.Errorf("series returned %v", err)
}
