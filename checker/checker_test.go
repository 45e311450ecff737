package checker

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"lockstep/checker/facts"
	"lockstep/checker/internal/handmade"
	"lockstep/sim/history"
)

// calm is a run without violations; the other two have some.
const (
	calm = `
		probe probe
		bound 5
		0    c1 invoke acquire
		0.1  n1 set c1#1
		0.2  c1 ok acquire c1#1 until=9
		1    c1 fault pause id=1 pause_c1_15s
		16   c1 fault resume
		16   c1 bite id=1
		17   c1 info exit
		20   probe invoke acquire
		20.1 n1 set probe#1
		20.2 probe ok acquire probe#1 until=30
	`
	zombie = `
		probe probe
		bound 5
		0    c1 invoke acquire
		0.1  n1 set c1#1
		0.2  c1 ok acquire c1#1 until=10
		1    c1 fault pause id=1 pause_c1_14s
		10.1 n1 expire c1#1
		11   c2 invoke acquire
		12   n1 set c2#1
		12.1 c2 ok acquire c2#1 until=22
		15   c1 fault resume
		15   c1 bite id=1
		15.1 resource accept A c1#1 sent=15.05
		16   c1 info exit
		17   c2 invoke release c2#1
		17.1 n1 delete c2#1
		20   probe invoke acquire
		20.2 probe ok acquire probe#1 until=30
	`
)

func TestCheckVerdict(t *testing.T) {
	without := func(s, line string) string {
		if !strings.Contains(s, line) {
			t.Fatalf("no %q to leave out", line)
		}
		return strings.Replace(s, line, "", 1)
	}
	for _, c := range []struct {
		name, story string
		musts       []string
		verdict     Verdict
		violations  int
		unmet       []string
	}{
		{name: "safe", story: calm, musts: []string{"c1 acquires", "c1 resumes after its lease ended"}, verdict: Safe},
		{name: "unsafe", story: zombie, musts: []string{"c1 resumes after its lease ended"}, verdict: Unsafe, violations: 1},
		{name: "an idle fault outranks safety", story: without(calm, "16   c1 bite id=1"), verdict: Inconclusive,
			unmet: []string{"the fault `pause c1 15s` had no effect"}},
		{name: "an idle fault outranks a violation", story: without(zombie, "15   c1 bite id=1"), verdict: Inconclusive, violations: 1,
			unmet: []string{"the fault `pause c1 14s` had no effect"}},
		{name: "a fault may be recorded more than once", story: "0 c1 fault cut id=3 cut_c1-n4\n0 n4 fault cut id=3 cut_c1-n4\n" + calm, verdict: Inconclusive,
			unmet: []string{"the fault `cut c1-n4` had no effect"}},
		{name: "another fault's bite is no bite", story: "0 c1 fault cut id=3 cut_c1-n4\n" + calm, verdict: Inconclusive,
			unmet: []string{"the fault `cut c1-n4` had no effect"}},
		{name: "code that ran on in a pause outranks safety", story: "0 c2 info unpaused\n0 c1 info unpaused\n0 c2 info unpaused\n" + calm, verdict: Inconclusive,
			unmet: []string{
				"c2 ran on while it was paused: it takes its time from package time, so this run proves nothing about a pause",
				"c1 ran on while it was paused: it takes its time from package time, so this run proves nothing about a pause",
			}},
		{name: "an unmet must outranks safety", story: calm, musts: []string{"c1 acquires", "c1 waits for c2"}, verdict: Inconclusive,
			unmet: []string{"must c1 waits for c2: did not occur"}},
		{name: "an unmet must outranks a violation", story: zombie, musts: []string{"c1 is refused"}, verdict: Inconclusive, violations: 1,
			unmet: []string{"must c1 is refused: did not occur"}},
		{name: "a cap outranks safety", story: "cap the_cap_of_500_events\n" + calm, verdict: Inconclusive, unmet: []string{"the run hit the cap of 500 events"}},
		{name: "a cap outranks a violation", story: "cap the_cap_of_500_events\n" + zombie, verdict: Inconclusive, violations: 1,
			unmet: []string{"the run hit the cap of 500 events during release of c2, which began at 17.000s"}},
		{name: "a cap says what had not ended", story: "cap the_cap_of_500_events\n" + calm + "40 c1 invoke acquire id=9\n41 c2 invoke acquire id=9\n", verdict: Inconclusive,
			unmet: []string{"the run hit the cap of 500 events during acquire of c1, which began at 40.000s, and acquire of c2, which began at 41.000s"}},
		{name: "all reasons are given", story: "cap the_cap_of_500_events\n" + without(calm, "16   c1 bite id=1"), musts: []string{"c1 is refused", "c1 waits for c2"}, verdict: Inconclusive,
			unmet: []string{"the run hit the cap of 500 events", "the fault `pause c1 15s` had no effect", "must c1 is refused: did not occur", "must c1 waits for c2: did not occur"}},
		{name: "without a probe nothing is safe", story: without(calm, "probe probe"), verdict: Inconclusive,
			unmet: []string{"deadlock freedom: no probe asked for the lock"}},
		{name: "a probe that never came", story: "probe c7\n" + without(calm, "probe probe"), verdict: Inconclusive,
			unmet: []string{"deadlock freedom: no probe asked for the lock"}},
		{name: "without a probe a violation is still one", story: without(zombie, "probe probe"), verdict: Unsafe, violations: 1},
		{name: "nothing at all", story: "", verdict: Inconclusive, unmet: []string{"no client asked for the lock"}},
		{name: "only the probe asks", story: "probe probe\n20 probe invoke acquire\n20.2 probe ok acquire probe#1 until=30", verdict: Inconclusive,
			unmet: []string{"no client asked for the lock"}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			var musts []Must
			for _, m := range c.musts {
				musts = append(musts, parseMust(t, m))
			}
			h := handmade.History(t, c.story)
			r := Check(facts.Of(h), musts)
			if r.Verdict != c.verdict || len(r.Violations) != c.violations || !slices.Equal(r.Unmet, c.unmet) {
				t.Errorf("%s with %d violations, unmet %q; want %s with %d, unmet %q", r.Verdict, len(r.Violations), r.Unmet, c.verdict, c.violations, c.unmet)
			}
			checkResult(t, h, r)
			if (r.Status(ResourceExclusion) == Violated) != (c.violations > 0) {
				t.Errorf("resource exclusion is %s: statuses must stay visible", r.Status(ResourceExclusion))
			}
		})
	}
}

