package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/clients/libraries"
	"lockstep/internal/draws"
	"lockstep/reports/pictures"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// Every scenario of the catalogue is in exactly one group of the matrix.
func TestMatrixHasAllScenarios(t *testing.T) {
	all, err := script.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	in := map[string]int{}
	for _, a := range adversities {
		for _, name := range a.scenarios {
			in[name]++
			if !slices.Contains(names, name) {
				t.Errorf("adversity.go: there is no scenario %s", name)
			}
		}
	}
	for _, name := range names {
		if in[name] != 1 {
			t.Errorf("adversity.go names the scenario %s %d times: say once which kind of adversity it is", name, in[name])
		}
	}
}

// Every lock has a result in every row, or a reason why the row does not apply to it.
func TestMatrixIsFull(t *testing.T) {
	draws.Seldom(t, 1, 4)
	k := known{locks: clients.Locks(), libraries: libraries.Locks()}
	applies := 0
	out, progress, code := outputs(t, "matrix", "--json", "--lock", strings.Join(k.names(), ","), "efficiency", "failover-lag", "extend", "lost-update", "watchdog-crash", "sweep-failover")
	var m pictures.Matrix
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		t.Fatalf("exit status %d: %v\n%s%s", code, err, out, progress)
	}
	for _, g := range m.Groups {
		for _, r := range g.Rows {
			var locks []string
			for _, c := range r.Cells {
				locks = append(locks, c.Lock)
				switch {
				case (c.Inapplicable == "") != (c.Verdict != ""):
					t.Errorf("%s %s, %s: %+v", r.Scenario, r.Variant, c.Lock, c)
				case c.Verdict == checker.Inconclusive && c.Why == "":
					t.Errorf("%s %s, %s is UNKNOWN without a reason", r.Scenario, r.Variant, c.Lock)
				case c.Inapplicable == "":
					applies++
				}
			}
			slices.Sort(locks)
			if want := slices.Sorted(slices.Values(k.names())); !slices.Equal(locks, want) {
				t.Errorf("%s %s has the locks %v", r.Scenario, r.Variant, locks)
			}
		}
	}
	if applies < 100 {
		t.Errorf("only %d cells have a result", applies)
	}
}

// docs/matrix.md is what the program prints.
func TestMatrixPage(t *testing.T) {
	if testing.Short() {
		t.Skip("plays every run with every library")
	}
	if !*rewriteReadme {
		draws.Turn(t, 1, 4) // TestFindings, on another day, plays the same runs
	}
	const file = "../../docs/matrix.md"
	k := known{locks: clients.Locks(), libraries: libraries.Locks()}
	var locks []string
	for _, l := range k.libraries {
		for _, name := range append(l.Like[:min(len(l.Like), 1):1], l.Name) {
			if !slices.Contains(locks, name) {
				locks = append(locks, name)
			}
		}
	}
	out, stderr, code := outputs(t, "matrix", "--markdown", "--lock", strings.Join(locks, ","))
	if code == exitInput {
		t.Fatalf("exit status %d\n%s", code, stderr)
	}
	want := `# What each lock survives

Unmodified libraries, in all of their configurations, beside the locks of the literature that they are like: faults down, locks
across. This page is made by the command below; ` + "`go test ./cmd/lockstep -run Matrix -rewrite`" + ` renews it. ` + "`lockstep show SCENARIO`" + ` says
what it takes for a row to go wrong, and where the scenario comes from. A cell says what one run showed. It does not prove what other
runs would show.

A cell is n/a if the row does not apply to the lock: [these are the reasons](#rows-that-do-not-apply). It is UNKNOWN if the run proves
nothing: [this list](#nothing-is-proved) says why, and [Commands](commands.md#why-a-run-is-unknown) explains each reason.

` + out + `
## Sweeps

In each row, one fault is played at each position of a calm run of the lock in the column, and the cell shows the worst position.
rueidislock is left out because it polls: each of its sweeps takes a minute.

`
	sweeps := sweepsOf(t)
	if *rewriteReadme {
		swept, stderr, code := outputs(t, slices.Concat([]string{"matrix", "--markdown", "--lock", sweptLocks}, sweeps)...)
		if code == exitInput {
			t.Fatalf("exit status %d\n%s", code, stderr)
		}
		want += strings.ReplaceAll(swept, "\n## ", "\n### ")
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var restless []string
	for _, l := range k.libraries {
		if l.Restless {
			restless = append(restless, l.Name)
		}
	}
	stories, _, _ := strings.Cut(string(have), "\n## Sweeps\n")
	want, _, _ = strings.Cut(want, "\n## Sweeps\n")
	haveLines, haveCells := withoutRestless(stories, restless)
	wantLines, wantCells := withoutRestless(want, restless)
	if haveLines != wantLines {
		t.Errorf("docs/matrix.md is not what lockstep matrix prints; go test ./cmd/lockstep -run Matrix -rewrite renews it:\n%s\n%s",
			firstDifference(haveLines, wantLines), firstDifference(wantLines, haveLines))
	}
	if differ := changed(haveCells, wantCells); differ*20 > len(wantCells) {
		t.Errorf("docs/matrix.md: %d of %d cells of restless libraries differ; go test ./cmd/lockstep -run Matrix -rewrite renews it", differ, len(wantCells))
	}
}

// sweptLocks are the columns of the sweeps in docs/matrix.md.
const sweptLocks = "redlock,redlock-extend,redsync,single,single-extend,redislock"

// sweepsOf names the sweeps of the catalogue.
func sweepsOf(t *testing.T) []string {
	t.Helper()
	i := slices.IndexFunc(adversities, func(a adversity) bool { return strings.HasPrefix(a.kind, "sweeps") })
	if i < 0 {
		t.Fatal("adversity.go has no sweeps")
	}
	return adversities[i].scenarios
}

// The sweeps in docs/matrix.md are what the program prints. The test checks one of them on each day on which it runs, because all of them take minutes.
func TestMatrixPageSweeps(t *testing.T) {
	if !*rewriteReadme {
		draws.Turn(t, 3, 4)
	}
	if testing.Short() {
		t.Skip("plays some thousand runs of libraries")
	}
	page, err := os.ReadFile("../../docs/matrix.md")
	if err != nil {
		t.Fatal(err)
	}
	sweeps := slices.DeleteFunc(slices.Clone(sweepsOf(t)), func(name string) bool {
		return !strings.Contains(string(page), "`"+name+"`") // none of these locks is played there
	})
	if !*draws.All {
		turn := int(time.Now().Unix()/86400/4) % len(sweeps)
		sweeps = sweeps[turn : turn+1]
	}
	for _, sweep := range sweeps {
		checkSweepRows(t, string(page), sweep)
	}
}

// checkSweepRows checks that the page has the rows of a sweep that the program prints.
func checkSweepRows(t *testing.T, page, sweep string) {
	t.Helper()
	out, code := program(t, "matrix", "--markdown", "--lock", sweptLocks, sweep)
	if code == exitInput {
		t.Fatalf("exit status %d\n%s", code, out)
	}
	rows := 0
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "| ") && strings.Contains(line, sweep) || strings.HasPrefix(line, "| … ") {
			rows++
			if !strings.Contains(page, line) {
				t.Errorf("%s: docs/matrix.md does not have the row that lockstep matrix prints; go test ./cmd/lockstep -run Matrix -rewrite renews it:\n%s", sweep, line)
			}
		}
	}
	if rows == 0 {
		t.Errorf("%s has no row:\n%s", sweep, out)
	}
}

