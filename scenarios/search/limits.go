package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"lockstep/checker"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// limits is a sheet in the making.
type limits struct {
	*Sheet
	search *Search
	calm   []*Search // with the calm run that each perturbs
	known  map[point]*seen
	done   int
}

// Limits finds out how much of each perturbation a lock tolerates, in the calm runs of some shapes, which differ only in their workloads.
// First it tries about a dozen magnitudes of each quantity, up to three TTLs or 10 %. Then, for each property, the interval below the
// smallest magnitude that violates it is halved until it is no wider than 1 %, or 1 ms: the middle is tried where the upper end does harm, and
// in the end the lower end at all injection points of all calm runs. If it does harm at another one, halving goes on below it. The same seed
// gives the same sheet, whatever the number of workers.
func (s *Search) Limits(ctx context.Context, shapes []Shape) (*Sheet, error) {
	return s.limitsOf(ctx, shapes, limited())
}

// limitsOf is Limits for some of the quantities.
func (s *Search) limitsOf(ctx context.Context, shapes []Shape, quantities []quantity) (*Sheet, error) {
	l := &limits{Sheet: &Sheet{Rows: []Tolerance{}}, search: s, known: map[point]*seen{}}
	if err := l.survey(ctx, shapes); err != nil || len(l.calm) == 0 {
		return l.Sheet, err
	}
	run := l.calm[0].Calm.Resolve(l.calm[0].Calm.Runs[0])
	var rows []*Tolerance
	var todo []attempt
	for _, q := range quantities {
		if q.replicas && run.Replicas == 0 {
			continue
		}
		signs := []int64{1}
		if q.signed() {
			signs = append(signs, -1)
		}
		for _, sign := range signs {
			t := &Tolerance{Quantity: q.name, Sign: sign, Unit: q.unit, Limits: []Limit{}}
			rows = append(rows, t)
			ladder := q.ladder(l.TTL, run.Nodes)
			t.Top = ladder[len(ladder)-1]
			for _, m := range ladder {
				todo = append(todo, attempt{at: point{q.name, sign * m}})
			}
		}
	}
	for len(todo) > 0 {
		if err := l.play(ctx, todo); err != nil {
			return nil, err
		}
		todo = nil
		for _, t := range rows {
			todo = append(todo, l.open(t)...)
		}
	}
	for _, t := range rows {
		if err := l.conclude(t); err != nil {
			return nil, err
		}
		l.Rows = append(l.Rows, *t)
	}
	return l.Sheet, nil
}

// survey plays the calm runs, and keeps those that can be perturbed.
func (l *limits) survey(ctx context.Context, shapes []Shape) error {
	for _, shape := range shapes {
		if len(shapes) > 1 && (shape.Workload == Resize || shape.Workload == Again) {
			continue // the leases of Resize have other TTLs than the sheet says; Again is like Once, with other work
		}
		page, err := shape.Calm()
		if err != nil {
			return err
		}
		one := *l.search
		one.Calm = page
		l.TTL = page.TTL
		y, err := one.survey(ctx)
		if err != nil {
			return err
		}
		c := SheetRun{Workload: cmp.Or(shape.Workload, Once)}
		switch {
		case len(y.Broken) > 0:
			c.Unfit = headOf(y.Broken[0].Why)
		case y.Differs != "":
			return fmt.Errorf("%w: %s", ErrNotReproducible, y.Differs)
		case y.Inapplicable != "":
			c.Unfit = y.Inapplicable
		case y.Trials[0].Class == Unproved:
			c.Unfit = "it proves nothing, although nothing goes wrong"
		case len(y.Trials[0].Faults) > 0:
			f := y.Trials[0].Faults[0]
			c.Unfit = fmt.Sprintf("it violates %s, although nothing goes wrong", f.Property)
		default:
			l.calm = append(l.calm, &one)
		}
		l.Calm = append(l.Calm, c)
	}
	return nil
}

// magnitudes lists those of a row that were tried, ascending.
func (l *limits) magnitudes(t *Tolerance) []int64 {
	var all []int64
	for p := range l.known {
		if p.quantity == t.Quantity && p.magnitude*t.Sign > 0 {
			all = append(all, p.magnitude*t.Sign)
		}
	}
	slices.Sort(all)
	return all
}

func (l *limits) seen(t *Tolerance, m int64) *seen { return l.known[point{t.Quantity, t.Sign * m}] }

