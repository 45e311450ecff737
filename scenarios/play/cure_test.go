package play

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// Each row of the table names scenarios that exist, and a run that keeps its property; and a broken claim quotes the row.
func TestCures(t *testing.T) {
	QuietRedis()
	for _, c := range cures {
		name, id, _ := strings.Cut(c.shownBy, "/")
		s, err := script.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.FindRun(id)
		if err != nil {
			t.Fatal(err)
		}
		if e := r.Expectation(c.property); e.Status != checker.OK {
			t.Errorf("in %s %s is %s", c.shownBy, c.property, e.Status)
		}
		if c.shows != nil {
			continue // TestSeenCures, and the tests of promises
		}
		in := c.scenarios
		if len(in) == 0 {
			in = []string{name}
		}
		for _, name := range in {
			s, err := script.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			kept := slices.IndexFunc(s.Runs, func(r script.Section) bool { return r.Expectation(c.property).Status == checker.OK })
			if kept < 0 {
				t.Errorf("no run of %s is expected to keep %s", name, c.property)
				continue
			}
			o := &Outcome{Scenario: s, Run: s.Resolve(s.Runs[kept])}
			o.History = &history.History{Events: []history.Event{
				{Kind: history.Invoke, Process: "c1", Op: c.during}, {Kind: history.State, Op: c.change, By: "c1"},
			}}
			o.Result.Violations = []checker.Violation{{Property: c.property, Assumption: checker.None, Events: []int{1}}}
			if got, want := o.Complain(), "\n  what helps: "+c.advice+" (lockstep show "+c.shownBy+")\n"; !strings.Contains(got, want) {
				t.Errorf("%s: the complaint does not contain %q:\n%s", name, want, got)
			}
		}
	}
	h := &history.History{Events: []history.Event{
		{At: 2 * time.Second, Kind: history.State, Op: history.Set, Process: "n1", Key: "lock"},
		{At: 3 * time.Second, Kind: history.State, Op: history.Delete, Process: "n1", Key: "lock", Sent: time.Second},
	}}
	v := checker.Violation{Property: checker.NoLostVote, Events: []int{0, 1}}
	if got := cureFor(h, v, "extend-other-ttl"); !strings.Contains(got, "so that a late request cannot delete the key") {
		t.Errorf("a key that was deleted by a late request has the cure: %s", got)
	}
	if h.Events[1].Sent = 0; cureFor(h, v, "extend-other-ttl") != "" {
		t.Errorf("a key that was deleted in time has the cure: %s", cureFor(h, v, "extend-other-ttl"))
	}
	h = &history.History{Events: []history.Event{
		{Kind: history.Invoke, Process: "c1", Op: history.Acquire}, {Kind: history.Fail, Process: "c1", Op: history.Acquire, At: time.Second},
		{Kind: history.State, Op: history.Over, By: "c1", At: 3 * time.Second, Sent: 2 * time.Second},
		{Kind: history.State, Op: history.Over, By: "c1", At: 3 * time.Second, Sent: time.Second / 2},
	}}
	for i, want := range []string{2: "", 3: history.Acquire} {
		if got := operation(h, i); i >= 2 && got != want {
			t.Errorf("event %d was made during %q, want %q", i, got, want)
		}
	}
	if got := cureFor(nil, checker.Violation{Property: checker.ResourceExclusion}, "pause-fenced"); got != "" {
		t.Errorf("there is no cure, but: %s", got)
	}
}

