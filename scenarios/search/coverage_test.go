package search

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

func TestShare(t *testing.T) {
	for _, test := range []struct {
		found, n int
		want     string
	}{
		{0, 0, "no walk came to its end"},
		{0, 1, "0 of 1 walk found a violation: below 100 % per walk at 95 %"},
		{0, 3000, "0 of 3,000 walks found a violation: below 0.10 % per walk at 95 %"},
		{0, 300, "0 of 300 walks found a violation: below 1.0 % per walk at 95 %"},
		{0, 30, "0 of 30 walks found a violation: below 10 % per walk at 95 %"},
		{1, 10, "1 of 10 walks found a violation: 10 %, 1.8 % to 40 % at 95 %"}, // as in Brown, Cai, DasGupta, "Interval Estimation for a Binomial Proportion" (2001)
		{10, 10, "10 of 10 walks found a violation: 100 %, 72 % to 100 % at 95 %"},
		{50, 1000, "50 of 1,000 walks found a violation: 5.0 %, 3.8 % to 6.5 % at 95 %"},
		{6, 160, "6 of 160 walks found a violation: 3.8 %, 1.7 % to 7.9 % at 95 %"},
	} {
		if got := Share(test.found, test.n); got != test.want {
			t.Errorf("Share(%d, %d) = %q, want %q", test.found, test.n, got, test.want)
		}
	}
}

// A place is the same whatever the magnitude.
func TestPlacesHaveNoMagnitudes(t *testing.T) {
	places := map[string]int{}
	for _, text := range []string{
		"drift n1 +5000ppm", "drift n1 -100000ppm", "when n1 sets c1 pause n1 5s", "when n1 sets c1 pause n1 12s", "when n1 sets c1 #2 pause n1 12s",
		"on request SET c1->n1 delay 25ms", "on request SET c1->n1 delay 2500ms", "on request SET c1->n1 reset",
		"when c1 acquires jump c1 -12s", "when c1 acquires jump c1 +12s",
	} {
		step, err := script.ParseStep(script.Nemesis, text)
		if err != nil {
			t.Fatal(err)
		}
		places[Perturbation{Kind: script.Pausing, Steps: []script.Step{step}}.place()]++
	}
	if len(places) != 6 {
		t.Errorf("%d places, want 6: %v", len(places), places)
	}
}

// Runs of two seeds behave alike if their clients and nodes go through the same, though at other times.
func TestBehavioursHaveNoTimes(t *testing.T) {
	play.QuietRedis()
	calm, err := Shape{Lock: "single"}.Calm()
	if err != nil {
		t.Fatal(err)
	}
	of := func(s *script.Scenario, seed uint64) uint64 {
		o, err := play.Simulate(s, s.Runs[0], clients.NewSingle, seed)
		if err != nil {
			t.Fatal(err)
		}
		return behaviour(o.History)
	}
	if of(calm, 1) != of(calm, 3) {
		t.Errorf("two calm runs behave otherwise")
	}
	if dies := Perturbed(calm, faultsOf(t, "when c1 acquired crash c1")); of(calm, 1) == of(dies, 1) {
		t.Error("a client that dies behaves as one that lives")
	}
}

func faultsOf(t *testing.T, texts ...string) []Perturbation {
	t.Helper()
	var plan []Perturbation
	for _, text := range texts {
		p := Perturbation{Kind: script.Pausing}
		for one := range strings.SplitSeq(text, "; ") {
			step, err := script.ParseStep(script.Nemesis, one)
			if err != nil {
				t.Fatal(err)
			}
			p.Steps = append(p.Steps, step)
		}
		plan = append(plan, p)
	}
	return plan
}

