package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// The scenarios that are part of the program can be parsed, are printed as they are written, and have their names.
func TestPlotPages(t *testing.T) {
	for page, name := range map[string]string{alonePage: "alone", contendedPage: "contended"} {
		s, err := script.Parse(pageName(page), []byte(page))
		if err != nil {
			t.Fatal(err)
		}
		if s.Name != name || s.String() != page {
			t.Errorf("%s is printed as\n%s", s.Name, s)
		}
	}
}

// Every question that is allowed gives a valid scenario: clients ask in order, and the last asks after the end of the lease.
func TestDriftPage(t *testing.T) {
	q := driftQuestion{from: 0, to: mostDrift, steps: 2}
	for _, ttl := range []time.Duration{leastDriftTTL, time.Second, 10 * time.Second, mostDriftTTL} {
		for _, run := range []int{0, 7, 49} {
			s, err := script.Parse("drift.txtar", []byte(q.page(ttl, q.ppm(1), phase(run, 50))))
			if err != nil {
				t.Fatal(err)
			}
			if len(s.Lanes) != driftAsking+2 || len(s.Musts) != 1 || s.Runs[0].Lock != "redlock" {
				t.Errorf("TTL %v: %s", ttl, s)
			}
			first := s.Lanes[1].Steps[0].(script.Until).Time
			last := s.Lanes[driftAsking].Steps[0].(script.Until).Time
			if first <= ttl/2 || first >= validity(ttl) || last < validity(ttl) {
				t.Errorf("TTL %v, run %d: clients ask from %v to %v, but the lease ends at %v", ttl, run, first, last, validity(ttl))
			}
		}
	}
	if strings.Contains(q.page(time.Second, 0, 0), "drift n3") {
		t.Error("the scenario has a drift of 0, which has no effect")
	}
}

// The allowances are those in docs/scenarios.md.
func TestAllowance(t *testing.T) {
	for ttl, want := range map[time.Duration]string{10 * time.Second: "10305", time.Second: "12146", 2 * time.Second: "11122"} {
		if got := fmt.Sprintf("%.0f", allowance(ttl)); got != want {
			t.Errorf("TTL %v: %s ppm, want %s", ttl, got, want)
		}
	}
}

// The phases of some runs are spread evenly over the interval between two requests.
func TestPhase(t *testing.T) {
	for run, want := range []time.Duration{0, 2500 * time.Microsecond, 5 * time.Millisecond, 7500 * time.Microsecond} {
		if got := phase(run, 4); got != want {
			t.Errorf("run %d: %v, want %v", run, got, want)
		}
	}
}

// Rows of a lock are together, in the order that was asked for, and say only how they differ.
func TestRowTable(t *testing.T) {
	add := func(t *rowTable, scenario, lock, in, label string, nodes int) {
		h := &history.History{Meta: history.Meta{Scenario: scenario, Lock: lock, For: in, Label: label, On: "sim", Seed: uint64(len(t.keys) + 1)}}
		for i := range nodes {
			h.Meta.Nodes = append(h.Meta.Nodes, fmt.Sprintf("n%d", i+1))
		}
		t.add(facts.Of(h))
	}
	for _, c := range []struct {
		name, want, story string
		locks             []string
		add               func(*rowTable)
	}{
		{"one each", "single|| redlock||", "calm; seeds 1 to 2; in simulation", nil, func(t *rowTable) {
			add(t, "calm", "single", "", "", 1)
			add(t, "calm", "redlock", "", "", 5)
		}},
		{"two places", "redsync|on 1 node| redsync|on 5 nodes| single||", "calm; seeds 1 to 3; in simulation", []string{"redsync", "single"}, func(t *rowTable) {
			add(t, "calm", "single", "", "", 1)
			add(t, "calm", "redsync", "redlock", "", 5)
			add(t, "calm", "redsync", "single", "", 1)
		}},
		{"two scenarios", "single||calm single||busy redlock||calm", "calm, busy; seeds 1 to 3; in simulation", nil, func(t *rowTable) {
			add(t, "calm", "single", "", "", 1)
			add(t, "calm", "redlock", "", "", 5)
			add(t, "busy", "single", "", "", 1)
		}},
		{"a label, and the place of another on as many nodes", "redsync||for redlock redsync||many, for redlock-extend", "calm; seeds 1 to 2; in simulation", nil, func(t *rowTable) {
			add(t, "calm", "redsync", "redlock", "", 5)
			add(t, "calm", "redsync", "redlock-extend", "many", 5)
		}},
	} {
		table := &rowTable{quantity: checker.Wait}
		c.add(table)
		var got []string
		for _, r := range table.sorted(c.locks) {
			got = append(got, r.Lock+"|"+r.Place+"|"+r.Variant)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
		if story := table.story(""); story != c.story {
			t.Errorf("%s: %q, want %q", c.name, story, c.story)
		}
	}
}
