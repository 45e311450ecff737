package reports

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/reports/internal/sample"
	"lockstep/sim/history"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files in testdata")

func text(t testing.TB, r sample.Run, o TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, facts.Of(r.H), r.Result, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextGolden(t *testing.T) {
	for _, r := range sample.Runs(t) {
		t.Run(r.Name, func(t *testing.T) {
			golden(t, r.Name+".txt", text(t, r, TextOptions{}))
		})
	}
	r := sample.Runs(t)[0]
	golden(t, "everything.txt", text(t, r, TextOptions{Verbose: true, Messages: true}))
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run go test ./reports -rewrite and read the diff. Got:\n%s", path, got)
	}
}

// Measurements come after the verdict, and change nothing before it.
func TestTextMeasurements(t *testing.T) {
	r := sample.Runs(t)[0]
	long := strings.Repeat("word ", 40) + "word"
	got := text(t, r, TextOptions{Measurements: []checker.Measurement{
		{Quantity: checker.Unavailability, Text: "9.870s"}, {Quantity: checker.RoundTrips, Text: long},
	}, Unexplained: true})
	rest, ok := strings.CutPrefix(got, text(t, r, TextOptions{Unexplained: true}))
	if want := "reported:\n  unavailability      9.870s\n  round trips         word word"; !ok || !strings.HasPrefix(rest, want) {
		t.Errorf("got\n%s\nwant the rest to begin with\n%s", got, want)
	}
	for line := range strings.Lines(rest) {
		if len(line) > Width+1 {
			t.Errorf("a line is too wide: %q", line)
		}
	}
	if words := strings.Count(rest, "word"); words != 41 {
		t.Errorf("%d words, want 41", words)
	}
}

// Lines must fit a terminal and a scenario file, and editors that trim spaces must not change them.
func TestTextLines(t *testing.T) {
	rs := append(sample.Runs(t), sample.Hostile())
	for _, r := range rs {
		for line := range strings.Lines(text(t, r, TextOptions{Verbose: true, Messages: true})) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > Width {
				t.Errorf("%s: %d columns: %s", r.Name, n, line)
			}
			if line != strings.TrimRight(line, " ") {
				t.Errorf("%s: trailing space: %q", r.Name, line)
			}
		}
	}
}

// A lease that is extended after its end is said to be revived.
func TestTextTellsRevivals(t *testing.T) {
	at := func(d time.Duration, process string, kind history.Kind, op string, id int, until time.Duration) history.Event {
		return history.Event{At: d * time.Second, Clock: d * time.Second, Process: process, Kind: kind, Op: op, ID: id, Lock: "lock", Lease: "c1#1", Until: until * time.Second}
	}
	for _, lost := range []bool{false, true} {
		events := []history.Event{at(0, "c1", history.Invoke, history.Acquire, 1, 0), at(1, "c1", history.OK, history.Acquire, 1, 10)}
		want := "c1#1, valid until 22.000s, after it had ended at 10.000s\n"
		if lost {
			events = append(events, at(4, "c1", history.Info, history.Lost, 0, 0))
			want = "c1#1, valid until 22.000s, after it was reported as lost at 4.000s\n"
		}
		events = append(events,
			at(12, "c1", history.Invoke, history.Extend, 2, 0), at(12, "c1", history.OK, history.Extend, 2, 22),
			at(13, "c1", history.Invoke, history.Extend, 3, 0), at(13, "c1", history.OK, history.Extend, 3, 23))
		h := &history.History{Meta: history.Meta{Nodes: []string{"n1"}, Clients: []string{"c1"}, TTL: 10 * time.Second}, Events: events}
		var b bytes.Buffer
		if err := Text(&b, facts.Of(h), checker.Check(facts.Of(h), nil), TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(got, strings.TrimSpace(want)) || strings.Count(got, "after it") != 1 {
			t.Errorf("want one line with %q, got\n%s", want, b.String())
		}
	}
}

// A key that stands for no lease, such as a count of clients, has no owner in any line or sentence.
func TestTextTellsKeysWithoutLease(t *testing.T) {
	at := func(d time.Duration, op, by string, until time.Duration) history.Event {
		return history.Event{At: d * time.Second, Clock: d * time.Second, Process: "n1", Kind: history.State, Op: op, Lock: "lock", Key: "lock", By: by, Until: until * time.Second}
	}
	h := &history.History{Meta: history.Meta{Nodes: []string{"n1"}, Clients: []string{"c1"}, TTL: 10 * time.Second}, Events: []history.Event{
		at(1, history.Set, "c1", 11), at(2, history.Retime, "c1", 12), at(3, history.Delete, "c1", 0), at(4, history.Set, "c1", 14), at(14, history.Expire, "", 0)}}
	f := facts.Of(h)
	var b bytes.Buffer
	if err := Text(&b, f, checker.Check(f, nil), TextOptions{Verbose: true}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, " n1 ") && strings.Contains(strings.TrimSpace(line)+" ", " of ") {
			t.Errorf("a line names an owner: %s", line)
		}
	}
	var steps []string
	for _, s := range Steps(f, checker.Check(f, nil), wholeRun) {
		steps = append(steps, s.Text)
	}
	if got, want := strings.Join(steps, " "), "n1 extended the key lock. n1 deleted the key lock, for c1."; !strings.Contains(got, want) || !strings.HasSuffix(got, "The key lock expired on n1.") {
		t.Errorf("the steps are %q", got)
	}
}

