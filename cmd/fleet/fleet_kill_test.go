//go:build unix

package main

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

var killSeed = flag.Uint64("kill-seed", 1, "seed of TestFleetSurvivesKills")

// Eight workers carry out 200 shards. They and the server are killed fifty times, at random; the server comes back with its data, but
// once without. The result is that of one process, byte for byte.
func TestFleetSurvivesKills(t *testing.T) {
	if testing.Short() {
		t.Skip("takes most of a minute")
	}
	t.Parallel()
	const workers, kills = 8, 50
	b, r := newBench(t), startRedis(t)
	random := rand.New(rand.NewPCG(*killSeed, 0))
	crew := make([]*process, workers)
	hire := func(i int) { crew[i] = b.fleet("work", "--queue", r.url(), "--workers", "1") }
	for i := range crew {
		hire(i)
	}
	var done int // shards that workers report
	count := func(i int) { done += strings.Count(crew[i].stderr.String(), ": done in") }
	command := []string{"explore", "--jobs", "1000", "--sleep", "800ms"}
	begin := time.Now()
	p := b.fleet(append(command, "--queue", r.url(), "--shards", "200")...)
	b.until(p, "is submitted", limit)
	var servers int
	for kill := range kills {
		time.Sleep(time.Duration(100+random.IntN(500)) * time.Millisecond)
		select {
		case <-p.ended:
			t.Fatalf("the search has ended after %d kills:\n%s", kill, p.stderr.String())
		default:
		}
		if i := random.IntN(workers + 2); i < workers {
			crew[i].Process.Kill()
			<-crew[i].ended
			count(i)
			hire(i)
			continue
		}
		servers++
		r.kill()
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
		if servers == 3 {
			r.clear()
		}
		r.start()
	}
	stdout, stderr, code := b.wait(p, limit)
	took := time.Since(begin)
	if want := b.alone(command...); stdout != want || code != 1 {
		t.Errorf("exit status %d, %d bytes, want those of one process, %d bytes", code, len(stdout), len(want))
	}
	if servers < 3 || !strings.Contains(stderr, "the queue has lost the search") {
		t.Errorf("the server was killed %d times, and never lost its data", servers)
	}
	for i := range crew {
		count(i)
	}
	// How many were done when the server lost its data is left to chance.
	t.Logf("seed %d: %v, %d kills of the server, %d of workers, %d shards done by workers", *killSeed, took.Round(time.Second), servers, kills-servers, done)
	if done > 300 {
		t.Errorf("the workers did %d shards for 199", done)
	}
	t.Logf("%s", stderr)
}
