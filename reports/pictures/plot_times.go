package pictures

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"gonum.org/v1/plot/vg"

	"lockstep/checker"
	"lockstep/reports"
)

// A timesPlot shows how some times are distributed, in a row for each lock. Three shares of the times are distinguished by shade.
type timesPlot struct {
	rows    []timesRow
	scale   plotScale
	label   string // the name of the axis
	columns [3]string
	shades  [3]string // their texts in the legend
	over    bool      // times below 0 are violations
	bound   string    // the text of a line at boundAt
	boundAt float64
}

// A timesRow is one row of a timesPlot.
type timesRow struct {
	*PlotRow
	times []float64 // in seconds, ascending
	cuts  [2]float64
	texts [3]string // one for each column
	aside string    // a remark
}

const (
	timesRowHeight = vg.Length(84)
	timesColumn    = vg.Length(112) // of the numbers on the right
	timesBins      = 110
)

// lowest is the least wait that a logarithmic axis may begin with. No reply comes sooner.
const lowest = 1e-4

// NewWaitPlot shows how long clients waited for the lock. The subtitle, what, describes the runs.
func NewWaitPlot(rows []PlotRow, what string) (*Plot, error) {
	t := &timesPlot{
		label:   "from the first try until the client has the lock",
		columns: [3]string{"half within", "9 in 10 within", "longest"},
		shades:  [3]string{"the quicker half", "up to nine in ten", "the slowest tenth"},
	}
	asked, vain := 0, 0
	for i := range rows {
		r := timesRow{PlotRow: &rows[i]}
		waits, gave := r.samples()
		r.times, asked, vain = waits, asked+len(waits), vain+gave
		if gave > 0 {
			r.aside = fmt.Sprintf("%s asked in vain", thousands(int64(gave)))
		}
		if len(waits) > 0 {
			r.cuts = [2]float64{quantile(waits, 0.5), quantile(waits, 0.9)}
			r.texts = [3]string{inWords(r.cuts[0]), inWords(r.cuts[1]), inWords(waits[len(waits)-1])}
		}
		t.rows = append(t.rows, r)
	}
	if asked == 0 {
		return nil, errors.New("no client got the lock in these runs: there is no wait to show")
	}
	best, worst := t.extremes(func(r timesRow) float64 { return r.cuts[1] })
	title := fmt.Sprintf("Nine in ten clients that get the lock have it within %s with %s", inWords(best.cuts[1]), best.name())
	if best.PlotRow != worst.PlotRow {
		title += fmt.Sprintf(", and within %s with %s", inWords(worst.cuts[1]), worst.name())
	}
	foot := fmt.Sprintf("%s waits that ended with the lock", thousands(int64(asked)))
	if vain > 0 {
		foot += fmt.Sprintf("; %s more ended without it, and are not drawn", thousands(int64(vain)))
	}
	from, to := t.reach()
	if from = max(from, lowest); to > 20*from {
		t.scale.log = true
		t.label += ", on a logarithmic axis"
		t.scale.from, t.scale.to = from/1.15, to*1.15
	} else {
		t.scale.from, t.scale.to = widened(0, to, 8)
	}
	return t.plot(title, what, foot, checker.Wait), nil
}

// NewValidityPlot shows how much of a lease was left when it was handed out.
func NewValidityPlot(rows []PlotRow, what string) (*Plot, error) {
	t := &timesPlot{
		label:   "left of the lease when its acquire returns, by the clock of its client",
		columns: [3]string{"least", "1 in 10 below", "half below"},
		shades:  [3]string{"the shortest tenth", "up to half", "the longer half"},
		over:    true,
	}
	granted := 0
	ttl := rows[0].ttl()
	for i := range rows {
		r := timesRow{PlotRow: &rows[i]}
		r.times, _ = r.samples()
		granted += len(r.times)
		if r.ttl() != ttl {
			ttl = 0
		}
		if len(r.times) == 0 {
			r.aside = "does not say how long its lease lasts"
		} else {
			r.cuts = [2]float64{quantile(r.times, 0.1), quantile(r.times, 0.5)}
			r.texts = [3]string{exactly(r.times[0]), exactly(r.cuts[0]), exactly(r.cuts[1])}
		}
		t.rows = append(t.rows, r)
	}
	if granted == 0 {
		return nil, errors.New("no lease in these runs says when it ends: there is no validity to show")
	}
	most, least := t.extremes(func(r timesRow) float64 { return -r.times[0] })
	title := ""
	switch {
	case least.times[0] < 0:
		title = fmt.Sprintf("With %s, a lease had been over for %s when it was handed out", least.name(), inWords(-least.times[0]))
	default:
		title = fmt.Sprintf("With %s, at least %s of a lease are left when it is handed out", least.name(), exactly(least.times[0]))
		if most.PlotRow != least.PlotRow {
			title += fmt.Sprintf(", and with %s, %s", most.name(), exactly(most.times[0]))
		}
	}
	foot := fmt.Sprintf("%s leases", thousands(int64(granted)))
	from, to := t.reach()
	if ttl > 0 {
		t.bound, t.boundAt = "TTL "+inSeconds(ttl.Seconds()), ttl.Seconds()
		from, to = min(from, t.boundAt), max(to, t.boundAt)
	}
	t.scale.from, t.scale.to = widened(from, to, 8)
	return t.plot(title, what, foot, checker.Validity), nil
}

