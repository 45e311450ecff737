package checker

import (
	"slices"
	"strings"
	"testing"

	"lockstep/checker/facts"
	"lockstep/checker/internal/handmade"
)

// If code ran on while its process was paused, the run proves nothing, unless there was a violation before.
func TestRanOn(t *testing.T) {
	const (
		ranOn = "c1 ran on while it was paused: it takes its time from package time, so this run proves nothing about a pause"

		// c1 holds the lock until 20, and n1 loses the key at 3, so that c2 gets the lock as well. c1 resumes at 14.
		early = `
			probe probe
			bound 5
			0    c1 invoke acquire id=1
			0.1  n1 set c1#1
			0.2  c1 ok acquire c1#1 until=20 id=1
			1    c1 fault pause id=1 pause_c1_13s
			3    n1 lose c1#1
		`
		second = `
			4    c2 invoke acquire id=1
			4.1  n1 set c2#1
			5    c2 ok acquire c2#1 until=13 id=1
		`
		resume = `
			14   c1 fault resume
			14   c1 bite id=1
		`
		late = `
			15   c2 invoke acquire id=2
			15.1 n1 set c2#2
			16   c2 ok acquire c2#2 until=24 id=2
		`
		end = `
			17   c1 info exit
			18   c2 info exit
			26   n1 expire c2#1
			30   probe invoke acquire id=1
			30.1 n1 set probe#1
			30.2 probe ok acquire probe#1 until=39 id=1
		`
	)
	for _, c := range []struct {
		name, story string
		verdict     Verdict
		violations  int
		exclusion   Status
		freedom     Status
		unmet       []string
	}{
		{"nobody ran on", early + second + resume + end, Unsafe, 1, Violated, OK, nil},
		{"after the violation", early + second + "6 c1 info unpaused\n" + resume + end, Unsafe, 1, Violated, Unknown, nil},
		{"before the violation, and what it sent was kept", early + "3 c1 info unpaused\n" + second + resume + end, Unsafe, 1, Violated, Unknown, nil},
		{"before the violation, and it did something", early + "3 c1 info unpaused\n3 c1 invoke read id=2\n" + second + resume + end, Inconclusive, 1, Violated, OK, []string{ranOn}},
		{"before the violation, and messages reached it", early + "3 c1 info unpaused\n3 c1 deliver n1 sent=2.9\n" + second + resume + end, Unsafe, 1, Violated, Unknown, nil},
		{"before the violation, and it was told something", strings.Replace(early, "1    c1 fault", "0.9 c1 invoke read id=2\n1 c1 fault", 1) + "3 c1 info unpaused\n3 c1 ok read id=2\n" + second + resume + end, Inconclusive, 1, Violated, OK, []string{ranOn}},
		{"before the violation, and its lock did something", early + "3 c1 info unpaused\n3 c1 info renew c1#1 until=20\n" + second + resume + end, Inconclusive, 1, Violated, OK, []string{ranOn}},
		{"and resumed before the violation", early + "6 c1 info unpaused\n" + resume + late + end, Inconclusive, 1, Violated, OK, []string{ranOn}},
		{"one violation stands, another does not", early + second + "6 c1 info unpaused\n" + resume + late + end, Unsafe, 1, Violated, Unknown, nil},
		{"no violation", early + "6 c1 info unpaused\n" + resume + end, Inconclusive, 0, OK, OK, []string{ranOn}},
		{"a violation that is about the end", early + "6 c1 info unpaused\n" + resume + "17 c1 info exit\n", Inconclusive, 0, OK, Unknown, []string{ranOn}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := handmade.History(t, c.story)
			r := Check(facts.Of(h), nil)
			checkResult(t, h, r)
			if r.Verdict != c.verdict || len(r.Violations) != c.violations || !slices.Equal(r.Unmet, c.unmet) {
				t.Errorf("%s, %d violations, unmet %q\nwant %s, %d, %q", r.Verdict, len(r.Violations), r.Unmet, c.verdict, c.violations, c.unmet)
			}
			if got := r.Status(LeaseExclusion); got != c.exclusion {
				t.Errorf("lease exclusion %s, want %s", got, c.exclusion)
			}
			if got := r.Status(DeadlockFreedom); got != c.freedom {
				t.Errorf("deadlock freedom %s, want %s", got, c.freedom)
			}
		})
	}
}

