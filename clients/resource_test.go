package clients_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"lockstep/clients"
	"lockstep/sim/history"
)

func newResource(t rapid.TB, kind string) *clients.Resource {
	t.Helper()
	r, err := clients.NewResource(kind)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNewResource(t *testing.T) {
	for _, kind := range clients.Resources() {
		if _, err := clients.NewResource(kind); (err == nil) != (kind != clients.Counter) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	_, err := clients.NewResource(clients.Counter)
	if err == nil || !strings.Contains(err.Error(), "Redis server") {
		t.Errorf("the counter: %v, want an error that says what it is", err)
	}
	_, err = clients.NewResource("feneced")
	if err == nil {
		t.Fatal("made a resource of a kind that does not exist")
	}
	for _, word := range append(clients.Resources(), `"feneced"`, `did you mean "fenced"?`) {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error does not mention %s: %v", word, err)
		}
	}
}

// TestApply sends requests, one after the other, to a resource of each kind. A number stands for a write with that fence, of a
// value that shows it.
func TestApply(t *testing.T) {
	for _, c := range []struct {
		kind   string
		fences []int64
		want   string // what happened to each request, then the value
	}{
		{clients.Plain, nil, "value "},
		{clients.Plain, []int64{0, 0}, "accept accept value 2:0"},
		{clients.Plain, []int64{2, 1}, "accept accept value 2:1"}, // plain does not compare
		{clients.FencedStore, []int64{1, 2, 5}, "accept accept accept value 3:5"},
		{clients.FencedStore, []int64{2, 1}, "accept reject value 1:2"},
		{clients.FencedStore, []int64{2, 2}, "accept accept value 2:2"}, // the same holder writes again
		{clients.FencedStore, []int64{2, 1, 2}, "accept reject accept value 3:2"},
		{clients.FencedStore, []int64{5, 3, 4, 6}, "accept reject reject accept value 4:6"}, // a rejected fence does not count
		{clients.FencedStore, []int64{0, 1, 0}, "accept accept reject value 2:1"},           // no fence counts as lower than any
		{clients.FencedStore, []int64{0, 0}, "accept accept value 2:0"},
	} {
		r := newResource(t, c.kind)
		var got []string
		for i, fence := range c.fences {
			q := clients.Request{Op: history.Write, Lock: "lock", Lease: "c1#1", Fence: fence, Value: fmt.Sprintf("%d:%d", i+1, fence)}
			reply, e := r.Apply(q)
			if e == nil {
				t.Fatalf("%s %v: write %d left no event", c.kind, c.fences, i+1)
			}
			if want := (history.Event{Kind: history.State, Op: e.Op, Lock: q.Lock, Lease: q.Lease, Fence: q.Fence, Value: q.Value, Error: reply.Error}); *e != want {
				t.Errorf("%s %v: write %d: event %+v, want %+v", c.kind, c.fences, i+1, *e, want)
			}
			if rejected := e.Op == history.Reject; rejected != (reply.Error != "") || reply.Value != "" {
				t.Errorf("%s %v: write %d: %s, and the reply is %+v", c.kind, c.fences, i+1, e.Op, reply)
			}
			got = append(got, e.Op)
		}
		reply, e := r.Apply(clients.Request{Op: history.Read})
		if e != nil || reply.Error != "" {
			t.Errorf("read: %+v, %+v", reply, e)
		}
		if got := strings.Join(append(got, "value "+reply.Value), " "); got != c.want {
			t.Errorf("%s %v: %s, want %s", c.kind, c.fences, got, c.want)
		}
	}
}

func TestRejectionSaysWhy(t *testing.T) {
	r := newResource(t, clients.FencedStore)
	r.Apply(clients.Request{Op: history.Write, Fence: 34})
	reply, _ := r.Apply(clients.Request{Op: history.Write, Fence: 33})
	if reply.Error != "fence 33 < 34" {
		t.Errorf("%q", reply.Error)
	}
}

// The fences of the writes that a fenced resource accepts never decrease, and it rejects no other write. Its value is the last
// accepted one.
func TestFencedStoreNeverGoesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fences := rapid.SliceOf(rapid.Int64Range(0, 6)).Draw(t, "fences")
		r := newResource(t, clients.FencedStore)
		var accepted []int64
		last := ""
		for i, fence := range fences {
			q := clients.Request{Op: history.Write, Fence: fence, Value: fmt.Sprint(i)}
			_, e := r.Apply(q)
			fits := len(accepted) == 0 || fence >= accepted[len(accepted)-1]
			if fits != (e.Op == history.Accept) {
				t.Fatalf("after %v, fence %d: %s", accepted, fence, e.Op)
			}
			if fits {
				accepted, last = append(accepted, fence), q.Value
			}
		}
		if reply, _ := r.Apply(clients.Request{Op: history.Read}); reply.Value != last || !slices.IsSorted(accepted) {
			t.Fatalf("value %q after %v, want %q", reply.Value, accepted, last)
		}
	})
}

