package scenarios

import (
	"testing"
	"time"

	"lockstep/clients/libraries"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// BenchmarkGuests reports how many times as long a short run takes if its clients are guests. Most of it is starting them.
func BenchmarkGuests(b *testing.B) {
	play.QuietRedis()
	lock, err := libraries.Find("redislock")
	if err != nil {
		b.Fatal(err)
	}
	s, err := script.Find("pause-after-acquire")
	if err != nil {
		b.Fatal(err)
	}
	native := s.Runs[0].With(lock.Name)
	guests := native
	guests.Guests = true
	took := func(run script.Section) time.Duration {
		start := time.Now()
		if _, err := play.Simulate(s, run, lock.New, 1); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	took(guests) // compiles the program
	var natives, others time.Duration
	for b.Loop() {
		natives += took(native)
		others += took(guests)
	}
	b.ReportMetric(float64(others)/float64(natives), "guests/native")
	b.ReportMetric(0, "ns/op")
}
