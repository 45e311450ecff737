package facts

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"lockstep/sim/history"
)

// A Stretch is a time from an instant up to, but not including, another.
type Stretch struct{ From, To time.Duration }

// Merge joins stretches that overlap or touch, and sorts them. It drops empty ones.
func Merge(s []Stretch) []Stretch {
	s = slices.DeleteFunc(slices.Clone(s), func(s Stretch) bool { return s.From >= s.To })
	slices.SortFunc(s, func(a, b Stretch) int { return cmp.Compare(a.From, b.From) })
	var merged []Stretch
	for _, x := range s {
		if n := len(merged); n > 0 && x.From <= merged[n-1].To {
			merged[n-1].To = max(merged[n-1].To, x.To)
		} else {
			merged = append(merged, x)
		}
	}
	return merged
}

// Without returns a without b; both must be merged.
func Without(a, b []Stretch) []Stretch {
	var left []Stretch
	n := 0
	for _, x := range a {
		for n < len(b) && b[n].To <= x.From {
			n++
		}
		for k := n; k < len(b) && b[k].From < x.To; k++ {
			if x.From < b[k].From {
				left = append(left, Stretch{x.From, b[k].From})
			}
			x.From = b[k].To
		}
		if x.From < x.To {
			left = append(left, x)
		}
	}
	return left
}

// Covers reports whether t is in one of the stretches, which must be merged.
func Covers(s []Stretch, t time.Duration) bool {
	n := sort.Search(len(s), func(n int) bool { return s[n].From > t })
	return n > 0 && t < s[n-1].To
}

// Touches returns the first of the stretches, which must be merged, that overlaps with another.
func Touches(s []Stretch, other Stretch) (Stretch, bool) {
	n := sort.Search(len(s), func(n int) bool { return s[n].To > other.From })
	if n < len(s) && s[n].From < other.To && other.From < other.To {
		return s[n], true
	}
	return Stretch{}, false
}

// Stretches returns the spans in true time. One that nothing ends lasts for ever.
func (f *Facts) Stretches(spans []Span) []Stretch {
	var s []Stretch
	for _, x := range spans {
		to := history.NoEnd
		if x.To < len(f.Events) {
			to = f.At(x.To)
		}
		s = append(s, Stretch{f.At(x.From), to})
	}
	return Merge(s)
}

// Length returns the total length of stretches, which must be merged.
func Length(s []Stretch) time.Duration {
	var total time.Duration
	for _, x := range s {
		total += x.To - x.From
	}
	return total
}
