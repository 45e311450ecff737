package search

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// A quantity is what the axis of a [Grid] can be: a setting of the shape, or the magnitude of a perturbation.
type quantity struct {
	name     string
	about    string // a description for readers of a map
	unit     Unit
	min, max int64
	// set is for a setting of the shape.
	set func(*Shape, int64)
	// kind and fits select the perturbations whose magnitude it is. At magnitude 0 there is no perturbation.
	kind     script.Kind
	fits     func(*history.Meta, Perturbation) bool // default: all
	replicas bool                                   // it needs a replica
}

// A Unit is the unit of the values of an [Axis].
type Unit string

// The units. Durations are int64 nanoseconds, as a [time.Duration] is, and shown in seconds.
const (
	Seconds Unit = "s"
	PPM     Unit = "ppm"
	Number  Unit = ""
)

// longestMagnitude keeps runs within about a day of virtual time.
const longestMagnitude = time.Hour

// mostDriftPPM is almost a clock at double speed, or one that stands still.
const mostDriftPPM = 900_000

var quantities = []quantity{
	{name: "ttl", about: "TTL", unit: Seconds, min: int64(minShapeTTL), max: int64(longestMagnitude),
		set: func(s *Shape, v int64) { s.TTL = time.Duration(v) }},
	{name: "nodes", about: "lock nodes", unit: Number, min: 1, max: 9,
		set: func(s *Shape, v int64) { s.Nodes = int(v) }},
	{name: "clients", about: "clients", unit: Number, min: minShapeClients, max: maxShapeClients,
		set: func(s *Shape, v int64) { s.Clients = int(v) }},
	{name: "pause", about: "a client pauses", unit: Seconds, max: int64(longestMagnitude), kind: script.Pausing},
	{name: "delay", about: "one message to or from a lock node is late", unit: Seconds, max: int64(longestMagnitude), kind: script.Delaying},
	{name: "late-write", about: "one message to or from the resource is late", unit: Seconds, max: int64(longestMagnitude), kind: script.LateWrite},
	{name: "jump", about: "the wall clock of a lock node jumps", unit: Seconds, min: -int64(longestMagnitude), max: int64(longestMagnitude), kind: script.Jumping,
		fits: func(m *history.Meta, p Perturbation) bool {
			return !slices.Contains(m.Clients, script.FaultOf(p.Steps[0]).Target())
		}},
	{name: "client-jump", about: "the wall clock of a client jumps", unit: Seconds, min: -int64(longestMagnitude), max: int64(longestMagnitude), kind: script.ClientJumping},
	{name: "drift", about: "the clocks of a client or a lock node drift", unit: PPM, min: -mostDriftPPM, max: mostDriftPPM, kind: script.Drifting},
	{name: "stall", about: "a lock node pauses", unit: Seconds, max: int64(longestMagnitude), kind: script.Stalling},
	{name: "down", about: "a lock node is down", unit: Seconds, max: int64(longestMagnitude), kind: script.Crashing},
	{name: "empty", about: "a lock node is down, and comes back empty", unit: Seconds, max: int64(longestMagnitude), kind: script.Emptying},
	{name: "lag", about: "a replica lags behind", unit: Seconds, max: int64(longestMagnitude), kind: script.Cutting, replicas: true,
		fits: cutsReplica},
	{name: "failover", about: "the primary crashes, and a replica takes over", unit: Seconds, max: int64(longestMagnitude), kind: script.FailingOver, replicas: true,
		fits: func(_ *history.Meta, p Perturbation) bool { return len(p.Steps) == 2 }},
}

// cutsReplica reports whether a perturbation cuts a replica off from its primary.
func cutsReplica(m *history.Meta, p Perturbation) bool {
	cut, ok := script.FaultOf(p.Steps[0]).(history.Cut)
	node, copies := m.Replicas[cut.Link.To]
	return ok && copies && cut.Link.From == node
}

// AxisNames lists the names of quantities.
func AxisNames() []string {
	var names []string
	for _, q := range quantities {
		names = append(names, q.name)
	}
	return names
}

// perturbing lists the quantities that are magnitudes of perturbations.
func perturbing() string {
	names := slices.DeleteFunc(AxisNames(), func(name string) bool { return findQuantity(name).kind == "" })
	return strings.Join(names, ", ")
}

// findQuantity returns a quantity, which must exist.
func findQuantity(name string) quantity {
	return quantities[slices.IndexFunc(quantities, func(q quantity) bool { return q.name == name })]
}

// An Axis is a quantity and the values that it takes in a [Grid].
type Axis struct {
	Name   string
	Values []int64 // ascending: nanoseconds, ppm, or a number
}

// MostSteps is how many values an [Axis] may have.
const MostSteps = 200