// A violation from before the code ran on stands if it is about something that happened. It does not stand if it is about something
// that did not happen in time, since that might have happened later.
func TestStanding(t *testing.T) {
	const granted = "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=10 fence=2\n"
	for _, c := range []struct {
		property Property
		story    string
		stands   bool
	}{
		{LeaseExclusion, granted + "1 n1 lose c1#1\n2 c2 invoke acquire\n2.1 n1 set c2#1\n2.2 c2 ok acquire c2#1 until=12 fence=3", true},
		{ResourceExclusion, granted + "10.1 n1 expire c1#1\n11 c2 invoke acquire\n12 n1 set c2#1\n12 resource accept A c1#1 sent=11.9\n12.1 c2 ok acquire c2#1 until=22 fence=3", true},
		{ExpiredOnReturn, "0 c1 invoke acquire\n10 c1 ok acquire c1#1 until=10", true},
		{OwnerOnly, granted + "4 n1 delete c1#1 by=c9", true},
		{Tokens, granted + "10.1 n1 expire c1#1\n11 c2 invoke acquire\n12 n1 set c2#1\n12.1 c2 ok acquire c2#1 until=22 fence=1", true},
		{FaultTolerance, "0 c2 invoke acquire\n20 c2 fail acquire", false},
		{DeadlockFreedom, "probe c2\nbound 5\n0 c2 invoke acquire\n20 c2 fail acquire", false},
		{NoLostUpdate, "0 c2 invoke increment\n0.1 c2 ok increment 7", false},
	} {
		const unpaused = "\n29 c3 fault pause id=1\n30 c3 info unpaused\n31 c3 fault resume\n31 c3 bite id=1"
		if r := Check(facts.Of(handmade.History(t, c.story+"\n28 c2 info exit")), nil); r.Status(c.property) != Violated {
			t.Errorf("%s: %s where nobody ran on", c.property, r.Status(c.property))
		}
		r := Check(facts.Of(handmade.History(t, c.story+unpaused)), nil)
		if stands := r.Verdict == Unsafe; stands != c.stands || stands && r.Status(c.property) != Violated {
			t.Errorf("%s: %s, %s, unmet %q; stands: want %v", c.property, r.Verdict, r.Status(c.property), r.Unmet, c.stands)
		}
	}
}

// The reason for UNKNOWN says why a fault had no effect, if that is known. For a clock fault of a client it says that the fault
// cannot reach the lock; for one of a server it says only that the fault had no effect.
func TestIdleFault(t *testing.T) {
	for _, c := range []struct{ fault, why string }{
		{"0 c1 fault drift ppm=-50000 id=9 drift_c1_-50000ppm", "the fault `drift c1 -50000ppm` had no effect: from then on the lock of c1 read no clock of its process, and the clock of package time cannot be set"},
		{"0 c1 fault jump id=9 jump_c1_-3s", "the fault `jump c1 -3s` had no effect: from then on the lock of c1 read no clock of its process, and the clock of package time cannot be set"},
		{"0 n1 fault jump id=9 jump_n1_-3s", "the fault `jump n1 -3s` had no effect"},
		{"0 resource fault jump id=9 jump_resource_-3s", "the fault `jump resource -3s` had no effect"},
		{"0 c1 fault missed id=9 pause_c1_3s", "the fault `pause c1 3s` had no effect: its moment never came"},
		{"0 c9 info exit\n0 c9 fault pause id=9 pause_c9_3s", "the fault `pause c9 3s` had no effect: c9 had already finished all its steps (at 0.000s)"},
		{"0 c9 fault pause id=9 pause_c9_3s\n0 c9 info exit", "the fault `pause c9 3s` had no effect"},
		{"0 c1 fault cut id=9 cut_c1-n4", "the fault `cut c1-n4` had no effect"},
	} {
		if r := Check(facts.Of(handmade.History(t, c.fault+"\n"+calm)), nil); r.Verdict != Inconclusive || !slices.Equal(r.Unmet, []string{c.why}) {
			t.Errorf("%s: %s, %q\nwant %q", c.fault, r.Verdict, r.Unmet, c.why)
		}
	}
}
