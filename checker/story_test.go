package checker

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/sim/history"
)

// story reads a history that was written by hand. A line is an instant in seconds, a process, and what happened to it:
//
//	nodes 3                          the number of lock nodes (1), before the first event; likewise ttl (10s), probe, bound, cap
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
func story(t testing.TB, text string) *history.History {
	t.Helper()
	h := &history.History{Meta: history.Meta{Scenario: "story", Nodes: []string{"n1"}, TTL: 10 * time.Second}}
	next := map[string]int{}
	pending := map[string]int{} // process and operation → number
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
		e := history.Event{At: instant(t, words[0]), Process: words[1], Kind: history.Kind(words[2])}
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
			e.Lease, e.Owner = "", e.Lease // what follows the verb is what was there
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
	case "ttl":
		m.TTL = instant(t, value)
	case "probe":
		m.Probe = value
	case "bound":
		m.Bound = instant(t, value)
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
	case named && name == "until":
		e.Until = instant(t, value)
	case named && name == "clock":
		e.Clock = instant(t, value)
	case named && name == "wall":
		e.Wall = instant(t, value)
	case named && name == "sent":
		e.Sent = instant(t, value)
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
	case w == "-": // an operation that nothing invoked
		e.ID = 99
	default:
		e.Value = strings.ReplaceAll(w, "_", " ")
	}
}

// instant reads a number of seconds; "never" is [history.NoEnd].
func instant(t testing.TB, s string) time.Duration {
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

// A verdictCase is a story and what must be found in it: the sentences of the violations, each with the assumption that
// was broken in brackets.
type verdictCase struct {
	name  string
	story string
	want  []string
}

func testProperty(t *testing.T, p Property, cases []verdictCase) {
	t.Helper()
	good, bad := 0, 0
	for _, c := range cases {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			h := story(t, c.story)
			r := Check(h, nil)
			var got []string
			for _, v := range r.Violations {
				if v.Property == p {
					got = append(got, fmt.Sprintf("%s [%s]", v.What, v.Assumption))
				}
				checkProof(t, h, v)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s\nfound:\n  %s\nwant:\n  %s", c.story, strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
			}
			want := OK
			if len(c.want) > 0 {
				want = Violated
			}
			if s := r.Status(p); s != want {
				t.Errorf("status %s, want %s (%v)", s, want, r.Unmet)
			}
		})
		if len(c.want) == 0 {
			good++
		} else {
			bad++
		}
	}
	if good < 4 || bad < 4 {
		t.Errorf("%d good and %d bad histories are too few", good, bad)
	}
}

// checkProof fails the test unless a violation is complete, and points at events that exist, each once and in order.
func checkProof(t testing.TB, h *history.History, v Violation) {
	t.Helper()
	if len(v.Events) == 0 || !slices.IsSorted(v.Events) || len(slices.Compact(slices.Clone(v.Events))) != len(v.Events) ||
		v.Events[0] < 0 || v.Events[len(v.Events)-1] >= len(h.Events) {
		t.Errorf("%q is proven by events %v of %d", v.What, v.Events, len(h.Events))
	}
	if v.What == "" || v.Assumption == "" || v.Property == "" {
		t.Errorf("incomplete violation %+v", v)
	}
}
