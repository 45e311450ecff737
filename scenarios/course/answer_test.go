package course

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
	"lockstep/sim/workers"
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
			if text := wrong(h, again); text != "" {
				t.Errorf("%s: %s", a.Page.Name, text)
			}
			if len(operations(h.History)) == 0 {
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
		{"expired", []func(*history.Event){same, same, same, same, func(e *history.Event) { e.Op = history.Expire; e.At += second }},
			"The key of c1#1 on n1 expired 4s after it was set, and should have been deleted 3s after it was set."},
		{"deleted late", []func(*history.Event){same, same, same, same, func(e *history.Event) { e.At += second }},
			"The key of c1#1 on n1 was deleted 4s after it was set, and should have been deleted 3s after it was set."},
	} {
		if got := differ(ok(), ok(c.change...)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	// Two errors of package clients are not the same error, and another lease is another try.
	refused, mistaken := ok(), ok()
	refused.Events[5].Kind, refused.Events[5].Error = history.Fail, clients.ErrNotHeld.Error()
	mistaken.Events[5].Kind, mistaken.Events[5].Error = history.Fail, clients.ErrNotAcquired.Error()
	if got, want := differ(refused, mistaken), "The release of c1 at 5.000s returned clients.ErrNotAcquired, and should have returned clients.ErrNotHeld."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	again := ok()
	again.Events[2].Lease = "c1#2"
	if got, want := differ(ok(), again), "The acquire of c1 at 2.000s gave c1#2, and should have given c1#1."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// An operation that did not happen need not say when the lease ends. The probe, and what arrives after the lanes, do not count.
	mistaken = ok()
	mistaken.Events[5].Kind, mistaken.Events[5].Error, mistaken.Events[5].Until = history.Fail, clients.ErrNotHeld.Error(), second
	if got := differ(refused, mistaken); got != "" {
		t.Error(got)
	}
	after := ok()
	after.Events = append(after.Events,
		history.Event{At: 7 * second, Process: "n1", Kind: history.State, Op: history.Set, Key: play.LockName, Lease: "c1#2", Until: 17 * second},
		history.Event{At: 8 * second, Process: "probe", Kind: history.OK, Op: history.Acquire, Lease: "probe#1"})
	before := ok()
	before.Events = append(before.Events, history.Event{At: 8 * second, Process: "probe", Kind: history.Info, Op: history.Acquire, Error: "EOF"})
	if got := differ(before, after); got != "" {
		t.Error(got)
	}
	failed := ok()
	replaced := ok()
	failed.Events[5].Kind, failed.Events[5].Error = history.Info, "EOF"
	if got, want := differ(failed, ok()), "should have returned the error that it got from go-redis."; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q at the end", got, want)
	}
	replaced.Events[5].Kind, replaced.Events[5].Error = history.Info, "it failed"
	if got, want := differ(failed, replaced), `returned the error "it failed", and should have returned the error that it got from go-redis.`; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q at the end", got, want)
	}
	// A script, or a transaction, may set the key and its TTL one after the other, at one instant. Two commands take longer.
	for _, later := range []time.Duration{0, time.Millisecond} {
		h := ok()
		h.Events[1].Until = history.NoEnd
		h.Events = slices.Insert(h.Events, 2, history.Event{At: second + later, Process: "n1", Kind: history.State, Op: history.Retime, Key: play.LockName, Owner: "c1#1", Until: 11*second + later})
		if got := differ(ok(), h); (got != "") != (later > 0) {
			t.Errorf("a TTL that is set %v after the key: %q", later, got)
		}
	}
	// The run of a lock that tries for longer may reach the end of the TTL.
	kept, expired := ok(), ok()
	kept.Events = slices.Delete(kept.Events, 4, 5)
	expired.Events[4].Op = history.Expire
	if got := differ(kept, expired); got != "" {
		t.Error(got)
	}
	if got, want := differ(expired, kept), "The key of c1#1 on n1 is still there, and should have expired 3s after it was set."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := differ(kept, ok()), "The key of c1#1 on n1 was deleted 3s after it was set, and should not have been changed after that."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	none := ok()
	none.Events = slices.Delete(none.Events, 1, 2)
	none.Events = slices.Delete(none.Events, 3, 4)
	if got, want := differ(ok(), none), "A right lock sets the key of c1#1 on n1, and this one has not set it."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := differ(none, ok()), "A right lock does not set the key of c1#1 on n1, and this one has set it."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// A key that expires at about the time at which it should have been deleted is as good as deleted.
	late := ok()
	late.Events[4].Op, late.Events[4].At = history.Expire, late.Events[4].At+50*time.Millisecond
	if got := differ(ok(), late); got != "" {
		t.Error(got)
	}
	// After an error that leaves it open whether the key is set, a client may give it back.
	open, back := ok(), ok()
	for _, h := range []*history.History{open, back} {
		h.Events[2].Kind, h.Events[2].Error, h.Events[2].Lease, h.Events[2].Until = history.Info, "EOF", "", 0
	}
	open.Events = slices.Delete(open.Events, 4, 5)
	if got := differ(open, back); got != "" {
		t.Error(got)
	}
	back.Events[4].Op = history.Retime
	if got, want := differ(open, back), "The key of c1#1 on n1 got another TTL 3s after it was set, and should not have been changed after that."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// The error of an Acquire may wrap that of its clean-up.
	both, refusal := ok(), ok()
	for _, h := range []*history.History{both, refusal} {
		h.Events[2].Kind, h.Events[2].Error, h.Events[2].Lease, h.Events[2].Until = history.Fail, clients.ErrNotAcquired.Error(), "", 0
	}
	both.Events[2].Error += ": " + clients.ErrNotHeld.Error()
	if got := differ(refusal, both); got != "" {
		t.Error(got)
	}
	// After clients.ErrNotExtended the lease must not have its old end again, if the node has set an earlier one. It may be over at once.
	early, old, now := ok(), ok(), ok()
	for h, until := range map[*history.History]time.Duration{early: 4 * second, old: 0, now: 5 * second} {
		h.Events[3].Op, h.Events[5].Op = history.Extend, history.Extend
		h.Events[5].Kind, h.Events[5].Error, h.Events[5].Until = history.Fail, clients.ErrNotExtended.Error(), until
	}
	if got, want := differ(early, old), "After the extend of c1 at 5.000s the lease still has its old end, and should end at 4.000s."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := differ(early, now); got != "" {
		t.Error(got)
	}
	// Fencing tokens grow. They need not be the same.
	fences := func(first, second int64) *history.History {
		h := ok()
		h.Events[2].Fence = first
		again := slices.Clone(h.Events[:3])
		again[2].Fence = second
		h.Events = append(again[:0:0], append(h.Events, again[0], again[2])...)
		return h
	}
	if got, want := differ(fences(1, 2), fences(7, 7)), "The acquire of c1 at 2.000s gave the fencing token 7, and should have given one greater than 7."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := differ(fences(1, 2), fences(7, 9)); got != "" {
		t.Error(got)
	}
	// No other key may stay for ever.
	for until, want := range map[time.Duration]string{history.NoEnd: "The key old on n1 stays for ever, and a right lock does not set it.", 20 * second: ""} {
		h := ok()
		h.Events = slices.Insert(h.Events, 4, history.Event{At: 4 * second, Process: "n1", Kind: history.State, Op: history.Set, Key: "old", Until: until})
		if got := differ(ok(), h); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	short := ok()
	short.Events = short.Events[:3]
	if got, want := differ(ok(), short), "The release of c1 did not return."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A must of an answer is a state that the right lock does not reach.
func TestWrong(t *testing.T) {
	play.QuietRedis()
	a := Answer{}
	var err error
	if a.Page, err = findAnswer("acquire-tokens", "single"); err != nil {
		t.Fatal(err)
	}
	right, err := a.right()
	if err != nil {
		t.Fatal(err)
	}
	if got := wrong(right, right); got != "" {
		t.Error(got)
	}
	o, err := play.Simulate(a.Page, a.run(), clients.NewFixed, 0) // which has one token for all
	if err != nil {
		t.Fatal(err)
	}
	if got, want := wrong(right, o), "In this run c1 and c2 draw the same token. With a right lock that does not occur."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A line says why runs did not end, and where.
func TestStopped(t *testing.T) {
	e := &Exercise{Hole: "set", Folder: "1-expiry", Stuck: "Do not wait."}
	ended := &play.Outcome{}
	never := func(reason string, blocked ...string) *play.Outcome {
		return &play.Outcome{Report: &workers.Report{Reason: reason, Blocked: blocked}}
	}
	skipped := never("not run: the three runs before did not end")
	skipped.NotRun = true
	for _, c := range []struct {
		outcomes []*play.Outcome
		want     string
	}{
		{[]*play.Outcome{ended, ended}, ""},
		{[]*play.Outcome{never("panic: todo", "goroutine 20 failed in expiry.(*lock).set (lock.go:34)"), skipped},
			"Your set panicked: todo (1-expiry/lock.go:34). No run could be played."},
		{[]*play.Outcome{ended, never("panic: refused"), ended}, "Your set panicked: refused. 1 of 3 runs could not be played."},
		{[]*play.Outcome{never("virtual time stands still, and the run was stopped after 5s of real time: a goroutine computes without waiting", "goroutine 20 is runnable in sync.clock (clock.go:3)")},
			"Your set does not return: it loops without end. No run could be played. Do not wait."},
		{[]*play.Outcome{never("goroutines left behind", "goroutine 20 waits (select) in expiry.(*lock).set (lock.go:34)")},
			"Your set, or a goroutine of it, does not end: it waits for something that never comes (1-expiry/lock.go:34). No run could be played. Do not wait."},
		{[]*play.Outcome{never("the worker exited: exit status 0")}, "Your set ended the program: exit status 0. No run could be played."},
		{[]*play.Outcome{never("it is too late")}, "A run with your set did not end: it is too late. No run could be played. Do not wait."},
	} {
		if got := e.stopped(c.outcomes); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A hint is that of the story if the violated property is one that the story is about, and otherwise that of the exercise.
func TestHints(t *testing.T) {
	play.QuietRedis()
	page, err := script.Find("release-race")
	if err != nil {
		t.Fatal(err)
	}
	single, err := page.FindRun("single")
	if err != nil {
		t.Fatal(err)
	}
	o, err := play.Simulate(page, single.With("getdel"), clients.NewGetDel, 0)
	if err != nil {
		t.Fatal(err)
	}
	o.Promise = play.Promise{As: []script.Section{single}}
	e := &Exercise{Hints: map[checker.Property]string{checker.LeaseExclusion: "that of the exercise"}}
	for _, c := range []struct {
		about checker.Property
		want  string
	}{
		{checker.OwnerOnly, "that of the story"},
		{checker.LeaseExclusion, "that of the story"},
		{checker.DeadlockFreedom, "that of the exercise"},
	} {
		if got := e.hint(o, Story{About: []checker.Property{c.about}, Hint: "that of the story"}); got != c.want {
			t.Errorf("a story about %s: %q, want %q", c.about, got, c.want)
		}
	}
	if got := e.hint(nil, Story{}); got != "" {
		t.Errorf("without a run there is the hint %q", got)
	}
}
