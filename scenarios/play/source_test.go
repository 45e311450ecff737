package play

import (
	"strings"
	"testing"

	"lockstep/scenarios/script"
)

// A worker gets the section that it plays, and not the thousands of others.
func TestSourceHasOneSection(t *testing.T) {
	const page = "# Two runs.\n\nclient c1\n  acquire\n\n-- single nodes=1 label=a --\n-- single nodes=1 label=b --\n"
	s, err := script.Parse("two.txtar", []byte(page))
	if err != nil {
		t.Fatal(err)
	}
	got := Case{Scenario: s, Run: s.Runs[1].With("fenced")}.source()
	if want := strings.Replace(page, "-- single nodes=1 label=a --\n", "", 1); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if len(s.Runs) != 2 {
		t.Errorf("the page has %d runs", len(s.Runs))
	}
}
