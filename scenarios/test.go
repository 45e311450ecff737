package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/sim"
)

// An Option changes what [Test] does.
type Option func(*options)

type options struct {
	like  string
	seed  uint64
	only  []string
	limit time.Duration
}

// Like names the lock that yours claims to be as good as: the catalogue's runs of that lock are what yours is put through.
// The default is single, a lock on one Redis node.
func Like(lock string) Option { return func(o *options) { o.like = lock } }

// Seed sets the seed of the runs. The default is 1.
func Seed(seed uint64) Option { return func(o *options) { o.seed = seed } }

// Only restricts Test to some scenarios of the catalogue, by their names. The default is all that have a run of the lock
// that yours is like.
func Only(names ...string) Option { return func(o *options) { o.only = names } }

// Limit is how much real time a run may take before it is given up and reported. The default is 20 s; a run takes some
// milliseconds.
func Limit(d time.Duration) Option { return func(o *options) { o.limit = d } }

// Test puts a lock through the catalogue, one subtest for each run. A subtest fails if a property is violated that holds
// for the lock that yours is like, and it fails if nothing can be said: a panic in a goroutine of the lock, a mutex held
// while it waits for the network, a spin, goroutines left behind. It logs the timeline either way (see it with -v).
//
// Each run happens in a process of its own, for which Test runs the test binary again, with only the calling test: what
// stands before Test in that test happens there too.
func Test(t *testing.T, newLock clients.New, opts ...Option) {
	t.Helper()
	o := options{like: "single", seed: 1}
	for _, opt := range opts {
		opt(&o)
	}
	if sim.IsWorker() {
		if err := Serve(func(string) (clients.New, error) { return newLock, nil }); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if _, err := clients.Find(o.like); err != nil {
		t.Fatalf("scenarios.Like: %v", err)
	}
	cases, err := o.cases()
	if err != nil {
		t.Fatal(err)
	}
	s := &sim.Supervisor{Limit: o.limit, Command: func() *exec.Cmd {
		return exec.Command(os.Args[0], "-test.run="+only(t.Name()), "-test.count=1", "-test.timeout=0")
	}}
	outcomes := make([]*Outcome, len(cases))
	if err := RunAll(context.Background(), s, cases, func(i int, out *Outcome) { outcomes[i] = out }); err != nil {
		t.Fatal(err)
	}
	for _, out := range outcomes {
		t.Run(out.Scenario.Name+"/"+cmp.Or(out.Run.Label, "run"), out.report)
	}
}

// cases lists the runs that the options ask for.
func (o options) cases() ([]Case, error) {
	all, err := Catalogue()
	if err != nil {
		return nil, err
	}
	if len(o.only) > 0 {
		all = nil
		for _, name := range o.only {
			s, err := Find(name)
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
	}
	var cases []Case
	for _, s := range all {
		for _, r := range s.Runs {
			if r.Lock == o.like {
				cases = append(cases, Case{Scenario: s, Run: r, Seed: o.seed})
			}
		}
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("no run of %s in %s", o.like, strings.Join(o.only, ", "))
	}
	return cases, nil
}

// only is the pattern that selects one test.
func only(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// report fails a test whose outcome is worse than expected.
func (o *Outcome) report(t *testing.T) {
	t.Helper()
	t.Logf("%s, seed %d\n%s", o.Name(), o.History.Meta.Seed, o.Timeline())
	if o.Report != nil {
		t.Errorf("%s, seed %d: %s", o.Name(), o.History.Meta.Seed, o.Report)
	}
	for _, p := range checker.Properties() {
		if o.Run.Expected(p) != checker.OK || o.Result.Status(p) != checker.Violated {
			continue
		}
		var first checker.Violation
		n := 0
		for _, v := range o.Result.Violations {
			if v.Property != p {
				continue
			}
			if n == 0 {
				first = v
			}
			n++
		}
		why := "no assumption was broken: it is the lock's own fault"
		if first.Assumption != checker.None {
			why = string(first.Assumption) + " broken, which " + o.Run.Lock + " survives here"
		}
		more := ""
		if n > 1 {
			more = fmt.Sprintf("; and %d more", n-1)
		}
		t.Errorf("%s violated, and %s keeps it here: %s (%s)%s", p, o.Run.Lock, first.What, why, more)
	}
	if o.Report == nil && o.Result.Verdict == checker.Inconclusive {
		t.Errorf("nothing can be said: %s", strings.Join(o.Result.Unmet, "; "))
	}
	if t.Failed() {
		t.Logf("see it again: go test -v -run '%s'", only(t.Name()))
	}
}