// Events that prove a violation are shown, however much is folded.
func TestTextMarksProof(t *testing.T) {
	for _, r := range sample.Runs(t) {
		got := strings.Contains(text(t, r, TextOptions{}), "\n!")
		if want := len(r.Result.Violations) > 0; got != want {
			t.Errorf("%s: marked %v, want %v", r.Name, got, want)
		}
	}
}

func TestTextPaintKeepsText(t *testing.T) {
	for _, r := range sample.Runs(t) {
		plain := text(t, r, TextOptions{})
		painted := text(t, r, TextOptions{Paint: func(role Role, s string) string { return fmt.Sprintf("\x1b[3%dm%s\x1b[0m", role, s) }})
		if plain == painted {
			t.Errorf("%s: nothing was painted", r.Name)
		}
		for role := range Aside + 1 {
			painted = strings.ReplaceAll(painted, fmt.Sprintf("\x1b[3%dm", role), "")
		}
		if painted = strings.ReplaceAll(painted, "\x1b[0m", ""); painted != plain {
			t.Errorf("%s: paint changed the text:\n%s\nwant:\n%s", r.Name, painted, plain)
		}
	}
}

func TestTextSpellsOutThreeViolations(t *testing.T) {
	r := checker.Result{Verdict: checker.Unsafe, Statuses: []checker.PropertyStatus{{Property: checker.OwnerOnly, Status: checker.Violated}}}
	for i := range 5 {
		r.Violations = append(r.Violations, checker.Violation{Property: checker.OwnerOnly, What: fmt.Sprint("breach ", i), Assumption: checker.None})
	}
	got := text(t, sample.Run{Name: "", H: &history.History{}, Result: r}, TextOptions{})
	for _, want := range []string{"VIOLATED  breach 0   (no assumption broken)", "breach 2", "and 2 more"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "breach 3") {
		t.Errorf("more than three:\n%s", got)
	}
}

// If there are many reasons for UNKNOWN, only the first are shown.
func TestTextBoundsReasons(t *testing.T) {
	r := sample.Runs(t)[0]
	r.Result.Verdict, r.Result.Unmet = checker.Inconclusive, nil
	for i := range 1000 {
		r.Result.Unmet = append(r.Result.Unmet, fmt.Sprintf("reason %d", i+1))
	}
	got := text(t, r, TextOptions{})
	if !strings.Contains(got, "because             reason 20\n  because             and 980 more reasons\n") || strings.Contains(got, "reason 21") {
		t.Error(got)
	}
}

