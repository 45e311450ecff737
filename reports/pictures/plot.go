package pictures

import (
	"encoding/csv"
	"image/color"
	"io"
	"math"
	"strconv"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"lockstep/reports"
)

// A Plot is a picture of figures, together with the figures. The same plot always gives the same bytes.
type Plot struct {
	Title    string // a sentence
	Subtitle string
	Foot     string
	height   vg.Length
	body     func(pen)
	table    [][]string // the names of the columns, and the figures
}

// WritePNG writes the picture as a PNG of 1200 pixels in width.
func (pl *Plot) WritePNG(w io.Writer) error {
	return writePNG(w, figureWidth, pl.height, pl.draw)
}

// WriteSVG writes the picture as an SVG, with its text as text.
func (pl *Plot) WriteSVG(w io.Writer) error {
	return writeSVG(w, figureWidth, pl.height, pl.draw, plotText(pl.Title), plotText(pl.Subtitle))
}

// WriteCSV writes the figures that the picture shows.
func (pl *Plot) WriteCSV(w io.Writer) error { return csv.NewWriter(w).WriteAll(pl.table) }

func (pl *Plot) draw(c draw.Canvas) {
	p := pen{c: c, top: c.Max.Y}
	p.fill(box{0, 0, figureWidth, pl.height}, white)
	const width = figureWidth - 2*outer
	title, subtitle, foot := plotText(pl.Title), plotText(pl.Subtitle), plotText(pl.Foot)
	face := titleFace
	for face.size > labelFace.size && face.width(title) > width {
		face.size--
	}
	p.write(outer, 32, face.fit(title, width), face, black)
	face = reasonFace
	for face.size > 13 && face.width(subtitle) > width {
		face.size--
	}
	p.write(outer, 62, face.fit(subtitle, width), face, grey)
	pl.body(p)
	p.write(outer, pl.height-20, smallFace.fit(foot, width), smallFace, grey)
}

// plotText makes an external string safe for a line of text.
func plotText(s string) string { return reports.Printable(s, 220) }

// A plotScale is one axis of a plot. It maps values between from and to to coordinates between at0 and at1.
type plotScale struct {
	from, to float64
	at0, at1 vg.Length
	log      bool
}

// at is the place of a value. A value beyond the scale is placed at its end.
func (s plotScale) at(v float64) vg.Length {
	v = min(max(v, s.from), s.to)
	share := 0.0
	switch {
	case s.from == s.to:
	case s.log:
		share = math.Log(v/s.from) / math.Log(s.to/s.from)
	default:
		share = (v - s.from) / (s.to - s.from)
	}
	return s.at0 + vg.Length(share)*(s.at1-s.at0)
}

// marks returns round values for the axis, about as many as given at most.
func (s plotScale) marks(most int) []float64 {
	var all []float64
	if s.log {
		steps := []float64{1, 2, 5}
		if decades := math.Log10(s.to / s.from); decades*3 > float64(most) {
			steps = steps[:1]
		}
		for e := math.Floor(math.Log10(s.from)); e <= math.Log10(s.to); e++ {
			for _, k := range steps {
				if v := k * math.Pow(10, e); v >= s.from*(1-1e-9) && v <= s.to*(1+1e-9) {
					all = append(all, v)
				}
			}
		}
		return all
	}
	if s.from == s.to {
		return []float64{s.from}
	}
	step := roundStep((s.to - s.from) / float64(most))
	for i := math.Ceil(s.from/step - 1e-9); i*step <= s.to+step*1e-9; i++ {
		all = append(all, i*step+0)
	}
	return all
}

// widened widens a scale to round values, so that no value lies at an edge.
func widened(from, to float64, most int) (float64, float64) {
	if from == to {
		from, to = from-math.Abs(from)/100-1e-3, to+math.Abs(to)/100+1e-3
	}
	step := roundStep((to - from) / float64(most))
	return math.Floor(from/step-1e-9) * step, math.Ceil(to/step+1e-9) * step
}

// inSeconds formats a number of seconds for an axis, without superfluous digits.
func inSeconds(s float64) string {
	text := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	switch a := math.Abs(s); {
	case a == 0:
		return "0"
	case a < 1e-3:
		return text(s*1e6) + " µs"
	case a < 1:
		return text(s*1e3) + " ms"
	}
	return text(s) + " s"
}

// thousands formats a number with commas: 41,208.
func thousands(n int64) string { return message.NewPrinter(language.English).Sprint(n) }

// plainSeconds formats seconds for a table, with all their digits.
func plainSeconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// right writes s with its right edge at x, centred on y.
func (p pen) right(x, y vg.Length, s string, f face, c color.Color) {
	p.write(x-f.width(s), y, s, f, c)
}

// sign draws an entry of a legend, a sign with its text, and returns where the next one may begin.
func (p pen) sign(x, y vg.Length, text string, draw func(box)) vg.Length {
	draw(box{x, y - 9, x + 22, y + 9})
	p.write(x+30, y, text, smallFace, black)
	return x + 30 + smallFace.width(text) + 28
}

// filled fills a box in a look, like the bars of clients.
func (p pen) filled(b box, k look) {
	p.fill(b, tint(k.ink, 0.22))
	p.hatch(b, k.pattern, tint(k.ink, 0.8), 1.6, 8)
	p.outline(b, k.ink, 1.8)
}
