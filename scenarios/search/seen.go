package search

import (
	"cmp"
	"maps"
	"slices"
)

// A point is a magnitude of a quantity, of which the sign counts.
type point struct {
	quantity  string
	magnitude int64
}

// A sitePlace is a site of one of the calm runs.
type sitePlace struct{ calm, site int }

// compare orders sites: those of the first calm run first.
func (a sitePlace) compare(b sitePlace) int {
	return cmp.Or(cmp.Compare(a.calm, b.calm), cmp.Compare(a.site, b.site))
}

// An attempt is a point, and the sites at which it is tried; nil stands for all.
type attempt struct {
	at   point
	only []sitePlace
}

// seen is what came of a point, in all calm runs.
type seen struct {
	full           bool               // all sites were tried
	tried          map[sitePlace]bool // sites with a trial, and those of runs that did not end
	trials         map[sitePlace]Trial
	harmed         map[Harm][]sitePlace // where each harm was done
	sites          int
	runs           int
	unproved, idle int
	broken         *Broken
}

func newSeen(full bool) *seen {
	return &seen{full: full, tried: map[sitePlace]bool{}, trials: map[sitePlace]Trial{}, harmed: map[Harm][]sitePlace{}}
}

// answers reports whether the point shows if a harm is done that a greater magnitude does at some sites. A point at which only some
// sites were tried does not show it for the others.
func (s *seen) answers(sites []sitePlace) bool {
	return s.full || !slices.ContainsFunc(sites, func(at sitePlace) bool { return !s.tried[at] })
}

// count adds a run.
func (s *seen) count(at sitePlace, t Trial, denied bool) {
	s.tried[at] = true
	s.trials[at] = t
	s.runs++
	switch t.Class {
	case Unproved:
		s.unproved++
	case Idle:
		s.idle++
	}
	harm := func(h Harm) {
		if !slices.Contains(s.harmed[h], at) {
			s.harmed[h] = append(s.harmed[h], at)
		}
	}
	for _, f := range t.Faults {
		harm(Harm(f.Property))
	}
	if denied {
		harm(NoLease)
	}
}

// lost adds a run that did not end.
func (s *seen) lost(at sitePlace, b *Broken) {
	s.tried[at] = true
	s.runs++
	s.unproved++
	s.broken = cmp.Or(s.broken, b)
}

// merge adds what came of a point in another calm run.
func (s *seen) merge(o *seen) {
	maps.Copy(s.tried, o.tried)
	maps.Copy(s.trials, o.trials)
	for h, sites := range o.harmed {
		s.harmed[h] = append(s.harmed[h], sites...)
		slices.SortFunc(s.harmed[h], sitePlace.compare)
	}
	s.sites += o.sites
	s.runs += o.runs
	s.unproved += o.unproved
	s.idle += o.idle
	s.broken = cmp.Or(s.broken, o.broken)
}
