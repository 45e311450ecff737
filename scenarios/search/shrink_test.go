package search

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	lacking "lockstep/clients/broken"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// A planned run is a calm run with faults that somebody thought of, of which most do not matter.
type plannedRun struct {
	name    string
	shape   Shape
	faults  []string // the perturbations by the nemesis; the steps of one are separated by semicolons
	pause   string   // a pause of c1 before the second step of its lane; empty if there is none
	failing play.Failing
	seed    uint64
	want    string // what is left, without what is for people; for a lock of the literature it is in testdata/found
}

// idleFaults have no part in anything.
var idleFaults = []string{
	"when c2 lost crash n1", // no lock on one node notices that
	"when c2 acquires cut c2-n1; when c2 acquires +50ms heal c2-n1",
	"at 3s delay c2->resource 30ms",
	"on reply EVALSHA #7 n1->c2 delay 1s", // there are not that many
}

func planned() []plannedRun {
	return []plannedRun{
		{
			name:  "a pause",
			shape: Shape{Lock: "redlock", Nodes: 5, Clients: 3},
			faults: []string{
				"when c2 acquires cut c2-n4; when c2 acquires +12s heal c2-n4",
				"when n5 sets c1 crash n5; when n5 sets c1 +50ms restart n5",
				"when c3 acquires jump c3 -12s",
			},
			pause:   "12s",
			failing: play.Failing{Property: checker.ResourceExclusion, Assumption: checker.BoundedPause},
		},
		{
			name:  "a partition of which two links matter, and an empty node",
			shape: Shape{Lock: "redlock", Nodes: 5, Clients: 2},
			faults: []string{
				"when c1 acquires cut c1-n4; when c1 acquires cut c1-n5; when c1 acquires cut c2-n1; when c1 acquires cut c2-n2; " +
					"when c1 acquires +12s heal c1-n4; when c1 acquires +12s heal c1-n5; when c1 acquires +12s heal c2-n1; when c1 acquires +12s heal c2-n2",
				"when c1 acquired crash n3; when c1 acquired +50ms restart n3 empty",
				"drift n2 +5000ppm",
			},
			failing: play.Failing{Property: checker.LeaseExclusion, Assumption: checker.DurableNodes},
		},
		{
			name:    "a jump, with another TTL and another seed",
			shape:   Shape{Lock: "single", Clients: 3, TTL: 3 * time.Second},
			faults:  append([]string{"when n1 sets c1 jump n1 +3600ms"}, idleFaults...),
			failing: play.Failing{Property: checker.LeaseExclusion, Assumption: checker.BoundedClockError},
			seed:    18446744073709551557,
		},
		{
			name:    "a failover",
			shape:   Shape{Lock: "single", Replicas: 2, Clients: 2, Extend: true},
			faults:  []string{"when c1 acquires cut n1-r1; when c1 acquires +12s heal n1-r1", "when n1 sets c1 promote r1", "drift c2 +5000ppm"},
			failing: play.Failing{Property: checker.LeaseExclusion, Assumption: checker.DurableNodes},
		},
		{
			name:    "a late write",
			shape:   Shape{Lock: "fenced", Clients: 3},
			faults:  []string{"on request write c1->resource delay 12s", "when c1 acquires cut c3-n1; when c1 acquires +1s heal c3-n1"},
			failing: play.Failing{Property: checker.ResourceExclusion, Assumption: checker.BoundedDelay},
		},
		{
			name:    "three jumps, of which two matter",
			shape:   Shape{Lock: "redlock", Nodes: 3, Clients: 2},
			faults:  []string{"when c1 acquired jump n1 +12s", "when c1 acquired jump n2 +12s", "when c1 acquired jump n3 +12s"},
			failing: play.Failing{Property: checker.LeaseExclusion, Assumption: checker.BoundedClockError},
		},
		{
			name:    "a lock at fault",
			shape:   Shape{Lock: "single-uncompared", Clients: 3},
			faults:  []string{"when c2 acquires jump c2 +12s"},
			pause:   "10s",
			failing: play.Failing{Property: checker.OwnerOnly, Assumption: checker.None},
			want: `# A run in a token.

client c1
  acquire
  pause 10s
  sleep 2s
  release
client c2
  until 1s
  acquire within 20s

-- single-uncompared nodes=1 --
expect owner only violated: none
`,
		},
	}
}

