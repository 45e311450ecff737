package play

import (
	"errors"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/clients"
	"lockstep/nodes/live"
	"lockstep/nodes/redisserver"
	"lockstep/scenarios/script"
	"lockstep/sim"
	"lockstep/sim/history"
)

func TestOnRedisRefuses(t *testing.T) {
	s, err := script.Parse("silent.txtar", []byte("# It does not say how fast it may be.\n\nclient c1\n  acquire\n\n-- single nodes=1 --\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := s.Runs[0]
	ctx := t.Context()
	_, err = onServers(ctx, s, r, job{Speed: 25})
	if err == nil || !strings.Contains(err.Error(), "TTL of 10s is 400ms") || !strings.Contains(err.Error(), "greatest speed for this run is 20") {
		t.Errorf("a TTL that is too short: %v", err)
	}
	if _, err := onServers(ctx, s, r, job{Speed: -1}); err == nil || !strings.Contains(err.Error(), "speed -1") {
		t.Errorf("backwards: %v", err)
	}
	s, err = script.Parse("drift.txtar", []byte("# A drift.\n\nclient c1\n  acquire\nnemesis\n  at 1s drift n1 +5ppm\n\n-- single nodes=1 replicas=1 --\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = onServers(ctx, s, s.Runs[0], job{Speed: 1})
	if !errors.Is(err, live.ErrSimOnly) || !strings.Contains(err.Error(), "sim only: drift n1 +5ppm") {
		t.Errorf("a drift: %v", err)
	}
	for _, c := range []struct{ nemesis, header, want string }{
		{"slew n1 +1s over 10s", "", ""},
		{"slew n1 +1s over 10s", "replicas=1", "sim only: slew n1 +1s over 10s"},
		{"stop n1", "", ""},
		{"at 1s crash n1 power", "", ""},
		{"crash n1", "persistence=rdb", ""},
		{"crash n1", "persistence=aof-everysec-slow", ""},
		{"crash n1", "persistence=none", ""},
		{"jump c1 +1s", "", ""},
		{"drift c1 +5ppm", "", ""},
		{"slew c1 +1s over 10s", "", ""},
		{"jump resource +1s", "", "sim only: jump resource +1s"},
		{"jump resource +1s", "resource=counter", ""},
		{"crash n1\n  at 1s restart n1", "persistence=none", ""},
		{"crash n1\n  at 1s restart n1", "persistence=aof-everysec", ""},
		{"crash n1", "persistence=aof-lying", ""},
	} {
		s, err := script.Parse("x.txtar", []byte("# A title.\n\nclient c1\n  acquire\nnemesis\n  "+c.nemesis+"\n\n-- single nodes=1 "+c.header+" --\n"))
		if err != nil {
			t.Fatal(err)
		}
		err = CheckRedis(s, s.Runs[0], 1)
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, live.ErrSimOnly) || !strings.HasSuffix(err.Error(), ": "+c.want)) {
			t.Errorf("%s, %s: %v, want %q", c.nemesis, c.header, err, c.want)
		}
	}
	// What a sync has reached does not scale.
	for settings, refused := range map[string]bool{
		"persistence=aof-everysec speed=2":      true,
		"persistence=aof-everysec speed=1":      false,
		"persistence=aof-everysec-slow speed=2": true,
		"persistence=aof-always speed=2":        false,
	} {
		s, err := script.Parse("x.txtar", []byte("# A title.\n\nclient c1\n  acquire\nnemesis\n  at 1s crash n1 power\n\n-- single nodes=1 "+settings+" --\n"))
		if err != nil {
			t.Fatal(err)
		}
		err = CheckRedis(s, s.Runs[0], 0)
		if (err != nil) != refused || err != nil && !strings.Contains(err.Error(), "a server syncs once a second, whatever the speed; write speed=1") {
			t.Errorf("%s: %v", settings, err)
		}
	}
	// What a server needs for a clock of its own, and how it is without.
	t.Setenv("CC", "no-compiler")
	for page, want := range map[string]string{
		"clock-jump-back/redlock":   "",
		"clock-drift/redlock/below": "sim only: drift n3 +10000ppm: redis-server cannot be given a clock of its own without a C compiler: no-compiler is not on the PATH",
	} {
		s, r := found(t, page)
		if err := CheckRedis(s, r, 0); (err == nil) != (want == "") || err != nil && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s without a compiler: %v, want %q", page, err, want)
		}
		if ownClocks(s.Resolve(r)) {
			t.Errorf("%s: clocks without a compiler", page)
		}
	}
	t.Setenv("CC", "")
	t.Setenv("PATH", t.TempDir())
	s, r = found(t, "pause-after-acquire/single")
	if _, err := onServers(ctx, s, r, job{Speed: 20}); !errors.Is(err, redisserver.ErrNoServer) {
		t.Errorf("without redis-server: %v", err)
	}
}

func TestFaster(t *testing.T) {
	const lanes = `client c1
  until %s
  acquire within %s
  acquire within %s every %s
  repeat 3 acquire within %s
  pause %s
  sleep %s
  repeat 2 pause %s
  write A
  check
  release
nemesis
  pause c1 %s
  at %s jump n1 -%s
  at %s delay c1->n1 %s
  at %s heal
  when c1 acquired +%s on request SET c1->n1 delay %s
  when c1 acquired crash n1
must a request from c1 to n1 takes over %s
must c1 acquires

-- single nodes=1 replicas=1 sentinels=1 down-after=%s ttl=%s --
`
	text := func(d string) string { return "# A title.\n\n" + strings.ReplaceAll(lanes, "%s", d) }
	parse := func(text string) (*script.Scenario, script.Section) {
		t.Helper()
		s, err := script.Parse("x.txtar", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return s, s.Resolve(s.Runs[0])
	}
	s, r := parse(text("20s"))
	before := s.String()
	_, want := parse(text("4s"))
	if got := faster(r, 5); !got.Equal(want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if s.String() != before {
		t.Error("the scenario itself has changed")
	}
	half := func(d time.Duration) time.Duration { return d / 2 }
	for step, want := range map[script.Step]script.Step{
		script.Repeat{N: 5, Step: script.Increment{Within: 4 * time.Second}}: script.Repeat{N: 5, Step: script.Increment{Within: 2 * time.Second}},
		script.At{Time: 4 * time.Second, Fault: history.Slew{Process: "c1", By: -time.Second, Over: 2 * time.Second}}: script.At{
			Time: 2 * time.Second, Fault: history.Slew{Process: "c1", By: -time.Second / 2, Over: time.Second}},
	} {
		if got := script.ScaleStep(step, half); got != want {
			t.Errorf("%s became %s, want %s", step, got, want)
		}
	}
}

// What slow replies can do by themselves is tried again on real servers; what they cannot is not.
func TestChancy(t *testing.T) {
	set := func(node, lease string) history.Event {
		return history.Event{Kind: history.State, Op: history.Set, Process: node, Key: "lock", Lease: lease}
	}
	gone := func(node string) history.Event {
		return history.Event{Kind: history.State, Op: history.Delete, Process: node, Key: "lock"}
	}
	refused := history.Event{Kind: history.Fail, Op: history.Acquire, Process: script.ProbeName}
	for name, c := range map[string]struct {
		violated checker.Property
		events   []history.Event
		chancy   bool
	}{
		"two hold the lock":                       {checker.LeaseExclusion, []history.Event{set("n1", "probe#1"), refused}, false},
		"the keys of another stand on a majority": {checker.DeadlockFreedom, []history.Event{set("n1", "c1#1"), set("n2", "c1#1"), set("n3", "probe#1"), refused}, false},
		"they did before":                         {checker.DeadlockFreedom, []history.Event{set("n1", "c1#1"), set("n2", "c1#1"), set("n3", "probe#1"), refused, gone("n2"), refused}, true},
		"no node granted the probe anything":      {checker.DeadlockFreedom, []history.Event{refused}, false},
		"the probe got keys, and no lease":        {checker.DeadlockFreedom, []history.Event{set("n1", "probe#1"), refused}, true},
		"a minority was down, nobody got it":      {checker.FaultTolerance, []history.Event{refused}, false},
		"nothing is violated":                     {"", nil, false},
	} {
		o := &Outcome{
			Run: script.Section{Lock: "redlock"}, Result: checker.Result{Verdict: checker.Safe},
			Facts: facts.Of(&history.History{Meta: history.Meta{Nodes: []string{"n1", "n2", "n3"}}, Events: c.events}),
		}
		if c.violated != "" {
			o.Result = checker.Result{Verdict: checker.Unsafe, Statuses: []checker.PropertyStatus{{Property: c.violated, Status: checker.Violated}}}
		}
		if got := o.chancy(); got != c.chancy {
			t.Errorf("%s: tried again: %v", name, got)
		}
	}
}

// What was violated before the machine stood still was violated; what came afterwards says nothing.
func TestViolationBeforeAStall(t *testing.T) {
	s, r := found(t, "pause-after-acquire/single")
	var o *Outcome
	if err := sim.Bubble(func() {
		resolved := s.Resolve(r)
		build, err := clients.Find(r.Lock)
		if err != nil {
			t.Error(err)
			return
		}
		h, _ := simulate(nil, Variant{}, s, resolved, build, 1, nil, new(leftovers))
		o = Judge(s, resolved, h)
	}); err != nil {
		t.Fatal(err)
	}
	violated := s.Resolve(r)
	safe := violated
	safe.Expect = nil
	late := o.History.Events[len(o.History.Events)-1].At
	for name, c := range map[string]struct {
		run  script.Section
		err  error
		want bool
	}{
		"it was to be violated":       {violated, &live.StallError{From: late}, false},
		"it was not":                  {safe, &live.StallError{From: late}, true},
		"nothing had happened":        {safe, &live.StallError{From: time.Second}, false},
		"it ended for another reason": {safe, errors.New("no"), false},
	} {
		got := upTo(c.run, c.err, s, o.History.Events, 1)
		if (got != nil) != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if got != nil && (got.chancy() || !strings.Contains(strings.Join(got.Result.Unmet, ""), "too busy")) {
			t.Errorf("%s: it would be tried again: %q", name, got.Result.Unmet)
		}
	}
}

// found returns a run of the catalogue.
func found(t *testing.T, name string) (*script.Scenario, script.Section) {
	t.Helper()
	name, id, _ := strings.Cut(name, "/")
	s, err := script.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.FindRun(id)
	if err != nil {
		t.Fatal(err)
	}
	return s, r
}
