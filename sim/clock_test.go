package sim

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestReadingAndWhen: when is the inverse of reading, at every rate that a fault can set and for as long as a run can
// last; both agree with arithmetic that cannot overflow.
func TestReadingAndWhen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const year = 365 * 24 * time.Hour
		span := func(label string, least time.Duration) time.Duration {
			// Uniform in the logarithm: errors hide near zero and near the limits.
			limit := rapid.SampledFrom([]time.Duration{1, time.Microsecond, time.Second, time.Hour, 30 * 24 * time.Hour, year}).Draw(t, label+" up to")
			return time.Duration(rapid.Int64Range(int64(least), int64(limit)).Draw(t, label))
		}
		c := Clock{Since: span("t0", 0), Steady: span("r0", 0)}
		c.PPM = rapid.OneOf(rapid.Int64Range(-500, 500), rapid.Int64Range(-900_000, 900_000), rapid.SampledFrom([]int64{-MaxDriftPPM, MaxDriftPPM, 0})).Draw(t, "ppm")

		d := span("passed", 0)
		exact := new(big.Int).Mul(big.NewInt(int64(d)), big.NewInt(c.PPM))
		exact.Quo(exact, big.NewInt(1e6))
		if got, want := c.Reading(c.Since+d)-c.Steady-d, time.Duration(exact.Int64()); got != want {
			t.Fatalf("gained %v, want %v", got, want)
		}

		r := c.Steady + span("until", 1)
		at := c.When(r)
		if at >= c.Since+never && c.Reading(c.Since+never-1) < r {
			return // later than anything can be
		}
		if at <= c.Since || c.Reading(at) < r || c.Reading(at-1) >= r {
			t.Fatalf("shows %v first at %v; then %v, before that %v", r, at, c.Reading(at), c.Reading(at-1))
		}
		if c.Reading(c.When(c.Reading(c.Since+d))) != c.Reading(c.Since+d) {
			t.Fatal("a reading that is shown is not shown at its time")
		}
	})
}

func TestTakes(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		ppm  int64
		want time.Duration
	}{
		{0, 0, 0},
		{10, 0, 10},
		{10, 1_000_000, 5},
		{11, 1_000_000, 6}, // rounded up: at 5 the clock shows 10
		{10, -500_000, 20},
		{1, 1, 1},
		{time.Second, -1, time.Second + 1001*time.Nanosecond},
		{time.Hour, 10_000, 3564356435644},
		{NoEnd, 0, NoEnd},
		{NoEnd - 1, -1, NoEnd},
		{NoEnd, 1 - 1_000_000, NoEnd},
		{1, 1 - 1_000_000, 1_000_000},
	} {
		if got := (Clock{PPM: c.ppm}).Takes(c.d); got != c.want {
			t.Errorf("at %d ppm %d takes %d, want %d", c.ppm, c.d, got, c.want)
		}
	}
}

func TestScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.Int64().Draw(t, "d")
		n := rapid.Int64Range(0, 1<<62).Draw(t, "n")
		by := rapid.Int64Range(1, 1<<62).Draw(t, "by")
		want := new(big.Int).Mul(big.NewInt(d), big.NewInt(n))
		want.Quo(want, big.NewInt(by))
		if limit := big.NewInt(1<<63 - 1); want.CmpAbs(limit) > 0 {
			want.Mul(limit, big.NewInt(int64(want.Sign())))
		}
		if d == -1<<63 {
			return // Abs of it is one less
		}
		if got := scale(time.Duration(d), time.Duration(n), time.Duration(by)); int64(got) != want.Int64() {
			t.Fatalf("scale(%d, %d, %d) = %d, want %v", d, n, by, got, want)
		}
	})
}

// TestWallWhen: an alarm finds the first instant of its reading in the midst of drift, offset and slew.
func TestWallWhen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		day := int64(24 * time.Hour)
		span := func(label string, lo, hi int64) time.Duration {
			return time.Duration(rapid.Int64Range(lo, hi).Draw(t, label))
		}
		w := Clock{PPM: rapid.Int64Range(-900_000, 900_000).Draw(t, "ppm")}
		w.Ahead, w.Set = span("offset", -day, day), span("since", 0, day)
		w.Over = span("over", 0, 10*day)
		if w.Over > 0 {
			// A slew that turns the clock back is none; the rate that is left decides how steep one can be.
			limit := int64(scale(w.Over, time.Duration(1e6-max(w.PPM, -w.PPM)), 1e6)) * 9 / 10
			w.Slew = span("by", -limit, limit)
		}
		now := w.Set + span("now", 0, 10*day)
		r := w.Wall(now) + span("ahead", -day, 30*day)
		at := w.WallWhen(now, r)
		if w.Wall(at) < r || at < now || at > now && w.Wall(at-1) >= r {
			t.Fatalf("from %v, %v is shown at %v: %v, and before that %v", now, r, at, w.Wall(at), w.Wall(at-1))
		}
	})
}