// plan puts the perturbations together. Those of idleFaults that the parser would refuse are not among them.
func (p plannedRun) plan(t *testing.T) []Perturbation {
	t.Helper()
	var plan []Perturbation
	if p.pause != "" {
		step, err := script.ParseStep("c1", "pause "+p.pause)
		if err != nil {
			t.Fatal(err)
		}
		plan = append(plan, Perturbation{Kind: script.Pausing, Client: "c1", Before: 1, Steps: []script.Step{step}})
	}
	for _, fault := range p.faults {
		q := Perturbation{Kind: kindOf(fault)}
		for text := range strings.SplitSeq(fault, "; ") {
			step, err := script.ParseStep(script.Nemesis, text)
			if err != nil {
				t.Fatal(err)
			}
			q.Steps = append(q.Steps, step)
		}
		plan = append(plan, q)
	}
	return plan
}

// kindOf is the kind of perturbation that steps belong to.
func kindOf(steps string) script.Kind {
	for _, k := range []struct {
		word string
		kind script.Kind
	}{
		{"empty", script.Emptying}, {"crash", script.Crashing}, {"jump n", script.Jumping}, {"jump c", script.ClientJumping}, {"drift", script.Drifting}, {"promote", script.FailingOver}, {"write", script.LateWrite},
		{"on ", script.Delaying}, {"delay", script.SlowLink},
	} {
		if strings.Contains(steps, k.word) {
			return k.kind
		}
	}
	if strings.Count(steps, "cut") > 1 {
		return script.Parting
	}
	return script.Cutting
}