// Each state is reached in a run that is made for it, and not in the calm run of the same shape.
func TestStatesAreReached(t *testing.T) {
	play.QuietRedis()
	three := Shape{Lock: "redlock", Nodes: 3}
	single := Shape{Lock: "single"}
	copied := Shape{Lock: "single", Replicas: 1}
	extending := Shape{Lock: "redlock-extend", Nodes: 3, Extend: true}
	for _, test := range []struct {
		state string
		shape Shape
		plan  []string
	}{
		{splitVote, three, []string{"delay c1-n2 10ms", "delay c1-n3 10ms"}},
		{splitEvenly, Shape{Lock: "redlock", Nodes: 2}, []string{"delay c1-n2 10ms"}},
		{failsGranted, three, []string{"on reply SET n1->c1 reset", "on reply SET n2->c1 reset"}},
		{returnsAfterKeys, three, []string{"delay n1->c1 20ms", "delay n2->c1 20ms", "delay n3->c1 20ms", "when n1 sets c1 +10ms pause c1 12s"}},
		{setsAfterGivingUp, three, []string{"on request SET c1->n1 delay 100ms"}},
		{returnsLate, single, []string{"when n1 sets c1 pause c1 6s"}},
		{acquiresClosely, single, []string{"when c1 acquired pause c1 12s"}},
		{requestUnderWay, single, []string{"on request EVALSHA c1->n1 delay 8s"}},
		{replyTooLate, three, []string{"on reply SET n1->c1 delay 100ms"}},
		{acquiresDown, three, []string{"crash n1", "at 12s restart n1"}},
		{majorityDown, three, []string{"crash n1", "crash n2", "at 12s restart n1", "at 12s restart n2"}},
		{majorityDown, single, []string{"crash n1", "at 12s restart n1"}},
		{nodeStalls, three, []string{"when c1 acquires pause n1 5s"}},
		{cutOff, three, []string{"when c1 acquired cut c1-n1", "when c1 acquired cut c1-n2"}},
		{cutOff, three, []string{"when c1 acquired cut n1->c1", "when c1 acquired cut c1->n1", "when c1 acquired cut c1-n2"}},
		{resumesTooLate, single, []string{"when c1 acquired pause c1 12s"}},
		{resumesSucceeded, single, []string{"when c1 acquired pause c1 12s"}},
		{expiresInPause, single, []string{"when c1 acquired pause c1 12s"}},
		{goneTooEarly, single, []string{"when c1 acquired jump n1 +12s"}},
		{staysTooLong, single, []string{"when c1 acquired jump n1 -12s", "when c1 acquired crash c1"}},
		{writeUnderWay, single, []string{"on request write c1->resource delay 12s"}},
		{writeLate, single, []string{"when c1 acquired pause c1 12s"}},
		{writeSucceeded, single, []string{"when c1 acquired pause c1 12s"}},
		{extendsLate, extending, []string{"when c1 writes A0 pause c1 12s"}},
		{releasesLate, single, []string{"when c1 wrote A0 pause c1 12s"}},
		{releasesOthers, single, []string{"when c1 wrote A0 pause c1 11s"}},
		{diesAcquiring, single, []string{"when n1 sets c1 crash c1"}},
		{diesHolding, single, []string{"when c1 acquired crash c1"}},
		{holderJumps, single, []string{"when c1 acquired jump c1 +12s"}},
		{nodeJumps, single, []string{"when n1 sets c1 jump n1 -12s"}},
		{restartsKeeping, single, []string{"when c1 acquired crash n1", "when c1 acquired +50ms restart n1"}},
		{restartsLosing, single, []string{"when c1 acquired crash n1", "when c1 acquired +50ms restart n1 empty"}},
		{promotedKeeping, copied, []string{"when c1 acquired +50ms promote r1"}},
		{promotedLosing, copied, []string{"cut n1-r1", "when c1 acquired promote r1"}},
		{twoPrimaries, copied, []string{"cut n1-r1", "when c1 released +10ms promote r1"}},
	} {
		build, err := clients.Find(test.shape.Lock)
		if err != nil {
			t.Fatal(err)
		}
		calm, err := test.shape.Calm()
		if err != nil {
			t.Fatal(err)
		}
		for _, perturbed := range []bool{false, true} {
			s := calm
			if perturbed {
				s = Perturbed(calm, faultsOf(t, test.plan...))
			}
			o, err := play.Simulate(s, s.Runs[0], build, 1)
			if err != nil {
				t.Fatal(err)
			}
			if reached(o.Facts)[test.state] != perturbed {
				t.Errorf("%q with %v: reached %t, want %t\n%s", test.state, test.plan, !perturbed, perturbed, o.Timeline())
			}
		}
	}
	o := calmOutcome(t, single)
	if !reached(o.Facts)[asksWhileHeld] {
		t.Errorf("%q is not reached by a calm run", asksWhileHeld)
	}
}

// From a node that it can still send to, or hear from, a holder is not cut off.
func TestOneWayIsNotCutOff(t *testing.T) {
	play.QuietRedis()
	shape := Shape{Lock: "redlock", Nodes: 3}
	for _, link := range []string{"c1->n2", "n2->c1"} {
		calm, build := calmOf(t, shape, shape.Lock)
		s := Perturbed(calm, faultsOf(t, "when c1 acquired cut c1-n1", "when c1 acquired cut "+link))
		o, err := play.Simulate(s, s.Runs[0], build, 1)
		if err != nil {
			t.Fatal(err)
		}
		if reached(o.Facts)[cutOff] {
			t.Errorf("%s is cut one way: reached %q", link, cutOff)
		}
	}
}

