package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/workers"
)

func TestParseAxis(t *testing.T) {
	second := func(all ...float64) []int64 {
		var values []int64
		for _, v := range all {
			values = append(values, int64(v*1e9))
		}
		return values
	}
	for _, test := range []struct {
		text   string
		values []int64
	}{
		{"pause=0s..60s/4", second(0, 20, 40, 60)},
		{"pause=0s..1m/2", second(0, 60)},
		{"ttl=1s..30s/4", second(1, 10.667, 20.333, 30)}, // rounded
		{"delay=0s..10ms/3", []int64{0, 5e6, 10e6}},
		{"delay=0s..1µs/3", []int64{0, 500, 1000}},
		{"jump=-20s..20s/5", second(-20, -10, 0, 10, 20)},
		{"late-write=5s..5s/1", second(5)},
		{"drift=-20000..20000/3", []int64{-20000, 0, 20000}},
		{"drift=-20000ppm..20000ppm/3", []int64{-20000, 0, 20000}},
		{"nodes=1..9/5", []int64{1, 3, 5, 7, 9}},
		{"nodes=1..3", []int64{1, 2, 3}},
		{"clients=2..4", []int64{2, 3, 4}},
		{"lag=0s..59m59s/2", second(0, 3599)},
	} {
		a, err := ParseAxis(test.text)
		if err != nil || !slices.Equal(a.Values, test.values) {
			t.Errorf("%s: %v, %v; want %v", test.text, a.Values, err, test.values)
			continue
		}
		if again, err := ParseAxis(a.String()); err != nil || !reflect.DeepEqual(a, again) {
			t.Errorf("%s prints as %s, which is %v, %v", test.text, a, again, err)
		}
	}
	a, err := ParseAxis("ttl=1s..30s/25")
	if err != nil || len(a.Values) != 25 || a.Text(0) != "1" || a.Text(1) != "2.208" || a.Text(24) != "30" {
		t.Errorf("25 steps: %v, %v", a, err)
	}
}

func TestParseAxisErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "write NAME=FROM..TO/STEPS, such as pause=0s..60s/25",
		"pause":                 "write NAME=FROM..TO/STEPS",
		"puase=0s..1s/2":        `did you mean "pause"?`,
		"pause=0s/2":            "has no FROM..TO",
		"pause=0..60/25":        "must be a duration",
		"pause=0s..60s":         "does not say how many values: write pause=0s..60s/25",
		"pause=0s..60s/x":       `"x" is not a number of values`,
		"pause=0s..60s/":        `"" is not a number of values`,
		"pause=0s..60s/0":       "between 1 and 200",
		"pause=0s..60s/201":     "between 1 and 200",
		"pause=0s..60s/1":       "two ends but one value",
		"pause=5s..5s/3":        "write pause=5s..5s/1",
		"pause=60s..0s/25":      "write pause=0s..60s",
		"pause=-1s..60s/25":     "write 0s to 3600s",
		"pause=0s..2h/25":       "write 0s to 3600s",
		"pause=0s..2ns/25":      "write /3",
		"ttl=0s..30s/25":        "write 100ms to 3600s",
		"nodes=0..9":            "write 1 to 9",
		"nodes=1..9/4":          "leave out /4",
		"nodes=1.5..9":          "must be a whole number",
		"clients=1..3":          "write 2 to 9",
		"drift=0..2000000/3":    "write -900000ppm to 900000ppm",
		"drift=0s..2s/3":        "must be a whole number",
		"jump=-2h..0s/3":        "write -3600s to 3600s",
		"nodes=1..300":          "write 1 to 9",
		"late-write=0s..1s..2s": "",
	} {
		_, err := ParseAxis(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q in it", text, err, want)
		}
	}
}

