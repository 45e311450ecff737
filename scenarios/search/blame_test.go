package search

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/checker/explain"
	"lockstep/checker/facts"
	"lockstep/clients"
	"lockstep/internal/draws"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

var (
	blameFrom = flag.Uint64("blame-from", 0, "the first seed of the pages drawn at random that are replayed without their faults")
	blameTo   = flag.Uint64("blame-to", 0, "the seed after the last of them; 0: 300, of which a fifth has its turn each day")
)

// What a violation is blamed on is held to replays without the faults that break the assumption: over the catalogue, and over pages
// that are drawn at random. rueidislock is in the catalogue only: it waits by package time and leaves the order of simultaneous
// requests to the Go scheduler, so that a replay may differ by more than the fault that was taken away.
func TestBlameIsCounterfactual(t *testing.T) {
	draws.Seldom(t, 0, 4)
	play.QuietRedis()
	all, err := script.Stories()
	if err != nil {
		t.Fatal(err)
	}
	blamed := 0
	hold := func(s *script.Scenario, name, text string) {
		if heldToReplays(t, s, findLock(t, s.Runs[0].Lock), 1, name, text) {
			blamed++
		}
	}
	for _, s := range all {
		for _, run := range s.Runs {
			if run.Guests && testing.Short() {
				continue // guests are compiled again after each edit
			}
			one := *s
			one.Runs = []script.Section{run}
			hold(&one, s.Name+"/"+run.ID(), "")
		}
	}
	to := cmp.Or(*blameTo, 300)
	if testing.Short() {
		to = min(to, *blameFrom+10)
	}
	for _, shape := range []Shape{
		{Lock: "single", Nodes: 1}, {Lock: "redlock", Nodes: 3}, {Lock: "redlock-extend", Nodes: 3}, {Lock: "fenced", Nodes: 1, Resource: script.Fenced},
		{Lock: "single", Nodes: 1, Replicas: 1}, {Lock: "single", Nodes: 1, Resource: script.Counter},
		{Lock: "watchdog", Nodes: 1}, {Lock: "redislock", Nodes: 1}, {Lock: "redsync", Nodes: 1}, {Lock: "redsync", Nodes: 3},
	} {
		for seed := *blameFrom; seed < to; seed++ {
			if *blameTo == 0 && !testing.Short() && !draws.Due(seed, 80) {
				continue
			}
			text := drawn(shape, seed)
			s, err := script.Parse("drawn.txtar", []byte(text))
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			hold(s, fmt.Sprintf("%s, seed %d", shape.Lock, seed), text)
		}
	}
	t.Logf("%d runs with violations", blamed)
}

var blamedPlans = flag.Int("blamed-plans", 4, "how many plans that a random search finds are replayed without their faults, for each lock; 50: some hundreds")

// The blame for what a random search finds is compared with replays as well, including those that leave out one fault at a time. A sixth of the
// shapes has its turn each day.
func TestBlameOfFindsIsCounterfactual(t *testing.T) {
	if testing.Short() {
		t.Skip("plays thousands of plans")
	}
	play.QuietRedis()
	for i, shape := range []Shape{
		{Lock: "single", Nodes: 1}, {Lock: "single", Nodes: 1, Replicas: 1}, {Lock: "redlock", Nodes: 3}, {Lock: "redlock-extend", Nodes: 3, Extend: true},
		{Lock: "fenced", Nodes: 1, Resource: script.Fenced}, {Lock: "fenced", Nodes: 1}, {Lock: "watchdog", Nodes: 1}, {Lock: "getset", Nodes: 1},
		{Lock: "redlock-half-quorum", Nodes: 3}, {Lock: "redlock-no-drift", Nodes: 3}, {Lock: "redlock-ttl-from-return", Nodes: 3},
		{Lock: "redlock-recreating-extension", Nodes: 3, Extend: true},
		{Lock: "redislock", Nodes: 1}, {Lock: "redsync", Nodes: 1}, {Lock: "redsync", Nodes: 3},
	} {
		if !draws.Due(uint64(i), 6) {
			continue
		}
		calm, build := calmOf(t, shape, shape.Lock)
		x := &explorer{calm: calm, build: build, play: func(s *script.Scenario, run script.Section, build clients.New, seed uint64) *play.Outcome {
			o, err := play.Simulate(s, run, build, seed)
			if err != nil {
				t.Fatal(err)
			}
			return o
		}}
		y := (&Task{Survey: &survey{}}).run(t.Context(), calm, build, 1)
		of := &Task{Kinds: script.Kinds(), Constants: y.Constants}
		if shape.Nodes > 1 { // most other kinds do a quorum no harm, and walks would seldom find a violation
			of.Kinds = []script.Kind{script.SlowLink, script.LateWrite, script.Pausing, script.Emptying, script.Drifting, script.Jumping, script.ClientJumping}
		}
		found := 0
		for seed := uint64(1); found < *blamedPlans && seed < 1000; seed++ {
			walk(t.Context(), x, of, Portfolio, seed, func(trial Trial, _ []Perturbation, _ *play.Outcome) bool {
				if trial.Class != Violating {
					return true
				}
				s := Perturbed(calm, trial.Plan)
				if heldToReplays(t, s, build, seed, fmt.Sprintf("%s, seed %d", shape.Lock, seed), s.String()) {
					agreed(t, x.play(s, s.Runs[0], build, seed), build, fmt.Sprintf("find of %s, seed %d", shape.Lock, seed))
					found++
				}
				return false
			})
		}
		t.Logf("%s: %d plans", shape.Lock, found)
	}
}

