package search

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// A Task is what a worker of a search does with a calm run. Exactly one of the pointers is set, or there are
// Replays.
type Task struct {
	Survey *survey    `json:"survey,omitempty"`
	Expand *Expansion `json:"expand,omitempty"`
	Cells  *cells     `json:"cells,omitempty"`
	Limit  *limiting  `json:"limit,omitempty"`
	Shrink *shrinking `json:"shrink,omitempty"`
	Walk   *walks     `json:"walk,omitempty"`
	// Replays are played instead, if there are any.
	Replays []Replay `json:"replays,omitempty"`

	Kinds     []script.Kind `json:"kinds,omitempty"`
	Constants Constants     `json:"constants,omitzero"`
	Restless  bool          `json:"restless,omitempty"` // as in Case
	// Properties are those whose violation counts; none stand for all.
	Properties []checker.Property `json:"properties,omitempty"`
}

// A Result is what a worker returns for a Task.
type Result struct {
	Trials []Trial `json:"trials,omitempty"`
	Tally  Level   `json:"tally,omitzero"` // counts those that are not among Trials
	// Unproved is the first plan among those counted whose run proves nothing.
	Unproved []Perturbation `json:"unproved,omitempty"`
	// SetClocks is how many plans of an expansion end with a perturbation that sets a clock of a client. ReadClocks is in how many of
	// them this had an effect, because the client read the clock.
	SetClocks  int `json:"set_clocks,omitempty"`
	ReadClocks int `json:"read_clocks,omitempty"`
	// Thinned says that the run of the prefix of an expansion is so long that [Ordered] left perturbations out.
	Thinned bool `json:"thinned,omitempty"`

	// Inapplicable says why the calm run does not apply to the lock.
	Inapplicable string `json:"inapplicable,omitempty"`

	Constants Constants `json:"constants,omitzero"`
	Events    int       `json:"events,omitempty"` // of the calm run
	Sites     int       `json:"sites,omitempty"`  // how many perturbations of it are possible
	Cells     []Tally   `json:"cells,omitempty"`
	Granted   []bool    `json:"granted,omitempty"` // of a limiting: in which of its trials a client got the lock

	Shrunk  *Counterexample `json:"shrunk,omitempty"`
	Refused string          `json:"refused,omitempty"` // why nothing was shrunk

	Endings []Ending `json:"endings,omitempty"` // of replays, in their order

	Coverage *Coverage `json:"coverage,omitempty"` // of walks
	Seed     uint64    `json:"seed,omitempty"`     // of the walk that was under way last

	Played  int    `json:"played"`            // runs, without repetitions
	Twice   int    `json:"twice"`             // how many of them were repeated and compared
	Differs string `json:"differs,omitempty"` // how the first that differed did
	// Broken are the plans whose runs did not come to their end: the lock panicked, spun, or left goroutines behind.
	Broken []Broken `json:"broken,omitempty"`
}

// Broken is a plan whose run did not come to its end, and why.
type Broken struct {
	Plan []Perturbation `json:"plan,omitempty"`
	Seed uint64         `json:"seed,omitempty"` // of the walk, in a random search
	Why  string         `json:"why"`
}

// run carries out the task. It returns early if ctx ends.
func (t *Task) run(ctx context.Context, calm *script.Scenario, build clients.New, seed uint64) *Result {
	y := &Result{}
	for _, r := range t.Replays {
		if ctx.Err() != nil {
			break
		}
		y.Endings = append(y.Endings, replayed(r, calm, build, seed))
		y.Played++
	}
	if len(t.Replays) > 0 {
		return y
	}
	x := &explorer{calm: calm, build: build, restless: t.Restless, properties: t.Properties}
	err := play.Series(func(play play.Player) {
		x.play = play
		switch {
		case t.Survey != nil:
			t.Survey.run(x, t, seed, y)
		case t.Expand != nil:
			t.Expand.run(ctx, x, t, seed, y)
		case t.Cells != nil:
			t.Cells.run(ctx, x, y)
		case t.Limit != nil:
			t.Limit.run(ctx, x, seed, y)
		case t.Shrink != nil:
			t.Shrink.run(ctx, x, seed, y)
		case t.Walk != nil:
			t.Walk.run(ctx, x, t, y)
		}
	})
	if err != nil {
		y.Broken = append(y.Broken, Broken{Plan: x.plan, Why: err.Error()})
	}
	y.Played, y.Twice, y.Differs = x.played, x.twice, x.differs
	return y
}

// A survey plays the calm run, and finds out what its time constants are.
type survey struct{}

