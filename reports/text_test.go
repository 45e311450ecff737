package reports

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"lockstep/checker"
	"lockstep/sim"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files in testdata")

func text(t testing.TB, r run, o TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, r.h, r.result, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextGolden(t *testing.T) {
	for _, r := range runs(t) {
		t.Run(r.name, func(t *testing.T) {
			golden(t, r.name+".txt", text(t, r, TextOptions{}))
		})
	}
	r := runs(t)[0]
	golden(t, "everything.txt", text(t, r, TextOptions{Verbose: true, Messages: true}))
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run go test ./reports -rewrite and read the diff. Got:\n%s", path, got)
	}
}

// Lines must fit a terminal and a scenario file, and editors that trim spaces must not change them.
func TestTextLines(t *testing.T) {
	rs := append(runs(t), hostile())
	for _, r := range rs {
		for line := range strings.Lines(text(t, r, TextOptions{Verbose: true, Messages: true})) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > Width {
				t.Errorf("%s: %d columns: %s", r.name, n, line)
			}
			if line != strings.TrimRight(line, " ") {
				t.Errorf("%s: trailing space: %q", r.name, line)
			}
		}
	}
}

// Whatever proves a violation must be seen, however much is folded.
func TestTextMarksProof(t *testing.T) {
	for _, r := range runs(t) {
		got := strings.Contains(text(t, r, TextOptions{}), "\n!")
		if want := len(r.result.Violations) > 0; got != want {
			t.Errorf("%s: marked %v, want %v", r.name, got, want)
		}
	}
}

func TestTextPaintKeepsText(t *testing.T) {
	for _, r := range runs(t) {
		plain := text(t, r, TextOptions{})
		painted := text(t, r, TextOptions{Paint: func(role Role, s string) string { return fmt.Sprintf("\x1b[3%dm%s\x1b[0m", role, s) }})
		if plain == painted {
			t.Errorf("%s: nothing was painted", r.name)
		}
		for role := range Aside + 1 {
			painted = strings.ReplaceAll(painted, fmt.Sprintf("\x1b[3%dm", role), "")
		}
		if painted = strings.ReplaceAll(painted, "\x1b[0m", ""); painted != plain {
			t.Errorf("%s: paint changed the text:\n%s\nwant:\n%s", r.name, painted, plain)
		}
	}
}

func TestTextSpellsOutThreeViolations(t *testing.T) {
	r := checker.Result{Verdict: checker.Unsafe, Statuses: []checker.PropertyStatus{{Property: checker.OwnerOnly, Status: checker.Violated}}}
	for i := range 5 {
		r.Violations = append(r.Violations, checker.Violation{Property: checker.OwnerOnly, What: fmt.Sprint("breach ", i), Assumption: checker.None})
	}
	got := text(t, run{"", &sim.History{}, r}, TextOptions{})
	for _, want := range []string{"VIOLATED  breach 0   (no assumption broken)", "breach 2", "and 2 more"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "breach 3") {
		t.Errorf("more than three:\n%s", got)
	}
}

func TestRanges(t *testing.T) {
	all := []string{"n1", "n2", "n3", "n4", "n5"}
	for want, nodes := range map[string][]string{
		"n1":        {"n1"},
		"n1,n2":     {"n2", "n1"},
		"n1..n5":    all,
		"n1..n3,n5": {"n5", "n3", "n1", "n2"},
		"n2,n4":     {"n4", "n2"},
	} {
		if got := ranges(nodes, all); got != want {
			t.Errorf("ranges(%v) = %q, want %q", nodes, got, want)
		}
	}
}

func TestPrintable(t *testing.T) {
	for _, c := range []struct {
		in   string
		max  int
		want string
	}{
		{"write A", 10, "write A"},
		{"écrit · 写", 20, "écrit · 写"},
		{"a\nb\x1b[31m\x00", 20, "a?b?[31m?"},
		{"abc\u202ecba\u200f", 20, "abc?cba?"},
		{"\xff\xfe", 20, "??"},
		{"exactly ten", 11, "exactly ten"},
		{"one too many", 11, "one too ma…"},
	} {
		if got := printable(c.in, c.max); got != c.want {
			t.Errorf("printable(%q, %d) = %q, want %q", c.in, c.max, got, c.want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                             "0.000s",
		1_999_999:                     "0.001s", // cut, not rounded, as in the sentences of the checker
		12*time.Second + 4*ms:         "12.004s",
		-1500 * ms:                    "-1.500s",
		100*time.Second + 999_999_999: "100.999s",
	} {
		if got := seconds(d); got != want {
			t.Errorf("seconds(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		250 * us:             "250 µs",
		1500 * us:            "1.5 ms",
		9999 * us:            "10 ms",
		200 * ms:             "200 ms",
		5*time.Second - 4*ms: "5.0 s",
		9999 * ms:            "10 s",
		90 * time.Second:     "90 s",
	} {
		if got := span(d); got != want {
			t.Errorf("span(%v) = %q, want %q", d, got, want)
		}
	}
}
