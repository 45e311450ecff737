package pictures

import (
	"strings"

	"gonum.org/v1/plot/vg"

	"lockstep/checker"
)

// A matrixSign is a cell that the legend explains.
type matrixSign struct {
	cell *pictureCell
	text string
}

// signs returns the signs that occur, in the lines of the legend.
func (f *matrixFigure) signs() [][]matrixSign {
	var safe, unsafe, partly, unknown, worse, better, restless, none bool
	for _, g := range f.groups {
		for _, r := range g.rows {
			for _, c := range r.cells {
				switch {
				case c == nil:
					none = true
					continue
				case c.against == Worse:
					worse = true
				case c.against == Better:
					better = true
				}
				restless = restless || c.repeat
				partly = partly || c.partly()
				safe = safe || c.verdict == checker.Safe
				unsafe = unsafe || c.verdict == checker.Unsafe
				unknown = unknown || c.verdict == checker.Inconclusive
			}
		}
	}
	made := func(v checker.Verdict, a Comparison, unsafe int, broken ...checker.Assumption) *pictureCell {
		return &pictureCell{verdict: v, against: a, unsafe: unsafe, runs: max(unsafe, 1), broken: broken}
	}
	some := made(checker.Unsafe, AsReference, 1, checker.BoundedPause)
	some.runs = 2
	var all []matrixSign
	for _, s := range []struct {
		occurs bool
		matrixSign
	}{
		{safe, matrixSign{made(checker.Safe, AsReference, 0), "every property held"}},
		{unsafe, matrixSign{made(checker.Unsafe, AsReference, 1, checker.BoundedPause), "a property was violated"}},
		{partly, matrixSign{some, f.partlyMeans()}},
		{unknown, matrixSign{made(checker.Inconclusive, AsReference, 0), "the run proves nothing"}},
		{worse, matrixSign{made(checker.Unsafe, Worse, 1, checker.BoundedPause), "worse than the lock it is compared with"}},
		{better, matrixSign{made(checker.Safe, Better, 0), f.betterMeans(worse)}},
		{none, matrixSign{nil, "does not apply"}},
	} {
		if s.occurs {
			all = append(all, s.matrixSign)
		}
	}
	var lines [][]matrixSign
	x := f.width
	for _, s := range all {
		w := f.signWidth(s)
		if x+w > f.width-outer {
			lines, x = append(lines, nil), outer
		}
		lines[len(lines)-1] = append(lines[len(lines)-1], s)
		x += w
	}
	return lines
}

func (f *matrixFigure) betterMeans(worse bool) string {
	if worse { // the entry before has named that lock
		return "better than that lock"
	}
	return "better than the lock it is compared with"
}

func (f *matrixFigure) partlyMeans() string {
	if f.m.Seeds > 1 {
		return "in 1 of 2 runs: variants and seeds"
	}
	return "in 1 of 2 variants of the scenario"
}

func (f *matrixFigure) signWidth(s matrixSign) vg.Length {
	return signCell(s).width() + 8 + smallFace.width(s.text) + 26
}

func signCell(s matrixSign) box {
	return box{0, 0, unsafeFace.width(s.cell.text()) + 16, matrixRow - 2}
}

// subtitle explains the letters.
func subtitle() (start string, letters []letterSign) {
	for _, a := range checker.Assumptions() {
		letters = append(letters, letterOf(a))
	}
	return "UNSAFE because", letters
}

// subtitleText is the same as one text.
func subtitleText() string {
	start, letters := subtitle()
	var texts []string
	for _, l := range letters {
		texts = append(texts, l.letter+" "+l.text)
	}
	return start + " " + strings.Join(texts, ", ")
}

func (f *matrixFigure) drawSubtitle(p pen) {
	const y, gap = vg.Length(64), vg.Length(22)
	start, letters := subtitle()
	p.write(outer, y, start, labelFace, grey)
	x := outer + labelFace.width(start) + 14
	for _, l := range letters {
		p.write(x, y, l.letter, strongFace, wrong)
		x += strongFace.width(l.letter) + 6
		p.write(x, y, l.text, labelFace, black)
		x += labelFace.width(l.text) + gap
	}
}

func (f *matrixFigure) drawLegend(p pen) {
	y := f.rows + matrixRow + 14
	for _, line := range f.foot {
		x := outer
		for _, s := range line {
			b := signCell(s)
			b.x0, b.x1, b.y0, b.y1 = b.x0+x, b.x1+x, b.y0+y, b.y1+y
			drawMatrixCell(p, b, s.cell)
			p.write(b.x1+8, b.midY(), s.text, smallFace, black)
			x += f.signWidth(s)
		}
		y += 30
	}
}
