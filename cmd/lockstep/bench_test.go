package main

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"lockstep/scenarios/search"
	"lockstep/sim/workers"
)

// BenchmarkSearchWorkers measures how many times as many runs a search makes in two worker processes as in one. The two take turns
// within one benchmark, and the medians count, so that a busy machine slows both.
func BenchmarkSearchWorkers(b *testing.B) {
	calm, err := search.Shape{Lock: "redlock", Nodes: 3}.Calm()
	if err != nil {
		b.Fatal(err)
	}
	rate := func(n int) float64 {
		s := &search.Search{Calm: calm, Workers: n}
		stop, err := s.Start(&workers.Supervisor{Command: func() *exec.Cmd { return exec.Command(os.Args[0]) }, Workers: n})
		if err != nil {
			b.Fatal(err)
		}
		defer stop()
		if _, err := s.Random(b.Context(), search.Portfolio, 1, 0); err != nil { // so that the workers have started
			b.Fatal(err)
		}
		start := time.Now()
		r, err := s.Random(b.Context(), search.Portfolio, 400, 0)
		if err != nil {
			b.Fatal(err)
		}
		return float64(r.Played) / time.Since(start).Seconds()
	}
	var one, two []float64
	for b.Loop() {
		one, two = append(one, rate(1)), append(two, rate(2))
	}
	slices.Sort(one)
	slices.Sort(two)
	alone, together := one[len(one)/2], two[len(two)/2]
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(alone, "runs/s-one")
	b.ReportMetric(together, "runs/s-two")
	b.ReportMetric(together/alone, "ratio")
}
