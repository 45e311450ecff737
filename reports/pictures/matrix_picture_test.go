package pictures

import (
	"bytes"
	"fmt"
	"html"
	"image/png"
	"slices"
	"strings"
	"testing"

	"lockstep/checker"
)

// pictureOf draws a matrix twice, with the same result, and returns the SVG and the size of the PNG.
func pictureOf(t *testing.T, mp *MatrixPicture) (svg string, width, height int) {
	t.Helper()
	var s, x [2]bytes.Buffer
	for i := range 2 {
		if err := mp.WriteSVG(&s[i]); err != nil {
			t.Fatal(err)
		}
		if err := mp.WritePNG(&x[i]); err != nil {
			t.Fatal(err)
		}
	}
	if s[0].String() != s[1].String() || !bytes.Equal(x[0].Bytes(), x[1].Bytes()) {
		t.Error("the same matrix gives other bytes the second time")
	}
	if err := wellFormed(s[0].String()); err != nil {
		t.Error(err)
	}
	picture, err := png.Decode(&x[0])
	if err != nil {
		t.Fatal(err)
	}
	return s[0].String(), picture.Bounds().Dx(), picture.Bounds().Dy()
}

// The texts of the cells are in the picture, and each cell shows its command.
func TestMatrixPictureHasEachCell(t *testing.T) {
	m := handmade()
	svg, width, _ := pictureOf(t, &MatrixPicture{Matrix: m})
	if width != 1200 {
		t.Errorf("the picture has %d pixels in width", width)
	}
	says(t, svg, "UNSAFE P", "▼UNSAFE P— 3/5", "SAFE", "▲SAFE ~", "UNSAFE C 1/5", "plain", "shipped", "v1.2.3", "pauses", "network",
		"A pause outlives the lease", "… on 5 nodes", "A clock jumps: step", "… slew",
		"Of 3 locks only shipped-fail-fast is never UNSAFE, in 3 scenarios", "literature", "libraries, unmodified",
		"lockstep matrix --seeds 5   (simulated, the worst of 5 seeds from 1 on)")
	if n := strings.Count(svg, ">UNKNOWN<"); n != 2+1 { // and the legend
		t.Errorf("UNKNOWN is there %d times", n)
	}
	cells := 0
	for _, g := range m.Groups {
		for _, r := range g.Rows {
			for _, c := range r.Cells {
				if c.Inapplicable != "" {
					says(t, svg, c.Lock+": does not apply\n"+c.Inapplicable+"</title>")
					continue
				}
				cells++
				if !strings.Contains(svg, html.EscapeString(c.Command)+"</title>") {
					t.Errorf("no cell tells its command: %s", c.Command)
				}
			}
		}
	}
	if n := strings.Count(svg, "--seed 1 -v</title>"); n != cells {
		t.Errorf("%d places for %d cells", n, cells)
	}
	if strings.Contains(svg, "<a ") {
		t.Error("a link, although Link is nil")
	}
}

// A cell links to the page of its run if there is one.
func TestMatrixPictureLinks(t *testing.T) {
	svg, _, _ := pictureOf(t, &MatrixPicture{Matrix: handmade(), Link: func(c *MatrixCell) string {
		if c.Lock == "plain" {
			return c.Run + `/a"b.html`
		}
		return ""
	}})
	if n := strings.Count(svg, "<a href="); n != 3 || strings.Count(svg, "</a>") != n {
		t.Errorf("%d links", n)
	}
	if !strings.Contains(svg, `<a href="pause/plain/a&#34;b.html"><rect`) {
		t.Error("there is no link to pause/plain")
	}
}

// tall is a matrix of n scenarios in one group, with two variants each. Every third scenario is UNSAFE in its second variant, and every
// ninth in both. The others are SAFE.
func tall(n int) *Matrix {
	m := &Matrix{Command: "lockstep matrix", Seed: 1, Seeds: 1, Locks: []MatrixLock{{Name: "plain"}}}
	g := MatrixGroup{Kind: "much"}
	for i := range n {
		for k, variant := range []string{"first", "second"} {
			s := fmt.Sprintf("s%d", i)
			c := MatrixCell{Lock: "plain", Run: s + "/plain/" + variant, Verdict: checker.Safe, Against: AsReference, Command: "lockstep run " + s + "/plain/" + variant}
			if i%9 == 0 || i%3 == 0 && k == 1 {
				c.Verdict, c.Unsafe, c.Broken = checker.Unsafe, 1, []checker.Assumption{checker.BoundedPause, checker.DurableNodes}[k:][:1]
			}
			g.Rows = append(g.Rows, MatrixRow{Scenario: s, Title: s + " goes wrong.", Variant: variant, Cells: []MatrixCell{c}})
		}
	}
	m.Groups = []MatrixGroup{g}
	return m
}