// requests sends requests in the form in which they are described, with a lease last or before its fence, and returns what happened
// to each.
func requests(t *testing.T, r *clients.Resource, lines ...string) (outcomes []string) {
	t.Helper()
	for _, line := range lines {
		q := clients.Request{Lock: "lock"}
		words := strings.Fields(line)
		q.Op, words = words[0], words[1:]
		if n := len(words); n > 2 && words[n-2] == "fence" {
			fmt.Sscan(words[n-1], &q.Fence)
			words = words[:n-2]
		}
		if n := len(words); n > 0 && strings.Contains(words[n-1], "#") {
			q.Lease, words = words[n-1], words[:n-1]
		}
		if n := len(words); n > 0 && words[n-1] == "blind" {
			q.Blind, words = true, words[:n-1]
		}
		q.Value = strings.Join(words, " ")
		if q.Op == history.Update {
			q.Word = words[len(words)-1]
		}
		line, _ := json.Marshal(q)
		if got := r.Describe(line, false, nil); got != strings.Join(strings.Fields(got), " ") {
			t.Errorf("described as %q", got)
		}
		reply, e := r.Apply(q)
		if e == nil {
			outcomes = append(outcomes, strings.TrimSpace(reply.Value+reply.Error))
			continue
		}
		if e.Kind != history.State || e.Lock != q.Lock || e.Lease != q.Lease || e.Fence != q.Fence || e.Value != q.Value || e.Word != q.Word || e.Error != reply.Error {
			t.Errorf("%+v: event %+v, reply %+v", q, *e, reply)
		}
		outcomes = append(outcomes, strings.TrimSpace(e.Op+" "+e.Error))
	}
	return outcomes
}

// Writes need the lease that entered last, and every lease may enter. A blind write is not checked.
func TestCheckAndSet(t *testing.T) {
	r := newResource(t, clients.CheckAndSet)
	for _, c := range [][2]string{
		{"write A c1#1", "reject there is no mark"},
		{"enter c1#1", "mark"},
		{"write A c1#1", "accept"},
		{"read", "A"},
		{"enter c2#1", "mark"},
		{"write B c1#1", "reject mark is c2#1"},
		{"update A b c1#1", "reject mark is c2#1"},
		{"read", "A"},
		{"update A c c2#1", "accept"},
		{"read", "A c"},
		{"enter c1#1", "mark"}, // the zombie shuts out the rightful holder
		{"write D c2#1", "reject mark is c1#1"},
		{"write E blind c2#1", "accept"},
		{"read", "E"},
		{"write F c1#1", "accept"}, // a blind write does not change the mark
		{"write G c1#1 fence 1", "accept"},
		{"write H c1#1", "accept"}, // it ignores fences
		{"read", "H"},
	} {
		if got := requests(t, r, c[0]); got[0] != c[1] {
			t.Errorf("%s: %q, want %q", c[0], got[0], c[1])
		}
	}
}

// A blind write ignores the mark, but not the fence.
func TestBlindWriteIsFenced(t *testing.T) {
	r := newResource(t, clients.FencedStore)
	same(t, "outcomes", requests(t, r, "write A c2#1 fence 2", "write B blind c1#1 fence 1"), []string{"accept", "reject fence 1 < 2"})
}

// To every resource that compares, an update is a write.
func TestUpdateIsFenced(t *testing.T) {
	r := newResource(t, clients.FencedStore)
	same(t, "outcomes",
		requests(t, r, "update a c1#1 fence 1", "update a b c2#1 fence 2", "update a c c1#1 fence 1", "read"),
		[]string{"accept", "accept", "reject fence 1 < 2", "a b"})
	r = newResource(t, clients.Plain)
	same(t, "outcomes", requests(t, r, "update a c1#1", "update a b c2#1", "update a c c1#1", "read"), []string{"accept", "accept", "accept", "a c"})
}

// Only the same lease may overwrite its value. The newest version is that of the highest fence, whenever it came; without fences,
// it is the last one.
func TestVersioned(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{nil, ""},
		{[]string{"write A c1#1 fence 33"}, "A"},
		{[]string{"write A c1#1 fence 33", "write B c2#1 fence 34"}, "B"},
		{[]string{"write B c2#1 fence 34", "write A c1#1 fence 33"}, "B"},
		{[]string{"write B c2#1 fence 34", "write A c1#1 fence 33", "write C c2#1 fence 34"}, "C"},
		{[]string{"update x y c2#1 fence 34", "update x z c1#1 fence 33"}, "x y"},
		{[]string{"write A c1#1", "write B c2#1"}, "B"},
		{[]string{"write B c2#1", "write A c1#1", "write C c2#1"}, "C"},
		{[]string{"write A c1#1 fence 1", "write B c2#1"}, "A"}, // no fence counts as lower than any
	} {
		r := newResource(t, clients.Versioned)
		for _, got := range requests(t, r, c.lines...) {
			if got != history.Keep {
				t.Errorf("%q: %s", c.lines, got)
			}
		}
		if got := requests(t, r, "read")[0]; got != c.want {
			t.Errorf("%q: %q, want %q", c.lines, got, c.want)
		}
	}
}

