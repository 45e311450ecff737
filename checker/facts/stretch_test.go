package facts

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func anyStretches(t *rapid.T, name string) []Stretch {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Stretch {
		from := rapid.IntRange(0, 20).Draw(t, "from")
		return Stretch{time.Duration(from), time.Duration(from + rapid.IntRange(-1, 6).Draw(t, "length"))}
	}), 0, 6).Draw(t, name)
}

func inSome(s []Stretch, t time.Duration) bool {
	return slices.ContainsFunc(s, func(s Stretch) bool { return s.From <= t && t < s.To })
}

// Merging and subtracting stretches does the same as set operations on their instants.
func TestStretches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyStretches(t, "a"), anyStretches(t, "b")
		x, y := Merge(a), Merge(b)
		left := Without(x, y)
		for i := time.Duration(-1); i < 30; i++ {
			if Covers(x, i) != inSome(a, i) || inSome(x, i) != inSome(a, i) {
				t.Fatalf("%v is merged to %v, which differs at %d", a, x, i)
			}
			if inSome(left, i) != (inSome(a, i) && !inSome(b, i)) {
				t.Fatalf("%v without %v is %v, which is wrong at %d", x, y, left, i)
			}
		}
		for i := 1; i < len(x); i++ {
			if x[i-1].To >= x[i].From {
				t.Fatalf("%v is not merged", x)
			}
		}
		for _, s := range b {
			var want Stretch
			found := false
			for _, z := range x {
				if !found && max(z.From, s.From) < min(z.To, s.To) {
					want, found = z, true
				}
			}
			if got, ok := Touches(x, s); ok != found || got != want {
				t.Fatalf("%v touches %v in %v, want %v", s, x, got, want)
			}
		}
	})
}
