package search

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"lockstep/checker/facts"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim"
	"lockstep/sim/history"
)

// A Strategy determines how a random search draws the next perturbation from all possible ones.
type Strategy string

const (
	// Uniform gives each place of a run, and each magnitude, the same weight. Because there are far more messages in a run than
	// anything else, most of its perturbations affect messages.
	Uniform Strategy = "uniform"

	// PCT changes priorities at a few points, which is enough for most bugs: Burckhardt, Kothari, Musuvathi, Nagarakatte, "A
	// Randomized Scheduler with Probabilistic Guarantees of Finding Bugs" (ASPLOS 2010). Here priorities are delays. They order
	// links, because messages on one link keep their order, like the chains of Ozkan, Majumdar, Niksic, Tabaei Befrouei,
	// Weissenbacher, "Randomized Testing of Distributed Systems with Probabilistic Guarantees" (OOPSLA 2018): each link between
	// a client and a node draws one of a few ranks, that of the fastest links or one of those for slow links. At a point of
	// change one process, drawn with equal weight, drops below all others: it pauses or crashes. The guarantee of the paper does
	// not apply to a run that depends on time.
	PCT Strategy = "pct"

	// Lineage draws the outcome of an operation, such as a grant, a refusal or a release, and perturbs only what that outcome depended on:
	// the messages, changes of keys and events before it. It does so until the outcome is another, and then draws the next. See
	// [lineage]. Which kind of perturbation, and then which place, each have the same weight. In half of the walks what waits there
	// waits until after a later event, as in [Ordered].
	Lineage Strategy = "lineage"

	// Portfolio alternates Lineage and PCT by seed. It is the default: each finds mistakes that the other misses.
	Portfolio Strategy = "portfolio"
)

// Strategies lists all strategies, the default first.
func Strategies() []Strategy { return []Strategy{Portfolio, Lineage, PCT, Uniform} }

// FindStrategy returns the strategy with a name. If there is none, the error names the nearest, and lists all.
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

// turn returns the strategy of the walk with a seed.
func (s Strategy) turn(seed uint64) Strategy {
	if s != Portfolio {
		return s
	}
	single := []Strategy{Lineage, PCT}
	return single[seed%uint64(len(single))]
}

// A chooser draws the perturbations of one walk.
type chooser struct {
	strategy Strategy // of the walk; not a portfolio
	rand     *rand.Rand
	ordered  bool // the walk draws from what [Ordered] lists

	goal    outcome  // with Lineage: the outcome that is to become another
	lineage *lineage // of the goal, in the run so far
}

// choosing begins the walk with a seed. The draws depend only on the strategy, the seed, and the runs of the walk.
func (s Strategy) choosing(seed uint64) *chooser {
	s = s.turn(seed)
	c := &chooser{strategy: s, rand: sim.Rand(seed, "walk", string(s))}
	c.ordered = s == Lineage && c.rand.IntN(2) == 0
	return c
}

// sites lists the possible perturbations of a run, from which the walk goes on: those at an instant or later, and those from the beginning.
func (c *chooser) sites(calm *script.Scenario, o *play.Outcome, of *Task, since time.Duration) []Perturbation {
	if c.strategy == Lineage {
		c.trace(o.Facts)
	}
	f := newFinder(calm, o, of.Constants, of.Kinds)
	f.ordered, f.since = c.ordered, since // if some are left out of an ordered search, that does not matter: a walk plays only a few
	return f.sites()
}

// trace stays with its goal while that has the same outcome, and draws another one otherwise. Grants, refusals, releases and so on
// have the same weight: there are more refusals than anything else.
func (c *chooser) trace(f *facts.Facts) {
	sorts := outcomes(f)
	goal := -1
	for _, i := range slices.Concat(sorts...) {
		if outcomeOf(f.Events[i]) == c.goal {
			goal = i
		}
	}
	if c.lineage = nil; len(sorts) == 0 {
		return
	}
	if goal < 0 {
		sort := draw(c.rand, sorts)
		goal = sort[c.rand.IntN(len(sort))]
	}
	c.goal, c.lineage = outcomeOf(f.Events[goal]), lineageOf(f, goal)
}

// start draws what is wrong from the beginning: with PCT the ranks of links.
func (c *chooser) start(possible []Perturbation) []Perturbation {
	if c.strategy != PCT {
		return nil
	}
	ladders := map[history.Link][]Perturbation{}
	for _, p := range possible {
		if p.Kind == script.SlowLink {
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

// next draws one of the possible perturbations, of which there must be at least one.
func (c *chooser) next(possible []Perturbation) Perturbation {
	switch c.strategy {
	case PCT:
		if stops := groupsOf(possible, Perturbation.stopped); len(stops) > 0 {
			possible = draw(c.rand, stops)
		}
	case Lineage:
		touched := possible
		if c.lineage != nil {
			touched = slices.DeleteFunc(slices.Clone(possible), func(p Perturbation) bool { return !c.lineage.touches(p) })
		}
		if len(touched) > 0 { // otherwise no allowed kind can change the outcome
			possible = touched
		}
		possible = draw(c.rand, groupsOf(possible, func(p Perturbation) string { return string(p.Kind) }))
		possible = draw(c.rand, groupsOf(possible, Perturbation.place))
	}
	return c.lasting(possible[c.rand.IntN(len(possible))])
}

// groupsOf groups perturbations by a name, which is empty for those that belong to no group. The groups are in the order of their
// names.
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

func draw[T any](r *rand.Rand, groups []T) T { return groups[r.IntN(len(groups))] }

// stopped returns the process that the perturbation stops; empty if none.
func (p Perturbation) stopped() string {
	switch f := p.fault(p.Steps[0]).(type) {
	case history.Pause:
		return f.Process
	case history.Crash:
		return f.Process
	}
	return ""
}

// lasting prolongs a cut, often beyond the end of a lease: by a factor of one, two or four. Partitions that end within a timeout
// find little more than late messages.
func (c *chooser) lasting(p Perturbation) Perturbation {
	if p.Kind != script.Cutting && p.Kind != script.Parting {
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

// depth draws the most perturbations of a walk: each is the last with probability one in three.
func (c *chooser) depth() int {
	for d := 1; ; d++ {
		if d == maxDepth || c.rand.IntN(3) == 0 {
			return d
		}
	}
}

// maxDepth limits the length of walks.
const maxDepth = 8
