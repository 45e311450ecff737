package play

import (
	"context"
	"math/rand"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios/script"
)

// undecided is a lock that draws its delays from the source that all of a process share. Its first client waits until it is gone, and
// draws another number of times in each run, as goroutines do that race to see their connections fail.
type undecided struct {
	clients.Env
	draws *atomic.Int64
}

func (l undecided) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	if l.Clock.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) < time.Second {
		<-ctx.Done()
		for range l.draws.Add(1) {
			rand.Int()
		}
		return nil, ctx.Err()
	}
	l.Clock.Sleep(time.Duration(rand.Intn(1000)) * time.Millisecond)
	return clients.NewSingle(l.Env).Acquire(ctx, name, ttl)
}

// What the goroutines of a crashed client still draw changes nothing for others.
func TestCrashedClientDrawsForNobody(t *testing.T) {
	QuietRedis()
	s, err := script.Parse("crash.txtar", []byte("# A client crashes.\n\nclient c1\n  acquire\nclient c2\n  until 2s\n  acquire\n  release\nnemesis\n  at 1s crash c1\n\n-- single nodes=1 --\n"))
	if err != nil {
		t.Fatal(err)
	}
	draws := new(atomic.Int64)
	first := ""
	for n := range 5 {
		o, err := Simulate(s, s.Runs[0], func(env clients.Env) clients.Locker { return undecided{env, draws} }, 1)
		if err != nil {
			t.Fatal(err)
		}
		if sum := o.History.Meta.Checksum; first == "" {
			first = sum
		} else if sum != first {
			t.Fatalf("run %d has the checksum %s, the first had %s\n%s", n+1, sum, first, o.Timeline())
		}
	}
	if draws.Load() != 5 {
		t.Errorf("the crashed client drew in %d runs of 5", draws.Load())
	}
}

// A lease that renews itself is released late, after the next acquire of its client.
func TestLateReleaseOfARenewedLease(t *testing.T) {
	s, err := script.Parse("late.txtar", []byte("# A lease is released late.\n\nclient c1\n  acquire\n  pause 15s\n  sleep 1s\n  acquire\n  sleep 1s\n  release oldest\nclient c2\n  until 60s\n  acquire\n  release\n\n-- watchdog nodes=1 --\n"))
	if err != nil {
		t.Fatal(err)
	}
	if o, err := Simulate(s, s.Runs[0], clients.NewWatchdog, 1); err != nil || o.Result.Verdict != checker.Safe {
		t.Errorf("error %v\n%s", err, o.Timeline())
	}
}
