package pictures

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot/vg"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/reports"
	"lockstep/reports/explorer"
	"lockstep/reports/internal/sample"
	"lockstep/sim/history"
)

// plotted writes a plot in all three formats. Each must have the same bytes when it is written again.
func plotted(t *testing.T, p *Plot, err error) (svg string, table [][]string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var s, x, c [2]bytes.Buffer
	for i := range 2 {
		for _, err := range []error{p.WriteSVG(&s[i]), p.WritePNG(&x[i]), p.WriteCSV(&c[i])} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if s[0].String() != s[1].String() || !bytes.Equal(x[0].Bytes(), x[1].Bytes()) || c[0].String() != c[1].String() {
		t.Error("the same plot gives different bytes the second time")
	}
	if err := wellFormed(s[0].String()); err != nil {
		t.Error(err)
	}
	picture, err := png.Decode(&x[0])
	if err != nil {
		t.Fatal(err)
	}
	if size := picture.Bounds().Size(); size.X != 1200 || size.Y > 4000 {
		t.Errorf("the picture has %v pixels", size)
	}
	table, err = csv.NewReader(&c[0]).ReadAll() // fails unless all rows have as many cells
	if err != nil {
		t.Fatal(err)
	}
	return s[0].String(), table
}

// says checks that a picture has each of the texts in one piece.
func says(t *testing.T, svg string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(svg, ">"+text+"<") {
			t.Errorf("the picture does not say %q", text)
		}
	}
}

// written finds the place where a text begins in an SVG.
func written(t *testing.T, svg, text string) (x, y float64) {
	t.Helper()
	m := regexp.MustCompile(`<text x="([-0-9.]+)" y="([-0-9.]+)"[^>]*>` + regexp.QuoteMeta(text) + `<`).FindStringSubmatch(svg)
	if m == nil {
		t.Fatalf("the picture does not say %q", text)
	}
	x, _ = strconv.ParseFloat(m[1], 64)
	y, _ = strconv.ParseFloat(m[2], 64)
	return x, -y
}

// waits is a row in which clients waited for the given times. Negative ones are waits in vain.
func waits(lock string, millis ...int) PlotRow {
	run := PlotRun{Meta: history.Meta{Scenario: "made", Lock: lock, Seed: 7, TTL: sample.TTL}}
	for i, n := range millis {
		d := time.Duration(n) * time.Millisecond
		run.Samples = append(run.Samples, checker.Sample{Client: fmt.Sprintf("c%d", i+1), At: time.Second + d.Abs(), Value: d.Abs(), Vain: n < 0})
	}
	return PlotRow{Lock: lock, Runs: []PlotRun{run}}
}

func TestWaitPlot(t *testing.T) {
	rows := []PlotRow{waits("slow", 10, 20, 30, 40, 50, 60, 70, 80, 900, 1000), waits("quick", 1, 2, 3, -500)}
	p, err := NewWaitPlot(rows, "made by hand")
	svg, table := plotted(t, p, err)
	if want := "Nine in ten clients that get the lock have it within 3.0 ms with quick, and within 900 ms with slow"; p.Title != want {
		t.Errorf("%q, want %q", p.Title, want)
	}
	says(t, svg, "slow", "quick", "50 ms", "900 ms", "1.0 s", "2.0 ms", "3.0 ms", "1 asked in vain", "13 waits that ended with the lock; 1 more ended without it, and are not drawn")
	if len(table) != 15 || strings.Join(table[1], " ") != "slow   made 7 c1 1.01 0.01 true" || strings.Join(table[14], " ") != "quick   made 7 c4 1.5 0.5 false" {
		t.Errorf("the figures are %v", table)
	}
	_, first := written(t, svg, "slow")
	if _, second := written(t, svg, "quick"); math.Abs(first-second) != float64(timesRowHeight) || first < second { // counted from the bottom
		t.Errorf("the rows are at %v and %v", first, second)
	}
}

