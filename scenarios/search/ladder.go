package search

import (
	"fmt"
	"math"
	"slices"
	"time"

	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// lostNodes is the number of lock nodes that are down all the time. It is no axis of a map, since it has no single site.
var lostNodes = quantity{name: "lost-nodes", about: "this many lock nodes are down from the start", unit: Number, max: 9, kind: script.Crashing}

// limited lists the quantities of a sheet.
func limited() []quantity {
	all := slices.DeleteFunc(slices.Clone(quantities), func(q quantity) bool { return q.kind == "" })
	return append(all, lostNodes)
}

// LimitNames lists the names of the quantities of a [Sheet].
func LimitNames() []string {
	var all []string
	for _, q := range limited() {
		all = append(all, q.name)
	}
	return all
}

// LimitAbout describes a quantity of a [Sheet], by its name.
func LimitAbout(name string) string { return findLimited(name).about }

// findLimited returns a quantity of a sheet, which must exist.
func findLimited(name string) quantity {
	if name == lostNodes.name {
		return lostNodes
	}
	return findQuantity(name)
}

// signed reports whether the quantity has two directions.
func (q quantity) signed() bool { return q.min < 0 }

// tried lists the places of the perturbation at a magnitude, of which the sign counts.
func (q quantity) tried(x *explorer, o *play.Outcome, magnitude int64) []Perturbation {
	if q.name != lostNodes.name {
		all := q.sites(x.calm, o)
		for i, p := range all {
			all[i] = p.sized(magnitude)
		}
		return all
	}
	var all []Perturbation
	for _, some := range subsets(o.Run.Nodes, int(magnitude)) {
		p := Perturbation{Kind: q.kind}
		for _, i := range some {
			p.Steps = append(p.Steps, script.AtStart{Fault: history.Crash{Process: fmt.Sprintf("n%d", i+1)}})
		}
		all = append(all, p)
	}
	return all
}

// ladder lists the magnitudes that are tried first.
func (q quantity) ladder(ttl time.Duration, nodes int) (all []int64) {
	switch q.unit {
	case Number:
		for n := range min(nodes, int(q.max)) {
			all = append(all, int64(n+1))
		}
		return all
	case PPM:
		return []int64{10, 100, 300, 1_000, 3_000, 8_000, 12_000, 20_000, 50_000, 100_000}
	}
	for d := time.Millisecond; d < ttl/10; d *= 10 {
		all = append(all, int64(d))
	}
	for _, percent := range []time.Duration{10, 25, 50, 75, 95, 105, 130, 180, 300} {
		all = append(all, min(int64((ttl*percent/100).Round(time.Millisecond)), q.max))
	}
	return slices.Compact(all)
}

// step is how near two magnitudes are of which one is harmful and the other one is not.
func (q quantity) step(m int64) int64 {
	switch q.unit {
	case Seconds:
		return max(m/100, int64(time.Millisecond))
	case PPM:
		return max(m/100, 10)
	}
	return 1
}

// halve returns a round magnitude between two; ok is false if they are near enough.
func (q quantity) halve(lo, hi int64) (middle int64, ok bool) {
	step := q.step(lo)
	if hi-lo <= step {
		return 0, false
	}
	middle = lo + (hi-lo)/2
	if lo > 0 && hi > 3*lo {
		middle = int64(math.Sqrt(float64(lo) * float64(hi)))
	}
	unit := int64(1)
	for unit*10 <= step {
		unit *= 10
	}
	middle = (middle + unit/2) / unit * unit
	return min(max(middle, lo+1), hi-1), true
}
