package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lockstep/checker/facts"
	"lockstep/checker/internal/handmade"
	"lockstep/sim/history"
)

// A verdictCase is a story and the violations that it must have: the text of each, with the assumption that was broken in brackets.
type verdictCase struct {
	name  string
	story string
	want  []string
}

func testProperty(t *testing.T, p Property, cases []verdictCase) {
	t.Helper()
	good, bad := 0, 0
	for _, c := range cases {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			h := handmade.History(t, c.story)
			r := Check(facts.Of(h), nil)
			var got []string
			for _, v := range r.Violations {
				if v.Property == p {
					got = append(got, fmt.Sprintf("%s [%s]", v.What, v.Assumption))
				}
				checkProof(t, h, v)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s\nfound:\n  %s\nwant:\n  %s", c.story, strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
			}
			want := OK
			if len(c.want) > 0 {
				want = Violated
			}
			if s := r.Status(p); s != want {
				t.Errorf("status %s, want %s (%v)", s, want, r.Unmet)
			}
		})
		if len(c.want) == 0 {
			good++
		} else {
			bad++
		}
	}
	if good < 4 || bad < 4 {
		t.Errorf("%d good and %d bad histories are too few", good, bad)
	}
}

// checkProof fails the test unless a violation is complete and its events exist, each once and in order.
func checkProof(t testing.TB, h *history.History, v Violation) {
	t.Helper()
	if len(v.Events) == 0 || !slices.IsSorted(v.Events) || len(slices.Compact(slices.Clone(v.Events))) != len(v.Events) ||
		v.Events[0] < 0 || v.Events[len(v.Events)-1] >= len(h.Events) {
		t.Errorf("%q is proven by events %v of %d", v.What, v.Events, len(h.Events))
	}
	if v.What == "" || v.Assumption == "" || v.Property == "" {
		t.Errorf("incomplete violation %+v", v)
	}
}
