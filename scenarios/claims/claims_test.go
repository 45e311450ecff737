package claims

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"lockstep/checker"
)

func loaded(t *testing.T) *Argument {
	t.Helper()
	a, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Claims are numbered without a gap, in the order of the argument, and stand in some chapter; no chapter is empty.
func TestLoad(t *testing.T) {
	a := loaded(t)
	chapters := map[string]int{}
	last := 0
	for _, c := range a.Claims {
		n, err := strconv.Atoi(strings.TrimRight(c.ID, "ab"))
		if err != nil || n < last || n > last+1 {
			t.Errorf("claim %s comes after claim %d", c.ID, last)
		}
		last = n
		chapters[c.Chapter]++
	}
	for _, chapter := range a.Chapters {
		if chapters[chapter.Name] == 0 {
			t.Errorf("chapter %s has no claims", chapter.Name)
		}
	}
	if len(chapters) != len(a.Chapters) || len(a.Claims) < 24 {
		t.Errorf("%d claims in %d chapters of %d", len(a.Claims), len(chapters), len(a.Chapters))
	}
	i := slices.IndexFunc(a.Claims, func(c Claim) bool { return c.ID == "14a" })
	c := a.Claims[i]
	want := Evidence{Run: "redlock-slow-acquire/redlock/replies", Property: checker.ExpiredOnReturn, Status: checker.OK}
	if v := c.Voices[1]; v.Who != "Martin Kleppmann" || v.Source.Key != "why2020" || v.Place != "the last exchange of the two" || !v.Quoted ||
		c.Kind != Agreed || c.Evidence[2] != want || c.Evidence[3].Quantity != checker.Wait || len(c.Draw) != 2 ||
		c.Sides[1] != (Side{"Still doubting it", "that the clock used for this can be set back: see {18a}."}) {
		t.Errorf("claim 14a is %+v", c)
	}
}

// What is agreed is said by both; what is a judgement has a figure that bears on it, but for the one about what to ask of algorithms.
func TestKinds(t *testing.T) {
	for _, c := range loaded(t).Claims {
		says := func(who string) bool {
			return slices.ContainsFunc(c.Voices, func(v Voice) bool { return v.Who == who })
		}
		if c.Kind == Agreed && !(says("Martin Kleppmann") && says("antirez")) {
			t.Errorf("claim %s is agreed, and one of the two does not say it", c.ID)
		}
		if c.Kind == Judgement && c.ID != "23" && !slices.ContainsFunc(c.Evidence, func(e Evidence) bool { return e.Quantity != "" }) {
			t.Errorf("claim %s is a judgement without a figure", c.ID)
		}
	}
}

// Whoever makes a claim, it is judged by the same standard. A run in which the environment broke an assumption refutes no claim, because
// both authors make such assumptions; and what depends on the goal is shown for one goal and against another.
func TestOneStandard(t *testing.T) {
	for _, c := range loaded(t).Claims {
		broken := func(e Evidence) bool { return e.Status == checker.Violated }
		kept := func(e Evidence) bool { return e.Status == checker.OK }
		switch c.Kind {
		case Refuted:
			for _, e := range c.Evidence {
				if broken(e) && e.Assumption != checker.None {
					t.Errorf("claim %s, %q, is refuted by %s, in which %s was broken", c.ID, c.Text, e.Run, e.Assumption)
				}
			}
		case Depends:
			if !slices.ContainsFunc(c.Evidence, broken) || !slices.ContainsFunc(c.Evidence, kept) {
				t.Errorf("claim %s, %q, depends on the goal, and all of its runs come out alike", c.ID, c.Text)
			}
		}
	}
}

const (
	chapter = "title: T\nshort: S\nopening:\n  See {1}.\n"
	claim   = `claim: Locks expire.
kind: shown
said: antirez (antirez2016, Fsync or not?)
evidence: clock-jump/redlock lease exclusion violated: bounded clock error
conclusion:
  They do.
chapter: basics
heading: Expiry
draw: clock-jump/redlock
setting:
  A clock jumps.
happens:
  A key expires.
decides:
  Nothing.
side: One
  that it is so.
side: The other
  that it is not: {1}.
`
)

// A mistake in a file is told with file and line, and with what is required.
func TestLoadErrors(t *testing.T) {
	read := func(files map[string]string) error {
		dir := fstest.MapFS{}
		for name, text := range files {
			dir[name] = &fstest.MapFile{Data: []byte(text)}
		}
		_, err := load(fs.FS(dir))
		return err
	}
	if err := read(map[string]string{"chapters/1-basics.txt": chapter, "01-expiry.txt": claim}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{"kind: shown", "kind: show", `1.txt:2: unknown kind "show"; the kinds are shown, refuted, depends, agreed, judgement (did you mean "shown"?)`},
		{"kind: shown\n", "", `1.txt:18: there must be a field "kind:"`},
		{"said: antirez (antirez2016, Fsync or not?)", "said: antirez", "1.txt:3: said must be WHO (KEY), WHO (KEY, PLACE) or WHO (quoted in KEY, PLACE), such as"},
		{"said: antirez (", "said: (", "1.txt:3: said must be WHO (KEY)"},
		{"antirez2016", "antires2016", `1.txt:3: a source must be a row of docs/sources.md: unknown key "antires2016"`},
		{"clock-jump/redlock lease", "clock-jump lease", "1.txt:4: evidence must be SCENARIO/LOCK or SCENARIO/LOCK/LABEL, and what the run must show, such as"},
		{"redlock lease exclusion violated: bounded clock error", "redlock", "1.txt:4: evidence must be SCENARIO/LOCK"},
		{"lease exclusion violated: bounded clock error", "waits", "1.txt:4: a run must show PROPERTY ok, PROPERTY violated, PROPERTY violated: ASSUMPTION, or a QUANTITY; cannot read \"waits\""},
		{"exclusion violated", "exclusion unknown", "1.txt:4: a run must show PROPERTY ok"},
		{"lease exclusion violated", "leese exclusion violated", `1.txt:4: unknown property "leese exclusion"; the properties are`},
		{"exclusion violated", "exclusion ok", "1.txt:4: only a violation has a broken assumption: it must be lease exclusion ok"},
		{"bounded clock error", "bounded clocks", `1.txt:4: unknown assumption "bounded clocks"; the assumptions are`},
		{"chapter: basics", "chapter: basic", `1.txt:7: unknown chapter "basic"; the only chapter is basics (did you mean "basics"?)`},
		{"draw: clock-jump/redlock", "draw: clock-drift/redlock", "1.txt:9: a run that is shown must be one of the evidence; clock-drift/redlock is not"},
		{"draw: clock-jump/redlock", "draw: clock-jump/redlock\nbeside: clock-drift/redlock", "1.txt:10: a run that is shown must be one of the evidence; clock-drift/redlock is not"},
		{"A clock jumps.", "See {1}.", "1.txt:10: the setting is shown as plain text, so it must not contain {, }, ` or *"},
		{"not: {1}", "not: {2}", "1.txt:18: what stands in braces must be the number of a claim, such as {10}; there is no claim {2}"},
		{"A key", "A {key}", "1.txt:12: what stands in braces must be the number of a claim, such as {10}; there is no claim {key}"},
	} {
		err := read(map[string]string{"chapters/1-basics.txt": chapter, "1-x1.txt": strings.Replace(claim, tt.old, tt.new, 1)})
		if err == nil || !strings.HasPrefix(err.Error(), "scenarios/claims/1-x"+tt.want) {
			t.Errorf("%s: error %v, want %q", tt.new, err, tt.want)
		}
	}
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no number":     {map[string]string{"chapters/1-basics.txt": chapter, "expiry.txt": claim}, "expiry.txt: the name of a claim's file must be its number and words, such as 10-pause.txt"},
		"twice":         {map[string]string{"chapters/1-basics.txt": chapter, "01-a.txt": claim, "01-b.txt": claim}, "01-b.txt: there must be only one file of claim 1"},
		"no digit":      {map[string]string{"chapters/basics.txt": chapter}, "chapters/basics.txt: the name of a chapter's file must be a digit and words, such as 4-pauses.txt"},
		"no such claim": {map[string]string{"chapters/1-basics.txt": chapter}, "chapters/1-basics.txt:3: what stands in braces must be the number of a claim"},
		"no title":      {map[string]string{"chapters/1-basics.txt": "short: S\n"}, `chapters/1-basics.txt:1: there must be a field "title:"`},
	} {
		if err := read(tt.files); err == nil || !strings.HasPrefix(err.Error(), "scenarios/claims/"+tt.want) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
	}
}