// What a history shows counts before what its scenario suggests.
func TestSeenCures(t *testing.T) {
	const second = time.Second
	invoke := history.Event{Kind: history.Invoke, Process: "c1", Op: history.Acquire, ID: 1}
	request := func(at time.Duration, value string) history.Event {
		return history.Event{At: at, Kind: history.Message, Op: history.Deliver, Process: "n1", By: "c1", Value: value}
	}
	state := func(at time.Duration, op, key string, until time.Duration) history.Event {
		e := history.Event{At: at, Kind: history.State, Op: op, Process: "n1", By: "c1", Key: key, Lease: "c1#1", Until: until, Sent: at - second/2}
		if op == history.Delete {
			e.Lease, e.Owner = "", "c1#1"
		}
		return e
	}
	granted := func(until time.Duration) history.Event {
		return history.Event{At: 5 * second, Kind: history.OK, Process: "c1", Op: history.Acquire, ID: 1, Lease: "c1#1", Until: until}
	}
	restart := history.Event{At: 2 * second, Kind: history.Injected, Op: "restart", Process: "n1"}
	short := history.Event{Kind: history.Invoke, Process: "c1", Op: history.Acquire, ID: 1, TTL: 2 * second}
	// Two leases with these fences, and the values that a counter got by the commands that set their keys.
	tokens := func(first, second string, a, b int64) (events []history.Event) {
		for i, c := range []struct {
			client, value string
			fence         int64
		}{{"c1", first, a}, {"c2", second, b}} {
			at := time.Duration(1+2*i) * time.Second
			label := c.client + "#1"
			set := history.Event{At: at, Kind: history.State, Op: history.Set, Process: "n1", By: c.client, Key: "lock", Lease: label, Until: at + 10*time.Second}
			events = append(events, history.Event{At: at, Kind: history.Invoke, Process: c.client, Op: history.Acquire, ID: 1}, set)
			if c.value != "" {
				counter := set
				counter.Key, counter.Lease, counter.Until, counter.Value = "lock:fence", "", history.NoEnd, c.value
				if i > 0 {
					counter.Op = history.Over
				}
				events = append(events, counter)
			}
			events = append(events, history.Event{At: at, Kind: history.OK, Process: c.client, Op: history.Acquire, ID: 1, Lease: label, Fence: c.fence, Until: at + 10*time.Second},
				history.Event{At: at, Kind: history.State, Op: history.Delete, Process: "n1", By: c.client, Key: "lock", Owner: label})
		}
		return events[:len(events)-1]
	}
	extended := func(kind history.Kind, until time.Duration) []history.Event {
		return []history.Event{invoke, {Kind: history.State, Op: history.Set, Process: "n1", By: "c1", Key: "lock", Lease: "c1#1", Until: 10 * second},
			{Kind: history.OK, Process: "c1", Op: history.Acquire, ID: 1, Lease: "c1#1", Until: 10 * second},
			{Kind: history.Invoke, Process: "c1", Op: history.Extend, ID: 2, Lease: "c1#1", TTL: 3 * second},
			{Kind: history.State, Op: history.Retime, Process: "n1", By: "c1", Key: "lock", Owner: "c1#1", Until: 3 * second},
			{Kind: kind, Process: "c1", Op: history.Extend, ID: 2, Lease: "c1#1", Until: until}}
	}
	recreated := extended(history.OK, 3*second)
	recreated[4].Op = history.Set
	for _, c := range []struct {
		name     string
		property checker.Property
		scenario string
		events   []history.Event
		want     string
	}{
		{"a key that is left from the last try", checker.FaultTolerance, "redlock-contended",
			[]history.Event{invoke, request(second, "EVALSHA abc 1 lock x"), state(second, history.Set, "lock", 11*second), request(2*second, "EVALSHA abc 1 lock y")}, "delete the keys of a try on all nodes"},
		{"a key that was deleted before the next try", checker.FaultTolerance, "redlock-contended",
			[]history.Event{invoke, request(second, "EVALSHA abc 1 lock x"), state(second, history.Set, "lock", 11*second), request(2*second, "EVALSHA def 1 lock x"), state(2*second, history.Delete, "lock", 0),
				request(3*second, "EVALSHA abc 1 lock y")}, "wait for a random time"},
		{"a key that the next try extends", checker.FaultTolerance, "redlock-contended",
			[]history.Event{invoke, request(second, "EVALSHA abc 1 lock x"), state(second, history.Set, "lock", 11*second), request(2*second, "EVALSHA abc 1 lock x"), state(2*second, history.Retime, "lock", 12*second)}, "wait for a random time"},
		{"a lease that counts from the reply", checker.LeaseExclusion, "extend-late",
			[]history.Event{invoke, state(4*second, history.Set, "lock", 14*second), granted(15 * second)}, "let Until be at most one TTL"},
		{"a lease that counts from the reply, and whose key another client deleted", checker.LeaseExclusion, "release-race",
			[]history.Event{invoke, state(4*second, history.Set, "lock", 14*second),
				{At: 9 * second / 2, Kind: history.State, Op: history.Delete, Process: "n1", By: "c2", Key: "lock", Owner: "c1#1"}, granted(15 * second)}, ""},
		{"a renewal that counts from the reply", checker.LeaseExclusion, "slow-link",
			[]history.Event{invoke, state(second, history.Set, "lock", 11*second), granted(10 * second),
				{At: 7 * second, Kind: history.State, Op: history.Retime, Process: "n1", By: "c1", Key: "lock", Owner: "c1#1", Until: 17 * second, Sent: 7 * second},
				{At: 9 * second, Clock: 9 * second, Kind: history.Info, Process: "c1", Op: history.Renew, Lease: "c1#1", Until: 19 * second},
				{At: 18 * second, Kind: history.OK, Process: "c1", Op: history.Acquire, ID: 3, Lease: "c1#1", Until: 10 * second}}, "let Until be at most one TTL"},
		{"a renewal that counts from the request, by a clock that is a little slow", checker.LeaseExclusion, "slow-link",
			[]history.Event{invoke, state(second, history.Set, "lock", 11*second), granted(10 * second),
				{At: 7 * second, Kind: history.State, Op: history.Retime, Process: "n1", By: "c1", Key: "lock", Owner: "c1#1", Until: 17 * second, Sent: 7 * second},
				{At: 9 * second, Clock: 9*second - time.Millisecond/2, Kind: history.Info, Process: "c1", Op: history.Renew, Lease: "c1#1", Until: 17 * second},
				{At: 18 * second, Kind: history.OK, Process: "c1", Op: history.Acquire, ID: 3, Lease: "c1#1", Until: 10 * second}}, ""},
		{"a renewal that moved no key", checker.LeaseExclusion, "slow-link",
			[]history.Event{invoke, state(second, history.Set, "lock", 11*second), granted(10 * second),
				{At: 7 * second, Clock: 7 * second, Kind: history.Info, Process: "c1", Op: history.Renew, Lease: "c1#1", Until: 17 * second},
				{At: 12 * second, Kind: history.Invoke, Process: "c2", Op: history.Acquire, ID: 1},
				{At: 12 * second, Kind: history.OK, Process: "c2", Op: history.Acquire, ID: 1, Lease: "c2#1", Until: 22 * second}}, "let an extension or a renewal move Until only if"},
		{"a key that a cancelled acquire left", checker.FaultTolerance, "acquire-cancelled",
			[]history.Event{invoke, state(second, history.Set, "lock", 11*second), {At: 2 * second, Kind: history.Info, Process: "c1", Op: history.Acquire, ID: 1, Error: "context canceled"},
				{At: 3 * second, Kind: history.Invoke, Process: "c2", Op: history.Acquire, ID: 1}}, "release with a context of its own"},
		{"a key that a cancelled acquire deleted soon", checker.FaultTolerance, "acquire-cancelled",
			[]history.Event{invoke, state(second, history.Set, "lock", 11*second), {At: 2 * second, Kind: history.Info, Process: "c1", Op: history.Acquire, ID: 1, Error: "context canceled"},
				state(3*second, history.Delete, "lock", 0), {At: 3 * second, Kind: history.Invoke, Process: "c2", Op: history.Acquire, ID: 1}}, ""},
		{"an acquire that failed otherwise", checker.FaultTolerance, "acquire-cancelled",
			[]history.Event{invoke, state(second, history.Set, "lock", 11*second), {At: 2 * second, Kind: history.Info, Process: "c1", Op: history.Acquire, ID: 1, Error: "refused"},
				{At: 3 * second, Kind: history.Invoke, Process: "c2", Op: history.Acquire, ID: 1}}, ""},
		{"a lease that counts from the request, long after its client came to the queue", checker.LeaseExclusion, "slow-link",
			[]history.Event{invoke, state(2*second, history.Set, "lock", 14*second), state(2*second, history.Set, "queue", history.NoEnd), state(3*second, history.Delete, "queue", 0),
				state(4*second, history.Retime, "lock", 14*second), granted(13 * second)}, ""},
		{"a lease of which only the place in a queue was seen", checker.LeaseExclusion, "slow-link",
			[]history.Event{{Kind: history.Invoke, Process: "c1", Op: history.Acquire, ID: 2}, state(0, history.Set, "queue", history.NoEnd), state(second/2, history.Delete, "queue", 0), state(second/2, history.Set, "lock", 10*second),
				{At: second, Kind: history.OK, Process: "c1", Op: history.Acquire, ID: 2, Lease: "c1#1", Until: second},
				{Kind: history.Invoke, Process: "c2", Op: history.Acquire, ID: 1}, {At: 2 * second, Kind: history.State, Op: history.Set, Process: "n1", By: "c2", Key: "queue", Lease: "c2#1", Sent: second},
				{At: 5 * second, Kind: history.OK, Process: "c2", Op: history.Acquire, ID: 1, Lease: "c2#1", Until: 15 * second}}, ""},
		{"a lease without an end", checker.ResourceExclusion, "slow-link",
			[]history.Event{invoke, state(second, history.Set, "lock", 11*second), granted(history.NoEnd)}, "let Until return a time"},
		{"a lease without an end, like its key", checker.ResourceExclusion, "slow-link",
			[]history.Event{invoke, state(second, history.Set, "lock", history.NoEnd), granted(history.NoEnd)}, ""},
		{"a restart after which only EVALSHA is sent", checker.FaultTolerance, "crash-restart-scripts",
			[]history.Event{restart, request(3*second, "EVALSHA abc 1 lock x")}, "send EVAL when EVALSHA is answered NOSCRIPT"},
		{"a restart after which EVAL is sent, too", checker.FaultTolerance, "crash-restart-scripts",
			[]history.Event{restart, request(3*second, "EVALSHA abc 1 lock x"), request(4*second, "EVAL 1 lock x")}, ""},
		{"a restart after which nothing is sent", checker.FaultTolerance, "crash-restart-scripts", []history.Event{restart, invoke}, ""},
		{"a key with the TTL of another acquire", checker.FaultTolerance, "two-ttls",
			[]history.Event{short, state(second, history.Set, "lock", 11*second), {At: 2 * second, Kind: history.Invoke, Process: "c2", Op: history.Acquire, ID: 1}}, "set the key with the TTL of this acquire"},
		{"a key with the TTL of this acquire", checker.FaultTolerance, "two-ttls",
			[]history.Event{short, state(second, history.Set, "lock", 3*second), {At: 2 * second, Kind: history.Invoke, Process: "c2", Op: history.Acquire, ID: 1}}, ""},
		{"a lease that its client outlived, in a scenario about slow replies", checker.ResourceExclusion, "pause-in-acquire",
			[]history.Event{invoke, state(4*second, history.Set, "lock", 14*second), granted(10 * second)}, ""},
		{"a lease that ends in time, in a scenario about wall clocks", checker.ResourceExclusion, "client-clock-jump",
			[]history.Event{invoke, state(4*second, history.Set, "lock", 14*second), granted(10 * second)}, ""},
		{"a key that got another TTL, in a scenario about wall clocks", checker.LeaseExclusion, "client-clock-jump",
			[]history.Event{invoke, state(4*second, history.Set, "lock", 6*second), {At: 6 * second, Kind: history.State, Op: history.Expire, Process: "n1", Key: "lock", Owner: "c1#1"}, granted(10 * second)}, "count the lease by Env.Clock, which is steady"},
		{"a counter that counts with the key", checker.Tokens, "pause-fenced", tokens("1", "2", 1, 1), "let the script that sets the key"},
		{"a counter that is set back", checker.Tokens, "pause-fenced", tokens("2", "1", 2, 1), "never set the counter of fencing tokens back"},
		{"a counter in a command of its own", checker.Tokens, "pause-fenced", tokens("", "", 2, 1), "draw fencing tokens from one counter"},
		{"a counter that is kept as advised", checker.Tokens, "pause-fenced", tokens("1", "2", 1, 2), ""},
		{"an extension that was answered, with a later end than its key", checker.NoLostVote, "extend-other-ttl", extended(history.OK, 10*second), "after an extension, let Until return its end"},
		{"an extension that was not answered", checker.NoLostVote, "extend-other-ttl", extended(history.Info, 0), "while an extension is unanswered"},
		{"an extension that was answered, with the end of its key", checker.NoLostVote, "extend-other-ttl", extended(history.OK, 3*second), ""},
		{"what two overlapping leases did to the resource", checker.ResourceExclusion, "extend-late", recreated, "an extension must not recreate an expired key"},
		{"an extension of a key that is there", checker.ResourceExclusion, "extend-late", extended(history.OK, 3*second), ""},
		{"a client that waits for a node", checker.FaultTolerance, "redlock-hung-node",
			[]history.Event{invoke, {At: 6 * second, Kind: history.Fail, Process: "c1", Op: history.Acquire, ID: 1}, {At: 6 * second, Kind: history.Invoke, Process: "c2", Op: history.Acquire, ID: 1}}, "give the request to each node a timeout"},
		{"a client that waits for no node", checker.FaultTolerance, "redlock-hung-node",
			[]history.Event{invoke, {At: second, Kind: history.Fail, Process: "c1", Op: history.Acquire, ID: 1}, {At: 6 * second, Kind: history.Invoke, Process: "c2", Op: history.Acquire, ID: 1}}, ""},
		{"a client that does not stop waiting", checker.DeadlockFreedom, "acquire-cancelled", []history.Event{invoke, state(second, history.Set, "lock", 11*second)}, "stop waiting for the lock"},
		{"a key without an end", checker.DeadlockFreedom, "acquire-cancelled", []history.Event{invoke, state(second, history.Set, "lock", history.NoEnd)}, ""},
	} {
		h := &history.History{Meta: history.Meta{Nodes: []string{"n1"}, TTL: 10 * second}, Events: c.events}
		if c.property == checker.FaultTolerance {
			h.Meta.Nodes = []string{"n1", "n2", "n3"}
		}
		v := checker.Violation{Property: c.property, Assumption: checker.None}
		if n := len(c.events); n > 0 {
			v.Events = []int{n - 1}
			if c.property == checker.NoLostVote {
				v.Events = []int{n - 2} // what the extension did
			}
			if c.property == checker.Tokens || c.property == checker.LeaseExclusion {
				v.Events = nil
				for i, e := range c.events {
					if e.Kind == history.OK {
						v.Events = append(v.Events, i)
					}
				}
			}
		}
		if got := cureFor(h, v, c.scenario); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	for moved, want := range map[int]bool{1: true, 2: false} { // of three nodes
		events := []history.Event{invoke, state(second, history.Set, "lock", 11*second), granted(10 * second), {At: 6 * second, Kind: history.Invoke, Process: "c1", Op: history.Extend, ID: 2, Lease: "c1#1"}}
		for n := range moved {
			events = append(events, history.Event{At: 7 * second, Kind: history.State, Op: history.Retime, Process: fmt.Sprint("n", n+1), By: "c1", Key: "lock", Owner: "c1#1", Until: 17 * second})
		}
		events = append(events, history.Event{At: 8 * second, Kind: history.OK, Process: "c1", Op: history.Extend, ID: 2, Lease: "c1#1", Until: 16 * second})
		h := &history.History{Meta: history.Meta{Nodes: []string{"n1", "n2", "n3"}, TTL: 10 * second}, Events: events}
		if got := movesUnheard(h, checker.Violation{Property: checker.LeaseExclusion, Assumption: checker.None, Events: []int{2, len(events) - 1}}); got != want {
			t.Errorf("an extension on %d of three nodes moves the end unheard: %t", moved, got)
		}
	}
	cancelled := &history.History{Meta: history.Meta{Nodes: []string{"n1"}, TTL: 10 * second}, Events: []history.Event{
		invoke, state(second, history.Set, "lock", 11*second), {At: 2 * second, Kind: history.Info, Process: "c1", Op: history.Acquire, ID: 1, Error: "context canceled"},
	}}
	for event, want := range []bool{false, true, true} { // what came only afterwards explains nothing
		if got := leavesKeyOfCancelled(cancelled, checker.Violation{Events: []int{event}}); got != want {
			t.Errorf("a violation by event %d, before or after the key was set: %t", event, got)
		}
	}
	for _, c := range cures {
		if c.shownBy == "" {
			t.Errorf("nothing shows that %q helps", c.advice)
		}
		name, id, _ := strings.Cut(c.shownBy, "/")
		s, err := script.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := s.FindRun(id); err != nil || len(r.Expect) > 0 {
			t.Errorf("%s does not show that %q helps: %v", c.shownBy, c.advice, err)
		}
	}
}
