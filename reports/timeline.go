package reports

import (
	"bytes"
	"fmt"
	"html"
	"io"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"lockstep/checker"
	"lockstep/sim"
)

// A Timeline is the picture of one run: who held the lock, who believed it, and what came of it. The same run always gives
// the same bytes.
type Timeline struct {
	figure *figure
}

// NewTimeline draws a history and what the checker found in it.
func NewTimeline(h *sim.History, r checker.Result) *Timeline {
	return &Timeline{newFigure(newStory(h, r), newHeading(h, r), newCast(h))}
}

// WritePNG writes the picture as a PNG of 1200 pixels in width.
func (t *Timeline) WritePNG(w io.Writer) error {
	c := vgimg.NewWith(vgimg.UseWH(figureWidth, t.figure.height), vgimg.UseDPI(72))
	t.figure.draw(draw.New(c))
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

// WriteSVG writes the picture as an SVG. Its text stays text, in Liberation Sans or a font that has the same widths, so that
// it can be searched, and read aloud.
func (t *Timeline) WriteSVG(w io.Writer) error {
	c := vgsvg.New(figureWidth, t.figure.height)
	t.figure.draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	_, err := w.Write(forTheWeb(b.Bytes(), figureWidth, t.figure.height, t.Title(), t.figure.head.reason))
	return err
}

// forTheWeb replaces the head that gonum writes: pictures are measured in pixels there, one that is read aloud needs a
// title, and the fonts of gonum may be missing. Arial and Helvetica have the widths of Liberation Sans.
func forTheWeb(svg []byte, width, height vg.Length, title, desc string) []byte {
	_, body, _ := bytes.Cut(svg, []byte(`<g transform=`))
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.5g %.5g" role="img" font-family="%s">`+"\n",
		width.Points(), height.Points(), fonts)
	fmt.Fprintf(&b, "<title>%s</title>\n<desc>%s</desc>\n<g transform=", html.EscapeString(title), html.EscapeString(desc))
	b.Write(bytes.ReplaceAll(body, []byte("font-family:Liberation Sans;font-variant:normal;"), nil))
	return b.Bytes()
}

const fonts = "Liberation Sans, Arial, Helvetica, sans-serif"

// Title is the headline of the picture, in one line.
func (t *Timeline) Title() string { return t.figure.head.run + " — " + t.figure.head.outcome }