func TestValidityPlot(t *testing.T) {
	rows := []PlotRow{waits("one", 9990, 9995, 9998), waits("five", 9800, 9850, 9890), {Lock: "silent", Runs: []PlotRun{{}}}}
	p, err := NewValidityPlot(rows, "made by hand")
	svg, _ := plotted(t, p, err)
	if want := "With five, at least 9.800 s of a lease are left when it is handed out, and with one, 9.990 s"; p.Title != want {
		t.Errorf("%q, want %q", p.Title, want)
	}
	says(t, svg, "9.800 s", "9.995 s", "does not say how long its lease lasts")

	over := waits("late", 100, 200)
	over.Runs[0].Samples[0].Value = -500 * time.Millisecond
	p, err = NewValidityPlot([]PlotRow{over}, "made by hand")
	svg, _ = plotted(t, p, err)
	if want := "With late, a lease had been over for 500 ms when it was handed out"; p.Title != want {
		t.Errorf("%q, want %q", p.Title, want)
	}
	says(t, svg, "-500.0 ms", "TTL 10 s")
}

// Times are counted in the bin where they lie, and none is left out.
func TestBins(t *testing.T) {
	p := &timesPlot{scale: plotScale{from: 0, to: 10, at0: 0, at1: 1000}}
	bins, most := p.bins([]float64{0, 5, 5, 10})
	if bins[0] != 1 || bins[timesBins/2] != 2 || bins[timesBins-1] != 1 || most != 2 {
		t.Errorf("%v, at most %d", bins, most)
	}
}

// trips is a row of runs with the given numbers of requests and leases.
func trips(lock, place, variant string, requestsAndLeases ...int) PlotRow {
	row := PlotRow{Lock: lock, Place: place, Variant: variant}
	for pair := range slices.Chunk(requestsAndLeases, 2) {
		row.Runs = append(row.Runs, PlotRun{Meta: history.Meta{Scenario: "made", Lock: lock, Seed: 1, Nodes: []string{"n1"}}, Measured: checker.Measurement{
			Quantity: checker.RoundTrips,
			Figures:  []checker.Figure{{Name: "requests", Value: float64(pair[0])}, {Name: "leases", Value: float64(pair[1])}},
		}})
	}
	return row
}

func TestRoundTripsPlot(t *testing.T) {
	rows := []PlotRow{
		trips("single", "", "alone", 6, 3), trips("single", "", "contended", 9, 3, 15, 3),
		trips("redlock", "on 5 nodes", "alone", 30, 3), trips("redlock", "on 5 nodes", "contended", 40, 0),
	}
	p, err := NewRoundTripsPlot(rows, "made by hand")
	svg, table := plotted(t, p, err)
	if want := "A lease costs 2.0 requests with single (alone), and 10.0 with redlock on 5 nodes (alone)"; p.Title != want {
		t.Errorf("%q, want %q", p.Title, want)
	}
	says(t, svg, "single", "redlock", "on 5 nodes", "alone", "contended", "2.0", "4.0", "10.0", "no lease")
	if got := strings.Join(table[2], " "); len(table) != 6 || got != "single  contended made 1 1 9 3" {
		t.Errorf("%d rows, the second is %q", len(table), got)
	}
	// The scale ends at 12. A text is ten points from the end of its bar, or from the end of the line that spans the runs.
	scale := plotScale{from: 0, to: 12, at0: plotGutter, at1: figureWidth - outer - tripsText}
	for text, value := range map[string]float64{"2.0": 2, "4.0": 5, "10.0": 10} {
		if x, _ := written(t, svg, text); math.Abs(x-float64(scale.at(value)+10)) > 0.01 {
			t.Errorf("%s is at %v, want %v", text, x, scale.at(value)+10)
		}
	}
}

