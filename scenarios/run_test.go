// Some locks of the catalogue are libraries, which draw from the source that all of a process share.
//
//go:debug randseednop=0

package scenarios

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	lacking "lockstep/clients/broken"
	"lockstep/clients/libraries"
	"lockstep/internal/draws"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

var rewrite = flag.Bool("rewrite", false, "renew the timelines in the catalogue and the checksums of its traces; what is expected stays")

// find returns a scenario of the catalogue and one of its runs: NAME/RUN.
func find(t *testing.T, name string) (*script.Scenario, script.Section) {
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

// stories returns the stories of the catalogue. With -short it leaves out the runs with guests, unless files are renewed: the program of
// guests is compiled again after each edit.
func stories(t *testing.T) []*script.Scenario {
	t.Helper()
	all, err := script.Stories()
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() && !*rewrite {
		for _, s := range all {
			s.Runs = slices.DeleteFunc(s.Runs, func(r script.Section) bool { return r.Guests })
		}
	}
	return all
}

// leftOut returns the names of the runs that stories leaves out, as keys: NAME/RUN.
func leftOut(t *testing.T) map[string]bool {
	t.Helper()
	all, err := script.Stories()
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]bool{}
	for _, s := range all {
		for _, r := range s.Runs {
			left[s.Name+"/"+r.ID()] = true
		}
	}
	for _, s := range stories(t) {
		for _, r := range s.Runs {
			delete(left, s.Name+"/"+r.ID())
		}
	}
	return left
}

// needsGuests makes a test, or a part of one, that plays with guests not run with -short; see [stories].
func needsGuests(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("guests are compiled again after each edit")
	}
}

// findLock returns a library, a lock of the literature, or one that lacks a safeguard.
func findLock(t testing.TB, name string) clients.New {
	t.Helper()
	if l, err := libraries.Find(name); err == nil {
		return l.New
	}
	build, err := clients.FindIn(slices.Concat(lacking.All(), clients.Locks()), name)
	if err != nil {
		t.Fatal(err)
	}
	return build
}