// A matrix that is too tall sums up each scenario, and says so.
func TestMatrixPictureOfMuch(t *testing.T) {
	for _, test := range []struct {
		scenarios, rows int
		texts           []string
	}{
		{22, 44, []string{"s3 goes wrong: first", "… second", "UNSAFE P", "UNSAFE N"}},
		{30, 30, []string{"s3 goes wrong", "s4 goes wrong", "UNSAFE N 1/2", "UNSAFE PN", "SAFE", "in 1 of 2 variants of the scenario", "10 of 30"}},
		{90, 31, []string{"s3 goes wrong", "UNSAFE N 1/2", "UNSAFE PN", "and 60 more, SAFE in each", "30 of 90"}},
	} {
		m := tall(test.scenarios)
		svg, _, height := pictureOf(t, &MatrixPicture{Matrix: m})
		says(t, svg, test.texts...)
		rows := len(m.pictured()[0].rows)
		if rows != test.rows {
			t.Errorf("%d scenarios: %d rows, want %d", test.scenarios, rows, test.rows)
		}
		if height > 400+rows*int(matrixRow) {
			t.Errorf("%d scenarios: %d pixels in height", test.scenarios, height)
		}
		if folded := strings.Contains(svg, "the worst variant of each scenario"); folded != (rows < 2*test.scenarios) {
			t.Errorf("%d scenarios: says that they are summed up: %v", test.scenarios, folded)
		}
	}
}

// A cell that sums up several shows the worst of them, and links to the one that deserves most to be looked at.
func TestWorstCell(t *testing.T) {
	cell := func(v checker.Verdict, a Comparison, broken ...checker.Assumption) *MatrixCell {
		c := &MatrixCell{Lock: "x", Verdict: v, Against: a, Broken: broken}
		if v == checker.Unsafe {
			c.Unsafe = 1
		}
		return c
	}
	safe, better := cell(checker.Safe, AsReference), cell(checker.Safe, Better)
	paused := cell(checker.Unsafe, AsReference, checker.BoundedPause)
	faulty := cell(checker.Unsafe, Worse, checker.None)
	unknown := cell(checker.Inconclusive, AsReference)
	doubted := cell(checker.Inconclusive, Worse, checker.None)
	again := cell(checker.Safe, AsReference)
	again.Repeat = "differs"
	for _, test := range []struct {
		text  string
		shown *MatrixCell
		cells []*MatrixCell
	}{
		{"SAFE", safe, []*MatrixCell{safe, safe}},
		{"▲SAFE", safe, []*MatrixCell{safe, better}},
		{"UNKNOWN", unknown, []*MatrixCell{safe, unknown, better}},
		{"UNSAFE P 1/2", paused, []*MatrixCell{unknown, paused}},
		{"UNSAFE P 1/2", paused, []*MatrixCell{better, paused}},
		{"UNSAFE P", paused, []*MatrixCell{paused, paused}},
		{"▼UNSAFE P— 2/3", faulty, []*MatrixCell{paused, safe, faulty}},
		{"▼UNSAFE P 1/2", doubted, []*MatrixCell{paused, doubted}},
		{"▼UNKNOWN", doubted, []*MatrixCell{safe, doubted}},
		{"SAFE ~", safe, []*MatrixCell{safe, again}},
	} {
		c := worst(test.cells, func(*MatrixCell) string { return "" }, 1)
		if c.text() != test.text || c.shown != test.shown {
			t.Errorf("%q, with a link to %+v; want %q", c.text(), c.shown, test.text)
		}
	}
	if c := worst(nil, nil, 1); c != nil || c.text() != notApplicable {
		t.Errorf("%+v of no cells", c)
	}
}

