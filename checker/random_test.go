package checker

import (
	"testing"
)

const million = 1_000_000 // a rate error is in parts per million

// tally counts how often a property was violated and how often not.
type tally map[bool]int

// check fails the test if one of the two outcomes occurs in fewer than 1 in 50 draws: an oracle that only ever agrees on "ok" shows
// nothing. In 5,000 draws the rarer outcome occurred in at least 1 of 5 for each test, so with 100 draws this fails by chance once
// in ten million times. -short makes twenty draws, which is too few for this check.
func (c tally) check(t *testing.T) {
	t.Helper()
	t.Logf("%d violated, %d not", c[true], c[false])
	if total := c[true] + c[false]; min(c[true], c[false])*50 < total && !testing.Short() {
		t.Error("the outcomes are one-sided")
	}
}
