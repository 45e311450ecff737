package pictures

import (
	"cmp"
	"image/color"
	"slices"
	"time"

	"gonum.org/v1/plot/vg"
)

// A label is a text that belongs to a point of a lane, and needs a free place above it.
type label struct {
	text   string
	face   face
	ink    color.NRGBA
	at     time.Duration
	x      vg.Length // the point that it belongs to
	weight int       // heavier labels choose their place first
	framed bool
	row    int // where it was placed, counted upwards
	box    box // x is set by placeLabels, y by the lane
}

// maxRows is how many rows of labels a lane may have. Labels without a place are left out: the mark still shows that something
// happened, and the text timeline says what.
const maxRows = 6

const (
	rowHeight = vg.Length(21)
	labelPad  = vg.Length(4)
)

// placeLabels gives labels a row and a horizontal place between left and right, so that no two overlap. It returns the labels
// that fit, and the number of rows.
func placeLabels(labels []label, left, right vg.Length) (placed []label, rows int) {
	order := slices.Clone(labels)
	slices.SortStableFunc(order, func(a, b label) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.x, b.x))
	})
	var taken [maxRows][]box
	for _, l := range order {
		l.text = l.face.fit(l.text, right-left-2*labelPad)
		if l.text == "" {
			continue
		}
		if l.place(taken[:], left, right) {
			taken[l.row] = append(taken[l.row], l.box)
			rows = max(rows, l.row+1)
			placed = append(placed, l)
		}
	}
	return placed, rows
}

// place finds the lowest row with room, and in it the alignment that reads best: starting at the point, then centred on it,
// then ending at it.
func (l *label) place(taken [][]box, left, right vg.Length) bool {
	w := l.face.width(l.text) + 2*labelPad
	for row := range taken {
		for _, x0 := range []vg.Length{l.x - labelPad, l.x - w/2, l.x - w + labelPad} {
			x0 = max(left, min(x0, right-w))
			b := box{x0, 0, x0 + w, 1}
			if !slices.ContainsFunc(taken[row], b.overlaps) {
				l.row, l.box = row, b
				return true
			}
		}
	}
	return false
}
