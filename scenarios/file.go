package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios/files"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// RunFile plays a lock in a scenario file of your own: there is a subtest SCENARIO/RUN for each section of the file, with your
// lock in the place of the one that the section names. Any name will do there, such as that of the reference, or a new one.
// Package [lockstep/scenarios/script] documents the language; errors in a file are reported with file:line.
//
// The test passes if each outcome is exactly what the file expects: an expected violation must occur, and the assumption that the
// file names must have been broken. A run that proves nothing fails. If a section has a timeline, the run must produce it; see
// [Rewrite].
//
// The options that apply are [Seed], [Limit], [Memory], [Restless], [Guests], [OnRedis] with [Speed], and, in simulation, [Rewrite]. Runs
// that are not possible on real servers are skipped; RunFile fails if none is possible. Everything else is as for [Test].
func RunFile(t *testing.T, path string, newLock clients.New, opts ...Option) {
	t.Helper()
	call := enter(t, newLock)
	if call == "" {
		return
	}
	o, err := gather(newLock, opts, (*options).forFile)
	if err != nil {
		t.Fatal(err)
	}
	if path == "" {
		t.Fatal(`scenarios.RunFile: the path must be that of a scenario file, such as "testdata/my-lock.txtar"`)
	}
	s, err := script.Load(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	var all []trial
	for _, r := range s.Runs {
		all = append(all, trial{Case: play.Case{Scenario: s, Run: r}})
	}
	if _, _, err := o.possible(all); err != nil { // this also determines how long the bench must wait
		t.Fatal(err)
	}
	b := newBench(t, call, o)
	defer b.close()
	renewed := *s
	renewed.Runs = slices.Clone(s.Runs)
	for _, r := range s.Runs {
		b.names = append(b.names, s.Name+"/"+r.ID())
	}
	name := t.Name()
	for i, r := range s.Runs {
		t.Run(b.names[i], func(t *testing.T) {
			t.Helper()
			c, err := o.place(play.Case{Scenario: s, Run: r.With(name), Seed: o.seed, Restless: o.restless, Guests: o.guests, New: newLock})
			if err != nil {
				t.Skip(err)
			}
			out := b.do(t, c, i, play.Promise{As: []script.Section{r}, Exact: true})
			if out.Report == nil && o.rewrite {
				renewed.Runs[i].Renew(out.Timeline(), out.History.Meta.Checksum)
			}
			b.expected(t, out, path)
		})
	}
	b.sumUp(t)
	if text := renewed.String(); o.rewrite && text != s.String() {
		if err := files.Write(t.Context(), path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		t.Logf("renewed the timelines in %s", path)
	}
}

// expected fails a test whose outcome is not what its file expects.
func (b *bench) expected(t *testing.T, o *play.Outcome, path string) {
	t.Helper()
	if o.Report != nil {
		b.fail(t, o, "", whyUnended(o))
		return
	}
	var wrong []string
	for _, d := range o.Unexpected() {
		wrong = append(wrong, fmt.Sprintf("%s:%d: %s", path, o.Run.Line(), d))
	}
	if o.Surprising() && o.Result.Verdict == checker.Inconclusive {
		for _, u := range o.Result.Unmet {
			wrong = append(wrong, fmt.Sprintf("%s:%d: nothing is proved: %s", path, o.Run.Line(), u))
		}
	}
	if o.Run.Golden != "" && o.History.Meta.On == play.OnSim && !b.rewrite {
		if line, diff := firstDifference(o.Run.Golden, o.Timeline()); diff != "" {
			wrong = append(wrong, fmt.Sprintf("%s:%d: the timeline is another one from here on; scenarios.Rewrite(true) renews it\n%s", path, o.Run.GoldenLine+line, diff))
		}
	}
	if len(wrong) > 0 {
		b.fail(t, o, o.Timeline(), strings.Join(wrong, "\n"))
		return
	}
	b.account(t, o, "", false)
	t.Logf("%s\n%s", headOf(o), o.Timeline())
}

// Limits of the text that firstDifference returns.
const (
	linesBefore = 3
	linesOfEach = 8
)

// firstDifference returns the number of the line in have, from 0, at which two texts begin to differ, and a text that shows the
// difference; the text is empty if they are equal.
func firstDifference(have, got string) (line int, diff string) {
	if have == got {
		return 0, ""
	}
	a, b := strings.SplitAfter(have, "\n"), strings.SplitAfter(got, "\n")
	for line < min(len(a), len(b)) && a[line] == b[line] {
		line++
	}
	var s strings.Builder
	show := func(mark string, lines []string) {
		for _, l := range lines {
			if l != "" {
				s.WriteString(mark + strings.TrimSuffix(l, "\n") + "\n")
			}
		}
	}
	restA, restB := a[line:], b[line:]
	for len(restA) > 0 && len(restB) > 0 && restA[len(restA)-1] == restB[len(restB)-1] {
		restA, restB = restA[:len(restA)-1], restB[:len(restB)-1]
	}
	show("    ", a[max(0, line-linesBefore):line])
	show("  - ", restA[:min(len(restA), linesOfEach)])
	show("  + ", restB[:min(len(restB), linesOfEach)])
	if n := len(restA) + len(restB) - min(len(restA), linesOfEach) - min(len(restB), linesOfEach); n > 0 {
		fmt.Fprintf(&s, "    (%d more lines)\n", n)
	}
	return line, strings.TrimSuffix(s.String(), "\n")
}
