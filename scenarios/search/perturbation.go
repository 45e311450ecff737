package search

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// A Perturbation is one deviation from a calm run: steps that are added to it. They are steps of the [script.Nemesis], or, if a client
// pauses between two of its own steps, one step of the client's lane.
type Perturbation struct {
	Kind  script.Kind
	At    time.Duration // when the run reaches its site; this depends on the perturbations before it
	Steps []script.Step
	// Client is the client into whose lane Steps go; empty for the nemesis.
	Client string
	// Before is the index of the step of the calm lane before which they go.
	Before int
}

// String prints the added steps.
func (p Perturbation) String() string {
	var steps []string
	for _, step := range p.Steps {
		steps = append(steps, step.String())
	}
	text := strings.Join(steps, "; ")
	if p.Client != "" {
		return fmt.Sprintf("%s before step %d of %s", text, p.Before+1, p.Client)
	}
	return text
}

// Compare orders perturbations by their position in a run.
func (p Perturbation) Compare(q Perturbation) int {
	if c := cmp.Compare(p.At, q.At); c != 0 {
		return c // the usual case; printing both takes far longer
	}
	return strings.Compare(p.String(), q.String())
}

// ordered sorts perturbations by their position in a run, without those that occur twice. Each is printed only once.
func ordered(all []Perturbation) []Perturbation {
	type printed struct {
		Perturbation
		text string
	}
	by := make([]printed, len(all))
	for i, p := range all {
		by[i] = printed{p, p.String()}
	}
	slices.SortStableFunc(by, func(a, b printed) int { return cmp.Or(cmp.Compare(a.At, b.At), strings.Compare(a.text, b.text)) })
	by = slices.CompactFunc(by, func(a, b printed) bool { return a.At == b.At && a.text == b.text })
	for i, p := range by {
		all[i] = p.Perturbation
	}
	return all[:len(by)]
}

// setsClockOf reports whether the perturbation makes a clock of one of these clients wrong.
func (p Perturbation) setsClockOf(clients []string) bool {
	return slices.ContainsFunc(p.Steps, func(s script.Step) bool {
		f := p.fault(s)
		return history.SetsClock(f) && slices.Contains(clients, f.Target())
	})
}

// perturbationText is a perturbation as JSON.
type perturbationText struct {
	Kind   script.Kind   `json:"kind"`
	At     time.Duration `json:"at"`
	Steps  []string      `json:"steps"`
	Client string        `json:"client,omitempty"`
	Before int           `json:"before,omitempty"`
}

// MarshalJSON writes the steps as lines of a scenario file.
func (p Perturbation) MarshalJSON() ([]byte, error) {
	t := perturbationText{Kind: p.Kind, At: p.At, Client: p.Client, Before: p.Before}
	for _, step := range p.Steps {
		t.Steps = append(t.Steps, step.String())
	}
	return json.Marshal(t)
}

// UnmarshalJSON reads the form that MarshalJSON writes.
func (p *Perturbation) UnmarshalJSON(data []byte) error {
	var t perturbationText
	if err := json.Unmarshal(data, &t); err != nil {
		return err
	}
	*p = Perturbation{Kind: t.Kind, At: t.At, Client: t.Client, Before: t.Before}
	process := t.Client
	if process == "" {
		process = script.Nemesis
	}
	for _, text := range t.Steps {
		step, err := script.ParseStep(process, text)
		if err != nil {
			return err
		}
		p.Steps = append(p.Steps, step)
	}
	return nil
}

// Perturbed returns the scenario with perturbations added to each of its runs, which must all have the lanes that the
// perturbations name. The order of perturbations does not matter.
func Perturbed(s *script.Scenario, plan []Perturbation) *script.Scenario {
	p, _ := perturb(s, plan)
	return p
}

// perturb is [Perturbed], and also returns the places of each perturbation's steps.
func perturb(s *script.Scenario, plan []Perturbation) (*script.Scenario, [][]play.Place) {
	p := *s
	p.Lanes = slices.Clone(s.Lanes)
	places := make([][]play.Place, len(plan))
	for i, lane := range p.Lanes {
		if lane.Process != script.Nemesis {
			p.Lanes[i].Steps = perturbedSteps(lane, plan, places)
		}
	}
	i := slices.IndexFunc(p.Lanes, func(l script.Lane) bool { return l.Process == script.Nemesis })
	nemesis := script.Lane{Process: script.Nemesis}
	if i >= 0 {
		nemesis.Steps = slices.Clip(p.Lanes[i].Steps)
	}
	for k, q := range plan {
		if q.Client == "" {
			addTo(&nemesis, q, &places[k])
		}
	}
	switch {
	case i >= 0:
		p.Lanes[i] = nemesis
	case len(nemesis.Steps) > 0:
		p.Lanes = append(p.Lanes, nemesis)
	}
	return &p, places
}

// perturbedSteps returns the steps of a client's lane with the added ones, and records their places in places.
func perturbedSteps(l script.Lane, plan []Perturbation, places [][]play.Place) []script.Step {
	longer := script.Lane{Process: l.Process}
	for i, step := range l.Steps {
		for k, p := range plan {
			if p.Client == l.Process && p.Before == i {
				addTo(&longer, p, &places[k])
			}
		}
		longer.Steps = append(longer.Steps, step)
	}
	return longer.Steps
}

// addTo appends the steps of a perturbation to the lane, and their places to places.
func addTo(l *script.Lane, p Perturbation, places *[]play.Place) {
	for _, step := range p.Steps {
		l.Steps = append(l.Steps, step)
		*places = append(*places, play.Place{Process: l.Process, Step: len(l.Steps)})
	}
}
