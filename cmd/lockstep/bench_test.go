package main

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"lockstep/scenarios/search"
	"lockstep/sim/workers"
)

// rate returns how many runs per second a search makes in so many worker processes.
func rate(b *testing.B, shape search.Shape, processes, runs int) float64 {
	calm, err := shape.Calm()
	if err != nil {
		b.Fatal(err)
	}
	s := &search.Search{Calm: calm, Workers: processes}
	stop, err := s.Start(&workers.Supervisor{Command: func() *exec.Cmd { return exec.Command(os.Args[0]) }, Workers: processes})
	if err != nil {
		b.Fatal(err)
	}
	defer stop()
	if _, err := s.Random(b.Context(), search.Portfolio, 1, 0); err != nil { // so that the workers have started
		b.Fatal(err)
	}
	start := time.Now()
	r, err := s.Random(b.Context(), search.Portfolio, runs, 0)
	if err != nil {
		b.Fatal(err)
	}
	return float64(r.Played) / time.Since(start).Seconds()
}

// BenchmarkSearchWorkers measures how many times as many runs a search makes in two worker processes as in one. The two take turns
// within one benchmark, and the medians count, so that a busy machine slows both.
func BenchmarkSearchWorkers(b *testing.B) {
	shape := search.Shape{Lock: "redlock", Nodes: 3}
	var one, two []float64
	for b.Loop() {
		one, two = append(one, rate(b, shape, 1, 400)), append(two, rate(b, shape, 2, 400))
	}
	slices.Sort(one)
	slices.Sort(two)
	alone, together := one[len(one)/2], two[len(two)/2]
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(alone, "runs/s-one")
	b.ReportMetric(together, "runs/s-two")
	b.ReportMetric(together/alone, "ratio")
}

// BenchmarkMillionRuns measures what a million runs of a random search cost, in hours of one core. It keeps every core of the machine
// busy, one worker process for each, and counts all of them, so that the cost of the process that leads the search is in the figure.
func BenchmarkMillionRuns(b *testing.B) {
	cores := runtime.NumCPU()
	for _, of := range []struct {
		name  string
		shape search.Shape
	}{
		{"single", search.Shape{Lock: "single", Nodes: 1}},
		{"single-short", search.Shape{Lock: "single", Nodes: 1, Workload: search.Short}},
		{"single-replica", search.Shape{Lock: "single", Nodes: 1, Replicas: 1}},
		{"redlock-3", search.Shape{Lock: "redlock", Nodes: 3}},
		{"redlock-5", search.Shape{Lock: "redlock", Nodes: 5}},
		{"redlock-5-warm", search.Shape{Lock: "redlock", Nodes: 5, Pool: "warm"}},
		{"watchdog-beyond", search.Shape{Lock: "watchdog", Nodes: 1, Workload: search.Beyond}},
		{"redsync-5", search.Shape{Lock: "redsync", Nodes: 5}},
		{"redislock", search.Shape{Lock: "redislock", Nodes: 1}},
	} {
		b.Run(of.name, func(b *testing.B) {
			var all []float64
			for b.Loop() {
				all = append(all, rate(b, of.shape, cores, 2000))
			}
			slices.Sort(all)
			median := all[len(all)/2]
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median, "runs/s")
			b.ReportMetric(float64(cores)*1e6/median/3600, "core-hours/million")
		})
	}
}
