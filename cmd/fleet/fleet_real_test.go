//go:build unix

package main

import (
	"bytes"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The other tests play a stub of lockstep. This one plays the program itself, which must honour the same contract.
func TestFleetOfTheRealProgram(t *testing.T) {
	t.Parallel()
	b, r := newBench(t), startRedis(t)
	program := build(t, t.TempDir(), false)
	command := []string{"explore", "--lock", "single", "--runs", "400"}
	alone := exec.Command(program, command...)
	want, _ := alone.Output()
	if alone.ProcessState.ExitCode() != exitUnexpected || !bytes.Contains(want, []byte("violation")) {
		t.Fatalf("one process: %v\n%s", alone.ProcessState, want)
	}
	b.fleet("work", "--workers", "1", "--queue", r.url(), "--lockstep", program)
	p := b.fleet(slices.Concat(command, []string{"--shards", "4", "--queue", r.url(), "--lockstep", program})...)
	if stdout, stderr, code := b.wait(p, limit); stdout != string(want) || code != exitUnexpected {
		t.Errorf("exit status %d\n%s%s\nwant\n%s", code, stdout, stderr, want)
	}
	// Why something cannot be divided is said without --shard, which the user has not given.
	for args, want := range map[string]string{
		"explore --time 5s":          "lockstep: a command with --time cannot be divided: each machine would make a different number of runs in that time; use --runs\n",
		"explore --lock rueidislock": "lockstep: a search of rueidislock cannot be divided: it draws from a source that cannot be seeded, so shards would not agree; add --guests always\n",
		"matrix --on both":           "lockstep: a command with --on both cannot be divided: only simulated runs have the same result on each machine\n",
		"run --on redis":             "lockstep: a command with --on redis cannot be divided: only simulated runs have the same result on each machine\n",
	} {
		p := b.fleet(append(strings.Fields(args), "--queue", r.url(), "--lockstep", program)...)
		if stdout, stderr, code := b.wait(p, limit); stdout != "" || stderr != want || code != exitInput {
			t.Errorf("%s: exit status %d\n%s%s", args, code, stdout, stderr)
		}
	}
}