// heldToReplays plays a scenario that has one run, and returns whether a property is violated in it. It fails the test if the blame does
// not agree with replays without the faults that break each assumption.
func heldToReplays(t *testing.T, s *script.Scenario, build clients.New, seed uint64, name, text string) bool {
	t.Helper()
	run := s.Runs[0]
	var found *play.Outcome
	simulate := func(r script.Section) *play.Outcome {
		o, err := play.Simulate(s, r, build, seed)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	play := func(out []checker.Assumption, rival string) *play.Outcome {
		r := spared(run, s, out, rival, asked(found, rival))
		o := simulate(r)
		if !succeeds(found, rival) || succeeds(o, rival) {
			return o
		}
		asks := slices.IndexFunc(o.History.Events, func(e history.Event) bool { return e.Process == rival && e.Op == history.Acquire })
		if asks < 0 {
			return o
		}
		from := o.History.Events[asks].At
		alone := simulate(waiting(r, rival, from, history.NoEnd))
		return simulate(waiting(r, rival, from, max(from, firstGrant(alone))))
	}
	found = simulate(run)
	if len(found.Result.Violations) == 0 || found.Result.RanOn {
		return false
	}
	for _, wrong := range misblamed(found, classesOf(run, s), play) {
		t.Errorf("%s: %s\n%s", name, wrong, text)
	}
	return true
}

// A fault that makes no difference to anybody changes no verdict and no blame. A twelfth of the pages has its turn each day.
func TestHarmlessFaultsChangeNothing(t *testing.T) {
	play.QuietRedis()
	all, err := script.Stories()
	if err != nil {
		t.Fatal(err)
	}
	tried, days := 0, uint64(12)
	if testing.Short() {
		days = 24
	}
	for n, s := range all {
		if s.Name == "token-collision" || !draws.Due(uint64(n), days) {
			continue // in that one two clocks show the same microsecond, and any other time makes a difference
		}
		for _, run := range s.Runs {
			if run.Guests && testing.Short() {
				continue // guests are compiled again after each edit
			}
			o := simulated(t, s, run, 1)
			want := fmt.Sprint(o.Failing())
			for _, f := range harmless(o) {
				r := s.Resolve(run)
				r.Lanes = addFault(r.Lanes, f)
				tried++
				if got := simulated(t, s, r, 1); fmt.Sprint(got.Failing()) != want {
					t.Errorf("%s with %q: %v, want %v", o.Name(), f, got.Failing(), want)
				}
			}
		}
	}
	t.Logf("%d runs", tried)
}

// harmless lists faults that make no difference in a run: clocks that are a little wrong, pauses that a sleep covers, crashes of
// clients that have ended, and a late reply to the last thing that a client does, its release.
func harmless(o *play.Outcome) []script.Step {
	var faults []script.Step
	for _, p := range slices.Concat(o.Run.Clients(), o.Run.NodeNames()) {
		suffers := func(verb string) bool {
			return slices.ContainsFunc(o.Run.Lane(script.Nemesis), func(s script.Step) bool {
				f := script.FaultOf(s)
				return f != nil && f.Verb() == verb && f.Target() == p
			})
		}
		if !suffers("drift") { // another drift would take the place of that one
			faults = append(faults, script.AtStart{Fault: history.Drift{Process: p, PPM: 1}}, script.AtStart{Fault: history.Drift{Process: p, PPM: -1}})
		}
		if !suffers("slew") { // a jump would end that one
			faults = append(faults, script.At{Time: time.Second, Fault: history.Jump{Process: p, By: time.Millisecond}}, script.At{Time: time.Second, Fault: history.Jump{Process: p, By: -time.Millisecond}})
		}
	}
	done := map[string]history.Event{} // the last outcome of each client
	releases := map[string]int{}
	for _, e := range o.History.Events {
		if e.Kind == history.Invoke && e.Op == history.Release {
			releases[e.Process]++
		}
		switch {
		case e.Kind == history.Invoke && e.Slept >= time.Second && e.NotBefore == 0 && e.At-done[e.Process].At < e.Slept+time.Millisecond && e.Op != history.Acquire:
			faults = append(faults, script.At{Time: done[e.Process].At + e.Slept/4, Fault: history.Pause{Process: e.Process, For: e.Slept / 2}})
		case e.Kind == history.Info && e.Op == history.Exit && slices.Contains(o.Run.Clients(), e.Process):
			faults = append(faults, script.At{Time: e.At + time.Millisecond, Fault: history.Crash{Process: e.Process}})
			if done[e.Process].Op == history.Release && releases[e.Process] == 1 { // its reply is the last message, and nothing comes after it
				faults = append(faults, script.AtStart{Fault: history.Chosen{Reply: true, What: history.Release, Link: history.Link{From: "n1", To: e.Process}, Action: history.DelayMessage, By: 2 * time.Millisecond}})
			}
		case e.Kind == history.OK || e.Kind == history.Fail || e.Kind == history.Info:
			done[e.Process] = e
		}
	}
	return faults
}

// addFault adds a step of the nemesis.
func addFault(lanes []script.Lane, f script.Step) []script.Lane {
	lanes = slices.Clone(lanes)
	if i := slices.IndexFunc(lanes, func(l script.Lane) bool { return l.Process == script.Nemesis }); i >= 0 {
		lanes[i].Steps = append(slices.Clone(lanes[i].Steps), f)
		return lanes
	}
	return append(lanes, script.Lane{Process: script.Nemesis, Steps: []script.Step{f}})
}

// rivals reports whether a fault only decides when a rival asks for the lock: a pause of its, or a delay of its messages.
func rivals(f history.Fault, rival string) bool {
	switch f := f.(type) {
	case history.Pause, history.Resume:
		return f.Target() == rival
	case history.Cut:
		return f.Link.From == rival || f.Link.To == rival
	case history.Hold:
		return f.Link.From == rival || f.Link.To == rival
	case history.ReleaseLink:
		return f.Link.From == rival || f.Link.To == rival
	case history.Delay:
		return f.Link.From == rival || f.Link.To == rival
	case history.Reset:
		return f.Link.From == rival || f.Link.To == rival
	case history.Heal:
		return rival != ""
	case history.Chosen:
		return f.Link.From == rival || f.Link.To == rival
	}
	return false
}

// asked returns for how long a client had asked for its first lease when it got it.
func asked(o *play.Outcome, client string) time.Duration {
	from := time.Duration(-1)
	for _, e := range o.History.Events {
		switch {
		case e.Process != client || e.Op != history.Acquire:
		case e.Kind == history.Invoke && from < 0:
			from = e.At
		case e.Kind == history.OK:
			return e.At - from
		}
	}
	return 0
}

// spared returns a run without the faults that break some assumptions, but for those of a rival. The rival asks for no less time than
// it did, which was patient: a fault may have been what kept it asking, as where a lock counts its attempts.
func spared(r script.Section, s *script.Scenario, out []checker.Assumption, rival string, patient time.Duration) script.Section {
	r = s.Resolve(r)
	var lanes []script.Lane
	for _, lane := range r.Lanes {
		if lane.Process == rival {
			lane.Steps = slices.Clone(lane.Steps)
			for i, step := range lane.Steps {
				if a, ok := step.(script.Acquire); ok && a.Within < patient {
					a.Within = patient
					lane.Steps[i] = a
					break
				}
			}
		}
		lane.Steps = slices.DeleteFunc(slices.Clone(lane.Steps), func(step script.Step) bool {
			if _, pauses := script.Once(step).(script.Pause); pauses {
				return slices.Contains(out, checker.BoundedPause) && lane.Process != rival
			}
			f := script.FaultOf(step)
			return f != nil && !rivals(f, rival) && slices.Contains(out, ClassOf(r, f))
		})
		lanes = append(lanes, lane)
	}
	r.Lanes = lanes
	return r
}

// waiting returns a run in which no fault is one of a rival, and the rival, which would ask for the lock at the instant from, does so at
// the instant to, and for as much less time; it never asks if to is [history.NoEnd]. When a rival asks is chance: without a fault of the
// older holder it might be granted the lock first, and with faults of its own it might not get it at all, which breaks no assumption.
func waiting(r script.Section, rival string, from, to time.Duration) script.Section {
	var lanes []script.Lane
	for _, lane := range r.Lanes {
		lane.Steps = slices.DeleteFunc(slices.Clone(lane.Steps), func(step script.Step) bool {
			if _, pauses := script.Once(step).(script.Pause); pauses {
				return lane.Process == rival
			}
			switch f := script.FaultOf(step).(type) {
			case nil, history.Heal:
				return false
			case history.Jump, history.Drift, history.Slew:
				return f.Target() == rival
			default:
				return rivals(f, rival)
			}
		})
		if lane.Process == rival {
			i := slices.IndexFunc(lane.Steps, func(step script.Step) bool { _, asks := step.(script.Acquire); return asks })
			switch {
			case i >= 0 && to == history.NoEnd:
				lane.Steps = lane.Steps[:i]
			case i >= 0:
				a := lane.Steps[i].(script.Acquire)
				a.Within = max(0, a.Within-(to-from))
				lane.Steps = slices.Concat(lane.Steps[:i], []script.Step{script.Until{Time: to}, a}, lane.Steps[i+1:])
			}
		}
		lanes = append(lanes, lane)
	}
	r.Lanes = lanes
	return r
}

// firstGrant returns when a client was first told that it has the lock, or 0.
func firstGrant(o *play.Outcome) time.Duration {
	for _, e := range o.History.Events {
		if e.Kind == history.OK && e.Op == history.Acquire {
			return e.At
		}
	}
	return 0
}

// succeeds reports whether a client was granted the lock after another was.
func succeeds(o *play.Outcome, client string) bool {
	others := false
	for _, e := range o.History.Events {
		if e.Kind == history.OK && e.Op == history.Acquire {
			if e.Process == client && others {
				return true
			}
			others = others || e.Process != client
		}
	}
	return false
}

// classesOf lists the assumptions that faults of a run break.
func classesOf(r script.Section, s *script.Scenario) []checker.Assumption {
	r = s.Resolve(r)
	var all []checker.Assumption
	add := func(a checker.Assumption) {
		if a != "" && !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	for _, lane := range r.Lanes {
		for _, step := range lane.Steps {
			if _, pauses := step.(script.Pause); pauses {
				add(checker.BoundedPause)
			}
			if f := script.FaultOf(step); f != nil {
				add(ClassOf(r, f))
			}
		}
	}
	slices.Sort(all)
	return all
}

var overwrote = regexp.MustCompile(`^(the update .*?) at .* overwrote it with (.*) at `)

// subject tells violations of a run apart so that one can be found again in another run: which write it was, or which word was lost to
// which. That the word is lost to a later one in any case is another violation.
func subject(v checker.Violation) string {
	switch v.Property {
	case checker.ResourceExclusion:
		did, _, _ := strings.Cut(v.What, " under ")
		words := strings.Fields(did)
		return words[0] + " wrote " + words[len(words)-1] // an update writes its word after what was there
	case checker.NoLostUpdate:
		if lost := overwrote.FindStringSubmatch(v.What); lost != nil {
			return lost[1] + ", by " + lost[2]
		}
	}
	return string(v.Property)
}

// violates reports whether a run violates a property.
func violates(o *play.Outcome, p checker.Property) bool {
	return o.Result.Status(p) == checker.Violated
}

// has reports whether a run has the same violation as another. An update is also lost if an earlier write of the same client overwrote it.
func has(o *play.Outcome, like checker.Violation) bool {
	return slices.ContainsFunc(o.Result.Violations, func(v checker.Violation) bool {
		if v.Property != like.Property {
			return false
		}
		lost, by, updates := strings.Cut(subject(v), ", by ")
		other, instead, _ := strings.Cut(subject(like), ", by ")
		if !updates {
			return lost == other
		}
		i, j := invoked(o, by), invoked(o, instead)
		return lost == other && (by == instead || i >= 0 && i < j && o.History.Events[i].Process == o.History.Events[j].Process)
	})
}

// might reports whether a run might have had the same violation as another: the write came when the keys of its lease were gone, and the
// lock of the rival had not yet asked again, which it did soon after.
func might(o *play.Outcome, like checker.Violation) bool {
	if like.Property != checker.ResourceExclusion {
		return false
	}
	_, value, _ := strings.Cut(subject(like), " wrote ")
	events := o.History.Events
	i := slices.IndexFunc(events, func(e history.Event) bool {
		words := strings.Fields(e.Value)
		return e.Kind == history.State && e.Op == history.Accept && len(words) > 0 && words[len(words)-1] == value
	})
	if i < 0 {
		return false
	}
	gone := slices.ContainsFunc(events[:i], func(e history.Event) bool {
		return e.Kind == history.State && e.Owner == events[i].Lease && slices.Contains([]string{history.Expire, history.Lose, history.Delete}, e.Op)
	})
	return gone && slices.ContainsFunc(events[i:], func(e history.Event) bool {
		return e.Kind == history.OK && e.Op == history.Acquire && e.At <= events[i].At+retry
	})
}

// retry is how long a lock waits between two tries at most, which redsync does (250 ms by default; lanes ask five times a second), and
// what a try takes.
const retry = 255 * time.Millisecond

// invoked returns the event at which a client was to write something, or -1.
func invoked(o *play.Outcome, value string) int {
	return slices.IndexFunc(o.History.Events, func(e history.Event) bool { return e.Kind == history.Invoke && e.Value == value })
}

var granted = regexp.MustCompile(`after (\w+) was granted`)

// rivalsIn names those who may be the rival in a violation.
func rivalsIn(v checker.Violation) []string {
	switch v.Property {
	case checker.ResourceExclusion:
		return granted.FindStringSubmatch(v.What)[1:]
	case checker.LeaseExclusion:
		return strings.Fields(v.What)[:1]
	case checker.NoLostUpdate:
		return []string{"c1", "c2", "c3"}
	}
	return []string{""}
}

// wouldStand lists, for locks that lack a safeguard, the assumptions without which lease exclusion would still hold if they had it.
var wouldStand = map[string][]checker.Assumption{
	// Half of the nodes are enough for it, so one slow link or one lost key lets in a second holder.
	"redlock-half-quorum": {checker.BoundedDelay, checker.BoundedPause, checker.DurableNodes},
	// It counts the TTL from the last reply, so a lease outlives its keys by as long as the replies took.
	"redlock-ttl-from-return": {checker.BoundedDelay, checker.BoundedPause},
	// It does not say how long a lease lasts, so a client counts the TTL from when it hears of it.
	"redislock": {checker.BoundedDelay, checker.BoundedPause},
}

// misblamed lists the violations of a run that are blamed on what they should not be, by what comes of the run without the faults of
// each selection of the assumptions that it breaks; the rival's own pauses and delays stay. See docs/adr/0020-blame-is-counterfactual.md.
func misblamed(o *play.Outcome, classes []checker.Assumption, replayed func([]checker.Assumption, string) *play.Outcome) []string {
	runs := map[string][]*play.Outcome{}
	without := func(rival string) []*play.Outcome {
		if runs[rival] != nil {
			return runs[rival]
		}
		for mask := range 1 << len(classes) {
			var out []checker.Assumption
			for i, c := range classes {
				if mask&(1<<i) != 0 {
					out = append(out, c)
				}
			}
			runs[rival] = append(runs[rival], o)
			if mask > 0 {
				runs[rival][mask] = replayed(out, rival)
			}
		}
		return runs[rival]
	}
	var bad []string
	for _, v := range o.Result.Violations {
		switch v.Property {
		case checker.OwnerOnly, checker.FaultTolerance, checker.DeadlockFreedom:
			continue
		case checker.NoLostVote:
			if v.Assumption == checker.None {
				continue // a late message does not excuse it
			}
		}
		var but []string
		held := func(has func(*play.Outcome, checker.Violation) bool) bool {
			for _, rival := range rivalsIn(v) {
				runs := without(rival)
				switch i := slices.Index(classes, v.Assumption); {
				case v.Assumption == checker.None:
					// Two clients held the lock at once because it lacks a safeguard, even if it took such a fault to show it.
					var stands int
					for i, c := range classes {
						if slices.Contains(wouldStand[o.Run.Lock], c) {
							stands |= 1 << i
						}
					}
					// The lease that redlock-ttl-from-return hands out may begin when the next holder has already come and gone.
					begun := o.Run.Lock == "redlock-ttl-from-return" && v.Property == checker.ResourceExclusion
					if (begun || slices.Contains(o.Failing(), play.Failing{Property: checker.LeaseExclusion, Assumption: checker.None})) && has(runs[(len(runs)-1)&^stands], v) ||
						has(runs[len(runs)-1], v) || violates(o, checker.OwnerOnly) || violates(o, checker.NoLostVote) || has(without("")[len(runs)-1], v) {
						return true
					}
				case i >= 0:
					for mask := range runs {
						if mask&(1<<i) == 0 && has(runs[mask], v) && !has(runs[mask|1<<i], v) {
							return true
						}
					}
				}
			}
			return false
		}
		fits := held(has) || held(func(o *play.Outcome, v checker.Violation) bool { return has(o, v) || might(o, v) })
		for _, rival := range rivalsIn(v) {
			for mask, r := range without(rival) {
				if mask > 0 && has(r, v) {
					var out []string
					for i, c := range classes {
						if mask&(1<<i) != 0 {
							out = append(out, strings.TrimPrefix(string(c), "bounded "))
						}
					}
					but = append(but, strings.Join(out, "+"))
				}
			}
		}
		if !fits {
			bad = append(bad, fmt.Sprintf("%s blamed %s of %v, still without %v", subject(v), v.Assumption, classes, but))
		}
	}
	return bad
}

// drawn is a page in which anything may go wrong, by a seed.
func drawn(shape Shape, seed uint64) string {
	lock, nodes, replicas, resource := shape.Lock, shape.Nodes, shape.Replicas, shape.Resource
	r := rand.New(rand.NewPCG(seed, 7))
	var b strings.Builder
	d := func(least, most int) string { return fmt.Sprintf("%dms", least+r.IntN(most-least)) }
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Drawn.\n")
	for c := 1; c <= 2; c++ {
		line("client c%d", c)
		line("  until %s", d(1, 6000))
		if r.IntN(4) == 0 {
			line("  acquire")
		} else {
			line("  acquire within %s", d(1000, 30000))
		}
		for n := range 1 + r.IntN(3) {
			if r.IntN(4) == 0 {
				line("  pause %s", d(100, 14000))
			}
			if r.IntN(3) > 0 {
				line("  sleep %s", d(100, 14000))
			}
			switch k := r.IntN(6); {
			case k == 0 && lock == "redlock-extend":
				line("  extend")
			case k == 1 && resource != script.Counter:
				line("  read")
				line("  update U%d%d", c, n)
			case resource == script.Counter:
				line("  increment")
			default:
				line("  write W%d%d", c, n)
			}
		}
		if r.IntN(2) == 0 {
			line("  release")
		}
	}
	line("nemesis")
	for range 1 + r.IntN(3) {
		c := fmt.Sprintf("c%d", 1+r.IntN(2))
		n := fmt.Sprintf("n%d", 1+r.IntN(nodes))
		any := c
		if r.IntN(2) == 0 {
			any = n
		}
		at := d(1, 20000)
		switch r.IntN(11) {
		case 0, 1:
			line("  at %s pause %s %s", at, any, d(1, 14000))
		case 2:
			line("  drift %s %+dppm", any, []int{1, -1, 5000, -5000, 100000, -100000, 300000, -300000}[r.IntN(8)])
		case 3:
			line("  at %s jump %s %s", at, any, []string{"+1ms", "-1ms", "+2s", "-2s", "+12s", "-12s"}[r.IntN(6)])
		case 4:
			line("  at %s slew %s %s over %s", at, any, []string{"+2s", "-2s"}[r.IntN(2)], d(5000, 10000))
		case 5:
			line("  at %s cut %s-%s", at, c, n)
			line("  at %s heal", d(1, 30000))
		case 6:
			line("  delay %s-%s %s", c, []string{n, "resource"}[r.IntN(2)], d(1, 3000))
		case 7:
			line("  on %s %s delay %s", []string{"request write", "request acquire"}[r.IntN(2)], c+"->"+[]string{n, "resource"}[r.IntN(2)], d(1, 14000))
		case 8, 9:
			line("  at %s crash %s", at, n)
			line("  when n1 sets c%d +%s restart %s%s", 1+r.IntN(2), d(1, 9000), n, []string{"", " empty"}[r.IntN(2)])
		case 10:
			if replicas > 0 {
				line("  at %s cut n1-r1", d(1, 5000))
				line("  at %s promote r1", at)
			} else {
				line("  at %s pause resource %s", at, d(1, 14000))
			}
		}
	}
	rep := ""
	if replicas > 0 {
		rep = fmt.Sprintf(" replicas=%d", replicas)
	}
	if resource != "" {
		rep += " resource=" + resource
	}
	line("\n-- %s nodes=%d%s --", lock, nodes, rep)
	return b.String()
}

// What was once blamed on a fault nearby, or on the lock, is blamed on what it came from.
func TestBlamed(t *testing.T) {
	play.QuietRedis()
	pause := "client c1\n  acquire\n  sleep 14s\n  write A\nclient c2\n  until 10500ms\n  acquire within 10s\nnemesis\n  at 5s pause c1 %s\n"
	for _, test := range []struct {
		name, page, run string
		want            []checker.Assumption
	}{
		{"work too long, and a pause inside a sleep that outlasts it", fmt.Sprintf(pause, "10s"), "single nodes=1", []checker.Assumption{checker.None}},
		{"work too long, and a pause that a sleep covers", fmt.Sprintf(pause, "2s"), "single nodes=1", []checker.Assumption{checker.None}},
		{"work too long after an extension in time", "client c1\n  acquire\n  pause 8s\n  extend\n  sleep 12s\n  write A\nclient c2\n  until 1s\n  acquire within 25s\n",
			"redlock-extend nodes=3", []checker.Assumption{checker.None}},
		{"the resource lost the counter", "client c1\n  increment\n  increment\nclient c2\n  until 2s\n  increment\nnemesis\n  at 1s crash resource\n  at 1500ms restart resource empty\n",
			"single nodes=1 resource=counter", []checker.Assumption{checker.DurableNodes}},
		{"told that the lease is lost", "client c1\n  acquire\n  sleep 2s\n  write A\nclient c2\n  until 1s\n  acquire\nnemesis\n  when n1 sets c1 #3 crash n1\n  when n1 sets c1 #3 +50ms restart n1 empty\n",
			"rueidislock nodes=1", []checker.Assumption{checker.DurableNodes}},
		{"a key that ended early, and a rival whose lock asks again by itself: it would have been granted soon after the right end",
			"client c1\n  acquire\n  sleep 13s\n  write A\nclient c2\n  until 2s\n  acquire within 20s\nnemesis\n  at 1s slew n1 +1s over 5s\n",
			"redsync nodes=1", []checker.Assumption{checker.None}},
		{"an acquire that waited for a connection, of which there is no message",
			"client c1\n  acquire\n  sleep 10s\n  write A\nclient c2\n  until 2s\n  acquire within 15s\nnemesis\n  delay c1-n3 1300ms\n",
			"redsync nodes=3", []checker.Assumption{checker.BoundedDelay}},
		{"a lease that was to be renewed, and never was",
			"client c1\n  acquire\n  sleep 16s\n  write A\nclient c2\n  until 2s\n  acquire within 12s\nnemesis\n  at 1s pause n1 10s\n",
			"watchdog nodes=1", []checker.Assumption{checker.BoundedDelay}},
		{"a pause that ended before the lease did, and a link that was cut for longer",
			"client c1\n  acquire\n  pause 6900ms\n  sleep 12s\n  write A\nclient c2\n  until 5s\n  acquire within 10s\nnemesis\n  at 1s cut c1-n1\n  at 11s heal\n",
			"watchdog nodes=1", []checker.Assumption{checker.BoundedDelay}},
		{"a pause before the client asked", "client c1\n  until 4s\n  acquire\n  sleep 13s\n  write A\nclient c2\n  until 17500ms\n  acquire\nnemesis\n  at 3s pause c1 2s\n",
			"single nodes=1", []checker.Assumption{checker.BoundedPause}},
		{"a pause but for which the resource would have been the one to pause",
			"client c1\n  acquire\n  write Z\n  pause 4s\n  sleep 1s\n  write A\n  sleep 6s\n  write B\nclient c2\n  until 12500ms\n  acquire\nnemesis\n  on request write c1->resource delay 3s\n  at 3500ms pause resource 4400ms\n",
			"single nodes=1", []checker.Assumption{checker.BoundedDelay}},
		{"a slow resource, and a pause that a sleep would have covered",
			"client c1\n  acquire\n  sleep 3s\n  write A\n  sleep 5s\n  write B\nclient c2\n  until 16500ms\n  acquire\nnemesis\n  at 2s pause resource 10s\n  at 6s pause c1 10s\n",
			"single nodes=1", []checker.Assumption{checker.BoundedDelay}},
		{"a rival that a paused node kept waiting as well", "client c1\n  until 1s\n  acquire\n  sleep 12s\n  write A\nclient c2\n  until 2s\n  acquire within 20s\nnemesis\n  at 5s pause n1 8500ms\n  at 10s pause resource 11s\n",
			"redislock nodes=1", []checker.Assumption{checker.None}},
		{"an overlap of leases, and a write that would have been late in any case",
			"client c1\n  acquire\n  sleep 2s\n  write A\nclient c2\n  until 2s\n  acquire within 20s\nnemesis\n  on request write c1->resource delay 9s\n  at 9500ms jump n1 +300ms\n",
			"single nodes=1", []checker.Assumption{checker.BoundedDelay}},
		{"an extension that reached too few nodes", "client c1\n  acquire\n  sleep 9s\n  extend\n  sleep 9s\n  write A\nclient c2\n  until 10500ms\n  acquire within 20s\nnemesis\n  at 1s cut c1-n1\n  at 1s cut c1-n2\n  at 17s heal\n",
			"redlock-extend nodes=3", []checker.Assumption{checker.BoundedDelay}},
		{"a token that the node had forgotten, so that the resource took the write", "client c1\n  acquire\n  sleep 20s\n  write A\nclient c2\n  until 2s\n  acquire within 20s\n  write B\nnemesis\n  at 1s crash n1\n  at 5s restart n1 empty\n",
			"fenced nodes=1 resource=fenced", []checker.Assumption{checker.DurableNodes, checker.DurableNodes, checker.DurableNodes}},
		{"a lease that was not renewed because its node was down",
			"client c1\n  acquire\n  sleep 16s\n  write A\nclient c2\n  until 2s\n  acquire within 12s\nnemesis\n  at 1s crash n1\n  at 9s restart n1\n",
			"watchdog nodes=1", []checker.Assumption{checker.DurableNodes}},
		{"a renewal that came so late that the client had given up the lease",
			"client c1\n  acquire\n  sleep 30s\n  write A\nclient c2\n  until 2s\n  acquire within 27s\n  sleep 5s\nnemesis\n  at 9s pause n1 7s\n",
			"watchdog nodes=1", []checker.Assumption{checker.BoundedDelay}},
		{"a clock that ended a lease which would have been renewed after the pause",
			"client c1\n  acquire\n  pause 2s\n  sleep 12s\n  write A\nclient c2\n  until 2s\n  acquire within 12s\n  sleep 5s\nnemesis\n  at 1s jump n1 +12s\n",
			"watchdog nodes=1", []checker.Assumption{checker.BoundedClockError, checker.BoundedClockError}},
		{"a key that ended early, and a rival that would have gone on asking in the same Acquire",
			"client c1\n  acquire\n  sleep 13s\n  write A\nclient c2\n  until 3s\n  acquire within 5s\nnemesis\n  at 7500ms jump n1 +1s\n",
			"redsync nodes=1", []checker.Assumption{checker.None}},
		{"a pause of the holder, and a rival that asks the replica which took the node's place",
			"client c1\n  acquire\n  pause 12s\n  sleep 7s\n  write A\nclient c2\n  until 1s\n  acquire within 25s\nnemesis\n  at 1ms cut n1-r1\n  at 6s heal\n  at 8s cut c2-n1\n  at 11s promote r1\n",
			"single nodes=1 replicas=1", []checker.Assumption{checker.BoundedPause}},
		{"a clock that kept the key, so that the rival's token came too late",
			"client c1\n  acquire\n  sleep 24s\n  write A\nclient c2\n  until 1s\n  acquire within 25s\n  sleep 5s\n  write B\nnemesis\n  at 3s jump n1 -12s\n",
			"fenced nodes=1 resource=fenced", []checker.Assumption{checker.BoundedClockError}},
		{"an update that the rival would have replaced but for the delay of what came before it",
			"client c1\n  acquire\n  write Z\n  sleep 12s\n  read\n  update U\n  sleep 4s\n  write A\nclient c2\n  until 2s\n  acquire within 20s\n  sleep 3s\n  write B\n  release\nnemesis\n  on request write c1->resource delay 9s\n",
			"single nodes=1", []checker.Assumption{checker.None, checker.BoundedDelay}},
		{"a rival that a key of its own kept waiting, which a paused node had set late",
			"client c1\n  acquire\n  sleep 22500ms\n  write A\nclient c2\n  until 500ms\n  acquire within 25s\n  sleep 3s\n  write B\nnemesis\n  at 3s pause n1 9s\n",
			"fenced nodes=1 resource=fenced", []checker.Assumption{checker.BoundedDelay}},
	} {
		s, err := script.Parse("page.txtar", []byte("# A page.\n\n"+test.page+"\n-- "+test.run+" --\n"))
		if err != nil {
			t.Fatal(err)
		}
		o := simulated(t, s, s.Runs[0], 1)
		var got []checker.Assumption
		for _, f := range o.Failing() {
			got = append(got, f.Assumption)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: blamed on %v, want %v\n%s", test.name, got, test.want, o.Timeline())
		}
	}
}

// A lock on one node is not at fault for a link to it that is slow: nothing stands in for the node.
func TestSlowLinkToTheOnlyNode(t *testing.T) {
	play.QuietRedis()
	s, err := script.Parse("page.txtar", []byte("# A page.\n\nclient c1\n  acquire\nnemesis\n  delay c1-n1 2s\n\n-- fenced nodes=1 --\n"))
	if err != nil {
		t.Fatal(err)
	}
	o := simulated(t, s, s.Runs[0], 1)
	for _, v := range o.Result.Violations {
		story := explain.Story(facts.Of(o.History), v)
		if last := story[len(story)-1].Text; last != "The lock is on one node, and no other node can take its place." {
			t.Errorf("%s: %s", v.Property, last)
		}
	}
	if len(o.Result.Violations) == 0 {
		t.Error("nothing is violated")
	}
}
