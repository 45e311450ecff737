package pictures

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"io"
	"regexp"
	"strconv"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// writePNG writes a drawing as a PNG, a pixel for each point.
func writePNG(w io.Writer, width, height vg.Length, drawOn func(draw.Canvas)) error {
	return writePixels(w, width, height, 72, drawOn)
}

// writePixels writes a drawing as a PNG with some number of pixels for each inch, which is 72 points.
func writePixels(w io.Writer, width, height vg.Length, dpi int, drawOn func(draw.Canvas)) error {
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
	drawOn(draw.New(c))
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
	return err
}

// writeSVG writes a drawing as an SVG for the web, with its text as text.
func writeSVG(w io.Writer, width, height vg.Length, drawOn func(draw.Canvas), title, desc string) error {
	c := vgsvg.New(width, height)
	drawOn(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
	}
	_, err := w.Write(forTheWeb(b.Bytes(), width, height, title, desc))
	return err
}

// forTheWeb turns the output of gonum into an SVG file for the web. It replaces the head: pictures are measured in pixels there, need a
// title for screen readers, and the fonts of gonum may be missing. Arial and Helvetica have the widths of Liberation Sans.
func forTheWeb(svg []byte, width, height vg.Length, title, desc string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.5g %.5g" role="img" font-family="%s">`+"\n",
		width.Points(), height.Points(), fonts)
	fmt.Fprintf(&b, "<title>%s</title>\n<desc>%s</desc>\n", html.EscapeString(title), html.EscapeString(desc))
	b.Write(svgBody(svg))
	return b.Bytes()
}

// forAPage turns the output of gonum into an element of an HTML page, without the part above top.
func forAPage(svg []byte, top, width, height vg.Length, title string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 %.5g %.5g %.5g" role="img" aria-label="%s" font-family="%s">`+"\n%s",
		top.Points(), width.Points(), (height - top).Points(), html.EscapeString(title), fonts, svgBody(svg)))
}

const fonts = "Liberation Sans, Arial, Helvetica, sans-serif"

// svgBody is the output of gonum without the head of the file. Styles become attributes, which are allowed even in a page that forbids
// inline styles. The dots of a hatch become lines of no length, which take a fifth of the bytes.
func svgBody(svg []byte) []byte {
	_, body, _ := bytes.Cut(svg, []byte(`<g transform=`))
	body = append([]byte(`<g transform=`), body...)
	for _, usual := range []string{"font-family:Liberation Sans;font-variant:normal;", "font-weight:normal;", "font-style:normal;"} {
		body = bytes.ReplaceAll(body, []byte(usual), nil)
	}
	body = svgDots.ReplaceAllFunc(body, shortDots)
	return svgStyle.ReplaceAllFunc(body, func(style []byte) []byte {
		return svgProperty.ReplaceAll(svgStyle.FindSubmatch(style)[1], []byte(` $1="$2"`))
	})
}

var (
	svgStyle    = regexp.MustCompile(`\s+style="([^"]*)"`)
	svgProperty = regexp.MustCompile(`([a-z-]+):([^;]*);?`)
	// svgDot matches a circle of two arcs; the groups are its rightmost point, where it begins, and its radius. svgDots matches a path of
	// several circles.
	svgDot  = regexp.MustCompile(`M([-.\d]+),([-.\d]+)A([-.\d]+),[-.\d]+ 0 1 1 [-.\d]+,[-.\d]+A[-.\d]+,[-.\d]+ 0 1 1 [-.\d]+,[-.\d]+Z`)
	svgDots = regexp.MustCompile(`d="(?:M[-.\d]+,[-.\d]+(?:A[-.\d]+,[-.\d]+ 0 1 1 [-.\d]+,[-.\d]+){2}Z){2,}" style="[^"]*"`)
)

// shortDots converts a path of filled circles to lines of no length with round ends.
func shortDots(path []byte) []byte {
	radius := svgDot.FindSubmatch(path)[3]
	short := svgDot.ReplaceAllFunc(path, func(dot []byte) []byte {
		at := svgDot.FindSubmatch(dot)
		return fmt.Appendf(nil, "M%.5g,%sh0", number(at[1])-number(radius), at[2])
	})
	round := fmt.Sprintf(`style="fill:none;stroke-linecap:round;stroke-width:%.5g;stroke`, 2*number(radius))
	return bytes.Replace(bytes.Replace(short, []byte("fill-opacity"), []byte("stroke-opacity"), 1), []byte(`style="fill`), []byte(round), 1)
}

func number(text []byte) float64 {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		panic(fmt.Sprintf("reports: %s is not a number: %v", text, err))
	}
	return v
}
