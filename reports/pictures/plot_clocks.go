package pictures

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot/vg"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/reports"
	"lockstep/reports/explorer"
	"lockstep/sim/history"
)

// A clocksPlot shows over the run how far the clocks of each process are ahead of true time. Above them it shows which clients believe
// that they hold the lock. Its time axis is to scale, so a drift is a straight line.
type clocksPlot struct {
	f      *facts.Facts
	end    time.Duration
	cast   cast
	held   []facts.Lease
	rows   []string // the clients that held the lock, one below the other
	panels []clockPanel
	x      plotScale
	top    vg.Length // of the first panel
	each   vg.Length // the height of a panel
}

// A clockPanel is the part of one process.
type clockPanel struct {
	explorer.Clock
	y     plotScale
	notes []label
	poles map[vg.Length]vg.Length // the place of a note's instant, by the place where its text begins
}

const (
	clockGutter = vg.Length(168)
	clockRow    = vg.Length(30) // the height for a client that held the lock
	clockPanels = vg.Length(560)
	clockTall   = vg.Length(210)
	clockShort  = vg.Length(120)
	clockGap    = vg.Length(14)
	clockNotes  = vg.Length(48) // the part of a panel for its notes
	clockPole   = vg.Length(6)  // from the instant of a note to its text
)

// NewClocksPlot shows the clocks of a run that were ever wrong.
func NewClocksPlot(f *facts.Facts, r checker.Result) (*Plot, error) {
	servers := reports.Servers(f.Meta)
	c := &clocksPlot{f: f, end: explorer.NewStory(f, r).End, cast: explorer.CastOf(f.History)}
	var right []string
	table := [][]string{{"process", "clock", "at_s", "ahead_s"}}
	for _, process := range slices.Concat(f.Meta.Clients, servers) {
		clock := explorer.ClockOf(f.History, process, c.end)
		clock.Name, clock.Steady, clock.Wall = process, upTo(clock.Steady, c.end), upTo(clock.Wall, c.end)
		wrong := func(p explorer.Reading) bool { return p.Offset != 0 }
		if !slices.ContainsFunc(clock.Steady, wrong) && !slices.ContainsFunc(clock.Wall, wrong) {
			right = append(right, process)
			continue
		}
		c.panels = append(c.panels, clockPanel{Clock: clock})
		for _, of := range []struct {
			name   string
			points []explorer.Reading
		}{{"wall", clock.Wall}, {"steady", clock.Steady}} {
			for _, p := range of.points {
				table = append(table, []string{process, of.name, plainSeconds(p.At), plainSeconds(p.Offset)})
			}
		}
	}
	if len(c.panels) == 0 {
		return nil, errors.New("every clock showed true time in this run: name one in which a clock jumps, drifts or is slewed, such as clock-jump")
	}
	for _, l := range f.Holds {
		if l.From <= c.end && l.From < l.To && l.Client != f.Meta.Probe {
			c.held = append(c.held, l)
			if !slices.Contains(c.rows, l.Client) {
				c.rows = append(c.rows, l.Client)
			}
		}
	}
	slices.SortStableFunc(c.rows, func(a, b string) int { return slices.Index(f.Meta.Clients, a) - slices.Index(f.Meta.Clients, b) })
	c.x = plotScale{from: 0, to: max(c.end.Seconds(), 1e-3), at0: clockGutter, at1: figureWidth - outer - 10}
	c.each = min(clockTall, max(clockShort, clockPanels/vg.Length(len(c.panels))))
	c.top = headHeight + 8 + clockRow*vg.Length(len(c.rows)) + clockGap
	for i := range c.panels {
		c.lay(i)
	}
	foot := "the time axis is true time, to scale"
	if len(right) > 0 {
		foot = fmt.Sprintf("the clocks of %s show true time; %s", reports.Printable(reports.Together(right, servers), 60), foot)
	}
	head := explorer.NewHeading(f, r)
	subtitle := head.Outcome
	if head.Reason != "" {
		subtitle += " — " + head.Reason
	}
	return &Plot{
		Title: c.title(head), Subtitle: subtitle, Foot: foot, table: table, body: c.draw,
		height: c.top + (c.each+clockGap)*vg.Length(len(c.panels)) + 92,
	}, nil
}

// upTo cuts off the readings of a clock at an instant.
func upTo(points []explorer.Reading, end time.Duration) []explorer.Reading {
	var kept []explorer.Reading
	for i, p := range points {
		if p.At > end {
			if i > 0 && points[i-1].At < end {
				from := points[i-1]
				share := float64(end-from.At) / float64(p.At-from.At)
				kept = append(kept, explorer.Reading{At: end, Offset: from.Offset + time.Duration(share*float64(p.Offset-from.Offset))})
			}
			break
		}
		kept = append(kept, p)
	}
	return kept
}

