package reader

import (
	"strings"
	"testing"

	"lockstep/checker"
)

// An exploration finds what is there, whatever goes wrong in the text, and each find can be opened.
func TestExplore(t *testing.T) {
	const script = "# A.\n\nclient c1\n  acquire within 5s\n  write A\n  sleep 1s\n  release\nclient c2\n  until 5ms\n  acquire within 20s\n  write B\n  release\nnemesis\n  crash n1\n\n-- %s nodes=1 --\n"
	for _, c := range []struct {
		lock  string
		want  checker.Property
		broke checker.Assumption
	}{
		{"getdel", checker.LeaseExclusion, checker.BoundedClockError},
		{"single", checker.ResourceExclusion, checker.BoundedPause},
		{"setnx", checker.DeadlockFreedom, checker.None},
	} {
		seen := 0
		a := Explore(Request{ID: 3, Script: strings.Replace(script, "%s", c.lock, 1)}, func(done, all int) { seen++ })
		if len(a.Errors) > 0 || a.ID != 3 || seen == 0 || !strings.HasPrefix(a.Exploration.Sentence, "Of ") {
			t.Fatalf("%s: %+v, progress %d times", c.lock, a, seen)
		}
		found := false
		for _, f := range a.Exploration.Finds {
			found = found || f.Property == c.want && f.Assumption == c.broke
			b := Play(Request{Token: f.Token, Want: Properties})
			if b.Statuses[f.Property] != checker.Violated {
				t.Errorf("%s: %+v is %s in its run, %v", c.lock, f, b.Statuses[f.Property], b.Errors)
			}
		}
		if !found {
			t.Errorf("%s: not found: %s (%s) in %+v", c.lock, c.want, c.broke, a.Exploration.Finds)
		}
	}
	if a := Explore(Request{Script: strings.Replace(script, "%s", "redsync", 1)}, nil); len(a.Errors) != 1 {
		t.Errorf("%+v", a)
	}
}
