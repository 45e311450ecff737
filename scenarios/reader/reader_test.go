package reader

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios/claims"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

func TestMain(m *testing.M) {
	play.QuietRedis()
	os.Exit(m.Run())
}

// As long as nothing is changed, a run of a claim is the one in the catalogue, although it has no musts and expects nothing.
func TestRunsAreThoseOfTheCatalogue(t *testing.T) {
	m := menu(t)
	for _, c := range m.Claims {
		for _, r := range c.Runs {
			s, section, err := find(r.Name)
			if err != nil {
				t.Fatal(err)
			}
			build, err := clients.Find(section.Lock)
			if err != nil {
				t.Fatal(err)
			}
			o, err := play.Simulate(s, section, build, max(section.Seed, 1))
			if err != nil {
				t.Fatal(err)
			}
			a := Play(Request{ID: 7, Claim: c.ID, Run: r.Name})
			if a.ID != 7 || a.Checksum != o.History.Meta.Checksum || a.Statuses[r.Property] != o.Result.Status(r.Property) {
				t.Errorf("claim %s, %s: %s, %s, %v; want %s, %s", c.ID, r.Name, a.Checksum, a.Statuses[r.Property], a.Errors, o.History.Meta.Checksum, o.Result.Status(r.Property))
			}
			again := Play(Request{Token: a.Token})
			if a.Token != "" && again.Checksum != a.Checksum {
				t.Errorf("%s by its token: %s, %v; want %s", r.Name, again.Checksum, again.Errors, a.Checksum)
			}
			if again := Play(Request{Script: a.Script, Want: Properties}); again.Checksum != a.Checksum || again.Figure != nil {
				t.Errorf("%s by its script: %s, %v; want %s", r.Name, again.Checksum, again.Errors, a.Checksum)
			}
		}
	}
}

// Each quantity can have its smallest and its largest value, which the script then has.
func TestQuantities(t *testing.T) {
	a, err := argument()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range menu(t).Claims {
		unused := map[string]bool{}
		at := slices.IndexFunc(a.Claims, func(of claims.Claim) bool { return of.ID == c.ID })
		for _, q := range a.Claims[at].Vary {
			unused[q.What] = true
		}
		for _, r := range c.Runs {
			for i, q := range r.Vary {
				delete(unused, q.What)
				if q.Own < 0 || len(q.Values) < 2 {
					t.Errorf("claim %s, %s, %s: value %d of %d", c.ID, r.Name, q.What, q.Own, len(q.Values))
					continue
				}
				for _, v := range []string{q.Values[0], q.Values[len(q.Values)-1]} {
					values := make([]string, len(r.Vary))
					values[i] = v
					a := Play(Request{Claim: c.ID, Run: r.Name, Values: values})
					if len(a.Errors) > 0 || len(a.Unmet) > 0 || a.Statuses[r.Property] == "" || !strings.Contains(a.Script, v) {
						t.Errorf("claim %s, %s, %s %s: %v %v\n%s", c.ID, r.Name, q.What, v, a.Errors, a.Unmet, a.Script)
					}
				}
			}
		}
		if len(unused) > 0 {
			t.Errorf("claim %s: no run has %v", c.ID, unused)
		}
	}
}

// The first run of a claim violates its property, and with each choice of what would have saved it the property holds.
func TestSavings(t *testing.T) {
	n := 0
	for _, c := range menu(t).Claims {
		first := c.Runs[0]
		if len(c.Saves) > 0 && Play(Request{Claim: c.ID, Run: first.Name, Want: Properties}).Statuses[first.Property] != checker.Violated {
			t.Errorf("claim %s: %s does not violate %s, so nothing can save it", c.ID, first.Name, first.Property)
		}
		for _, s := range c.Saves {
			n++
			a := Play(Request{Claim: c.ID, Run: c.Runs[s.Run].Name, Values: s.Values, Want: Properties})
			if len(a.Errors) > 0 || a.Statuses[first.Property] != checker.OK {
				t.Errorf("claim %s: with %s, %s is %q: %v", c.ID, s.What, first.Property, a.Statuses[first.Property], a.Errors)
			}
		}
	}
	if n < 20 {
		t.Errorf("there are only %d choices", n)
	}
}

