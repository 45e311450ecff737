package search

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/internal/draws"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim"
	"lockstep/sim/history"
)

// inquire begins an inquiry that plays its replays in this process.
func inquire(o *play.Outcome, build clients.New) *inquiry {
	s := &Search{New: build, Lock: o.Run.Lock, Seed: o.History.Meta.Seed, Calm: alone(o)}
	return &inquiry{search: s, base: o, page: s.Calm, futures: 4, known: map[string]Ending{}}
}

// blamed compares the blame for each violated property of a run with replays.
func blamed(t *testing.T, o *play.Outcome, build clients.New) []*Cause {
	t.Helper()
	q := inquire(o, build)
	same, err := q.endings(t.Context(), []Replay{{}})
	if err != nil {
		t.Fatal(err)
	}
	if same[0].Checksum != o.History.Meta.Checksum {
		t.Errorf("%s: the replay with nothing changed is another run", o.Name())
	}
	var all []*Cause
	for _, p := range checker.Properties() {
		if o.Result.Status(p) != checker.Violated {
			continue
		}
		c := q.cause(p)
		if err := q.subsets(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		c.Agreement = q.agreement(c)
		all = append(all, c)
	}
	return all
}

// differing are the violations for which the blame of the checker is not what replays without single faults say, and why. A run is a run
// of the catalogue, or a drawn page with its seed.
var differing = map[string]string{
	"find of redlock-ttl-from-return, seed 74: resource exclusion": "the pause is necessary, but a lock that counted the TTL from the request would not have handed out the lease after it",
	"lost-update/nolock: no lost update":                           "nolock takes no lock, so nothing but the delay keeps c1 from being done before c2 begins: the lock is at fault",
	"fenced on 1 node, seed 0: resource exclusion":                 "the pause is one of the rival: without it the token of the rival would have been the first to reach the resource, but when a rival writes is chance",
	"redsync on 3 nodes, seed 3: resource exclusion":               "without the crash the rival is refused sooner, and has given up when the lock is free; when a rival asks is chance",
}

// agreed holds the blame in a run to replays. It fails the test if they differ and nobody has said why.
func agreed(t *testing.T, o *play.Outcome, build clients.New, name string) map[Agreement]int {
	t.Helper()
	counts := map[Agreement]int{}
	for _, c := range blamed(t, o, build) {
		counts[c.Agreement]++
		key := fmt.Sprintf("%s: %s", name, c.Property)
		switch why := differing[key]; {
		case c.Agreement == Differs && why == "":
			t.Errorf("%s: blamed %v; replays: necessary %v, jointly %v, enough %v of %+v", key, c.Blamed, c.Necessary, c.Jointly, c.Enough, c.Faults)
		case c.Agreement != Differs && why != "":
			t.Errorf("%s: the blame agrees with the replays (%s), so the table should not say why it does not", key, c.Agreement)
		}
	}
	return counts
}

// Blame by reasoning is blame by counterfactual: for each violation in the catalogue, the assumption that the checker blames is one that a
// necessary fault breaks. If it blames the lock instead, either no such fault is necessary, or the property must hold in spite of it. The
// runs of rueidislock differ from replay to replay.
func TestBlameOfTheCatalogueAgreesWithReplays(t *testing.T) {
	play.QuietRedis()
	all, err := script.Stories()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[Agreement]int{}
	runs := 0
	for _, s := range all {
		for _, run := range s.Runs {
			if run.Guests && testing.Short() {
				continue // guests are compiled again after each edit
			}
			violates := slices.ContainsFunc(run.Expect, func(e script.Expectation) bool { return e.Status == checker.Violated })
			if !violates || run.Lock == "rueidislock" {
				continue
			}
			if runs++; testing.Short() && runs%8 != 0 {
				continue
			}
			o := simulated(t, s, run, 1)
			for a, n := range agreed(t, o, findLock(t, run.Lock), o.Name()) {
				counts[a] += n
			}
		}
	}
	if counts[Agrees] == 0 {
		t.Error("no violation")
	}
	t.Logf("%d runs: %v", runs, counts)
}

// The same for what a sweep of the catalogue finds at its worst position.
func TestBlameOfSweepsAgreesWithReplays(t *testing.T) {
	if testing.Short() {
		t.Skip("plays thousands of positions")
	}
	play.QuietRedis()
	all, err := script.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[Agreement]int{}
	for _, s := range all {
		for _, run := range s.Runs {
			if len(s.Sweep) == 0 || !slices.ContainsFunc(run.Expect, func(e script.Expectation) bool { return e.Status == checker.Violated }) {
				continue
			}
			build := findLock(t, run.Lock)
			o, err := (&Search{New: build}).Sweep(t.Context(), play.Case{Scenario: s, Run: run, New: build})
			if err != nil {
				t.Fatal(err)
			}
			for a, n := range agreed(t, o, build, o.Name()) {
				counts[a] += n
			}
		}
	}
	t.Logf("%v", counts)
}

// The same for pages in which anything may go wrong: those of the first 20 seeds, or of -blame-from and -blame-to, whose differences nobody
// has explained.
func TestBlameOfDrawnPagesAgreesWithReplays(t *testing.T) {
	play.QuietRedis()
	counts := map[Agreement]int{}
	to := cmp.Or(*blameTo, 20)
	if testing.Short() {
		to = min(to, *blameFrom+2)
	}
	for i, shape := range []Shape{
		{Lock: "single", Nodes: 1}, {Lock: "redlock", Nodes: 3}, {Lock: "redlock-extend", Nodes: 3}, {Lock: "fenced", Nodes: 1, Resource: script.Fenced},
		{Lock: "single", Nodes: 1, Replicas: 1}, {Lock: "single", Nodes: 1, Resource: script.Counter},
		{Lock: "watchdog", Nodes: 1}, {Lock: "redislock", Nodes: 1}, {Lock: "redsync", Nodes: 1}, {Lock: "redsync", Nodes: 3},
	} {
		if testing.Short() && !draws.Due(uint64(i), 4) {
			continue
		}
		for seed := *blameFrom; seed < to; seed++ {
			s, err := script.Parse("drawn.txtar", []byte(drawn(shape, seed)))
			if err != nil {
				t.Fatal(err)
			}
			o := simulated(t, s, s.Runs[0], 1)
			if o.Result.RanOn {
				continue
			}
			for a, n := range agreed(t, o, findLock(t, shape.Lock), fmt.Sprintf("%s on %s, seed %d", shape.Lock, counted(shape.Nodes, "node", "nodes"), seed)) {
				counts[a] += n
			}
		}
	}
	t.Logf("%v", counts)
}

// explained plays a page with one run and finds its causes.
func explained(t *testing.T, page string, futures int) (*play.Outcome, []*Cause) {
	t.Helper()
	play.QuietRedis()
	s, err := script.Parse("page.txtar", []byte("# A page.\n\n"+page))
	if err != nil {
		t.Fatal(err)
	}
	o := simulated(t, s, s.Runs[0], 1)
	causes, err := (&Search{New: findLock(t, s.Runs[0].Lock)}).Why(t.Context(), o, futures)
	if err != nil {
		t.Fatal(err)
	}
	return o, causes
}

const twoHolders = "client c1\n  acquire\n  %s\n  write A\nclient c2\n  until 12s\n  acquire\n  write B\n"

// What was necessary, what was enough, and how much it took.
func TestWhy(t *testing.T) {
	for _, test := range []struct {
		name, page string
		want       string // of the first cause
		sizes      string // what was harmless and what was enough of each fault
	}{
		{"one fault", fmt.Sprintf(twoHolders, "pause 15s") + "\n-- single nodes=1 --\n", "necessary [0] jointly [] enough [[0]]", "pause c1 15s: 11.99s 12s"},
		{"a fault that makes no difference", fmt.Sprintf(twoHolders, "pause 15s") + "nemesis\n  at 1s jump c2 +1ms\n\n-- single nodes=1 --\n",
			"necessary [0] jointly [] enough [[0]]", "pause c1 15s: 11.99s 12s"},
		{"two faults, each of which is enough", fmt.Sprintf(twoHolders, "pause 15s") + "nemesis\n  on request write c1->resource delay 14s\n\n-- single nodes=1 --\n",
			"necessary [] jointly [[0 1]] enough [[0] [1]]", ""},
		{"no fault", fmt.Sprintf(twoHolders, "sleep 15s") + "\n-- single nodes=1 --\n", "necessary [] jointly [] enough [[]]", ""},
		{"a fault that is not needed", fmt.Sprintf(twoHolders, "sleep 15s") + "nemesis\n  at 1s pause c1 2s\n\n-- single nodes=1 --\n", "necessary [] jointly [] enough [[]]", ""},
		{"a restart without keys: with them, nothing happens", "client c1\n  acquire\n  sleep 8s\nclient c2\n  until 4s\n  acquire\n  sleep 2s\nnemesis\n  at 1s crash n1\n  at 2s restart n1 empty\n\n-- single nodes=1 --\n",
			"necessary [0 1] jointly [] enough [[0 1]]", ""},
		{"how long a link is cut", "client c1\n  acquire\n  extend\n  sleep 12s\n  write A\n  sleep 7s\n  write C\n  release\nclient c2\n  until 11s\n  acquire within 3s\n  write B\nnemesis\n  at 1s cut c1-n1\n  at 14s heal c1-n1\n\n-- watchdog nodes=1 --\n",
			"necessary [0] jointly [] enough [[0]]", "at 1s cut c1-n1: 7.33s 7.34s"},
	} {
		_, causes := explained(t, test.page, 1)
		if len(causes) == 0 {
			t.Errorf("%s: nothing is violated", test.name)
			continue
		}
		c := causes[0]
		if got := fmt.Sprintf("necessary %v jointly %v enough %v", c.Necessary, c.Jointly, c.Enough); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
		var sizes []string
		for _, f := range c.Faults {
			if f.Least != "" && !strings.HasPrefix(f.Text, "at 1s crash") {
				sizes = append(sizes, fmt.Sprintf("%s: %s %s", f.Text, f.Harmless, f.Least))
			}
		}
		if got := strings.Join(sizes, "; "); got != test.sizes {
			t.Errorf("%s: sizes %q, want %q", test.name, got, test.sizes)
		}
	}
}

// A client that is paused can be saved until its rival asks: its write takes longer, because it is not connected to the resource. A write
// that has left cannot be called back.
func TestPointOfNoReturn(t *testing.T) {
	for _, test := range []struct{ page, want string }{
		{fmt.Sprintf(twoHolders, "pause 15s") + "\n-- single nodes=1 pool=warm --\n", "c2 invoke acquire"},
		{fmt.Sprintf(twoHolders, "sleep 1ms") + "nemesis\n  on request write c1->resource delay 14s\n\n-- single nodes=1 --\n", "c1 sends write A c1#1 to resource"},
		{fmt.Sprintf(twoHolders, "sleep 15s") + "\n-- single nodes=1 --\n", "the start"},
	} {
		o, causes := explained(t, test.page, 16)
		c := causes[0]
		if c.NoReturn < 0 {
			t.Errorf("no point of no return, want %q", test.want)
			continue
		}
		p := c.Futures[c.NoReturn]
		if !strings.Contains(p.What, test.want) {
			t.Errorf("the point of no return is %q at %v, want %q\n%s", p.What, p.At, test.want, o.Timeline())
		}
		for i, f := range c.Futures {
			if f.Of != 16 || i > 0 && f.At <= c.Futures[i-1].At || (i >= c.NoReturn) != (f.All() && i >= c.NoReturn) {
				t.Errorf("future %d of %d is %+v", i, len(c.Futures), f)
			}
		}
		if c.NoReturn > 0 && c.Futures[c.NoReturn-1].All() {
			t.Error("all futures violate the property even before the point of no return")
		}
	}
}

// With many faults only some sets are tried, and the smallest that is found is enough.
func TestWhyWithManyFaults(t *testing.T) {
	page := fmt.Sprintf(twoHolders, "pause 15s") + "nemesis\n"
	for i := range 9 {
		page += fmt.Sprintf("  at %dms jump c2 +1ms\n", 100+i)
	}
	_, causes := explained(t, page+"\n-- single nodes=1 --\n", 1)
	if c := causes[0]; len(c.Faults) != 10 || fmt.Sprint(c.Necessary, c.Enough) != "[0] [[0]]" {
		t.Errorf("%d faults, necessary %v, enough %v", len(c.Faults), c.Necessary, c.Enough)
	}
}

// The same causes each time, whichever order the replays end in.
func TestWhyIsTheSameEachTime(t *testing.T) {
	s, err := script.Find("clock-step-vs-slew")
	if err != nil {
		t.Fatal(err)
	}
	play.QuietRedis()
	run, err := s.FindRun("redlock/step")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for range 2 {
		causes, err := (&Search{New: findLock(t, run.Lock)}).Why(t.Context(), simulated(t, s, run, 1), 3)
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(causes)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(data))
	}
	if texts[0] != texts[1] {
		t.Errorf("first %s\nthen %s", texts[0], texts[1])
	}
}

