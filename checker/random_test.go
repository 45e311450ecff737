package checker

import (
	"testing"
)

const million = 1_000_000 // parts, of which a rate error counts some

// tally counts how often a property was violated and how often not.
type tally map[bool]int

// check fails the test if one outcome was rare, in fewer than 1 in 50 draws: an oracle that only ever agrees on "ok" shows nothing. In
// 5,000 draws the rarer one came in 1 of 5 or more for each test, so that with 100 draws this fails by chance once in ten million times.
// With -short there are twenty draws, which are too few to tell.
func (c tally) check(t *testing.T) {
	t.Helper()
	t.Logf("%d violated, %d not", c[true], c[false])
	if total := c[true] + c[false]; min(c[true], c[false])*50 < total && !testing.Short() {
		t.Error("the outcomes are one-sided")
	}
}
