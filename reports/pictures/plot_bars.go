package pictures

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"

	"lockstep/reports"
)

// A tripsPlot shows how many requests a lease costs. Each row has a bar, with a line from its cheapest to its most expensive run.
type tripsPlot struct {
	rows     []tripsRow
	variants []string // in the order in which they come first
	scale    plotScale
}

type tripsRow struct {
	*PlotRow
	mean, least, most float64 // requests for each lease: in all runs together, and in the cheapest and the most expensive run
	top               vg.Length
}

const (
	tripsBar  = vg.Length(30)
	tripsStep = vg.Length(40) // from one bar to the next of the same lock
	tripsGap  = vg.Length(16) // added where another lock begins
	tripsText = vg.Length(70) // right of the longest bar
)

// NewRoundTripsPlot shows how many requests to the lock nodes a lease costs.
func NewRoundTripsPlot(rows []PlotRow, what string) (*Plot, error) {
	if !measured(rows) {
		return nil, errors.New("no request to a lock node was recorded in these runs: there are no round trips to show")
	}
	t := &tripsPlot{}
	table := [][]string{append(slices.Clone(runColumns), "nodes", "requests", "leases")}
	y := plotTop + 8
	var runs, requests, leases int64
	for i := range rows {
		r := tripsRow{PlotRow: &rows[i]}
		for n := range r.Runs {
			run := &r.Runs[n]
			asked, got := run.figure("requests"), run.figure("leases")
			table = append(table, append(r.cells(run), strconv.Itoa(len(run.Meta.Nodes)), plain(asked), plain(got)))
			if runs++; got > 0 {
				each := asked / got
				if r.most == 0 || each < r.least {
					r.least = each
				}
				r.most = max(r.most, each)
			}
		}
		requests, leases = requests+int64(r.sum("requests")), leases+int64(r.sum("leases"))
		if got := r.sum("leases"); got > 0 {
			r.mean = r.sum("requests") / got
		}
		if i > 0 {
			y += tripsStep
			if !r.together(&rows[i-1]) {
				y += tripsGap
			}
		}
		r.top = y
		if !slices.Contains(t.variants, r.Variant) {
			t.variants = append(t.variants, r.Variant)
		}
		t.scale.to = max(t.scale.to, r.most)
		t.rows = append(t.rows, r)
	}
	_, t.scale.to = widened(0, max(t.scale.to, 1), 8)
	return &Plot{
		Title: t.title(), Subtitle: what, table: table, body: t.draw, height: y + tripsStep + plotFoot,
		Foot: fmt.Sprintf("%s requests for %s leases in %s; thin line: from the cheapest to the most expensive run; a request to five nodes counts as five",
			thousands(requests), thousands(leases), reports.Count(int(runs), "run")),
	}, nil
}

func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// title compares the cheapest lease with the most expensive one. It takes both from the first variant, because a client that is alone
// needs fewer requests than one of many.
func (t *tripsPlot) title() string {
	var least, most *tripsRow
	for i := range t.rows {
		r := &t.rows[i]
		if r.mean == 0 || r.Variant != t.rows[0].Variant {
			continue
		}
		if least == nil || r.mean < least.mean {
			least = r
		}
		if most == nil || r.mean > most.mean {
			most = r
		}
	}
	switch {
	case least == nil:
		return "No client was granted a lease"
	case least == most:
		return fmt.Sprintf("A lease of %s costs %.1f requests", least.name(), least.mean)
	}
	return fmt.Sprintf("A lease costs %.1f requests with %s, and %.1f with %s", least.mean, least.name(), most.mean, most.name())
}

func (t *tripsPlot) draw(p pen) {
	scale := t.scale
	scale.at0, scale.at1 = plotGutter, figureWidth-outer-tripsText
	top, bottom := plotTop, t.rows[len(t.rows)-1].top+tripsStep
	for _, v := range scale.marks(10) {
		x, text := scale.at(v), strconv.FormatFloat(v, 'g', 4, 64)
		p.line(x, top, x, bottom, rule, 1)
		p.line(x, bottom, x, bottom+6, grey, 1)
		p.write(x-smallFace.width(text)/2, bottom+19, text, smallFace, black)
	}
	if len(t.variants) > 1 {
		x := plotGutter
		for i, v := range t.variants {
			if v == "" {
				v = "as it comes"
			}
			x = p.sign(x, top-16, reports.Printable(v, 40), func(b box) { p.filled(b, t.look(i)) })
		}
	}
	for i := range t.rows {
		t.drawRow(p, scale, i)
	}
	p.line(scale.at0, top, scale.at0, bottom, grey, 1)
	const label = "requests to the lock nodes for each lease"
	p.write((scale.at0+scale.at1-strongFace.width(label))/2, bottom+46, label, strongFace, black)
}

