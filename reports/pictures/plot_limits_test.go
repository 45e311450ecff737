package pictures

import (
	"strings"
	"testing"
	"time"
)

// The picture of a sheet says what is harmless, what does harm, and what the reader has; the table has the same figures.
func TestLimitsPlot(t *testing.T) {
	rows := []LimitRow{
		{Name: "pause", Unit: "s", Harmless: 7, Text: "7s", Top: 30, Limits: []LimitMark{{7.04, "7.04s", "resource exclusion", false}}, Have: 1.2, HaveText: "1.2s", Within: true},
		{Name: "drift fast", Unit: "ppm", Harmless: 100000, Text: "100000ppm", Top: 100000},
		{Name: "delay", Unit: "s", Harmless: 1, Text: "1s", Top: 30, Limits: []LimitMark{{1.01, "1.01s", "fault tolerance", true}, {9, "9s", "owner only", false}}},
		{Name: "client-jump back", Unit: "s", Harmless: 30, Text: "30s", Top: 30, NoEffect: true},
		{Name: "empty", Unit: "s", Top: 30, Limits: []LimitMark{{0.001, "1ms", "lease exclusion", false}}, Have: 1, HaveText: "1s"},
		{Name: "lost-nodes", Unit: "", Harmless: 1, Text: "1", Top: 3, Limits: []LimitMark{{2, "2", "no lease", true}}, Have: 1, HaveText: "1", Within: true},
	}
	p := NewLimitsPlot("single on 1 node", "work 3s", "100 runs.", 10*time.Second, rows)
	svg, table := plotted(t, p, nil)
	for _, want := range []string{"More than this lock tolerates: empty 1s", "harmless up to 100000ppm, the most that was tried", "no effect", "1ms: lease exclusion", "1.01s: fault tolerance", "you: 1.2s", "harmless: 1 of 3; with 2: no lease", "TTL"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
	if len(table) != 8 || table[1][0] != "pause" || table[1][2] != "7" || table[1][3] != "7.04" || table[1][5] != "1.2" {
		t.Errorf("table: %v", table)
	}
	rows = rows[:3]
	if p := NewLimitsPlot("single", "", "", 10*time.Second, rows); p.Title != "This lock tolerates what you have" {
		t.Error(p.Title)
	}
	rows[0].Have = 0
	if p := NewLimitsPlot("single", "", "", 10*time.Second, rows); p.Title != "This lock tolerates a pause of 7s" {
		t.Error(p.Title)
	}
}
