package clients_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/sim/history"
)

// An update adds a word to the value that the client last read, whatever has been written since.
func TestUpdate(t *testing.T) {
	r := work(t, 1, clients.NewFenced, func(l *labour) {
		l.Acquire(l.ctx, 0, 0, 0)
		l.Update(l.ctx, "early")
		l.Read(l.ctx)
		l.Update(l.ctx, "one")
		l.Update(l.ctx, "two") // based on what was read, which was nothing
		l.Read(l.ctx)
		l.Update(l.ctx, "three")
		l.Release(l.ctx)
		l.Update(l.ctx, "late")
	})
	same(t, "records", outcomes(r)[1:], []string{
		"2 fail update lock c1#1 early: nothing was read that could be updated",
		"3 ok read lock c1#1",
		"4 ok update lock c1#1 fence 1 one",
		"5 ok update lock c1#1 fence 1 two",
		"6 ok read lock c1#1 two",
		"7 ok update lock c1#1 fence 1 three",
		"8 ok release lock c1#1",
		"9 fail update lock late: no lease",
	})
	same(t, "states", states(r), []string{"accept one, word one", "accept two, word two", "accept two three, word three"})
}

// states lists what happened to the resource, such as "accept A" or "mark c1#1".
func states(r record) (list []string) {
	for _, e := range r.events {
		if e.Kind != history.State || e.Process != "resource" {
			continue
		}
		line := e.Op
		for _, word := range []string{e.Key, e.Value} {
			if word != "" {
				line += " " + word
			}
		}
		if e.Op == history.Mark {
			line += " " + e.Lease
		}
		if e.Word != "" {
			line += ", word " + e.Word
		}
		if e.Error != "" {
			line += ": " + e.Error
		}
		list = append(list, line)
	}
	return list
}

// Each client updates the value that it has read itself, so two clients that overlap lose a word.
func TestUpdateIsReadModifyWrite(t *testing.T) {
	r := play(t, 1, func(s *stage) {
		address := clients.ServeResource(s.World, "resource", newResource(t, clients.Plain)).Addr()
		for i, name := range []string{"c1", "c2"} {
			s.client(name, func(c *client) {
				_, build := scripted(result{lease: paper{}})
				w := clients.NewWorker(c.Process, c.env, build, "lock", ttl, address)
				w.Acquire(c.ctx, 0, 0, 0)
				w.Read(c.ctx)
				c.Until(time.Duration(i+1) * time.Second)
				w.Update(c.ctx, "of-"+name)
				w.Exit()
			})
		}
	})
	same(t, "states", states(r), []string{"accept of-c1, word of-c1", "accept of-c2, word of-c2"})
}

// The mark of a check-and-set resource is the lease that entered last.
func TestEnter(t *testing.T) {
	lease := result{lease: paper{}}
	_, build := scripted(lease)
	r := workOn(t, 1, clients.CheckAndSet, build, func(l *labour) {
		l.Enter(l.ctx)
		l.Acquire(l.ctx, 0, 0, 0)
		l.Write(l.ctx, "A", false)
		l.Enter(l.ctx)
		l.Write(l.ctx, "B", false)
		l.Acquire(l.ctx, 0, 0, 0)
		l.Write(l.ctx, "C", false)
		l.Write(l.ctx, "D", true)
		l.Read(l.ctx)
		l.Update(l.ctx, "E")
		l.Enter(l.ctx)
		l.Update(l.ctx, "F")
	})
	same(t, "records", outcomes(r), []string{
		"1 fail enter lock: no lease",
		"2 ok acquire lock c1#1",
		"3 fail write lock c1#1 A: rejected by the resource: there is no mark",
		"4 ok enter lock c1#1",
		"5 ok write lock c1#1 B",
		"6 ok acquire lock c1#2",
		"7 fail write lock c1#2 C: rejected by the resource: mark is c1#1",
		"8 ok write lock c1#2 D",
		"9 ok read lock c1#2 D",
		"10 fail update lock c1#2 E: rejected by the resource: mark is c1#1",
		"11 ok enter lock c1#2",
		"12 ok update lock c1#2 F",
	})
	same(t, "states", states(r), []string{
		"reject A: there is no mark", "mark c1#1", "accept B", "reject C: mark is c1#1", "accept D",
		"reject D E, word E: mark is c1#1", "mark c1#2", "accept D F, word F",
	})
}

