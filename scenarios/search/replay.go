package search

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// A Replay is a run with something changed. The zero Replay is the run itself.
type Replay struct {
	Seed    uint64       `json:"seed,omitempty"` // default: that of the run
	Without []play.Place `json:"without,omitempty"`
	Sized   *Sized       `json:"sized,omitempty"`
	play.Variant
}

// Sized gives a fault another magnitude than it has in the page, in nanoseconds or ppm.
type Sized struct {
	Fault     play.Place `json:"fault"`
	Magnitude int64      `json:"magnitude"`
}

// An Ending is the result of a replay.
type Ending struct {
	Violated []checker.Property `json:"violated,omitempty"`
	Checksum string             `json:"checksum,omitempty"`
	Broke    string             `json:"broke,omitempty"` // why it did not come to its end, if it did not
}

// violates reports whether a property was violated.
func (e Ending) violates(p checker.Property) bool { return slices.Contains(e.Violated, p) }

// replayed plays a replay of the run of a page.
func replayed(r Replay, page *script.Scenario, build clients.New, seed uint64) Ending {
	changed := r.applied(page)
	o, err := play.SimulateVariant(r.Variant, changed, changed.Runs[0], build, cmp.Or(r.Seed, seed))
	if err != nil {
		return Ending{Broke: err.Error()}
	}
	e := Ending{Checksum: o.History.Meta.Checksum}
	for _, v := range o.Result.Violations {
		if !e.violates(v.Property) {
			e.Violated = append(e.Violated, v.Property)
		}
	}
	return e
}

// applied returns the page with the changes that a page can say.
func (r Replay) applied(page *script.Scenario) *script.Scenario {
	if r.Sized != nil {
		if m := magnitudeOf(page, r.Sized.Fault); m != nil {
			page = m.set(r.Sized.Magnitude)
		}
	}
	gone := map[play.Place]bool{}
	for _, at := range r.Without {
		i, j := indexOf(page, at)
		if f, ok := page.Lanes[i].Fault(page.Lanes[i].Steps[j]).(history.Restart); ok {
			f.Empty = false // the loss of the disk is taken out, not the restart
			page = withStep(page, i, j, script.WithFault(page.Lanes[i].Steps[j], func(history.Fault) history.Fault { return f }))
			continue
		}
		gone[at] = true
	}
	if len(gone) == 0 {
		return page
	}
	return withoutPlaces(page, func(at play.Place, _ script.Lane, _ script.Step) bool { return gone[at] })
}

// indexOf returns the indices of the lane and the step of a place, which must exist.
func indexOf(page *script.Scenario, at play.Place) (i, j int) {
	i = slices.IndexFunc(page.Lanes, func(l script.Lane) bool { return l.Process == at.Process })
	return i, at.Step - 1
}

// An amount is how much there is of a fault: how long it lasts, by how much a clock is wrong, or how fast it runs.
type amount struct {
	value int64
	unit  Unit
	set   func(int64) *script.Scenario // returns the page with another magnitude
}

