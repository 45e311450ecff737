package pictures

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot/vg"

	"lockstep/reports"
	"lockstep/sim/history"
)

// A LimitRow is how much of one perturbation a lock tolerates. Numbers are in seconds, in ppm, or counts.
type LimitRow struct {
	Name     string
	About    string
	Unit     string  // "s", "ppm", or empty for a count
	Harmless float64 // the greatest harmless magnitude; 0 if there is none
	Text     string  // the same as text
	Top      float64 // the greatest magnitude that was tried
	NoEffect bool
	Limits   []LimitMark // ascending

	// Have is what the reader has; 0 if that is not given.
	Have     float64
	HaveText string
	Within   bool
}

// A LimitMark is where a perturbation begins to do some harm.
type LimitMark struct {
	At    float64
	Text  string
	What  string // what is violated
	Stuck bool   // clients wait for too long, but no two act at once
}

// A limitsPlot has a bar for each row, on one axis for all that have the same unit.
type limitsPlot struct {
	rows  []LimitRow
	ttl   time.Duration
	times plotScale
	rates plotScale
}

const (
	limitLeft   = vg.Length(208) // of the axes
	limitRow    = vg.Length(42)
	limitBar    = vg.Length(28)
	limitAxis   = vg.Length(44)
	limitLegend = vg.Length(40)
)