// The edge is where theory has it: a pause does harm from when the second client writes, which is 2 s after the TTL.
func TestEdge(t *testing.T) {
	found := func(pause string) checker.Status {
		return Play(Request{Claim: "10", Run: "pause-after-acquire/redlock", Values: []string{pause}, Want: Properties}).Statuses[checker.ResourceExclusion]
	}
	if before, beyond := found("11500ms"), found("12500ms"); before != checker.OK || beyond != checker.Violated {
		t.Errorf("11.5 s: %s, 12.5 s: %s", before, beyond)
	}
}

func TestBadRequests(t *testing.T) {
	for _, c := range []struct {
		what string
		r    Request
		want string
		line int
	}{
		{"nothing", Request{}, "write a scenario, or choose one under “Start from”", 0},
		{"blanks", Request{Script: " \n\n"}, "write a scenario, or choose one under “Start from”", 0},
		{"an unknown scenario", Request{Run: "nowhere/redlock"}, `unknown scenario "nowhere"`, 0},
		{"a name without end", Request{Run: strings.Repeat("a", 20_000)}, "no run has a name of 20000 bytes", 0},
		{"an unknown run", Request{Run: "clock-jump/redlok"}, "redlock", 0},
		{"an unknown claim", Request{Claim: "99"}, `there is no claim "99"`, 0},
		{"a run of another claim", Request{Claim: "10", Run: "clock-jump/redlock"}, `claim 10 has no run "clock-jump/redlock"`, 0},
		{"a value beyond the largest", Request{Claim: "10", Run: "pause-after-acquire/redlock", Values: []string{"26s"}}, "how long c1 is paused must be one of the values of its slider, 1s to 25s", 0},
		{"a value that is none", Request{Claim: "10", Run: "pause-after-acquire/redlock", Values: []string{"15s\n  write C"}}, "one of the values of its slider", 0},
		{"too many values", Request{Claim: "10", Run: "pause-after-acquire/redlock", Values: make([]string, 9)}, "has 2 quantities, but there are 9 values", 0},
		{"a damaged token", Request{Token: "lk1.abc"}, "damaged", 0},
		{"a step that is none", Request{Script: "# A.\n\nclient c1\n  aquire\n\n-- single nodes=1 --\n"}, "aquire", 4},
		{"no run", Request{Script: "# A.\n\nclient c1\n  acquire\n"}, "ends without a run", 4},
		{"a lock that is none", Request{Script: "# A.\n\nclient c1\n  acquire\n\n-- sinle nodes=1 --\n"}, "single", 0},
		{"a library", Request{Script: "# A.\n\nclient c1\n  acquire\n\n-- redsync nodes=3 --\n"}, "libraries are not part of this page", 0},
		{"a long script", Request{Script: strings.Repeat("# A.\n", 20_000)}, "at most 65536 bytes", 0},
		{"a sweep", Request{Script: "# A.\n\nsweep delay\nclient c1\n  acquire\n  release\n\n-- single nodes=1 --\n"}, "a sweep is a series of runs", 0},
		{"guests", Request{Script: "# A.\n\nclient c1\n  acquire\n  release\n\n-- single nodes=1 guests=yes --\n"}, "WebAssembly", 0},
	} {
		a := Play(c.r)
		if len(a.Errors) > 0 && strings.Contains(a.Errors[0].Text, "lockstep ") {
			t.Errorf("%s: %q names a command that a browser does not have", c.what, a.Errors[0].Text)
		}
		if len(a.Errors) != 1 || !strings.Contains(a.Errors[0].Text, c.want) || a.Errors[0].Line != c.line || a.Statuses != nil {
			t.Errorf("%s: %+v", c.what, a)
		}
	}
	a := Play(Request{Script: "# A.\n\nclient c1\n  aquire\n  relase\n\n-- single nodes=1 --\n"})
	if len(a.Errors) != 2 || a.Errors[1].Line != 5 {
		t.Errorf("two mistakes: %+v", a.Errors)
	}
}

