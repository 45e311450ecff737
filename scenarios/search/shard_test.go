package search

import (
	"context"
	"encoding/json"
	"testing"

	"lockstep/scenarios/script"
	"lockstep/sim/workers"
)

func TestParseShard(t *testing.T) {
	for text, want := range map[string]Shard{"1/1": {1, 1}, "3/64": {3, 64}} {
		if got, err := ParseShard(text); got != want || err != nil || got.String() != text {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "3", "0/2", "3/2", "a/2", "1/b", "-1/2", "1/100001", "1/2/3"} {
		if got, err := ParseShard(text); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
	if _, err := ParseShard("4/3"); err == nil || err.Error() != "shard 4/3: the first number must be from 1 to 3" {
		t.Error(err)
	}
}

// Shards play all plans of the last level, each once, and all walks. The plans with fewer perturbations are played by each shard.
func TestShardsDivideTheWork(t *testing.T) {
	jobs := 0 // of all searches so far
	search := func(shard Shard) *Search {
		s := &Search{Calm: calmShape(t, Shape{Lock: "single"}), Kinds: []script.Kind{script.Dying}, Shard: shard, Workers: 1}
		s.Do = func(ctx context.Context, job json.RawMessage) (workers.Outcome, error) {
			jobs++
			return s.here(ctx, job)
		}
		return s
	}
	const of, runs = 3, 90
	whole := searched(t, search(Shard{}), 2)
	jobs = 0
	random, err := search(Shard{}).Random(t.Context(), Uniform, runs, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := jobs
	last, walks := 0, 0
	for part := range of {
		b := searched(t, search(Shard{part + 1, of}), 2)
		if b.Levels[1] != whole.Levels[1] {
			t.Errorf("shard %d: %+v plans with one perturbation, want %+v", part+1, b.Levels[1], whole.Levels[1])
		}
		if n := b.Levels[2].Plans; n == 0 || n >= whole.Levels[2].Plans {
			t.Errorf("shard %d plays %d of %d plans", part+1, n, whole.Levels[2].Plans)
		}
		last += b.Levels[2].Plans
		jobs = 0
		r, err := search(Shard{part + 1, of}).Random(t.Context(), Uniform, runs, 0)
		if err != nil {
			t.Fatal(err)
		}
		if r.Played < runs/of || r.Played >= random.Played || jobs >= all {
			t.Errorf("shard %d makes %d runs of %d, with %d jobs of %d", part+1, r.Played, random.Played, jobs, all)
		}
		walks += r.Coverage.Walks
	}
	if last != whole.Levels[2].Plans {
		t.Errorf("shards play %d plans, want %d", last, whole.Levels[2].Plans)
	}
	if walks < random.Coverage.Walks-2*of*stretch || walks > random.Coverage.Walks+2*of*stretch {
		t.Errorf("shards make %d walks, the whole search makes %d", walks, random.Coverage.Walks)
	}
}