// Only one kind of resource has a mark.
func TestEnterElsewhere(t *testing.T) {
	for _, kind := range []string{clients.Plain, clients.FencedStore, clients.Versioned} {
		same(t, kind, requests(t, newResource(t, kind), "enter c1#1"), []string{`unknown request "enter"`})
	}
}

func TestUnknownRequest(t *testing.T) {
	r := newResource(t, clients.Plain)
	for _, op := range []string{"", "append", "WRITE"} {
		reply, e := r.Apply(clients.Request{Op: op, Value: "A"})
		if want := fmt.Sprintf("unknown request %q", op); reply.Error != want || e != nil {
			t.Errorf("%q: %+v, %+v", op, reply, e)
		}
	}
	if reply, _ := r.Apply(clients.Request{Op: history.Read}); reply.Value != "" {
		t.Errorf("it left the value %q", reply.Value)
	}
}

// Answer is Apply for lines of JSON. A line that is not JSON is refused.
func TestAnswer(t *testing.T) {
	r := newResource(t, clients.FencedStore)
	for _, c := range []struct{ request, reply, op string }{
		{`{"op":"write","lock":"lock","lease":"c1#1","fence":2,"value":"A"}`, "{}\n", history.Accept},
		{`{"op":"write","fence":1,"value":"B"}`, "{\"error\":\"fence 1 \\u003c 2\"}\n", history.Reject},
		{`{"op":"read"}`, "{\"value\":\"A\"}\n", ""},
		{`{"op":"update","fence":2,"value":"A B","word":"B"}`, "{}\n", history.Accept},
	} {
		reply, e := r.Answer([]byte(c.request))
		op := ""
		if e != nil {
			op = e.Op
		}
		if string(reply) != c.reply || op != c.op {
			t.Errorf("%s: %q %s, want %q %s", c.request, reply, op, c.reply, c.op)
		}
	}
	defer func() {
		if text := fmt.Sprint(recover()); !strings.HasPrefix(text, "clients: ") {
			t.Errorf("bytes that are no request: %s", text)
		}
	}()
	r.Answer([]byte("SET lock 1"))
}

func TestDescribe(t *testing.T) {
	r := newResource(t, clients.Plain)
	for _, c := range []struct {
		reply      bool
		data, want string
	}{
		{false, `{"op":"write","lock":"lock","lease":"c1#1","fence":33,"value":"A"}`, "write A c1#1 fence 33"},
		{false, `{"op":"write","value":"A"}`, "write A"},
		{false, `{"op":"write","lease":"c1#1","value":"A","blind":true}`, "write A blind c1#1"},
		{false, `{"op":"update","lease":"c1#1","fence":2,"value":"A B","word":"B"}`, "update A B c1#1 fence 2"},
		{false, `{"op":"enter","lease":"c1#1"}`, "enter c1#1"},
		{false, `{"op":"read"}`, "read"},
		{false, "no request", "no request"},
		{true, "{}\n", "ok"},
		{true, "{\"value\":\"A\"}\n", "A"},
		{true, "{\"error\":\"fence 1 \\u003c 2\"}\n", "rejected: fence 1 < 2"},
		{true, "no reply", "no reply"},
	} {
		if got := r.Describe([]byte(c.data), c.reply, nil); got != c.want {
			t.Errorf("Describe(%q) = %q, want %q", c.data, got, c.want)
		}
	}
}

// Requests that arrive together are answered one by one, in their order, and the history has every write with its sender and the
// time at which it was sent.
func TestResourceService(t *testing.T) {
	r := play(t, 0, func(s *stage) {
		p := clients.ServeResource(s.World, "resource", newResource(t, clients.FencedStore))
		s.client("c1", func(c *client) {
			conn, err := c.DialContext(c.ctx, "tcp", p.Addr())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			var lines []byte
			for _, q := range []clients.Request{
				{Op: history.Write, Lease: "c1#2", Fence: 2, Value: "A"},
				{Op: history.Write, Lease: "c1#1", Fence: 1, Value: "B"},
				{Op: history.Read},
			} {
				line, _ := json.Marshal(q)
				lines = append(append(lines, line...), '\n')
			}
			conn.Write(lines)
			from := bufio.NewReader(conn)
			for _, want := range []string{"{}\n", "{\"error\":\"fence 1 \\u003c 2\"}\n", "{\"value\":\"A\"}\n"} {
				if got, err := from.ReadString('\n'); got != want || err != nil {
					t.Errorf("reply %q, %v, want %q", got, err, want)
				}
			}
		})
	})
	var got []string
	for _, e := range r.events {
		if e.Kind == history.State {
			got = append(got, fmt.Sprint(e.Process, " ", e.Op, " ", e.Value, " ", e.Lease, " by ", e.By, " sent ", e.Sent, " at ", e.At))
		}
	}
	same(t, "states", got, []string{
		fmt.Sprint("resource accept A c1#2 by c1 sent ", 2*hop, " at ", 3*hop),
		fmt.Sprint("resource reject B c1#1 by c1 sent ", 2*hop, " at ", 3*hop),
	})
}
