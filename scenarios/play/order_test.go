package play

import (
	"cmp"
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios/script"
)

// A racer waits for the reply to its request. If the reply comes in time, the racer counts the TTL from the reply, so its lease
// is too long.
type racer struct {
	env      clients.Env
	wait     time.Duration // how long it waits for a reply
	optimist bool          // whether it assumes that the request was granted if there is no reply
}

func (l racer) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	type answer struct {
		granted bool
		err     error
	}
	start, answers := l.env.Clock.Now(), make(chan answer, 1)
	token := rand.Text()
	go func() {
		granted, err := l.env.Nodes[0].SetNX(ctx, name, token, ttl).Result()
		answers <- answer{granted, err}
	}()
	select {
	case a := <-answers:
		if a.granted {
			return hoped(l.env.Clock.Now().Add(ttl)), nil
		}
		return nil, cmp.Or(a.err, clients.ErrNotAcquired)
	case <-l.env.Clock.After(l.wait):
		if l.optimist {
			return hoped(start.Add(ttl)), nil
		}
		return nil, clients.ErrNotAcquired
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
	held := `# A client is paused while it waits for a reply.
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
`
	free := `# A client is paused while it waits for a reply.
#
# c1 gets the lock when the key of c2 has expired.

client c1
  until 11s
  acquire
  until 15s
  write A
  release
client c2
  acquire
  until 13s
  write B
nemesis
  when c2 acquires +500µs pause c2 12s
must c1 acquires

-- single nodes=1 pool=warm --
`
	const patient = 3 * time.Second
	builds := 0
	for _, test := range []struct {
		name, scenario string
		build          clients.New
		timersFirst    bool
		verdict        checker.Verdict
		note           string
	}{
		{"a lock that waits", held, clients.NewSingle, false, checker.Safe, ""},
		{"one that hopes", held, func(env clients.Env) clients.Locker { return racer{env, patient, true} }, true, checker.Unsafe,
			"first found the timers that were due, then the messages that had arrived. In the other order, the verdict is SAFE."},
		{"one that trusts a late reply", free, func(env clients.Env) clients.Locker { return racer{env, patient, false} }, false, checker.Unsafe,
			"first found the messages that had arrived, then the timers that were due. In the other order, the verdict is SAFE."},
		{"one that differs from play to play", held, func(env clients.Env) clients.Locker {
			builds++
			play := (builds - 1) / 3 % 3 // two clients and the probe build a lock in each play, and the run is played three times
			return [...]racer{{env, patient, false}, {env, patient, true}, {env, 0, true}}[play]
		}, true, checker.Unsafe, ""},
	} {
		s, err := script.Parse("order.txtar", []byte(test.scenario))
		if err != nil {
			t.Fatal(err)
		}
		o, err := Simulate(s, s.Runs[0], test.build, 1)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(o.Timeline()), " ")
		said := strings.Contains(text, "In the other order")
		if o.Result.Verdict != test.verdict || said != (test.note != "") || !strings.Contains(text, test.note) || o.History.Meta.TimersFirst != test.timersFirst {
			t.Errorf("%s: %s, want %s with %q\n%s", test.name, o.Result.Verdict, test.verdict, test.note, o.Timeline())
		}
		again, err := Simulate(s, s.Runs[0], test.build, 1)
		if err != nil || again.History.Meta.Checksum != o.History.Meta.Checksum {
			t.Errorf("%s: played again: error %v, or another checksum", test.name, err)
		}
	}
}

// TestWorseOrder: which of two results of a run counts.
func TestWorseOrder(t *testing.T) {
	const a, b = checker.LeaseExclusion, checker.Tokens
	result := func(verdict checker.Verdict, violations ...checker.Violation) checker.Result {
		return checker.Result{Verdict: verdict, Violations: violations}
	}
	bare := func(p checker.Property) checker.Violation {
		return checker.Violation{Property: p, Assumption: checker.None}
	}
	excused := func(p checker.Property) checker.Violation {
		return checker.Violation{Property: p, Assumption: checker.BoundedPause}
	}
	safe, open := result(checker.Safe), result(checker.Inconclusive)
	for name, test := range map[string]struct {
		messages, timers checker.Result
		want             bool
	}{
		"one violation":                        {safe, result(checker.Unsafe, excused(a)), true},
		"the same one":                         {result(checker.Unsafe, excused(a)), result(checker.Unsafe, excused(a)), false},
		"fewer":                                {result(checker.Unsafe, excused(a), excused(b)), result(checker.Unsafe, excused(a)), false},
		"the same one without an excuse":       {result(checker.Unsafe, excused(a)), result(checker.Unsafe, bare(a)), true},
		"with an excuse only":                  {result(checker.Unsafe, bare(a)), result(checker.Unsafe, excused(a)), false},
		"another one, with an excuse":          {result(checker.Unsafe, bare(a)), result(checker.Unsafe, excused(b)), false},
		"another one, without an excuse":       {result(checker.Unsafe, bare(a)), result(checker.Unsafe, bare(b)), true},
		"a run that proves nothing":            {safe, result(checker.Inconclusive, bare(a)), false},
		"two runs that prove nothing":          {open, result(checker.Inconclusive, bare(a)), true},
		"two that prove nothing and are alike": {open, open, false},
	} {
		if got := worse(test.messages, test.timers); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
