package search

import (
	"context"
	"slices"
	"time"

	"lockstep/sim/history"
)

// A limiting is the task of perturbing a calm run by one magnitude of a quantity, at each of its sites.
type limiting struct {
	Quantity  string `json:"quantity"`
	Magnitude int64  `json:"magnitude"`
	// Only are the sites that are played, ascending; none stand for all.
	Only []int `json:"only,omitempty"`
	// From is the first of these, and Count is how many there are; 0 stands for all.
	From  int `json:"from,omitempty"`
	Count int `json:"count,omitempty"`
}

func (l *limiting) run(ctx context.Context, x *explorer, seed uint64, y *Result) {
	x.plan = nil
	sites := findLimited(l.Quantity).tried(x, x.play(x.calm, x.calm.Runs[0], x.build, seed), l.Magnitude) // a survey has seen the run
	y.Sites = len(sites)
	start := time.Now()
	for i := l.From; i < l.most(len(sites)) && (l.Count == 0 || i < l.From+l.Count); i++ {
		if ctx.Err() != nil || time.Since(start) > shift {
			return
		}
		t, o := x.try([]Perturbation{sites[l.site(i)]}, seed)
		y.Trials = append(y.Trials, t)
		y.Granted = append(y.Granted, slices.ContainsFunc(o.History.Events, func(e history.Event) bool {
			return e.Kind == history.OK && e.Op == history.Acquire && o.Run.IsClient(e.Process)
		}))
	}
}

// site returns number i of the sites that are played, of which there are at most as many as most says.
func (l *limiting) site(i int) int {
	if l.Only == nil {
		return i
	}
	return l.Only[i]
}

func (l *limiting) most(sites int) int {
	if l.Only == nil {
		return sites
	}
	return len(l.Only)
}