// samples returns the times of a row in seconds, ascending, and the number of waits in vain.
func (r *PlotRow) samples() (times []float64, vain int) {
	for _, run := range r.Runs {
		for _, s := range run.Samples {
			if s.Vain {
				vain++
				continue
			}
			times = append(times, s.Value.Seconds())
		}
	}
	slices.Sort(times)
	return times, vain
}

// ttl is the TTL of all runs of a row, or 0 if they differ in it.
func (r *PlotRow) ttl() time.Duration {
	for _, run := range r.Runs {
		if run.Meta.TTL != r.Runs[0].Meta.TTL {
			return 0
		}
	}
	if len(r.Runs) == 0 {
		return 0
	}
	return r.Runs[0].Meta.TTL
}

// quantile is the least of some ascending values that at least the given share of them does not exceed.
func quantile(ascending []float64, share float64) float64 {
	return ascending[max(0, int(math.Ceil(share*float64(len(ascending))-1e-9))-1)]
}

// extremes returns the rows with the least and the greatest value of a figure, among those that have times.
func (t *timesPlot) extremes(figure func(timesRow) float64) (least, most timesRow) {
	known := slices.DeleteFunc(slices.Clone(t.rows), func(r timesRow) bool { return len(r.times) == 0 })
	least, most = known[0], known[0]
	for _, r := range known[1:] {
		if figure(r) < figure(least) {
			least = r
		}
		if figure(r) > figure(most) {
			most = r
		}
	}
	return least, most
}

// reach returns the least and the greatest of all times.
func (t *timesPlot) reach() (from, to float64) {
	from, to = math.Inf(1), math.Inf(-1)
	for _, r := range t.rows {
		if len(r.times) > 0 {
			from, to = min(from, r.times[0]), max(to, r.times[len(r.times)-1])
		}
	}
	return from, to
}

// inWords formats seconds with about two digits.
func inWords(seconds float64) string { return reports.Span(time.Duration(math.Round(seconds * 1e9))) }

// exactly formats seconds to the millisecond, and milliseconds to a tenth.
func exactly(seconds float64) string {
	if math.Abs(seconds) < 1 {
		return strconv.FormatFloat(1e3*seconds, 'f', 1, 64) + " ms"
	}
	return strconv.FormatFloat(seconds, 'f', 3, 64) + " s"
}

func (t *timesPlot) plot(title, what, foot string, q checker.Quantity) *Plot {
	t.scale.at0, t.scale.at1 = plotGutter, figureWidth-outer-3*timesColumn-16
	column := string(q) + "_s"
	table := [][]string{append(slices.Clone(runColumns), "client", "at_s", column, "got")}
	for _, r := range t.rows {
		for i := range r.Runs {
			for _, s := range r.Runs[i].Samples {
				table = append(table, append(r.cells(&r.Runs[i]), s.Client, plainSeconds(s.At), plainSeconds(s.Value), strconv.FormatBool(!s.Vain)))
			}
		}
	}
	return &Plot{
		Title: title, Subtitle: what, Foot: foot, table: table, body: t.draw,
		height: plotTop + timesRowHeight*vg.Length(len(t.rows)) + plotFoot,
	}
}

// shadesOf are the shades of a row. The share that is named first is darkest.
var shadesOf = [3]float64{1, 0.55, 0.22}

