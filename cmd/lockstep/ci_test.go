package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/clients"
	"lockstep/internal/draws"
	"lockstep/reports"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// altered is a command for scripts: altered FILE OLD NEW TO copies FILE to TO, with every OLD replaced by NEW.
func altered(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: altered FILE OLD NEW TO")
	}
	data := ts.ReadFile(args[0])
	if !strings.Contains(data, args[1]) {
		ts.Fatalf("%s has no %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), []byte(strings.ReplaceAll(data, args[1], args[2])), 0o644))
}

// hostileNames are names that a browser, a terminal, a runner or a parser may take for something other than text.
var hostileNames = []string{
	"<script>alert(1)</script>", `"'><img src=x onerror=alert(1)>`, "]]></failure><!--", "\u202ereversed\u202c\u200f", "a\n::error::b\r\n\x00\x1b[31m\x7f\u0085\ufffe\uffff",
	strings.Repeat("long", 2500), "{{.}} `x` | **y** [z](javascript:1) ##[error]", "é\xff\xed\xa0\x80", "100% of a, b: c",
}

// hostileFindings returns findings in which every text is hostile.
func hostileFindings() []finding {
	var all []finding
	for i, bad := range hostileNames {
		o := &play.Outcome{
			Scenario: &script.Scenario{Name: bad, File: bad, Title: bad, Prose: bad},
			Run:      script.Section{Lock: bad, Label: bad, Nodes: 1},
			History:  &history.History{Meta: history.Meta{Scenario: bad, Lock: bad, Label: bad, On: "redis", Seed: 1, Nodes: []string{"n1"}, Clients: []string{bad}, Resource: "plain"}},
		}
		o.History.Events = []history.Event{
			{At: time.Second, Process: bad, Kind: history.Invoke, Op: history.Acquire},
			{At: 2 * time.Second, Process: bad, Kind: history.Fail, Op: history.Acquire, Error: bad},
		}
		o.Facts = facts.Of(o.History)
		o.Result = checker.Check(o.Facts, nil)
		o.Result.Unmet = append(o.Result.Unmet, bad)
		o.Result.Violations = append(o.Result.Violations, checker.Violation{Property: checker.LeaseExclusion, What: bad, Assumption: checker.Assumption(bad)})
		g := finding{o: o, run: o.Name(), suite: bad, file: bad, line: 7, again: "lockstep show " + quoted(bad), reasons: []string{bad}, status: exitUnexpected}
		if i%2 == 0 {
			g.status = exitUnknown
		}
		lost := finding{run: bad + "/" + bad, suite: bad, file: bad, status: exitUnknown, reasons: []string{bad}}
		all = append(all, g, g, lost)
	}
	return all
}

// xmllint checks files against the schema of Jenkins. Without xmllint the test is skipped; in CI it fails.
func xmllint(t *testing.T, files ...string) {
	t.Helper()
	program, err := exec.LookPath("xmllint")
	if err != nil {
		const missing = "there is no xmllint; make xmllint installs it"
		if os.Getenv("CI") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	args := append([]string{"--noout", "--nonet", "--schema", filepath.Join("testdata", "jenkins-junit.xsd")}, files...)
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		t.Errorf("xmllint: %v\n%s", err, out)
	}
}

// Reports conform to the schemas of CI servers, whatever names are in them.
func TestJUnit(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "<script> & \"quoted\".txtar")
	data, err := os.ReadFile("../../scenarios/catalogue/pause-fenced.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, bytes.ReplaceAll(data, []byte("expect resource exclusion violated: bounded pause"), nil), 0o644); err != nil {
		t.Fatal(err)
	}
	var files []string
	for i, args := range [][]string{
		{"pause-fenced", "clock-jump"},
		{page},
		{"pause-after-acquire/single", "--lock", "standin-panics"},
	} {
		file := filepath.Join(dir, fmt.Sprint(i, ".xml"))
		c := exec.Command(os.Args[0], append([]string{"run", "--junit", file}, args...)...)
		c.Env = append(c.Environ(), asProgram+"=1")
		if out, err := c.CombinedOutput(); c.ProcessState == nil || c.ProcessState.ExitCode() != i { // the runs are in order of their exit statuses
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		files = append(files, file)
	}
	hostile := filepath.Join(dir, "hostile.xml")
	if err := writeJUnit(t.Context(), hostile, hostileFindings(), time.Now(), time.Second); err != nil {
		t.Fatal(err)
	}
	files = append(files, hostile)

	// The schema of Jenkins' xUnit plugin (junit-10) is stricter: it has fewer attributes.
	allowed := map[string][]string{
		"testsuites": {"name", "time", "tests", "failures", "errors"},
		"testsuite":  {"name", "tests", "failures", "errors", "time", "skipped", "timestamp", "hostname", "id", "package"},
		"testcase":   {"name", "time", "classname"},
		"properties": nil, "property": {"name", "value"}, "system-out": nil,
		"failure": {"type", "message"}, "error": {"type", "message"},
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cases := map[string]bool{}
		for d := xml.NewDecoder(bytes.NewReader(data)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			e, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			attributes, ok := allowed[e.Name.Local]
			if !ok {
				t.Errorf("%s: element %s", file, e.Name.Local)
			}
			name := ""
			for _, a := range e.Attr {
				if !slices.Contains(attributes, a.Name.Local) {
					t.Errorf("%s: %s has an attribute %s", file, e.Name.Local, a.Name.Local)
				}
				name += a.Value + "\x00"
			}
			if e.Name.Local == "testcase" {
				if cases[name] {
					t.Errorf("%s: two cases are %q", file, name)
				}
				cases[name] = true
			}
		}
		if len(cases) == 0 {
			t.Errorf("%s: no case", file)
		}
	}
	xmllint(t, files...)
}

// A report of runs that were interrupted also lists those that were not made.
func TestJUnitInterrupted(t *testing.T) {
	s, err := script.Find("pause-fenced")
	if err != nil {
		t.Fatal(err)
	}
	f := &runFlags{on: play.OnSim, ci: ciFlags{junit: filepath.Join(t.TempDir(), "report.xml")}}
	cases := f.cases([]selection{{scenario: s, runs: s.Runs}}, 1)
	build, err := clients.Find(s.Runs[0].Lock)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := make([]*play.Outcome, len(cases))
	if outcomes[0], err = play.Simulate(s, s.Runs[0], build, 1); err != nil {
		t.Fatal(err)
	}
	c := &cobra.Command{}
	c.SetErr(io.Discard)
	if err := f.tell(c, cases, outcomes, time.Now(), context.Canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	data, err := os.ReadFile(f.ci.junit)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`tests="%d" errors="%d"`, len(cases), len(cases)-1)
	if !strings.Contains(string(data), want) || !strings.Contains(string(data), `<error message="pause-fenced/single: not run: interrupted" type="not run">`) {
		t.Errorf("no %s in\n%s", want, data)
	}
	xmllint(t, f.ci.junit)
}

// After an interruption, the results so far are printed and saved as far as that takes no time, in whole files and lines. The pictures of
// an earlier run are removed, because they would be taken for those of this one.
func TestInterruptedRuns(t *testing.T) {
	s, err := script.Find("pause-fenced")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f := &runFlags{on: play.OnSim, json: true, out: dir, files: map[*script.Scenario]bool{}}
	cases := f.cases([]selection{{scenario: s, runs: s.Runs}}, 1)
	outcomes := make([]*play.Outcome, len(cases))
	for _, i := range []int{0, 2} {
		build, err := clients.Find(s.Runs[i].Lock)
		if err != nil {
			t.Fatal(err)
		}
		if outcomes[i], err = play.Simulate(s, s.Runs[i], build, 1); err != nil {
			t.Fatal(err)
		}
	}
	stale := filepath.Join(dir, "pause-fenced", "single.svg")
	write(t, stale, "of yesterday")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, failed := range []error{ctx.Err(), nil} { // interrupted during the runs, and while they are drawn
		var out, said bytes.Buffer
		c := &cobra.Command{}
		c.SetContext(ctx)
		c.SetOut(&out)
		c.SetErr(&said)
		ended := outcomes
		if failed == nil {
			ended = []*play.Outcome{outcomes[0], outcomes[2]}
		}
		if err := f.tell(c, cases, ended, time.Now(), failed); !errors.Is(err, context.Canceled) {
			t.Errorf("it ends with %v", err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 || !strings.HasPrefix(lines[0], `{"scenario":"pause-fenced","run":"fenced",`) || !strings.HasPrefix(lines[1], `{"scenario":"pause-fenced","run":"single",`) {
			t.Errorf("it prints\n%s", out.String())
		}
		if want := "saved in " + dir + " without pictures: 2 of 2 runs; lockstep show draws them\n"; !strings.Contains(said.String(), want) {
			t.Errorf("it says\n%s\nand not %s", said.String(), want)
		}
		files, err := filepath.Glob(filepath.Join(dir, "pause-fenced", "*"))
		if err != nil || len(files) != 4 {
			t.Errorf("%q are kept, %v", files, err)
		}
		for _, name := range []string{"fenced", "single"} {
			if _, err := readHistory(t.Context(), filepath.Join(dir, "pause-fenced", name+".jsonl")); err != nil {
				t.Error(err)
			}
		}
	}
}

// Each annotation is one line, whatever is in it, and no other output is taken for one.
func TestAnnotations(t *testing.T) {
	var b strings.Builder
	findings := hostileFindings()
	w := &guard{w: &b}
	for _, bad := range hostileNames {
		fmt.Fprintf(w, "%s\n  %s\n", bad, bad)
		io.WriteString(w, "\t:")
		io.WriteString(w, ":error::split #")
		io.WriteString(w, "#[error]\n")
		fmt.Fprintf(w, "{%q:1}\n", bad)
	}
	if err := annotate(w, findings); err != nil {
		t.Fatal(err)
	}
	commands := 0
	for line := range strings.SplitSeq(b.String(), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "::") {
			commands++
			if !strings.HasPrefix(line, "::error file=") && !strings.HasPrefix(line, "::warning file=") {
				t.Errorf("%.200q", line)
			}
			if strings.Count(strings.SplitN(line, "::", 3)[1], "title=") != 1 || strings.ContainsAny(line, "\r\x00\x1b\u202e") {
				t.Errorf("%.300q", line)
			}
		} else if strings.Contains(line, "##[") {
			t.Errorf("%.200q", line)
		}
	}
	if commands != len(findings) {
		t.Errorf("%d commands for %d findings", commands, len(findings))
	}
}

// The summary of a step is a table, whatever the names are, and is not larger than GitHub allows.
func TestStepSummary(t *testing.T) {
	file := filepath.Join(t.TempDir(), "summary.md")
	few := hostileFindings()
	if err := appendSummary(file, few); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) != 4+len(few) {
		t.Errorf("%d lines for %d findings:\n%s", len(lines), len(few), data)
	}
	for _, line := range lines[2:] {
		if strings.Count(line, "|") != 6 || strings.ContainsAny(line, "<>`[]\u202e\x1b") {
			t.Errorf("%.300q", line)
		}
	}
	var many []finding
	for len(many) < 20000 {
		many = append(many, few...)
	}
	for range 3 { // the summary is full after the first
		if err := appendSummary(file, many); err != nil {
			t.Fatal(err)
		}
	}
	data, err = os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > mostSummary || len(data) < mostSummary/2 || !bytes.Contains(data, []byte(" more: see the log of the step.\n")) {
		t.Errorf("%d bytes, of %d at most", len(data), mostSummary)
	}
}

// The commands in docs/ci.md work in their order. Those of its workflows are among them.
func TestCIPage(t *testing.T) {
	draws.Turn(t, 0, 4) // not on the day of TestMatrixPage, because both take long
	if testing.Short() {
		t.Skip("plays the catalogue several times")
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	data, err := os.ReadFile("../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bin := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(bin, "lockstep"), "#!/bin/sh\n"+asProgram+"=1 exec '"+self+"' \"$@\"\n")
	if err := os.Chmod(filepath.Join(bin, "lockstep"), 0o755); err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)<!-- tested: ([a-z]+) -->\n```\n(.*?)```").FindAllStringSubmatch(string(data), -1)
	if len(blocks) != 3 {
		t.Fatalf("%d blocks of commands", len(blocks))
	}
	for _, block := range blocks {
		for line := range strings.Lines(block[2]) {
			line = strings.TrimSpace(line)
			c := exec.Command(shell, "-c", line)
			c.Dir = dir
			c.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "reports", "lockstep.xml")); err != nil {
		t.Error(err)
	}
	// The workflows use commands that the program accepts.
	for _, m := range regexp.MustCompile("\\./(lockstep [^'\n]*)").FindAllStringSubmatch(string(data), -1) {
		if m[1] != "lockstep run --out results --junit reports/lockstep.xml" {
			t.Errorf("a workflow says %q, and nothing tests it", m[1])
		}
	}
}

// unreadable has a directory that cannot be read.
type unreadable struct{ fstest.MapFS }

func (u unreadable) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == "private" {
		return nil, fs.ErrPermission
	}
	return u.MapFS.ReadDir(name)
}

// A directory that cannot be read does not hide the other histories.
func TestHistoriesBesideUnreadable(t *testing.T) {
	dir := unreadable{fstest.MapFS{"a/single.jsonl": {}, "private/single.jsonl": {}, "z/single.jsonl": {}}}
	files, _, err := histories(dir)
	if want := []string{"a/single.jsonl", "private", "z/single.jsonl"}; err != nil || !slices.Equal(files, want) {
		t.Errorf("%v, %v; want %v", files, err, want)
	}
}

// Of 20,000 reasons only the first are shown.
func TestSomeReasons(t *testing.T) {
	all := make([]string, reports.ReasonsShown+3)
	for i := range all {
		all[i] = fmt.Sprint("reason ", i)
	}
	if got := some(all[:reports.ReasonsShown]); len(got) != reports.ReasonsShown {
		t.Errorf("%q", got)
	}
	got := some(all)
	if len(got) != reports.ReasonsShown+1 || got[reports.ReasonsShown-1] != all[reports.ReasonsShown-1] || got[reports.ReasonsShown] != "and 3 more reasons" {
		t.Errorf("%q", got)
	}
	if told := (finding{reasons: all}).explanation(); strings.Count(told, "reason ") != reports.ReasonsShown {
		t.Errorf("%s", told)
	}
}
