package pictures

import (
	"fmt"

	"lockstep/reports"
	"lockstep/reports/explorer"

	"gonum.org/v1/plot/vg"
)

// legend explains the signs that occur, in one line.
func (f *figure) legend(p pen, x, y vg.Length) {
	entry := func(text string, sign func(x vg.Length)) {
		sign(x + 10)
		p.write(x+26, y, text, smallFace, grey)
		x += 26 + smallFace.width(text) + 24
	}
	if f.has(explorer.Granted) {
		entry("lock granted", func(x vg.Length) { p.star(x, y, 8, black) })
	}
	if f.has(explorer.Crowned) {
		entry("promotion", func(x vg.Length) { p.crown(x, y, 8, black) })
	}
	if f.has(explorer.Accepted) {
		entry("write accepted", func(x vg.Length) { p.disc(x, y, 7, grey); p.ring(x, y, 7, black, 1.2) })
	}
	if f.has(explorer.Rejected) {
		entry("write rejected", func(x vg.Length) { p.ring(x, y, 7, grey, 2); p.cross(x, y, 6, black, 2) })
	}
	if f.hasBar(explorer.Stale) && !f.slide {
		entry("lease over, its client still acts", func(x vg.Length) { p.outline(box{x - 10, y - 7, x + 10, y + 7}, grey, 1.6, 5, 3) })
	}
	if f.hasBar(explorer.Copied) {
		entry("copy of a key", func(x vg.Length) { p.outline(box{x - 10, y - 7, x + 10, y + 7}, grey, 1.2, 2, 3) })
	}
	if len(f.axis.gaps()) > 0 {
		entry("time left out; the axis is not to scale", func(x vg.Length) { p.tear(x, y-14, y+14) })
	}
	if text := reports.Printable(f.LeaseNote(), 60); text != "" && !f.slide && x+smallFace.width(text) < f.right {
		p.write(x, y, text, smallFace, grey)
		x += smallFace.width(text) + 24
	}
	if f.hidden > 0 && !f.slide {
		p.write(x, y, fmt.Sprintf("%s left out for lack of room", reports.Count(f.hidden, "label")), smallFace, grey)
	}
}

func (f *figure) has(s explorer.Shape) bool {
	for _, l := range f.Lanes {
		for _, m := range l.Marks {
			if m.Shape == s {
				return true
			}
		}
	}
	return false
}

func (f *figure) hasBar(s explorer.BarStyle) bool {
	for _, l := range f.Lanes {
		for _, b := range l.Bars {
			if b.Style == s {
				return true
			}
		}
	}
	return false
}