// simulated runs a case with the lock that it names.
func simulated(t *testing.T, s *script.Scenario, r script.Section, seed uint64) *play.Outcome {
	t.Helper()
	o, err := play.Simulate(s, r, findLock(t, r.Lock), seed)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Every run of the catalogue comes out as it is expected to, and its timeline as it stands in the file. A timeline leaves out messages and much
// of what goes well; the checksums say whether these are the same as well.
func TestCatalogue(t *testing.T) {
	play.QuietRedis()
	all := stories(t)
	const file = "testdata/checksums.txt"
	saved, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(saved)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		want[name] = sum
	}
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			for i, r := range s.Runs {
				o := simulated(t, s, r, 1)
				name, sum := s.Name+"/"+r.ID(), o.History.Meta.Checksum
				if *rewrite {
					want[name] = sum
				} else if sum != want[name] {
					t.Errorf("%s: the checksum of the trace is %s, and %q in %s (make golden renews it); lockstep show -v --messages %[1]s has all of it", name, sum, want[name], file)
				}
				if len(o.Result.Unmet) > 0 {
					t.Errorf("%s: nothing is proved: %s\n%s", r.ID(), strings.Join(o.Result.Unmet, "; "), o.Timeline())
				}
				if diffs := o.Unexpected(); len(diffs) > 0 {
					t.Errorf("%s: %s\n%s", r.ID(), strings.Join(diffs, "; "), o.Timeline())
				}
				if o.Timeline() != r.Golden && !*rewrite {
					t.Errorf("%s: the timeline is not the one in the file (make golden renews it):\n%s", r.ID(), o.Timeline())
				}
				s.Runs[i].Golden = o.Timeline()
			}
			if *rewrite {
				if err := os.WriteFile(filepath.Join("catalogue", s.File), []byte(s.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	if *rewrite {
		var sums strings.Builder
		for _, s := range all {
			for _, r := range s.Runs {
				name := s.Name + "/" + r.ID()
				fmt.Fprintln(&sums, want[name], name)
			}
		}
		if err := os.WriteFile(file, []byte(sums.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The verdicts belong to the scenario, not to the seed.
func TestCatalogueUnderOtherSeeds(t *testing.T) {
	play.QuietRedis()
	all := stories(t)
	seeds := uint64(30)
	if testing.Short() {
		seeds = 1
	}
	for n, s := range all {
		if testing.Short() && !draws.Due(uint64(n), 4) {
			continue
		}
		for _, r := range s.Runs {
			for seed := range seeds {
				if !testing.Short() && !draws.Due(seed, 12) {
					continue
				}
				o := simulated(t, s, r, seed)
				if diffs := append(o.Unexpected(), o.Result.Unmet...); len(diffs) > 0 {
					t.Errorf("%s, %s, seed %d: %s", s.Name, r.ID(), seed, strings.Join(diffs, "; "))
				}
			}
		}
	}
}

// Without any one of its faults a run proves nothing: either a must is not met, or another fault has no effect. A fault that
// a run can do without does not belong into it.
func TestEveryFaultIsNeeded(t *testing.T) {
	play.QuietRedis()
	all := stories(t)
	for n, s := range all {
		if testing.Short() && !draws.Due(uint64(n), 5) {
			continue
		}
		for _, r := range s.Runs {
			full := s.Resolve(r)
			for i, lane := range full.Lanes {
				for j, step := range lane.Steps {
					if _, pause := script.Once(step).(script.Pause); lane.Process != script.Nemesis && !pause {
						continue
					}
					less := full
					less.Lanes = slices.Clone(full.Lanes)
					less.Lanes[i].Steps = slices.Delete(slices.Clone(lane.Steps), j, j+1)
					o := simulated(t, s, less, 1)
					if o.Result.Verdict != checker.Inconclusive && !byChance(s, r) {
						t.Errorf("%s, %s: without %q the verdict is %s", s.Name, r.ID(), step, o.Result.Verdict)
					}
				}
			}
		}
	}
}

// byChance reports whether a run also proves something without one of its faults. In redlock-contended each delay decides a race, which may go
// the same way without it. In long-outage/releases each outage only makes one more release fail. In extend-minority/unheard each reset keeps
// one more node from extending; a client library that repeats a request gets through to that node all the same.
func byChance(s *script.Scenario, r script.Section) bool {
	return s.Name == "redlock-contended" && (r.Label == "staggered" || r.Label == "even-split") ||
		s.Name == "long-outage" && r.Label == "releases" || s.Name == "extend-minority" && r.Label == "unheard"
}

// A fault whose moment never comes is not forgotten: the run proves nothing.
func TestMissedFault(t *testing.T) {
	play.QuietRedis()
	s, r := find(t, "redlock-partition-halves/redlock")
	s.Lanes = slices.Clone(s.Lanes)
	for i, lane := range s.Lanes {
		if lane.Process == script.Nemesis {
			fault := script.When{Event: script.Event{Process: "c1", What: script.Refused}, Fault: history.Pause{Process: "c2"}}
			s.Lanes[i].Steps = append(slices.Clone(lane.Steps), script.Step(fault))
		}
	}
	o := simulated(t, s, r, 1)
	if o.Result.Verdict != checker.Inconclusive || !strings.Contains(strings.Join(o.Result.Unmet, "\n"), "pause c2") {
		t.Errorf("verdict %s because of %q", o.Result.Verdict, o.Result.Unmet)
	}
}

// A client tries at a pace, and faults come at the second refusal and to the fourth request: tries are at 0.1s, 1.1s, 2.1s, and
// the last at 3.1s, after the release, is the one that the delay hits.
func TestOrdinals(t *testing.T) {
	o, _ := story(t, `client c1
  acquire
  sleep 2500ms
  release
client c2
  until 100ms
  acquire within 4s every 1s
nemesis
  when c2 refused #2 +50ms pause c2 1s
  on request SET #4 c2->n1 delay 300ms

-- single nodes=1 --
`, clients.NewSingle)
	var got []string
	for _, e := range o.History.Events {
		if e.Process == "c2" && (e.Op == history.Acquire || e.Kind == history.Injected) {
			got = append(got, fmt.Sprint(e.At.Round(50*time.Millisecond), " ", e.Kind, " ", e.Op))
		}
	}
	want := []string{
		"100ms invoke acquire", "100ms fail acquire", "1.1s invoke acquire", "1.1s fail acquire",
		"1.15s fault pause", "2.15s fault resume", "2.15s invoke acquire", "2.15s fail acquire", "3.1s invoke acquire", "3.4s ok acquire",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// story plays a page of one run, and returns what happened to the lock and the resource: PROCESS KIND OP VALUE.
func story(t *testing.T, page string, build clients.New) (*play.Outcome, []string) {
	t.Helper()
	play.QuietRedis()
	s, err := script.Parse("story.txtar", []byte("# A story.\n\n"+page))
	if err != nil {
		t.Fatal(err)
	}
	o, err := play.Simulate(s, s.Runs[0], build, 1)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range o.History.Events {
		if e.Process == script.ProbeName || e.By == script.ProbeName || e.Kind == history.Message || e.Kind == history.Bite {
			continue
		}
		lines = append(lines, strings.TrimSpace(strings.Join([]string{e.Process, string(e.Kind), e.Op, e.Value}, " ")))
	}
	return o, lines
}

// count says how often a line stands in a story.
func count(lines []string, line string) (n int) {
	for _, l := range lines {
		if l == line {
			n++
		}
	}
	return n
}

// The counter is a Redis server; every increment is an acquire, an increment and a release.
func TestIncrements(t *testing.T) {
	o, lines := story(t, `client c1
  repeat 20 increment
client c2
  repeat 10 increment within 60s

-- single nodes=1 resource=counter --
`, clients.NewSingle)
	last := ""
	for _, e := range o.History.Events {
		if e.Process == script.ResourceName && e.Kind == history.State && e.Key == clients.CounterKey {
			last = e.Value
		}
	}
	if last != "30" {
		t.Errorf("the counter is %q, want 30", last)
	}
	if n := count(lines, "c1 invoke increment") + count(lines, "c2 invoke increment"); n != 30 {
		t.Errorf("%d increments, want 30", n)
	}
	if diffs := append(o.Unexpected(), o.Result.Unmet...); len(diffs) > 0 {
		t.Errorf("%s\n%s", diffs, o.Timeline())
	}
}

// A waiter waits for one TTL unless it is told otherwise, and then skips the increment.
func TestIncrementWaits(t *testing.T) {
	for within, want := range map[string]time.Duration{"": 3 * time.Second, " within 1s": time.Second} {
		o, lines := story(t, `ttl 3s
client c1
  acquire
  until 2900ms
  acquire
  until 5s
  release
client c2
  until 1s
  increment`+within+`
must c2 waits for c1

-- setnx nodes=1 resource=counter --
`, clients.NewSetNX)
		var began, ended time.Duration
		for _, e := range o.History.Events {
			if e.Process == "c2" && e.Op == history.Acquire && e.Kind == history.Invoke && began == 0 {
				began = e.At
			}
			if e.Process == "c2" && e.Op == history.Increment && e.Kind == history.Fail {
				ended = e.At
			}
		}
		if took := ended - began; took < want || took > want+100*time.Millisecond || count(lines, "c2 fail increment") != 1 {
			t.Errorf("increment%s: gave up after %v, want %v\n%s", within, took, want, strings.Join(lines, "\n"))
		}
	}
}

// The steps reach the resource as what they are.
func TestStepsReachTheResource(t *testing.T) {
	_, lines := story(t, `client c1
  acquire
  write A
  enter
  write A
  read
  update B
  release
  acquire
  write C
  write D blind
nemesis
  when c1 entered pause c1 1s

-- single nodes=1 resource=check-and-set --
`, clients.NewSingle)
	for line, want := range map[string]int{
		"resource state reject A":    1, // there is no mark
		"resource state mark":        1,
		"c1 fault pause pause c1 1s": 1,
		"resource state accept A":    1,
		"c1 ok read A":               1,
		"resource state accept A B":  1,
		"resource state reject C":    1, // the mark is that of the first lease
		"resource state accept D":    1,
	} {
		if got := count(lines, line); got != want {
			t.Errorf("%q comes %d times, want %d, in\n%s", line, got, want, strings.Join(lines, "\n"))
		}
	}
}

// What a lock node remembers is what the section line says.
func TestPersistence(t *testing.T) {
	for kind, lost := range map[string]int{"": 0, " persistence=none": 1, " persistence=rdb": 1, " persistence=aof-everysec": 0, " persistence=aof-always": 0} {
		o, lines := story(t, `client c1
  acquire
nemesis
  when c1 acquired crash n1
  when c1 acquired +1s restart n1

-- single nodes=1`+kind+` --
`, clients.NewSingle)
		if got := count(lines, "n1 state lose"); got != lost {
			t.Errorf("with%s %d keys are lost, want %d", kind, got, lost)
		}
		if meta, want := o.History.Meta.Persistence, strings.TrimPrefix(kind, " persistence="); want != "" && meta != want || want == "" && meta != script.Durable {
			t.Errorf("with%s the history says %s", kind, meta)
		}
	}
}

// A client that stays is neither gone nor waited for; another exits at the end of its lane, and one that crashes stops
// repeating.
func TestEndsOfLanes(t *testing.T) {
	o, lines := story(t, `client c1
  acquire
  stay
client c2
  read
client c3
  repeat 100000 read
nemesis
  at 1s crash c3

-- single nodes=1 --
`, clients.NewSingle)
	if count(lines, "c1 info exit") != 0 || count(lines, "c2 info exit") != 1 || count(lines, "c3 info exit") != 0 {
		t.Errorf("who exits is not who should in\n%s", o.Timeline())
	}
	if o.History.Meta.Cap != "" || o.Result.Verdict != checker.Safe {
		t.Errorf("verdict %s, cap %q, %v", o.Result.Verdict, o.History.Meta.Cap, o.Result.Unmet)
	}
	for _, l := range o.Facts.Holds {
		if l.Client == "c1" && l.End < script.DefaultTTL {
			t.Errorf("the lease of a client that stays ends at %v", l.End)
		}
	}
}

// A replica takes the place of n1, and clients find it there. Without what n1 had not sent, the lock is free.
func TestPromotion(t *testing.T) {
	o, lines := story(t, `client c1
  acquire
  stay
client c2
  until 2s
  acquire
nemesis
  hold n1->r1
  at 1s crash n1
  at 1s promote r1
  when r1 promoted follow r2 r1
  when r2 follows r1 pause c2 100ms
must c2 acquires

-- single nodes=1 replicas=2 --
expect lease exclusion violated
`, clients.NewSingle)
	for _, line := range []string{"r1 state promote", "r2 state follow r1", "c2 fault pause pause c2 100ms", "r1 state set"} {
		if count(lines, line) == 0 {
			t.Errorf("no %q in\n%s", line, strings.Join(lines, "\n"))
		}
	}
	if got := o.History.Meta.Replicas; len(got) != 2 || got["r1"] != "n1" || got["r2"] != "n1" {
		t.Errorf("replicas: %v", got)
	}
}

// What a page asks for is measured, and stands below the verdict; a run's own reports replace the page's.
func TestReports(t *testing.T) {
	play.QuietRedis()
	s, err := script.Parse("story.txtar", []byte(`# A story.

client c1
  acquire
  release
report wait
report round trips

-- single nodes=1 --
-- single nodes=1 label=own --
report validity
-- single nodes=1 label=again --
   0.000s  c1       invoke  acquire
reported:
  validity            9s
`))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]checker.Quantity{{checker.Wait, checker.RoundTrips}, {checker.Validity}} {
		o, err := play.Simulate(s, s.Runs[i], clients.NewSingle, 1)
		if err != nil {
			t.Fatal(err)
		}
		var got []checker.Quantity
		for _, m := range o.Measurements {
			got = append(got, m.Quantity)
			if !strings.Contains(o.Timeline(), "\n  "+string(m.Quantity)) || len(m.Figures) == 0 {
				t.Errorf("%s has no figures, or is not in\n%s", m, o.Timeline())
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("measured %v, want %v", got, want)
		}
	}
}

// A waiting step waits for its event, and for no other that is like it.
func TestMatches(t *testing.T) {
	for _, c := range []struct {
		event string
		h     history.Event
		want  bool
	}{
		{"c1 extended", history.Event{Process: "c1", Kind: history.OK, Op: history.Extend}, true},
		{"c1 extended", history.Event{Process: "c1", Kind: history.Fail, Op: history.Extend}, false},
		{"c1 extended", history.Event{Process: "c2", Kind: history.OK, Op: history.Extend}, false},
		{"c1 extends", history.Event{Process: "c1", Kind: history.Invoke, Op: history.Extend}, true},
		{"c1 updates W", history.Event{Process: "c1", Kind: history.Invoke, Op: history.Update, Value: "W"}, true},
		{"c1 updates W", history.Event{Process: "c1", Kind: history.Invoke, Op: history.Update, Value: "V"}, false},
		{"c1 updated W", history.Event{Process: "c1", Kind: history.Fail, Op: history.Update, Value: "W"}, true},
		{"c1 updated W", history.Event{Process: "c1", Kind: history.Info, Op: history.Update, Value: "W"}, false},
		{"c1 wrote W", history.Event{Process: "c1", Kind: history.OK, Op: history.Update, Value: "W"}, false},
		{"c1 entered", history.Event{Process: "c1", Kind: history.OK, Op: history.Enter}, true},
		{"c1 incremented", history.Event{Process: "c1", Kind: history.OK, Op: history.Increment, Value: "7"}, true},
		{"c1 incremented", history.Event{Process: "c1", Kind: history.Fail, Op: history.Increment}, false},
		{"c1 renewed", history.Event{Process: "c1", Kind: history.Info, Op: history.Renew}, true},
		{"c1 lost", history.Event{Process: "c1", Kind: history.Info, Op: history.Lost}, true},
		{"n1 sets c1", history.Event{Process: "n1", Kind: history.State, Op: history.Set, Lease: "c1#2"}, true},
		{"n1 sets c1", history.Event{Process: "n1", Kind: history.State, Op: history.Set, Lease: "c10#1"}, false},
		{"n1 sets c1", history.Event{Process: "n2", Kind: history.State, Op: history.Set, Lease: "c1#2"}, false},
		{"n1 sets c1", history.Event{Process: "n1", Kind: history.State, Op: history.Set}, false},
		{"n1 deletes c1", history.Event{Process: "n1", Kind: history.State, Op: history.Delete, Owner: "c1#1", By: "c2"}, true},
		{"n1 deletes c1", history.Event{Process: "n1", Kind: history.State, Op: history.Delete, Owner: "c2#1", By: "c1"}, false},
		{"n1 deletes c1", history.Event{Process: "n1", Kind: history.State, Op: history.Expire, Owner: "c1#1"}, false},
		{"r1 promoted", history.Event{Process: "r1", Kind: history.State, Op: history.Promoted}, true},
		{"r1 promoted", history.Event{Process: "r1", Kind: history.Injected, Op: history.Promote{}.Verb(), Value: "promote r1"}, false},
		{"n1 follows r1", history.Event{Process: "n1", Kind: history.State, Op: history.Followed, Value: "r1"}, true},
		{"n1 follows r1", history.Event{Process: "n1", Kind: history.State, Op: history.Followed, Value: "r2"}, false},
		{"s1 sdown n1", history.Event{Process: "s1", Kind: history.State, Op: history.Sdown, Value: "n1"}, true},
		{"s1 odown n1", history.Event{Process: "s1", Kind: history.State, Op: history.Sdown, Value: "n1"}, false},
		{"s1 elected", history.Event{Process: "s1", Kind: history.State, Op: history.Leader, Value: "n1"}, true},
	} {
		step, err := script.ParseStep(script.Nemesis, "when "+c.event+" heal")
		if err != nil {
			t.Fatal(err)
		}
		if got := step.(script.When).Event.Matches(c.h); got != c.want {
			t.Errorf("%s and %+v: %v", c.event, c.h, got)
		}
	}
}

// fixed is a lock whose clients mark their keys in the same way each time.
type fixed struct {
	clients.Env
	token string
}

func (l fixed) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	until := l.Clock.Now().Add(ttl)
	ok, err := l.Nodes[0].SetNX(ctx, name, l.token, ttl).Result()
	if err == nil && !ok {
		err = clients.ErrNotAcquired
	}
	return fixedLease{l, name, until}, err
}

type fixedLease struct {
	lock  fixed
	name  string
	until time.Time
}

func (l fixedLease) Until() time.Time                  { return l.until }
func (l fixedLease) Release(ctx context.Context) error { return l.lock.Nodes[0].Del(ctx, l.name).Err() }

// A lock need not draw a fresh token for each attempt in order to be understood: the operation tells what a key stands for.
// Each of these locks releases without comparison, and is caught at it.
func TestMarksUsedAgain(t *testing.T) {
	play.QuietRedis()
	s, err := script.Parse("again.txtar", []byte(`# The lock is taken again and again, and at last given back too late.

client c1
  acquire
  release
  until 2s
  acquire
  pause 12s
  release
client c2
  until 1s
  acquire
  release
  until 13s
  acquire
  until 15s
  release
must c1 holds exactly n1
must c1 resumes after its lease ended

-- single nodes=1 --
expect owner only violated
`))
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]func(clients.Env) string{
		"one token for each client": func(env clients.Env) string { return strconv.FormatUint(env.Rand.Uint64()|1<<63, 10) },
		"one value for all":         func(clients.Env) string { return "1" },
	} {
		o, err := play.Simulate(s, s.Runs[0], func(env clients.Env) clients.Locker { return fixed{env, token(env)} }, 1)
		if err != nil {
			t.Fatal(err)
		}
		if diffs := append(o.Unexpected(), o.Result.Unmet...); len(diffs) > 0 {
			t.Errorf("%s: %s\n%s", name, strings.Join(diffs, "; "), o.Timeline())
		}
		var labels []string
		for _, l := range o.Facts.Holds {
			labels = append(labels, l.Label)
		}
		if got := strings.Join(labels, " "); got != "c1#1 c2#1 c1#2 c2#2 probe#1" {
			t.Errorf("%s: leases %s", name, got)
		}
	}
}

// A write that is still on its way when the probe has ended is waited for: whether it lands under a lease that is over must not
// depend on how long the run would last without it.
func TestRunWaitsForWritesUnderWay(t *testing.T) {
	s, err := script.Parse("page.txtar", []byte(`# A page.

ttl 10s
client c1
  acquire
  write A
  sleep 1s
client c2
  until 2s
  acquire within 40s
  write B
  release
nemesis
  on request write c1->resource delay 30s
  at 500ms crash c1
must c1 acquires

-- single nodes=1 --
-- redlock nodes=3 --
-- fenced nodes=1 resource=fenced --
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Runs {
		o := simulated(t, s, r, 1)
		want := checker.Unsafe
		if r.Lock == "fenced" {
			want = checker.Safe // its resource refuses the write
		}
		if o.Result.Verdict != want {
			t.Errorf("%s: the verdict is %s, want %s: %v", r.ID(), o.Result.Verdict, want, o.Result.Unmet)
		}
	}
}

// The context of an acquire that has returned does not end: its lease may be renewed under it, and nobody was cancelled.
func TestCancelledTooLate(t *testing.T) {
	o, _ := story(t, `client c1
  acquire cancelled after 1s
  sleep 15s
  write A
  release
client c2
  until 12s
  acquire
must c1 is cancelled

-- watchdog nodes=1 --
`, clients.NewWatchdog)
	if want := []string{"must c1 is cancelled: did not occur"}; !slices.Equal(o.Result.Unmet, want) || len(o.Result.Violations) > 0 {
		t.Errorf("%q, want %q\n%s", o.Result.Unmet, want, o.Timeline())
	}
}