func TestMatrixHeadline(t *testing.T) {
	cell := func(lock string, v checker.Verdict) MatrixCell { return MatrixCell{Lock: lock, Verdict: v} }
	for want, verdicts := range map[string][]checker.Verdict{
		"Each of these 2 locks breaks somewhere: what they survive, in 1 scenario": {checker.Unsafe, checker.Unsafe},
		"Of 2 locks only b is never UNSAFE, in 1 scenario":                         {checker.Unsafe, checker.Inconclusive},
		"No lock is UNSAFE here: 2 locks, in 1 scenario":                           {checker.Safe, checker.Safe},
		"a breaks somewhere in 1 scenario: what it survives, and what it does not": {checker.Unsafe},
		"No lock was run": nil,
		"Of 3 locks only b and c are never UNSAFE, in 1 scenario": {checker.Unsafe, checker.Safe, checker.Safe},
		"1 of 5 locks are UNSAFE somewhere, in 1 scenario":        {checker.Unsafe, checker.Safe, checker.Safe, checker.Safe, checker.Safe},
	} {
		m := &Matrix{Groups: []MatrixGroup{{Kind: "k", Rows: []MatrixRow{{Scenario: "s"}}}}}
		for i, v := range verdicts {
			name := string(rune('a' + i))
			m.Locks = append(m.Locks, MatrixLock{Name: name})
			m.Groups[0].Rows[0].Cells = append(m.Groups[0].Rows[0].Cells, cell(name, v))
		}
		if got := m.headline(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// External names are shown as text everywhere.
func TestMatrixPictureOfHostileNames(t *testing.T) {
	const hostile = "</text></title><script>alert(1)</script>\"'&\x1b[31m\u202e\n"
	m := handmade()
	m.Command += hostile
	for i := range m.Locks {
		m.Locks[i].Version += hostile
		m.Locks[i].Name += hostile
	}
	for g := range m.Groups {
		m.Groups[g].Kind += hostile
		for r := range m.Groups[g].Rows {
			row := &m.Groups[g].Rows[r]
			row.Scenario, row.Title, row.Variant = row.Scenario+hostile, hostile+row.Title, row.Variant+hostile
			for c := range row.Cells {
				row.Cells[c].Lock += hostile
				row.Cells[c].Why += hostile
				row.Cells[c].Command += hostile
			}
		}
	}
	svg, _, _ := pictureOf(t, &MatrixPicture{Matrix: m, Link: func(*MatrixCell) string { return `"><script>` }})
	for _, bad := range []string{"<script", "\x1b", "\u202e"} {
		if strings.Contains(svg, bad) {
			t.Errorf("the picture contains %q", bad)
		}
	}
}

// Many locks make the picture wider; too many are an error.
func TestMatrixPictureOfManyLocks(t *testing.T) {
	m := tall(2)
	for i := range 400 {
		if i == 20 {
			svg, width, _ := pictureOf(t, &MatrixPicture{Matrix: m})
			if width < 20*int(matrixPitch) || !strings.Contains(svg, fmt.Sprintf(`viewBox="0 0 %d `, width)) {
				t.Errorf("%d pixels in width for %d locks", width, len(m.Locks))
			}
		}
		m.Locks = append(m.Locks, MatrixLock{Name: fmt.Sprintf("lock-%d", i)})
	}
	err := (&MatrixPicture{Matrix: m}).WriteSVG(&bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "name fewer") {
		t.Errorf("%v", err)
	}
	if !slices.ContainsFunc(m.Locks, func(l MatrixLock) bool { return l.Name == "lock-399" }) {
		t.Error("the matrix has changed")
	}
}

// A title that is too long is cut after a clause or a word.
func TestClause(t *testing.T) {
	f := face{size: 15}
	width := f.width("The holder dies, and its last write lands there")
	for s, want := range map[string]string{
		"The holder dies, and its last write lands":                      "The holder dies, and its last write lands",
		"The holder of the lock is dead by then, and its last write too": "The holder of the lock is dead by then …",
		"The holder dies, and its last write lands after another":        "The holder dies, and its last write lands …",
		strings.Repeat("x", 60):                                          f.fit(strings.Repeat("x", 60), width),
		"":                                                               "",
	} {
		got := clause(s, f, width)
		if got != want || f.width(got) > width {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}
