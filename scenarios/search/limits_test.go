package search

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/internal/draws"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/workers"
)

// sheetOf finds some limits of a lock in this process; all if none are named.
func sheetOf(t testing.TB, s *Search, shape Shape, names ...string) *Sheet {
	t.Helper()
	play.QuietRedis()
	quantities := slices.DeleteFunc(limited(), func(q quantity) bool { return len(names) > 0 && !slices.Contains(names, q.name) })
	s.Lock = shape.Lock
	if s.New == nil {
		s.New = findLock(t, shape.Lock)
	}
	sheet, err := s.limitsOf(t.Context(), []Shape{shape}, quantities)
	if err != nil {
		t.Fatal(err)
	}
	return sheet
}

// row returns a row of a sheet by its name.
func row(t testing.TB, s *Sheet, name string) *Tolerance {
	t.Helper()
	i := slices.IndexFunc(s.Rows, func(r Tolerance) bool { return r.Name() == name })
	if i < 0 {
		t.Fatalf("there is no row %s", name)
	}
	return &s.Rows[i]
}

// The limits that are found are those that theory gives, within one step of the bisection. The TTL is 10 s, and a client works for 3 s
// after its first write, so its last write is sent at W = 3.0 s. The rival starts 20 ms later and asks every 2.5 s, so it gets the lock
// at R = 10.02 s if nothing prolongs or shortens the life of the key. A few messages of about 1 ms each come on top.
//
//   - A pause that ends after R, and a write that arrives after R, come under an old lease: R - W = 7.02 s.
//   - If the clock of the node jumps ahead by J, the key ends at 10 s - J. The rival has to be granted the lock before the holder
//     releases it at 3.0 s, and asks at 2.52 s: 10 - 2.52 = 7.48 s. A rival that asks all the time would make it 7 s.
//   - A jump back only prolongs the life of a key.
//   - A watchdog with work of 12 s renews at 3.33 s, 6.67 s and 10 s. The last write is sent at 12 s, and its check comes before it. After a pause
//     from then on the key lasts until 20 s, and the rival, which asks every 2.5 s from 0.02 s on, gets it at 20.02 s: 8.02 s.
func TestLimitsAreThoseOfTheory(t *testing.T) {
	draws.Seldom(t, 1, 4)
	step := func(d time.Duration) time.Duration { return max(d/100, time.Millisecond) }
	for _, c := range []struct {
		shape Shape
		limit string
		harm  Harm
		want  time.Duration
	}{
		{Shape{Lock: "single", Workload: Once}, "pause", Harm(checker.ResourceExclusion), 7020 * time.Millisecond},
		{Shape{Lock: "single", Workload: Once}, "late-write", Harm(checker.ResourceExclusion), 7020 * time.Millisecond},
		{Shape{Lock: "single", Workload: Once}, "jump ahead", Harm(checker.LeaseExclusion), 7480 * time.Millisecond},
		{Shape{Lock: "single", Workload: Once}, "jump back", "", 0},
		{Shape{Lock: "watchdog", Workload: Beyond}, "pause", Harm(checker.ResourceExclusion), 8020 * time.Millisecond},
	} {
		name, _, _ := strings.Cut(c.limit, " ")
		r := row(t, sheetOf(t, &Search{}, c.shape, name), c.limit)
		i := slices.IndexFunc(r.Limits, func(l Limit) bool { return l.Harm == c.harm })
		switch {
		case c.want == 0 && len(r.Limits) > 0:
			t.Errorf("%s, %s: %+v, want no limit", c.shape.Lock, c.limit, r.Limits)
		case c.want == 0:
			if r.Harmless != r.Top || !r.Effective() {
				t.Errorf("%s, %s: harmless up to %s", c.shape.Lock, c.limit, r.Text(r.Harmless))
			}
		case i < 0:
			t.Errorf("%s, %s: %+v, want %s", c.shape.Lock, c.limit, r.Limits, c.harm)
		default:
			l := r.Limits[i]
			lo, hi := time.Duration(l.Harmless), time.Duration(l.Harmful)
			t.Logf("%s, %s: theory %v, found %v to %v: %s", c.shape.Lock, c.limit, c.want, lo, hi, l.Where)
			if c.want < lo-step(lo) || c.want > hi+step(hi) || hi-lo > step(lo) {
				t.Errorf("%s, %s: found %v to %v, want %v", c.shape.Lock, c.limit, lo, hi, c.want)
			}
		}
	}
}

