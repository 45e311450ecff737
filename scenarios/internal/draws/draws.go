// Package draws spreads the random draws of a test over several days.
package draws

import (
	"flag"
	"testing"
	"time"
)

var all = flag.Bool("all-draws", false, "make every draw of the tests that otherwise make a part of them each day")

// Due reports whether the draw with a number is made today: of some parts, which take turns, its part is that of the day in UTC.
// With -all-draws every draw is.
func Due(draw, parts uint64) bool {
	return *all || due(draw, parts, time.Now())
}

func due(draw, parts uint64, now time.Time) bool {
	return draw%parts == uint64(now.Unix()/86400)%parts
}

// Seldom skips a test, or a part of one, with -short: of some parts, which take turns, all but that of the day.
func Seldom(t testing.TB, part, parts uint64) {
	t.Helper()
	if testing.Short() && !Due(part, parts) {
		t.Skip("with -short, on another day")
	}
}
