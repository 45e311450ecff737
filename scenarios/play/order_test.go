package play

import (
	"context"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios/script"
)

// impatient assumes that a request was granted if its reply has not come after three seconds.
type impatient struct {
	clients.Locker
	env clients.Env
}

func (l impatient) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	type answer struct {
		lease clients.Lease
		err   error
	}
	start, answers := l.env.Clock.Now(), make(chan answer, 1)
	go func() {
		lease, err := l.Locker.Acquire(ctx, name, ttl)
		answers <- answer{lease, err}
	}()
	select {
	case a := <-answers:
		return a.lease, a.err
	case <-l.env.Clock.After(3 * time.Second):
		return hoped(start.Add(ttl)), nil
	}
}

// hoped is a lease that may not exist; its value is its end.
type hoped time.Time

func (l hoped) Until() time.Time              { return time.Time(l) }
func (l hoped) Release(context.Context) error { return nil }

// TestOrderAfterPause: if a reply and a timer wait for the end of a pause, a run is played in both orders. The order with a violation
// counts, and the run says that its verdict depends on the order.
func TestOrderAfterPause(t *testing.T) {
	QuietRedis()
	s, err := script.Parse("order.txtar", []byte(`# A client is paused while it waits for a reply.
#
# c1 has the lock.

client c1
  acquire
  until 9s
  write A
  release
client c2
  until 1s
  acquire
  write B
nemesis
  when c2 acquires +500µs pause c2 5s
must c1 acquires

-- single nodes=1 pool=warm --
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		build   clients.New
		verdict checker.Verdict
		note    string
	}{
		{"a lock that waits", clients.NewSingle, checker.Safe, ""},
		{"one that does not", func(env clients.Env) clients.Locker { return impatient{clients.NewSingle(env), env} }, checker.Unsafe,
			"first found the timers that were due, then the messages that had arrived. In the other order, the verdict is SAFE."},
	} {
		o, err := Simulate(s, s.Runs[0], test.build, 1)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(o.Timeline()), " ")
		if o.Result.Verdict != test.verdict || !strings.Contains(text, test.note) || o.History.Meta.TimersFirst != (test.note != "") {
			t.Errorf("%s: %s, want %s with %q\n%s", test.name, o.Result.Verdict, test.verdict, test.note, o.Timeline())
		}
		again, err := Simulate(s, s.Runs[0], test.build, 1)
		if err != nil || again.History.Meta.Checksum != o.History.Meta.Checksum {
			t.Errorf("%s: played again: error %v, or another checksum", test.name, err)
		}
	}
}
