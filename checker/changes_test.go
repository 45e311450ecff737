package checker

import (
	"slices"
	"strings"
	"testing"
)

// A result that differs from an earlier one says in what, and one that contradicts itself is not valid.
func TestChanges(t *testing.T) {
	result := func(v Verdict, s Status, broken ...Assumption) Result {
		r := Result{Verdict: v}
		for _, p := range Properties() {
			r.Statuses = append(r.Statuses, PropertyStatus{p, OK})
		}
		r.Statuses[0].Status = s
		for _, a := range broken {
			r.Violations = append(r.Violations, Violation{Property: r.Statuses[0].Property, Assumption: a})
		}
		return r
	}
	first := string(Properties()[0])
	unsafe := result(Unsafe, Violated, BoundedPause)
	fewer := result(Safe, OK)
	fewer.Statuses = fewer.Statuses[1:]
	older := result(Safe, OK)
	older.Statuses = append(older.Statuses, PropertyStatus{"politeness", OK})
	unmet := result(Safe, OK)
	unmet.Unmet = []string{"nothing"}
	for _, test := range []struct {
		name     string
		was, now Result
		want     []string
	}{
		{"the same, and more often", unsafe, result(Unsafe, Violated, BoundedPause, BoundedPause), nil},
		{"another verdict", unsafe, result(Safe, OK), []string{"it was UNSAFE, and is SAFE", first + " was violated, and is ok"}},
		{"another assumption", unsafe, result(Unsafe, Violated, BoundedDelay), []string{first + " was violated with bounded pause broken, and is with bounded delay"}},
		{"a new property", fewer, result(Safe, OK), []string{first + " is ok, and was not judged then"}},
		{"a property that was given up", older, result(Safe, OK), []string{"politeness was ok, and is not judged any more"}},
	} {
		if got := test.now.Changes(test.was); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		if err := test.was.Valid(); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	for _, test := range []struct {
		r    Result
		want string
	}{
		{Result{Verdict: Safe}, `no "properties"`},
		{result("MAYBE", OK), `unknown verdict "MAYBE"; it must be SAFE, UNSAFE or UNKNOWN`},
		{result(Safe, "fine"), `unknown status "fine"; it must be ok, violated or unknown`},
		{result(Safe, Violated), "its verdict is SAFE, and " + first + " is violated"},
		{result(Unsafe, OK), "its verdict is UNSAFE, and no property is violated"},
		{result(Unsafe, OK, None), "it lists a violation of " + first},
		{unmet, "its verdict is SAFE, but it says why nothing is proved"},
	} {
		if err := test.r.Valid(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
}
