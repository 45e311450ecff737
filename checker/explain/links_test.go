package explain

import (
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/checker/internal/handmade"
	"lockstep/sim/history"
)

// narrate calls f with a narrator of a story, and returns its sentences.
func narrate(t *testing.T, text string, f func(n *narrator)) (told []string) {
	t.Helper()
	n := &narrator{f: facts.Of(handmade.History(t, text)), told: map[int]bool{}}
	f(n)
	for _, s := range n.story {
		told = append(told, s.Text)
	}
	return told
}

// Links with the same fault at the same time share a sentence.
func TestRoutes(t *testing.T) {
	link := func(text string) history.Link {
		f, err := history.ParseFault("cut " + text)
		if err != nil {
			t.Fatal(err)
		}
		return f.(history.Cut).Link
	}
	for _, test := range []struct{ links, want string }{
		{"c1-n1", "Then messages between c1 and n1 were lost."},
		{"c1-n1 c1-n2", "Then messages between c1 and n1 n2 were lost."},
		{"c1-n1 c1-n1", "Then messages between c1 and n1 were lost."},
		{"c1-n1 c2-n1", "Then messages between c1 c2 and n1 were lost."},
		{"c1-n1 c2-n2", "Then messages between c1 and n1 and between c2 and n2 were lost."},
		{"c1->n1 c1->n2", "Then messages from c1 to n1 n2 were lost."},
		{"c1->n1 c1-n2", ""},
		{"c1-n1 c1->n2", ""},
	} {
		words := strings.Fields(test.links)
		r, got := &route{"Then", "were lost", []history.Link{link(words[0])}}, ""
		if len(words) == 1 || r.join(&route{"Then", "were lost", []history.Link{link(words[1])}}) {
			got = r.text()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.links, got, test.want)
		}
		if r.join(&route{"Later", r.verb, r.links}) || r.join(&route{r.span, "were late", r.links}) {
			t.Errorf("%s: joined with something else", test.links)
		}
	}
}

// A message is mentioned if it took more than a quarter of a TTL, or if delays are to blame and it took at least 1/400 of one.
func TestOverdue(t *testing.T) {
	for _, test := range []struct {
		took   time.Duration
		broken checker.Assumption
		want   bool
	}{
		{2500 * time.Millisecond, checker.BoundedPause, false}, {2500*time.Millisecond + 1, checker.BoundedPause, true},
		{25 * time.Millisecond, checker.BoundedPause, false}, {25 * time.Millisecond, checker.BoundedDelay, true}, {25*time.Millisecond - 1, checker.BoundedDelay, false},
	} {
		n := &narrator{f: facts.Of(&history.History{Meta: history.Meta{TTL: 10 * time.Second}}), v: checker.Violation{Assumption: test.broken}}
		if got := n.overdue(history.Event{At: time.Second + test.took, Sent: time.Second}); got != test.want {
			t.Errorf("%v under %s: %v", test.took, test.broken, got)
		}
		if n.overdue(history.Event{At: time.Minute}) {
			t.Error("nobody knows when it left")
		}
	}
}

// TestApart: the faults on the links between two processes that were in force at some time from event 2 to event 4.
func TestApart(t *testing.T) {
	for _, test := range []struct {
		story string
		want  []int
	}{
		{"1 c1-n1 fault cut cut_c1-n1\n2 n1 set a#1\n3 n1 set a#1\n4 n1 set a#1\n5 c1-n1 fault heal heal_c1-n1", []int{0}},
		{"1 c1-n1 fault cut cut_c1-n1\n2 n1 set a#1\n3 n1 set a#1\n4 n1 set a#1", []int{0}},
		{"1 c1-n1 fault cut cut_c1-n1\n1 c1-n1 fault heal heal_c1-n1\n3 n1 set a#1\n4 n1 set a#1\n5 n1 set a#1", nil},
		{"1 n1->c1 fault cut cut_n1->c1\n2 c1->n1 fault cut cut_c1->n1\n3 n1 set a#1\n4 n1 set a#1\n5 n1 set a#1", []int{0, 1}},
		{"1 c2-n1 fault cut cut_c2-n1\n2 n1->c2 fault cut cut_n1->c2\n3 n1 set a#1\n4 n1 set a#1\n5 n1 set a#1", nil},
		{"1 n1 set a#1\n2 n1 set a#1\n3 n1 set a#1\n4 c1-n1 fault cut cut_c1-n1\n5 c1->n1 fault cut cut_c1->n1", []int{3}},
	} {
		var got []int
		told := narrate(t, test.story, func(n *narrator) { got = n.apart("c1", "n1", 2, 4) })
		if !slices.Equal(got, test.want) || len(told) == 0 && len(got) > 0 || len(told) > len(got) {
			t.Errorf("%s: %v, want %v; told %q", test.story, got, test.want, told)
		}
	}
}