// ParseAxis parses an axis such as pause=0s..60s/25: 25 values at equal distances, from 0s to 60s. For a quantity that is a whole
// number, the number of values is optional: nodes=1..9.
func ParseAxis(text string) (Axis, error) {
	form := errors.New("write NAME=FROM..TO/STEPS, such as pause=0s..60s/25")
	name, span, ok := strings.Cut(text, "=")
	switch {
	case !ok:
		return Axis{}, fmt.Errorf("%q is not an axis: %w", text, form)
	case !slices.Contains(AxisNames(), name):
		return Axis{}, history.Unknown("axis", name, AxisNames())
	}
	q := findQuantity(name)
	span, number, stepped := strings.Cut(span, "/")
	low, high, ok := strings.Cut(span, "..")
	if !ok {
		return Axis{}, fmt.Errorf("%q has no FROM..TO: %w", text, form)
	}
	from, err := q.parse(low)
	if err != nil {
		return Axis{}, err
	}
	to, err := q.parse(high)
	if err != nil {
		return Axis{}, err
	}
	if to < from {
		return Axis{}, fmt.Errorf("%s: %s is greater than %s; write %s=%[3]s..%[2]s", text, low, high, name)
	}
	steps := to - from + 1
	if stepped {
		if steps, err = strconv.ParseInt(number, 10, 64); err != nil {
			return Axis{}, fmt.Errorf("%s: %q is not a number of values; %w", text, number, form)
		}
	} else if q.unit != Number {
		return Axis{}, fmt.Errorf("%s does not say how many values: write %[1]s/25", text)
	}
	switch {
	case steps < 1 || steps > MostSteps:
		return Axis{}, fmt.Errorf("%s has %d values; an axis has between 1 and %d", text, steps, MostSteps)
	case steps == 1 && from != to:
		return Axis{}, fmt.Errorf("%s has two ends but one value; write /2 or more", text)
	case steps > 1 && from == to:
		return Axis{}, fmt.Errorf("%s has one value; write %s=%s..%[3]s/1", text, name, low)
	case to-from < steps-1:
		return Axis{}, fmt.Errorf("%s has more steps than there are values; write /%d", text, to-from+1)
	case q.unit == Number && steps > 1 && (to-from)%(steps-1) != 0:
		return Axis{}, fmt.Errorf("%s: %d values from %d to %d are not whole numbers; leave out /%[2]d", text, steps, from, to)
	}
	a := Axis{Name: name}
	for i := range steps {
		a.Values = append(a.Values, q.between(from, to, i, steps))
	}
	return a, nil
}

// between returns value number i. A duration is rounded, by no more than a fiftieth of the distance.
func (q quantity) between(from, to, i, steps int64) int64 {
	if i == steps-1 {
		return to
	}
	v := from
	if steps > 1 {
		width := (to - from) / (steps - 1)
		v += width*i + (to-from)%(steps-1)*i/(steps-1)
		for _, unit := range []time.Duration{time.Millisecond, time.Microsecond} {
			if d := time.Duration(v); q.unit == Seconds && i > 0 && width >= 50*int64(unit) {
				return int64(d.Round(unit))
			}
		}
	}
	return v
}

// parse parses a value.
func (q quantity) parse(text string) (int64, error) {
	var v int64
	if q.unit == Seconds {
		d, err := history.ParseDuration(text)
		if err != nil {
			return 0, err
		}
		v = int64(d)
	} else {
		n, err := strconv.ParseInt(strings.TrimSuffix(text, string(q.unit)), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %q must be a whole number from %d to %d", q.name, text, q.min, q.max)
		}
		v = n
	}
	if v < q.min || v > q.max {
		return 0, fmt.Errorf("%s: %s is out of range; write %s to %s", q.name, text, q.format(q.min), q.format(q.max))
	}
	return v, nil
}

func (q quantity) format(v int64) string {
	if q.unit == Seconds {
		return history.FormatDuration(time.Duration(v))
	}
	return strconv.FormatInt(v, 10) + string(q.unit)
}

// sites lists the places for a perturbation with this quantity as its magnitude, each once. The magnitudes in the list are
// arbitrary.
func (q quantity) sites(calm *script.Scenario, o *play.Outcome) []Perturbation {
	var all []Perturbation
	seen := map[string]bool{}
	for _, p := range Sites(calm, o, Constants{TTL: o.Run.TTL}, []script.Kind{q.kind}) {
		if q.fits != nil && !q.fits(&o.History.Meta, p) {
			continue
		}
		if place := p.sized(1).String(); !seen[place] {
			seen[place] = true
			all = append(all, p)
		}
	}
	return all
}

// sized returns the perturbation at the same place with another magnitude: nanoseconds, or ppm.
func (p Perturbation) sized(magnitude int64) Perturbation {
	d := time.Duration(magnitude)
	fault := func(f history.Fault) history.Fault {
		switch f := f.(type) {
		case history.Pause:
			f.For = d
			return f
		case history.Jump:
			f.By = d
			return f
		case history.Drift:
			f.PPM = magnitude
			return f
		case history.Chosen:
			f.By = d
			return f
		}
		return f
	}
	p.Steps = slices.Clone(p.Steps)
	for i, step := range p.Steps {
		switch s := step.(type) {
		case script.Pause:
			s.For = d
			p.Steps[i] = s
		case script.At: // the end of a fault from the start
			s.Time = d
			p.Steps[i] = s
		case script.AtStart:
			s.Fault = fault(s.Fault)
			p.Steps[i] = s
		case script.When:
			if s.After != 0 { // the end of a fault
				s.After = d
			}
			s.Fault = fault(s.Fault)
			p.Steps[i] = s
		}
	}
	return p
}

func (a Axis) quantity() quantity { return findQuantity(a.Name) }

// About describes the axis in words.
func (a Axis) About() string { return a.quantity().about }

// Unit is the unit of Text.
func (a Axis) Unit() Unit { return a.quantity().unit }

// Perturbs reports whether the axis is the magnitude of a perturbation, and not a setting of the shape.
func (a Axis) Perturbs() bool { return a.quantity().kind != "" }

// Text returns value number i in the unit of the axis, as text.
func (a Axis) Text(i int) string {
	return strconv.FormatFloat(a.Value(i), 'f', -1, 64)
}

// Value returns value number i in the unit of the axis.
func (a Axis) Value(i int) float64 {
	if a.Unit() == Seconds {
		return time.Duration(a.Values[i]).Seconds()
	}
	return float64(a.Values[i])
}

// String prints the axis in the form that [ParseAxis] parses.
func (a Axis) String() string {
	q, last := a.quantity(), len(a.Values)-1
	return fmt.Sprintf("%s=%s..%s/%d", a.Name, q.format(a.Values[0]), q.format(a.Values[last]), len(a.Values))
}
