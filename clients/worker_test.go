package clients_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/nodes"
	"lockstep/sim"
	"lockstep/sim/history"
)

// A script is a lock whose results a test sets: it returns one after the other, and repeats the last one.
type script struct {
	results []result
	calls   int
}

type result struct {
	lease clients.Lease
	err   error
}

func (s *script) Acquire(context.Context, string, time.Duration) (clients.Lease, error) {
	r := s.results[min(s.calls, len(s.results)-1)]
	s.calls++
	return r.lease, r.err
}

// A paper lease has the end and the error that a test sets.
type paper struct {
	until    time.Time
	err      error // the result of Release
	released *int
}

func (p paper) Until() time.Time { return p.until }

func (p paper) Release(context.Context) error {
	if p.released != nil {
		*p.released++
	}
	return p.err
}

type numbered struct {
	paper
	fence int64
}

func (n numbered) Fence() int64 { return n.fence }

// A host is a process that records what the worker said it was doing.
type host struct {
	*sim.Process
	doing []string
}

func (h *host) Doing(op string, id int, lock string) {
	h.doing = append(h.doing, fmt.Sprint(op, id))
	h.Process.Doing(op, id, lock)
}

// A labour is a worker on a stage with one node and a resource.
type labour struct {
	*client
	*clients.Worker
	host    *host
	dials   *dials
	address string // of the resource
}

// Pause and Until are methods of both embedded types; lanes use the worker's.
func (l *labour) Pause(d time.Duration) { l.Worker.Pause(l.ctx, d) }
func (l *labour) Until(t time.Duration) { l.Worker.Until(l.ctx, t) }

// dials counts how many connections to the resource were opened, and how many are open.
type dials struct{ opened, open int }

type counted struct {
	net.Conn
	dials *dials
}

func (c *counted) Close() error {
	c.dials.open--
	return c.Conn.Close()
}

const ttl = 10 * time.Second

// work plays a lane of a worker with a lock, and returns what happened. The resource rejects older fences.
func work(t *testing.T, seed uint64, build clients.New, lane func(*labour), faults ...string) record {
	t.Helper()
	return workOn(t, seed, clients.FencedStore, build, lane, faults...)
}

// workOn is like work, on a resource of a given kind.
func workOn(t *testing.T, seed uint64, kind string, build clients.New, lane func(*labour), faults ...string) record {
	t.Helper()
	return playSeed(t, seed, 1, func(s *stage) {
		var address string
		if kind == clients.Counter {
			counter := nodes.Serve(s.World, "resource")
			address = counter.Process.Addr()
		} else {
			address = clients.ServeResource(s.World, "resource", newResource(t, kind)).Addr()
		}
		s.faults(faults...)
		count := &dials{}
		tap := func(dial clients.Dialer) clients.Dialer {
			return func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := dial(ctx, network, addr)
				if addr != address || err != nil {
					return conn, err
				}
				count.opened++
				count.open++
				return &counted{conn, count}, nil
			}
		}
		s.client("c1", func(c *client) {
			h := &host{Process: c.Process}
			lane(&labour{c, clients.NewWorker(h, c.env, build, "lock", ttl, address), h, count, address})
		}, tap)
	})
}

// scripted returns a lock that follows a script.
func scripted(results ...result) (*script, clients.New) {
	s := &script{results: results}
	return s, func(clients.Env) clients.Locker { return s }
}

// brief formats an operation on one line: "1 ok acquire lock c1#1 fence 2 A: error".
func brief(e history.Event) string {
	words := []string{fmt.Sprint(e.ID), string(e.Kind), e.Op}
	for _, w := range []string{e.Lock, e.Lease} {
		if w != "" {
			words = append(words, w)
		}
	}
	if e.Fence != 0 {
		words = append(words, fmt.Sprint("fence ", e.Fence))
	}
	if e.Value != "" {
		words = append(words, e.Value)
	}
	line := strings.Join(words, " ")
	if e.Error != "" {
		line += ": " + e.Error
	}
	return line
}

func briefs(r record) (lines []string) {
	for _, e := range r.operations("c1") {
		lines = append(lines, brief(e))
	}
	return lines
}

