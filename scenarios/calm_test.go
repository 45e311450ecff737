package scenarios

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/internal/draws"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim"
	"lockstep/sim/history"
)

// TestNoFalseAlarm: proper locks are SAFE whenever nothing goes wrong but what they are made for: several clients at once,
// at any moment, over links that are slow by different amounts.
func TestNoFalseAlarm(t *testing.T) {
	play.QuietRedis()
	seeds := uint64(1000)
	if testing.Short() {
		seeds = 20
	}
	shapes := []script.Section{
		{Lock: "watch", Nodes: 1, Resource: script.Counter},
		{Lock: "watch-retry", Nodes: 1, Resource: script.Counter},
		{Lock: "single", Nodes: 1},
		{Lock: "single", Nodes: 1, Resource: script.Counter},
		{Lock: "single-retries", Nodes: 1},
		{Lock: "single-delex", Nodes: 1},
		{Lock: "single-extend", Nodes: 1},
		{Lock: "single-wait", Nodes: 1, Replicas: 1},
		{Lock: "fenced", Nodes: 1, Resource: script.Fenced},
		{Lock: "redlock", Nodes: 5},
		{Lock: "redlock", Nodes: 4, Resource: script.Counter},
		{Lock: "redlock-sequential", Nodes: 5},
		{Lock: "redlock-wall", Nodes: 5},
		{Lock: "redlock-extend", Nodes: 3},
		{Lock: "watchdog", Nodes: 1},
	}
	flawed := []string{
		"nolock", "watch-in-multi", "setnx", "setnx-expire", "setnx-repair", "getset", "fixed", "getdel", "multidel", "single-usec",
	}
	for _, l := range clients.Locks() {
		proper := slices.ContainsFunc(shapes, func(s script.Section) bool { return s.Lock == l.Name })
		if proper == slices.Contains(flawed, l.Name) {
			t.Errorf("%s must be either among the shapes of this test or among the flawed locks", l.Name)
		}
	}
	for _, shape := range shapes {
		name := shape.Lock
		if shape.Resource != "" {
			name += "/" + shape.Resource
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			build, err := clients.Find(shape.Lock)
			if err != nil {
				t.Fatal(err)
			}
			for seed := range seeds {
				if !testing.Short() && !draws.Due(seed, 20) {
					continue
				}
				s, r := drawCalm(shape, seed)
				o, err := play.Simulate(s, r, build, seed)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if diffs := append(o.Unexpected(), o.Result.Unmet...); len(diffs) > 0 {
					t.Fatalf("seed %d: %q\n%s\n%s", seed, diffs, s, o.Timeline())
				}
			}
		})
	}
}

// drawCalm draws a run in which nothing goes wrong.
func drawCalm(shape script.Section, seed uint64) (*script.Scenario, script.Section) {
	draw := sim.Rand(seed, "calm", shape.Lock+shape.Resource)
	span := func(from, to time.Duration) time.Duration {
		return from + time.Duration(draw.Int64N(int64((to-from)/time.Millisecond)))*time.Millisecond
	}
	s := &script.Scenario{Name: "calm", File: "calm.txtar", Title: "Nothing goes wrong.", TTL: span(8*time.Second, 30*time.Second)}
	var nemesis []script.Step
	for c := range 1 + draw.IntN(5) {
		name := fmt.Sprintf("c%d", c+1)
		steps := []script.Step{script.Until{Time: span(0, 100*time.Millisecond)}}
		for range 1 + draw.IntN(3) {
			if shape.Resource == script.Counter {
				steps = append(steps, script.Repeat{N: 1 + draw.IntN(5), Step: script.Increment{Within: time.Minute}})
				continue
			}
			steps = append(steps, script.Acquire{Within: time.Minute}, script.Write{Value: "A" + name})
			if draw.IntN(2) == 0 {
				steps = append(steps, script.Sleep{For: span(0, s.TTL/4)})
			}
			if shape.Lock == "redlock-extend" {
				steps = append(steps, script.Extend{}, script.Sleep{For: span(0, s.TTL/4)})
			}
			if shape.Lock == "watchdog" && draw.IntN(4) == 0 {
				steps = append(steps, script.Sleep{For: span(s.TTL, 2*s.TTL)}, script.Write{Value: "B" + name})
			}
			steps = append(steps, script.Release{})
		}
		s.Lanes = append(s.Lanes, script.Lane{Process: name, Steps: steps})
		for n := range shape.Nodes {
			if draw.IntN(2) == 0 && shape.Resource != script.Counter {
				link := history.Link{From: name, To: fmt.Sprintf("n%d", n+1), Both: true}
				nemesis = append(nemesis, script.AtStart{Fault: history.Delay{Link: link, By: span(time.Millisecond, 10*time.Millisecond)}})
			}
		}
	}
	if len(nemesis) > 0 {
		s.Lanes = append(s.Lanes, script.Lane{Process: script.Nemesis, Steps: nemesis})
	}
	s.Runs = []script.Section{shape}
	return s, slices.Clone(s.Runs)[0]
}
