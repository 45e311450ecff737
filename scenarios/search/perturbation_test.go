package search

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// A plan is taken further by what its run comes to after its last perturbation, and by nothing else: so each set comes once.
func TestAfter(t *testing.T) {
	at := func(d time.Duration, node string) Perturbation {
		return Perturbation{At: d, Steps: []script.Step{script.AtStart{Fault: history.Crash{Process: node}}}}
	}
	possible := func() []Perturbation {
		return []Perturbation{at(1, "n1"), at(5, "n1"), at(5, "n2"), at(5, "n3"), at(9, "n1")}
	}
	if got, want := fmt.Sprint(after([]Perturbation{at(1, "n1"), at(5, "n2")}, possible())), fmt.Sprint(possible()[3:]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := after(nil, possible()); len(got) != len(possible()) {
		t.Errorf("of the calm run only %v", got)
	}
}

// What mends a link has an effect even if nothing was broken, so that it does not count.
func TestIdle(t *testing.T) {
	link := history.Link{From: "c1", To: "n1", Both: true}
	other := history.Link{From: "c1", To: "n2", Both: true}
	p := Perturbation{Kind: script.Parting, Steps: []script.Step{script.AtStart{Fault: history.Cut{Link: link}}, script.AtStart{Fault: history.Cut{Link: other}}, script.At{Time: time.Second, Fault: history.Heal{Link: link}}}}
	did := Effect{[]Perturbation{p}, [][]bool{{false, false, true}}}
	if rest, less := did.Rest(); len(did.idle()) != 1 || !less || len(rest) != 0 {
		t.Errorf("neither cut had an effect, and what had one is said to be %v", rest)
	}
	did.had = [][]bool{{false, true, true}}
	if rest, less := did.Rest(); len(did.idle()) != 0 || !less || fmt.Sprint(rest) != "[cut c1-n2]" {
		t.Errorf("one cut had an effect, and what had one is said to be %v", rest)
	}
}

// What the calm run violates as well is not the doing of a plan, and is not reduced to it.
func TestShrinkRefusesWhatNeedsNoFault(t *testing.T) {
	calm := calmShape(t, Shape{Lock: "nolock"})
	plan := []Perturbation{{Kind: script.Pausing, Client: "c1", Before: 1, Steps: []script.Step{script.Pause{For: time.Second}}}}
	err := play.Series(func(replayed play.Player) {
		x := &explorer{calm: calm, build: clients.NewNoLock, play: replayed}
		_, err := newShrinker(t.Context(), x, shrinking{Plan: plan, Failing: play.Failing{Property: checker.LeaseExclusion, Assumption: checker.None}}, 1)
		if err == nil || !strings.Contains(err.Error(), "the plan is not the cause") {
			t.Errorf("error %v", err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