// Evidence that a run does not bear out is found.
func TestContradiction(t *testing.T) {
	broke := func(as ...checker.Assumption) checker.Result {
		r := checker.Result{Verdict: checker.Unsafe, Statuses: []checker.PropertyStatus{{Property: checker.LeaseExclusion, Status: checker.Violated}}}
		for _, a := range as {
			r.Violations = append(r.Violations, checker.Violation{Property: checker.LeaseExclusion, Assumption: a, What: "both held it"})
		}
		return r
	}
	nothing := checker.Result{Verdict: checker.Inconclusive, Unmet: []string{"c1 paused", "c2 waits"}}
	waits := []checker.Measurement{{Quantity: checker.Wait}}
	for _, tt := range []struct {
		evidence string
		result   checker.Result
		want     string
	}{
		{"lease exclusion violated", broke(checker.BoundedPause), ""},
		{"lease exclusion violated: bounded pause", broke(checker.BoundedPause, checker.BoundedPause), ""},
		{"lease exclusion violated: bounded pause", broke(checker.BoundedPause, checker.BoundedDelay), `the text says lease exclusion depends on "bounded pause", but in the run the broken assumption is "bounded delay": both held it`},
		{"lease exclusion ok", broke(checker.BoundedPause), "the text says lease exclusion is ok, but in the run it is violated"},
		{"lease exclusion ok", nothing, "the run proves nothing: c1 paused; c2 waits"},
		{"wait", broke(), ""},
		{"takeover", broke(), "the text shows takeover, but the run does not report it"},
	} {
		e, err := parseEvidence("pause-after-acquire/single " + tt.evidence)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(e.Contradiction(tt.result, waits)); got != tt.want && (tt.want != "" || got != "<nil>") {
			t.Errorf("%s: %s, want %q", tt.evidence, got, tt.want)
		}
	}
}
