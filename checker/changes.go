package checker

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Changes lists how a result differs from an earlier one of the same run: in the verdict, in the statuses of properties, and in the
// assumptions that were broken. How often, when and by whom a property was violated does not matter. A property that only one of
// the two has is a change: it may be new, or somebody may have removed it.
func (r Result) Changes(was Result) []string {
	var all []string
	if was.Verdict != r.Verdict {
		all = append(all, fmt.Sprintf("it was %s, and is %s", was.Verdict, r.Verdict))
	}
	for _, p := range Properties() {
		switch a, b := was.broken(p), r.broken(p); {
		case !was.judged(p):
			all = append(all, fmt.Sprintf("%s is %s, and was not judged then", p, r.Status(p)))
		case was.Status(p) != r.Status(p):
			all = append(all, fmt.Sprintf("%s was %s, and is %s", p, was.Status(p), r.Status(p)))
		case a != b:
			all = append(all, fmt.Sprintf("%s was violated with %s broken, and is with %s", p, cmp.Or(a, "nothing said to be"), b))
		}
	}
	for _, s := range was.Statuses {
		if !slices.Contains(Properties(), s.Property) {
			all = append(all, fmt.Sprintf("%s was %s, and is not judged any more", s.Property, s.Status))
		}
	}
	return all
}

func (r Result) judged(p Property) bool {
	return slices.ContainsFunc(r.Statuses, func(s PropertyStatus) bool { return s.Property == p })
}

// broken lists the assumptions that were broken when a property was violated.
func (r Result) broken(p Property) string {
	var all []string
	for _, a := range Assumptions() {
		if slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Property == p && v.Assumption == a }) {
			all = append(all, string(a))
		}
	}
	return strings.Join(all, " and ")
}

// Valid returns an error if a result that was read from a file has unknown words, or contradicts itself: somebody may have edited
// it.
func (r Result) Valid() error {
	if !slices.Contains([]Verdict{Safe, Unsafe, Inconclusive}, r.Verdict) {
		return fmt.Errorf("unknown verdict %q; it must be %s, %s or %s", r.Verdict, Safe, Unsafe, Inconclusive)
	}
	if len(r.Statuses) == 0 {
		return errors.New(`it has no "properties"`)
	}
	for _, s := range r.Statuses {
		if !slices.Contains([]Status{OK, Violated, Unknown}, s.Status) {
			return fmt.Errorf("%s: unknown status %q; it must be %s, %s or %s", s.Property, s.Status, OK, Violated, Unknown)
		}
	}
	if why := r.contradiction(); why != "" {
		return fmt.Errorf("it contradicts itself: %s", why)
	}
	return nil
}

// contradiction says how a result contradicts itself; empty if it does not.
func (r Result) contradiction() string {
	for _, v := range r.Violations {
		if !r.judged(v.Property) || r.Status(v.Property) != Violated {
			return fmt.Sprintf("it lists a violation of %s, but does not say that this is violated", v.Property)
		}
	}
	switch r.Verdict {
	case Safe:
		for _, s := range r.Statuses {
			if s.Status != OK {
				return fmt.Sprintf("its verdict is %s, and %s is %s", r.Verdict, s.Property, s.Status)
			}
		}
	case Unsafe:
		if !slices.ContainsFunc(r.Statuses, func(s PropertyStatus) bool { return s.Status == Violated }) {
			return fmt.Sprintf("its verdict is %s, and no property is violated", r.Verdict)
		}
	default:
		return ""
	}
	if len(r.Unmet) > 0 {
		return fmt.Sprintf("its verdict is %s, but it says why nothing is proved", r.Verdict)
	}
	return ""
}
