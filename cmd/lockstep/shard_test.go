package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"lockstep/scenarios/shards"
)

// A machine that cannot make guests says so, instead of keeping UNKNOWN as its answer: another machine can play the shard, as can this one
// later, and the merged result would differ from that of one process.
func TestShardThatNeedsGuests(t *testing.T) {
	const why = "this program cannot be compiled to WebAssembly: there is no go command"
	out := t.TempDir()
	for args, want := range map[string]int{
		"run leap-second --lock redsync":                                                        exitUnknown,
		"run leap-second --lock redsync --shard 1/1 --out " + out + "/run":                      shards.ExitElsewhere,
		"explore --lock single --guests always --runs 10":                                       exitInput,
		"explore --lock single --guests always --runs 10 --shard 1/2 --out " + out + "/explore": shards.ExitElsewhere,
	} {
		c := exec.Command(os.Args[0], strings.Fields(args)...)
		c.Env = append(c.Environ(), asProgram+"=1", "PATH="+t.TempDir())
		said, _ := c.CombinedOutput()
		text := strings.Join(strings.Fields(string(said)), " ")
		if got := c.ProcessState.ExitCode(); got != want || !strings.Contains(text, why) {
			t.Errorf("%s: exit status %d, want %d\n%s", args, got, want, said)
		}
		if want == shards.ExitElsewhere && string(said) != "lockstep: "+why+"\n" {
			t.Errorf("%s: it prints more than one line:\n%s", args, said)
		}
	}
}
