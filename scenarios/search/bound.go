package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"lockstep/scenarios/script"
)

// A Bounded is the result of a bounded search, which plays every set of up to so many perturbations of the calm run.
type Bounded struct {
	Bound     int           `json:"bound"`
	Kinds     []script.Kind `json:"kinds"`
	Constants Constants     `json:"constants"`
	// Orders says that the perturbations are those of [Ordered].
	Orders bool `json:"-"`
	// Thinned says that a run was so long that waits past some later events were left out.
	Thinned  bool           `json:"thinned,omitempty"`
	Levels   []Level        `json:"levels"` // by the number of perturbations, from 0
	Unproved []Perturbation `json:"-"`      // the first plan with the most perturbations whose run proves nothing
	Found    []Found        `json:"-"`      // for each way to fail, the plan with the fewest perturbations
	Shared   []Shared       `json:"-"`      // what the reference violates as well
	Played   int            `json:"played"` // runs, without those that were repeated for comparison
	Twice    int            `json:"twice"`  // how many of them were repeated
	Sites    int            `json:"-"`      // how many perturbations of the calm run are possible
	// SetClocks and ReadClocks are as in [Result], of all plans.
	SetClocks  int    `json:"-"`
	ReadClocks int    `json:"-"`
	Differs    string `json:"differs,omitempty"` // how the first repetition differed that did; it ended the search
	// Ended says that the search ended with the first violation, Interrupted that it is incomplete.
	Ended       bool `json:"ended,omitempty"`
	Interrupted bool `json:"interrupted,omitempty"`
	// Inapplicable says why the calm run does not apply to the lock; then nothing was searched.
	Inapplicable string `json:"inapplicable,omitempty"`
}

// A Level counts the plans with one number of perturbations, by result.
type Level struct {
	Plans     int `json:"plans"`
	Survived  int `json:"survived"`
	Idle      int `json:"idle"` // some perturbation had no effect
	Violating int `json:"violating"`
	Unproved  int `json:"unproved"`
	// Alike is how many were not extended because their runs are equal to that of one which was.
	Alike int `json:"alike"`
}

// Bound plays every plan with up to k perturbations: those of [Ordered], or, with [Search.Fixed], those of [Sites], of which there are
// fewer. Both are determined again in each perturbed run: the second perturbation may hit a consequence of the first. It leaves out plans whose
// result is known:
//
//   - Sets have no order. Faults of two processes commute, as do messages to two nodes, and each set is played once.
//   - If the runs of two plans are equal except for the faults, only one of the plans is extended.
//   - A plan that violates a property is not extended.
//
// If ctx ends, it returns the result so far, with the error of ctx.
func (s *Search) Bound(ctx context.Context, k int) (*Bounded, error) {
	b := &Bounded{Bound: k, Kinds: s.kinds(), Orders: !s.Fixed}
	err := s.bound(ctx, b)
	b.Ended = errors.Is(err, errFound)
	b.Interrupted = err != nil && !b.Ended && !errors.Is(err, ErrNotReproducible)
	b.Found = Firsts(b.Found)
	if b.Ended {
		err = nil
	}
	return b, err
}

func (s *Search) bound(ctx context.Context, b *Bounded) error {
	y, err := s.survey(ctx)
	if err != nil {
		return err
	}
	if b.Inapplicable = y.Inapplicable; b.Inapplicable != "" {
		return nil
	}
	b.Constants = y.Constants
	b.Levels = []Level{{}}
	if err := b.take(ctx, y, s); err != nil || len(y.Broken) > 0 || y.Trials[0].Class == Violating {
		return err
	}
	stride := 1
	if s.most > 0 {
		stride = max(1, (y.Sites*y.Events+s.most-1)/s.most)
	}
	b.Sites = y.Sites
	known := 1
	prefixes := [][]Perturbation{nil}
	for depth := 1; depth <= b.Bound; depth++ {
		b.Levels = append(b.Levels, Level{})
		var tasks []*Task
		parts := 1
		if few := 4 * cmp.Or(s.Shard.Of, s.WorkerCount()); len(prefixes) < few {
			parts = few
		}
		for i, prefix := range prefixes {
			for part := range parts {
				if depth == b.Bound && !s.Shard.Has(i*parts+part) {
					continue
				}
				tasks = append(tasks, &Task{
					Kinds: b.Kinds, Constants: b.Constants, Expand: &Expansion{Prefix: prefix, Part: part, Of: parts, Stride: stride, Orders: b.Orders, Leaf: depth == b.Bound},
				})
			}
		}
		var grown []Trial
		ended, before := 0, known
		err := s.SendAll(ctx, tasks, func(_ int, y *Result) error {
			ended++
			grown = append(grown, y.Trials...)
			err := b.take(ctx, y, s)
			known = before + (b.Played-before)*len(tasks)/ended
			if s.Progress != nil {
				s.Progress(b.Played, known)
			}
			return err
		})
		if err != nil {
			return err
		}
		prefixes = b.further(grown)
	}
	return nil
}