// changed counts the cells that differ, and those that only one of the two has.
func changed(have, want []string) int {
	common := min(len(have), len(want))
	n := max(len(have), len(want)) - common
	for i := range common {
		if have[i] != want[i] {
			n++
		}
	}
	return n
}

func TestChanged(t *testing.T) {
	for _, test := range []struct {
		have, want []string
		n          int
	}{
		{nil, nil, 0},
		{[]string{"a", "b"}, []string{"a", "b"}, 0},
		{[]string{"a", "b"}, []string{"a", "c"}, 1},
		{[]string{"a"}, []string{"a", "b"}, 1},
		{[]string{"a", "b"}, []string{"a"}, 1},
		{[]string{"x", "y"}, []string{"a", "b", "c", "d"}, 4}, // not 2 - 2
	} {
		if n := changed(test.have, test.want); n != test.n {
			t.Errorf("%q and %q: %d, want %d", test.have, test.want, n, test.n)
		}
	}
}

// handmade is an outcome with one violation, or none if broken is empty.
func handmade(reference script.Section, seed uint64, v checker.Verdict, broken checker.Assumption) *play.Outcome {
	o := &play.Outcome{Scenario: &script.Scenario{Name: "s"}, Run: reference.With("mine"), History: &history.History{Meta: history.Meta{Seed: seed}}}
	o.Result.Verdict = v
	if v == checker.Inconclusive {
		o.Result.Unmet = []string{"a must did not occur"}
	}
	if broken != "" {
		o.Result.Violations = []checker.Violation{{Property: checker.LeaseExclusion, Assumption: broken, What: "two held it"}}
	}
	return o
}

func TestMatrixCommandIsForAShell(t *testing.T) {
	f := &runFlags{locks: []string{"single", "redlock"}, seed: 7, on: play.OnSim}
	got := f.matrixCommand([]string{"clock-jump/redlock", "my page.txtar", "it's.txtar", "$HOME/a.txtar", "~x.txtar", ""}, 1)
	if want := `lockstep matrix clock-jump/redlock 'my page.txtar' 'it'\''s.txtar' '$HOME/a.txtar' '~x.txtar' '' --lock single,redlock --seed 7`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// withoutRestless removes from the page what may differ the next time: the columns of restless libraries, which it returns separately,
// and the notes on their cells below the table.
func withoutRestless(page string, restless []string) (lines string, cells []string) {
	var columns []int
	var b strings.Builder
	skip, sums := false, false
	for line := range strings.Lines(page) {
		switch {
		case strings.HasPrefix(line, "- **"):
			first, _, _ := strings.Cut(strings.TrimPrefix(line, "- **"), "**")
			first, _, _ = strings.Cut(first, ",")
			if skip = slices.Contains(restless, first); skip {
				continue
			}
		case skip && strings.HasPrefix(line, "  "):
			continue
		case strings.HasPrefix(line, "| |"):
			for i, head := range strings.Split(line, "|") {
				if name, _, _ := strings.Cut(strings.TrimSpace(head), "<br>"); slices.Contains(restless, name) {
					columns = append(columns, i)
				}
			}
		case strings.HasPrefix(line, "| "):
			sums = sums || strings.HasPrefix(line, "| **in all**")
			row := strings.Split(line, "|")
			for _, i := range columns {
				if i < len(row) {
					if !sums {
						cells = append(cells, row[i])
					}
					row[i] = ""
				}
			}
			line = strings.Join(row, "|")
		case strings.HasPrefix(line, "- ~"), line == "\n", strings.HasPrefix(line, "## "):
			continue // the legend may or may not explain cells that are not reproducible
		}
		b.WriteString(line)
	}
	return b.String(), cells
}
