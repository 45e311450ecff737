package scenarios

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/checker/explain"
	"lockstep/checker/facts"
	"lockstep/scenarios/play"
	"lockstep/sim/history"
)

// Every violation of the catalogue is explained from its history alone, in sentences that can be checked against it, and in the words
// that testdata/explanations.txt has.
func TestCatalogueIsExplained(t *testing.T) {
	play.QuietRedis()
	all := stories(t)
	outcomes, left := wholeCatalogue(t), leftOut(t)
	const file = "testdata/explanations.txt"
	saved, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, told := map[string]string{}, map[string]string{}
	for text := range strings.SplitSeq(string(saved), "\n\n") {
		name, _, _ := strings.Cut(text, "\n")
		run, _, _ := strings.Cut(name, ": ")
		if !left[run] {
			want[name] = strings.TrimSuffix(text, "\n")
		}
	}
	var names []string
	explained := map[checker.Property]int{}
	for _, s := range all {
		for _, run := range s.Runs {
			t.Run(s.Name+"/"+run.ID(), func(t *testing.T) {
				o := outcomes[s.Name+"/"+run.ID()]
				for _, v := range o.Result.Violations {
					sentences := explain.Story(facts.Of(o.History), v)
					checkExplanation(t, o.History, v, sentences)
					explained[v.Property]++
					name := s.Name + "/" + run.ID() + ": " + v.What
					if told[name] == "" {
						names = append(names, name)
						told[name] = name
					}
					for _, s := range sentences {
						told[name] += "\n  " + s.Text
					}
				}
			})
		}
	}
	for _, name := range names {
		if told[name] != want[name] && !*rewrite {
			t.Errorf("%s tells otherwise (make golden renews it):\n%s\nwant\n%s", file, told[name], want[name])
		}
	}
	if len(want) != len(names) && !*rewrite {
		t.Errorf("%s has %d stories, want %d (make golden renews it)", file, len(want), len(names))
	}
	if *rewrite {
		var text []string
		for _, name := range names {
			text = append(text, told[name])
		}
		if err := os.WriteFile(file, []byte(strings.Join(text, "\n\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Log(explained)
	for _, p := range checker.Properties() {
		// No lock that is offered hands out a lease that is over; the broken one that does is in broken_test.go.
		if explained[p] == 0 && p != checker.ExpiredOnReturn {
			t.Errorf("no violation of %s was explained", p)
		}
	}
}

func checkExplanation(t *testing.T, h *history.History, v checker.Violation, told []explain.Sentence) {
	t.Helper()
	var story strings.Builder
	for _, s := range told {
		story.WriteString("\n  " + s.Text)
	}
	t.Log(story.String())
	if len(told) < 2 || len(told) > 10 {
		t.Errorf("%d sentences", len(told))
	}
	var all []int
	for n, s := range told {
		if len(s.Events) == 0 {
			t.Fatalf("%q stands on nothing", s.Text)
		}
		if n > 0 && n < len(told)-1 && s.Events[0] < told[n-1].Events[0] {
			t.Errorf("%q is told after %q", s.Text, told[n-1].Text)
		}
		checkGrounds(t, h, s)
		all = append(all, s.Events...)
	}
	if last := v.Events[len(v.Events)-1]; !slices.Contains(all, last) {
		t.Errorf("event %d, the last that proves %q, is not told", last, v.What)
	}
}

var (
	mentioned = regexp.MustCompile(`\b(?:[cnrsp][0-9]+|probe)(?:#[0-9]+)?\b`)
	clocked   = regexp.MustCompile(`-?\b[0-9]+\.[0-9]{3}s\b`)
)

// checkGrounds fails the test unless all that a sentence names is in its events.
func checkGrounds(t *testing.T, h *history.History, s explain.Sentence) {
	t.Helper()
	names, times := map[string]bool{}, map[string]bool{}
	for _, i := range s.Events {
		e := h.Events[i]
		for _, name := range append(mentioned.FindAllString(e.Value, -1), e.Process, e.By, e.Lease, e.Owner) {
			client, _, _ := strings.Cut(name, "#")
			names[name], names[client] = true, true
		}
		for _, at := range []time.Duration{e.At, e.Clock, e.Sent, e.Until} {
			times[at.Truncate(time.Millisecond).String()] = true
		}
	}
	for _, name := range mentioned.FindAllString(s.Text, -1) {
		if !names[name] {
			t.Errorf("%q names %s, which is in none of its events %v", s.Text, name, s.Events)
		}
	}
	for _, at := range clocked.FindAllString(s.Text, -1) {
		if d, err := time.ParseDuration(at); err != nil || !times[d.String()] {
			t.Errorf("%q names %s, which is in none of its events %v", s.Text, at, s.Events)
		}
	}
}
