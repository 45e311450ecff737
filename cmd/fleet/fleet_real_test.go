//go:build unix

package main

import (
	"bytes"
	"os/exec"
	"slices"
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
}