// title says which clock was off by most.
func (c *clocksPlot) title(head explorer.Heading) string {
	var process, kind string
	var most explorer.Reading
	for _, p := range c.panels {
		for _, of := range []struct {
			kind   string
			points []explorer.Reading
		}{{"wall clock", p.Wall}, {"clocks", p.Steady}} {
			for _, q := range of.points {
				if q.Offset.Abs() > most.Offset.Abs() || q.Offset.Abs() == most.Offset.Abs() && of.kind == "clocks" && process == p.Name {
					process, kind, most = p.Name, of.kind, q
				}
			}
		}
	}
	verb, way := "is", "ahead of"
	if kind == "clocks" {
		verb = "are"
	}
	if most.Offset < 0 {
		way = "behind"
	}
	return fmt.Sprintf("The %s of %s %s up to %s %s true time: %s", kind, reports.Printable(process, 20), verb, ahead(most.Offset.Abs()), way, head.Run)
}

// ahead formats how far a clock is off.
func ahead(d time.Duration) string {
	s := d.Seconds()
	if s == 0 {
		return "0"
	}
	unit := math.Pow(10, math.Floor(math.Log10(s))-2) // three digits
	return inSeconds(math.Round(s/unit) * unit)
}

func (c *clocksPlot) box(i int) box {
	y := c.top + (c.each+clockGap)*vg.Length(i)
	return box{c.x.at0, y, c.x.at1, y + c.each}
}

// lay gives a panel its scale and its notes: what was done to the clock, and which keys ended there.
func (c *clocksPlot) lay(i int) {
	panel, b := &c.panels[i], c.box(i)
	var low, high time.Duration
	for _, p := range slices.Concat(panel.Steady, panel.Wall) {
		low, high = min(low, p.Offset), max(high, p.Offset)
	}
	from, to := widened(low.Seconds(), high.Seconds(), 4)
	if low == 0 {
		from = 0
	}
	if high == 0 {
		to = 0
	}
	panel.poles = map[vg.Length]vg.Length{}
	panel.y = plotScale{from: from, to: to, at0: b.y1 - 8, at1: b.y0 + clockNotes}
	note := func(at time.Duration, text string, weight int) {
		ink := black
		if weight == explorer.Usual {
			ink = grey
		}
		l := label{text: reports.Printable(text, 60), face: smallFace, ink: ink, weight: weight}
		pole := c.x.at(at.Seconds())
		l.x = pole + clockPole
		if width := l.face.width(l.text); l.x+width+labelPad > b.x1 { // then the note is left of the instant
			l.x = pole - clockPole - width
		}
		panel.poles[l.x] = pole
		panel.notes = append(panel.notes, l)
	}
	for n := range c.f.Events {
		e := &c.f.Events[n]
		if e.Process != panel.Name || e.At > c.end {
			continue
		}
		if f := e.Fault(); f != nil {
			switch f.(type) {
			case history.Jump, history.Drift, history.Slew:
				note(e.At, f.String(), explorer.Telling)
			}
			continue
		}
		if e.Kind == history.State && e.Owner != "" && history.Client(e.Owner) != c.f.Meta.Probe {
			switch e.Op {
			case history.Expire:
				note(e.At, "key of "+e.Owner+" expires", explorer.Usual)
			case history.Lose:
				note(e.At, "key of "+e.Owner+" is lost", explorer.Usual)
			}
		}
	}
	placed, _ := placeLabels(panel.notes, b.x0+4, b.x1)
	panel.notes = slices.DeleteFunc(placed, func(l label) bool { return l.row > 1 })
}

func (c *clocksPlot) draw(p pen) {
	bottom := c.box(len(c.panels) - 1).y1
	for _, v := range c.x.marks(10) {
		x, text := c.x.at(v), inSeconds(v)
		p.line(x, headHeight+8, x, bottom, rule, 1)
		p.line(x, bottom, x, bottom+6, grey, 1)
		p.write(x-smallFace.width(text)/2, bottom+19, text, smallFace, black)
	}
	for i := range c.panels {
		c.drawGround(p, i)
	}
	c.drawHolds(p, bottom)
	for i := range c.panels {
		c.drawPanel(p, i)
	}
	x := c.x.at0
	y := bottom + 46
	x = p.sign(x, y, "wall clock", func(b box) { p.line(b.x0, b.midY(), b.x1, b.midY(), looks[0].ink, 4) })
	x = p.sign(x, y, "steady clock", func(b box) { p.line(b.x0, b.midY(), b.x1, b.midY(), black, 1.8, 5, 4) })
	x = p.sign(x, y, "a lease is granted", func(b box) { p.star(b.midX(), b.midY(), 8, black) })
	p.sign(x, y, "its holder releases it, or believes that it has ended", func(b box) { p.line(b.midX(), b.y0, b.midX(), b.y1, black, 3) })
}