// A text needs no title. Its mistakes are at the lines where they are, and what the page copies is a scenario file that plays the same run.
func TestWithoutTitle(t *testing.T) {
	const lanes = "client c1\n  acquire\n  pause 15s\n  write A\nclient c2\n  acquire within 20s\n  write B\nnemesis\n  at 1s pause n1 2s\n\n-- redlock nodes=5 --\n"
	want := Play(Request{Script: "# A.\n\n" + lanes})
	if want.Checksum == "" || want.File != "" {
		t.Fatalf("%+v", want)
	}
	for _, c := range []struct{ above, title string }{
		{"", "# " + ownTitle + "\n\nclient c1\n"},
		{"\n \n", "# " + ownTitle + "\n\nclient c1\n"},
		{"#\n", "# " + ownTitle + "\nclient c1\n"},
		{"# Why not?\n\n", "# Why not.\n\nclient c1\n"},
		{"#A title \n# and more\n", "#A title.\n# and more\nclient c1\n"},
		{"\n# A title.\n", "# A title.\nclient c1\n"},
	} {
		a := Play(Request{Script: c.above + lanes})
		if a.Checksum != want.Checksum || a.Script != c.above+lanes || !strings.HasPrefix(a.File, c.title) {
			t.Errorf("%q: %v, checksum %s, file %q", c.above, a.Errors, a.Checksum, a.File)
			continue
		}
		if _, err := script.Parse("copied.txtar", []byte(a.File)); err != nil {
			t.Errorf("%q: the copy: %v", c.above, err)
		}
		if b := Play(Request{Token: a.Token}); b.Checksum != want.Checksum || !strings.HasPrefix(b.Script, "# "+ownTitle+"\n") {
			t.Errorf("%q: the link: %v, %q", c.above, b.Errors, b.Script)
		}
		lines := strings.Split(a.Script, "\n")
		for _, h := range a.Handles {
			if !strings.Contains(lines[h.Line-1], "pause") {
				t.Errorf("%q: a knob belongs to line %d, %q", c.above, h.Line, lines[h.Line-1])
			}
		}
		bad := strings.Replace(strings.Replace(c.above+lanes, "write A", "wrote A", 1), "nodes=5", "nodes=x", 1)
		a = Play(Request{Script: bad})
		above := strings.Count(c.above, "\n")
		if len(a.Errors) != 2 || a.Errors[0].Line != above+4 || a.Errors[1].Line != above+11 {
			t.Errorf("%q: %v", c.above, a.Errors)
		}
	}
	if a := Play(Request{Script: "  acquire\n"}); len(a.Errors) != 1 || a.Errors[0].Line != 1 || !strings.Contains(a.Errors[0].Text, "belongs to no lane") {
		t.Errorf("a step at the beginning: %v", a.Errors)
	}
}

// The example in the help is a scenario file, and shows something.
func TestExample(t *testing.T) {
	a := Play(Request{Script: NewHelp().Example})
	if a.Verdict != checker.Unsafe || a.Statuses[checker.ResourceExclusion] != checker.Violated || a.File != "" || len(a.Broken[checker.ResourceExclusion]) != 1 {
		t.Errorf("%v, %s, %v", a.Errors, a.Verdict, a.Broken)
	}
	if n := strings.Count(example, "\n"); n > 11 {
		t.Errorf("it has %d lines", n)
	}
}

