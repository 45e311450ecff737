package pictures

import (
	"bytes"
	"html/template"
	"image/color"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/reports"
	"lockstep/reports/explorer"
	"lockstep/sim/history"
)

// Slides are pictures of one run for a lecture room, 16 to 9, with few words. The last shows the whole run and the verdict. Each
// of the others stops at a step of the timeline, and says below the axis what happened at this step. All have the same layout. The same run
// always gives the same bytes.
type Slides struct {
	figure *figure
	steps  []slideStep
}

// A slideStep is what a slide says below the axis: what happened at an instant, and what was wrong with that.
type slideStep struct {
	reports.Step
	alarm string
}

// NewSlides draws a history and what the checker found in it.
func NewSlides(f *facts.Facts, r checker.Result) *Slides {
	story := explorer.NewStory(f, r)
	s := &Slides{figure: slideFigure(forSlides(story), explorer.NewHeading(f, r), explorer.CastOf(f.History))}
	for _, step := range reports.Steps(f, r, story.End) {
		s.steps = append(s.steps, slideStep{Step: step})
	}
	whole := slideStep{Step: reports.Step{At: story.End}}
	for _, c := range story.Callouts {
		text := reports.Printable(c.Text, 120)
		if i := slices.IndexFunc(s.steps, func(s slideStep) bool { return s.At >= c.At }); i >= 0 && s.steps[i].alarm == "" {
			s.steps[i].alarm = text
		}
		if whole.alarm == "" {
			whole.alarm = text
		}
	}
	if whole.alarm == "" {
		whole.Text = s.figure.head.Reason
	}
	s.steps = append(s.steps, whole)
	return s
}

// Len is the number of slides.
func (s *Slides) Len() int { return len(s.steps) }

// A Slide is one of [Slides].
type Slide struct {
	figure *figure
	step   slideStep
	whole  bool
}

// Slide returns the n-th slide, counted from 1.
func (s *Slides) Slide(n int) *Slide {
	f := *s.figure
	f.now = s.steps[n-1].At
	return &Slide{&f, s.steps[n-1], n == s.Len()}
}

// Whole returns the last slide.
func (s *Slides) Whole() *Slide { return s.Slide(s.Len()) }

// WritePNG writes the slide as a PNG of 1920 by 1080 pixels.
func (s *Slide) WritePNG(w io.Writer) error {
	f := s.figure
	return writePixels(w, f.width, f.height, int(72*1920/f.width+0.5), s.draw)
}

// WriteSVG writes the slide as an SVG. Its text is text.
func (s *Slide) WriteSVG(w io.Writer) error {
	f := s.figure
	title, desc := f.head.Run, strings.TrimSpace(s.step.Text+" "+s.step.alarm)
	if s.whole {
		title += " — " + f.head.Outcome
	}
	return writeSVG(w, f.width, f.height, s.draw, title, desc)
}

// Inline returns the slide as an element of a page, without the heading, because the page has its own.
func (s *Slide) Inline() template.HTML {
	f := s.figure
	c := vgsvg.New(f.width, f.height)
	s.drawStory(draw.New(c))
	var b bytes.Buffer
	c.WriteTo(&b) // cannot fail
	return forAPage(b.Bytes(), slideTitle*1.6, f.width, f.height, f.head.Run+" — "+f.head.Outcome)
}

// drawStory draws the slide without its heading.
func (s *Slide) drawStory(c draw.Canvas) pen {
	f, p := s.figure, pen{c: c, top: c.Max.Y}
	p.fill(box{0, 0, f.width, f.height}, white)
	f.plot(f).Draw(f.plotArea(c))
	f.drawCaption(p, s.step, s.whole)
	return p
}

func (s *Slide) draw(c draw.Canvas) {
	f, p := s.figure, s.drawStory(c)
	drawRun(p, f.head, slideTitle, f.width-2*outer)
	if s.whole {
		drawOutcome(p, f.head, slideTitle, f.width-2*outer)
	}
}

// drawNow draws the line at which the picture stops.
func (f *figure) drawNow(p pen, x, axis vg.Length) {
	p.line(x, f.top, x, axis, black, 1.6, 5, 4)
	p.polygon(black, p.at(x-5, f.top-7), p.at(x+5, f.top-7), p.at(x, f.top+1))
}

// Sizes of a slide, in points of which it has some 900 in width: type of 16 points is as large there as type of 17 points on a slide
// of PowerPoint, which has 960.
const (
	slideTitle   = vg.Length(26) // the middle of the heading
	captionLine  = vg.Length(25)
	slideWidth   = vg.Length(848) // the least; 16 times 53
	slideColumn  = vg.Length(16)  // widths are multiples of this, so that heights are whole
	mostStretch  = 1.7            // of the bars, if there is room
	captionLines = 2
	crowded      = 0.9 // height as a share of the width, at the least width
)