// increments is a row of one run.
func increments(lock string, asked, skipped, lost, final float64) PlotRow {
	return PlotRow{Lock: lock, Runs: []PlotRun{{Meta: history.Meta{Scenario: "made", Lock: lock, Seed: 1}, Measured: checker.Measurement{
		Quantity: checker.Increments,
		Figures:  []checker.Figure{{Name: "asked", Value: asked}, {Name: "skipped", Value: skipped}, {Name: "lost", Value: lost}, {Name: "final", Value: final}},
	}}}}
}

func TestIncrementsPlot(t *testing.T) {
	rows := []PlotRow{increments("nolock", 40000, 0, 10000, 30000), increments("watch", 40000, 12000, 0, 28000), increments("single", 40000, 0, 0, 40000)}
	p, err := NewIncrementsPlot(rows, "made by hand")
	svg, table := plotted(t, p, err)
	if want := "nolock loses 10,000 of 40,000 increments; watch loses none, and skips 12,000"; p.Title != want {
		t.Errorf("%q, want %q", p.Title, want)
	}
	says(t, svg, "10,000 lost", "12,000 skipped", "all of 40,000", "30,000", "28,000", "lost: acknowledged, but not in the counter")
	if strings.Contains(svg, "unknown outcome") {
		t.Error("the legend explains a sign that does not occur")
	}
	if got := strings.Join(table[1], ","); got != "nolock,,,made,1,40000,30000,0,10000,0,0,30000" {
		t.Errorf("the figures are %s", got)
	}
	for _, c := range []struct {
		rows []PlotRow
		want string
	}{
		{rows[:1], "nolock loses 10,000 of 40,000 increments"},
		{rows[1:], "No increment is lost; watch skips 12,000 of 40,000"},
		{rows[2:], "No increment is lost, and none is skipped"},
	} {
		p, err := NewIncrementsPlot(c.rows, "")
		if err != nil || p.Title != c.want {
			t.Errorf("%q, %v, want %q", p.Title, err, c.want)
		}
	}
}

// edge is a curve that is unsafe from the given drift on.
func edge(ttl time.Duration, allowance, from float64) EdgeCurve {
	c := EdgeCurve{TTL: ttl, Allowance: allowance}
	for ppm := 8000.0; ppm <= 20000; ppm += 1000 {
		pt := EdgePoint{PPM: ppm, Runs: 50, High: 0.07}
		if ppm >= from {
			pt.Unsafe, pt.Low, pt.High = 50, 0.93, 1
		}
		c.Points = append(c.Points, pt)
	}
	return c
}

func TestDriftPlot(t *testing.T) {
	p, err := NewDriftPlot("Redlock", []EdgeCurve{edge(10*time.Second, 10305, 11000), edge(2*time.Second, 11122, 14000)}, "made by hand")
	svg, table := plotted(t, p, err)
	if want := "Redlock stays safe up to its allowance for drift, and breaks above it; a shorter TTL tolerates more drift"; p.Title != want {
		t.Errorf("%q, want %q", p.Title, want)
	}
	says(t, svg, "TTL 10 s: the allowance is for 10,305 ppm; first unsafe at 11,000", "TTL 2 s: the allowance is for 11,122 ppm; first unsafe at 14,000", "TTL 2 s")
	// The line of the allowance lies at its value on the axis. Its note begins eight points beside it.
	scale := plotScale{from: 8000, to: 20000, at0: edgeLeft, at1: figureWidth - outer - 30}
	if x, _ := written(t, svg, "TTL 10 s: the allowance is for 10,305 ppm; first unsafe at 11,000"); math.Abs(x-float64(scale.at(10305)+8)) > 0.01 {
		t.Errorf("the note is at %v, want %v", x, scale.at(10305)+8)
	}
	if got := strings.Join(table[4], ","); len(table) != 27 || got != "10,10305,11000,50,50,1.0000,0.9300,1.0000,0" {
		t.Errorf("%d rows, the fourth is %s", len(table), got)
	}
	for _, c := range []struct {
		curve EdgeCurve
		want  string
	}{
		{edge(10*time.Second, 10305, 9000), "With Redlock, two clients can hold the lock at a drift that it allows for"},
		{edge(10*time.Second, 10305, 99000), "With Redlock, no drift of one clock up to +20000 ppm lets two clients hold the lock"},
		{edge(10*time.Second, 10305, 12000), "Redlock stays safe up to its allowance for drift, +10305 ppm, and breaks from +12000 ppm on"},
		{edge(10*time.Second, 99000, 99000), "With Redlock, no drift of one clock up to +20000 ppm lets two clients hold the lock"},
	} {
		p, err := NewDriftPlot("Redlock", []EdgeCurve{c.curve}, "")
		if plotted(t, p, err); p.Title != c.want {
			t.Errorf("%q, want %q", p.Title, c.want)
		}
	}
}

