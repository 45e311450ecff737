package search

import (
	"context"
	"slices"

	"lockstep/scenarios/play"
)

// Here is [Search.Bound] with at most one perturbation, in this process, one run after the other, and without a reference. It requires
// [Search.New]. A program for browsers has no workers to send tasks to, and does not link the other searches that a [Task] can ask for.
func (s *Search) Here(ctx context.Context) (*Bounded, error) {
	b := &Bounded{Bound: 1, Kinds: s.kinds(), Orders: !s.Fixed, Levels: []Level{{}}}
	x := &explorer{calm: s.Calm, build: s.New, restless: s.Restless, properties: s.Properties}
	of := &Task{Kinds: b.Kinds}
	var y Result
	err := play.Series(func(player play.Player) {
		x.play = player
		new(survey).run(x, of, s.seed(), &y)
		if b.Inapplicable = y.Inapplicable; b.Inapplicable != "" || y.Trials[0].Class == Violating {
			return
		}
		b.Levels = append(b.Levels, Level{})
		b.Constants, b.Sites = y.Constants, y.Sites
		of.Constants = y.Constants
		parts := max(1, y.Sites/10) // after each of which the progress is told
		for part := range parts {
			(&Expansion{Part: part, Of: parts, Orders: b.Orders}).run(ctx, x, of, s.seed(), &y)
			if s.Progress != nil && ctx.Err() == nil {
				s.Progress(len(y.Trials), y.Sites+1)
			}
		}
	})
	for _, t := range y.Trials {
		b.Levels[min(len(t.Plan), len(b.Levels)-1)].Count(t.Class)
		if t.Class == Violating {
			b.Found = append(b.Found, Found{Trial: t})
		}
	}
	if err != nil { // the run did not end
		b.Levels[len(b.Levels)-1].Count(Violating)
		b.Found = append(b.Found, Found{Trial: Trial{Plan: slices.Clone(x.plan), Seed: s.seed(), Class: Violating}, Broke: err.Error()})
	}
	b.Played, b.Twice, b.Differs, b.Thinned = x.played, x.twice, x.differs, y.Thinned
	b.Found = Firsts(b.Found)
	if x.differs != "" {
		return b, ErrNotReproducible
	}
	b.Interrupted = ctx.Err() != nil || err != nil
	return b, ctx.Err()
}
