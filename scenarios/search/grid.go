package search

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"time"

	"lockstep/checker"
)

// A Grid describes a map: the share of unsafe runs over one or two quantities, each of which is a setting of the shape, or the
// magnitude of a perturbation. A cell has many runs with the same quantities and different seeds: each is the calm run of the
// cell's shape, with each perturbation at one of its possible sites. The seeds of a cell go through all sites.
type Grid struct {
	Shape Shape
	Axes  []Axis // one or two
	Runs  int    // of each cell
	Seed  uint64 // of the first run of each cell; the others have the following seeds
}

// MostRuns is how many runs a cell of a [Grid] may have.
const MostRuns = 100_000

// A Place is the position of a cell in a [Grid]: the index of a value on each axis. The second is 0 if there is one axis.
type Place [2]int

// A Tally counts the results of the runs in a cell.
type Tally struct {
	Runs     int `json:"runs"`
	Unsafe   int `json:"unsafe"`   // violated some property
	Unproved int `json:"unproved"` // prove nothing: they reached a cap, ran during a pause, or did not end
	Idle     int `json:"idle"`     // some perturbation had no effect, or no site
	// Violated counts, for each property, the unsafe runs that violated it.
	Violated map[checker.Property]int `json:"violated,omitempty"`
}

// Check returns an error if the grid is not valid.
func (g *Grid) Check() error {
	switch {
	case len(g.Axes) < 1 || len(g.Axes) > 2:
		return fmt.Errorf("%d axes: a map must have one or two", len(g.Axes))
	case len(g.Axes) == 2 && g.Axes[0].Name == g.Axes[1].Name:
		return fmt.Errorf("both axes are %s; name two quantities", g.Axes[0].Name)
	case g.Runs < 1 || g.Runs > MostRuns:
		return fmt.Errorf("%d runs: a cell must have between 1 and %d", g.Runs, MostRuns)
	case len(g.quantities()) == 0:
		return fmt.Errorf("without a perturbation nothing goes wrong in these runs; one axis must be one of %s", perturbing())
	}
	for _, a := range g.Axes {
		if a.quantity().replicas && g.Shape.Replicas == 0 {
			return fmt.Errorf("%s is for a lock node with a replica, and there is none here", a.Name)
		}
	}
	for _, at := range g.Places() {
		if _, err := g.ShapeAt(at).Calm(); err != nil {
			return err
		}
	}
	return nil
}

// Places lists the cells, row by row.
func (g *Grid) Places() []Place {
	var all []Place
	for j := range g.size(1) {
		for i := range g.size(0) {
			all = append(all, Place{i, j})
		}
	}
	return all
}

func (g *Grid) size(axis int) int {
	if axis >= len(g.Axes) {
		return 1
	}
	return len(g.Axes[axis].Values)
}

// quantities lists the quantities of perturbations.
func (g *Grid) quantities() []string {
	var names []string
	for _, a := range g.Axes {
		if a.quantity().kind != "" {
			names = append(names, a.Name)
		}
	}
	return names
}

// ShapeAt returns the shape of a cell.
func (g *Grid) ShapeAt(at Place) Shape {
	s := g.Shape
	for i, a := range g.Axes {
		if set := a.quantity().set; set != nil {
			set(&s, a.Values[at[i]])
		}
	}
	return s
}

// magnitudes returns the magnitudes of the perturbations of a cell, in the order of quantities.
func (g *Grid) magnitudes(at Place) []int64 {
	var all []int64
	for i, a := range g.Axes {
		if a.quantity().kind != "" {
			all = append(all, a.Values[at[i]])
		}
	}
	return all
}

// Perturbed reports whether the runs of a cell are perturbed: some magnitude is not 0.
func (g *Grid) Perturbed(at Place) bool {
	return slices.ContainsFunc(g.magnitudes(at), func(m int64) bool { return m != 0 })
}

// coarsest is the distance between the cells that are played first. Then come the cells in the middle between them, and so on, so
// that a map shows its shape long before it is complete.
const coarsest = 8

// pass returns the priority of a cell; cells with the greatest number come first.
func pass(at Place) int {
	return min(bits.TrailingZeros(uint(at[0]|coarsest)), bits.TrailingZeros(uint(at[1]|coarsest)))
}

// Sizes of a batch, which should keep a worker busy for about a second, and whose cells share their calm runs.
const (
	batchCells = 8
	batchSeeds = 25
)

// A batch is a set of runs of cells that share one calm run.
type batch struct {
	shape    Shape
	places   []Place
	from, to uint64 // seeds, half open
}