func (*survey) run(x *explorer, of *Task, seed uint64, y *Result) {
	t, o := x.try(nil, seed)
	y.Trials = []Trial{t}
	y.Events = len(o.History.Events)
	y.Inapplicable = o.Inapplicable()
	y.Constants = Constants{TTL: o.Run.TTL, NodeTimeout: NodeTimeout(x.play, x.calm, o, seed, x.build), Retry: RetryDelay(o)}
	y.Sites = len(Sites(x.calm, o, y.Constants, of.Kinds))
}

// An Expansion plays every plan that has one perturbation more than Prefix, at a site that the run of Prefix comes to after its last
// perturbation. Each set of perturbations is the expansion of exactly one other: the one that lacks its last.
type Expansion struct {
	Prefix []Perturbation `json:"prefix,omitempty"`
	// Part says which share of the work this is, from 0, and Of how many shares there are.
	Part, Of int
	// From and Count say which of the plans of the share are played: so many, from 0; a Count of 0 stands for all.
	From, Count int
	// Stride is n if only about one plan in n is played, see [sampled]; 0 stands for 1.
	Stride int
	// Orders says that the perturbations are those of [Ordered], and not those of [Sites].
	Orders bool
	// Leaf says that nobody will take these plans further, so that only those that violate something are sent back.
	Leaf bool
	// Named says that the plans are sent back without being played.
	Named bool
}

func (e *Expansion) run(ctx context.Context, x *explorer, of *Task, seed uint64, y *Result) {
	prefix := Perturbed(x.calm, e.Prefix)
	o := x.play(prefix, prefix.Runs[0], x.build, seed) // whoever asks has seen it
	played := 0                                        // of all shares
	sites, whole := e.sites(x.calm, o, of)
	y.Thinned = !whole
	for _, p := range sampled(sites, e.Stride) {
		i := played
		played++
		if n := i/e.Of - e.From; i%e.Of != e.Part || n < 0 || e.Count > 0 && n >= e.Count {
			continue
		}
		if ctx.Err() != nil {
			return
		}
		plan := append(slices.Clip(e.Prefix), p)
		if e.Named {
			y.Trials = append(y.Trials, Trial{Plan: plan})
			continue
		}
		t, _ := x.try(plan, seed)
		if p.setsClockOf(o.History.Meta.Clients) {
			y.SetClocks++
			if !slices.ContainsFunc(t.Idle, func(q Perturbation) bool { return q.Compare(p) == 0 }) {
				y.ReadClocks++
			}
		}
		if e.Leaf && t.Class == Unproved && y.Unproved == nil {
			y.Unproved = t.Plan
		}
		if e.Leaf && t.Class != Violating {
			y.Tally.Count(t.Class)
			continue
		}
		y.Trials = append(y.Trials, t)
	}
}

// sites lists the perturbations that are added to the prefix, of which o is the run. They are whole unless [Ordered] leaves some out.
func (e *Expansion) sites(calm *script.Scenario, o *play.Outcome, of *Task) (all []Perturbation, whole bool) {
	all, whole = nil, true
	if e.Orders {
		all, whole = Ordered(calm, o, of.Constants, of.Kinds)
	} else {
		all = Sites(calm, o, of.Constants, of.Kinds)
	}
	return after(e.Prefix, all), whole
}

// outermost is how many of the first, and of the last, perturbations that differ only in a number are played in any case.
const outermost = 4

// sampled chooses the perturbations that are played if only about one in stride is. Perturbations that differ only in the number of an event or
// of a message are those of a lock that polls, and most of them come to the same: of these, the first and the last are played, and one in
// stride of the others. So a moment that comes only once, such as that at which a node sets the key, is never left out. Which of the others are
// played looks random, because they come in a regular order: with every second one, all pauses would be short.
func sampled(all []Perturbation, stride int) []Perturbation {
	if stride < 2 {
		return all
	}
	alike := map[string][]int{}
	for i, p := range all {
		key := fmt.Sprint(p.Client, p.Before, ordinal.ReplaceAllString(p.String(), ""))
		alike[key] = append(alike[key], i)
	}
	chosen := make([]bool, len(all))
	for _, of := range alike {
		for n, i := range of {
			chosen[i] = n < outermost || n >= len(of)-outermost || uint32(i)*2654435761>>16%uint32(stride) == 0
		}
	}
	var few []Perturbation
	for i, p := range all {
		if chosen[i] {
			few = append(few, p)
		}
	}
	return few
}

// ordinal is the number of an event or a message in a perturbation.
var ordinal = regexp.MustCompile(` #[0-9]+`)

// after lists the perturbations that come after the last of a plan, of those that are possible in its run.
func after(plan, possible []Perturbation) []Perturbation {
	return slices.DeleteFunc(possible, func(p Perturbation) bool {
		return len(plan) > 0 && p.Compare(plan[len(plan)-1]) <= 0
	})
}
