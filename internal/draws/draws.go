// Package draws spreads the random draws of a test over several days.
package draws

import (
	"flag"
	"testing"
	"time"
)

// All says that nothing is left out.
var All = flag.Bool("all-draws", false, "make every draw of the tests that otherwise make a part of them each day")

// Due reports whether the draw with a number is made today: of some parts, which take turns, its part is that of the day in UTC.
// With -all-draws every draw is.
func Due(draw, parts uint64) bool {
	return *All || due(draw, parts, time.Now())
}

func due(draw, parts uint64, now time.Time) bool {
	return draw%parts == uint64(now.Unix()/86400)%parts
}

// Seldom makes a test, or a part of one, run on only one day in parts with -short: the parts take turns. With -all-draws nothing is skipped.
func Seldom(t testing.TB, part, parts uint64) {
	t.Helper()
	if testing.Short() && !Due(part, parts) {
		t.Skipf("with -short this runs on one day in %d", parts)
	}
}

// Turn makes a test, or a part of one, run on only one day in parts: the parts take turns. With -all-draws nothing is skipped.
func Turn(t testing.TB, part, parts uint64) {
	t.Helper()
	if !Due(part, parts) {
		t.Skipf("this runs on one day in %d, and with -all-draws", parts)
	}
}
