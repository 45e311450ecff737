package scenarios_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/scenarios"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/scenarios/search"
)

type myLock struct{ clients.Env }

func (l myLock) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	return clients.NewSingle(l.Env).Acquire(ctx, name, ttl) // your code here; it uses l.Nodes and l.Clock
}

func newMyLock(env clients.Env) clients.Locker { return myLock{env} }

func TestMyLock(t *testing.T) { scenarios.Test(t, newMyLock, scenarios.Like("single")) }

func TestMyLockExplore(t *testing.T) {
	scenarios.Explore(t, newMyLock, scenarios.Like("single"), scenarios.Within(script.Delaying, script.Losing, script.Pausing))
}

// A subtest for each run of single, with your lock in its place. A subtest fails where yours violates what single keeps.
func ExampleTest() {
	var t *testing.T // of func TestMyLock(t *testing.T)

	scenarios.Test(t, newMyLock, scenarios.Like("single"))
}

// A search for violations: pauses, and messages that are late or lost.
func ExampleExplore() {
	var t *testing.T // of func TestMyLockExplore(t *testing.T)

	scenarios.Explore(t, newMyLock, scenarios.Like("single"), scenarios.Within(script.Pausing, script.Delaying, script.Losing))
}

// A fuzz target: go test -fuzz FuzzMyLock chooses the plans.
func ExampleFuzz() {
	var f *testing.F // of func FuzzMyLock(f *testing.F)

	scenarios.Fuzz(f, newMyLock, scenarios.Like("single"), scenarios.Within(script.Pausing, script.Delaying, script.Losing))
}

// How much a lock tolerates. The test fails if what the operators measure is not within it, or if clients may not be late by a second.
func ExampleLimits() {
	var t *testing.T // of func TestMyLockLimits(t *testing.T)

	sheet := scenarios.Limits(t, newMyLock, scenarios.Like("single"), scenarios.Have("pause=1.2s,drift=200ppm"),
		scenarios.Shaped(search.Shape{TTL: 30 * time.Second, Work: 5 * time.Second}))
	for _, row := range sheet.Rows {
		if row.Name() == "late-write" && row.Harmless < int64(time.Second) {
			t.Errorf("a write that is late by more than %s does harm", row.Text(row.Harmless))
		}
	}
}

// A scenario of your own: go doc lockstep/scenarios/script documents the language.
func ExampleRunFile() {
	var t *testing.T // of func TestDeploy(t *testing.T)

	scenarios.RunFile(t, "testdata/deploy.txtar", newMyLock)
}

// A program that exits with status 1 if the lock does worse than one with fencing tokens. Nothing before Run may be such that it
// cannot be done in several processes at once.
func ExampleRun() {
	outcomes, err := scenarios.Run(context.Background(), newMyLock, scenarios.Like("fenced"))
	if err != nil {
		log.Fatal(err)
	}
	scenarios.Summary(os.Stdout, outcomes)
	for _, o := range outcomes {
		if o.Failed() {
			os.Exit(1)
		}
	}
}

// A run of the catalogue from a program. Real programs use a supervisor, whose workers survive what a lock can do to them.
func ExampleSimulate() {
	s, err := script.Find("clock-jump")
	if err != nil {
		panic(err)
	}
	o, err := play.Simulate(s, s.Runs[0], clients.NewRedlock, 1)
	if err != nil {
		panic(err)
	}
	fmt.Println(o.Result.Verdict)
	for _, v := range o.Result.Violations {
		fmt.Printf("%s: %s (broken: %s)\n", v.Property, v.What, v.Assumption)
	}
	// Output:
	// UNSAFE
	// lease exclusion: c2 held c2#1 from 2.006s to 5.000s, while c1 held c1#1 from 0.050s to 6.000s (broken: bounded clock error)
}