// batches lists the batches, in the order in which they should be played.
func (g *Grid) batches(known map[Place]Tally) []batch {
	type row struct {
		pass  int
		shape Shape
	}
	places := map[row][]Place{}
	var rows []row
	for _, at := range g.Places() {
		if _, ok := known[at]; ok {
			continue
		}
		r := row{pass(at), g.ShapeAt(at)}
		if places[r] == nil {
			rows = append(rows, r)
		}
		places[r] = append(places[r], at)
	}
	slices.SortStableFunc(rows, func(a, b row) int { return b.pass - a.pass })
	var all []batch
	end := g.Seed + uint64(g.Runs)
	for _, r := range rows {
		for some := range slices.Chunk(places[r], batchCells) {
			for from := g.Seed; from < end; from += batchSeeds {
				all = append(all, batch{r.shape, some, from, min(from+batchSeeds, end)})
			}
		}
	}
	return all
}

// Play plays the runs of all cells that are not known yet, in this process or with the workers that the search has started; it
// ignores the calm run and the seed of the search. It calls each with every cell that is complete, and played with the number of
// runs since the last call; never concurrently. If ctx ends, it returns the error of ctx.
func (g *Grid) Play(ctx context.Context, s *Search, known map[Place]Tally, played func(runs int), each func(Place, Tally)) error {
	if err := g.Check(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := &gridPlay{Grid: g, todo: g.batches(known), tallies: map[Place]Tally{}, played: played, each: each}
	var hands sync.WaitGroup
	for range s.WorkerCount() {
		hands.Go(func() {
			for ctx.Err() == nil {
				b, ok := p.next()
				if !ok {
					return
				}
				if err := p.do(ctx, s, b); err != nil {
					cancel(err)
				}
			}
		})
	}
	hands.Wait()
	return context.Cause(ctx)
}

// A gridPlay is a grid that is being played.
type gridPlay struct {
	*Grid
	played func(int)
	each   func(Place, Tally)

	mu      sync.Mutex
	todo    []batch
	tallies map[Place]Tally // of cells in progress
}

func (p *gridPlay) next() (b batch, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.todo) == 0 {
		return batch{}, false
	}
	b, p.todo = p.todo[0], p.todo[1:]
	return b, true
}

// do makes a worker play a batch, as often as necessary to complete it. A run that does not end proves nothing, nor does one in
// which a worker dies.
func (p *gridPlay) do(ctx context.Context, s *Search, b batch) error {
	calm, err := b.shape.Calm()
	if err != nil {
		return err
	}
	search := *s
	search.Calm = calm
	for left := []batch{b}; len(left) > 0; {
		b, left = left[0], left[1:]
		e := &cells{Quantities: p.quantities(), From: b.from, To: b.to}
		for _, at := range b.places {
			e.Magnitudes = append(e.Magnitudes, p.magnitudes(at))
		}
		y, err := search.send(ctx, &Task{Cells: e})
		if _, lost := errors.AsType[lostWorker](err); lost {
			if halves := b.halves(); halves != nil {
				left = append(halves, left...)
				continue
			}
			y, err = &Result{Cells: []Tally{{Runs: 1, Unproved: 1}}}, nil
		}
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx) // the worker may have returned early
		case y.Differs != "":
			return fmt.Errorf("%w: %s", ErrNotReproducible, y.Differs)
		}
		left = append(b.rest(y), left...)
		p.take(b, y)
	}
	return nil
}

// halves splits a batch in two, if it has more than one run.
func (b batch) halves() []batch {
	first, second := b, b
	switch {
	case b.to-b.from > 1:
		middle := b.from + (b.to-b.from)/2
		first.to, second.from = middle, middle
	case len(b.places) > 1:
		middle := len(b.places) / 2
		first.places, second.places = b.places[:middle], b.places[middle:]
	default:
		return nil
	}
	return []batch{first, second}
}

// rest returns what a worker has left of a batch. It counts a run that broke: if it was the calm run, for all cells.
func (b batch) rest(y *Result) []batch {
	done := 0
	for _, t := range y.Cells {
		done += t.Runs
	}
	n := len(b.places)
	seed, i := b.from+uint64(done/n), done%n
	if len(y.Broken) > 0 {
		broken := 1
		if len(y.Broken[0].Plan) == 0 {
			broken = n
		}
		for range broken {
			y.Cells[i].Runs++
			y.Cells[i].Unproved++
			i++
		}
		if i == n {
			seed, i = seed+1, 0
		}
	}
	var rest []batch
	if i > 0 {
		rest = append(rest, batch{b.shape, b.places[i:], seed, seed + 1})
		seed++
	}
	if seed < b.to {
		rest = append(rest, batch{b.shape, b.places, seed, b.to})
	}
	return rest
}