// This is a whole lane with a real lock. Every step has two records with the same number, and the last record is the exit.
func TestRecords(t *testing.T) {
	r := work(t, 1, clients.NewFenced, func(l *labour) {
		l.Acquire(l.ctx, 0, 0, 0)
		l.Check(l.ctx)
		l.Write(l.ctx, "A", false)
		l.Read(l.ctx)
		l.Release(l.ctx)
		l.Acquire(l.ctx, 0, 0, 0)
		l.Write(l.ctx, "B", false)
		l.Acquire(l.ctx, 0, 0, 0) // it is refused, and the lease stays
		l.Write(l.ctx, "C", false)
		l.Exit()
		want := []string{
			"acquire1", "0", "check2", "0", "write3", "0", "read4", "0", "release5", "0",
			"acquire6", "0", "write7", "0", "acquire8", "0", "write9", "0",
		}
		same(t, "what the messages belong to", l.host.doing, want)
	})
	same(t, "records", briefs(r), []string{
		"1 invoke acquire lock",
		"1 ok acquire lock c1#1 fence 1",
		"2 invoke check lock c1#1",
		"2 ok check lock c1#1",
		"3 invoke write lock c1#1 A",
		"3 ok write lock c1#1 fence 1 A",
		"4 invoke read lock c1#1",
		"4 ok read lock c1#1 A",
		"5 invoke release lock c1#1",
		"5 ok release lock c1#1",
		"6 invoke acquire lock",
		"6 ok acquire lock c1#2 fence 2",
		"7 invoke write lock c1#2 B",
		"7 ok write lock c1#2 fence 2 B",
		"8 invoke acquire lock",
		"8 fail acquire lock: lock not acquired",
		"9 invoke write lock c1#2 C",
		"9 ok write lock c1#2 fence 2 C",
		"0 info exit",
	})
}

// Until is relative to the start of the run by the steady clock, even if that drifts and the worker starts late.
func TestRecordedUntil(t *testing.T) {
	for _, fault := range []string{"drift c1 +200000ppm", "drift c1 -200000ppm", "jump c1 +1h"} {
		r := play(t, 1, func(s *stage) {
			s.faults(fault)
			s.client("c1", func(c *client) {
				c.Until(7 * time.Second)
				w := clients.NewWorker(c.Process, c.env, clients.NewSingle, "lock", ttl, "")
				c.Until(9 * time.Second)
				w.Acquire(c.ctx, 0, 0, 0)
			})
		})
		ops := r.operations("c1")
		if len(ops) != 2 || ops[1].Until != ops[0].Clock+ttl {
			t.Errorf("%s: %+v, want an end %v after its request by the steady clock", fault, ops, ttl)
		}
	}
}

// If a lock does not say how long its lease lasts, the client relies on it for the TTL that it asked for.
func TestNoEnd(t *testing.T) {
	_, build := scripted(result{lease: paper{}})
	r := work(t, 1, build, func(l *labour) {
		l.Acquire(l.ctx, 0, 0, 0)
		l.Sleep(l.ctx, ttl-time.Second)
		l.Check(l.ctx)
		l.Sleep(l.ctx, 2*time.Second)
		l.Check(l.ctx)
	})
	ops := r.operations("c1")
	if ops[1].Until != history.NoEnd {
		t.Errorf("until %v, want NoEnd", ops[1].Until)
	}
	var checks []history.Kind
	for _, o := range ops {
		if o.Op == history.Check && o.Kind != history.Invoke {
			checks = append(checks, o.Kind)
		}
	}
	if want := []history.Kind{history.OK, history.Fail}; !slices.Equal(checks, want) {
		t.Errorf("checks: %v, want %v", checks, want)
	}
}

// The error of a lock decides its outcome and is recorded with it.
func TestRecordedErrors(t *testing.T) {
	for _, c := range []struct {
		acquire, release error
		want             []string
	}{
		{fmt.Errorf("%w: taken", clients.ErrNotAcquired), nil, []string{"1 fail acquire lock: lock not acquired: taken"}},
		{errors.New("lost"), nil, []string{"1 info acquire lock: lost"}},
		{nil, clients.ErrNotHeld, []string{"1 ok acquire lock c1#1", "2 fail release lock c1#1: lock not held"}},
		{nil, errors.New("lost"), []string{"1 ok acquire lock c1#1", "2 info release lock c1#1: lost"}},
	} {
		released := 0
		_, build := scripted(result{paper{err: c.release, released: &released}, c.acquire})
		r := work(t, 1, build, func(l *labour) {
			l.Acquire(l.ctx, 0, 0, 0)
			l.Release(l.ctx)
			l.Release(l.ctx) // whatever the result of the first, there is nothing left to give back
		})
		var got []string
		for _, line := range briefs(r) {
			if !strings.Contains(line, " invoke ") {
				got = append(got, line)
			}
		}
		same(t, fmt.Sprint(c.acquire, ", ", c.release), got, c.want)
		if released != len(c.want)-1 {
			t.Errorf("released %d times", released)
		}
	}
}

