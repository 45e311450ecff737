package pictures

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// How long an animation takes. Its captions must be readable meanwhile, so a long run has captions only for some of its steps.
const (
	crossing  = 5 * time.Second // that the line of the present needs for the picture, without its stops
	leastPlay = 10 * time.Second
	mostPlay  = 20 * time.Second // until the whole run is drawn
	atEnd     = 6 * time.Second  // that the whole run is shown, before the animation begins again
	leastStop = time.Second
	perLetter = 33 * time.Millisecond
)

// An animation says when the line of the present is where: it crosses the picture, and stops at the steps that have captions.
type animation struct {
	*figure
	stops  []stop
	speed  float64       // points per second
	length time.Duration // until the whole run is drawn
	frames []string      // key frames, one set for each class
	rules  []string      // of the style sheet
}

// A stop is a step at which the line stands still, so that its caption can be read.
type stop struct {
	slideStep
	from, to time.Duration
}

// place is how far the picture is drawn at a stop: a little beyond the instant, so that what begins there can be seen.
func (a *animation) place(s stop) vg.Length { return a.x(s.At) + begun }

func newAnimation(s *Slides) *animation {
	a := &animation{figure: s.figure}
	var reading time.Duration
	for _, i := range s.byWeight() {
		step := s.steps[i]
		most := mostPlay - crossing - reading
		need := max(leastStop, perLetter*time.Duration(utf8.RuneCountInString(step.Text+step.alarm)))
		if need > most && step.alarm == "" {
			continue
		}
		if step.alarm != "" {
			need = max(leastStop, min(2*need, most))
		}
		reading += need
		a.stops = append(a.stops, stop{slideStep: step, to: need})
	}
	slices.SortStableFunc(a.stops, func(x, y stop) int { return cmp.Compare(x.At, y.At) })
	moving := max(crossing, leastPlay-reading)
	a.speed = float64(a.width-a.left) / moving.Seconds()
	x, t := a.left, time.Duration(0)
	for i := range a.stops {
		s := &a.stops[i]
		to := max(x, a.place(*s))
		t += a.travel(to - x)
		s.from, s.to = t, t+s.to
		x, t = to, s.to
	}
	a.length = t + a.travel(a.width-x)
	return a
}

// byWeight orders the steps: first those that violate a property, then those without which the story is hard to follow, and of these first
// those near a violation.
func (s *Slides) byWeight() []int {
	worst := max(0, slices.IndexFunc(s.steps, func(s slideStep) bool { return s.alarm != "" }))
	var order []int
	for i := range s.steps[:len(s.steps)-1] {
		order = append(order, i)
	}
	rank := func(i int) int {
		switch {
		case s.steps[i].alarm != "":
			return 0
		case s.steps[i].Heavy:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(rank(i), rank(j)), cmp.Compare(max(i-worst, worst-i), max(j-worst, worst-j)))
	})
	return order
}

// travel is the time for a distance.
func (a *animation) travel(d vg.Length) time.Duration {
	return time.Duration(float64(d) / a.speed * float64(time.Second))
}

// when is the time at which the picture is drawn as far as x.
func (a *animation) when(x vg.Length) time.Duration {
	for _, s := range a.stops {
		if to := a.place(s); x <= to {
			return max(0, s.from-a.travel(to-x))
		}
	}
	return max(0, a.length-a.travel(a.width-x))
}