// The runs on either side of a limit are what the sheet says, as pages that can be played again.
func TestLimitsHaveTheRunsOnEitherSide(t *testing.T) {
	r := row(t, sheetOf(t, &Search{}, Shape{Lock: "single", Workload: Once}, "late-write"), "late-write")
	for _, l := range r.Limits {
		for _, side := range []struct {
			*Side
			harms bool
		}{{l.Below, false}, {l.Above, true}} {
			page, err := script.FromToken(side.Token)
			if err != nil {
				t.Fatal(err)
			}
			o := simulated(t, page, page.Runs[0], page.Runs[0].Seed)
			if got := o.Result.Status(checker.Property(l.Harm)) == checker.Violated; got != side.harms || o.History.Meta.Checksum != page.Runs[0].Checksum {
				t.Errorf("%v: violates %s: %v; checksum %s, want %s", side.Plan, l.Harm, got, o.History.Meta.Checksum, page.Runs[0].Checksum)
			}
		}
	}
	if len(r.Limits) == 0 {
		t.Error("no limit")
	}
}

// The same seed gives the same sheet, whatever the number of workers.
func TestLimitsAreTheSameWithAnyNumberOfWorkers(t *testing.T) {
	var sheets []string
	for _, n := range []int{1, 3} {
		s := &Search{Workers: n}
		var turn = make(chan struct{}, 1) // runs of one process come one after the other
		s.Do = func(ctx context.Context, job json.RawMessage) (workers.Outcome, error) {
			turn <- struct{}{}
			defer func() { <-turn }()
			return s.here(ctx, job)
		}
		data, err := json.Marshal(sheetOf(t, s, Shape{Lock: "single", Workload: Once}, "late-write", "jump"))
		if err != nil {
			t.Fatal(err)
		}
		sheets = append(sheets, string(data))
	}
	if sheets[0] != sheets[1] {
		t.Errorf("one worker: %s\nthree: %s", sheets[0], sheets[1])
	}
}

// A majority must be left.
func TestLimitsOfLostNodes(t *testing.T) {
	r := row(t, sheetOf(t, &Search{}, Shape{Lock: "redlock", Nodes: 3, Workload: Once}, "lost-nodes"), "lost-nodes")
	if i := slices.IndexFunc(r.Limits, func(l Limit) bool { return l.Harm == NoLease }); r.Harmless != 1 || i < 0 || r.Limits[i].Harmful != 2 {
		t.Errorf("harmless: %d, %+v", r.Harmless, r.Limits)
	}
}

// A run that does not end is reported, and is not harmless. Here these are all runs at five magnitudes: 1 ms, 10 ms, 100 ms, 1 s and 10.5 s.
func TestLimitsOfRunsThatDoNotEnd(t *testing.T) {
	s := &Search{Workers: 1}
	s.Do = func(ctx context.Context, job json.RawMessage) (workers.Outcome, error) {
		if strings.Contains(string(job), `"quantity":"jump","magnitude":-10`) && !strings.Contains(string(job), `"from":2147483647`) {
			return workers.Outcome{Report: &workers.Report{Reason: "it spun"}}, nil
		}
		return s.here(ctx, job)
	}
	sheet := sheetOf(t, s, Shape{Lock: "single", Workload: Once}, "jump")
	r := row(t, sheet, "jump back")
	if r.Unproved == 0 || r.Runs != r.Unproved+(len(r.Rungs)-5)*r.Sites || r.Unproved != 5*r.Sites || len(sheet.Broken) != 1 || sheet.Broken[0].Why != "it spun" || r.Harmless >= r.Top || len(r.Limits) > 0 {
		t.Errorf("%d runs, unproved %d, sites %d, broken %v, harmless up to %s, limits %v", r.Runs, r.Unproved, r.Sites, sheet.Broken, r.Text(r.Harmless), r.Limits)
	}
	if ahead := row(t, sheet, "jump ahead"); ahead.Unproved > 0 || len(ahead.Limits) == 0 {
		t.Errorf("ahead: %d unproved, %v", ahead.Unproved, ahead.Limits)
	}
}

// Redlock on three nodes trusts a lease for 10 s - 1 % - 2 ms = 9.898 s by the clock of its client. Work of 9.89 s is over just before that. If
// the client's clock is slow by x, the lease ends at 9.898 s / (1 - x), and the rival, which asks at 10.02 s, is granted the lock on a majority
// about 2 ms later: x = 1 - 9.898 / 10.022 = 1.24 %. The allowance of 1 % is harmless. A wrong clock of one node of three is harmless, too.
func TestLimitsOfDriftAreThoseOfTheory(t *testing.T) {
	draws.Seldom(t, 3, 4)
	s := sheetOf(t, &Search{}, Shape{Lock: "redlock", Nodes: 3, Workload: Once, Work: 9890 * time.Millisecond}, "drift", "jump")
	slow := row(t, s, "drift slow")
	const want, step = 12_400, 124
	i := slices.IndexFunc(slow.Limits, func(l Limit) bool { return l.Harm == Harm(checker.LeaseExclusion) })
	if i < 0 || slow.Harmless < 10_000 || slow.Limits[i].Harmless > want+step || slow.Limits[i].Harmful < want-step {
		t.Errorf("drift slow: %+v", slow.Limits)
	} else {
		t.Logf("theory %d ppm, found %d to %d: %s", want, slow.Limits[i].Harmless, slow.Limits[i].Harmful, slow.Limits[i].Where)
	}
	if ahead := row(t, s, "jump ahead"); len(ahead.Limits) > 0 || !ahead.Effective() {
		t.Errorf("jump ahead: %+v", ahead.Limits)
	}
}

