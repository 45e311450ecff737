package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"lockstep/clients"
	"lockstep/clients/libraries"
	"lockstep/scenarios"
)

// Every scenario of the catalogue has its place in the matrix, and one only.
func TestMatrixHasAllScenarios(t *testing.T) {
	all, err := scenarios.Catalogue()
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

// docs/matrix.md is what the program prints.
func TestMatrixPage(t *testing.T) {
	const file = "../../docs/matrix.md"
	k := known{clients.Locks(), libraries.Locks()}
	var locks []string
	for _, l := range k.libraries {
		for _, name := range append(l.Like[:min(len(l.Like), 1):1], l.Name) {
			if !slices.Contains(locks, name) {
				locks = append(locks, name)
			}
		}
	}
	out, code := program(t, "matrix", "--markdown", "--lock", strings.Join(locks, ","))
	if code == exitInput {
		t.Fatalf("exit status %d\n%s", code, out)
	}
	want := `# What each lock survives

Unmodified libraries, in all of their configurations, beside the locks of the literature that they are like: faults down, locks
across. This page is made by the command below; ` + "`go test ./cmd/lockstep -run Matrix -rewrite`" + ` renews it. What it takes for each row to
go wrong, and where it comes from, tells ` + "`lockstep show SCENARIO`" + `; a cell says what a run of it showed, which is no proof of what
others would show.

` + out
	if *rewriteReadme {
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
	haveLines, haveCells := withoutRestless(string(have), restless)
	wantLines, wantCells := withoutRestless(want, restless)
	if haveLines != wantLines {
		t.Errorf("docs/matrix.md is not what lockstep matrix prints; go test ./cmd/lockstep -run Matrix -rewrite renews it:\n%s\n%s",
			firstDifference(haveLines, wantLines), firstDifference(wantLines, haveLines))
	}
	differ := len(haveCells) - len(wantCells)
	for i := range min(len(haveCells), len(wantCells)) {
		if haveCells[i] != wantCells[i] {
			differ++
		}
	}
	if max(differ, -differ)*20 > len(wantCells) {
		t.Errorf("docs/matrix.md: %d of %d cells of restless libraries differ; go test ./cmd/lockstep -run Matrix -rewrite renews it", differ, len(wantCells))
	}
}

// withoutRestless takes what need not come out the same again from the page: the columns of restless libraries, which it
// returns by themselves, and what is told of their cells below the table.
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
			continue // whether there is a cell that did not come out the same again
		}
		b.WriteString(line)
	}
	return b.String(), cells
}
