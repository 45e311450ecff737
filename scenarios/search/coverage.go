package search

import (
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"math"
	"regexp"
	"slices"

	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// Coverage describes what the walks of a random search have covered: which perturbations they tried, and which dangerous states
// they reached. A search without a violation says little about states that it never reached.
type Coverage struct {
	Walks   int           `json:"walks"`   // those that were completed
	Found   int           `json:"found"`   // how many of them ended with a violation
	Runs    int           `json:"runs"`    // of all walks, calm ones included
	Classes map[Class]int `json:"classes"` // the results of the runs
	// Kinds counts the perturbations of each kind, by the last perturbation of each run.
	Kinds map[script.Kind]*Tried `json:"kinds"`
	// Behaviours counts runs by behaviour: the same events of each process in the same order, without times, as a hash. Unlike
	// [Trial.Story] it ignores times: the calm runs of two seeds behave the same.
	Behaviours map[uint64]int `json:"behaviours"`
	// States counts the runs that reached a state before everything healed, for each state that is possible with this setting
	// and these kinds of perturbations.
	States map[string]int `json:"states"`
}

// Tried counts the perturbations of a kind.
type Tried struct {
	Runs int `json:"runs"`
	Bit  int `json:"bit"` // in how many of them the perturbation that was added last had an effect
	// Places counts how often each perturbation was tried, without its magnitudes, by a hash.
	Places map[uint64]int `json:"places"`
}

// walked counts a completed walk.
func (c *Coverage) walked(found bool) {
	c.Walks++
	if found {
		c.Found++
	}
}

// add counts a run whose plan was extended by added, out of some kinds.
func (c *Coverage) add(t Trial, added []Perturbation, kinds []script.Kind, o *play.Outcome) {
	c.ready()
	c.Runs++
	c.Classes[t.Class]++
	for _, p := range added {
		k := c.Kinds[p.Kind]
		if k == nil {
			k = &Tried{Places: map[uint64]int{}}
			c.Kinds[p.Kind] = k
		}
		k.Runs++
		k.Places[hashOf(p.place())]++
		if !slices.ContainsFunc(t.Idle, func(q Perturbation) bool { return q.Compare(p) == 0 }) {
			k.Bit++
		}
	}
	c.Behaviours[behaviour(o.History)]++
	reached := reached(o.Facts)
	for _, s := range states {
		if reached[s.name] || s.possible(&o.History.Meta, o.Run.Lanes, kinds) {
			n := 0
			if reached[s.name] {
				n = 1
			}
			c.States[s.name] += n
		}
	}
}

// ready makes the maps, for the zero Coverage.
func (c *Coverage) ready() {
	if c.Classes == nil {
		c.Classes, c.Kinds, c.Behaviours, c.States = map[Class]int{}, map[script.Kind]*Tried{}, map[uint64]int{}, map[string]int{}
	}
}

// Merge adds what another search covered. The order of merges does not matter.
func (c *Coverage) Merge(d *Coverage) {
	c.ready()
	c.Walks, c.Found, c.Runs = c.Walks+d.Walks, c.Found+d.Found, c.Runs+d.Runs
	merge(c.Classes, d.Classes)
	merge(c.Behaviours, d.Behaviours)
	merge(c.States, d.States)
	for kind, t := range d.Kinds {
		k := c.Kinds[kind]
		if k == nil {
			k = &Tried{Places: map[uint64]int{}}
			c.Kinds[kind] = k
		}
		k.Runs, k.Bit = k.Runs+t.Runs, k.Bit+t.Bit
		merge(k.Places, t.Places)
	}
}

func merge[K comparable](to, from map[K]int) {
	for k, n := range from {
		to[k] += n
	}
}

// magnitude matches what differs between perturbations at one place.
var magnitude = regexp.MustCompile(`[+-]?\b[0-9]+(ns|µs|ms|s|ppm)\b`)

// place describes a perturbation without its magnitudes.
func (p Perturbation) place() string {
	return string(p.Kind) + " " + magnitude.ReplaceAllString(p.String(), "")
}

func hashOf(s string) uint64 {
	h := fnv.New64a()
	io.WriteString(h, s)
	return h.Sum64()
}

// behaviour is a hash of the events of each process in order, without messages and faults.
func behaviour(h *history.History) uint64 {
	sums := map[string]hash.Hash64{}
	var line []byte
	for i := range h.Events {
		e := &h.Events[i]
		if e.Kind == history.Message || e.Kind == history.Injected || e.Kind == history.Bite {
			continue
		}
		if sums[e.Process] == nil {
			sums[e.Process] = fnv.New64a()
		}
		line = line[:0]
		for _, word := range []string{e.Process, string(e.Kind), e.Op, history.Client(e.Lease), history.Client(e.Owner), e.By} {
			line = append(append(line, word...), 0)
		}
		sums[e.Process].Write(line)
	}
	var sum uint64 // a sum, which does not depend on the order of processes
	for _, s := range sums {
		sum += s.Sum64()
	}
	return sum
}

// Fresh estimates the probability that the next run shows a new behaviour: the share of behaviours that occurred once (Good, "The
// population frequencies of species and the estimation of population parameters", 1953; for tests: Böhme, "STADS: Software
// Testing as Species Discovery", 2018). It is an estimate, because runs of one walk resemble each other.
func (c *Coverage) Fresh() float64 {
	return float64(c.once()) / float64(max(1, c.Runs))
}

func (c *Coverage) once() int {
	once := 0
	for _, n := range c.Behaviours {
		if n == 1 {
			once++
		}
	}
	return once
}

// Lines prints the coverage, in at most 100 columns.
func (c *Coverage) Lines() []string {
	behaviours := "behaviours"
	if len(c.Behaviours) == 1 {
		behaviours = "behaviour"
	}
	if c.Runs == 0 { // there are no runs to estimate from
		return []string{Share(c.Found, c.Walks)}
	}
	lines := []string{
		Share(c.Found, c.Walks),
		fmt.Sprintf("%s runs: %s survived, %s in which something had no effect, %s violating, %s that prove nothing",
			Grouped(c.Runs), Grouped(c.Classes[Survived]), Grouped(c.Classes[Idle]), Grouped(c.Classes[Violating]), Grouped(c.Classes[Unproved])),
		fmt.Sprintf("%s %s (runs with the same events in the same order), %s of which came up once:", Grouped(len(c.Behaviours)), behaviours, Grouped(c.once())),
		fmt.Sprintf("the next run shows a new behaviour with probability %s", percent(c.Fresh())),
		"",
		fmt.Sprintf("%-12s %10s %10s %10s", "perturbed by", "tried", "effective", "places"),
	}
	for _, kind := range script.Kinds() {
		if k := c.Kinds[kind]; k != nil {
			lines = append(lines, fmt.Sprintf("%-12s %10s %10s %10s", kind, Grouped(k.Runs), Grouped(k.Bit), Grouped(len(k.Places))))
		}
	}
	lines = append(lines, "", "dangerous states, and how many runs reached them")
	var never []string
	for _, s := range states {
		switch n, possible := c.States[s.name]; {
		case n > 0:
			lines = append(lines, fmt.Sprintf("%10s  %s", Grouped(n), s.name))
		case possible:
			never = append(never, fmt.Sprintf("%10s  %s", "never", s.name))
		}
	}
	return append(lines, never...)
}

// Share says how many of n walks found a violation, and what that implies for others, at a confidence of 95 %: none in n means
// fewer than three in n (Hanley, Lippman-Hand, "If Nothing Goes Wrong, Is Everything All Right?", 1983); otherwise it uses
// [interval]. Walks have different seeds and are independent; runs of one walk are not.
func Share(found, n int) string {
	switch {
	case n == 0:
		return "no walk came to its end"
	case found == 0:
		return fmt.Sprintf("0 of %s found a violation: below %s per walk at 95 %%", walksOf(n), percent(min(1, 3/float64(n))))
	}
	low, high := interval(found, n)
	return fmt.Sprintf("%s of %s found a violation: %s, %s to %s at 95 %%",
		Grouped(found), walksOf(n), percent(float64(found)/float64(n)), percent(low), percent(high))
}

// interval returns the 95 % confidence interval of a share, given that some of n independent draws had the property (Wilson,
// "Probable Inference, the Law of Succession, and Statistical Inference", 1927). Without draws it is the whole range.
func interval(some, n int) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	const z = 1.959964
	f := float64(n)
	share := float64(some) / f
	middle := (share + z*z/(2*f)) / (1 + z*z/f)
	half := z / (1 + z*z/f) * math.Sqrt(share*(1-share)/f+z*z/(4*f*f))
	return max(0, middle-half), min(1, middle+half)
}

func walksOf(n int) string {
	if n == 1 {
		return "1 walk"
	}
	return Grouped(n) + " walks"
}

// percent prints a share with two digits.
func percent(share float64) string {
	share *= 100
	if share == 0 || share >= 99.5 {
		return fmt.Sprintf("%.0f %%", share)
	}
	return fmt.Sprintf("%.*f %%", max(0, 1-int(math.Floor(math.Log10(share)))), share)
}
