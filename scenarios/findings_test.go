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
	"lockstep/internal/draws"
	"lockstep/scenarios/internal/fields"
	"lockstep/scenarios/play"
	"lockstep/sim/history"
)

// A finding is something that an unmodified library does worse than the reference lock in whose place it was put, or that
// contradicts the library's documentation: a file in the directory findings.
type finding struct {
	title   string   // one sentence
	library string   // the path of its module
	locks   []string // the configurations affected, by their names in package lockstep/clients/libraries
	runs    []string // runs of the catalogue, each of which shows it for each of locks in the place of the lock that the run names
	// property is the property that is violated, and assumption what broke with it; None means that the library itself is at fault. Or
	// quantity is what the library takes too much of.
	property                checker.Property
	assumption              checker.Assumption
	quantity                checker.Quantity
	takes, promised, repair string   // the conditions that have to come together; what the documentation says, and where; what helps
	repaired                []string // configurations in which the same runs do not show it
}

var findingRules = []fields.Rule{
	{Name: "finding", Shape: fields.Line, Least: 1, Most: 1},
	{Name: "library", Shape: fields.Line, Least: 1, Most: 1},
	{Name: "locks", Shape: fields.Line, Least: 1, Most: 1},
	{Name: "repaired", Shape: fields.Line, Least: 0, Most: 1},
	{Name: "run", Shape: fields.Line, Least: 1, Most: 20},
	{Name: "violates", Shape: fields.Line, Least: 0, Most: 1},
	{Name: "assumption", Shape: fields.Line, Least: 0, Most: 1},
	{Name: "exceeds", Shape: fields.Line, Least: 0, Most: 1},
	{Name: "takes", Shape: fields.Paragraph, Least: 1, Most: 1},
	{Name: "promise", Shape: fields.Paragraph, Least: 1, Most: 1},
	{Name: "repair", Shape: fields.Paragraph, Least: 1, Most: 1},
}

// parseFinding reads the file of a finding.
func parseFinding(name string, data []byte) (finding, error) {
	f, err := fields.Parse(name, data, findingRules)
	if err != nil {
		return finding{}, err
	}
	list := func(name string) []string { // at most one line, of names with commas between them
		return strings.FieldsFunc(strings.Join(f.Values(name), ""), func(c rune) bool { return c == ',' || c == ' ' })
	}
	g := finding{
		title: f.Value("finding"), library: f.Value("library"), locks: list("locks"), repaired: list("repaired"), runs: f.Values("run"),
		takes: f.Text("takes"), promised: f.Text("promise"), repair: f.Text("repair"),
	}
	for i, p := range f.Values("violates") {
		if g.property = checker.Property(p); !slices.Contains(checker.Properties(), g.property) {
			return g, f.Fail("violates", i, "%w", history.Unknown("property", p, checker.Properties()))
		}
	}
	for i, a := range f.Values("assumption") {
		if g.assumption = checker.Assumption(a); !slices.Contains(checker.Assumptions(), g.assumption) {
			return g, f.Fail("assumption", i, "%w", history.Unknown("assumption", a, checker.Assumptions()))
		}
	}
	for i, q := range f.Values("exceeds") {
		if g.quantity = checker.Quantity(q); !slices.Contains(checker.Quantities(), g.quantity) {
			return g, f.Fail("exceeds", i, "%w", history.Unknown("quantity", q, checker.Quantities()))
		}
	}
	if (g.property == "") != (g.assumption == "") || (g.property == "") == (g.quantity == "") {
		return g, f.Fail("finding", 0, "a finding must have violates and assumption, or else exceeds")
	}
	return g, nil
}

// findings reads all findings, in the order of their files.
func findings(t *testing.T) []finding {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("findings", "*.txt"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%d findings, %v", len(names), err)
	}
	var all []finding
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parseFinding("scenarios/"+filepath.ToSlash(name), data)
		if err != nil {
			t.Error(err)
			continue
		}
		all = append(all, f)
	}
	return all
}

// A mistake in the file of a finding is told with its line, and with what is required.
func TestFindingErrors(t *testing.T) {
	const good = "finding: F.\nlibrary: a.example/b\nlocks: b, b-slow\nrun: calm/single\nviolates: owner only\nassumption: none\ntakes:\n  T.\npromise:\n  P.\nrepair:\n  R.\n"
	f, err := parseFinding("x.txt", []byte(good))
	if err != nil || !slices.Equal(f.locks, []string{"b", "b-slow"}) || len(f.repaired) > 0 || f.property != checker.OwnerOnly || f.assumption != checker.None || f.repair != "R." {
		t.Errorf("%+v, %v", f, err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{"owner only", "owner", `x.txt:5: unknown property "owner"; the properties are`},
		{"none", "nothing", `x.txt:6: unknown assumption "nothing"; the assumptions are`},
		{"assumption: none", "exceeds: noise", `x.txt:6: unknown quantity "noise"; the quantities are`},
		{"assumption: none\n", "", "x.txt:1: a finding must have violates and assumption, or else exceeds"},
		{"assumption: none", "exceeds: round trips", "x.txt:1: a finding must have violates and assumption, or else exceeds"},
		{"violates: owner only\nassumption: none\n", "", "x.txt:1: a finding must have violates and assumption, or else exceeds"},
		{"repair:\n  R.", "repair: R.", "x.txt:11: repair must have its text on the lines below it, indented"},
	} {
		if _, err := parseFinding("x.txt", []byte(strings.Replace(good, tt.old, tt.new, 1))); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want %q", tt.new, err, tt.want)
		}
	}
}

