package search

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/sim/history"
)

// A Have is how much of a perturbation an environment has, such as the 99.99th percentile of its pauses.
type Have struct {
	Quantity string
	// Value is nanoseconds, ppm, or a number, as in [Tolerance], and above 0.
	Value int64
	// Sign is 1 for ahead or fast only, -1 for back or slow only, and 0 if both have to be within, or if the quantity has no sign.
	Sign int64
}

// ParseHaves parses a list of what an environment has, with commas, such as pause=1.2s,drift=200ppm. Replicas is how many the lock node
// has.
func ParseHaves(list string, replicas int) (all []Have, err error) {
	for text := range strings.SplitSeq(list, ",") {
		h, err := ParseHave(strings.TrimSpace(text))
		switch {
		case err != nil:
			return nil, err
		case findLimited(h.Quantity).replicas && replicas == 0:
			return nil, fmt.Errorf("%s is for a lock node with a replica, and there is none", h.Quantity)
		case slices.ContainsFunc(all, func(other Have) bool {
			return other.Quantity == h.Quantity && (other.Sign == h.Sign || other.Sign*h.Sign == 0)
		}):
			return nil, fmt.Errorf("%s must occur only once", h.Quantity)
		}
		all = append(all, h)
	}
	return all, nil
}

// ParseHave parses such as pause=1.2s, drift=200ppm, jump=-300ms or lost-nodes=1.
func ParseHave(text string) (Have, error) {
	name, value, ok := strings.Cut(text, "=")
	switch {
	case !ok:
		return Have{}, fmt.Errorf("%q must be NAME=VALUE, such as pause=1.2s", text)
	case !slices.Contains(LimitNames(), name):
		return Have{}, history.Unknown("quantity", name, LimitNames())
	}
	q := findLimited(name)
	h := Have{Quantity: name}
	switch {
	case strings.HasPrefix(value, "+") && q.signed():
		h.Sign, value = 1, value[1:]
	case strings.HasPrefix(value, "-") && q.signed():
		h.Sign, value = -1, value[1:]
	case strings.HasPrefix(value, "-"):
		return Have{}, fmt.Errorf("%s: it must not be negative", text)
	}
	if q.unit == PPM && !strings.HasSuffix(value, string(PPM)) {
		return Have{}, fmt.Errorf("%s: %q must be a rate such as 200ppm", name, value)
	}
	v, err := q.parse(value)
	switch {
	case err != nil && strings.HasPrefix(err.Error(), name):
		return Have{}, err
	case err != nil:
		return Have{}, fmt.Errorf("%s: %w", name, err)
	case strings.HasPrefix(value, "-"): // after a sign
		return Have{}, fmt.Errorf("%s: two signs; write one", text)
	case v <= 0:
		return Have{}, fmt.Errorf("%s: it must be above 0", text)
	}
	h.Value = v
	return h, nil
}

// About reports whether a row is about what the environment has.
func (h Have) About(t *Tolerance) bool {
	return h.Quantity == t.Quantity && (h.Sign == 0 || h.Sign == t.Sign)
}

// Within reports whether no run shows that so much does harm, and runs up to at least as much prove that it does none. A quantity
// without any effect does no harm.
func (h Have) Within(t *Tolerance) bool { return h.Value <= t.Harmless }

// String prints it as [ParseHave] parses it.
func (h Have) String() string {
	return h.Quantity + "=" + h.Text()
}

// Text prints the value.
func (h Have) Text() string {
	return map[int64]string{1: "+", -1: "-"}[h.Sign] + findLimited(h.Quantity).text(h.Value)
}

// text prints a magnitude for readers: 7.04s, not 7040ms.
func (q quantity) text(v int64) string {
	if q.unit == Seconds {
		return (&amount{unit: Seconds}).text(int64(time.Duration(v)))
	}
	return q.format(v)
}