var (
	captionFace = face{size: 19}
	alarmFace   = face{size: 19, bold: true}
)

// slideFigure lays a story out in 16 to 9. If it does not fit, the slide gets more points, which then are smaller. If there is room, the bars
// are higher.
func slideFigure(s *explorer.Story, head explorer.Heading, c cast) *figure {
	sizes := format{width: slideWidth, top: 50, foot: captionLines*captionLine + 14, laneGap: 2, lanePad: 3, clientBar: 30, serverBar: 20, diskBar: 28, slide: true}
	for _, l := range s.Lanes {
		width := nameFace.width(reports.Printable(l.Name, 12)) + 32
		if l.Kind == explorer.NodeLane {
			width += serverGap + smallFace.width(server)
		}
		sizes.gutter = max(sizes.gutter, width)
	}
	f := newFigure(s, head, c, sizes)
	if f.height > f.width*crowded {
		s = wordless(s)
	}
	for f.height > f.width*9/16 {
		sizes.width += max(slideColumn, slideColumn*vg.Length(int((f.height*16/9-f.width)/slideColumn/2)))
		f = newFigure(s, head, c, sizes)
	}
	var bars vg.Length
	for i := range f.Lanes {
		bars += f.bars[i].height()
	}
	stretch := 1 + min(mostStretch-1, (f.width*9/16-f.height)/max(bars, 1))
	sizes.clientBar, sizes.serverBar, sizes.diskBar = sizes.clientBar*stretch, sizes.serverBar*stretch, sizes.diskBar*stretch
	f = newFigure(s, head, c, sizes)
	sizes.laneGap += max(0, f.width*9/16-f.height) / vg.Length(len(f.Lanes)+1)
	f = newFigure(s, head, c, sizes)
	f.foot += f.width*9/16 - f.height
	f.height = f.width * 9 / 16
	return f
}

// wordless leaves out what clients do, in words: with so many lanes nobody could read it.
func wordless(s *explorer.Story) *explorer.Story {
	few := *s
	few.Lanes = slices.Clone(s.Lanes)
	for i := range few.Lanes {
		l := &few.Lanes[i]
		l.Marks = slices.Clone(l.Marks)
		for j := range l.Marks {
			if l.Kind == explorer.ClientLane && !l.Marks[j].Proof {
				l.Marks[j].Text = ""
			}
		}
	}
	return &few
}

// forSlides leaves out what nobody reads from the third row: the replies that arrive in time, and the small words. Callouts become
// captions. A grant has a star, and a caption at its step.
func forSlides(s *explorer.Story) *explorer.Story {
	few := *s
	few.Lanes = slices.Clone(s.Lanes)
	for i := range few.Lanes {
		l := &few.Lanes[i]
		l.Marks = slices.Clone(l.Marks)
		for j := range l.Marks {
			m := &l.Marks[j]
			refused := l.Kind == explorer.ClientLane && strings.HasPrefix(m.Text, "acquire") && m.Text != "acquire"
			if m.Weight < explorer.Telling && !refused || m.Shape == explorer.Granted {
				m.Text = ""
			}
		}
	}
	few.Callouts, few.Flights = nil, nil
	for _, fl := range s.Flights {
		to := s.Lane(fl.To)
		if reply := to != nil && to.Kind == explorer.ClientLane; !reply || fl.Lost || fl.Proof || fl.At-fl.Sent >= reports.TellingDelay {
			few.Flights = append(few.Flights, fl)
		}
	}
	return &few
}

// drawCaption writes what a step says below the axis.
func (f *figure) drawCaption(p pen, s slideStep, whole bool) {
	y := f.height - f.foot + captionLine/2 + 4
	width := f.width - 2*outer
	x := outer
	if !whole {
		at := history.Seconds(s.At)
		p.write(x, y, at, alarmFace, grey)
		x += alarmFace.width(at) + 14
	}
	lines := captionLines
	if s.alarm != "" || whole {
		lines--
	}
	say := func(text string, fc face, ink color.NRGBA) {
		for _, line := range fitted(text, &fc, outer+width-x, lines) {
			p.write(x, y, line, fc, ink)
			y += captionLine
		}
	}
	say(s.Text, captionFace, black)
	say(s.alarm, alarmFace, red)
	if whole {
		f.legend(p, x, y)
	}
}

// fitted breaks a text into lines of a width, in smaller type if there are too many. If that does not help, the last is cut.
func fitted(s string, f *face, width vg.Length, lines int) []string {
	all := wrapped(s, *f, width)
	for f.size > smallFace.size-2 && len(all) > lines {
		f.size--
		all = wrapped(s, *f, width)
	}
	if len(all) > lines {
		all = append(all[:lines-1], f.fit(strings.Join(all[lines-1:], " "), width))
	}
	return all
}
