package pictures

import (
	"strings"
	"testing"
	"unicode/utf8"

	"lockstep/reports"
)

func TestMatrixText(t *testing.T) {
	var b strings.Builder
	if err := handmade().WriteText(&b, MatrixOptions{}); err != nil {
		t.Fatal(err)
	}
	const want = `what each lock survives                                                                     shipped-
                                                                                            fail-
                                                               plain         shipped        fast
                                                                             v1.2.3         v1.2.3

pauses
  A pause outlives the lease                                   UNSAFE P 5/5 ▼UNSAFE P— 3/5  n/a
    on 5 nodes                                                 n/a           SAFE           n/a

network
  A message is late, by more than anybody had expected who
    relied on it being in time: short                          n/a          ▲SAFE ~         n/a
  A clock jumps
    step                                                       UNSAFE C 1/5  UNKNOWN        UNKNOWN
    slew                                                       SAFE          n/a            n/a

in all
  SAFE                                                         1             2              0
  UNSAFE                                                       2             1              0
  UNKNOWN                                                      0             1              1
  ▼ worse than its reference                                   0             1              0
  ▲ better                                                     0             1              0
  does not apply                                               2             1              4
`
	if !strings.HasPrefix(b.String(), want) {
		t.Errorf("got\n%s\nwant it to begin\n%s", b.String(), want)
	}
	for _, part := range []string{
		"\nUNSAFE 3/5: with 3 of the 5 seeds from 1 on. One seed is enough for UNSAFE.\n",
		"\n~ not reproducible: ",
		"\nshipped (example.org/shipped v1.2.3) is compared with plain, other.\n",
		"\nWorse than the reference\n  ▼ shipped: pause/plain\n    owner only violated, its own fault: c1 deleted the key of c2#1 | on n1\n    lockstep run pause/plain --lock shipped --seed 1 -v\n",
		"\nNot reproducible\n  ~ shipped: late/plain\n    with the same seed c2 was refused\n    lockstep run late/plain --lock shipped --seed 1 -v\n",
		"\nNothing is proved\n  ? shipped, shipped-fail-fast: jump/plain\n    the fault `jump c1 -3s` had no effect\n    lockstep run jump/plain --lock shipped,shipped-fail-fast --seed 1 -v\n",
		"\nRows that do not apply\n  plain (2 rows), shipped-fail-fast (2 rows): the lock uses one node, and the run needs several\n  shipped (1 row), shipped-fail-fast (2 rows): the lock needs several nodes, and the run has one\n",
	} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("got\n%s\nwithout\n%s", b.String(), part)
		}
	}
}

// If there is little room, titles get narrower, down to a width that can still be read; then the locks are spread over several tables.
// If there is room, the last column has the names of the scenarios. Colours do not change the text.
func TestMatrixWidths(t *testing.T) {
	tables := map[int]int{40: 3, 60: 2, 80: 1, 100: 1, 200: 1}
	for _, columns := range []int{40, 60, 80, 100, 200} {
		var plain, painted strings.Builder
		m := handmade()
		if err := m.WriteText(&plain, MatrixOptions{Columns: columns}); err != nil {
			t.Fatal(err)
		}
		if err := m.WriteText(&painted, MatrixOptions{Columns: columns, Paint: func(_ reports.Role, s string) string { return "\x1b[1m" + s + "\x1b[0m" }}); err != nil {
			t.Fatal(err)
		}
		if stripped := strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "").Replace(painted.String()); stripped != plain.String() {
			t.Errorf("%d columns: the painted text is\n%s\nand the plain one\n%s", columns, stripped, plain.String())
		}
		for line := range strings.Lines(plain.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > max(columns, 28+16) && !strings.Contains(line, "lockstep run") {
				t.Errorf("%d columns: a line has %d: %s", columns, n, line)
			}
			if strings.TrimRight(line, " \n")+"\n" != line {
				t.Errorf("%d columns: blanks at the end of %q", columns, line)
			}
		}
		if n := strings.Count(plain.String(), "what each lock survives"); n != tables[columns] || strings.Count(plain.String(), "in all\n") != n {
			t.Errorf("%d columns: %d tables, want %d\n%s", columns, n, tables[columns], plain.String())
		}
		for _, want := range []string{"▼UNSAFE P— 3/5", "▲SAFE ~", "UNSAFE C 1/5"} {
			if strings.Count(plain.String(), want) != 1 {
				t.Errorf("%d columns: %s does not occur exactly once", columns, want)
			}
		}
		if named := strings.Contains(plain.String(), "  pause\n"); named != (columns == 200) {
			t.Errorf("%d columns: names of the scenarios: %v\n%s", columns, named, plain.String())
		}
	}
}
