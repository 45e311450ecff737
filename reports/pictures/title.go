package pictures

import (
	"image/color"
	"strings"

	"gonum.org/v1/plot/vg"

	"lockstep/checker"
	"lockstep/reports/explorer"
)

// inkOf is the colour of a verdict. The word beside it says the same.
func inkOf(hd explorer.Heading) color.NRGBA {
	switch hd.Verdict {
	case checker.Unsafe:
		return red
	case checker.Safe:
		return calm
	}
	return doubt
}

// drawHeading writes the heading, smaller if it is long.
func drawHeading(p pen, hd explorer.Heading) {
	const y = vg.Length(32)
	const width = figureWidth - 2*outer
	f, run := headline(hd, width)
	run += " — "
	p.write(outer, y, run, f, black)
	x := outer + f.width(run)
	p.write(x, y, f.fit(hd.Outcome, outer+width-x), f, inkOf(hd))
	p.write(outer, y+30, reasonFace.fit(hd.Reason, width), reasonFace, grey)
}

// headline returns the type of a headline of a width, and its first part.
func headline(hd explorer.Heading, width vg.Length) (face, string) {
	f := titleFace
	for f.size > labelFace.size && f.width(hd.Run+" — "+hd.Outcome) > width {
		f.size--
	}
	return f, f.fit(hd.Run, 0.6*width)
}

// drawRun writes only which run it is.
func drawRun(p pen, hd explorer.Heading, y, width vg.Length) {
	f, run := headline(hd, width)
	p.write(outer, y, run, f, black)
}

// drawOutcome adds the verdict to what drawRun has written. If there is no room for the assumptions that were broken, it leaves them out.
func drawOutcome(p pen, hd explorer.Heading, y, width vg.Length) {
	f, run := headline(hd, width)
	x := outer + f.width(run+" ")
	p.write(x, y, "—", f, black)
	x += f.width("— ")
	outcome := hd.Outcome
	if f.width(outcome) > outer+width-x {
		outcome, _, _ = strings.Cut(outcome, " (")
	}
	p.write(x, y, f.fit(outcome, outer+width-x), f, inkOf(hd))
}