func (t *timesPlot) draw(p pen) {
	top := plotTop
	bottom := top + timesRowHeight*vg.Length(len(t.rows))
	for i, name := range t.columns {
		p.right(figureWidth-outer-timesColumn*vg.Length(2-i), top-16, name, smallFace, grey)
	}
	x := t.scale.at0
	for i, name := range t.shades {
		x = p.sign(x, top-16, name, func(b box) { p.fill(b, tint(looks[0].ink, shadesOf[i])) })
	}
	for _, v := range t.scale.marks(8) {
		p.line(t.scale.at(v), top, t.scale.at(v), bottom, rule, 1)
		text := inSeconds(v)
		p.line(t.scale.at(v), bottom, t.scale.at(v), bottom+6, grey, 1)
		p.write(t.scale.at(v)-smallFace.width(text)/2, bottom+19, text, smallFace, black)
	}
	if t.over && t.scale.from < 0 {
		b := box{t.scale.at0, top, t.scale.at(0), bottom}
		p.fill(b, tint(red, 0.1))
		p.line(b.x1, top, b.x1, bottom, red, 1.6)
		p.write(b.x0+4, bottom-12, barFace.fit("already over", b.width()-8), barFace, red)
	}
	for i := range t.rows {
		t.drawRow(p, &t.rows[i], box{t.scale.at0, top + timesRowHeight*vg.Length(i), t.scale.at1, top + timesRowHeight*vg.Length(i+1)})
	}
	if t.bound != "" {
		at := t.scale.at(t.boundAt)
		p.line(at, top, at, bottom, black, 1.6, 7, 4)
		if w := barFace.width(t.bound); at+8+w <= t.scale.at1 {
			p.write(at+8, top+12, t.bound, barFace, black)
		} else {
			p.right(at, top-16, t.bound, barFace, black)
		}
	}
	p.line(t.scale.at0, bottom, t.scale.at1, bottom, grey, 1)
	p.write((t.scale.at0+t.scale.at1-strongFace.width(t.label))/2, bottom+46, t.label, strongFace, black)
}

func (t *timesPlot) drawRow(p pen, r *timesRow, b box) {
	base := b.y1 - 10
	p.line(outer, b.y1, figureWidth-outer, b.y1, rule, 1)
	r.writeName(p, (b.y0+base)/2+4, r.Place, r.Variant)
	if len(r.times) == 0 {
		text := r.aside
		if text == "" {
			text = "nothing to measure"
		}
		at := (b.y0+base)/2 + 4
		p.fill(box{b.x0 + 4, at - 11, b.x0 + 12 + labelFace.width(text), at + 11}, white)
		p.write(b.x0+8, at, text, labelFace, grey)
		return
	}
	bins, most := t.bins(r.times)
	edges := [4]vg.Length{t.scale.at0, t.scale.at(r.cuts[0]), t.scale.at(r.cuts[1]), t.scale.at1}
	width := (t.scale.at1 - t.scale.at0) / timesBins
	for n, count := range bins {
		if count == 0 {
			continue
		}
		tall := max(2.5, (base-b.y0-14)*vg.Length(count)/vg.Length(most))
		x0, x1 := t.scale.at0+width*vg.Length(n), t.scale.at0+width*vg.Length(n+1)
		for k, shade := range shadesOf {
			if from, to := max(x0, edges[k]), min(x1, edges[k+1]); from < to {
				p.fill(box{from, base - tall, to, base}, tint(looks[0].ink, shade))
			}
		}
	}
	p.line(b.x0, base, b.x1, base, faint, 1)
	for k, text := range r.texts {
		face, ink := labelFace, black
		if k == 0 {
			face = strongFace
		}
		if t.over && text[0] == '-' {
			ink = red
		}
		p.right(figureWidth-outer-timesColumn*vg.Length(2-k), (b.y0+base)/2+4, text, face, ink)
	}
	if r.aside != "" {
		p.right(figureWidth-outer, base, r.aside, smallFace, red)
	}
}

// bins counts the times in intervals of the same width in the picture.
func (t *timesPlot) bins(times []float64) (bins [timesBins]int, most int) {
	for _, v := range times {
		share := float64((t.scale.at(v) - t.scale.at0) / (t.scale.at1 - t.scale.at0))
		n := min(int(share*timesBins), timesBins-1)
		bins[n]++
		most = max(most, bins[n])
	}
	return bins, most
}
