package scenarios

import (
	"testing"
	"time"
)

func TestTmpHunts(t *testing.T) {
	for _, h := range hunts {
		if h.beyond != "" {
			continue
		}
		t.Run(h.lock, func(t *testing.T) {
			t.Parallel()
			calm, build := h.broken(t)
			start := time.Now()
			for bound := 1; bound <= 2; bound++ {
				found := false
				search := &Search{Calm: calm, Kinds: h.kinds, New: build}
				b, err := search.Bound(t.Context(), bound)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range b.Found {
					ok := false
					for _, x := range f.Faults {
						ok = ok || x.Property == h.property
					}
					t.Log(ok, f.Plan, f.Faults, f.Broke)
					found = found || ok
				}
				t.Log(bound, b.Sentence(), time.Since(start))
				if found {
					break
				}
				if time.Since(start) > 100*time.Second {
					break
				}
			}
		})
	}
}
