package pictures

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"lockstep/checker"
)

// handmade is a matrix with everything that a cell can say.
func handmade() *Matrix {
	const seeds = 5
	cell := func(lock, run string, v checker.Verdict, unsafe int, broken ...checker.Assumption) MatrixCell {
		_, reference, _ := strings.Cut(run, "/")
		return MatrixCell{
			Lock: lock, Run: run, Reference: reference, Verdict: v, Broken: broken, Unsafe: unsafe, Against: AsReference,
			Command: fmt.Sprintf("lockstep run %s --lock %s --seed 1 -v", run, lock),
		}
	}
	worse := cell("shipped", "pause/plain", checker.Unsafe, 3, checker.BoundedPause, checker.None)
	worse.Against, worse.Why = Worse, "owner only violated, its own fault: c1 deleted the key of c2#1 | on n1"
	better := cell("shipped", "late/plain", checker.Safe, 0)
	better.Against, better.Repeat = Better, "with the same seed c2 was refused"
	unknown := cell("shipped", "jump/plain", checker.Inconclusive, 0)
	unknown.Why = "the fault `jump c1 -3s` had no effect"
	also := unknown
	also.Lock, also.Command = "shipped-fail-fast", strings.Replace(unknown.Command, "shipped", "shipped-fail-fast", 1)
	one, several := "the lock uses one node, and the run needs several", "the lock needs several nodes, and the run has one"
	no := func(lock, why string) MatrixCell { return MatrixCell{Lock: lock, Inapplicable: why} }
	return &Matrix{
		Command: "lockstep matrix --seeds 5", Seed: 1, Seeds: seeds,
		Locks: []MatrixLock{
			{Name: "plain"},
			{Name: "shipped", Module: "example.org/shipped", Version: "v1.2.3", Like: []string{"plain", "other"}},
			{Name: "shipped-fail-fast", Module: "example.org/shipped", Version: "v1.2.3", Like: []string{"plain"}},
		},
		Groups: []MatrixGroup{
			{Kind: "pauses", Rows: []MatrixRow{
				{Scenario: "pause", Title: "A pause outlives the lease.", Cells: []MatrixCell{cell("plain", "pause/plain", checker.Unsafe, seeds, checker.BoundedPause), worse, no("shipped-fail-fast", several)}},
				{Scenario: "pause", Title: "A pause outlives the lease.", Variant: "on 5 nodes", Cells: []MatrixCell{no("plain", one), cell("shipped", "pause/other", checker.Safe, 0), no("shipped-fail-fast", one)}},
			}},
			{Kind: "network", Rows: []MatrixRow{
				{Scenario: "late", Title: "A message is late, by more than anybody had expected who relied on it being in time.", Variant: "short", Cells: []MatrixCell{no("plain", one), better, no("shipped-fail-fast", one)}},
				{Scenario: "jump", Title: "A clock jumps.", Variant: "step", Cells: []MatrixCell{cell("plain", "jump/plain", checker.Unsafe, 1, checker.BoundedClockError), unknown, also}},
				{Scenario: "jump", Title: "A clock jumps.", Variant: "slew", Cells: []MatrixCell{cell("plain", "jump/plain/slew", checker.Safe, 0), no("shipped", several), no("shipped-fail-fast", several)}},
			}},
		},
	}
}

func TestMatrixJSON(t *testing.T) {
	data, err := json.Marshal(handmade())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"against":"worse"`, `"verdict":"UNKNOWN"`, `"not_reproducible":"with the same seed c2 was refused"`, `"broken":["bounded pause","none"]`, `"like":["plain","other"]`} {
		if !strings.Contains(string(data), part) {
			t.Errorf("no %s in %s", part, data)
		}
	}
}
