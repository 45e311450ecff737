package scenarios

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockstep/clients"
	"lockstep/clients/broken"
	"lockstep/internal/draws"
	"lockstep/scenarios/play"
	"lockstep/scenarios/search"
)

// exploredBy is the table in the file that says how [Explore] finds each broken lock.
const exploredBy = "testdata/explored.txt"

// Explore, without options, finds broken locks in the place of the lock that they are like. The file says in which workload, what is
// violated, and whether one perturbation is enough or it takes walks. A part of the rows is tried each day.
func TestExploreCatches(t *testing.T) {
	if testing.Short() && !*rewrite {
		t.Skip("plays thousands of plans")
	}
	play.QuietRedis()
	have, err := os.ReadFile(exploredBy)
	if err != nil && !*rewrite {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for i, v := range broken.All() {
		t.Run(v.Name, func(t *testing.T) {
			if !*rewrite && !draws.Due(uint64(i), 80) {
				t.Skip("another day")
			}
			row := fmt.Sprintf("%s, like %s: %s\n%s", v.Name, v.Like[0], v.About, foundIn(t, v))
			b.WriteString(row)
			if !*rewrite && !strings.Contains(string(have), row) {
				t.Errorf("%s is out of date; go test ./scenarios -run ExploreCatches -rewrite renews it:\n%s", exploredBy, row)
			}
		})
	}
	if *rewrite {
		if err := os.WriteFile(exploredBy, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// docs/exploring.md says why nothing finds each of the locks that the table says are not found.
func TestNotFoundIsExplained(t *testing.T) {
	table, err := os.ReadFile(exploredBy)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/exploring.md")
	if err != nil {
		t.Fatal(err)
	}
	var missed, told []string
	for _, m := range regexp.MustCompile(`(?m)^(\S+), like .*\n  not found$`).FindAllSubmatch(table, -1) {
		missed = append(missed, string(m[1]))
	}
	_, list, _ := strings.Cut(string(page), " it finds each broken lock. It misses ")
	list, _, _ = strings.Cut(list, "\nNo search finds")
	for _, m := range regexp.MustCompile("(?m)^- (`[^:]*):").FindAllStringSubmatch(list, -1) {
		told = append(told, strings.FieldsFunc(m[1], func(r rune) bool { return strings.ContainsRune("`, \n", r) })...)
	}
	slices.Sort(missed)
	slices.Sort(told)
	if !slices.Equal(missed, told) || len(told) == 0 {
		t.Errorf("docs/exploring.md says why Explore does not find %q; it does not find %q", told, missed)
	}
}

// foundIn says in which workloads Explore finds a lock, and what is violated there: a line each.
func foundIn(t *testing.T, v clients.Lock) string {
	t.Helper()
	lines := ""
	found := oneEnough(t, v, 1)
	for _, w := range search.Workloads() {
		if b := found[w]; b != nil && len(b.Found) > 0 {
			lines += fmt.Sprintf("  %s, one perturbation: %s\n", w, failings(b.Found))
		}
	}
	if lines != "" {
		return lines
	}
	o, err := gather(v.New, []Option{Like(v.Like[0])}, (*options).forExploring)
	if err != nil {
		t.Fatal(err)
	}
	for _, shape := range o.shapes() {
		page, err := shape.Calm()
		if err != nil {
			t.Fatal(err)
		}
		if shape.Workload == search.Again || shape.Workload == search.Short {
			continue
		}
		s := &search.Search{Calm: page, Lock: v.Name, Seed: 1, New: v.New}
		if s.Reference, err = s.Against(v.Like[0]); err != nil {
			t.Fatal(err)
		}
		r, err := s.Random(t.Context(), search.Portfolio, walkRuns, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Found) > 0 {
			lines += fmt.Sprintf("  %s, walks: %s\n", shape.Workload, failings(r.Found))
		}
	}
	if lines == "" {
		return "  not found\n"
	}
	return lines
}

// failings lists what is violated, each once.
func failings(found []search.Found) string {
	var all []string
	for _, f := range found {
		all = append(all, fmt.Sprintf("%s (%s)", f.Failing.Property, f.Failing.Assumption))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}