func (t *tripsPlot) look(variant int) look { return looks[variant%len(looks)] }

func (t *tripsPlot) drawRow(p pen, scale plotScale, i int) {
	r := &t.rows[i]
	b := box{scale.at0, r.top, scale.at(r.mean), r.top + tripsBar}
	if i == 0 || !r.together(t.rows[i-1].PlotRow) { // in the middle of the bars of this lock
		last := i
		for last+1 < len(t.rows) && r.together(t.rows[last+1].PlotRow) {
			last++
		}
		more := []string{r.Place}
		if len(t.variants) == 1 {
			more = append(more, r.Variant)
		}
		r.writeName(p, (r.top+t.rows[last].top+tripsBar)/2, more...)
	}
	if r.mean == 0 {
		p.write(b.x0+8, b.midY(), "no lease", labelFace, grey)
		return
	}
	p.filled(b, t.look(slices.Index(t.variants, r.Variant)))
	end := b.x1
	if len(r.Runs) > 1 && r.least < r.most {
		x0, x1 := scale.at(r.least), scale.at(r.most)
		p.line(x0, b.midY(), x1, b.midY(), black, 1.6)
		p.line(x0, b.midY()-6, x0, b.midY()+6, black, 1.6)
		p.line(x1, b.midY()-6, x1, b.midY()+6, black, 1.6)
		end = max(end, x1)
	}
	p.write(end+10, b.midY(), strconv.FormatFloat(r.mean, 'f', 1, 64), strongFace, black)
}

// A counterPlot shows what became of increments: how many are in the counter, were skipped, or were lost.
type counterPlot struct {
	rows []counterRow
	most float64 // asked, in one row
}

type counterRow struct {
	*PlotRow
	asked, skipped, lost, unknown, counted float64
}

const (
	counterBar   = vg.Length(44)
	counterStep  = vg.Length(70)
	counterRight = vg.Length(214) // for the text beside each row
)

// NewIncrementsPlot shows what became of the increments that clients asked for.
func NewIncrementsPlot(rows []PlotRow, what string) (*Plot, error) {
	if !measured(rows) {
		return nil, errors.New("nobody asked for an increment in these runs: there is nothing to count")
	}
	c := &counterPlot{}
	table := [][]string{append(slices.Clone(runColumns), "asked", "counted", "skipped", "lost", "unknown", "from", "final")}
	runs := 0
	for i := range rows {
		r := counterRow{PlotRow: &rows[i]}
		for n := range r.Runs {
			run := &r.Runs[n]
			runs++
			f := run.figure
			missing := f("unknown") - f("landed")
			counted := f("final") - f("from")
			table = append(table, append(r.cells(run), plain(f("asked")), plain(counted), plain(f("skipped")), plain(f("lost")), plain(missing), plain(f("from")), plain(f("final"))))
			r.asked, r.skipped, r.lost = r.asked+f("asked"), r.skipped+f("skipped"), r.lost+f("lost")
			r.unknown, r.counted = r.unknown+missing, r.counted+counted
		}
		c.most = max(c.most, r.asked, r.counted+r.skipped+r.lost+r.unknown)
		c.rows = append(c.rows, r)
	}
	return &Plot{
		Title: c.title(), Subtitle: what, table: table, body: c.draw,
		Foot:   "asked = in the counter + skipped + lost: a low total alone does not mean that increments were lost",
		height: plotTop + 16 + counterStep*vg.Length(len(c.rows)) + 84,
	}, nil
}

