package search

import (
	"encoding/json"
	"slices"
	"testing"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// tolerable are the kinds of perturbations that Redlock is made for, and those that are short enough for its assumptions.
var tolerable = []script.Kind{script.Delaying, script.Losing, script.SlowLink, script.Cutting, script.Parting, script.Dying, script.Stalling, script.Crashing}

// planOf makes a plan of bytes: three for each perturbation, which are its kind and its place among the sites of that kind.
func planOf(data []byte, kinds []script.Kind, of map[script.Kind][]Perturbation) []Perturbation {
	var plan []Perturbation
	for ; len(data) >= 3 && len(plan) < 4; data = data[3:] {
		sites := of[kinds[int(data[0])%len(kinds)]]
		plan = append(plan, sites[(int(data[1])<<8|int(data[2]))%len(sites)])
	}
	slices.SortFunc(plan, Perturbation.Compare)
	return slices.CompactFunc(plan, func(p, q Perturbation) bool { return p.Compare(q) == 0 })
}

// FuzzPlan has Redlock go through plans: none of them makes it violate anything, unless there is something to blame; each of them
// is a page, and travels.
func FuzzPlan(f *testing.F) {
	play.QuietRedis()
	calm, err := Shape{Lock: "redlock", Nodes: 3}.Calm()
	if err != nil {
		f.Fatal(err)
	}
	replayed := func(t testing.TB, s *script.Scenario) *play.Outcome {
		t.Helper()
		o, err := play.Simulate(s, s.Runs[0], clients.NewRedlock, 1)
		if err != nil {
			t.Fatalf("%v\n%s", err, s)
		}
		return o
	}
	o := replayed(f, calm)
	c := Constants{TTL: o.Run.TTL, Retry: RetryDelay(o)}
	c.NodeTimeout = NodeTimeout(func(s *script.Scenario, _ script.Section, _ clients.New, _ uint64) *play.Outcome {
		return replayed(f, s)
	}, calm, o, 1, clients.NewRedlock)
	of := map[script.Kind][]Perturbation{}
	for _, p := range Sites(calm, o, c, tolerable) {
		of[p.Kind] = append(of[p.Kind], p)
	}
	for i, k := range tolerable {
		if len(of[k]) == 0 {
			f.Fatalf("a calm run has no site for %s", k)
		}
		f.Add([]byte{byte(i), 0, 0})
		f.Add([]byte{byte(i), 0, 40, byte(i + 3), 0, 7})
		f.Add([]byte{byte(i), 0, 90, byte(i + 2), 0, 33, byte(i + 5), 0, 60})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		plan := planOf(data, tolerable, of)
		s := Perturbed(calm, plan)
		again, err := script.Parse(s.File, []byte(s.String()))
		if err != nil || !again.Equal(s) {
			t.Fatalf("%v: what was printed is read as\n%s\nit was\n%s", err, again, s)
		}
		travels(t, plan)
		o := replayed(t, s)
		if o.History.Meta.Cap != "" || o.Result.RanOn {
			t.Fatalf("the run proves nothing: %v\n%s", o.Result.Unmet, s)
		}
		for _, v := range o.Result.Violations {
			if v.Assumption != checker.BoundedDelay || v.Property != checker.ResourceExclusion {
				t.Errorf("%s violated, %s: %s\n%s", v.Property, play.BrokenWords(v.Assumption), v.What, s)
			}
		}
	})
}

// travels checks that a plan comes back from JSON as it went.
func travels(t *testing.T, plan []Perturbation) {
	t.Helper()
	data, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	var again []Perturbation
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	if !slices.EqualFunc(plan, again, func(p, q Perturbation) bool {
		return p.Kind == q.Kind && p.At == q.At && p.Client == q.Client && p.Before == q.Before && slices.Equal(p.Steps, q.Steps)
	}) {
		t.Fatalf("%v came back as %v", plan, again)
	}
}