// TestSlew: a slew is spread evenly, lands exactly, and can be of any size: its arithmetic overflowed at ten seconds
// over twenty minutes once.
func TestSlew(t *testing.T) {
	for _, tt := range []struct{ by, over time.Duration }{
		{50 * ms, time.Second}, {-50 * ms, time.Second}, {1, 3}, {10 * time.Second, 20 * time.Minute}, {-300 * 24 * time.Hour, 365 * 24 * time.Hour},
	} {
		w := Clock{}.After(Slew{By: tt.by, Over: tt.over}, time.Hour)
		for i := range time.Duration(10) {
			got := w.Offset(time.Hour + tt.over*i/10)
			if want := tt.by * i / 10; (got - want).Abs() > 1 {
				t.Errorf("%v over %v: after %d tenths the offset is %v, want %v", tt.by, tt.over, i, got, want)
			}
		}
		for _, after := range []time.Duration{tt.over, tt.over + 1, tt.over + time.Hour} {
			if got := w.Offset(time.Hour + after); got != tt.by {
				t.Errorf("%v over %v: the offset is %v at the end", tt.by, tt.over, got)
			}
		}
		w = w.After(Jump{}, time.Hour+tt.over/2) // another correction begins where this one has come to
		if got := w.Offset(time.Hour + 2*tt.over); (got - tt.by/2).Abs() > 1 {
			t.Errorf("%v over %v: the offset is %v if it was ended half way", tt.by, tt.over, got)
		}
	}
}

// A stopwatch runs a lane on a process whose clocks have faults, and says what it measured.
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

// roundFirst rounds the duration that a line begins with to the 10µs: readings are whole nanoseconds, so sums of them
// are off by a few.
func roundFirst(line string) string {
	var d, rest string
	fmt.Sscan(line, &d, &rest)
	at, _ := time.ParseDuration(d)
	return at.Round(10*time.Microsecond).String() + " " + rest
}

// TestConnDeadlinesUnderDrift: so do the deadlines of connections, of Read, Write and dialling.
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
			w.At(0, func() { w.Inject(Cut{Link{From: "n2", To: "c1"}}) })
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
		w.At(0, func() { w.Inject(Cut{Link{"c1", "n1", true}}) })
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

// both runs f on a simulated clock and on that of package time, and compares what it notes.
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

// clockSource is what the clock of a process and package time have in common.
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

// received says what can be received without waiting.
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
		note("late ", (<-ch).Format("5.000")) // one tick has waited, the others were dropped
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

// TestTickerAfterPause: the ticks that were missed are dropped, and the next come when they always did.
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

// TestStopInPause: what waits for the end of a pause can still be stopped and set anew, once.
func TestStopInPause(t *testing.T) {
	got := stopwatch(t, "500ms pause c1 2s", func(w *World, p *Process, note func(string)) {
		stopped := p.Clock().AfterFunc(time.Second, func() { note("was stopped") })
		again := p.Clock().AfterFunc(time.Second, func() { note("again") })
		twice := p.Clock().AfterFunc(time.Second, func() { note("twice") })
		time.Sleep(1500 * ms) // code on package time goes on in a pause
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

// watchman is a service that keeps an alarm at a reading of its wall clock, as a Redis node does for its keys.
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

// TestAlarm: an alarm rings when the wall clock shows its time. A service that sets it again when it is told of a
// change need not know what the change was.
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
		{"1s pause n1 30s", 10 * time.Second}, // keys expire by the clock, whether somebody looks or not
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
			p.Record(Event{Kind: Info})
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
		if e.Kind == Info && (e.At != 10*time.Second || e.Clock != 12*time.Second || e.Wall != -3*time.Second) {
			t.Errorf("%+v", e)
		}
	}
}
