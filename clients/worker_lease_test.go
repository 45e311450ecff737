package clients_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/sim/history"
)

// A vigil is a lock that gives out paper leases, and the last of these. A test decides when the lease is renewed, extended or lost.
type vigil struct {
	paper
	lost   chan struct{}
	notify func(time.Time)
	extend error
	ctx    context.Context // the context of Acquire
}

func (v *vigil) Notify(f func(time.Time))                    { v.notify = f }
func (v *vigil) Extend(context.Context, time.Duration) error { return v.extend }
func (v *vigil) Acquire(ctx context.Context, _ string, _ time.Duration) (clients.Lease, error) {
	v.ctx = ctx
	return loss{v, v.lost}, nil
}

// loss is a lease that keeps the channel that its vigil had when it was given out, because a worker may listen to one lease while a
// test prepares the next.
type loss struct {
	*vigil
	lost chan struct{}
}

func (l loss) Lost() <-chan struct{} { return l.lost }

func newVigil() (*vigil, clients.New) {
	v := &vigil{}
	return v, func(clients.Env) clients.Locker {
		v.lost = make(chan struct{}) // made within the bubble
		return v
	}
}

// An extension that succeeds is recorded with the new end, by the steady clock since the start of the run.
func TestWorkerExtends(t *testing.T) {
	for _, fault := range []string{"jump c1 +1h", "drift c1 +200000ppm"} {
		r := work(t, 1, clients.NewRedlockExtend, func(l *labour) {
			l.Acquire(l.ctx, 0, 0, 0)
			l.Sleep(l.ctx, 5*time.Second)
			l.Extend(l.ctx, 0)
			l.Write(l.ctx, "A", false)
			l.Release(l.ctx)
			same(t, "what the messages belong to", l.host.doing[2:4], []string{"extend2", "0"})
		}, fault)
		same(t, "records", briefs(r)[2:], []string{
			"2 invoke extend lock c1#1",
			"2 ok extend lock c1#1",
			"3 invoke write lock c1#1 A",
			"3 ok write lock c1#1 A",
			"4 invoke release lock c1#1",
			"4 ok release lock c1#1",
		})
		ops := r.operations("c1")
		if got, want := ops[3].Until, ops[2].Clock+ttl-ttl/100-2*time.Millisecond; got != want {
			t.Errorf("%s: until %v, want %v", fault, got, want)
		}
	}
}

// An extension may ask for another TTL, which is recorded, and by which a client goes whose lock does not say when a lease ends.
func TestWorkerExtendsByAnotherTTL(t *testing.T) {
	const longer = 2 * ttl
	r := work(t, 1, clients.NewSingleExtend, func(l *labour) {
		l.Acquire(l.ctx, 0, 0, 0)
		l.Extend(l.ctx, longer)
		l.Extend(l.ctx, time.Second)
	})
	ops := r.operations("c1")
	for i, asked := range map[int]time.Duration{2: longer, 4: time.Second} {
		if ops[i].TTL != asked || ops[i+1].TTL != asked || ops[i+1].Until != ops[i].Clock+asked {
			t.Errorf("extended by %v: %+v, %+v", asked, ops[i], ops[i+1])
		}
	}
	_, build := scripted(result{lease: elastic{}})
	r = work(t, 1, build, func(l *labour) {
		l.Acquire(l.ctx, 0, 0, 0)
		l.Extend(l.ctx, longer)
		l.Sleep(l.ctx, ttl+time.Second)
		l.Check(l.ctx)
		l.Extend(l.ctx, time.Second)
		l.Sleep(l.ctx, 2*time.Second)
		l.Check(l.ctx)
	})
	same(t, "without an end", outcomes(r)[2:], []string{"3 ok check lock c1#1", "4 ok extend lock c1#1", "5 fail check lock c1#1: the lease is over: it ended 1s ago"})
}

// elastic is a lease without an end that can be extended.
type elastic struct{ paper }

func (elastic) Extend(context.Context, time.Duration) error { return nil }

// A client whose lease has no end counts by the shorter TTL from when it asked for it, if nobody can tell whether the extension was carried
// out. If the lock cannot extend by that TTL, nothing has changed.
func TestWorkerWithoutAnEndIsNotAnswered(t *testing.T) {
	for err, want := range map[error]string{
		errors.New("lost"):  "3 fail check lock c1#1: the lease is over: it ended 1s ago",
		clients.ErrFixedTTL: "3 ok check lock c1#1",
	} {
		_, build := scripted(result{lease: rigid{paper{}, err}})
		r := work(t, 1, build, func(l *labour) {
			l.Acquire(l.ctx, 0, 0, 0)
			l.Extend(l.ctx, time.Second)
			l.Sleep(l.ctx, 2*time.Second)
			l.Check(l.ctx)
		})
		same(t, err.Error(), outcomes(r)[2:3], []string{want})
	}
}

