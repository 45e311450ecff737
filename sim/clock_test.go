package sim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"lockstep/sim/history"
)

// stopwatch runs a lane on a process whose clocks have faults, and returns its notes.
func stopwatch(t *testing.T, script string, lane func(w *World, p *Process, note func(what string))) []string {
	t.Helper()
	var got []string
	inWorld(t, Config{Seed: 1}, func(w *World) {
		p := w.Process("c1")
		p.Go(func(context.Context) {
			lane(w, p, func(what string) { got = append(got, fmt.Sprintf("%v %s", w.Now(), what)) })
		})
		inject(w, script)
	})
	return got
}

func TestTimersUnderFaults(t *testing.T) {
	tests := []struct {
		name, script string
		want         []string
	}{
		{"right", "0s heal", []string{"10s timer", "15s sleep", "25s sleep"}},
		{"fast from the start", "0s drift c1 +250000ppm", []string{"8s timer", "12s sleep", "20s sleep"}},
		{"slow from the start", "0s drift c1 -500000ppm", []string{"20s timer", "30s sleep", "50s sleep"}},
		{"slow on the way", "5s drift c1 -500000ppm", []string{"15s timer", "25s sleep", "45s sleep"}},
		{"slow for a while", "2s drift c1 -500000ppm\n6s drift c1 +0ppm", []string{"12s timer", "17s sleep", "27s sleep"}},
		{"as slow as can be, for a while", "2s drift c1 -999999ppm\n602s drift c1 +0ppm", []string{"10m9.9994s timer", "10m14.9994s sleep", "10m24.9994s sleep"}},
		{"a pause moves them", "1s pause c1 11s", []string{"12s timer", "17s sleep", "27s sleep"}},
		{"a pause that ends in time does not", "1s pause c1 8s", []string{"10s timer", "15s sleep", "25s sleep"}},
		{"a drift that begins in a pause", "9s pause c1 4s\n11s drift c1 +250000ppm", []string{"13s timer", "17s sleep", "25s sleep"}},
		{"a jump forward", "1s jump c1 +1h", []string{"10s timer", "15s sleep", "25s sleep"}},
		{"a jump back", "1s jump c1 -1h", []string{"10s timer", "15s sleep", "25s sleep"}},
		{"a slew", "1s slew c1 +1s over 10s", []string{"10s timer", "15s sleep", "25s sleep"}},
	}
	for _, tt := range tests {
		got := stopwatch(t, tt.script, func(w *World, p *Process, note func(string)) {
			time.Sleep(time.Nanosecond) // after a fault at 0s
			<-p.Clock().NewTimer(10*time.Second - p.Steady()).Chan()
			note("timer")
			p.Clock().Sleep(5 * time.Second)
			note("sleep")
			p.Wall().Sleep(10 * time.Second) // as in Go, the wall clock's timers are steady
			note("sleep")
		})
		for i := range got {
			got[i] = roundFirst(got[i])
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// roundFirst rounds the duration at the beginning of a line to 10µs: readings are whole nanoseconds, so their sums are off by a
// few.
func roundFirst(line string) string {
	var d, rest string
	fmt.Sscan(line, &d, &rest)
	at, _ := time.ParseDuration(d)
	return at.Round(10*time.Microsecond).String() + " " + rest
}

// TestConnDeadlinesUnderDrift: the deadlines of connections, in Read, Write and dialling, follow the clock too.
func TestConnDeadlinesUnderDrift(t *testing.T) {
	for script, want := range map[string]time.Duration{
		"0s delay c1-n1 0s":                                  1000 * ms,
		"0s drift c1 +250000ppm":                             800 * ms,
		"0s drift c1 -500000ppm":                             2000 * ms,
		"1500ms drift c1 -500000ppm":                         1500 * ms,
		"1200ms pause c1 1800ms":                             2000 * ms,
		"1200ms pause c1 500ms":                              1000 * ms,
		"500ms cut c1-n1\n2s heal c1-n1":                     1000 * ms,
		"1500ms drift c1 -999999ppm\n61500ms drift c1 +0ppm": 60999940 * time.Microsecond,
	} {
		var read, dialled time.Duration
		inWorld(t, Config{Seed: 1}, func(w *World) {
			n, c := w.Serve("n1", &echo{}), w.Process("c1")
			w.Serve("n2", &echo{})
			w.At(0, func() { w.Inject(history.Cut{Link: history.Link{From: "n2", To: "c1"}}) })
			c.Go(func(ctx context.Context) {
				conn := dial(ctx, c, n)
				defer conn.Close()
				c.Until(time.Second)
				conn.SetDeadline(time.Now().Add(time.Second))
				_, err := conn.Read(make([]byte, 1))
				if read = w.Now() - time.Second; !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Error(err)
				}
				if _, err := conn.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%q: write: %v", script, err)
				}
				if err := conn.SetDeadline(time.Time{}); err != nil {
					t.Error(err)
				}
				if _, err := conn.Write([]byte("x")); err != nil {
					t.Error(err)
				}
			})
			c.Go(func(ctx context.Context) {
				c.Until(time.Second)
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				_, err := c.DialContext(ctx, "tcp", w.procs["n2"].Addr())
				var ne net.Error
				if dialled = w.Now() - time.Second; !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &ne) || !ne.Timeout() {
					t.Error(err)
				}
			})
			inject(w, script)
		})
		if read.Round(10*time.Microsecond) != want || dialled.Round(10*time.Microsecond) != want {
			t.Errorf("%q: Read gave up after %v, dialling after %v, want %v", script, read, dialled, want)
		}
	}
}