// title says who loses most, and what the others do instead.
func (c *counterPlot) title() string {
	var loser, skipper *counterRow
	for i := range c.rows {
		r := &c.rows[i]
		if r.lost > 0 && (loser == nil || r.lost > loser.lost) {
			loser = r
		}
		if r.skipped > 0 && r.lost == 0 && (skipper == nil || r.skipped > skipper.skipped) {
			skipper = r
		}
	}
	words := func(v float64) string { return thousands(int64(v)) }
	switch {
	case loser != nil && skipper != nil:
		return fmt.Sprintf("%s loses %s of %s increments; %s loses none, and skips %s", loser.name(), words(loser.lost), words(loser.asked), skipper.name(), words(skipper.skipped))
	case loser != nil:
		return fmt.Sprintf("%s loses %s of %s increments", loser.name(), words(loser.lost), words(loser.asked))
	case skipper != nil:
		return fmt.Sprintf("No increment is lost; %s skips %s of %s", skipper.name(), words(skipper.skipped), words(skipper.asked))
	}
	return "No increment is lost, and none is skipped"
}

// A part is what became of some of the increments.
type part struct {
	name   string
	amount float64
	look   look
	solid  bool
}

func (r *counterRow) parts() []part {
	return []part{
		{"in the counter", r.counted, looks[0], false},
		{"skipped: refused, and not retried", r.skipped, looks[1], false},
		{"lost: acknowledged, but not in the counter", r.lost, look{red, falling}, true},
		{"of unknown outcome", r.unknown, looks[5], false},
	}
}

func (pt part) draw(p pen, b box) {
	if !pt.solid {
		p.filled(b, pt.look)
		return
	}
	p.fill(b, pt.look.ink)
	p.hatch(b, pt.look.pattern, faded(white, 0x70), 1.6, 8)
	p.outline(b, pt.look.ink, 1.8)
}

func (c *counterPlot) draw(p pen) {
	scale := plotScale{from: 0, to: c.most, at0: plotGutter, at1: figureWidth - outer - counterRight}
	x := plotGutter
	for k, pt := range c.rows[0].parts() {
		if k == 0 || slices.ContainsFunc(c.rows, func(r counterRow) bool { return r.parts()[k].amount > 0 }) {
			x = p.sign(x, plotTop-12, pt.name, func(b box) { pt.draw(p, b) })
		}
	}
	for i := range c.rows {
		c.drawRow(p, scale, &c.rows[i], plotTop+16+counterStep*vg.Length(i))
	}
	bottom := plotTop + 16 + counterStep*vg.Length(len(c.rows))
	p.line(scale.at0, bottom, scale.at1, bottom, grey, 1)
	for _, v := range scale.marks(8) {
		x, text := scale.at(v), thousands(int64(v))
		p.line(x, bottom, x, bottom+6, grey, 1)
		p.write(x-smallFace.width(text)/2, bottom+19, text, smallFace, black)
	}
}

func (c *counterPlot) drawRow(p pen, scale plotScale, r *counterRow, top vg.Length) {
	r.writeName(p, top+counterBar/2, r.Place, r.Variant)
	sum := 0.0
	var rest []string
	for k, pt := range r.parts() {
		if pt.amount <= 0 {
			continue
		}
		b := box{scale.at(sum), top, max(scale.at(sum+pt.amount), scale.at(sum)+2.5), top + counterBar}
		sum += pt.amount
		pt.draw(p, b)
		text := thousands(int64(pt.amount))
		if k > 0 {
			name, _, _ := strings.Cut(pt.name, ":")
			rest = append(rest, text+" "+name)
		}
		if w := barFace.width(text) + 12; w < b.width()-8 {
			p.fill(box{b.midX() - w/2, b.midY() - 11, b.midX() + w/2, b.midY() + 11}, faded(white, 0xEC))
			p.write(b.midX()-w/2+6, b.midY(), text, barFace, black)
		}
	}
	y, step := top+counterBar/2, vg.Length(20)
	if len(rest) == 0 {
		rest = []string{"all of " + thousands(int64(r.asked))}
	}
	y -= step * vg.Length(len(rest)-1) / 2
	for _, text := range rest {
		ink := black
		if r.lost > 0 && text == thousands(int64(r.lost))+" lost" {
			ink = red
		}
		p.write(scale.at1+16, y, strongFace.fit(text, counterRight-16), strongFace, ink)
		y += step
	}
}