// checkResult fails the test if the fields of a result contradict each other.
func checkResult(t testing.TB, h *history.History, r Result) {
	t.Helper()
	want := Safe
	switch {
	case len(r.Unmet) > 0:
		want = Inconclusive
	case len(r.Violations) > 0:
		want = Unsafe
	}
	if r.Verdict != want {
		t.Errorf("verdict %s, want %s", r.Verdict, want)
	}
	violated := map[Property]bool{}
	for _, v := range r.Violations {
		violated[v.Property] = true
		checkProof(t, h, v)
	}
	for i, p := range Properties() {
		if r.Statuses[i].Property != p || r.Status(p) != r.Statuses[i].Status || (r.Status(p) == Violated) != violated[p] {
			t.Errorf("status %d is %+v, violated: %v", i, r.Statuses[i], violated[p])
		}
	}
	if len(r.Statuses) != len(Properties()) {
		t.Errorf("%d statuses", len(r.Statuses))
	}
}

func TestResultJSON(t *testing.T) {
	b, err := json.Marshal(Check(facts.Of(handmade.History(t, zombie)), nil))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"verdict":"UNSAFE","statuses":[{"property":"lease exclusion","status":"ok"},{"property":"resource exclusion","status":"violated"},` +
		`{"property":"expired on return","status":"ok"},{"property":"no lost update","status":"ok"},{"property":"owner only","status":"ok"},` +
		`{"property":"tokens","status":"ok"},{"property":"deadlock freedom","status":"ok"},{"property":"fault tolerance","status":"ok"},{"property":"no lost vote","status":"ok"}],` +
		`"violations":[{"property":"resource exclusion","at":15100000000,"what":"c1 wrote A under c1#1 at 15.100s, after c2 was granted c2#1 at 12.000s",` +
		`"assumption":"bounded pause","events":[1,2,3,6,7,10]}]}`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}

func TestStatusOfNoProperty(t *testing.T) {
	if s := (Result{}).Status(LeaseExclusion); s != Unknown {
		t.Errorf("an empty result says %s", s)
	}
}

// A command that was refused more than once is listed once.
func TestRefused(t *testing.T) {
	h := handmade.History(t, "1 c1 info exit")
	for _, command := range []string{"WATCH", "MOVE", "WATCH"} {
		h.Events = append(h.Events, history.Event{At: h.Events[0].At, Process: "n1", Kind: history.State, Op: history.Refuse, Value: command})
	}
	if got := Check(facts.Of(h), nil).Refused; !slices.Equal(got, []string{"WATCH", "MOVE"}) {
		t.Errorf("refused: %q", got)
	}
}

// everyMust returns one must of each form.
func everyMust(t testing.TB) []Must {
	names := strings.NewReplacer("CLIENT", "c1", "RIVAL", "c2", "NODES", "n1 n2", "NODE", "n1", "SERVER", "n1", "WRITE", "A", "NEXT", "B", "COUNT", "2", "PROCESS", "n1", "LIMIT", "1s")
	var musts []Must
	for _, form := range forms() {
		musts = append(musts, parseMust(t, names.Replace(form)))
	}
	return musts
}

// exercise calls everything that takes a history, and returns the result of [Check].
func exercise(t testing.TB, h *history.History, musts []Must) Result {
	before := slices.Clone(h.Events)
	r := Check(facts.Of(h), musts)
	checkResult(t, h, r)
	for _, m := range musts {
		m.Met(facts.Of(h))
	}
	for _, l := range facts.Of(h).Holds {
		_ = l.String()
	}
	if !slices.Equal(before, h.Events) {
		t.Error("the history was changed")
	}
	return r
}

func TestCheckSurvivesGarbage(t *testing.T) {
	musts := everyMust(t)
	sound := tally{}
	rapid.Check(t, func(rt *rapid.T) {
		h := handmade.Garbage(rt)
		exercise(t, h, musts)
		sound[facts.Of(h).Malformed == nil]++
	})
	if sound[true] == 0 && !testing.Short() { // -short draws twenty, of which about one in six is sound
		t.Error("no history got past the first look")
	}
}

// A result depends on nothing but the history: one that was written and read again has the same result.
func TestCheckIsAFunction(t *testing.T) {
	musts := everyMust(t)
	rapid.Check(t, func(rt *rapid.T) {
		h := handmade.Random(rt)
		var saved bytes.Buffer
		if _, err := h.WriteTo(&saved); err != nil {
			rt.Fatal(err)
		}
		loaded, err := history.ReadHistory(&saved)
		if err != nil {
			rt.Fatal(err)
		}
		a, _ := json.Marshal(exercise(t, h, musts))
		b, _ := json.Marshal(exercise(t, loaded, musts))
		if !bytes.Equal(a, b) {
			rt.Fatalf("first  %s\nsecond %s", a, b)
		}
	})
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{calm, zombie, "cap events\nnodes 3\n0 n1 set c1#1\n5 n1 lose c1#1\n6 resource reject A c1#1"} {
		var b bytes.Buffer
		if _, err := handmade.History(f, s).WriteTo(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte(`{"scenario":"x","nodes":["n1"],"ttl":9223372036854775807}
{"at":1,"clock":9223372036854775807,"process":"c1","kind":"invoke","op":"acquire","id":1}
{"at":1,"clock":9223372036854775807,"process":"c1","kind":"ok","op":"acquire","id":1,"lease":"c1#1","until":9223372036854775807}`))
	musts := everyMust(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		h := &history.History{Foreign: len(b)%2 == 0}
		for i, line := range bytes.Split(b, []byte("\n")) { // like history.ReadHistory, but without refusing anything
			if i == 0 {
				if json.Unmarshal(line, &h.Meta) != nil {
					return
				}
				continue
			}
			var e history.Event
			if json.Unmarshal(line, &e) != nil {
				break
			}
			h.Events = append(h.Events, e)
		}
		exercise(t, h, musts)
	})
}