// Every library goes through the catalogue to its end. What is said of a library is what its runs show, what is said to repair it does, and what
// its runs show is said: of every library in every run of the catalogue that it takes part in.
func TestFindings(t *testing.T) {
	asLibraryWorker()
	if testing.Short() {
		t.Skip("plays every run with every library")
	}
	if !*rewrite {
		draws.Turn(t, 0, 4) // TestMatrixPage, on another day, plays the same runs
	}
	cases := everyLibraryRun(t)
	findings := findings(t)
	for _, f := range findings {
		cases = append(cases, f.sweeps(t)...)
	}
	references := wholeCatalogue(t)
	outcomes := map[string]*play.Outcome{} // by run and library
	runLibraries(t, cases, func(_ int, o *play.Outcome) {
		outcomes[o.Name()+" "+o.Run.Lock] = o
		switch {
		case o.Report != nil: // a panic, a goroutine left behind, a world that does not come to rest
			t.Errorf("%s with %s: %s", o.Name(), o.Run.Lock, o.Report)
		case o.History.Meta.Cap != "":
			t.Errorf("%s with %s: hit %s", o.Name(), o.Run.Lock, o.History.Meta.Cap)
		}
	})

	for _, f := range findings {
		for _, run := range f.runs {
			for _, lock := range f.locks {
				if o := outcomes[run+" "+lock]; o == nil || !f.shownBy(o, references[run]) {
					t.Errorf("%q: %s with %s does not show it", f.title, run, lock)
				}
			}
			for _, lock := range f.repaired {
				if o := outcomes[run+" "+lock]; o == nil || f.shownBy(o, references[run]) || o.Result.Verdict == checker.Inconclusive {
					t.Errorf("%q: %s with %s is not repaired", f.title, run, lock)
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
			told := slices.ContainsFunc(findings, func(f finding) bool {
				same := b.Assumption != checker.None && f.property == b.Property && f.assumption == b.Assumption // one more way to it
				return slices.Contains(f.locks, o.Run.Lock) && (slices.Contains(f.runs, o.Name()) || same)
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

// sweeps lists the sweeps that show the finding, with the configurations that it names. The other sweeps of a library take too long for
// a test, so no test shows that a finding about them is missing.
func (f finding) sweeps(t *testing.T) (cases []play.Case) {
	t.Helper()
	for _, run := range f.runs {
		if s, r := find(t, run); len(s.Sweep) > 0 {
			for _, lock := range slices.Concat(f.locks, f.repaired) {
				cases = append(cases, play.Case{Scenario: s, Run: r.With(lock), Seed: 1})
			}
		}
	}
	return cases
}

// many is how many times more of a quantity than its reference a library takes where that is a finding.
const many = 10

// shownBy reports whether an outcome shows what is said.
func (f finding) shownBy(o, reference *play.Outcome) bool {
	if f.quantity != "" {
		return figureOf(o, f.quantity) > many*figureOf(reference, f.quantity)
	}
	return slices.ContainsFunc(o.Result.Violations, func(v checker.Violation) bool {
		return v.Property == f.property && v.Assumption == f.assumption
	})
}

// figureOf is the first figure of a quantity; 0 if it was not reported.
func figureOf(o *play.Outcome, q checker.Quantity) float64 {
	for _, m := range o.Measurements {
		if m.Quantity == q && len(m.Figures) > 0 {
			return m.Figures[0].Value
		}
	}
	return 0
}

// findingsPage is docs/findings.md.
func findingsPage(t *testing.T, outcomes, references map[string]*play.Outcome) string {
	var b strings.Builder
	b.WriteString(`# What the runs show of unmodified libraries

This page lists what a library does worse than the reference lock in whose place it was put, or what contradicts its documentation.
It is about these versions and these runs. It does not list what every such lock does: a pause that outlives the lease breaks
exclusion at the resource with every lock that expires, and a node that forgets breaks every implementation of Redlock. [The matrix](matrix.md)
has all of that. This page is made from the files in [scenarios/findings](../scenarios/findings) and from runs: ` + "`go test ./scenarios -run Findings -rewrite`" + `. A test fails
when a run does not show a finding, when a repair does not help, and when a library violates more than is listed here.

Whether a finding matters to you depends on what you use the lock for, and on what can happen where you use it. Nothing here says that a
library is bad: the runs ask of it what its authors may never have promised.

`)
	for i, f := range findings(t) {
		fmt.Fprintf(&b, "## %d. %s\n\n", i+1, f.title)
		fmt.Fprintf(&b, "*%s %s*, as %s.\n\n", f.library, versionOf(t, f.library), strings.Join(f.locks, ", "))
		first := outcomes[f.runs[0]+" "+f.locks[0]]
		switch {
		case f.quantity != "":
			fmt.Fprintf(&b, "No property is violated. %s: about %.0f for one lease, where %s takes %.0f.\n\n",
				title(string(f.quantity)), round(figureOf(first, f.quantity)), first.Run.Reference(), figureOf(references[f.runs[0]], f.quantity))
		case f.assumption == checker.None:
			fmt.Fprintf(&b, "Violates **%s**, and no assumption broke.\n\n", f.property)
		default:
			fmt.Fprintf(&b, "Violates **%s**; the assumption that broke with it is %s.\n\n", f.property, f.assumption)
		}
		for _, run := range f.runs {
			fmt.Fprintf(&b, "    lockstep run %s --lock %s -v\n", run, f.locks[0])
		}
		fmt.Fprintf(&b, "\n**What it takes.** %s\n\n**What is promised.** %s\n\n**What helps.** %s", f.takes, f.promised, f.repair)
		if len(f.repaired) > 0 {
			fmt.Fprintf(&b, " The same runs do not show it with %s.", strings.Join(f.repaired, ", "))
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