// NewLimitsPlot shows up to where a lock tolerates each perturbation, on logarithmic axes: one for times, one for rates. Rows with the same unit
// stand together.
func NewLimitsPlot(lock, work, foot string, ttl time.Duration, rows []LimitRow) *Plot {
	order := func(unit string) int { return slices.Index([]string{"s", "ppm", ""}, unit) }
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b LimitRow) int { return order(a.Unit) - order(b.Unit) })
	l := &limitsPlot{rows: rows, ttl: ttl}
	right := figureWidth - outer - 12
	l.times = plotScale{from: 1e-3, to: 1e-2, at0: limitLeft, at1: right, log: true}
	l.rates = plotScale{from: 10, to: 100, at0: limitLeft, at1: right, log: true}
	table := [][]string{{"quantity", "unit", "harmless", "harmful", "violated", "have"}}
	plainOr := func(v float64) string {
		if v == 0 {
			return ""
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	height := headHeight + limitLegend
	unit := "none"
	for _, r := range rows {
		switch r.Unit {
		case "s":
			l.times.to = max(l.times.to, r.Top)
		case "ppm":
			l.rates.to = max(l.rates.to, r.Top)
		}
		if r.Unit != unit && unit != "none" {
			height += limitAxis
		}
		unit = r.Unit
		height += limitRow
		if len(r.Limits) == 0 {
			table = append(table, []string{r.Name, r.Unit, plainOr(r.Harmless), "", "", plainOr(r.Have)})
		}
		for _, m := range r.Limits {
			table = append(table, []string{r.Name, r.Unit, plainOr(r.Harmless), plainOr(m.At), m.What, plainOr(r.Have)})
		}
	}
	if unit != "" {
		height += limitAxis
	}
	return &Plot{
		Title:    l.title(),
		Subtitle: reports.Printable(lock, 100) + ", " + reports.Printable(work, 100),
		Foot:     foot, table: table, body: l.draw, height: height + 50,
	}
}

// title says what the reader's values come to, or else what pause is the limit.
func (l *limitsPlot) title() string {
	var over []string
	given := false
	for _, r := range l.rows {
		given = given || r.Have > 0
		if r.Have > 0 && !r.Within {
			over = append(over, r.Name+" "+r.HaveText)
		}
	}
	switch {
	case len(over) > 0:
		return "More than this lock tolerates: " + history.List(over)
	case given:
		return "This lock tolerates what you have"
	}
	var all []string
	for _, r := range l.rows {
		if slices.Contains([]string{"pause", "jump ahead"}, r.Name) && r.Harmless > 0 {
			all = append(all, fmt.Sprintf("a %s of %s", map[string]string{"pause": "pause", "jump ahead": "clock jump"}[r.Name], r.Text))
		}
	}
	if len(all) == 0 {
		return "What this lock tolerates"
	}
	return "This lock tolerates " + history.List(all)
}

func (l *limitsPlot) draw(p pen) {
	l.drawLegend(p)
	y := headHeight + limitLegend
	for i := 0; i < len(l.rows); {
		j := i
		for j < len(l.rows) && l.rows[j].Unit == l.rows[i].Unit {
			j++
		}
		group := l.rows[i:j]
		y = l.drawGroup(p, group, y)
		i = j
	}
}

// scaleOf is the axis of a unit.
func (l *limitsPlot) scaleOf(unit string) plotScale {
	if unit == "ppm" {
		return l.rates
	}
	return l.times
}

// drawGroup draws rows with one axis below them, and returns where the next may begin.
func (l *limitsPlot) drawGroup(p pen, rows []LimitRow, y vg.Length) vg.Length {
	bottom := y + limitRow*vg.Length(len(rows))
	s := l.scaleOf(rows[0].Unit)
	if rows[0].Unit != "" {
		for _, v := range s.marks(6) {
			x := s.at(v)
			p.line(x, y, x, bottom+5, rule, 1)
			text := inSeconds(v)
			if rows[0].Unit == "ppm" {
				text = thousands(int64(v)) + " ppm"
			}
			p.write(min(x-smallFace.width(text)/2, figureWidth-outer-smallFace.width(text)), bottom+19, text, smallFace, grey)
		}
	}
	var texts []func()
	for k, r := range rows {
		top := y + limitRow*vg.Length(k)
		b := box{limitLeft, top + (limitRow-limitBar)/2, s.at1, top + (limitRow+limitBar)/2}
		p.right(limitLeft-14, b.midY(), r.Name, strongFace, black)
		if r.Unit == "" {
			l.drawCount(p, r, b)
		} else {
			texts = append(texts, l.drawBar(p, r, b, s))
		}
	}
	if rows[0].Unit == "s" {
		x := s.at(l.ttl.Seconds())
		p.line(x, y-6, x, bottom+5, black, 1.4, 6, 4)
		text := "TTL"
		p.write(x-smallFace.width(text)/2, y-13, text, smallFace, black)
	}
	for _, write := range texts {
		write()
	}
	for k, r := range rows {
		if r.Have > 0 && r.Unit != "" {
			top := y + limitRow*vg.Length(k)
			l.drawHave(p, r, box{limitLeft, top + (limitRow-limitBar)/2, s.at1, top + (limitRow+limitBar)/2}, s)
		}
	}
	if rows[0].Unit == "" {
		return bottom
	}
	return bottom + limitAxis
}

// drawBar draws the harmless part of a row, and the harmful ones. What it returns writes the texts, which come on top of lines.
func (l *limitsPlot) drawBar(p pen, r LimitRow, b box, s plotScale) (texts func()) {
	end := b.x0 // of what is harmless
	if r.Harmless > 0 {
		end = s.at(r.Harmless)
		g := b
		g.x1 = end
		if r.NoEffect {
			p.fill(g, tint(calm, 0.10))
		} else {
			p.fill(g, tint(calm, 0.34))
		}
		p.outline(g, tint(calm, 0.8), 1.2)
	}
	var stuck, harm *LimitMark
	for i := range r.Limits {
		m := &r.Limits[i]
		switch {
		case m.Stuck && stuck == nil:
			stuck = m
		case !m.Stuck && harm == nil:
			harm = m
		}
	}
	from := b.x1 // of what is harmful
	if harm != nil {
		h := b
		h.x0 = s.at(harm.At)
		from = h.x0
		p.fill(h, tint(red, 0.20))
		p.hatch(h, rising, tint(red, 0.55), 1.6, 9)
		p.outline(h, red, 1.6)
	}
	if stuck != nil && s.at(stuck.At) < from {
		h := b
		h.x0, h.x1 = s.at(stuck.At), from
		from = h.x0
		p.fill(h, tint(doubt, 0.20))
		p.hatch(h, dots, tint(doubt, 0.6), 1.4, 8)
		p.outline(h, doubt, 1.6)
	}
	text := r.Text
	switch {
	case r.NoEffect:
		text = "no effect"
	case len(r.Limits) == 0 && r.Harmless > 0 && r.Have == 0:
		text = "harmless up to " + r.Text + ", the most that was tried"
	case r.Harmless == 0:
		text = ""
	}
	return func() {
		if end-b.x0 > barFace.width(text)+18 {
			p.right(end-9, b.midY(), text, barFace, calm)
		}
		l.drawHarms(p, r, b, from, s)
	}
}

// drawHarms names the harms in their parts of the bar, as far as there is room.
func (l *limitsPlot) drawHarms(p pen, r LimitRow, b box, from vg.Length, s plotScale) {
	var parts []LimitMark // at different magnitudes
	for _, m := range r.Limits {
		if n := len(parts); n > 0 && (parts[n-1].Text == m.Text || !parts[n-1].Stuck) {
			continue
		}
		parts = append(parts, m)
	}
	for i, m := range parts {
		x0, x1 := max(s.at(m.At), from), b.x1
		if i+1 < len(parts) {
			x1 = s.at(parts[i+1].At)
		}
		if mark := s.at(r.Have); r.Have > 0 && x0 < mark+8 && mark < x0+60 {
			x0 = mark + 4 // the label would be under the mark
		}
		ink := red
		if m.Stuck {
			ink = doubt
		}
		words := []string{m.Text + ": " + m.What, m.Text, ""}
		j := slices.IndexFunc(words, func(w string) bool { return barFace.width(w)+16 <= x1-x0 })
		if j < 0 || words[j] == "" {
			continue
		}
		back := box{x0 + 5, b.y0 + 4, x0 + 11 + barFace.width(words[j]), b.y1 - 4}
		p.fill(back, faded(white, 0xE0))
		p.write(x0+8, b.midY(), words[j], barFace, ink)
	}
}

// drawCount draws a row whose magnitudes are numbers as boxes.
func (l *limitsPlot) drawCount(p pen, r LimitRow, b box) {
	const side = limitBar
	worst := math.Inf(1)
	for _, m := range r.Limits {
		worst = min(worst, m.At)
	}
	x := b.x0
	for n := 1.0; n <= r.Top; n++ {
		c := box{x, b.y0, x + side, b.y1}
		if n < worst {
			p.fill(c, tint(calm, 0.34))
			p.outline(c, tint(calm, 0.8), 1.2)
		} else {
			p.fill(c, tint(red, 0.20))
			p.hatch(c, rising, tint(red, 0.55), 1.6, 9)
			p.outline(c, red, 1.6)
		}
		x += side + 6
	}
	text := fmt.Sprintf("harmless: %.0f of %.0f", r.Harmless, r.Top)
	if len(r.Limits) > 0 {
		var what []string
		for _, m := range r.Limits {
			if m.At == worst {
				what = append(what, m.What)
			}
		}
		text += fmt.Sprintf("; with %s: %s", r.Limits[0].Text, strings.Join(what, ", "))
	}
	p.write(x+8, b.midY(), text, barFace, black)
	if r.Have > 0 {
		at := b.x0 + vg.Length(r.Have-1)*(side+6) + side/2
		p.disc(at, b.midY(), 7, black)
		p.write(x+barFace.width(text)+24, b.midY(), "you: "+r.HaveText, strongFace, black)
	}
}

// drawHave marks what the reader has.
func (l *limitsPlot) drawHave(p pen, r LimitRow, b box, s plotScale) {
	x := s.at(r.Have)
	ink, text := black, "you: "+r.HaveText
	if !r.Within {
		ink = red
	}
	p.line(x, b.y0-5, x, b.y1+5, ink, 3)
	p.polygon(ink, p.at(x-7, b.y0-6), p.at(x+7, b.y0-6), p.at(x, b.y0+5))
	w := strongFace.width(text)
	left := x + 8
	if !r.Within && x-8-w > b.x0 || left+w > figureWidth-outer { // what is harmful keeps its label
		left = x - 8 - w
	}
	p.fill(box{left - 3, b.midY() - 11, left + w + 3, b.midY() + 11}, white)
	p.outline(box{left - 3, b.midY() - 11, left + w + 3, b.midY() + 11}, ink, 1.4)
	p.write(left, b.midY(), text, strongFace, ink)
}

// drawLegend explains the parts of a bar.
func (l *limitsPlot) drawLegend(p pen) {
	y := headHeight + 4
	x := p.sign(limitLeft, y, "harmless", func(b box) {
		p.fill(b, tint(calm, 0.34))
		p.outline(b, tint(calm, 0.8), 1.2)
	})
	x = p.sign(x, y, "nobody gets the lock for too long", func(b box) {
		p.fill(b, tint(doubt, 0.20))
		p.hatch(b, dots, tint(doubt, 0.6), 1.4, 8)
		p.outline(b, doubt, 1.6)
	})
	x = p.sign(x, y, "two act at once, or worse", func(b box) {
		p.fill(b, tint(red, 0.20))
		p.hatch(b, rising, tint(red, 0.55), 1.6, 9)
		p.outline(b, red, 1.6)
	})
	if slices.ContainsFunc(l.rows, func(r LimitRow) bool { return r.Have > 0 }) {
		p.sign(x, y, "what you have", func(b box) {
			p.line(b.midX(), b.y0, b.midX(), b.y1, black, 3)
			p.polygon(black, p.at(b.midX()-7, b.y0-2), p.at(b.midX()+7, b.y0-2), p.at(b.midX(), b.y0+8))
		})
	}
}