// clockRun is a run in which the wall clock of n3 jumps after one second, while c1 holds the lock.
func clockRun() *history.History {
	b := sample.NewBuilder("clock-jump", "redlock", 5, 2, "plain")
	b.Acquire(0, "c1", 0, "n1", "n2", "n3")
	b.Fault(time.Second, history.Jump{Process: "n3", By: 11 * time.Second})
	at := b.Acquire(2*time.Second, "c2", 0, "n3", "n4", "n5")
	b.Release(at+time.Second, "c2", "n3", "n4", "n5")
	b.Release(at+2*time.Second, "c1", "n1", "n2")
	h := b.History()
	for i := range h.Events {
		if e := &h.Events[i]; e.Process == "n3" && e.At >= time.Second {
			e.Wall = 11 * time.Second
		}
	}
	return h
}

func TestClocksPlot(t *testing.T) {
	h := clockRun()
	p, err := NewClocksPlot(facts.Of(h), checker.Check(facts.Of(h), nil))
	svg, table := plotted(t, p, err)
	if want := "The wall clock of n3 is up to 11 s ahead of true time: clock-jump · redlock"; p.Title != want {
		t.Errorf("%q, want %q", p.Title, want)
	}
	if !strings.HasPrefix(p.Subtitle, "UNSAFE: lease exclusion") {
		t.Errorf("below the title: %q", p.Subtitle)
	}
	says(t, svg, "n3", "jump n3 +11s", "key of c1#1 expires", "c1#1", "c2#1", "wall clock", "steady clock", "+10 s", "the clocks of c1 c2 n1 n2 n4 n5 show true time; the time axis is true time, to scale")
	var wall []string
	for _, row := range table[1:] {
		if row[1] == "wall" {
			wall = append(wall, row[2]+" "+row[3])
		}
		if row[1] == "steady" && row[3] != "0" {
			t.Errorf("a jump moves the steady clock: %v", row)
		}
	}
	if len(wall) < 3 || !slices.Contains(wall, "1 0") || !slices.Contains(wall, "1 11") || !strings.HasSuffix(wall[len(wall)-1], " 11") {
		t.Errorf("the wall clock is %v", wall)
	}
}

// A curve is cut off where the picture ends.
func TestUpTo(t *testing.T) {
	points := []explorer.Reading{{}, {At: 10 * time.Second, Offset: time.Second}, {At: 20 * time.Second}}
	for _, c := range []struct {
		end  time.Duration
		want string
	}{
		{30 * time.Second, "[{0s 0s} {10s 1s} {20s 0s}]"}, {15 * time.Second, "[{0s 0s} {10s 1s} {15s 500ms}]"}, {10 * time.Second, "[{0s 0s} {10s 1s}]"},
	} {
		if got := fmt.Sprint(upTo(points, c.end)); got != c.want {
			t.Errorf("up to %v: %s, want %s", c.end, got, c.want)
		}
	}
}