// TestKept: which faults kept a message that c1 sent to the resource at 2 s, and that arrived at 9 s.
func TestKept(t *testing.T) {
	for _, test := range []struct {
		name, story, want string
	}{
		{"nothing", "1 c1 invoke write", ""},
		{"a pause", "3 resource fault pause\n8 resource fault resume", "From 3.000s to 8.000s the resource was paused."},
		{"a pause in which it left", "1 resource fault pause\n8 resource fault resume", "From 1.000s to 8.000s the resource was paused."},
		{"a pause that was over", "1 resource fault pause\n1.5 resource fault resume\n2 c1 invoke write", ""},
		{"a pause of another", "3 n1 fault pause n1\n8 n1 fault resume n1", ""},
		{"a crash", "3 resource fault crash crash_resource", ""},
		{"a hold", "1 c1->resource fault hold hold_c1->resource\n8 c1->resource fault release release_c1->resource", "From 1.000s to 8.000s messages from c1 to resource did not get through."},
		{"a hold of another", "1 c2->resource fault hold hold_c2->resource\n8 c2->resource fault release release_c2->resource", ""},
		{"a hold that was over", "1 c1->resource fault hold hold_c1->resource\n1.5 c1->resource fault release release_c1->resource\n2 c1 invoke write", ""},
	} {
		told := narrate(t, test.story+"\n9 resource accept A c1#1 sent=2", func(n *narrator) {
			n.kept("c1", history.ResourceName, 2*time.Second, len(n.f.Events)-1)
		})
		if got := strings.Join(told, " "); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestOperations: if a client is in two operations at once, each has its own outcome.
func TestOperations(t *testing.T) {
	narrate(t, "1 c1 invoke acquire\n2 c1 invoke write A\n3 c2 invoke acquire\n3 c1 ok acquire c1#1\n4 c1 ok write A\n5 c2 ok acquire c2#1\n6 c2 ok write -", func(n *narrator) {
		for in, out := range []int{3, 4, 5} {
			if got := n.outcome(in); got != out {
				t.Errorf("event %d invokes %d, want %d", in, got, out)
			}
			if got := event(n.f.Invocation, out); got != in {
				t.Errorf("event %d is the outcome of %d, want %d", out, got, in)
			}
		}
		if got := event(n.f.Invocation, 6); got != -1 {
			t.Errorf("event 6 is the outcome of %d", got)
		}
		if got := n.doing("c1", 3); got != 1 {
			t.Errorf("c1 is in %d, want 1", got)
		}
	})
}

// A key without an end is mentioned even if the violation does not name a client that asked.
func TestExplainKeyThatNobodyAskedFor(t *testing.T) {
	h := handmade.History(t, "probe probe\n0 c1 invoke acquire\n0.003 n1 set c1#1 until=never\n0.004 c1 ok acquire c1#1 until=10\n1 c1 info exit\n12 probe invoke acquire wall=-5\n22 probe fail acquire")
	for _, events := range [][]int{{1}, {1, 4}} {
		told := Story(facts.Of(h), checker.Violation{Property: checker.DeadlockFreedom, What: "nobody got it", Assumption: checker.BoundedClockError, Events: events})
		const clock = "By the clock of c1, c1#1 was over at 10.000s. Its key on n1 has no expiry, and by the wall clock of probe the lease still lasted."
		if got := slices.ContainsFunc(told, func(s Sentence) bool { return s.Text == clock }); got != (len(events) > 1) {
			t.Errorf("%v: %v", events, told)
		}
	}
}

// TestAlone: which fault is to blame if the only node could not be asked, from event 2 to event 4.
func TestAlone(t *testing.T) {
	const asks = "\n1 c1 invoke acquire\n2 n1 retime a#1\n3 c2 invoke read\n4 c1 fail acquire\n5 n1 retime a#1"
	for _, test := range []struct {
		name, story string
		want        []int
	}{
		{"none", "0 c2 invoke read\n0 c2 ok read" + asks, nil},
		{"a crash", "0 n1 fault crash crash_n1\n0 c2 ok read" + asks, []int{0}},
		{"a stop", "0 n1 fault stop stop_n1\n0 c2 ok read" + asks, []int{0}},
		{"a pause", "0 n1 fault pause\n0 c2 ok read" + asks, []int{0}},
		{"a pause that was over", "0 n1 fault pause\n0 n1 fault resume" + asks, nil},
		{"a pause of another", "0 c2 fault pause\n0 c2 ok read" + asks, nil},
		{"a jump", "0 n1 fault jump jump_n1_+1s\n0 c2 ok read" + asks, nil},
		{"a cut", "0 c1-n1 fault cut cut_c1-n1\n0 c2 ok read" + asks, []int{0}},
		{"a delay", "0 c1-n1 fault delay delay_c1-n1_25ms\n0 c2 ok read" + asks, []int{0}},
		{"a short delay", "0 c1-n1 fault delay delay_c1-n1_24ms\n0 c2 ok read" + asks, nil},
		{"two nodes", "nodes 2\n0 n1 fault crash crash_n1\n0 c2 ok read" + asks, nil},
		{"a replica", "replica r1\n0 n1 fault crash crash_n1\n0 c2 ok read" + asks, nil},
	} {
		narrate(t, test.story, func(n *narrator) {
			if n.alone([]string{"c1"}, 2, 5); !slices.Equal(n.blame.Events, test.want) {
				t.Errorf("%s: %v, want %v", test.name, n.blame.Events, test.want)
			}
		})
	}
}

// TestUnsent: whether a client sent nothing in an operation, in a history that has messages.
func TestUnsent(t *testing.T) {
	const before = "0 n1 deliver c1 sent=0\n1 c1 invoke release c1#1\n"
	for _, test := range []struct {
		name, story string
		want        bool
	}{
		{"nothing", before + "2 c1 fail release c1#1", true},
		{"a request", before + "1.1 n1 deliver c1 sent=1\n2 c1 fail release c1#1", false},
		{"a request that arrived later", before + "2 c1 fail release c1#1\n3 n1 deliver c1 sent=1.5", false},
		{"a request that left later", before + "2 c1 fail release c1#1\n3 n1 deliver c1 sent=2.5", true},
		{"a request to the resource", before + "1.1 resource deliver c1 sent=1\n2 c1 fail release c1#1", true},
		{"a request of another", before + "1.1 n1 deliver c2 sent=1\n2 c1 fail release c1#1", true},
		{"a cut link", before + "1.1 c1-n1 fault cut cut_c1-n1\n2 c1 fail release c1#1", false},
		{"a cut link of another", before + "1.1 c2-n1 fault cut cut_c2-n1\n2 c1 fail release c1#1", true},
		{"a history without messages", "0 n1 set c1#1\n1 c1 invoke release c1#1\n2 c1 fail release c1#1", false},
	} {
		narrate(t, test.story, func(n *narrator) {
			out := n.before(len(n.f.Events), func(e history.Event) bool { return e.Kind == history.Fail })
			if got := n.unsent(1, out); got != test.want {
				t.Errorf("%s: %v", test.name, got)
			}
		})
	}
}
