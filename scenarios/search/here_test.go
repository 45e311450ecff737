package search

import (
	"testing"

	"lockstep/clients"
)

// In one process, the same is found as with workers.
func TestHere(t *testing.T) {
	calm, err := Shape{Lock: "single"}.Calm()
	if err != nil {
		t.Fatal(err)
	}
	for _, lock := range []string{"single", "getdel"} {
		build, err := clients.Find(lock)
		if err != nil {
			t.Fatal(err)
		}
		s := Search{Calm: calm, Lock: lock, New: build, Fixed: true}
		want, err := s.Bound(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		last := 0
		s.Progress = func(done, known int) { last = known - done }
		got, err := s.Here(t.Context())
		if err != nil || last != 0 {
			t.Fatalf("%v, %d runs left", err, last)
		}
		if got.Sentence() != want.Sentence() || len(got.Found) != len(want.Found) || got.Levels[1] != want.Levels[1] {
			t.Errorf("%s: %s\n%+v; want %s\n%+v", lock, got.Sentence(), got.Levels, want.Sentence(), want.Levels)
		}
		for i, f := range got.Found {
			if g := want.Found[i]; f.Failing != g.Failing || f.Checksum != g.Checksum {
				t.Errorf("%s: %v, %s; want %v, %s", lock, f.Plan, f.Failing, g.Plan, g.Failing)
			}
		}
	}
}