// rigid is a lease without an end whose extensions fail.
type rigid struct {
	paper
	err error
}

func (l rigid) Extend(context.Context, time.Duration) error { return l.err }

// A client that learns that its lease is over drops it. If the lease was only not extended, or if this is unknown, the client keeps
// it.
func TestWorkerIsNotExtended(t *testing.T) {
	for _, c := range []struct {
		err  error
		want []string
	}{
		{fmt.Errorf("%w: late", clients.ErrNotHeld), []string{"2 fail extend lock c1#1: lock not held: late", "3 fail write lock c1#1 A: no lease"}},
		{clients.ErrNotExtended, []string{"2 fail extend lock c1#1: lock not extended", "3 ok write lock c1#1 A", "4 ok release lock c1#1"}},
		{clients.ErrFixedTTL, []string{"2 fail extend lock c1#1: the lock extends only by the TTL with which it acquired", "3 ok write lock c1#1 A", "4 ok release lock c1#1"}},
		{errors.New("lost"), []string{"2 info extend lock c1#1: lost", "3 ok write lock c1#1 A", "4 ok release lock c1#1"}},
	} {
		v, build := newVigil()
		v.extend = c.err
		r := work(t, 1, build, func(l *labour) {
			l.Acquire(l.ctx, 0, 0, 0)
			l.Extend(l.ctx, 0)
			l.Write(l.ctx, "A", false)
			l.Release(l.ctx)
			l.Exit()
		})
		same(t, c.err.Error(), outcomes(r)[1:], append(c.want, "0 info exit"))
	}
}

// outcomes lists what a client recorded, without the invocations.
func outcomes(r record) (lines []string) {
	for _, e := range r.operations("c1") {
		if e.Kind != history.Invoke {
			lines = append(lines, brief(e))
		}
	}
	return lines
}

// If a lock cannot extend leases, the worker records that, and sends nothing.
func TestWorkerCannotExtend(t *testing.T) {
	_, build := scripted(result{lease: paper{}})
	r := work(t, 1, build, func(l *labour) {
		l.Extend(l.ctx, 0)
		l.Acquire(l.ctx, 0, 0, 0)
		l.Extend(l.ctx, 0)
	})
	same(t, "records", outcomes(r), []string{
		"1 fail extend lock: no lease",
		"2 ok acquire lock c1#1",
		"3 fail extend lock c1#1: the lock cannot extend its leases",
	})
}

// Each renewal is recorded with its end, and a loss once, until the lease is given back.
func TestRenewalsAreRecorded(t *testing.T) {
	v, build := newVigil()
	r := work(t, 1, build, func(l *labour) {
		epoch := l.world.Epoch()
		l.Acquire(l.ctx, 0, 0, 0)
		first := v.notify
		first(epoch.Add(20 * time.Second))
		l.Sleep(l.ctx, time.Second)
		v.notify(epoch.Add(21 * time.Second))
		l.Sleep(l.ctx, time.Second)
		l.Check(l.ctx)
		l.Release(l.ctx)
		if v.notify != nil {
			t.Error("the worker still listens")
		}
		first(epoch.Add(22 * time.Second)) // this renewal was on its way
		close(v.lost)
		l.Sleep(l.ctx, time.Second)
		if v.ctx.Err() != nil {
			t.Errorf("the context of a lease that was released: %v", v.ctx.Err())
		}

		v.lost = make(chan struct{})
		l.Acquire(l.ctx, 0, 0, 0)
		close(v.lost)
		l.Sleep(l.ctx, time.Second)
		l.Write(l.ctx, "A", false) // a write does not check the lease
		l.Check(l.ctx)
		if v.ctx.Err() == nil || v.notify != nil {
			t.Error("the lease was not dropped")
		}
		l.Write(l.ctx, "B", false)
		l.Exit()
	})
	same(t, "records", outcomes(r), []string{
		"1 ok acquire lock c1#1",
		"0 info renew lock c1#1",
		"0 info renew lock c1#1",
		"2 ok check lock c1#1",
		"3 ok release lock c1#1",
		"4 ok acquire lock c1#2",
		"0 info lost lock c1#2",
		"5 ok write lock c1#2 A",
		"6 fail check lock c1#2: the lease is lost",
		"7 fail write lock c1#2 B: no lease",
		"0 info exit",
	})
	var ends []time.Duration
	for _, e := range r.operations("c1") {
		if e.Op == history.Renew {
			ends = append(ends, e.Until)
		}
	}
	if fmt.Sprint(ends) != "[20s 21s]" {
		t.Errorf("renewed until %v", ends)
	}
}