// drawHolds draws which clients believe that they hold the lock, with lines down to the clocks where that begins and ends.
func (c *clocksPlot) drawHolds(p pen, bottom vg.Length) {
	for n, client := range c.rows {
		y := headHeight + 8 + clockRow*vg.Length(n)
		p.write(outer, y+clockRow/2-2, nameFace.fit(reports.Printable(client, 20), clockGutter-outer-40), nameFace, c.cast.look(client).ink)
		p.write(outer+52, y+clockRow/2-2, "holds", smallFace, grey)
	}
	for _, l := range c.held {
		k := c.cast.look(l.Client)
		y := headHeight + 8 + clockRow*vg.Length(slices.Index(c.rows, l.Client))
		to := min(l.To, c.end)
		b := box{c.x.at(l.From.Seconds()), y + 2, max(c.x.at(to.Seconds()), c.x.at(l.From.Seconds())+3), y + clockRow - 5}
		p.line(b.x0, b.y1, b.x0, bottom, tint(k.ink, 0.7), 1.2, 2, 4)
		if l.To <= c.end {
			p.line(b.x1, b.y1, b.x1, bottom, tint(k.ink, 0.7), 1.2, 7, 4)
		}
		p.filled(b, k)
		if l.To <= c.end {
			p.line(b.x1, b.y0-2, b.x1, b.y1+2, k.ink, 3.5)
		}
		text := reports.Printable(l.Label, 20)
		if w := barFace.width(text) + 8; w < b.width()-14 {
			p.fill(box{b.midX() - w/2, b.midY() - 10, b.midX() + w/2, b.midY() + 10}, faded(white, 0xE8))
			p.write(b.midX()-w/2+4, b.midY(), text, barFace, black)
		}
		if l.GrantSeen {
			p.star(c.x.at(l.Granted.Seconds()), b.midY(), 7, black)
		}
	}
}

func (c *clocksPlot) drawGround(p pen, i int) {
	panel, b := &c.panels[i], c.box(i)
	p.line(outer, b.y0, b.x1, b.y0, rule, 1.5)
	p.write(outer, b.y0+20, nameFace.fit(reports.Printable(panel.Name, 20), clockGutter-outer-8), nameFace, black)
	p.write(outer, b.y0+42, "ahead of", smallFace, grey)
	p.write(outer, b.y0+60, "true time", smallFace, grey)
	most := 4
	if c.each < 150 {
		most = 2
	}
	for _, v := range panel.y.marks(most) {
		y := panel.y.at(v)
		ink, width := rule, vg.Length(1)
		text := inSeconds(v)
		if v == 0 {
			ink, width = faint, 1.5
		} else if v > 0 {
			text = "+" + text
		}
		p.line(b.x0, y, b.x1, y, ink, width)
		p.right(b.x0-8, y, text, smallFace, black)
	}
}

func (c *clocksPlot) drawPanel(p pen, i int) {
	panel, b := &c.panels[i], c.box(i)
	curve := func(points []explorer.Reading, draw func(x0, y0, x1, y1 vg.Length)) {
		for n := 1; n < len(points); n++ {
			from, to := points[n-1], points[n]
			draw(c.x.at(from.At.Seconds()), panel.y.at(from.Offset.Seconds()), c.x.at(to.At.Seconds()), panel.y.at(to.Offset.Seconds()))
		}
	}
	curve(panel.Wall, func(x0, y0, x1, y1 vg.Length) { p.line(x0, y0, x1, y1, looks[0].ink, 4) })
	curve(panel.Steady, func(x0, y0, x1, y1 vg.Length) { p.line(x0, y0, x1, y1, black, 1.8, 5, 4) })
	for _, l := range panel.notes {
		y := b.y0 + 34 - 20*vg.Length(l.row)
		p.fill(box{l.box.x0, y - 9, l.box.x1, y + 9}, faded(white, 0xE0))
		p.write(l.box.x0+labelPad, y, l.text, l.face, l.ink)
		pole := panel.poles[l.x]
		p.line(pole, y-8, pole, b.y0+clockNotes, black, 1.2)
	}
}