func axes(t *testing.T, texts ...string) []Axis {
	t.Helper()
	var all []Axis
	for _, text := range texts {
		a, err := ParseAxis(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

func TestGridCheck(t *testing.T) {
	for want, g := range map[string]*Grid{
		"one or two":                    {Runs: 1},
		"name two quantities":           {Runs: 1, Axes: axes(t, "pause=0s..1s/2", "pause=0s..2s/2")},
		"one axis must be one of pause": {Runs: 1, Axes: axes(t, "ttl=1s..2s/2", "nodes=1..3")},
		"between 1 and":                 {Axes: axes(t, "pause=0s..1s/2")},
		"there is none here":            {Runs: 1, Axes: axes(t, "lag=0s..1s/2")},
	} {
		g.Shape.Lock, g.Seed = "single", 1
		if err := g.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q in it", err, want)
		}
	}
}

// Each quantity has somewhere to be, and is what it says there.
func TestQuantitySites(t *testing.T) {
	play.QuietRedis()
	shape := Shape{Lock: "single", Replicas: 1, TTL: time.Second}
	calm, err := shape.Calm()
	if err != nil {
		t.Fatal(err)
	}
	build, err := play.Case{}.Find("single")
	if err != nil {
		t.Fatal(err)
	}
	err = play.Series(func(play play.Player) {
		o := play(calm, calm.Runs[0], build, 1)
		for _, q := range quantities {
			if q.kind == "" {
				continue
			}
			found := q.sites(calm, o)
			if len(found) == 0 {
				t.Errorf("%s: nowhere", q.name)
			}
			magnitude, printed := int64(1234*time.Millisecond), "1234ms"
			if q.unit == PPM {
				magnitude, printed = 1234, "+1234ppm"
			}
			seen := map[string]bool{}
			for _, p := range found {
				p = p.sized(magnitude)
				if text := p.String(); !strings.Contains(text, printed) || seen[text] {
					t.Errorf("%s: %s; seen %v", q.name, text, seen[text])
				}
				seen[p.String()] = true
				if _, err := Perturbed(calm, []Perturbation{p}).Checked(); err != nil {
					t.Errorf("%s: %s: %v", q.name, p, err)
				}
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What is played early shows the shape of the whole.
func TestGridOrder(t *testing.T) {
	g := &Grid{Shape: Shape{Lock: "single"}, Axes: axes(t, "pause=0s..16s/17", "ttl=1s..9s/9"), Runs: 30, Seed: 7}
	played := map[Place]int{}
	last := coarsest
	for _, b := range g.batches(map[Place]Tally{{3, 3}: {}}) {
		for _, at := range b.places {
			if n := pass(at); n > last {
				t.Fatalf("%v comes too late", at)
			} else {
				last = n
			}
			if shape := g.ShapeAt(at); shape != b.shape {
				t.Errorf("%v is played with %+v", at, b.shape)
			}
			played[at] += int(b.to - b.from)
		}
	}
	for _, at := range g.Places() {
		want := 30
		if at == (Place{3, 3}) {
			want = 0
		}
		if played[at] != want {
			t.Errorf("%v has %d runs, want %d", at, played[at], want)
		}
	}
}

// hands is a search whose jobs are done by so many at once in this process, one after the other behind the scenes.
func hands(n int) *Search {
	s := &Search{Workers: n}
	var mu sync.Mutex
	s.Do = func(ctx context.Context, data json.RawMessage) (workers.Outcome, error) {
		mu.Lock()
		defer mu.Unlock()
		if err := ctx.Err(); err != nil {
			return workers.Outcome{}, err
		}
		return s.here(ctx, data)
	}
	return s
}

func smallGrid(t *testing.T) *Grid {
	return &Grid{Shape: Shape{Lock: "single"}, Axes: axes(t, "pause=0s..4s/3", "ttl=1s..3s/2"), Runs: 12, Seed: 1}
}

// playAll plays what is missing of a grid.
func playAll(t *testing.T, g *Grid, s *Search, known map[Place]Tally) map[Place]Tally {
	t.Helper()
	got := maps.Clone(known)
	if got == nil {
		got = map[Place]Tally{}
	}
	runs := 0
	err := g.Play(t.Context(), s, known, func(n int) { runs += n }, func(at Place, tally Tally) { got[at] = tally })
	if err != nil {
		t.Fatal(err)
	}
	if want := (len(g.Places()) - len(known)) * g.Runs; runs != want {
		t.Errorf("%d runs were reported, want %d", runs, want)
	}
	return got
}

func TestGridIsReproducible(t *testing.T) {
	g := smallGrid(t)
	one := playAll(t, g, &Search{}, nil)
	if three := playAll(t, g, hands(3), nil); !reflect.DeepEqual(one, three) {
		t.Errorf("alone\n%v\nby three\n%v", one, three)
	}
	for at, tally := range one {
		pause, ttl := g.Axes[0].Values[at[0]], g.Axes[1].Values[at[1]]
		if tally.Runs != g.Runs || (tally.Unsafe > 0) != (pause > ttl) {
			t.Errorf("a pause of %d with a TTL of %d: %v", pause, ttl, tally)
		}
		if tally.Unsafe != tally.Violated[checker.ResourceExclusion] {
			t.Errorf("%v: a pause breaks the exclusion at the resource", tally)
		}
	}
	// A cell is the same whatever else is asked for.
	g.Axes[0].Values = g.Axes[0].Values[2:]
	if alone := playAll(t, g, &Search{}, nil)[Place{0, 0}]; !reflect.DeepEqual(alone, one[Place{2, 0}]) {
		t.Errorf("alone %v, among others %v", alone, one[Place{2, 0}])
	}
}

func TestGridGoesOn(t *testing.T) {
	g := smallGrid(t)
	whole := playAll(t, g, &Search{}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	some := map[Place]Tally{}
	err := g.Play(ctx, &Search{}, nil, func(int) {}, func(at Place, tally Tally) {
		if some[at] = tally; len(some) == 2 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || len(some) < 2 || len(some) == len(whole) {
		t.Fatalf("%d of %d cells, %v", len(some), len(whole), err)
	}
	if again := playAll(t, g, &Search{}, some); !reflect.DeepEqual(again, whole) {
		t.Errorf("resumed\n%v\nat once\n%v", again, whole)
	}
}

// A worker that dies takes one run with it, and no other.
func TestGridLosesWorkers(t *testing.T) {
	g := smallGrid(t)
	whole := playAll(t, g, &Search{}, nil)
	s := hands(2)
	sound := s.Do
	s.Do = func(ctx context.Context, data json.RawMessage) (workers.Outcome, error) {
		var j struct{ Task Task }
		if err := json.Unmarshal(data, &j); err != nil {
			return workers.Outcome{}, err
		}
		c := j.Task.Cells
		slow := slices.ContainsFunc(c.Magnitudes, func(m []int64) bool { return m[0] == int64(4*time.Second) })
		if c.From <= 5 && 5 < c.To && slow {
			return workers.Outcome{Report: &workers.Report{Reason: "it died"}}, nil
		}
		return sound(ctx, data)
	}
	for at, got := range playAll(t, g, s, nil) {
		want := 0
		if at[0] == 2 {
			want = 1
		}
		if got.Runs != g.Runs || got.Unproved != want || whole[at].Unsafe-got.Unsafe > want {
			t.Errorf("%v: %v, with workers that live %v", at, got, whole[at])
		}
	}
}

// Each place, and each pair of places, has its share of the seeds, whichever they begin with.
func TestSpread(t *testing.T) {
	const n, runs = 5, 400
	for _, first := range []uint64{1, 1000, 1 << 63} {
		ones, pairs := map[int]int{}, map[[2]int]int{}
		for seed := first; seed < first+runs; seed++ {
			x, y := spread(seed, 0, n), spread(seed, 1, n)
			ones[x]++
			pairs[[2]int{x, y}]++
		}
		if len(ones) != n || len(pairs) != n*n {
			t.Fatalf("from %d on: %d places and %d pairs", first, len(ones), len(pairs))
		}
		for at, k := range ones {
			if k < runs/n-2 || k > runs/n+2 {
				t.Errorf("from %d on: place %d has %d of %d runs", first, at, k, runs)
			}
		}
		for at, k := range pairs {
			if k < runs/n/n-4 || k > runs/n/n+4 { // by chance it would be twice as much
				t.Errorf("from %d on: pair %v has %d of %d runs", first, at, k, runs)
			}
		}
	}
}

// What a worker leaves, or cannot do, is counted once.
func TestBatchRest(t *testing.T) {
	b := batch{places: []Place{{0, 0}, {1, 0}, {2, 0}}, from: 10, to: 13}
	plan := []Perturbation{{Kind: script.Pausing}}
	for _, test := range []struct {
		name     string
		runs     [3]int
		broken   []Broken
		want     string // places from, seeds
		unproved [3]int
	}{
		{"all", [3]int{3, 3, 3}, nil, "", [3]int{}},
		{"one seed less", [3]int{2, 2, 2}, nil, "0:12-13", [3]int{}},
		{"nothing", [3]int{}, nil, "0:10-13", [3]int{}},
		{"the first broke", [3]int{1, 1, 1}, []Broken{{Plan: plan}}, "1:11-12 0:12-13", [3]int{1, 0, 0}},
		{"the middle broke", [3]int{1, 0, 0}, []Broken{{Plan: plan}}, "2:10-11 0:11-13", [3]int{0, 1, 0}},
		{"the last broke", [3]int{3, 3, 2}, []Broken{{Plan: plan}}, "", [3]int{0, 0, 1}},
		{"the calm run broke", [3]int{1, 1, 1}, []Broken{{}}, "0:12-13", [3]int{1, 1, 1}},
	} {
		y := &Result{Broken: test.broken}
		for _, n := range test.runs {
			y.Cells = append(y.Cells, Tally{Runs: n})
		}
		var got []string
		for _, r := range b.rest(y) {
			got = append(got, fmt.Sprintf("%d:%d-%d", r.places[0][0], r.from, r.to))
		}
		var unproved [3]int
		for i, c := range y.Cells {
			unproved[i] = c.Unproved
		}
		if s := strings.Join(got, " "); s != test.want || unproved != test.unproved {
			t.Errorf("%s: %q, unproved %v; want %q, %v", test.name, s, unproved, test.want, test.unproved)
		}
	}
}

func TestInterval(t *testing.T) {
	for _, test := range []struct {
		unsafe, runs int
		low, high    float64
	}{
		{0, 0, 0, 1}, {0, 100, 0, 0.0370}, {100, 100, 0.9630, 1}, {10, 100, 0.0552, 0.1744}, {50, 100, 0.4038, 0.5962}, // by hand
	} {
		low, high := Tally{Runs: test.runs, Unsafe: test.unsafe}.Interval()
		if fmt.Sprintf("%.4f %.4f", low, high) != fmt.Sprintf("%.4f %.4f", test.low, test.high) {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", test.unsafe, test.runs, low, high, test.low, test.high)
		}
	}
}