// If within is 0 there is one try. Otherwise tries go on, a hundredth of a TTL apart, until within has passed by the steady clock.
// The last begins at most one delay after that.
func TestAcquireWithin(t *testing.T) {
	var delays []time.Duration
	for seed := range uint64(10) {
		for _, fault := range []string{"drift c1 +0ppm", "drift c1 -500000ppm"} {
			lock, build := scripted(result{err: clients.ErrNotAcquired})
			r := work(t, seed, build, func(l *labour) {
				l.Acquire(l.ctx, 0, 0, 0)
				if lock.calls != 1 {
					t.Errorf("within 0: %d tries", lock.calls)
				}
				l.Sleep(l.ctx, ttl) // meanwhile the error of the clock grows
				start := l.env.Clock.Now()
				l.Acquire(l.ctx, 0, time.Second, 0)
				if took := l.env.Clock.Since(start); took < time.Second || took > time.Second+ttl/100 {
					t.Errorf("within 1s: gave up after %v", took)
				}
			}, fault)
			var tries []time.Duration
			for i, e := range r.operations("c1") {
				if want := i/2 + 1; e.ID != want {
					t.Errorf("record %d has the number %d, want %d", i, e.ID, want)
				}
				if e.Kind == history.Invoke && e.ID > 1 {
					tries = append(tries, e.Clock)
				}
			}
			for i := range tries[1:] {
				delays = append(delays, tries[i+1]-tries[i])
			}
		}
	}
	for _, d := range delays {
		if d.Round(time.Microsecond) != ttl/100 {
			t.Errorf("a delay of %v by the steady clock, want %v", d, ttl/100)
		}
	}
	if len(delays) != 200 {
		t.Errorf("%d delays, want 10 for each second", len(delays))
	}
}

// The oldest lease is released first, whether the client got another one of the same lock or of another lock after it. The newest lease is
// the last.
func TestReleaseOldest(t *testing.T) {
	_, build := scripted(result{lease: paper{}})
	r := work(t, 1, build, func(l *labour) {
		for _, name := range []string{"a", "b", "b", "a"} {
			l.Use(name)
			l.Acquire(l.ctx, 0, 0, 0)
			l.Sleep(l.ctx, time.Second)
		}
		for range 5 {
			l.ReleaseOldest(l.ctx)
		}
	})
	var released []string
	for _, e := range r.operations("c1") {
		if e.Op == history.Release && e.Kind == history.Invoke {
			released = append(released, e.Lock)
		}
	}
	if want := []string{"a", "b", "b", "a"}; !slices.Equal(released, want) {
		t.Errorf("released %v, want %v", released, want)
	}
}

// ReleaseAgain releases the lease that was released last, even if the client has got another one, which it keeps. If none was released, it does
// nothing.
func TestReleaseAgain(t *testing.T) {
	_, build := scripted(result{lease: paper{}})
	r := work(t, 1, build, func(l *labour) {
		l.ReleaseAgain(l.ctx)
		l.Use("a")
		l.Acquire(l.ctx, 0, 0, 0)
		l.Release(l.ctx)
		l.Use("b")
		l.Acquire(l.ctx, 0, 0, 0)
		l.ReleaseAgain(l.ctx)
		l.ReleaseAgain(l.ctx)
		l.Release(l.ctx)
		l.ReleaseAgain(l.ctx)
	})
	var released []string
	labels := map[string]int{}
	for _, e := range r.operations("c1") {
		if e.Op == history.Release && e.Kind == history.Invoke {
			released = append(released, e.Lock)
			labels[e.Lease]++
		}
	}
	if want := []string{"a", "a", "a", "b", "b"}; !slices.Equal(released, want) || len(labels) != 2 {
		t.Errorf("released %v with %v, want %v of two leases", released, labels, want)
	}
}