// There is no picture of nothing, and the error says what is missing.
func TestPlotOfNothing(t *testing.T) {
	calm := calmHistory()
	nothing := []PlotRow{{Lock: "single", Runs: []PlotRun{{Measured: checker.Measurement{Text: "none"}}}}}
	for want, draw := range map[string]func() (*Plot, error){
		"no client got the lock":                func() (*Plot, error) { return NewWaitPlot(nothing, "") },
		"no lease in these runs says when":      func() (*Plot, error) { return NewValidityPlot(nothing, "") },
		"no request to a lock node":             func() (*Plot, error) { return NewRoundTripsPlot(nothing, "") },
		"nobody asked for an increment":         func() (*Plot, error) { return NewIncrementsPlot(nothing, "") },
		"no run has ended":                      func() (*Plot, error) { return NewDriftPlot("Redlock", []EdgeCurve{{TTL: sample.TTL}}, "") },
		"every clock showed true time":          func() (*Plot, error) { return NewClocksPlot(facts.Of(calm), checker.Check(facts.Of(calm), nil)) },
		"no client got the lock in these runs:": func() (*Plot, error) { return NewWaitPlot([]PlotRow{waits("single", -5)}, "") },
	} {
		if p, err := draw(); p != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func calmHistory() *history.History {
	b := sample.NewBuilder("calm", "single", 1, 1, "plain")
	b.Release(b.Acquire(0, "c1", 0, "n1")+time.Second, "c1", "n1")
	return b.History()
}

// External names are shown as text.
func TestHostilePlots(t *testing.T) {
	const script = `<script>alert("1")</script>'&]]>`
	evil := script + "\u202e\u2066\x1b[2J\x00\xff" + strings.Repeat("long ", 2000)
	name := func(r PlotRow) PlotRow {
		r.Lock, r.Place, r.Variant = evil, evil, evil
		for i := range r.Runs {
			r.Runs[i].Meta.Lock, r.Runs[i].Meta.Scenario = evil, evil
		}
		return r
	}
	h := clockRun()
	h.Meta.Scenario, h.Meta.Lock, h.Meta.Label = evil, evil, evil
	for i := range h.Meta.Clients {
		h.Meta.Clients[i] = evil
	}
	for i := range h.Events {
		e := &h.Events[i]
		if strings.HasPrefix(e.Process, "c") {
			e.Process = evil
		}
		e.Lease, e.Owner, e.Error = evil, evil, evil
	}
	for kind, draw := range map[string]func() (*Plot, error){
		"wait": func() (*Plot, error) {
			return NewWaitPlot([]PlotRow{name(waits("", 5, -6))}, reports.Printable(evil, 60))
		},
		"validity": func() (*Plot, error) {
			return NewValidityPlot([]PlotRow{name(waits("", 5, 6))}, reports.Printable(evil, 60))
		},
		"roundtrips": func() (*Plot, error) { return NewRoundTripsPlot([]PlotRow{name(trips("", "", "", 9, 3))}, evil) },
		"increments": func() (*Plot, error) { return NewIncrementsPlot([]PlotRow{name(increments("", 9, 2, 3, 4))}, evil) },
		"clocks":     func() (*Plot, error) { return NewClocksPlot(facts.Of(h), checker.Check(facts.Of(h), nil)) },
	} {
		p, err := draw()
		svg, _ := plotted(t, p, err)
		for _, bad := range []string{"<script", "\u202e", "\u2066", "\x1b", "\x00", strings.Repeat("long ", 50)} {
			if strings.Contains(svg, bad) {
				t.Errorf("%s: the SVG contains %q", kind, bad)
			}
		}
		if !strings.Contains(svg, "&lt;script&gt;") {
			t.Errorf("%s: the SVG does not show the name at all", kind)
		}
	}
}

func TestPlotScale(t *testing.T) {
	for _, c := range []struct {
		scale plotScale
		at    map[float64]vg.Length
		marks string
	}{
		{plotScale{from: 0, to: 10, at0: 100, at1: 200}, map[float64]vg.Length{0: 100, 5: 150, 10: 200, 11: 200, -1: 100}, "0 2 4 6 8 10"},
		{plotScale{from: 0.001, to: 1, at0: 0, at1: 300, log: true}, map[float64]vg.Length{0.001: 0, 0.01: 100, 1: 300}, "0.001 0.01 0.1 1"},
		{plotScale{from: 0.01, to: 0.1, at0: 0, at1: 100, log: true}, map[float64]vg.Length{0.1: 100}, "0.01 0.02 0.05 0.1"},
		{plotScale{from: -5, to: 5, at0: 0, at1: 100}, map[float64]vg.Length{0: 50}, "-4 -2 0 2 4"},
		{plotScale{from: 3, to: 3, at0: 0, at1: 100}, map[float64]vg.Length{3: 0}, "3"},
	} {
		for v, want := range c.at {
			if got := c.scale.at(v); math.Abs(float64(got-want)) > 1e-6 {
				t.Errorf("%+v: %v is at %v, want %v", c.scale, v, got, want)
			}
		}
		var marks []string
		for _, v := range c.scale.marks(6) {
			marks = append(marks, strconv.FormatFloat(v, 'g', 6, 64))
		}
		if got := strings.Join(marks, " "); got != c.marks {
			t.Errorf("%+v: marks %s, want %s", c.scale, got, c.marks)
		}
	}
}

func TestQuantile(t *testing.T) {
	ten := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for _, c := range []struct {
		values      []float64
		share, want float64
	}{{ten, 0.5, 5}, {ten, 0.9, 9}, {ten, 0.1, 1}, {ten, 0.95, 10}, {ten[:1], 0.5, 1}, {ten[:3], 0.5, 2}} {
		if got := quantile(c.values, c.share); got != c.want {
			t.Errorf("%v of %v is %v, want %v", c.share, c.values, got, c.want)
		}
	}
}

// TestPlotPictures writes plots to the directory that PICTURES names, for people to look at.
func TestPlotPictures(t *testing.T) {
	dir := os.Getenv("PICTURES")
	if dir == "" {
		t.Skip("PICTURES names no directory")
	}
	h := clockRun()
	p, err := NewClocksPlot(facts.Of(h), checker.Check(facts.Of(h), nil))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.WritePNG(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "clocks.png"), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestFuturesPlot(t *testing.T) {
	points := []FuturesPoint{
		{At: -1, What: "the start", Of: 16},
		{At: 0, What: "pause c1 15s", Fault: true, Of: 16},
		{At: 12 * time.Second, What: "c2 asks", Violated: 6, Of: 16},
		{At: 12*time.Second + time.Millisecond, What: "n1 set lock for c2#1", Violated: 16, Of: 16, NoReturn: true},
		{At: 15 * time.Second, What: strings.Repeat("long ", 100), Violated: 16, Of: 16},
	}
	p := NewFuturesPlot("made/single, seed 1", "resource exclusion", points)
	svg, table := plotted(t, p, nil)
	if want := "From 12.001s on, the end of all faults no longer prevents the violation of resource exclusion"; p.Title != want {
		t.Errorf("%q, want %q", p.Title, want)
	}
	says(t, svg, "point of no return", "pause c1 15s", "n1 set lock for c2#1", "38 %", "12.001s", "before", "1", "5")
	if len(table) != 6 || strings.Join(table[3], " ") != "12 c2 asks 6 16" || table[1][0] != "" {
		t.Errorf("the figures are %v", table)
	}
	for want, points := range map[string][]FuturesPoint{
		"To the last, the end of all faults would have prevented the violation of tokens": points[:3],
		"Every future violates tokens, even without any fault":                            {{At: -1, What: "the start", Violated: 3, Of: 3, NoReturn: true}},
	} {
		p := NewFuturesPlot("made/single, seed 1", "tokens", points)
		plotted(t, p, nil)
		if p.Title != want {
			t.Errorf("%q, want %q", p.Title, want)
		}
	}
}