// With most locks, an increment is an acquire, a GET, a SET, and a release.
func TestIncrement(t *testing.T) {
	r := workOn(t, 1, clients.Counter, clients.NewSingle, func(l *labour) {
		if l.dials.opened != 0 {
			t.Error("the counter was dialled before it was needed")
		}
		for range 3 {
			l.Increment(l.ctx, 0)
		}
		same(t, "what the messages belong to", l.host.doing[:6], []string{"acquire1", "0", "increment2", "0", "release3", "0"})
		if l.dials.opened != 1 {
			t.Errorf("%d connections to the counter, want one", l.dials.opened)
		}
		l.Exit()
		if l.dials.open != 0 {
			t.Error("a connection to the counter is left")
		}
	})
	same(t, "records", outcomes(r), []string{
		"1 ok acquire lock c1#1", "2 ok increment lock c1#1 1", "3 ok release lock c1#1",
		"4 ok acquire lock c1#2", "5 ok increment lock c1#2 2", "6 ok release lock c1#2",
		"7 ok acquire lock c1#3", "8 ok increment lock c1#3 3", "9 ok release lock c1#3", "0 info exit",
	})
	same(t, "states", states(r), []string{"set counter 1", "over counter 2", "over counter 3"})
	same(t, "requests", r.texts("resource"), []string{"HELLO 2", "GET counter", "SET counter 1", "GET counter", "SET counter 2", "GET counter", "SET counter 3"})
}

// If the client does not get the lock, the increment is skipped. It tries for as long as for an acquire.
func TestIncrementWithoutLock(t *testing.T) {
	for _, err := range []error{clients.ErrNotAcquired, errors.New("lost")} {
		_, build := scripted(result{err: err}, result{err: err}, result{lease: paper{}}, result{err: err})
		r := workOn(t, 1, clients.Counter, build, func(l *labour) {
			l.Increment(l.ctx, 0)
			l.Increment(l.ctx, time.Second)
			l.Increment(l.ctx, 0)
		})
		kind := "fail"
		if clients.Outcome(err) == history.Info {
			kind = "info"
		}
		refused := fmt.Sprintf(" %s acquire lock: %v", kind, err)
		same(t, "records", outcomes(r), []string{
			"1" + refused, "2 fail increment lock: increment skipped: no lease",
			"3" + refused, "4 ok acquire lock c1#1", "5 ok increment lock c1#1 1", "6 ok release lock c1#1",
			"7" + refused, "8 fail increment lock: increment skipped: no lease",
		})
	}
}

// If the GET fails, the increment is skipped. If the SET may have been carried out, the outcome is unknown.
func TestIncrementInDoubt(t *testing.T) {
	for _, c := range []struct {
		fault, kind string
		want        []string
	}{
		{"on request GET c1->resource reset", "fail", []string{"set counter 1"}},
		{"on reply GET resource->c1 reset", "fail", []string{"set counter 1"}},
		{"on request SET c1->resource reset", "info", []string{"set counter 1"}},
		{"on reply SET resource->c1 reset", "info", []string{"set counter 1", "over counter 2"}},
	} {
		_, build := scripted(result{lease: paper{}})
		r := workOn(t, 1, clients.Counter, build, func(l *labour) {
			l.Increment(l.ctx, 0)
			l.Increment(l.ctx, 0)
		}, c.fault)
		ops := r.operations("c1")
		first := ops[3]
		if string(first.Kind) != c.kind {
			t.Errorf("%s: %s", c.fault, brief(first))
		}
		same(t, c.fault, states(r), c.want)
	}
}

// A counter whose value is not a number is left alone.
func TestIncrementOfNoNumber(t *testing.T) {
	_, build := scripted(result{lease: paper{}})
	r := workOn(t, 1, clients.Counter, build, func(l *labour) {
		for _, text := range []string{"many", "9223372036854775808"} {
			store := redis.NewClient(&redis.Options{Addr: l.address, Dialer: l.env.Dial, Protocol: 2, DisableIdentity: true})
			store.Set(l.ctx, clients.CounterKey, text, 0)
			store.Close()
			l.Increment(l.ctx, 0)
		}
	})
	for _, i := range []int{3, 9} {
		if got := r.operations("c1")[i]; got.Op != history.Increment || got.Kind != history.Fail {
			t.Errorf("%s", brief(got))
		}
	}
}

// An own is a lock with its own Increment.
type own struct {
	script
	errs []error
}

func (o *own) Increment(ctx context.Context, store *redis.Client, key string) (int64, error) {
	err := o.errs[0]
	o.errs = o.errs[1:]
	n, _ := store.IncrBy(ctx, key, 5).Result()
	return n, err
}

func TestIncrementer(t *testing.T) {
	o := &own{errs: []error{nil, fmt.Errorf("%w: EXEC failed", clients.ErrSkipped), errors.New("lost"), nil}}
	r := workOn(t, 1, clients.Counter, func(clients.Env) clients.Locker { return o }, func(l *labour) {
		for range 4 {
			l.Increment(l.ctx, time.Hour)
		}
		l.Exit()
	})
	same(t, "records", outcomes(r), []string{
		"1 ok increment lock 5",
		"2 fail increment lock: increment skipped: EXEC failed",
		"3 info increment lock: lost",
		"4 ok increment lock 20",
		"0 info exit",
	})
	if o.calls != 0 {
		t.Error("the lock was acquired")
	}
}