// Tries end with success, whatever failed before, and when the context is over.
func TestAcquireWithinEnds(t *testing.T) {
	lock, build := scripted(
		result{err: clients.ErrNotAcquired}, result{err: errors.New("lost")}, result{lease: paper{}}, result{err: clients.ErrNotAcquired})
	work(t, 1, build, func(l *labour) {
		l.Acquire(l.ctx, 0, time.Hour, 0)
		if lock.calls != 3 {
			t.Errorf("%d tries, and the third succeeded", lock.calls)
		}
		cancelled, cancel := context.WithCancel(l.ctx)
		cancel()
		l.Acquire(cancelled, 0, time.Hour, 0)
		if lock.calls != 4 {
			t.Errorf("%d tries in a context that is over", lock.calls-3)
		}
	})
}

// Without a lease nothing is sent, and no connection is opened.
func TestWithoutLease(t *testing.T) {
	_, build := scripted(result{err: clients.ErrNotAcquired})
	r := work(t, 1, build, func(l *labour) {
		l.Write(l.ctx, "A", false)
		l.Check(l.ctx)
		l.Release(l.ctx)
		l.Exit()
		if l.dials.opened != 0 {
			t.Error("a connection was opened")
		}
	})
	same(t, "records", briefs(r), []string{
		"1 invoke write lock A",
		"1 fail write lock A: no lease",
		"2 invoke check lock",
		"2 fail check lock: no lease",
		"0 info exit",
	})
	same(t, "what the resource got", r.texts("resource"), nil)
}

// A client that checks its lease and finds that it is over drops it. The lease is over at its very end, but not one nanosecond
// earlier.
func TestCheckDropsLease(t *testing.T) {
	for _, c := range []struct {
		at   time.Duration
		want []string
	}{
		{ttl - 1, []string{"2 ok check lock c1#1", "3 ok write lock c1#1 A"}},
		{ttl, []string{"2 fail check lock c1#1: the lease is over: it ended 0s ago", "3 fail write lock c1#1 A: no lease"}},
		{ttl + time.Second, []string{"2 fail check lock c1#1: the lease is over: it ended 1s ago", "3 fail write lock c1#1 A: no lease"}},
	} {
		released := 0
		lock, build := scripted(result{})
		r := work(t, 1, build, func(l *labour) {
			lock.results[0].lease = paper{until: l.world.Epoch().Add(ttl), released: &released}
			l.Acquire(l.ctx, 0, 0, 0)
			l.Until(c.at)
			l.Check(l.ctx)
			l.Write(l.ctx, "A", false)
			l.Release(l.ctx)
		})
		got := briefs(r)
		same(t, fmt.Sprint("checked at ", c.at), []string{got[3], got[5]}, c.want)
		valid := c.at < ttl
		if wrote := len(r.texts("resource")) > 0; wrote != valid || (released > 0) != valid {
			t.Errorf("checked at %v: written: %v, released: %v, want %v", c.at, wrote, released > 0, valid)
		}
	}
}

// A write does not check whether the lease is still valid: Check does, and so may the resource.
func TestWriteDoesNotCheck(t *testing.T) {
	r := work(t, 1, clients.NewSingle, func(l *labour) {
		l.Acquire(l.ctx, 0, 0, 0)
		l.Pause(2 * ttl)
		l.Write(l.ctx, "A", false)
	})
	if got := briefs(r); got[len(got)-1] != "2 ok write lock c1#1 A" {
		t.Errorf("%q", got)
	}
}

// A write that the resource rejects has certainly not happened. The connection remains usable.
func TestRejectedWrite(t *testing.T) {
	_, build := scripted(result{lease: numbered{fence: 2}}, result{lease: numbered{fence: 1}})
	r := work(t, 1, build, func(l *labour) {
		l.Acquire(l.ctx, 0, 0, 0)
		l.Write(l.ctx, "A", false)
		l.Acquire(l.ctx, 0, 0, 0)
		l.Write(l.ctx, "B", false)
		l.Read(l.ctx)
		if l.dials.opened != 1 {
			t.Errorf("%d connections, want 1", l.dials.opened)
		}
	})
	got := briefs(r)
	same(t, "records", got[len(got)-3:], []string{
		"4 fail write lock c1#2 fence 1 B: rejected by the resource: fence 1 < 2",
		"5 invoke read lock c1#2",
		"5 ok read lock c1#2 A",
	})
}

