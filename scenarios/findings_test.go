package scenarios

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/clients/libraries"
)

// Every library goes through the catalogue to its end. What is said of a library is what its runs show, what is said to repair it does, and what its runs show is said: of every
// library in every run of the catalogue that it takes part in.
func TestFindings(t *testing.T) {
	asLibraryWorker()
	var cases []Case
	for _, l := range libraries.Locks() {
		for _, c := range libraryRuns(t, l) {
			c.Seed, c.Restless = 1, l.Restless
			cases = append(cases, c)
		}
	}
	references := wholeCatalogue(t)
	outcomes := map[string]*Outcome{} // by run and library
	runLibraries(t, cases, func(_ int, o *Outcome) {
		outcomes[o.Name()+" "+o.Run.Lock] = o
		switch {
		case o.Report != nil: // a panic, a goroutine left behind, a world that does not come to rest
			t.Errorf("%s with %s: %s", o.Name(), o.Run.Lock, o.Report)
		case o.History.Meta.Cap != "":
			t.Errorf("%s with %s: hit %s", o.Name(), o.Run.Lock, o.History.Meta.Cap)
		}
	})

	findings := Findings()
	for _, f := range findings {
		if f.Title == "" || f.Takes == "" || f.Promise == "" || f.Repair == "" || len(f.Locks) == 0 || len(f.Runs) == 0 {
			t.Errorf("%q lacks something", f.Title)
		}
		if (f.Property == "") == (f.Quantity == "") {
			t.Errorf("%q: it is about a property or about a quantity", f.Title)
		}
		for _, run := range f.Runs {
			for _, lock := range f.Locks {
				if o := outcomes[run+" "+lock]; o == nil || !f.shownBy(o, references[run]) {
					t.Errorf("%q: %s with %s does not show it", f.Title, run, lock)
				}
			}
			for _, lock := range f.Repaired {
				if o := outcomes[run+" "+lock]; o == nil || f.shownBy(o, references[run]) || o.Result.Verdict == checker.Inconclusive {
					t.Errorf("%q: %s with %s is not repaired", f.Title, run, lock)
				}
			}
		}
	}

	for _, c := range cases {
		o := outcomes[c.Scenario.Name+"/"+c.Run.ID()+" "+c.Run.Lock]
		if o.Result.Verdict != checker.Unsafe {
			continue // what proves nothing is no finding
		}
		for _, b := range o.Broken() {
			told := slices.ContainsFunc(findings, func(f Finding) bool {
				same := b.Assumption != checker.None && f.Property == b.Property && f.Assumption == b.Assumption // one more way to it
				return slices.Contains(f.Locks, o.Run.Lock) && (slices.Contains(f.Runs, o.Name()) || same)
			})
			if !told {
				t.Errorf("no finding tells that %s with %s violates %s (%s): %s", o.Name(), o.Run.Lock, b.Property, b.Assumption, b.What)
			}
		}
	}

	page, path := findingsPage(t, outcomes, references), filepath.Join("..", "docs", "findings.md")
	if *rewrite {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || string(have) != page {
		t.Errorf("docs/findings.md is out of date (%v); go test ./scenarios -run Findings -rewrite renews it", err)
	}
}

// many is how many times more of a quantity than its reference a library takes where that is a finding.
const many = 10

// shownBy says whether an outcome shows what is said.
func (f Finding) shownBy(o, reference *Outcome) bool {
	if f.Quantity != "" {
		return o.figure(f.Quantity) > many*reference.figure(f.Quantity)
	}
	return slices.ContainsFunc(o.Result.Violations, func(v checker.Violation) bool {
		return v.Property == f.Property && v.Assumption == f.Assumption
	})
}

// figure is the first figure of a quantity; 0 if it was not reported.
func (o *Outcome) figure(q checker.Quantity) float64 {
	for _, m := range o.Measurements {
		if m.Quantity == q && len(m.Figures) > 0 {
			return m.Figures[0].Value
		}
	}
	return 0
}

// findingsPage is docs/findings.md.
func findingsPage(t *testing.T, outcomes, references map[string]*Outcome) string {
	var b strings.Builder
	b.WriteString(`# What the runs show of unmodified libraries

This page lists what a library does worse than the reference lock in whose place it was put, or what contradicts its documentation.
It is about these versions and these runs. It does not list what every such lock does: a pause that outlives the lease breaks
exclusion at the resource with every lock that expires, and a node that forgets breaks every implementation of Redlock. [The matrix](matrix.md)
has all of that. This page is made from ` + "`scenarios.Findings`" + ` and from runs: ` + "`go test ./scenarios -run Findings -rewrite`" + `. A test fails
when a run does not show a finding, when a repair does not help, and when a library violates more than is listed here.

Whether a finding matters to you depends on what you use the lock for, and on what can happen where you use it. Nothing here says that a
library is bad: the runs ask of it what its authors may never have promised.

`)
	for i, f := range Findings() {
		fmt.Fprintf(&b, "## %d. %s\n\n", i+1, f.Title)
		fmt.Fprintf(&b, "*%s %s*, as %s.\n\n", f.Library, versionOf(t, f.Library), strings.Join(f.Locks, ", "))
		first := outcomes[f.Runs[0]+" "+f.Locks[0]]
		switch {
		case f.Quantity != "":
			fmt.Fprintf(&b, "No property is violated. %s: about %.0f for one lease, where %s takes %.0f.\n\n",
				title(string(f.Quantity)), round(first.figure(f.Quantity)), first.Run.Reference(), references[f.Runs[0]].figure(f.Quantity))
		case f.Assumption == checker.None:
			fmt.Fprintf(&b, "Violates **%s**, and no assumption broke.\n\n", f.Property)
		default:
			fmt.Fprintf(&b, "Violates **%s**; the assumption that broke with it is %s.\n\n", f.Property, f.Assumption)
		}
		for _, run := range f.Runs {
			fmt.Fprintf(&b, "    lockstep run %s --lock %s -v\n", run, f.Locks[0])
		}
		fmt.Fprintf(&b, "\n**What it takes.** %s\n\n**What is promised.** %s\n\n**What helps.** %s", f.Takes, f.Promise, f.Repair)
		if len(f.Repaired) > 0 {
			fmt.Fprintf(&b, " The same runs do not show it with %s.", strings.Join(f.Repaired, ", "))
		}
		b.WriteString("\n\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// round keeps one digit of a figure: runs of restless locks differ.
func round(x float64) float64 {
	for digit := 1.0; ; digit *= 10 {
		if x < 10*digit {
			return float64(int(x/digit+0.5)) * digit
		}
	}
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// versionOf is the version of a module that go.mod asks for.
func versionOf(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", module).Output()
	if err != nil {
		t.Fatalf("go list -m %s: %v", module, err)
	}
	return strings.TrimSpace(string(out))
}
