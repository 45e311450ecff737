package checker

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// A stretch is a time from an instant up to, but not including, another.
type stretch struct{ from, to time.Duration }

// merge joins stretches that overlap or touch, and sorts them. It drops empty ones.
func merge(s []stretch) []stretch {
	s = slices.DeleteFunc(slices.Clone(s), func(s stretch) bool { return s.from >= s.to })
	slices.SortFunc(s, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	var merged []stretch
	for _, x := range s {
		if n := len(merged); n > 0 && x.from <= merged[n-1].to {
			merged[n-1].to = max(merged[n-1].to, x.to)
		} else {
			merged = append(merged, x)
		}
	}
	return merged
}

// without returns a without b; both must be merged.
func without(a, b []stretch) []stretch {
	var left []stretch
	n := 0
	for _, x := range a {
		for n < len(b) && b[n].to <= x.from {
			n++
		}
		for k := n; k < len(b) && b[k].from < x.to; k++ {
			if x.from < b[k].from {
				left = append(left, stretch{x.from, b[k].from})
			}
			x.from = b[k].to
		}
		if x.from < x.to {
			left = append(left, x)
		}
	}
	return left
}

// covers reports whether t is in one of the stretches, which must be merged.
func covers(s []stretch, t time.Duration) bool {
	n := sort.Search(len(s), func(n int) bool { return s[n].from > t })
	return n > 0 && t < s[n-1].to
}

// touches returns the first of the stretches, which must be merged, that overlaps with another.
func touches(s []stretch, other stretch) (stretch, bool) {
	n := sort.Search(len(s), func(n int) bool { return s[n].to > other.from })
	if n < len(s) && s[n].from < other.to && other.from < other.to {
		return s[n], true
	}
	return stretch{}, false
}

// stretches returns the spans in true time. One that nothing ends lasts for ever.
func (ix *index) stretches(spans []span) []stretch {
	var s []stretch
	for _, x := range spans {
		to := never
		if x.to < len(ix.Events) {
			to = ix.at(x.to)
		}
		s = append(s, stretch{ix.at(x.from), to})
	}
	return merge(s)
}

// length returns the total length of stretches, which must be merged.
func length(s []stretch) time.Duration {
	var total time.Duration
	for _, x := range s {
		total += x.to - x.from
	}
	return total
}
