package search

import "testing"

// The first line of a reason announces what follows it, which is named.
func TestHeadOfReason(t *testing.T) {
	for why, want := range map[string]string{
		"the lock panicked\nmore":                                      "the lock panicked",
		"goroutines left behind:\n  goroutine 20 waits (select)\nmore": "goroutines left behind: goroutine 20 waits (select)",
		"goroutines left behind:":                                      "goroutines left behind",
	} {
		if got := headOf(why); got != want {
			t.Errorf("%q: got %q, want %q", why, got, want)
		}
	}
}
