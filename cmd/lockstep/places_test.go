package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/scenarios/script"
)

// CONTRIBUTING.md names the few places where a new must, fault and so on is added. Each case counts the lines of code that mention an
// existing one, so that a second list of them is noticed.
func TestPlacesToAdd(t *testing.T) {
	const root = "../.."
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		kind     string // as in the heading of its section
		mentions *regexp.Regexp
		places   map[string]int // file → lines
		own      map[string]int // files that are about this one in particular
	}{
		{"must", regexp.MustCompile(`seesNoTTL|CLIENT sees no TTL`),
			map[string]int{"checker/must_forms.go": 1, "scenarios/script/doc.go": 1, "checker/occurred_clients.go": 1}, nil},
		{"fault", regexp.MustCompile(`\bhistory\.Reset\b|\(f? ?Reset\)|\btype Reset\b|\bcase Reset\b|"reset( LINK)?"|^//\treset `),
			map[string]int{"sim/history/fault.go": 9, "sim/inject.go": 1, "nodes/live/nemesis.go": 2, "scenarios/script/doc.go": 1,
				"scenarios/script/headline.go": 1, "checker/explain/faults.go": 1, "reports/explorer/faults.go": 1},
			map[string]int{"checker/explain/obstacles.go": 1, "sim/network.go": 1}}, // of a lost reply; of a packet
		{"property", regexp.MustCompile(`\bOwnerOnly\b`),
			map[string]int{"checker/properties.go": 2, "checker/explain/explain.go": 1, "scenarios/script/headline.go": 1, "reports/debate/debate.go": 1, "scenarios/search/agreement.go": 1},
			map[string]int{"checker/owner_only.go": 2, "scenarios/play/redis.go": 1, "scenarios/play/cure.go": 3}}, // its own; of those that a stalled machine leaves as they are; of a known remedy
		{"lock", regexp.MustCompile(`"redlock-wall"|\bNewRedlockWall\b`),
			map[string]int{"clients/locks.go": 1}, map[string]int{"clients/redlock_wall.go": 1}},
		{"perturbation", regexp.MustCompile(`\bStraying\b`),
			map[string]int{"scenarios/script/kind.go": 2, "scenarios/search/site.go": 1, "scenarios/search/state.go": 1}, nil},
	}
	found := make([]map[string]int, len(cases))
	for i := range found {
		found[i] = map[string]int{}
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		file = filepath.ToSlash(file)
		for line := range strings.Lines(string(code)) {
			if strings.HasPrefix(strings.TrimSpace(line), "//") && file != "scenarios/script/doc.go" {
				continue
			}
			for i, c := range cases {
				if c.mentions.MatchString(line) {
					found[i][file]++
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		_, section, ok := strings.Cut(string(text), fmt.Sprintf("\n## Adding a %s\n", c.kind))
		if !ok {
			t.Errorf("CONTRIBUTING.md has no section about adding a %s", c.kind)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		for file := range c.places {
			if !strings.Contains(section, file) {
				t.Errorf("CONTRIBUTING.md does not say that a new %s goes into %s", c.kind, file)
			}
		}
		want := maps.Clone(c.places)
		maps.Copy(want, c.own)
		for _, file := range slices.Sorted(maps.Keys(found[i])) {
			if n := found[i][file]; n > want[file] {
				t.Errorf("%s has %d lines with %s, want %d: if a new %s must be added there, derive the list, or name the file in CONTRIBUTING.md and here",
					file, n, c.mentions, want[file], c.kind)
			}
		}
		for file, n := range want {
			if found[i][file] < n {
				t.Errorf("%s has %d lines with %s, want %d", file, found[i][file], c.mentions, n)
			}
		}
	}
}

// Pages with a line for each property, or for each kind of perturbation, leave none out.
func TestPagesNameAll(t *testing.T) {
	for file, words := range map[string][]string{
		"design.md":    script.WordsOf(checker.Properties()),
		"histories.md": script.WordsOf(checker.Properties()),
		"exploring.md": script.WordsOf(script.Kinds()),
	} {
		text, err := os.ReadFile(filepath.Join("../../docs", file))
		if err != nil {
			t.Fatal(err)
		}
		var first strings.Builder // the first columns of the tables
		for line := range strings.Lines(string(text)) {
			if cells := strings.Split(line, "|"); len(cells) > 2 {
				first.WriteString(cells[1] + ",")
			}
		}
		for _, word := range words {
			if !regexp.MustCompile("[ `]" + word + "[ `,]").MatchString(first.String()) {
				t.Errorf("no table in docs/%s has a row for %s", file, word)
			}
		}
	}
}