// A client that acquires again, or exits, drops its lease: nothing about that lease is recorded any more, and the context of its
// Acquire is cancelled, so that it is not renewed either.
func TestDroppedLeaseIsNotRenewed(t *testing.T) {
	for name, drop := range map[string]func(l *labour){
		"exit":    func(l *labour) { l.Exit() },
		"acquire": func(l *labour) { l.Acquire(l.ctx, 0, 0, 0) },
	} {
		v, build := newVigil()
		r := work(t, 1, build, func(l *labour) {
			l.Acquire(l.ctx, 0, 0, 0)
			first, ctx, lost := v.notify, v.ctx, v.lost
			v.lost = make(chan struct{})
			drop(l)
			if ctx.Err() == nil || l.ctx.Err() != nil {
				t.Errorf("%s: contexts: of the lease %v, of the client %v", name, ctx.Err(), l.ctx.Err())
			}
			close(lost)
			first(l.world.Epoch())
			l.Sleep(l.ctx, time.Second)
			l.Exit()
		})
		for _, e := range r.operations("c1") {
			if e.Op == history.Renew || e.Op == history.Lost {
				t.Errorf("%s: %s", name, brief(e))
			}
		}
	}
}

// With a real lock, the history has every successful renewal, from the grant to the release.
func TestWatchdogIsRecorded(t *testing.T) {
	r := work(t, 1, clients.NewWatchdog, func(l *labour) {
		l.Acquire(l.ctx, 0, 0, 0)
		l.Sleep(l.ctx, 25*time.Second)
		l.Write(l.ctx, "A", false)
		l.Release(l.ctx)
		l.Sleep(l.ctx, 25*time.Second)
		l.Acquire(l.ctx, 0, 0, 0)
		l.Pause(20 * time.Second)
		l.Sleep(l.ctx, time.Second)
		l.Exit()
	})
	renew := "0 info renew lock c1#1"
	same(t, "records", outcomes(r), []string{
		"1 ok acquire lock c1#1", renew, renew, renew, renew, renew, renew, renew, "2 ok write lock c1#1 A", "3 ok release lock c1#1",
		"4 ok acquire lock c1#2", "0 info lost lock c1#2", "0 info exit",
	})
	var renewed []history.Event
	for _, e := range r.operations("c1") {
		if e.Op == history.Renew {
			renewed = append(renewed, e)
		}
	}
	for i, at := range r.retimes() {
		took := 2 * hop
		if i == 0 {
			took = 4 * hop // also sends the script, which the node does not know
		}
		if want := renewed[i].Clock - took + ttl; renewed[i].Until != want || renewed[i].At != at+hop {
			t.Errorf("renewal %d: %+v; the node did it at %v", i+1, renewed[i], at)
		}
	}
}

// The crash of a client leaves behind no goroutine that listens to its lease.
func TestCrashWhileWatching(t *testing.T) {
	r := work(t, 1, clients.NewWatchdog, func(l *labour) {
		l.Acquire(l.ctx, 0, 0, 0)
		l.Sleep(l.ctx, 30*time.Minute)
	}, "on reply EVALSHA n1->c1 hold")
	if len(r.events) == 0 {
		t.Error("no events")
	}
	play(t, 1, func(s *stage) {
		s.faultsAt(5*time.Second, "crash c1")
		s.client("c1", func(c *client) {
			w := clients.NewWorker(c.Process, c.env, clients.NewWatchdog, "lock", ttl, "")
			w.Acquire(c.ctx, 0, 0, 0)
			w.Sleep(c.ctx, 30*time.Minute)
		})
	})
}

// A lock may state an end that no duration reaches. It does not count as one that states no end.
func TestWorkerCapsEnds(t *testing.T) {
	v, build := newVigil()
	r := work(t, 1, build, func(l *labour) {
		v.until = l.Clock().Now().AddDate(1000, 0, 0)
		l.Acquire(l.ctx, 0, 0, 0)
		v.notify(l.Clock().Now().AddDate(2000, 0, 0))
		v.until = time.Time{}
		l.Extend(l.ctx, 0)
	})
	const century = 100 * 365 * 24 * time.Hour
	found := 0
	for _, e := range r.operations("c1") {
		want, ends := map[string]time.Duration{"ok acquire": century, "info renew": century, "ok extend": history.NoEnd}[string(e.Kind)+" "+e.Op]
		if ends {
			found++
		}
		if ends && e.Until != want {
			t.Errorf("%s: until %v, want %v", e.Op, e.Until, want)
		}
	}
	if found != 3 {
		t.Errorf("%d ends, want 3", found)
	}
}