func TestDialIsCancelled(t *testing.T) {
	inWorld(t, Config{Seed: 1}, func(w *World) {
		n, c := w.Serve("n1", &echo{}), w.Process("c1")
		w.At(0, func() { w.Inject(history.Cut{Link: history.Link{From: "c1", To: "n1", Both: true}}) })
		c.Go(func(ctx context.Context) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			for range 2 { // the second time before it begins
				if _, err := c.DialContext(ctx, "tcp", n.Addr()); !errors.Is(err, context.Canceled) || w.Now() != time.Second {
					t.Errorf("%v at %v", err, w.Now())
				}
			}
		})
	})
}

// both runs f on a simulated clock and on package time, and compares its notes.
func both(t *testing.T, f func(c clockSource, note func(...any))) {
	t.Helper()
	var sim, std notes
	inWorld(t, Config{Seed: 1}, func(w *World) {
		for _, tt := range []struct {
			name string
			c    clockSource
			into *notes
		}{{"c1", nil, &sim}, {"c2", packageTime{}, &std}} {
			p := w.Process(tt.name)
			c := tt.c
			if c == nil {
				c = simTime{p}
			}
			p.Go(func(context.Context) {
				f(c, func(args ...any) { tt.into.add(fmt.Sprint(w.Now(), " ", fmt.Sprint(args...))) })
			})
		}
	})
	if !slices.Equal(sim.list(), std.list()) {
		t.Errorf("simulated    %q\npackage time %q", sim.list(), std.list())
	}
}

// clockSource has what the clock of a process and package time have in common.
type clockSource interface {
	timer(time.Duration) (<-chan time.Time, func() bool, func(time.Duration) bool)
	afterFunc(time.Duration, func()) (stop func() bool, reset func(time.Duration) bool)
	ticker(time.Duration) (<-chan time.Time, func(), func(time.Duration))
}

type simTime struct{ p *Process }

func (s simTime) timer(d time.Duration) (<-chan time.Time, func() bool, func(time.Duration) bool) {
	t := s.p.Clock().NewTimer(d)
	return t.Chan(), t.Stop, t.Reset
}
func (s simTime) afterFunc(d time.Duration, f func()) (func() bool, func(time.Duration) bool) {
	t := s.p.Clock().AfterFunc(d, f)
	return t.Stop, t.Reset
}
func (s simTime) ticker(d time.Duration) (<-chan time.Time, func(), func(time.Duration)) {
	t := s.p.Clock().NewTicker(d)
	return t.Chan(), t.Stop, t.Reset
}