// A state that the kinds of a search cannot lead to is no gap in what it covered; one that was reached counts all the same.
func TestStatesNeedKinds(t *testing.T) {
	play.QuietRedis()
	o := calmOutcome(t, Shape{Lock: "redlock", Nodes: 3})
	for _, test := range []struct {
		kind script.Kind
		want bool
	}{{script.Pausing, true}, {script.Dying, false}} {
		c := &Coverage{}
		c.add(Trial{Class: Survived}, nil, []script.Kind{test.kind}, o)
		if _, listed := c.States[resumesTooLate]; listed != test.want {
			t.Errorf("%s alone: %q is listed: %t, want %t", test.kind, resumesTooLate, listed, test.want)
		}
		if c.States[asksWhileHeld] != 1 {
			t.Errorf("%s alone: %q was reached %d times, want once", test.kind, asksWhileHeld, c.States[asksWhileHeld])
		}
	}
	calm, build := calmOf(t, Shape{}, "single")
	s := Perturbed(calm, faultsOf(t, "when c1 acquired crash c1"))
	o, err := play.Simulate(s, s.Runs[0], build, 1)
	if err != nil {
		t.Fatal(err)
	}
	c := &Coverage{}
	c.add(Trial{Class: Survived}, nil, []script.Kind{script.Delaying}, o)
	if c.States[diesHolding] != 1 {
		t.Errorf("%q was reached, and is not counted", diesHolding)
	}
}

// A perturbation is effective if one of its own faults had an effect, whatever the class of its run.
func TestEffective(t *testing.T) {
	play.QuietRedis()
	o := calmOutcome(t, Shape{Lock: "single"})
	plan := faultsOf(t, "crash n1", "jump c1 +1s")
	for _, class := range []Class{Survived, Idle, Violating, Unproved} {
		c := &Coverage{}
		c.add(Trial{Plan: plan, Class: class, Idle: plan[:1]}, plan[:1], script.Kinds(), o)
		c.add(Trial{Plan: plan, Class: class, Idle: plan[:1]}, plan[1:], script.Kinds(), o)
		if k := c.Kinds[script.Pausing]; k.Runs != 2 || k.Bit != 1 {
			t.Errorf("%s: %d of %d were effective, want 1 of 2", class, k.Bit, k.Runs)
		}
	}
}

func calmOutcome(t testing.TB, shape Shape) *play.Outcome {
	t.Helper()
	calm, build := calmOf(t, shape, shape.Lock)
	o, err := play.Simulate(calm, calm.Runs[0], build, 1)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// What is printed has at most 100 columns, and names what was never reached.
func TestCoverageLines(t *testing.T) {
	play.QuietRedis()
	c := walked(t, Shape{Lock: "redlock", Nodes: 3}, []script.Kind{script.Delaying, script.Parting}, &walks{Strategy: Lineage, From: 1, To: 9}, Task{}).Coverage
	text := strings.Join(c.Lines(), "\n")
	for _, line := range c.Lines() {
		if utf8.RuneCountInString(line) > 100 {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
	for _, want := range []string{"0 of 8 walks found a violation: below 38 % per walk at 95 %", "\ndelay ", "\npartition ", "never  " + splitEvenly, "  " + asksWhileHeld} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	for _, unwanted := range []string{promotedLosing, extendsLate, holderJumps, diesHolding, nodeStalls} {
		if strings.Contains(text, unwanted) {
			t.Errorf("%q is not possible here, and yet in\n%s", unwanted, text)
		}
	}
	t.Log("\n" + text)
}

// To see what a run covers takes little of the time of the run.
func BenchmarkCoverage(b *testing.B) {
	play.QuietRedis()
	o := calmOutcome(b, Shape{Lock: "redlock", Nodes: 3})
	c := &Coverage{}
	for b.Loop() {
		c.add(Trial{Class: Survived}, nil, script.Kinds(), o)
	}
	calm, build := calmOf(b, Shape{Nodes: 3}, "redlock")
	b.StopTimer()
	start := time.Now()
	if _, err := play.Simulate(calm, calm.Runs[0], build, 1); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(time.Since(start).Nanoseconds()), "ns/run")
}

// Of a search that played nothing nothing is known: no probability, and no tables without lines.
func TestCoverageOfNothing(t *testing.T) {
	if got := (&Coverage{}).Lines(); !slices.Equal(got, []string{"no walk came to its end"}) {
		t.Errorf("%q", got)
	}
}
