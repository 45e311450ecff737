package pictures

import (
	"bytes"
	"html/template"
	"io"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"lockstep/checker"
	"lockstep/reports/explorer"
	"lockstep/sim/history"
)

// A Timeline is the picture of one run: who held the lock, who believed that they did, and what came of it. The same run always gives
// the same bytes.
type Timeline struct {
	figure *figure
}

// NewTimeline draws a history and what the checker found in it.
func NewTimeline(h *history.History, r checker.Result) *Timeline {
	return &Timeline{newFigure(explorer.NewStory(h, r), explorer.NewHeading(h, r), explorer.CastOf(h))}
}

// WritePNG writes the picture as a PNG of 1200 pixels in width.
func (t *Timeline) WritePNG(w io.Writer) error {
	c := vgimg.NewWith(vgimg.UseWH(figureWidth, t.figure.height), vgimg.UseDPI(72))
	t.figure.draw(draw.New(c))
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

// WriteSVG writes the picture as an SVG. Its text can be searched and read aloud. The font is Liberation Sans, or one with the same
// widths.
func (t *Timeline) WriteSVG(w io.Writer) error {
	c := vgsvg.New(figureWidth, t.figure.height)
	t.figure.draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	_, err := w.Write(forTheWeb(b.Bytes(), figureWidth, t.figure.height, t.Title(), t.figure.head.Reason))
	return err
}

// Inline returns the picture as an element of a page, without the heading, because the page has its own.
func (t *Timeline) Inline() template.HTML {
	c := vgsvg.New(figureWidth, t.figure.height)
	t.figure.drawStory(draw.New(c))
	var b bytes.Buffer
	c.WriteTo(&b) // cannot fail
	return forAPage(b.Bytes(), headHeight-6, figureWidth, t.figure.height, t.Title())
}

// Title is the headline of the picture, in one line.
func (t *Timeline) Title() string { return t.figure.head.Run + " — " + t.figure.head.Outcome }
