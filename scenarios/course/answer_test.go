package course

import (
	"strings"
	"testing"
	"time"

	"lockstep/scenarios/play"
	"lockstep/sim/history"
)

// A right lock does not differ from itself in any answer, and each answer has an operation to compare.
func TestAnswersOfRightLocks(t *testing.T) {
	play.QuietRedis()
	all, err := Exercises()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		for _, a := range e.Answers {
			h, err := a.right()
			if err != nil {
				t.Fatal(err)
			}
			again, err := a.right()
			if err != nil {
				t.Fatal(err)
			}
			if text := differ(h, again); text != "" {
				t.Errorf("%s: %s", a.Page.Name, text)
			}
			if len(operations(h)) == 0 {
				t.Errorf("%s asks for nothing", a.Page.Name)
			}
		}
	}
}

// What differs is said in a sentence.
func TestDiffer(t *testing.T) {
	const second = time.Second
	ok := func(change ...func(*history.Event)) *history.History {
		h := &history.History{Events: []history.Event{
			{Process: "c1", Kind: history.Invoke, Op: history.Acquire},
			{At: second, Process: "n1", Kind: history.State, Op: history.Set, Key: play.LockName, Lease: "c1#1", Until: 11 * second},
			{At: 2 * second, Clock: 2 * second, Process: "c1", Kind: history.OK, Op: history.Acquire, Lease: "c1#1", Until: 10 * second},
			{At: 3 * second, Clock: 3 * second, Process: "c1", Kind: history.Invoke, Op: history.Release, Lease: "c1#1"},
			{At: 4 * second, Process: "n1", Kind: history.State, Op: history.Delete, Key: play.LockName, Owner: "c1#1"},
			{At: 5 * second, Clock: 5 * second, Process: "c1", Kind: history.OK, Op: history.Release, Lease: "c1#1"},
			{At: 6 * second, Process: "network", Kind: history.Injected, Value: "heal"},
		}}
		for i, f := range change {
			f(&h.Events[i])
		}
		return h
	}
	same := func(*history.Event) {}
	for _, c := range []struct {
		name   string
		change []func(*history.Event)
		want   string
	}{
		{"the same", nil, ""},
		{"a little later", []func(*history.Event){same, func(e *history.Event) { e.At += time.Millisecond; e.Until += time.Millisecond }}, ""},
		{"no lease", []func(*history.Event){same, same, func(e *history.Event) { e.Kind, e.Error = history.Info, "EOF" }},
			`The acquire of c1 at 2.000s returned the error "EOF", and should have returned no error.`},
		{"a later end", []func(*history.Event){same, same, func(e *history.Event) { e.Until += 2 * time.Millisecond }},
			"After the acquire of c1 at 2.000s the lease ends at 10.002s, and should end at 10.000s."},
		{"no end", []func(*history.Event){same, same, func(e *history.Event) { e.Until = history.NoEnd }},
			"After the acquire of c1 at 2.000s the lease never ends, and should end at 10.000s."},
		{"another error", []func(*history.Event){same, same, same, same, same, func(e *history.Event) { e.Kind, e.Error = history.Fail, "lock not held" }},
			"The release of c1 at 5.000s returned clients.ErrNotHeld, and should have returned no error."},
		{"another TTL", []func(*history.Event){same, func(e *history.Event) { e.Until += second }},
			"The key of c1#1 on n1 got a TTL of 11s, and should have got a TTL of 10s."},
		{"no TTL", []func(*history.Event){same, func(e *history.Event) { e.Until = history.NoEnd }},
			"The key of c1#1 on n1 got no TTL, and should have got a TTL of 10s."},
		{"expired", []func(*history.Event){same, same, same, same, func(e *history.Event) { e.Op = history.Expire }},
			"The key of c1#1 on n1 expired 3s after it was set, and should have been deleted 3s after it was set."},
		{"deleted late", []func(*history.Event){same, same, same, same, func(e *history.Event) { e.At += second }},
			"The key of c1#1 on n1 was deleted 4s after it was set, and should have been deleted 3s after it was set."},
	} {
		if got := differ(ok(), ok(c.change...)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	failed := ok()
	failed.Events[5].Kind, failed.Events[5].Error = history.Info, "EOF"
	if got, want := differ(failed, ok()), "should have returned the error that it got from go-redis."; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q at the end", got, want)
	}
	short := ok()
	short.Events = short.Events[:3]
	if got, want := differ(ok(), short), "The release of c1 did not return."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