type packageTime struct{}

func (packageTime) timer(d time.Duration) (<-chan time.Time, func() bool, func(time.Duration) bool) {
	t := time.NewTimer(d)
	return t.C, t.Stop, t.Reset
}
func (packageTime) afterFunc(d time.Duration, f func()) (func() bool, func(time.Duration) bool) {
	t := time.AfterFunc(d, f)
	return t.Stop, t.Reset
}
func (packageTime) ticker(d time.Duration) (<-chan time.Time, func(), func(time.Duration)) {
	t := time.NewTicker(d)
	return t.C, t.Stop, t.Reset
}

// received returns what can be received without waiting.
func received(c <-chan time.Time) string {
	select {
	case t := <-c:
		return t.Format("5.000")
	default:
		return "nothing"
	}
}

func TestTimerLikePackageTime(t *testing.T) {
	both(t, func(c clockSource, note func(...any)) {
		ch, stop, reset := c.timer(time.Second)
		note("fires ", (<-ch).Format("5.000"))
		note("stop after it was received ", stop(), received(ch))
		note("reset ", reset(time.Second))
		note("reset while it runs ", reset(2*time.Second))
		note("fires ", (<-ch).Format("5.000"))
		reset(time.Second)
		time.Sleep(1500 * ms)
		note("stop after it fired ", stop(), " ", received(ch))
		note("stop again ", stop())
		reset(time.Second)
		time.Sleep(1500 * ms)
		note("reset after it fired ", reset(time.Second), " ", received(ch))
		note("fires ", (<-ch).Format("5.000"))
		reset(-time.Second)
		<-ch
		note("a time that has passed is now")
		reset(0)
		<-ch
		note("so is zero")
	})
}

func TestAfterFuncLikePackageTime(t *testing.T) {
	both(t, func(c clockSource, note func(...any)) {
		stop, reset := c.afterFunc(time.Second, func() { note("called") })
		time.Sleep(1500 * ms)
		note("stop after the call ", stop())
		note("reset ", reset(time.Second))
		note("stop before the call ", stop())
		time.Sleep(1500 * ms)
		note("reset ", reset(time.Second))
		note("reset while it runs ", reset(2*time.Second))
		time.Sleep(2500 * ms)
	})
}

func TestTickerLikePackageTime(t *testing.T) {
	both(t, func(c clockSource, note func(...any)) {
		ch, stop, reset := c.ticker(time.Second)
		for range 3 {
			note("tick ", (<-ch).Format("5.000"))
		}
		time.Sleep(3500 * ms)
		note("late ", (<-ch).Format("5.000")) // one tick is kept, the others are dropped
		note("then ", (<-ch).Format("5.000"))
		time.Sleep(1500 * ms)
		reset(400 * ms)
		note("after a reset ", received(ch))
		for range 2 {
			note("tick ", (<-ch).Format("5.000"))
		}
		stop()
		time.Sleep(1500 * ms)
		note("stopped ", received(ch))
		reset(time.Second)
		note("tick ", (<-ch).Format("5.000"))
		stop()
	})
}