// shrink shrinks a planned run, with so many runs at most.
func (p plannedRun) shrink(t *testing.T, runs int) (c *Counterexample, refused error) {
	t.Helper()
	play.QuietRedis()
	build, err := clients.FindIn(slices.Concat(lacking.Locks(), clients.Locks()), p.shape.Lock)
	if err != nil {
		t.Fatal(err)
	}
	calm, err := p.shape.Calm()
	if err != nil {
		t.Fatal(err)
	}
	err = play.Series(func(play play.Player) {
		x := &explorer{calm: calm, build: build, play: play}
		c, refused = shrink(context.Background(), x, shrinking{Plan: p.plan(t), Failing: p.failing, Runs: runs}, max(p.seed, 1))
		if x.differs != "" {
			t.Error(x.differs)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, refused
}

// foundDir is where counterexamples of the locks of the literature are kept.
const foundDir = "testdata/found"

// What a run is reduced to, and how it is told, is what is in testdata/found. It comes out as it says.
func TestShrink(t *testing.T) {
	var kept []string
	for _, p := range planned() {
		t.Run(p.name, func(t *testing.T) {
			began := time.Now()
			c, err := p.shrink(t, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d runs, %v", c.Runs, time.Since(began).Round(time.Millisecond))
			if !c.Complete {
				t.Error("it did not come to its end")
			}
			checkCounterexample(t, c)
			if p.want != "" {
				page := c.Scenario.Bare()
				page.Runs[0].Checksum = ""
				if got := page.String(); got != p.want {
					t.Errorf("what is left is\n%s\nwant\n%s", c.Scenario, p.want)
				}
				return
			}
			kept = append(kept, c.Scenario.File)
			file := filepath.Join(foundDir, c.Scenario.File)
			if *rewrite {
				if file, err = c.Save(t.Context(), foundDir); err != nil {
					t.Fatal(err)
				}
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v; go test -run TestShrink -rewrite renews what is there\n%s", err, c.Scenario)
			}
			if got := c.Scenario.String(); got != string(data) {
				t.Errorf("%s is now\n%s", file, got)
			}
		})
	}
	files, err := filepath.Glob(foundDir + "/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !slices.Contains(kept, filepath.Base(file)) {
			t.Errorf("%s comes from none of these runs", file)
		}
	}
}

// checkCounterexample fails the test unless the page is what its own run says, however it travels.
func checkCounterexample(t *testing.T, c *Counterexample) {
	t.Helper()
	page := c.Scenario
	for line := range strings.Lines(page.String()) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 100 {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	again, err := page.Checked()
	if err != nil || !again.Equal(page) || again.String() != page.String() {
		t.Fatalf("it does not come back as it was: %v\n%s", err, page)
	}
	token, err := page.Token()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := script.FromToken(token)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := parsed.Token(); err != nil || again != token {
		t.Errorf("%v: the token comes back as\n%s", err, parsed)
	}
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var back Counterexample
	if err := json.Unmarshal(data, &back); err != nil || !back.Scenario.Equal(page) || back.Failing != c.Failing || back.Runs != c.Runs || back.Complete != c.Complete {
		t.Errorf("%v: it does not travel: %s", err, data)
	}
	build, err := clients.FindIn(slices.Concat(lacking.Locks(), clients.Locks()), page.Runs[0].Lock)
	if err != nil {
		t.Fatal(err)
	}
	r := page.Runs[0]
	o, err := play.Simulate(page, r, build, max(r.Seed, 1))
	if err != nil {
		t.Fatal(err)
	}
	if diffs := append(o.Unexpected(), o.Result.Unmet...); len(diffs) > 0 || o.Result.Verdict != checker.Unsafe {
		t.Errorf("%s: %s", o.Result.Verdict, strings.Join(diffs, "; "))
	}
	if o.History.Meta.Checksum != r.Checksum || o.Timeline() != r.Golden {
		t.Errorf("checksum %s, and it names %s\n%s", o.History.Meta.Checksum, r.Checksum, o.Timeline())
	}
	if !slices.Contains(o.Failing(), c.Failing) {
		t.Errorf("it violates %v, and not %s", o.Failing(), c.Failing)
	}
}

// The same run is reduced in the same way, whenever it is.
func TestShrinkIsDeterministic(t *testing.T) {
	p := planned()[1]
	first, err := p.shrink(t, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		again, err := p.shrink(t, 0)
		if err != nil {
			t.Fatal(err)
		}
		if again.Scenario.String() != first.Scenario.String() || again.Runs != first.Runs {
			t.Errorf("%d runs, then %d\n%s\n%s", first.Runs, again.Runs, first.Scenario, again.Scenario)
		}
	}
}

// With few runs the result is not as small as it can be, and says so.
func TestShrinkEndsEarly(t *testing.T) {
	c, err := planned()[0].shrink(t, 5)
	if err != nil {
		t.Fatal(err)
	}
	if c.Complete || c.Runs != 5 {
		t.Errorf("%d runs, complete: %v", c.Runs, c.Complete)
	}
	checkCounterexample(t, c)
}

// A plan that does not do what it should is refused.
func TestShrinkRefuses(t *testing.T) {
	p := planned()[0]
	p.failing.Assumption = checker.DurableNodes
	if c, err := p.shrink(t, 0); err == nil || !strings.Contains(err.Error(), "not reproduced") {
		t.Errorf("another reason: %v, %v", c, err)
	}
	p = planned()[0]
	p.pause = ""
	if c, err := p.shrink(t, 0); err == nil || !strings.Contains(err.Error(), "not reproduced") {
		t.Errorf("without the fault that matters: %v, %v", c, err)
	}
	p = planned()[0]
	p.shape.Lock, p.failing, p.pause, p.faults = "single-uncompared", play.Failing{Property: checker.FaultTolerance, Assumption: checker.None}, "", []string{"at 1s jump c1 +1s"}
	if c, err := p.shrink(t, 0); err == nil {
		t.Errorf("a fault that had no effect: %v", c.Scenario)
	}
	p = planned()[0]
	p.faults = append(p.faults, "crash n9")
	if c, err := p.shrink(t, 0); err == nil || !strings.Contains(err.Error(), "unknown process") {
		t.Errorf("a node that does not exist: %v, %v", c, err)
	}
}

// A task does the same in a worker, for a lock in the place of another; and keeps what it has if a smaller run does not end.
func TestShrinkTask(t *testing.T) {
	play.QuietRedis()
	p := planned()[0]
	calm, err := p.shape.Calm()
	if err != nil {
		t.Fatal(err)
	}
	calm.Runs[0] = calm.Runs[0].With("mine")
	e := &Task{Shrink: &shrinking{Plan: p.plan(t), Failing: p.failing}}
	y := e.run(t.Context(), calm, clients.NewRedlock, 1)
	if y.Shrunk == nil || y.Refused != "" || len(y.Broken) > 0 || y.Differs != "" {
		t.Fatalf("%+v", y)
	}
	if y.Played != y.Shrunk.Runs || y.Twice*20 < y.Played {
		t.Errorf("%d runs, %d twice; the result says %d", y.Played, y.Twice, y.Shrunk.Runs)
	}
	if got := y.Shrunk.Scenario.Runs[0].Lock; got != "redlock" {
		t.Errorf("the page is about %s", got)
	}
	few := func(env clients.Env) clients.Locker { // it was never meant for less than five nodes
		if len(env.Nodes) < 5 {
			go func() { <-make(chan int) }()
		}
		return clients.NewRedlock(env)
	}
	y = e.run(t.Context(), calm, few, 1)
	if y.Shrunk == nil || y.Shrunk.Complete || len(y.Broken) != 1 || y.Shrunk.Scenario.Runs[0].Nodes != 5 {
		t.Errorf("%+v", y)
	}
	e.Shrink.Failing.Property = checker.Tokens
	if y := e.run(t.Context(), calm, clients.NewRedlock, 1); y.Shrunk != nil || !strings.Contains(y.Refused, "not reproduced") {
		t.Errorf("%+v", y)
	}
}

// A page is kept whole or not at all, and nowhere but where it should be.
func TestCounterexampleSave(t *testing.T) {
	c, err := planned()[0].shrink(t, 5)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for range 2 {
		file, err := c.Save(t.Context(), dir)
		if err != nil || filepath.Dir(file) != dir {
			t.Fatalf("%s: %v", file, err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := script.Parse(c.Scenario.File, data); err != nil || !s.Equal(c.Scenario) {
			t.Errorf("%v\n%s", err, data)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%v", files)
	}
	for _, nowhere := range []string{filepath.Join(dir, "nowhere"), filepath.Join(dir, c.Scenario.File)} {
		if file, err := c.Save(t.Context(), nowhere); err == nil {
			t.Errorf("it was written to %s", file)
		}
	}
}

// A run in which a client breaks the rules of its lock proves nothing against it.
func TestDisciplined(t *testing.T) {
	for lane, want := range map[string]bool{
		"acquire|write A|release":                         true,
		"acquire within 5s|sleep 9s|extend|sleep 9s|read": true,
		"acquire|read|update w":                           true,
		"write A":                                         false,
		"acquire|release|write A":                         false,
		"acquire|sleep 9s|sleep 1s|write A":               false,
		"acquire|update w":                                false,
		"acquire|read|release|acquire|update w":           false,
	} {
		text := "# A title.\n\nclient c1\n  " + strings.ReplaceAll(lane, "|", "\n  ") + "\n\n-- single nodes=1 --\n"
		s, err := script.Parse("x.txtar", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := disciplined(s); got != want {
			t.Errorf("%s: %v", lane, got)
		}
	}
	s, err := script.Parse("x.txtar", []byte("# A title.\n\nclient c1\n  acquire\n  write A\n\n-- fenced nodes=1 resource=check-and-set --\n"))
	if err != nil || disciplined(s) {
		t.Errorf("a write without a mark: %v", err)
	}
}

func TestRounder(t *testing.T) {
	for _, c := range []struct {
		n    time.Duration
		want string
	}{
		{12 * time.Second, "[10s 20s 1s 9s 8s 7s 6s]"},
		{10 * time.Second, "[]"},
		{60 * time.Millisecond, "[1s 50ms 100ms]"},
		{5 * time.Millisecond, "[1s]"},
		{-12 * time.Second, "[-10s -20s -1s -9s -8s -7s -6s]"},
		{2345 * time.Millisecond, "[2s 1s 3s 4s 2.3s 2.34s]"},
		{0, "[]"},
	} {
		var got []time.Duration
		for _, n := range rounder(int64(c.n)) {
			got = append(got, time.Duration(n))
		}
		if text := fmt.Sprint(got); text != c.want {
			t.Errorf("%v: %s, want %s", c.n, text, c.want)
		}
	}
}

func TestRoughness(t *testing.T) {
	for _, c := range []struct {
		n    time.Duration
		want int
	}{
		{0, 0}, {time.Second, 0}, {2 * time.Second, 0}, {5 * time.Second, 0}, {-20 * time.Second, 0}, {3 * time.Second, 1}, {15 * time.Second, 2},
		{200 * time.Millisecond, 1}, {-500 * time.Millisecond, 1}, {1500 * time.Millisecond, 3},
	} {
		if got := roughness(int64(c.n)); got != c.want {
			t.Errorf("%v: %d, want %d", c.n, got, c.want)
		}
	}
}