// magnitudeOf returns the magnitude of a fault of a page; nil if it has none. The magnitude of a fault that another step ends is how
// long it lasts, if both happen at given times or after the same event.
func magnitudeOf(page *script.Scenario, at play.Place) *amount {
	i, j := indexOf(page, at)
	lane, step := page.Lanes[i], page.Lanes[i].Steps[j]
	f := lane.Fault(step)
	number := func(v int64, unit Unit, with func(int64) script.Step) *amount {
		if v == 0 {
			return nil
		}
		return &amount{v, unit, func(v int64) *script.Scenario { return withStep(page, i, j, with(v)) }}
	}
	fault := func(v int64, unit Unit, with func(int64) history.Fault) *amount {
		return number(v, unit, func(v int64) script.Step {
			return script.WithFault(step, func(history.Fault) history.Fault { return with(v) })
		})
	}
	if pause, ok := step.(script.Pause); ok {
		return number(int64(pause.For), Seconds, func(v int64) script.Step { return script.Pause{For: time.Duration(v)} })
	}
	switch f := f.(type) {
	case history.Pause:
		if f.For > 0 && lane.Process == script.Nemesis {
			return fault(int64(f.For), Seconds, func(v int64) history.Fault { f.For = time.Duration(v); return f })
		}
	case history.Jump:
		return fault(int64(f.By), Seconds, func(v int64) history.Fault { f.By = time.Duration(v); return f })
	case history.Slew:
		return fault(int64(f.By), Seconds, func(v int64) history.Fault { f.By = time.Duration(v); return f })
	case history.Drift:
		return fault(f.PPM, PPM, func(v int64) history.Fault { f.PPM = v; return f })
	case history.Delay:
		return fault(int64(f.By), Seconds, func(v int64) history.Fault { f.By = time.Duration(v); return f })
	case history.Chosen:
		if f.Action == history.DelayMessage {
			return fault(int64(f.By), Seconds, func(v int64) history.Fault { f.By = time.Duration(v); return f })
		}
	}
	for k := j + 1; k < len(lane.Steps); k++ {
		if g := lane.Fault(lane.Steps[k]); g == nil || !ends(g, f) {
			continue
		}
		switch end := lane.Steps[k].(type) {
		case script.At:
			began := time.Duration(0)
			switch s := step.(type) {
			case script.AtStart:
			case script.At:
				began = s.Time
			default:
				return nil
			}
			if end.Time <= began {
				return nil
			}
			return &amount{int64(end.Time - began), Seconds, func(v int64) *script.Scenario {
				return withStep(page, i, k, script.At{Time: began + time.Duration(v), Fault: end.Fault})
			}}
		case script.When:
			s, ok := step.(script.When)
			if !ok || s.Event != end.Event || end.After <= s.After {
				return nil
			}
			return &amount{int64(end.After - s.After), Seconds, func(v int64) *script.Scenario {
				return withStep(page, i, k, script.When{Event: end.Event, After: s.After + time.Duration(v), Fault: end.Fault})
			}}
		}
		return nil
	}
	return nil
}

// ends reports whether a fault ends another one on the same target.
func ends(g, f history.Fault) bool {
	if g.Target() != f.Target() {
		return false
	}
	switch g.(type) {
	case history.Resume:
		return f.Verb() == history.Pause{}.Verb()
	case history.Restart:
		return f.Verb() == history.Crash{}.Verb() || f.Verb() == history.Stop{}.Verb()
	case history.Heal:
		return f.Verb() == history.Cut{}.Verb()
	case history.ReleaseLink:
		return f.Verb() == history.Hold{}.Verb()
	}
	return false
}

// text prints a magnitude.
func (m *amount) text(v int64) string {
	if m.unit == PPM {
		return history.Drift{PPM: v}.String()[len("drift  "):]
	}
	d := time.Duration(v)
	if d.Abs() < time.Second || d%time.Millisecond != 0 {
		return history.FormatDuration(d)
	}
	return strings.TrimRight(strings.TrimRight(strings.TrimSuffix(history.Seconds(d), "s"), "0"), ".") + "s"
}

// endings makes the workers play replays. Equal ones are played once.
func (q *inquiry) endings(ctx context.Context, replays []Replay) ([]Ending, error) {
	var keys []string
	var fresh []Replay
	asked := map[string]bool{}
	for _, r := range replays {
		data, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		key := string(data)
		keys = append(keys, key)
		if _, known := q.known[key]; !known && !asked[key] {
			asked[key] = true
			fresh = append(fresh, r)
		}
	}
	var tasks []*Task
	for part := range slices.Chunk(fresh, replaysPerTask) {
		tasks = append(tasks, &Task{Replays: part})
	}
	err := q.search.SendAll(ctx, tasks, func(i int, y *Result) error {
		for k, e := range y.Endings {
			data, err := json.Marshal(tasks[i].Replays[k])
			if err != nil {
				return err
			}
			q.known[string(data)] = e
		}
		if q.search.Progress != nil {
			q.search.Progress(len(q.known), len(q.known)+len(fresh)-i*replaysPerTask)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var all []Ending
	for _, key := range keys {
		all = append(all, q.known[key])
	}
	return all, nil
}

// replaysPerTask keeps all workers busy, and a task short.
const replaysPerTask = 8
