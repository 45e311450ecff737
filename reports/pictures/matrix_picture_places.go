package pictures

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"lockstep/reports"
)

// WriteSVG writes the picture as an SVG, with its text as text. Each cell shows its command as a tooltip, and links to its run.
func (mp *MatrixPicture) WriteSVG(w io.Writer) error {
	f, err := mp.figure()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := writeSVG(&b, f.width, f.height, f.draw, f.m.headline(), subtitleText()); err != nil {
		return err
	}
	svg := b.Bytes()
	end := bytes.LastIndex(svg, []byte("</svg>"))
	var places bytes.Buffer
	f.places(&places)
	_, err = w.Write(slices.Concat(svg[:end], places.Bytes(), svg[end:]))
	return err
}

// places writes invisible areas above the picture, which have the tooltips and the links.
func (f *matrixFigure) places(w io.Writer) {
	for g := range f.groups {
		for i := range f.groups[g].rows {
			r := &f.groups[g].rows[i]
			fmt.Fprintf(w, `<rect x="%.5g" y="%.5g" width="%.5g" height="%.5g" fill-opacity="0"><title>%s</title></rect>`+"\n",
				(outer + matrixKinds).Points(), f.tops[g][i].Points(), (f.left - outer - matrixKinds).Points(), matrixRow.Points(),
				html.EscapeString(strings.TrimSpace(r.fullTitle()+"\n"+f.shows(r))))
			for k, c := range r.cells {
				b := f.cell(g, i, k)
				link, tip := "", ""
				switch {
				case c == nil:
					tip = reports.Printable(f.m.Locks[k].Name, 40) + ": does not apply\n" + reports.Printable(r.inapplicable[k], 600)
				case f.Link != nil:
					link = f.Link(c.shown)
					fallthrough
				default:
					tip = c.tip(r)
				}
				if link != "" {
					fmt.Fprintf(w, `<a href="%s">`, html.EscapeString(link))
				}
				fmt.Fprintf(w, `<rect x="%.5g" y="%.5g" width="%.5g" height="%.5g" fill-opacity="0"><title>%s</title></rect>`,
					b.x0.Points(), b.y0.Points(), b.width().Points(), b.height().Points(), html.EscapeString(tip))
				if link != "" {
					fmt.Fprint(w, "</a>")
				}
				fmt.Fprintln(w)
			}
		}
	}
}

// shows is the command that says more about a row.
func (f *matrixFigure) shows(r *pictureRow) string {
	if r.scenario == "" {
		return ""
	}
	return "lockstep show " + reports.Printable(r.scenario, 80)
}

// cell is the place of a cell.
func (f *matrixFigure) cell(group, row, lock int) box {
	x, y := f.left+f.pitch*vg.Length(lock), f.tops[group][row]
	return box{x + matrixPad, y + matrixPad/2, x + f.pitch - matrixPad, y + matrixRow - matrixPad/2}
}