// TestTickerAfterPause: missed ticks are dropped, and the next ones come at their usual times.
func TestTickerAfterPause(t *testing.T) {
	got := stopwatch(t, "2500ms pause c1 3s", func(w *World, p *Process, note func(string)) {
		k := p.Clock().NewTicker(time.Second)
		for range 5 {
			<-k.Chan()
			note("tick")
		}
		k.Stop()
	})
	if want := []string{"1s tick", "2s tick", "5.5s tick", "6s tick", "7s tick"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestStopInPause: a timer that waits for the end of a pause can still be stopped and reset, once.
func TestStopInPause(t *testing.T) {
	got := stopwatch(t, "500ms pause c1 2s", func(w *World, p *Process, note func(string)) {
		stopped := p.Clock().AfterFunc(time.Second, func() { note("was stopped") })
		again := p.Clock().AfterFunc(time.Second, func() { note("again") })
		twice := p.Clock().AfterFunc(time.Second, func() { note("twice") })
		time.Sleep(1500 * ms) // code on package time runs during a pause
		stopped.Stop()
		again.Reset(3 * time.Second)
		twice.Reset(100 * ms)
		time.Sleep(200 * ms)
		twice.Reset(200 * ms)
		p.Clock().Sleep(10 * time.Second)
	})
	if want := []string{"2.5s twice", "4.5s again"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// watchman is a service with an alarm at a reading of its wall clock, like the alarm of a Redis node for its keys.
type watchman struct {
	plain
	p    *Process
	at   time.Time
	rang func()
	told int
}

func (s *watchman) set() { s.p.Alarm(s.at, s.rang) }
func (s *watchman) ClockChanged() {
	s.told++
	s.set()
}

// TestAlarm: an alarm goes off when the wall clock shows its time. A service that sets it again after each change of the clock need
// not know what the change was.
func TestAlarm(t *testing.T) {
	for _, tt := range []struct {
		script string
		want   time.Duration
	}{
		{"1s heal", 10 * time.Second},
		{"1s jump n1 +3s", 7 * time.Second},
		{"1s jump n1 -3s", 13 * time.Second},
		{"1s jump n1 +30s", time.Second},
		{"1s jump n1 +3s\n2s jump n1 -3s", 10 * time.Second},
		{"2s drift n1 +1000ppm\n2s drift n1 -500000ppm", 18*time.Second - 1}, // a slow clock's readings are rounded up
		{"2s drift n1 -500000ppm\n4s drift n1 +0ppm", 11 * time.Second},
		{"2s drift n1 +600000ppm", 7 * time.Second},
		{"1s slew n1 +1s over 10s", 9181818182},
		{"1s slew n1 +1s over 2s", 9 * time.Second},
		{"1s slew n1 -1s over 2s\n2s jump n1 +500ms", 10 * time.Second},
		{"1s pause n1 30s", 10 * time.Second}, // keys expire by the clock, even if nobody reads it
		{"1s pause n1 30s\n2s jump n1 +3s", 7 * time.Second},
	} {
		var rang []time.Duration
		s := &watchman{}
		inWorld(t, Config{Seed: 1}, func(w *World) {
			s.p = w.Serve("n1", s)
			s.at = w.Epoch().Add(10 * time.Second)
			s.rang = func() {
				if s.p.Wall().Now().Before(s.at) {
					t.Errorf("%q: rang early, at %v", tt.script, w.Now())
				}
				rang = append(rang, w.Now())
				s.at = time.Time{}
				s.set()
			}
			s.set()
			inject(w, tt.script)
			w.Process("c1").Go(func(context.Context) { time.Sleep(time.Minute) })
		})
		if len(rang) != 1 || rang[0] != tt.want {
			t.Errorf("%q: rang at %v, want %v", tt.script, rang, tt.want)
		}
	}
}

// TestClocksOfEvents: a record shows true time and both clocks.
func TestClocksOfEvents(t *testing.T) {
	h := inWorld(t, Config{Seed: 1}, func(w *World) {
		p := w.Process("c1")
		p.Go(func(context.Context) {
			p.Until(10 * time.Second)
			p.Record(history.Event{Kind: history.Info})
			if p.Steady() != 12*time.Second || p.WallOffset() != -3*time.Second || w.Now() != 10*time.Second {
				t.Errorf("steady %v, wall %v, now %v", p.Steady(), p.WallOffset(), w.Now())
			}
			if got := p.Clock().Now().Sub(w.Epoch()); got != 12*time.Second {
				t.Errorf("clock %v", got)
			}
			if got := p.Wall().Since(w.Epoch()); got != 7*time.Second {
				t.Errorf("wall %v", got)
			}
		})
		inject(w, "5s drift c1 +400000ppm\n6s jump c1 -5s")
	})
	for _, e := range h.Events {
		if e.Kind == history.Info && (e.At != 10*time.Second || e.Clock != 12*time.Second || e.Wall != -3*time.Second) {
			t.Errorf("%+v", e)
		}
	}
}
