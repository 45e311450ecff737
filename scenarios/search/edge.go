package search

import "fmt"

// Edge finds the least value above lo, up to hi, at which something is unsafe, by bisection: how fast a clock may run, or how
// late a message may come, before a lock breaks. Unsafe must be false at lo, true at hi, and change once in between; Edge checks
// only the ends. The error is that of unsafe, or says which end is wrong.
func Edge(lo, hi int64, unsafe func(int64) (bool, error)) (int64, error) {
	if lo >= hi {
		return 0, fmt.Errorf("there is no edge between %d and %d", lo, hi)
	}
	for _, end := range []int64{lo, hi} {
		broken, err := unsafe(end)
		switch {
		case err != nil:
			return 0, fmt.Errorf("at %d: %w", end, err)
		case broken && end == lo:
			return 0, fmt.Errorf("it is unsafe at %d already", lo)
		case !broken && end == hi:
			return 0, fmt.Errorf("it is safe up to %d", hi)
		}
	}
	for hi-lo > 1 {
		middle := lo + (hi-lo)/2
		broken, err := unsafe(middle)
		if err != nil {
			return 0, fmt.Errorf("at %d: %w", middle, err)
		}
		if broken {
			hi = middle
		} else {
			lo = middle
		}
	}
	return hi, nil
}
