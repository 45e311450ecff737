package claims

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lockstep/checker"
)

// A Saving keeps what the drawn run of a claim violates: another run, or another value of a quantity in the drawn run.
type Saving struct {
	What     string // it is, in words
	Run      string // one of the evidence; the drawn run if only a quantity changes
	Quantity string // what changes, as its What says; empty for another run
	Value    string
}

var save = regexp.MustCompile(`^([^=]+?) = ([^=]+)$`)

// parseSaving parses what stands in the field save of a claim whose other fields are known.
func parseSaving(text string, c Claim) (Saving, error) {
	m := save.FindStringSubmatch(text)
	if m == nil {
		return Saving{}, fmt.Errorf("save must be WHAT = RUN or WHAT = STEP, such as a longer TTL = ttl 20s; cannot read %.60q", text)
	}
	drawn := c.Draw[0]
	i := slices.IndexFunc(c.Evidence, func(e Evidence) bool { return e.Run == drawn && e.Quantity == "" })
	if i < 0 || c.Evidence[i].Status != checker.Violated {
		return Saving{}, fmt.Errorf("save requires that the evidence first says of the drawn run that a property is violated; the drawn run is %s", drawn)
	}
	property, choice := c.Evidence[i].Property, m[2]
	if strings.Contains(choice, "/") {
		if !slices.ContainsFunc(c.Evidence, func(e Evidence) bool { return e.Run == choice && e.Property == property && e.Status == checker.OK }) {
			return Saving{}, fmt.Errorf("the run in save must be listed as evidence with %s ok; %s is not", property, choice)
		}
		return Saving{What: m[1], Run: choice}, nil
	}
	scenario, _, _ := strings.Cut(drawn, "/")
	for _, q := range c.Vary {
		value, ok := q.In(choice)
		if q.Scenario != scenario || !ok {
			continue
		}
		if values, err := q.Values(""); err != nil || !slices.Contains(values, value) {
			return Saving{}, fmt.Errorf("the value in save must be one that the slider offers, from %s to %s; %s is not", q.From, q.To, value)
		}
		return Saving{What: m[1], Run: drawn, Quantity: q.What, Value: value}, nil
	}
	return Saving{}, fmt.Errorf("the step in save must match a vary line of %s, with a value in place of the ?; no vary line matches %q", scenario, choice)
}
