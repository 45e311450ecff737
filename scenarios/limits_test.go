package scenarios_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/scenarios"
	"lockstep/scenarios/search"
)

// halved is a lock whose leases last for half as long as they should.
type halved struct{ clients.Locker }

func (l halved) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	return l.Locker.Acquire(ctx, name, ttl/2)
}

func newHalved(env clients.Env) clients.Locker { return halved{clients.NewSingle(env)} }

// brief is a setting with few runs. A client works for 3 s of a TTL of 10 s, so single tolerates a pause of 7 s, and halved one of 2 s.
var brief = scenarios.Shaped(search.Shape{Workload: search.Once})

// limited is what TestLimited has.
const limited = "LOCKSTEP_TEST_HAVE"

// TestLimited is what a user writes.
func TestLimited(t *testing.T) {
	if os.Getenv(mine) == "" {
		t.Skip("TestLimits runs it")
	}
	newLock := clients.NewSingle
	if os.Getenv(mine) == "halved" {
		newLock = newHalved
	}
	scenarios.Limits(t, newLock, brief, scenarios.Have(os.Getenv(limited)))
}

// A sheet is that of lockstep limits, and the same each time. A weak lock fails with what a good one tolerates, and the log says where, and
// how to see it again.
func TestLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("plays thousands of runs")
	}
	run := func(lock, have string) (string, bool) {
		c := exec.Command(os.Args[0], "-test.run=^TestLimited$", "-test.v")
		c.Env = append(os.Environ(), mine+"="+lock, limited+"="+have)
		out, err := c.CombinedOutput()
		return string(out), err != nil
	}
	says := func(out string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("the output does not contain %q:\n%s", w, out)
			}
		}
	}
	out, failed := run("single", "pause=5s,jump=-20s")
	if failed {
		t.Errorf("single failed:\n%s", out)
	}
	says(out, "TestLimited on 1 node, 2 clients, TTL 10s, work 3s (once), seed 1\n", "\n        pause             7s        7.04s    resource exclusion bounded pause       c1 when n1 sets c1\n",
		"A pause of 7s does no harm; one of 7.04s violates resource exclusion, at the worst moment.\n",
		"you have pause 5s: within, harmless up to 7s\n", "you have jump back -20s: within, harmless up to 30s\n")
	out, failed = run("halved", "pause=5s,delay=1ms")
	tok := token.FindStringSubmatch(out)
	if !failed || tok == nil {
		t.Fatalf("halved passed, or there is no command to see it again:\n%s", out)
	}
	says(out, "you have pause 5s: NOT WITHIN, 2.02s violates resource exclusion, c1 when n1 sets c1\n", "you have delay 1ms: within, ")
	t.Setenv("LOCKSTEP_REPLAY", tok[1])
	out, failed = run("halved", "pause=5s")
	if !failed {
		t.Errorf("the replay passed:\n%s", out)
	}
	says(out, "when n1 sets c1 pause c1 2", "resource exclusion  VIOLATED")
}

func TestLimitsRepeat(t *testing.T) {
	if testing.Short() {
		t.Skip("plays thousands of runs")
	}
	var sheets []string
	for range 2 {
		data, err := json.Marshal(scenarios.Limits(t, clients.NewSingle, brief))
		if err != nil {
			t.Fatal(err)
		}
		sheets = append(sheets, string(data))
	}
	if sheets[0] != sheets[1] {
		t.Errorf("first\n%s\nthen\n%s", sheets[0], sheets[1])
	}
}
