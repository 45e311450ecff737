package pictures

import (
	"fmt"
	"image/color"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/reports"
	"lockstep/sim/history"

	"gonum.org/v1/plot/vg"
)

// A heading says in two lines which run a picture shows, what the verdict is, and why.
type heading struct {
	run     string // scenario and lock
	verdict checker.Verdict
	outcome string // the verdict in words
	reason  string
}

func newHeading(h *history.History, r checker.Result) heading {
	run := reports.Printable(h.Meta.Scenario, 48) + " · " + reports.Printable(h.Meta.Lock, 32)
	if h.Meta.For != "" {
		run += " for " + reports.Printable(h.Meta.For, 32)
	}
	if h.Meta.Label != "" {
		run += " " + reports.Printable(h.Meta.Label, 24)
	}
	head := heading{run: run, verdict: r.Verdict, outcome: string(r.Verdict)}
	switch {
	case r.Verdict == checker.Unsafe && len(r.Violations) > 0:
		head.outcome += ": " + violated(r)
		head.reason = r.Violations[0].What
		if r.Violations[0].Property == checker.NoLostUpdate {
			head.reason, _, _ = strings.Cut(head.reason, ";") // only how much was lost; the picture shows the example
		}
	case r.Verdict == checker.Safe:
		head.reason = whySafe(h)
	case len(r.Unmet) > 0:
		head.reason = "the run proves nothing: " + strings.Join(r.Unmet, "; ")
	}
	head.reason = reports.Printable(head.reason, 160)
	return head
}

// Headline says in a line which run a history is of, and what the verdict is.
func Headline(h *history.History, r checker.Result) string {
	head := newHeading(h, r)
	return head.run + " — " + head.outcome
}

// violated names the violated properties and the assumptions that the run broke.
func violated(r checker.Result) string {
	var properties, assumptions []string
	for _, v := range r.Violations {
		if !slices.Contains(properties, string(v.Property)) {
			properties = append(properties, string(v.Property))
		}
		if b := reports.Broken(v.Assumption); !slices.Contains(assumptions, b) {
			assumptions = append(assumptions, b)
		}
	}
	return fmt.Sprintf("%s (%s)", strings.Join(properties, ", "), strings.Join(assumptions, ", "))
}

// whySafe names what is most worth seeing in a run in which nothing went wrong. It judges nothing.
func whySafe(h *history.History) string {
	for i := range h.Events {
		e := &h.Events[i]
		if e.Kind != history.State || e.Op != history.Reject {
			continue
		}
		s := fmt.Sprintf("write %s of %s rejected", e.Value, e.By)
		if e.Fence == 0 && e.Error != "" {
			s += ": " + reports.FirstLine(e.Error)
		}
		if seen := reports.FenceSeen(h, i); e.Fence != 0 && seen > 0 {
			s += fmt.Sprintf(": fence %d < %d", e.Fence, seen)
		}
		return s
	}
	leases, increments := 0, 0
	for i := range h.Events {
		switch e := &h.Events[i]; {
		case e.Kind != history.OK || e.Process == h.Meta.Probe:
		case e.Op == history.Acquire:
			leases++
		case e.Op == history.Increment:
			increments++
		}
	}
	refusals, refusal := 0, ""
	for _, d := range reports.Deeds(h) {
		switch {
		case d.Op != history.Acquire || d.Process == h.Meta.Probe:
		case d.Refused():
			refusals += d.Times
			refusal = fmt.Sprintf("%s refused: %s", d.Process, reports.FirstLine(d.Err))
		}
	}
	granted := count(leases, "lease") + " granted"
	switch {
	case refusals == 1:
		return granted + "; " + refusal
	case refusals > 1:
		return fmt.Sprintf("%s, %s refused", granted, count(refusals, "request"))
	case leases == 0 && increments > 0:
		return count(increments, "increment") + ", none lost" // without a lock
	case leases > 1:
		return granted + ", one after the other"
	}
	return granted
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// ink is the colour of a verdict. The word beside it says the same.
func (hd heading) ink() color.NRGBA {
	switch hd.verdict {
	case checker.Unsafe:
		return red
	case checker.Safe:
		return calm
	}
	return doubt
}

// draw writes the heading, smaller if it is long.
func (hd heading) draw(p pen) {
	const y = vg.Length(32)
	const width = figureWidth - 2*outer
	f := titleFace
	for f.size > labelFace.size && f.width(hd.run+" — "+hd.outcome) > width {
		f.size--
	}
	run := f.fit(hd.run, 0.6*width) + " — "
	p.write(outer, y, run, f, black)
	x := outer + f.width(run)
	p.write(x, y, f.fit(hd.outcome, figureWidth-outer-x), f, hd.ink())
	p.write(outer, y+30, reasonFace.fit(hd.reason, width), reasonFace, grey)
}