// WriteAnimation writes an SVG that plays the run in a browser, again and again: a line crosses the picture, and the run is drawn behind
// it. The animation is CSS, without a script. On paper, in programs that do not animate, and for readers who prefer reduced motion, it
// is the last slide.
func (s *Slides) WriteAnimation(w io.Writer) error {
	a := newAnimation(s)
	whole := s.steps[s.Len()-1]
	var body bytes.Buffer
	a.drawRun(&body)
	for i, st := range a.stops {
		a.group(&body, ` opacity="0"`, a.passing(a.appears(i), a.appears(i+1)), func(p pen) { a.drawCaption(p, st.slideStep, false) })
	}
	a.group(&body, "", a.lasting(a.length), func(p pen) {
		drawOutcome(p, a.head, slideTitle, a.width-2*outer)
		a.drawCaption(p, whole, true)
	})
	title := a.head.Run + " — " + a.head.Outcome
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.5g %.5g" role="img" font-family="%s">
<title>%s</title>
<desc>%s</desc>
<style>
@media screen and (prefers-reduced-motion: no-preference) {
%s
}
</style>
<clipPath id="past"><rect class="move" width="%.5g" height="%.5g"/></clipPath>
%s</svg>
`, a.width.Points(), a.height.Points(), fonts, html.EscapeString(title), html.EscapeString(strings.TrimSpace(whole.Text+" "+whole.alarm)),
		strings.Join(a.rules, "\n"), a.width.Points(), a.height.Points(), body.Bytes())
	return err
}

// drawRun draws the run in layers: what is always there, what the line uncovers, and texts, which appear as a whole.
func (a *animation) drawRun(b *bytes.Buffer) {
	a.move()
	var axis vg.Length
	lanes := func(drawLane func(p pen, i int)) func(pen) {
		return func(p pen) {
			for i := range a.Lanes {
				drawLane(p, i)
			}
		}
	}
	const past = ` clip-path="url(#past)"`
	a.group(b, "", "", func(p pen) {
		p.fill(box{0, 0, a.width, a.height}, white)
		pl := a.plot()
		axis = a.height - pl.DataCanvas(a.plotArea(p.c)).Min.Y
		pl.Draw(a.plotArea(p.c))
		drawRun(p, a.head, slideTitle, a.width-2*outer)
	})
	a.group(b, past, "", lanes(a.drawShades))
	a.group(b, "", "", lanes(func(p pen, i int) { a.drawName(p, i); a.drawLine(p, i) }))
	a.group(b, past, "", func(p pen) {
		a.drawFlights(p, false)
		lanes(a.drawBars)(p)
		a.drawBands(p)
	})
	a.group(b, "", "", func(p pen) { a.drawGaps(p, axis) })
	a.group(b, past, "", func(p pen) {
		a.drawFlights(p, true)
		lanes(a.drawMarks)(p)
	})
	a.group(b, ` opacity="0"`, "move line", func(p pen) { a.drawNow(p, a.width-begun, axis) })
	for i := range a.Lanes {
		for _, l := range a.labels[i] {
			a.group(b, "", a.lasting(a.when(a.x(l.at))), func(p pen) {
				a.drawLeader(p, i, l)
				l.draw(p)
			})
		}
		for _, t := range a.barTexts(i) {
			a.group(b, "", a.lasting(a.when(t.x1)), t.draw)
		}
	}
}

// group adds a layer to a file, unless it is empty.
func (a *animation) group(b *bytes.Buffer, attributes, class string, drawOn func(pen)) {
	c := vgsvg.New(a.width, a.height)
	drawOn(pen{c: draw.New(c), top: a.height})
	var svg bytes.Buffer
	c.WriteTo(&svg) // cannot fail
	layer := bytes.TrimSuffix(bytes.TrimSpace(svgBody(svg.Bytes())), []byte("</svg>"))
	if !bytes.Contains(layer, []byte("<path")) && !bytes.Contains(layer, []byte("<text")) {
		return
	}
	if class != "" {
		attributes += fmt.Sprintf(` class="%s"`, class)
	}
	fmt.Fprintf(b, "<g%s>\n%s</g>\n", attributes, layer)
}

// appears is when the caption of a stop appears: when the line reaches its instant, but not while it stands still for the one before. The
// last goes when the whole run is drawn.
func (a *animation) appears(i int) time.Duration {
	if i == len(a.stops) {
		return a.length
	}
	at := a.when(a.x(a.stops[i].At))
	if i > 0 {
		at = max(at, a.stops[i-1].to)
	}
	return at
}

// share is a time in percent of the animation.
func (a *animation) share(t time.Duration) string {
	return fmt.Sprintf("%.5g%%", 100*t.Seconds()/(a.length+atEnd).Seconds())
}

// move adds the rules for what moves: the edge of what is drawn, and the line.
func (a *animation) move() {
	at := func(x vg.Length) string { return fmt.Sprintf("{transform:translateX(%.5gpx)}", (x - a.width).Points()) }
	frames := "0%" + at(a.left)
	for _, s := range a.stops {
		frames += a.share(s.from) + "," + a.share(s.to) + at(a.place(s))
	}
	frames += a.share(a.length) + at(a.width)
	total := (a.length + atEnd).Seconds()
	a.rules = append(a.rules,
		"@keyframes move{"+frames+"}",
		"@keyframes line{0%{opacity:1}"+a.share(a.length)+"{opacity:0}}",
		fmt.Sprintf(".move{animation:move %.3gs linear infinite}", total),
		fmt.Sprintf(".line{animation:move %.3gs linear infinite,line %.3gs step-end infinite}", total, total))
}

// lasting returns the class of what appears at a time, and stays.
func (a *animation) lasting(from time.Duration) string {
	return a.class("{0%{opacity:0}" + a.share(from) + "{opacity:1}}")
}

// passing returns the class of what appears at a time, and goes at another.
func (a *animation) passing(from, to time.Duration) string {
	return a.class("{0%{opacity:0}" + a.share(from) + "{opacity:1}" + a.share(to) + "{opacity:0}}")
}

// class returns the class of what has some key frames, the same for the same frames.
func (a *animation) class(frames string) string {
	i := slices.Index(a.frames, frames)
	if i < 0 {
		i = len(a.frames)
		a.frames = append(a.frames, frames)
		a.rules = append(a.rules, fmt.Sprintf("@keyframes k%d%s.k%d{animation:k%d %.3gs step-end infinite}", i, frames, i, i, (a.length+atEnd).Seconds()))
	}
	return fmt.Sprintf("k%d", i)
}