// Only the first violation of each property is explained, and a beginning that two explanations share is written once. All
// explanations can be switched off.
func TestTextExplains(t *testing.T) {
	r := sample.Judged("failover", sample.Failover(true))
	got := text(t, r, TextOptions{})
	for _, want := range []string{
		"\nwhy lease exclusion was violated\n   1. From 0.000s to 7.001s messages from n1 to r1 did not get through.\n",
		"\nwhy resource exclusion was violated\n   1. to 6. as for lease exclusion\n   7. c2 wrote B",
	} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, got)
		}
	}
	r.Result.Violations = append(r.Result.Violations, r.Result.Violations...)
	if again := text(t, r, TextOptions{}); strings.Count(again, "why ") != 2 {
		t.Errorf("more than the first is explained:\n%s", again)
	}
	if got := text(t, r, TextOptions{Unexplained: true}); strings.Contains(got, "why ") {
		t.Errorf("explained although explanations are switched off:\n%s", got)
	}
}

// Operations that a client repeats many times are shown at the beginning and at the end.
func TestTextFoldsRepeats(t *testing.T) {
	r := sample.Judged("counter", sample.Counter())
	got := text(t, r, TextOptions{})
	for _, want := range []string{"c1       ok      increment ×17   since 0.011s\n", "increment       c1#2, 3\n", "increment       c1#20, 39\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "c1#3") || strings.Contains(got, "c1#19") {
		t.Errorf("not folded:\n%s", got)
	}
	if all := text(t, r, TextOptions{Verbose: true}); strings.Contains(all, "×") || !strings.Contains(all, "c1#19") {
		t.Errorf("folded although Verbose is set:\n%s", all)
	}
	for i := range r.H.Events {
		if e := &r.H.Events[i]; e.Op == history.Increment && e.Kind == history.OK && e.Value == "21" {
			e.Kind, e.Value, e.Error = history.Fail, "", "increment skipped"
			r.Result.Violations = []checker.Violation{{Property: checker.NoLostUpdate, What: "lost", Events: []int{i}}}
		}
	}
	got = text(t, r, TextOptions{})
	if !strings.Contains(got, "since 0.011s: 1 not done\n") || !strings.Contains(got, "\n!  0.0") {
		t.Errorf("the skipped increment is not mentioned, or not marked as proof:\n%s", got)
	}
}

// Attempts that nobody answered are folded only if they changed nothing: a reader must see a key that was set.
func TestTextFoldsWhatChangedNothing(t *testing.T) {
	h := sample.Failover(true)
	want := "  1.805s  c2       info     acquire ×4      since 1.200s: connection refused\n"
	if got := text(t, sample.Judged("failover", h), TextOptions{}); !strings.Contains(got, want) {
		t.Errorf("%q is missing in:\n%s", want, got)
	}
	for i := range h.Events {
		if e := &h.Events[i]; e.Op == history.Acquire && e.Kind == history.Info && e.At > 1500*time.Millisecond {
			set := history.Event{At: e.At, Process: "r1", Kind: history.State, Op: history.Set, Key: "lock", Lease: "c2#9", By: "c2"}
			h.Events = slices.Insert(h.Events, i, set)
			break
		}
	}
	got := text(t, sample.Judged("failover", h), TextOptions{})
	if !strings.Contains(got, "for c2#9") || !strings.Contains(got, "acquire ×2") || strings.Contains(got, "acquire ×4") {
		t.Errorf("a key is hidden:\n%s", got)
	}
}

func TestServers(t *testing.T) {
	m := history.Meta{Nodes: []string{"n1", "n2"}, Replicas: map[string]string{"r2": "n1", "r1": "n1", "r3": "n2", "r4": "n9"}, Others: []string{"s1", "n1"}}
	if got, want := strings.Join(Servers(m), " "), "n1 r1 r2 n2 r3 r4 s1"; got != want {
		t.Errorf("servers %q, want %q", got, want)
	}
}