// take adds the result of a batch.
func (p *gridPlay) take(b batch, y *Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	runs := 0
	for i, at := range b.places {
		t := p.tallies[at]
		t.add(y.Cells[i])
		p.tallies[at] = t
		runs += y.Cells[i].Runs
		if t.Runs == p.Runs {
			delete(p.tallies, at)
			p.each(at, t)
		}
	}
	p.played(runs)
}

// Share returns the share of unsafe runs.
func (t Tally) Share() float64 {
	if t.Runs == 0 {
		return 0
	}
	return float64(t.Unsafe) / float64(t.Runs)
}

// Interval returns the 95 % confidence interval of the share, as if runs were independent draws. They are not: their places are
// spread evenly, so the share of a cell is more precise than that; and neighbouring cells have the same places, so their errors
// are correlated. Without runs it is the whole range.
func (t Tally) Interval() (low, high float64) {
	return interval(t.Unsafe, t.Runs)
}

func (t *Tally) add(u Tally) {
	t.Runs += u.Runs
	t.Unsafe += u.Unsafe
	t.Unproved += u.Unproved
	t.Idle += u.Idle
	for property, n := range u.Violated {
		if t.Violated == nil {
			t.Violated = map[checker.Property]int{}
		}
		t.Violated[property] += n
	}
}

// count adds a run.
func (t *Tally) count(trial Trial) {
	t.Runs++
	switch trial.Class {
	case Unproved:
		t.Unproved++
		return
	case Idle:
		t.Idle++
	case Violating:
		t.Unsafe++
	}
	one := Tally{Violated: map[checker.Property]int{}}
	for _, f := range trial.Faults {
		one.Violated[f.Property] = 1
	}
	t.add(one)
}

// cells is the task of playing a batch.
type cells struct {
	Quantities []string  `json:"quantities"`
	Magnitudes [][]int64 `json:"magnitudes"` // one for each quantity, for each cell
	From       uint64    `json:"from"`       // seeds, half open
	To         uint64    `json:"to"`
}

// shift is how long a worker works before it returns its results. It is short enough for the supervisor's limit.
const shift = 2 * time.Second

// run plays all cells seed by seed, so that the number of runs tells how far it came.
func (c *cells) run(ctx context.Context, x *explorer, y *Result) {
	y.Cells = make([]Tally, len(c.Magnitudes))
	start := time.Now()
	for seed := c.From; seed < c.To; seed++ {
		if ctx.Err() != nil || time.Since(start) > shift {
			return
		}
		calm, o := x.try(nil, seed)
		var sites [][]Perturbation
		for _, name := range c.Quantities {
			sites = append(sites, findQuantity(name).sites(x.calm, o))
		}
		for i, magnitudes := range c.Magnitudes {
			plan, ok := placed(sites, magnitudes, seed)
			t := calm
			if len(plan) > 0 {
				t, _ = x.try(plan, seed)
			}
			if !ok && t.Class == Survived {
				t.Class = Idle
			}
			y.Cells[i].count(t)
		}
	}
}

// placed puts perturbations of the given magnitudes at the places for a seed, which are the same for all magnitudes. It returns
// false if a perturbation has no place.
func placed(sites [][]Perturbation, magnitudes []int64, seed uint64) (plan []Perturbation, ok bool) {
	ok = true
	for i, of := range sites {
		switch {
		case magnitudes[i] == 0:
		case len(of) == 0:
			ok = false
		default:
			plan = append(plan, of[spread(seed, i, len(of))].sized(magnitudes[i]))
		}
	}
	slices.SortFunc(plan, Perturbation.Compare)
	return plan, ok
}

// spread returns one of n places, for quantity number i. Consecutive seeds are spread over all places, and over all pairs of
// them, more evenly than random ones: a harmful place has its share of the runs in each cell, so that cells do not differ only
// because of the places that they happened to get. It is the sequence R2 (Roberts, "The Unreasonable Effectiveness of Quasirandom
// Sequences", 2018).
func spread(seed uint64, i, n int) int {
	at, _ := bits.Mul64(seed*[]uint64{0xc13fa9a902a6328f, 0x91e10da5c79e7b1c}[i], uint64(n)) // 2^64/g and 2^64/g^2, where g^3 = g+1
	return int(at)
}
