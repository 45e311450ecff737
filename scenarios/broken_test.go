package scenarios

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"text/tabwriter"

	"lockstep/checker"
	"lockstep/checker/explain"
	"lockstep/checker/facts"
	"lockstep/clients"
	lacking "lockstep/clients/broken"
	"lockstep/internal/draws"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// A safeguard is something that a lock or a resource can lack, and the run that must show it, in which whoever has it is fine.
type safeguard struct {
	lacks      string
	lock       string // that lacks it
	run        string // SCENARIO/LOCK of the proper lock
	resource   string // of the run with the broken lock; empty: the same
	properties []checker.Property
}

var safeguards = []safeguard{
	{"the elapsed check", "redlock-no-elapsed-check", "pause-in-acquire/redlock", "", []checker.Property{checker.ExpiredOnReturn}},
	{"a majority of the nodes", "redlock-half-quorum", "redlock-contended/redlock/even-split", "", []checker.Property{checker.LeaseExclusion}},
	{"a quorum of all nodes", "redlock-reachable-quorum", "redlock-partition-halves/redlock", "", []checker.Property{checker.LeaseExclusion}},
	{"the allowance for drift", "redlock-no-drift", "clock-drift/redlock/below", "", []checker.Property{checker.LeaseExclusion}},
	{"an extension that only extends", "redlock-recreating-extension", "extend-late/redlock-extend", "", []checker.Property{checker.LeaseExclusion}},
	{"a release that compares", "single-uncompared", "fixed-value/single", "", []checker.Property{checker.OwnerOnly, checker.LeaseExclusion}},
	{"one counter for all clients", "fenced-per-client", "pause-fenced/fenced", "", []checker.Property{checker.Tokens, checker.ResourceExclusion}},
	{"a resource that compares", "fenced", "pause-fenced/fenced", script.Plain, []checker.Property{checker.ResourceExclusion}},
	{"WAIT on its own connection", "single-wait-elsewhere", "wait-other-connection/single-wait", "", []checker.Property{checker.LeaseExclusion}},
	{"a release to all nodes", "redlock-release-granted", "redlock-reply-lost/redlock", "", []checker.Property{checker.FaultTolerance}},
	{"a timeout for one node", "redlock-no-timeout", "redlock-hung-node/redlock", "", []checker.Property{checker.FaultTolerance}},
	{"a random retry delay", "redlock-fixed-delay", "redlock-contended/redlock/staggered", "", []checker.Property{checker.FaultTolerance}},
	{"validity from the request", "redlock-ttl-from-return", "redlock-slow-acquire/redlock/replies", "", []checker.Property{checker.LeaseExclusion}},
	{"a token for each attempt", "redlock-same-token", "late-clean-up/redlock", "", []checker.Property{checker.NoLostVote, checker.LeaseExclusion}},
	{"a random token", "single-usec", "token-collision/single", "", []checker.Property{checker.OwnerOnly}},
}

// TestBrokenLocksAreCaught: every safeguard that a lock lacks turns a verdict, for the property that the safeguard is for,
// and the lock that has it is SAFE in the same run. Whatever the seed.
func TestBrokenLocksAreCaught(t *testing.T) {
	draws.Seldom(t, 1, 4)
	play.QuietRedis()
	locks := slices.Concat(lacking.Locks(), lacking.Mistakes(), clients.Locks())
	var b bytes.Buffer
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "without\tin\tproper\tbroken\tviolated")
	for _, g := range safeguards {
		build, err := clients.FindIn(locks, g.lock)
		if err != nil {
			t.Fatal(err)
		}
		s, r := find(t, g.run)
		for seed := range uint64(10) {
			proper := simulated(t, s, r, seed)
			if proper.Result.Verdict != checker.Safe {
				t.Errorf("%s, seed %d: the proper lock is %s\n%s", g.run, seed, proper.Result.Verdict, proper.Timeline())
			}
			without := r
			if g.resource != "" {
				without.Resource = g.resource
			}
			o, err := play.Simulate(s, without, build, seed)
			if err != nil {
				t.Fatalf("without %s: %v", g.lacks, err)
			}
			for _, p := range g.properties {
				if o.Result.Verdict != checker.Unsafe || o.Result.Status(p) != checker.Violated {
					t.Errorf("without %s, seed %d: %s escapes %s: %s, %s is %s\n%s",
						g.lacks, seed, g.lock, g.run, o.Result.Verdict, p, o.Result.Status(p), o.Timeline())
				}
			}
			if seed == 1 {
				for _, v := range o.Result.Violations {
					checkExplanation(t, o.History, v, explain.Story(facts.Of(o.History), v))
				}
				var violated []checker.Property
				for _, st := range o.Result.Statuses {
					if st.Status == checker.Violated {
						violated = append(violated, st.Property)
					}
				}
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%v\n", g.lacks, g.run, proper.Result.Verdict, o.Result.Verdict, violated)
			}
		}
	}
	table.Flush()
	t.Logf("%d safeguards\n%s", len(safeguards), b.String())
	if len(safeguards) != 15 {
		t.Errorf("%d safeguards, want 15", len(safeguards))
	}
	for _, l := range lacking.Locks() {
		if !slices.ContainsFunc(safeguards, func(g safeguard) bool { return g.lock == l.Name }) {
			t.Errorf("no run is there to catch %s", l.Name)
		}
	}
}