// take adds the result of a worker. The error ends the search.
func (b *Bounded) take(ctx context.Context, y *Result, s *Search) error {
	level := &b.Levels[len(b.Levels)-1]
	b.Played += y.Played
	b.Twice += y.Twice
	b.SetClocks += y.SetClocks
	b.ReadClocks += y.ReadClocks
	b.Thinned = b.Thinned || y.Thinned
	level.Add(y.Tally)
	if y.Unproved != nil && (b.Unproved == nil || slices.CompareFunc(y.Unproved, b.Unproved, Perturbation.Compare) < 0) {
		b.Unproved = y.Unproved // the order in which workers answer does not matter
	}
	for _, t := range y.Trials {
		level.Count(t.Class)
		if t.Class != Violating {
			continue
		}
		shared, worse, err := s.compare(ctx, &t, b.Shared)
		if b.Shared = shared; worse {
			b.Found = append(b.Found, Found{Trial: t})
		}
		if err != nil {
			return err
		}
	}
	for _, broken := range y.Broken {
		level.Count(Violating)
		b.Found = append(b.Found, Found{Trial: Trial{Plan: broken.Plan, Seed: s.seed(), Class: Violating}, Broke: broken.Why})
	}
	if y.Differs != "" {
		b.Differs = y.Differs
		return ErrNotReproducible
	}
	if s.First && len(b.Found) > 0 {
		return errFound
	}
	return nil
}

// ErrNotReproducible ends a search.
var ErrNotReproducible = errors.New("a run came out differently when it was played again with the same seed")

// Count counts a plan whose run is of a class.
func (l *Level) Count(c Class) {
	l.Plans++
	switch c {
	case Survived:
		l.Survived++
	case Idle:
		l.Idle++
	case Violating:
		l.Violating++
	default:
		l.Unproved++
	}
}

// Add adds the counts of another level.
func (l *Level) Add(m Level) {
	l.Plans += m.Plans
	l.Survived += m.Survived
	l.Idle += m.Idle
	l.Violating += m.Violating
	l.Unproved += m.Unproved
}

// further chooses the plans to extend: those that violate nothing, and of those that are alike only the first. A fault that has
// had no effect so far may have one in a longer run, so two plans are alike only if they have the same such faults.
func (b *Bounded) further(trials []Trial) [][]Perturbation {
	slices.SortFunc(trials, func(a, b Trial) int { return slices.CompareFunc(a.Plan, b.Plan, Perturbation.Compare) })
	seen := map[string]bool{}
	var plans [][]Perturbation
	for _, t := range trials {
		if t.Class == Violating || t.Class == Unproved {
			continue
		}
		key := fmt.Sprint(t.Story, t.Waiting)
		if seen[key] {
			b.Levels[len(b.Levels)-1].Alike++
			continue
		}
		seen[key] = true
		plans = append(plans, t.Plan)
	}
	return plans
}

// Plans returns how many plans were played.
func (b *Bounded) Plans() int {
	n := 0
	for _, l := range b.Levels {
		n += l.Plans
	}
	return n
}

// Sentence says what the search has shown.
func (b *Bounded) Sentence() string {
	violating, unproved := 0, 0
	for _, l := range b.Levels {
		violating, unproved = violating+l.Violating, unproved+l.Unproved
	}
	var kinds []string
	for _, k := range b.Kinds {
		kinds = append(kinds, string(k))
	}
	if len(b.Levels) == 1 && violating > 0 {
		return "the calm run itself violates a property; nothing was perturbed"
	}
	text := Grouped(b.Plans())
	if !b.Interrupted && !b.Ended {
		text = "all " + text
	}
	noun := "kinds"
	if len(kinds) == 1 {
		noun = "kind"
	}
	if b.Plans() == 1 && !b.Interrupted && !b.Ended {
		return "nothing of the " + noun + " " + strings.Join(kinds, ", ") + " can go wrong in this run"
	}
	text += fmt.Sprintf(" plans with at most %s of the %s %s: ", perturbations(b.Bound), noun, strings.Join(kinds, ", "))
	switch {
	case b.Interrupted:
		text = "interrupted after " + text
	case b.Ended:
		text = "ended after " + text
	}
	switch {
	case violating == 0:
		text += "no violation"
	case violating == 1:
		text += "1 violates a property"
	default:
		text += Grouped(violating) + " violate a property"
	}
	if b.Orders && !b.Interrupted && !b.Ended && slices.ContainsFunc(b.Kinds, orders) {
		events := "each later event"
		if b.Thinned {
			events = "only some of the later events"
		}
		text += "; whatever can be delayed was delayed past " + events + " that it could affect"
	}
	if unproved > 0 {
		text += fmt.Sprintf(", %s prove nothing and were not extended", Grouped(unproved))
	}
	return text
}

// orders reports whether perturbations of a kind make something wait.
func orders(kind script.Kind) bool {
	return slices.Contains([]script.Kind{script.Delaying, script.LateWrite, script.Pausing, script.Stalling, script.Crashing, script.Emptying, script.FailingOver}, kind)
}

// Grouped prints a number with commas: 41,208.
func Grouped(n int) string { return message.NewPrinter(language.English).Sprint(n) }

func perturbations(n int) string {
	if n == 1 {
		return "1 perturbation"
	}
	return fmt.Sprintf("%d perturbations", n)
}