// A late message that is replayed on time is not late, and the fault that chose it does not choose another.
func TestOnTime(t *testing.T) {
	for _, fault := range []string{"on request write c1->resource delay 14s", "on request write c1->resource hold", "on request write c1->resource reset"} {
		page := "client c1\n  acquire\n  sleep 1s\n  write A\n  write C\nclient c2\n  until 12s\n  acquire\n  write B\nnemesis\n  " + fault + "\n\n-- single nodes=1 --\n"
		s, err := script.Parse("page.txtar", []byte("# A page.\n\n"+page))
		if err != nil {
			t.Fatal(err)
		}
		play.QuietRedis()
		var late []sim.Sending
		for _, e := range simulated(t, s, s.Runs[0], 1).History.Events {
			if e.Kind == history.Message && e.By == "c1" && e.Process == script.ResourceName && (e.Op == history.Drop || e.At-e.Sent > time.Second) {
				late = append(late, sim.Sending{From: e.By, To: e.Process, Sent: e.Sent, Text: e.Value})
			}
		}
		if len(late) == 0 {
			t.Fatalf("%s: no message is late", fault)
		}
		o, err := play.SimulateVariant(play.Variant{OnTime: &late[0]}, s, s.Runs[0], findLock(t, "single"), 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range o.History.Events {
			if e.Kind == history.Message && e.Process == script.ResourceName && (e.Op == history.Drop || e.At-e.Sent > 2*sim.MaxLatency) {
				t.Errorf("%s: %+v is late", fault, e)
			}
		}
	}
}