func TestRanges(t *testing.T) {
	all := []string{"n1", "n2", "n3", "n4", "n5"}
	for want, nodes := range map[string][]string{
		"n1":        {"n1"},
		"n1,n2":     {"n2", "n1"},
		"n1..n5":    all,
		"n1..n3,n5": {"n5", "n3", "n1", "n2"},
		"n2,n4":     {"n4", "n2"},
	} {
		if got := Ranges(nodes, all); got != want {
			t.Errorf("ranges(%v) = %q, want %q", nodes, got, want)
		}
	}
	mixed := []string{"n1", "r1", "r2", "r3", "s1"}
	if got := Ranges(mixed, mixed); got != "n1,r1..r3,s1" {
		t.Errorf("ranges(%v) = %q", mixed, got)
	}
}

func TestPrintable(t *testing.T) {
	for _, c := range []struct {
		in   string
		max  int
		want string
	}{
		{"write A", 10, "write A"},
		{"écrit · 写", 20, "écrit · 写"},
		{"a\nb\x1b[31m\x00", 20, "a?b?[31m?"},
		{"abc\u202ecba\u200f", 20, "abc?cba?"},
		{"\xff\xfe", 20, "??"},
		{"10\u00a0s", 20, "10\u00a0s"}, // no-break spaces are allowed
		{"exactly ten", 11, "exactly ten"},
		{"one too many", 11, "one too ma…"},
	} {
		if got := Printable(c.in, c.max); got != c.want {
			t.Errorf("printable(%q, %d) = %q, want %q", c.in, c.max, got, c.want)
		}
	}
}

// Printed text has no control characters, and none that hide the text beside them or reverse its direction.
func TestVisible(t *testing.T) {
	const hostile = "a\tb\r\n\x1b[2J\x1b]0;title\a\u009b31m\x7f \u202ecba\u2066\u200f\u200b\ufeff \xff 写\u00a0é"
	if got, want := Visible(hostile), "a b? ?[2J?]0;title??31m? ?cba???? ? 写\u00a0é"; got != want {
		t.Errorf("Visible: %q, want %q", got, want)
	}
	if got, want := VisibleLines(hostile), "a\tb?\n?[2J?]0;title??31m? ?cba???? ? 写\u00a0é"; got != want {
		t.Errorf("VisibleLines: %q, want %q", got, want)
	}
}

