package pictures

import (
	"bytes"
	"html/template"
	"io"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/reports/explorer"
)

// A Timeline is the picture of one run: who held the lock, who believed that they did, and what came of it. The same run always gives
// the same bytes.
type Timeline struct {
	figure *figure
}

// NewTimeline draws a history and what the checker found in it.
func NewTimeline(f *facts.Facts, r checker.Result) *Timeline {
	return &Timeline{newFigure(explorer.NewStory(f, r), explorer.NewHeading(f, r), explorer.CastOf(f.History), pageFormat)}
}

// WritePNG writes the picture as a PNG of 1200 pixels in width.
func (t *Timeline) WritePNG(w io.Writer) error {
	return writePNG(w, figureWidth, t.figure.height, t.figure.draw)
}

// WriteSVG writes the picture as an SVG. Its text can be searched and read aloud. The font is Liberation Sans, or one with the same
// widths.
func (t *Timeline) WriteSVG(w io.Writer) error {
	return writeSVG(w, figureWidth, t.figure.height, t.figure.draw, t.Title(), t.figure.head.Reason)
}

// Inline returns the picture as an element of a page, without the heading, because the page has its own.
func (t *Timeline) Inline() template.HTML {
	c := vgsvg.New(figureWidth, t.figure.height)
	t.figure.drawStory(draw.New(c))
	var b bytes.Buffer
	c.WriteTo(&b) // cannot fail
	return forAPage(b.Bytes(), headHeight-6, figureWidth, t.figure.height, t.Title())
}

// Height is the height of the picture in points, at a width of 1200.
func (t *Timeline) Height() int { return int(t.figure.height.Points() + 0.5) }

// Title is the headline of the picture, in one line.
func (t *Timeline) Title() string { return t.figure.head.Run + " — " + t.figure.head.Outcome }
