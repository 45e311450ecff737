package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

var fidelity = flag.Int("fidelity", 0, "renew the table of docs/fidelity.md, with this many repetitions of each run on real servers")

const (
	fidelityPage  = "../../docs/fidelity.md"
	fidelityBegin = "<!-- made by make fidelity -->\n"
	fidelityEnd   = "<!-- end of what make fidelity makes -->\n"
)

var (
	agreementRow = regexp.MustCompile(`(?m)^\| ([a-z0-9-]+/[a-z0-9/-]+) \| [0-9.]+ \| ([A-Z]+)[^|]* \| \**(\d+) of (\d+)(?:, (\d+) prove nothing)?`)
	simOnlyRow   = regexp.MustCompile(`(?m)^\| ([a-z0-9-]+/[a-z0-9/-]+) \| ([^|]+) \|$`)
)

// fidelityParts splits the page into the generated table, and the text before and after it.
func fidelityParts(t *testing.T) (before, table, after string) {
	t.Helper()
	data, err := os.ReadFile(fidelityPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(data), fidelityBegin)
	table, after, ends := strings.Cut(rest, fidelityEnd)
	if !begins || !ends {
		t.Fatalf("%s must have the table between the lines %q and %q", fidelityPage, fidelityBegin, fidelityEnd)
	}
	return before, table, after
}

// docs/fidelity.md has every run of the catalogue, with its result on real servers or why it exists only in simulation. It explains runs
// that were judged differently. The program itself says why a run proves nothing.
func TestFidelityPage(t *testing.T) {
	if *fidelity > 0 {
		out, code := program(t, "matrix", "--on", "both", "--repeat", fmt.Sprint(*fidelity), "--markdown")
		if code == exitInput {
			t.Fatalf("exit status %d\n%s", code, out)
		}
		before, _, after := fidelityParts(t) // only now: the runs took an hour, and somebody may have edited the page meanwhile
		if err := os.WriteFile(fidelityPage, []byte(before+fidelityBegin+out+fidelityEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	before, table, after := fidelityParts(t)
	real, only := map[string][]string{}, map[string]string{}
	for _, m := range agreementRow.FindAllStringSubmatch(table, -1) {
		real[m[1]] = m[2:]
	}
	for _, m := range simOnlyRow.FindAllStringSubmatch(table, -1) {
		only[m[1]] = m[2]
	}
	all, err := script.Stories()
	if err != nil {
		t.Fatal(err)
	}
	repetitions := 0
	for _, s := range all {
		for _, r := range s.Runs {
			name := s.Name + "/" + r.ID()
			row, done := real[name]
			switch err := play.CheckRedis(s, r, 0); {
			case err != nil && done:
				t.Errorf("%s cannot be run on real servers, but the page says that it was: %v", name, err)
			case err != nil && !strings.Contains(err.Error(), strings.TrimSpace(cmp.Or(only[name], "missing"))):
				t.Errorf("%s: the page says %q, but the program %v", name, only[name], err)
			case err == nil && !done:
				t.Errorf("%s can be run on real servers, but is missing from the page: make fidelity", name)
			case err == nil && row[0] != string((&play.Outcome{Run: s.Resolve(r)}).ExpectedVerdict()):
				t.Errorf("%s: the page says %s in simulation, but the catalogue expects another verdict", name, row[0])
			case err == nil && number(t, row[1])+number(t, cmp.Or(row[3], "0")) < number(t, row[2]) && !strings.Contains(before+after, "`"+name+"`") && !strings.Contains(before+after, "`"+s.Name+"`"):
				t.Errorf("%s was judged differently on real servers in some of %s repetitions, and the page does not say why", name, row[2])
			}
			if done {
				repetitions = max(repetitions, number(t, row[2]))
			}
			delete(real, name)
			delete(only, name)
		}
	}
	for name := range real {
		t.Errorf("there is no run %s", name)
	}
	for name := range only {
		t.Errorf("there is no run %s", name)
	}
	if least := 10; repetitions < least {
		t.Errorf("the page has %d repetitions, want at least %d", repetitions, least)
	}
	if !slices.ContainsFunc(strings.Split(after, "\n"), func(l string) bool { return strings.HasPrefix(l, "## What is not simulated") }) {
		t.Error("the page does not say what is not simulated")
	}
}

func number(t *testing.T, s string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