// After an error the worker opens a new connection, because the reply to the last request may still arrive on the old one. The
// outcome of the write is unknown.
func TestReconnect(t *testing.T) {
	for _, c := range []struct {
		fault string
		dials int
		after string // the value afterwards
	}{
		{"on request write c1->resource reset", 2, ""},
		{"on reply write resource->c1 reset", 2, "A"},
		{"on reply write resource->c1 hold", 2, "A"}, // for longer than the client waits
		{"on reply write resource->c1 delay 11m", 2, "A"},
	} {
		_, build := scripted(result{lease: paper{}})
		r := work(t, 1, build, func(l *labour) {
			l.Acquire(l.ctx, 0, 0, 0)
			l.Write(l.ctx, "A", false)
			if l.dials.open != 0 {
				t.Errorf("%s: %d connections are still open", c.fault, l.dials.open)
			}
			l.Read(l.ctx)
			l.Read(l.ctx)
			if l.dials.opened != c.dials {
				t.Errorf("%s: %d connections, want %d", c.fault, l.dials.opened, c.dials)
			}
			l.Exit()
			if l.dials.open != 0 {
				t.Errorf("%s: %d connections are open after the exit", c.fault, l.dials.open)
			}
		}, c.fault)
		ops := r.operations("c1")
		if write := ops[3]; write.Kind != history.Info || write.Error == "" {
			t.Errorf("%s: %s", c.fault, brief(write))
		}
		for _, read := range []history.Event{ops[5], ops[7]} {
			if read.Kind != history.OK || read.Value != c.after {
				t.Errorf("%s: %s, want %q", c.fault, brief(read), c.after)
			}
		}
	}
}

// A client waits ten minutes for the resource, so that it does not give up on a write that a scenario delays.
func TestResourceTimeout(t *testing.T) {
	_, build := scripted(result{lease: paper{}})
	r := work(t, 1, build, func(l *labour) {
		l.Acquire(l.ctx, 0, 0, 0)
		for _, value := range []string{"A", "B"} {
			l.Write(l.ctx, value, false)
		}
	}, "on request write c1->resource delay 599s")
	if got := briefs(r); got[3] != "2 ok write lock c1#1 A" || got[5] != "3 ok write lock c1#1 B" {
		t.Errorf("%q", got)
	}
	r = work(t, 1, build, func(l *labour) {
		l.Acquire(l.ctx, 0, 0, 0)
		if took := l.took(func() { l.Write(l.ctx, "A", false) }); took != 10*time.Minute+2*hop { // to connect, and then ten minutes
			t.Errorf("gave up after %v", took)
		}
	}, "on request write c1->resource hold")
	if got := r.operations("c1")[3]; got.Kind != history.Info {
		t.Errorf("%s", brief(got))
	}
}

// If the resource is down, the outcome is unknown too: the worker does not interpret network errors.
func TestResourceDown(t *testing.T) {
	_, build := scripted(result{lease: paper{}})
	r := work(t, 1, build, func(l *labour) {
		l.Acquire(l.ctx, 0, 0, 0)
		l.Write(l.ctx, "A", false)
		l.Read(l.ctx)
	}, "crash resource")
	ops := r.operations("c1")
	for _, e := range []history.Event{ops[3], ops[5]} {
		if e.Kind != history.Info || !strings.Contains(e.Error, "refused") {
			t.Errorf("%s", brief(e))
		}
	}
}

// These steps only let time pass, by the steady clock or in true time.
func TestWaiting(t *testing.T) {
	_, build := scripted(result{})
	r := work(t, 1, build, func(l *labour) {
		for _, c := range []struct {
			step string
			do   func()
			want time.Duration
		}{
			{"sleep 1s", func() { l.Sleep(l.ctx, time.Second) }, 2 * time.Second}, // at half speed
			{"pause 1s", func() { l.Pause(time.Second) }, time.Second},
			{"until 5s", func() { l.Until(5 * time.Second) }, 2 * time.Second},
			{"until 5s again", func() { l.Until(5 * time.Second) }, 0},
		} {
			if took := l.took(c.do); took.Round(time.Microsecond) != c.want {
				t.Errorf("%s took %v, want %v", c.step, took, c.want)
			}
		}
		l.Exit()
	}, "drift c1 -500000ppm")
	same(t, "records", briefs(r), []string{"0 info exit"})
}
