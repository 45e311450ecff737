package search

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"lockstep/scenarios/script"
	"lockstep/sim"
	"lockstep/sim/history"
)

// A Strategy says how a random search draws what goes wrong next, out of everything that could.
type Strategy string

const (
	// Uniform gives each place of a run, and each magnitude, the same weight. Since there are far more messages in a run than
	// anything else, most of its perturbations are fates of messages.
	Uniform Strategy = "uniform"

	// PCT changes priorities at few points, which is enough for most bugs: Burckhardt, Kothari, Musuvathi, Nagarakatte, "A
	// Randomized Scheduler with Probabilistic Guarantees of Finding Bugs" (ASPLOS 2010). Here priorities are times. What is
	// ordered are links, since messages on one link keep their order, as the chains do in Ozkan, Majumdar, Niksic, Tabaei Befrouei,
	// Weissenbacher, "Randomized Testing of Distributed Systems with Probabilistic Guarantees" (OOPSLA 2018): each link
	// between a client and a node draws one of a few ranks, that of the fastest, or one of those that slow links have. At a
	// point of change one process, with equal weight, drops below all others: it pauses, or crashes. The guarantee of the paper does
	// not carry over to a run in which time counts.
	PCT Strategy = "pct"

	// Swarm leaves out about half of the kinds of perturbations in each walk, and gives those that are left equal weight: Groce,
	// Zhang, Eide, Chen, Regehr, "Swarm Testing" (ISSTA 2012). What one kind of fault hides another walk shows, which lacks it.
	Swarm Strategy = "swarm"

	// Portfolio has the seeds take turns among the others. It is the default.
	Portfolio Strategy = "portfolio"
)

// Strategies lists all strategies, the default first.
func Strategies() []Strategy { return []Strategy{Portfolio, Swarm, PCT, Uniform} }

// FindStrategy returns the strategy with a name. The error names the nearest, and lists all.
func FindStrategy(name string) (Strategy, error) {
	var names []string
	for _, s := range Strategies() {
		if string(s) == name {
			return s, nil
		}
		names = append(names, string(s))
	}
	return "", history.Unknown("strategy", name, names)
}

// turn is the strategy of the walk with a seed.
func (s Strategy) turn(seed uint64) Strategy {
	if s != Portfolio {
		return s
	}
	single := []Strategy{Swarm, PCT, Uniform}
	return single[seed%uint64(len(single))]
}

// A chooser draws the perturbations of one walk.
type chooser struct {
	strategy Strategy // of the walk; not a portfolio
	rand     *rand.Rand
	kinds    []Kind // that exist in this walk
}

// choosing begins the walk with a seed. What is drawn depends on the strategy, the seed and the kinds, and on nothing else
// but what there is to draw from.
func (s Strategy) choosing(seed uint64, kinds []Kind) *chooser {
	s = s.turn(seed)
	c := &chooser{strategy: s, rand: sim.Rand(seed, "walk", string(s)), kinds: kinds}
	if s == Swarm && len(kinds) > 0 {
		c.kinds = nil
		for len(c.kinds) == 0 {
			for _, k := range kinds {
				if c.rand.IntN(2) == 0 {
					c.kinds = append(c.kinds, k)
				}
			}
		}
	}
	return c
}

// start draws what is wrong from the beginning: with PCT the ranks of links.
func (c *chooser) start(possible []Perturbation) []Perturbation {
	if c.strategy != PCT {
		return nil
	}
	ladders := map[history.Link][]Perturbation{}
	for _, p := range possible {
		if p.Kind == SlowLink {
			link := p.fault(p.Steps[0]).(history.Delay).Link
			ladders[link] = append(ladders[link], p)
		}
	}
	var ranks []Perturbation
	for _, link := range slices.SortedFunc(maps.Keys(ladders), func(a, b history.Link) int { return slices.Compare([]string{a.From, a.To}, []string{b.From, b.To}) }) {
		if rank := c.rand.IntN(len(ladders[link]) + 1); rank > 0 {
			ranks = append(ranks, ladders[link][rank-1])
		}
	}
	slices.SortFunc(ranks, Perturbation.Compare)
	return ranks
}

// next draws one of the perturbations that are possible, of which there is at least one.
func (c *chooser) next(possible []Perturbation) Perturbation {
	switch c.strategy {
	case PCT:
		if stops := groupsOf(possible, Perturbation.stopped); len(stops) > 0 {
			possible = draw(c.rand, stops)
		}
	case Swarm:
		possible = draw(c.rand, groupsOf(possible, func(p Perturbation) string { return string(p.Kind) }))
	}
	return c.lasting(possible[c.rand.IntN(len(possible))])
}

// groupsOf puts perturbations into groups by a name, which is empty for those that belong to none. The groups are in the order of
// their names.
func groupsOf(all []Perturbation, name func(Perturbation) string) [][]Perturbation {
	groups := map[string][]Perturbation{}
	for _, p := range all {
		if n := name(p); n != "" {
			groups[n] = append(groups[n], p)
		}
	}
	var list [][]Perturbation
	for _, n := range slices.Sorted(maps.Keys(groups)) {
		list = append(list, groups[n])
	}
	return list
}

func draw(r *rand.Rand, groups [][]Perturbation) []Perturbation { return groups[r.IntN(len(groups))] }

// stopped names the process that the perturbation stops; empty if none.
func (p Perturbation) stopped() string {
	switch f := p.fault(p.Steps[0]).(type) {
	case history.Pause:
		return f.Process
	case history.Crash:
		return f.Process
	}
	return ""
}

// lasting lets a cut last longer than a lease: as long as it does at least, or twice, or four times as long. Partitions that
// come and go within a timeout find little: what one finds in them is that messages are late.
func (c *chooser) lasting(p Perturbation) Perturbation {
	if p.Kind != Cutting && p.Kind != Parting {
		return p
	}
	times := []time.Duration{1, 2, 4}[c.rand.IntN(3)]
	p.Steps = slices.Clone(p.Steps)
	for i, step := range p.Steps {
		if w, ok := step.(script.When); ok {
			if _, ok := w.Fault.(history.Heal); ok {
				w.After *= times
				p.Steps[i] = w
			}
		}
	}
	return p
}

// depth draws how many perturbations a walk has at most: each is the last with probability one in three.
func (c *chooser) depth() int {
	for d := 1; ; d++ {
		if d == maxDepth || c.rand.IntN(3) == 0 {
			return d
		}
	}
}

// maxDepth is the length of the longest walks.
const maxDepth = 8