func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                   "0.000s",
		1_999_999:                           "0.001s", // cut, not rounded, as in the sentences of the checker
		12*time.Second + 4*time.Millisecond: "12.004s",
		-1500 * time.Millisecond:            "-1.500s",
		100*time.Second + 999_999_999:       "100.999s",
	} {
		if got := history.Seconds(d); got != want {
			t.Errorf("seconds(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		250 * time.Microsecond:             "250 µs",
		1500 * time.Microsecond:            "1.5 ms",
		9999 * time.Microsecond:            "10 ms",
		200 * time.Millisecond:             "200 ms",
		5*time.Second - 4*time.Millisecond: "5.0 s",
		9999 * time.Millisecond:            "10 s",
		90 * time.Second:                   "90 s",
	} {
		if got := Span(d); got != want {
			t.Errorf("span(%v) = %q, want %q", d, got, want)
		}
	}
}

// A probe that got the lock at once and released it becomes a single line. One that is slow, is refused, finds the key of another
// client, or is proof stays as it is.
func TestTextFoldsProbe(t *testing.T) {
	const folded = "probe    ok      acquire, release  since 12.006s\n"
	calm := func() sample.Run {
		for _, r := range sample.Runs(t) {
			if r.Name == "calm" {
				return r
			}
		}
		t.Fatal("there is no run calm")
		return sample.Run{}
	}
	if got := text(t, calm(), TextOptions{}); !strings.Contains(got, folded) || strings.Count(got, "probe") != 1 {
		t.Errorf("not folded:\n%s", got)
	}
	for _, o := range []TextOptions{{Verbose: true}, {Messages: true}} {
		if got := text(t, calm(), o); strings.Contains(got, folded) || !strings.Contains(got, "probe    ok      acquire         probe#1") {
			t.Errorf("%+v: the probe is folded:\n%s", o, got)
		}
	}
	for what, change := range map[string]func(r *sample.Run, i int, e *history.Event){
		"slow": func(r *sample.Run, _ int, e *history.Event) {
			if e.Process == "probe" && e.Kind == history.Invoke && e.Op == history.Acquire {
				e.At -= TellingDelay
			}
		},
		"refused": func(r *sample.Run, _ int, e *history.Event) {
			if e.Process == "probe" && e.Kind == history.OK && e.Op == history.Acquire {
				e.Kind, e.Lease, e.Error = history.Fail, "", "lock not acquired"
			}
		},
		"not released": func(r *sample.Run, _ int, e *history.Event) {
			if e.Process == "probe" && e.Kind == history.OK && e.Op == history.Release {
				e.Kind = history.Info
			}
		},
		"finds a key": func(r *sample.Run, _ int, e *history.Event) {
			if e.By == "probe" && e.Kind == history.State && e.Op == history.Set {
				e.Op, e.Owner = history.Over, "c2#1"
			}
		},
		"its key expires": func(r *sample.Run, _ int, e *history.Event) {
			if e.Owner == "probe#1" {
				e.Op = history.Expire
			}
		},
		"is paused": func(r *sample.Run, _ int, e *history.Event) {
			if e.Kind == history.Injected {
				e.Process = "probe"
			}
		},
		"proves": func(r *sample.Run, i int, e *history.Event) {
			if e.Process == "probe" && e.Kind == history.Invoke && e.Op == history.Release {
				r.Result.Violations = []checker.Violation{{Property: checker.OwnerOnly, Events: []int{i}, Assumption: checker.None}}
			}
		},
	} {
		r := calm()
		h := *r.H
		h.Events = slices.Clone(h.Events)
		r.H = &h
		for i := range h.Events {
			change(&r, i, &h.Events[i])
		}
		got := text(t, r, TextOptions{Unexplained: true})
		if strings.Contains(got, "acquire, release") || !strings.Contains(got, "probe    ok") {
			t.Errorf("%s, but folded:\n%s", what, got)
		}
	}
}

// An invocation is shown if it is proof, if its outcome came late or never, or if something else happened before that.
func TestTextFoldsInvocations(t *testing.T) {
	const invoked = "c1       invoke  write A"
	event := func(at time.Duration, process string, kind history.Kind, op, by string) history.Event {
		e := history.Event{At: at * time.Millisecond, Process: process, Kind: kind, Op: op, Value: "A", By: by, Lease: "c1#1"}
		if kind != history.State {
			e.ID = 1
		}
		return e
	}
	invoke, ok := event(0, "c1", history.Invoke, history.Write, ""), event(9, "c1", history.OK, history.Write, "")
	set := event(5, "n1", history.State, history.Set, "c1")
	copied := event(6, "r1", history.State, history.Set, "n1")
	late, other := ok, ok
	late.At, other.Process = 100*time.Millisecond, "c2"
	for _, test := range []struct {
		what   string
		events []history.Event
		proof  []int
		shown  bool
	}{
		{"at once", []history.Event{invoke, ok}, nil, false},
		{"what it changed", []history.Event{invoke, set, copied, ok}, nil, false},
		{"the outcome is proof", []history.Event{invoke, set, ok}, []int{1, 2}, false},
		{"it is proof", []history.Event{invoke, set, ok}, []int{0}, true},
		{"no outcome", []history.Event{invoke, set}, nil, true},
		{"late", []history.Event{invoke, set, late}, nil, true},
		{"another client", []history.Event{invoke, other, ok}, nil, true},
		{"what another changed", []history.Event{invoke, event(5, "n1", history.State, history.Set, "c2"), ok}, nil, true},
		{"a key that expires", []history.Event{invoke, event(5, "n1", history.State, history.Expire, ""), ok}, nil, true},
		{"a fault", []history.Event{invoke, event(5, "n1", history.Injected, "crash", ""), ok}, nil, true},
	} {
		h := &history.History{Meta: history.Meta{Nodes: []string{"n1"}, Replicas: map[string]string{"r1": "n1"}, Clients: []string{"c1", "c2"}}, Events: test.events}
		r := sample.Run{H: h, Result: checker.Result{Violations: []checker.Violation{{Events: test.proof}}}}
		if got := text(t, r, TextOptions{Unexplained: true}); strings.Contains(got, invoked) != test.shown {
			t.Errorf("%s: shown %t, want %t:\n%s", test.what, !test.shown, test.shown, got)
		}
		if got := text(t, r, TextOptions{Unexplained: true, Verbose: true}); !strings.Contains(got, invoked) {
			t.Errorf("%s: not shown although Verbose is set:\n%s", test.what, got)
		}
	}
}

// Recurring changes on servers are shown at the beginning and at the end, even if the nodes change in a different order each time.
func TestTextFoldsRounds(t *testing.T) {
	rounds := func(n int) *history.History {
		h := &history.History{Meta: history.Meta{Nodes: []string{"n1", "n2"}, Clients: []string{"c1"}}}
		for i := range n {
			nodes := []string{"n1", "n2"}
			if i%2 == 1 {
				slices.Reverse(nodes)
			}
			for k, op := range []string{history.Set, history.Expire} {
				for _, node := range nodes {
					e := history.Event{At: time.Duration(2*i+k) * time.Second, Process: node, Kind: history.State, Op: op, Key: "lock", By: "c1", Lease: "c1#1"}
					if op == history.Expire {
						e.By, e.Lease, e.Owner = "", "", "c1#1"
					}
					h.Events = append(h.Events, e)
				}
			}
		}
		return h
	}
	shown := func(h *history.History, v ...checker.Violation) string {
		all := text(t, sample.Run{H: h, Result: checker.Result{Violations: v}}, TextOptions{Unexplained: true})
		got, _, _ := strings.Cut(all, "verdict")
		return got
	}
	if got := shown(rounds(3)); strings.Count(got, "\n") != 6 {
		t.Errorf("three rounds are folded:\n%s", got)
	}
	const want = "   0.000s  n1,n2    set     lock            for c1#1\n" +
		"   1.000s  n1,n2    expire  lock            of c1#1\n" +
		"  18.000s  n1,n2    set     lock ×9         for c1#1, since 2.000s\n" +
		"  19.000s  n1,n2    expire  lock ×9         of c1#1, since 3.000s\n"
	if got := shown(rounds(10)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := shown(rounds(10), checker.Violation{Events: []int{20}}); strings.Count(got, "\n!") != 1 || strings.Count(got, "×4") != 2 {
		t.Errorf("proof is hidden:\n%s", got)
	}
	if got := text(t, sample.Run{H: rounds(10)}, TextOptions{Verbose: true}); strings.Contains(got, "×") {
		t.Errorf("folded although Verbose is set:\n%s", got)
	}
}

// Properties that are ok share a line unless Verbose is set. One that is violated or unknown has its own line.
func TestTextFoldsProperties(t *testing.T) {
	all := checker.Properties()
	judged := func(other checker.Status, n int) sample.Run {
		r := checker.Result{Verdict: checker.Safe}
		for i, p := range all {
			s := checker.OK
			if i < n {
				s = other
			}
			r.Statuses = append(r.Statuses, checker.PropertyStatus{Property: p, Status: s})
		}
		return sample.Run{H: &history.History{}, Result: r}
	}
	for _, test := range []struct {
		n    int
		want string
	}{
		{0, "verdict: SAFE\n  all properties      ok\n"},
		{2, "verdict: SAFE\n  lease exclusion     unknown\n  resource exclusion  unknown\n  all others          ok\n"},
	} {
		if got := text(t, judged(checker.Unknown, test.n), TextOptions{}); got != test.want {
			t.Errorf("got\n%swant\n%s", got, test.want)
		}
	}
	if got := text(t, judged(checker.Unknown, len(all)), TextOptions{}); strings.Contains(got, "  ok\n") || strings.Count(got, "unknown") != len(all) {
		t.Error(got)
	}
	if got := text(t, judged(checker.Unknown, 0), TextOptions{Verbose: true}); strings.Count(got, "  ok\n") != len(all) {
		t.Errorf("folded although Verbose is set:\n%s", got)
	}
}
