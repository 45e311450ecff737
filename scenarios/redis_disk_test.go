package scenarios

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// The history of a real run has the readings of the client's clocks, by which its leases end.
func TestClientClocksOnRedis(t *testing.T) {
	workers := reality(t)
	if testing.Short() {
		t.Skip("takes seconds on real servers")
	}
	const page = `# The clocks of c1 go wrong in every way.

ttl 5s
client c1
  until 500ms
  acquire
  until 2s
  write A
  sleep 1s
  release
nemesis
  drift c1 +500000ppm
  at 1s jump c1 -20s
  at 2500ms slew c1 +500ms over 1s
must c1 acquires
must the steady clock of c1 is off by over 900ms
must the wall clock of c1 is off by over 10s

-- redlock nodes=3 --
`
	s, err := script.Parse("clocks.txtar", []byte(page))
	if err != nil {
		t.Fatal(err)
	}
	const speed = slow // so that the sleep differs by more than what is not yet a stall
	o := really(t, workers, play.Case{Scenario: s, Run: s.Runs[0], Speed: speed, Tries: tries})
	if diffs := append(o.Unexpected(), o.Result.Unmet...); o.Report != nil || len(diffs) > 0 {
		t.Errorf("%s %v\n%s", strings.Join(diffs, "; "), o.Report, o.Timeline())
	}
	scale := func(d time.Duration) time.Duration { return d / speed }
	var asleep, awake time.Duration
	for _, e := range o.History.Events {
		if e.Process != "c1" {
			continue
		}
		switch {
		case e.Kind == history.OK && e.Op == history.Acquire:
			if validity := e.Until - e.Clock; validity < scale(4*time.Second) || validity > scale(5*time.Second) {
				t.Errorf("a lease of 5s is valid for %v by the clock of its client, scaled", validity)
			}
			if (e.Clock - e.At*3/2).Abs() > time.Millisecond {
				t.Errorf("a clock that is half as fast again shows %v at %v", e.Clock, e.At)
			}
		case e.Kind == history.OK && e.Op == history.Write:
			asleep = e.At
		case e.Kind == history.Invoke && e.Op == history.Release:
			awake = e.At
		}
	}
	if slept := awake - asleep; slept < scale(660*time.Millisecond) || slept >= scale(time.Second) {
		t.Errorf("the client slept for %v, want less than %v by a clock that is fast", slept, scale(time.Second))
	}
	var bitten []string
	for _, e := range o.History.Events {
		if e.Kind == history.Bite {
			bitten = append(bitten, e.Value)
		}
	}
	if len(bitten) != 3 {
		t.Errorf("only %q have bitten\n%s", bitten, o.Timeline())
	}
}

// However a server ends that should not, the run proves nothing, says in one line what happened, and leaves nothing.
func TestOnRedisServerEnds(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only linux tells in which directory a process works")
	}
	workers := reality(t)
	s, r := find(t, "pause-after-acquire/redlock")
	tmp, _ := strings.CutPrefix(workers.Command().Env[len(workers.Command().Env)-1], "TMPDIR=")
	outcome := make(chan *play.Outcome, 1)
	go play.RunAll(t.Context(), workers, []play.Case{{Scenario: s, Run: r, Seed: 1, On: play.OnReal, Speed: slow}}, func(_ int, o *play.Outcome) { outcome <- o })
	// It has begun, and will last for seconds, when c1 is stopped.
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		all := processesIn(t, tmp)
		i := slices.IndexFunc(all, func(p string) bool { return strings.Contains(p, "redis-server ") })
		if i >= 0 && slices.ContainsFunc(all, stopped) {
			var pid int
			fmt.Sscan(all[i], &pid)
			p, _ := os.FindProcess(pid)
			if err := p.Kill(); err != nil {
				t.Fatal(err)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no redis-server in %q", all)
		}
	}
	provesNothing(t, <-outcome, ": redis-server ended by itself: signal: killed")
}

func provesNothing(t *testing.T, o *play.Outcome, why string) {
	t.Helper()
	if o.Report == nil || o.Result.Verdict != checker.Inconclusive {
		t.Fatalf("%s %v\n%s", o.Result.Verdict, o.Result.Unmet, o.Timeline())
	}
	if reason := o.Report.Reason; !strings.Contains(reason, why) || strings.Contains(reason, "\n") {
		t.Errorf("the reason is %q, want %q", reason, why)
	}
}

// A disk that is full proves nothing about a lock, whether a server notices that or its start does.
func TestOnRedisFullDisk(t *testing.T) {
	workers := reality(t)
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell to limit what a process may write")
	}
	const page = `# Two clients count.

ttl 5s
client c1
  repeat 100 increment
client c2
  repeat 100 increment
%s
-- single nodes=1 resource=counter%s --
`
	tell := func(nemesis, header string) *play.Outcome {
		s, err := script.Parse("full.txtar", fmt.Appendf(nil, page, nemesis, header))
		if err != nil {
			t.Fatal(err)
		}
		return really(t, workers, play.Case{Scenario: s, Run: s.Runs[0], Speed: slow, Tries: tries})
	}
	real, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, c := range []struct {
		name                  string
		blocks                int // of 512 or 1024 bytes, in every file
		nemesis, header, want string
	}{
		{"found out by the server", 8, "", "", "n1: redis-server cannot write to its disk; it has warned: "},
		{"which ends for it", 8, "nemesis\n  at 60s crash n1 power\n", " persistence=aof-always", "n1: redis-server ended by itself: exit status 1; it has warned: Can't recover from AOF write error"},
		{"from the start", 0, "", "", "redis-server ended before it listened; it has logged nothing, as happens if the disk of "},
	} {
		script := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = --version ] || { trap '' XFSZ; ulimit -f %d; }\nexec %s \"$@\"\n", c.blocks, real)
		if err := os.WriteFile(filepath.Join(dir, "redis-server"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Run(c.name, func(t *testing.T) { provesNothing(t, tell(c.nemesis, c.header), c.want) })
	}
}
