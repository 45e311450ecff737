package scenarios

import (
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/clients/kinds"
	"lockstep/internal/draws"
	"lockstep/scenarios/play"
)

// The type of its key makes no difference to what is seen of a lock: in every run of single, a lock with a hash, a list, a set
// or a sorted set has the verdict of the same lock with a string, property by property.
func TestKeysOfEveryType(t *testing.T) {
	draws.Seldom(t, 2, 4)
	play.QuietRedis()
	all := stories(t)
	runs, verdicts := 0, map[checker.Verdict]int{}
	for _, s := range all {
		for _, r := range s.Runs {
			if r.Lock != "single" {
				continue
			}
			runs++
			for seed := range uint64(3) {
				var want *play.Outcome
				for _, l := range kinds.Locks() {
					o, err := play.Simulate(s, r.With(l.Name), l.New, seed)
					if err != nil {
						t.Fatal(err)
					}
					if want == nil {
						want = o
						verdicts[o.Result.Verdict]++
						continue
					}
					if got, want := judgement(o), judgement(want); got != want {
						t.Errorf("%s, %s, seed %d: %s\nwith a string: %s\n%s", o.Name(), l.Name, seed, got, want, o.Timeline())
					}
				}
			}
		}
	}
	t.Logf("%d runs: %v", runs, verdicts)
	if verdicts[checker.Safe] == 0 || verdicts[checker.Unsafe] == 0 || verdicts[checker.Inconclusive] > runs {
		t.Errorf("the runs compare little: %v", verdicts)
	}
}

// judgement is what comes of a run but for the words.
func judgement(o *play.Outcome) string {
	var b strings.Builder
	b.WriteString(string(o.Result.Verdict))
	for _, s := range o.Result.Statuses {
		b.WriteString(", " + string(s.Property) + " " + string(s.Status))
	}
	for _, v := range o.Result.Violations {
		b.WriteString(", " + string(v.Property) + " (" + string(v.Assumption) + ")")
	}
	return b.String() + ", " + strings.Join(o.Result.Unmet, ", ")
}