// Whatever a link contains, the answer is a run or an error.
func TestHostileRequests(t *testing.T) {
	runs := []string{"pause-after-acquire/redlock", "clock-drift/redlock/above", "", "../x", "sweep-delay/single"}
	rapid.Check(t, func(t *rapid.T) {
		r := Request{
			Claim:  rapid.SampledFrom([]string{"10", "9", "", "x"}).Draw(t, "claim"),
			Run:    rapid.SampledFrom(runs).Draw(t, "run"),
			Values: rapid.SliceOfN(rapid.OneOf(rapid.Just(""), rapid.Just("12s"), rapid.String()), 0, 4).Draw(t, "values"),
			Script: rapid.OneOf(rapid.Just(""), rapid.String()).Draw(t, "script"),
			Token:  rapid.OneOf(rapid.Just(""), rapid.Just("lk1."+rapid.StringMatching(`[A-Za-z0-9_-]{0,80}`).Draw(t, "token"))).Draw(t, "which"),
			Want:   Properties,
		}
		a := Play(r)
		if (len(a.Errors) > 0) == (len(a.Statuses) > 0) {
			t.Fatalf("%+v: %+v", r, a)
		}
		if _, err := json.Marshal(a); err != nil {
			t.Fatal(err)
		}
	})
}

func menu(t *testing.T) *Menu {
	t.Helper()
	m, err := NewMenu()
	if err != nil {
		t.Fatal(err)
	}
	a, err := argument()
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Claims) != len(a.Claims) {
		t.Errorf("%d claims can be played, not all %d", len(m.Claims), len(a.Claims))
	}
	return m
}

// A client whose last try is still open has not given up.
func TestHintOfOpenTry(t *testing.T) {
	ask := history.Event{At: 2 * time.Second, Process: "c2", Kind: history.Invoke, Op: history.Acquire}
	refused := history.Event{At: 3 * time.Second, Process: "c2", Kind: history.Fail, Op: history.Acquire}
	again := history.Event{At: 4 * time.Second, Process: "c2", Kind: history.Invoke, Op: history.Acquire}
	for _, test := range []struct {
		tries []history.Event
		hint  bool
	}{
		{[]history.Event{ask, refused}, true},
		{[]history.Event{ask, refused, again}, false},
	} {
		h := &history.History{Meta: history.Meta{Clients: []string{"c1", "c2"}}}
		h.Events = append(h.Events, history.Event{Process: "c1", Kind: history.OK, Op: history.Acquire, Lease: "c1#1", Until: 10 * time.Second})
		h.Events = append(h.Events, test.tries...)
		h.Events = append(h.Events, history.Event{At: 12 * time.Second, Clock: 12 * time.Second, Process: "c1", Kind: history.Invoke, Op: history.Write, Lease: "c1#1"})
		if got := lucky(h); (got != "") != test.hint {
			t.Errorf("%d events of c2: the hint is %q", len(test.tries), got)
		}
	}
}

// A reader who chooses a lock with tokens for a resource that checks none learns why that does not help.
func TestHint(t *testing.T) {
	for run, want := range map[string]bool{"pause-fenced/fenced/unchecked": true, "pause-fenced/fenced": false, "fence-zombie-first/fenced": false, "pause-after-acquire/single": false} {
		if a := Play(Request{Run: run}); (a.Hint != "") != want {
			t.Errorf("%s: %q, %v", run, a.Hint, a.Errors)
		}
	}
	// With a TTL of 20 s, c2 gives up before the lease of c1 ends. A pause of 25 s does no harm only for that reason; one of 15 s does none at all.
	for pause, want := range map[string]string{"25s": "c1 began to write at 25.007s, when its lease was over. That did no harm, because c2 had given up at ", "15s": ""} {
		a := Play(Request{Claim: "10", Run: "pause-after-acquire/redlock", Values: []string{pause, "20s"}})
		if !strings.HasPrefix(a.Hint, want) || (a.Hint == "") != (want == "") {
			t.Errorf("%q, %v", a.Hint, a.Errors)
		}
	}
}
