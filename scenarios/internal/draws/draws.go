// Package draws spreads the random draws of a test over several days.
package draws

import (
	"flag"
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