// TestHalve: between magnitudes far from each other, as between 1 s and 100 s, lies their geometric mean. From 0 on, half is taken.
func TestHalve(t *testing.T) {
	const s = int64(time.Second)
	for _, c := range []struct {
		unit         Unit
		lo, hi, want int64 // 0: they are near enough
	}{
		{Seconds, s, 2 * s, s * 3 / 2}, {Seconds, s, 100 * s, 10 * s}, {Seconds, 0, s, s / 2}, {Seconds, s, s + s/100, 0},
		{PPM, 0, 1000, 500}, {PPM, 990, 1000, 0},
		{Number, 1, 9, 3}, {Number, 1, 3, 2}, {Number, 1, 2, 0},
	} {
		if got, ok := (quantity{unit: c.unit}).halve(c.lo, c.hi); got != c.want || ok != (c.want != 0) {
			t.Errorf("%d and %d in %s: %d, %v, want %d", c.lo, c.hi, c.unit, got, ok, c.want)
		}
	}
}

func TestParseHave(t *testing.T) {
	for text, want := range map[string]Have{
		"pause=1.2s": {"pause", 1_200_000_000, 0}, "drift=200ppm": {"drift", 200, 0}, "jump=-300ms": {"jump", 300_000_000, -1},
		"client-jump=+1s": {"client-jump", 1_000_000_000, 1}, "lost-nodes=1": {"lost-nodes", 1, 0},
	} {
		if got, err := ParseHave(text); err != nil || got != want || got.String() != text {
			t.Errorf("%s: %+v, printed as %s, %v", text, got, got, err)
		}
	}
	for text, want := range map[string]string{
		"pause": "NAME=VALUE", "puase=1s": `did you mean "pause"?`, "pause=1": "must be a duration", "pause=-1s": "must not be negative", "pause=0s": "above 0",
		"pause=9999h": "out of range", "drift=200": "a rate such as 200ppm", "drift=x": "a rate", "lost-nodes=x": "whole number", "jump=--1s": "two signs",
	} {
		if _, err := ParseHave(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// The middle of an interval is tried only where the upper end does harm. If the lower end then does harm elsewhere, the search goes on below
// it: here one site of ten does harm from 6.9 s on, and another one, which the first dozen magnitudes miss, from 6.5 s to 7.1 s.
func TestLimitsOfAnotherSite(t *testing.T) {
	harms := func(site int, m time.Duration) bool {
		return site == 4 && m >= 6900*time.Millisecond || site == 2 && m >= 6500*time.Millisecond && m < 7100*time.Millisecond
	}
	q, all := findLimited("pause"), []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	l, row := &limits{Sheet: &Sheet{}, known: map[point]*seen{}}, &Tolerance{Quantity: "pause", Sign: 1}
	var todo []attempt
	for _, m := range q.ladder(10*time.Second, 1) {
		todo = append(todo, attempt{at: point{"pause", m}})
	}
	ladder, runs := len(todo)*len(all), 0
	for len(todo) > 0 {
		for _, a := range todo {
			s := newSeen(a.only == nil)
			for _, site := range all {
				at, trial := sitePlace{0, site}, Trial{}
				if a.only != nil && !slices.Contains(a.only, at) {
					continue
				}
				if harms(site, time.Duration(a.at.magnitude)) {
					trial.Faults = []play.Failing{{Property: checker.ResourceExclusion}}
				}
				s.count(at, trial, false)
				runs++
			}
			l.known[a.at] = s
		}
		todo = l.open(row)
	}
	lo, hi, sites := l.bracket(row, Harm(checker.ResourceExclusion))
	if !slices.Equal(sites, []sitePlace{{0, 2}}) || hi < int64(6500*time.Millisecond) || lo >= int64(6500*time.Millisecond) || hi-lo > q.step(lo) || !l.seen(row, lo).full {
		t.Errorf("found %v to %v at %v", time.Duration(lo), time.Duration(hi), sites)
	}
	if more := runs - ladder; more > 4*len(all) {
		t.Errorf("%d runs after the first %d", more, ladder)
	}
}