// harms lists what a row violates.
func (l *limits) harms(t *Tolerance) []Harm {
	all := map[Harm]bool{}
	for _, m := range l.magnitudes(t) {
		for h := range l.seen(t, m).harmed {
			all[h] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// bracket returns the least magnitude with a harm, the sites at which it is done, and the greatest magnitude below it that shows that
// it is not done there; 0 if that is none.
func (l *limits) bracket(t *Tolerance, h Harm) (lo, hi int64, sites []sitePlace) {
	all := l.magnitudes(t)
	i := slices.IndexFunc(all, func(m int64) bool { return len(l.seen(t, m).harmed[h]) > 0 })
	hi = all[i]
	sites = l.seen(t, hi).harmed[h]
	for _, m := range all[:i] {
		if l.seen(t, m).answers(sites) {
			lo = m
		}
	}
	return lo, hi, sites
}

// open lists what to try next for a row: the middle of each interval, where the upper end does harm; and the lower end of one that is
// short enough, everywhere.
func (l *limits) open(t *Tolerance) []attempt {
	var all []attempt
	add := func(m int64, only []sitePlace) {
		at := point{t.Quantity, t.Sign * m}
		i := slices.IndexFunc(all, func(a attempt) bool { return a.at == at })
		switch {
		case i < 0:
			all = append(all, attempt{at, only})
		case only == nil || all[i].only == nil:
			all[i].only = nil
		default:
			all[i].only = union(all[i].only, only)
		}
	}
	for _, h := range l.harms(t) {
		lo, hi, sites := l.bracket(t, h)
		if m, ok := findLimited(t.Quantity).halve(lo, hi); ok {
			if before := l.seen(t, m); before != nil { // where another harm is done
				sites = union(sites, slices.Collect(maps.Keys(before.tried)))
			}
			add(m, sites)
		} else if lo > 0 && !l.seen(t, lo).full {
			add(lo, nil)
		}
	}
	return all
}

// union returns the sites of both, in order.
func union(a, b []sitePlace) []sitePlace {
	all := slices.SortedFunc(slices.Values(slices.Concat(a, b)), sitePlace.compare)
	return slices.Compact(all)
}

// play makes the workers make attempts in all calm runs.
func (l *limits) play(ctx context.Context, attempts []attempt) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	type job struct {
		at   point
		calm int
		only []int
	}
	todo := make(chan job, len(attempts)*len(l.calm))
	for _, a := range attempts {
		l.known[a.at] = newSeen(a.only == nil)
		for i := range l.calm {
			var only []int
			for _, at := range a.only {
				if at.calm == i {
					only = append(only, at.site)
				}
			}
			if a.only != nil && only == nil || a.at.quantity == lostNodes.name && i > 0 {
				continue
			}
			todo <- job{a.at, i, only}
		}
	}
	close(todo)
	var hands sync.WaitGroup
	var mu sync.Mutex
	all := l.done + len(todo)
	for range l.search.WorkerCount() {
		hands.Go(func() {
			for j := range todo {
				if ctx.Err() != nil {
					return
				}
				part, err := l.part(ctx, j.calm, j.at, j.only)
				if err != nil {
					cancel(err)
					return
				}
				mu.Lock()
				l.known[j.at].merge(part)
				if l.done++; l.search.Progress != nil {
					l.search.Progress(l.done, all)
				}
				mu.Unlock()
			}
		})
	}
	hands.Wait()
	return context.Cause(ctx)
}

// part plays a point in one calm run, as often as necessary to have tried all sites, or some of them. A run that does not end proves nothing.
func (l *limits) part(ctx context.Context, calm int, at point, only []int) (*seen, error) {
	part := newSeen(only == nil)
	task := &limiting{Quantity: at.quantity, Magnitude: at.magnitude, Only: only}
	for {
		y, err := l.calm[calm].send(ctx, &Task{Limit: task})
		lost, died := errors.AsType[lostWorker](err)
		switch {
		case died && task.Count == 0: // which run it was is not known: one at a time, of as many as there are
			none := *task
			none.From, none.Count = math.MaxInt32, 1
			if z, err := l.calm[calm].send(ctx, &Task{Limit: &none}); err == nil {
				part.sites = max(part.sites, z.Sites)
			}
			task.Count = 1
			continue
		case died:
			y = &Result{Broken: []Broken{{Why: lost.Error()}}, Sites: part.sites}
		case err != nil:
			return nil, err
		case ctx.Err() != nil:
			return nil, context.Cause(ctx) // the worker may have returned early
		case y.Differs != "":
			return nil, fmt.Errorf("%w: %s", ErrNotReproducible, y.Differs)
		}
		part.sites = max(part.sites, y.Sites)
		for i, t := range y.Trials {
			part.count(sitePlace{calm, task.site(task.From + i)}, t, at.quantity == lostNodes.name && !y.Granted[i])
		}
		for i := range y.Broken {
			part.lost(sitePlace{calm, task.site(task.From + len(y.Trials) + i)}, &y.Broken[i])
		}
		done := len(y.Trials) + len(y.Broken)
		task.From += done
		if done == 0 || task.From >= task.most(part.sites) {
			return part, nil
		}
	}
}

// conclude fills in a row once its points are known.
func (l *limits) conclude(t *Tolerance) error {
	clean := true
	counted := l.harms(t)
	for _, m := range l.magnitudes(t) {
		s := l.seen(t, m)
		tried := Rung{Magnitude: m, Runs: s.runs, Unproved: s.unproved}
		for _, h := range counted {
			if len(s.harmed[h]) > 0 {
				tried.Harms = append(tried.Harms, h)
			}
		}
		t.Rungs = append(t.Rungs, tried)
		clean = clean && len(tried.Harms) == 0 && (s.unproved == 0 || !s.full)
		if clean && s.full {
			t.Harmless = m
		}
		t.Sites = max(t.Sites, s.sites)
		t.Runs += s.runs
		t.Unproved += s.unproved
		t.Idle += s.idle
		if s.broken != nil && !slices.ContainsFunc(l.Broken, func(b Broken) bool { return b.Why == s.broken.Why }) {
			l.Broken = append(l.Broken, *s.broken)
		}
	}
	l.Runs += t.Runs
	l.Unproved += t.Unproved
	for _, h := range counted {
		e, err := l.edge(t, h)
		if err != nil {
			return err
		}
		t.Limits = append(t.Limits, e)
	}
	slices.SortStableFunc(t.Limits, func(a, b Limit) int { return cmp.Compare(a.Harmful, b.Harmful) })
	return nil
}

// edge describes where a harm begins.
func (l *limits) edge(t *Tolerance, h Harm) (Limit, error) {
	_, hi, sites := l.bracket(t, h)
	e := Limit{Harm: h, Harmful: hi}
	at := sites[0]
	above := l.seen(t, hi).trials[at]
	e.Workload = l.workload(at.calm)
	for _, f := range above.Faults {
		if Harm(f.Property) == h {
			e.Assumption = f.Assumption
			break
		}
	}
	if h == NoLease {
		e.Assumption = checker.DurableNodes
	}
	if len(above.Plan) > 0 {
		e.Where = where(l.calm[at.calm].Calm, above.Plan[0])
	}
	if t.Unit == Number {
		e.Where = "from the start"
	}
	var err error
	if e.Above, err = l.side(at.calm, above); err != nil {
		return e, err
	}
	for _, m := range l.magnitudes(t) {
		s := l.seen(t, m)
		if m >= hi || s.full && s.unproved > 0 {
			break
		}
		if s.full {
			e.Harmless = m
		}
	}
	if e.Harmless > 0 {
		if below, ok := l.seen(t, e.Harmless).trials[at]; ok && t.Unit != Number {
			e.Below, err = l.side(at.calm, below)
		}
	}
	return e, err
}

// workload is that of a calm run that is perturbed.
func (l *limits) workload(i int) Workload {
	for _, c := range l.Calm {
		if c.Unfit != "" {
			continue
		}
		if i == 0 {
			return c.Workload
		}
		i--
	}
	return ""
}

// side returns a run of an edge.
func (l *limits) side(calm int, t Trial) (*Side, error) {
	plain := *l.calm[calm]
	plain.Lock = "" // the page is for any lock, and names the one of its calm run
	page := plain.Page(Found{Trial: t})
	token, err := page.Token()
	return &Side{Plan: t.Plan, Page: page, Token: token}, err
}

// where names the place of a perturbation in words, without its magnitude.
func where(calm *script.Scenario, p Perturbation) string {
	if p.Client != "" {
		for _, lane := range calm.Lanes {
			if lane.Process == p.Client {
				step := script.Once(lane.Steps[p.Before])
				if _, acquires := step.(script.Acquire); acquires {
					step = script.Acquire{}
				}
				return fmt.Sprintf("%s before %s", p.Client, step)
			}
		}
	}
	f := script.FaultOf(p.Steps[0])
	switch s := p.Steps[0].(type) {
	case script.When:
		return fmt.Sprintf("%s when %s", f.Target(), s.Event)
	case script.AtStart:
		if c, ok := f.(history.Chosen); ok {
			message := c.What
			if c.Reply {
				message = "reply to " + message
			}
			return history.FormatNth(c.Nth) + message + " " + c.Link.String()
		}
	}
	return f.Target() + " from the start"
}
