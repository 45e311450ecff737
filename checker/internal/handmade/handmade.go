// Package handmade has histories for tests of the checker, written by hand or drawn at random.
package handmade

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/sim/history"
)

// Parts of a story in which two clients read the same value, and each adds a word to it.
const (
	Overtaken = `
		0    c1 invoke acquire
		0.1  n1 set c1#1
		0.2  c1 ok acquire c1#1 until=10
		0.3  c1 invoke read
		0.4  c1 ok read
	`
	Overtaker = `
		11   c2 invoke acquire
		12   n1 set c2#1
		12.1 c2 ok acquire c2#1 until=22
		12.2 c2 invoke update B c2#1
		12.3 resource accept B word=B c2#1 sent=12.25
		12.4 c2 ok update B c2#1
	`
	// The first client finishes, and releases the lock.
	Released = Overtaken + `
		1    c1 invoke update A c1#1
		1.1  resource accept A word=A c1#1 sent=1
		1.2  c1 ok update A c1#1
		2    c1 invoke release c1#1
		2.1  n1 delete c1#1
		2.2  c1 ok release c1#1
	`
	Overwrites = "15.003 resource accept A word=A c1#1 sent=15.001\n15.1 c1 ok update A c1#1"
)

// History reads a history that was written by hand. A line is an instant in seconds, a process, and what happened to it:
//
//	nodes 3                          the number of lock nodes (1), before the first event; likewise ttl (10s), on, probe, bound, cap
//	replica r1                       of n1
//	0.0  c1 invoke acquire           operations are numbered by themselves
//	0.1  n1 set c1#1                 also over, retime, delete, expire, lose; by= is the owner if left out, or nobody
//	0.1  r1 set c1#1 by=n1           a copy
//	0.1  c1-n1 fault cut cut_c1-n1   faults of links are known by their printed form
//	0.2  c1 ok acquire c1#1 until=9  clock= is true time if it is left out
//	0.3  c1 fault pause id=1
//	15.3 resource accept A c1#1 sent=15.2
//	15.3 resource accept A_B c1#1 word=B
//	16   n1 deliver c1 sent=3        a message from c1
//	17   r1 promote
//
// What follows # at the beginning of a line or after two spaces is a comment.
func History(t testing.TB, text string) *history.History {
	t.Helper()
	h := &history.History{Meta: history.Meta{Scenario: "story", Nodes: []string{"n1"}, TTL: 10 * time.Second}}
	next := map[string]int{}
	pending := map[string]int{} // by process and operation, the number of the operation
	for n, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut("  "+line, "  #")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) < 3 {
			header(t, &h.Meta, words[0], words[1])
			continue
		}
		e := history.Event{At: Instant(t, words[0]), Process: words[1], Kind: history.Kind(words[2])}
		e.Clock = e.At
		words = words[3:]
		switch e.Kind {
		case history.Bite:
		case history.Invoke, history.OK, history.Fail, history.Info, history.Injected:
			e.Op, words = words[0], words[1:]
		case history.Promoted, history.Followed:
			e.Kind, e.Op = history.State, string(e.Kind)
		case history.Deliver, history.Late, history.Drop:
			e.Kind, e.Op, e.By, words = history.Message, string(e.Kind), words[0], words[1:]
		default:
			e.Kind, e.Op, e.Key = history.State, string(e.Kind), "lock"
		}

		step := e.Process + " " + e.Op
		switch e.Kind {
		case history.Invoke:
			next[e.Process]++
			e.ID, e.Lock, pending[step] = next[e.Process], "stock", next[e.Process]
		case history.OK, history.Fail, history.Info:
			e.ID, e.Lock = pending[step], "stock"
		}
		for _, w := range words {
			attribute(t, &e, w)
		}
		if e.Kind == history.State && e.By == "" && e.Op != history.Expire && e.Op != history.Lose {
			e.By = history.Client(e.Lease + e.Owner)
		}
		if e.By == "nobody" {
			e.By = ""
		}
		switch e.Op {
		case history.Retime, history.Delete, history.Expire, history.Lose:
			e.Lease, e.Owner = "", e.Lease // the lease in the line is the one whose key it was
		}
		if e.Kind == "" {
			t.Fatalf("story, line %d: %q", n+1, line)
		}
		h.Events = append(h.Events, e)
	}
	return h
}

func header(t testing.TB, m *history.Meta, name, value string) {
	t.Helper()
	switch name {
	case "nodes":
		n, err := strconv.Atoi(value)
		if err != nil {
			t.Fatal(err)
		}
		m.Nodes = nil
		for i := range n {
			m.Nodes = append(m.Nodes, fmt.Sprintf("n%d", i+1))
		}
	case "replica":
		if m.Replicas == nil {
			m.Replicas = map[string]string{}
		}
		m.Replicas[value] = "n1"
	case "on":
		m.On = value
	case "ttl":
		m.TTL = Instant(t, value)
	case "probe":
		m.Probe = value
	case "bound":
		m.Bound = Instant(t, value)
	case "cap":
		m.Cap = strings.ReplaceAll(value, "_", " ")
	default:
		t.Fatalf("story: unknown header %q", name)
	}
}

func attribute(t testing.TB, e *history.Event, w string) {
	t.Helper()
	name, value, named := strings.Cut(w, "=")
	switch {
	case named && name == "ttl":
		e.TTL = Instant(t, value)
	case named && name == "until":
		e.Until = Instant(t, value)
	case named && name == "clock":
		e.Clock = Instant(t, value)
	case named && name == "wall":
		e.Wall = Instant(t, value)
	case named && name == "sent":
		e.Sent = Instant(t, value)
	case named && name == "by":
		e.By = value
	case named && name == "was":
		e.Owner = value
	case named && name == "key":
		e.Key = value
	case named && name == "lock":
		e.Lock = value
	case named && name == "word":
		e.Word = value
	case w == "renews":
		e.Renews = true
	case named && name == "id", named && name == "ppm", named && name == "fence", named && name == "keys":
		n, err := strconv.Atoi(value)
		if err != nil {
			t.Fatal(err)
		}
		switch name {
		case "id":
			e.ID = n
		case "ppm":
			e.PPM = int64(n)
		case "fence":
			e.Fence = int64(n)
		case "keys":
			e.Keys = n
		}
	case strings.Contains(w, "#"):
		e.Lease = w
	case w == "-": // an outcome without an invocation
		e.ID = 99
	default:
		e.Value = strings.ReplaceAll(w, "_", " ")
	}
}

// Instant reads a number of seconds; "never" is [history.NoEnd].
func Instant(t testing.TB, s string) time.Duration {
	t.Helper()
	if s == "never" {
		return history.NoEnd
	}
	d, err := time.ParseDuration(strings.TrimSuffix(s, "s") + "s")
	if err != nil {
		t.Fatal(err)
	}
	return d
}
