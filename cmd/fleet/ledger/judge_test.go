package ledger

import (
	"strings"
	"testing"
)

// makeVisit describes one visit: what a search that tried a and b, at most two at once, or a replay said about the finding.
func makeVisit(night int64, what string) (*visit, *sighting) {
	v := &visit{id: night, night: night, workload: "once", ttl: 10, bound: 2, boundKinds: []string{"a", "b"}, boundWhole: true}
	s := &sighting{visit: v, what: Found, kinds: []string{"a"}}
	// The words, separated by spaces, change the visit.
	for w := range strings.FieldsSeq(what) {
		switch w {
		case "found":
			v.failing = []failing{theFinding}
		case "found-b2":
			v.failing, s.kinds = []failing{theFinding}, []string{"b", "b"}
		case "clean":
			s = nil
		case "other-story":
			v.failing, s = []failing{theFinding}, nil
		case "other-property":
			v.failing, s = []failing{{"p", "q"}}, nil
		case "again":
			v.workload = "again"
		case "ttl":
			v.ttl = 11
		case "bound1":
			v.bound = 1
		case "only-a":
			v.boundKinds = []string{"a"}
		case "only-b":
			v.boundKinds = []string{"b"}
		case "broken-off":
			v.boundWhole = false
		case "random":
			v.bound, v.boundKinds = 0, nil
			v.runs, v.strategy, v.randomKinds, v.randomWhole, v.seed = 1000, "uniform", []string{"a"}, true, 1
		case "more":
			v.runs += 5
		case "fewer":
			v.runs /= 2
		case "seed2":
			v.seed = 2
		case "fails", "passes", "unclear":
			*v = visit{id: night, night: night, replayed: true}
			s.what = map[string]Outcome{"fails": Fails, "passes": Gone, "unclear": Unclear}[w]
			s.kinds = nil
		}
	}
	return v, s
}

var theFinding = failing{"lease exclusion", "none"}

// TestJudge checks each transition. A night is a list of visits, separated by +.
func TestJudge(t *testing.T) {
	for _, test := range []struct{ name, nights, want string }{
		{"found once", "found", "new"},
		{"found twice", "found; found", "new ongoing"},
		{"repaired", "found; clean", "new resolved"},
		{"stays repaired", "found; clean; clean", "new resolved resolved"},
		{"comes back", "found; clean; found; found", "new resolved regressed ongoing"},
		{"comes back twice", "found; clean; found; clean; found", "new resolved regressed resolved regressed"},
		{"nothing before it was found", "clean; found", "- new"},
		{"another lock was searched", "found; ; found", "new - ongoing"},
		{"another workload", "found; clean again", "new -"},
		{"another TTL", "found; clean ttl", "new -"},
		{"another seed", "found; clean seed2", "new -"},
		{"fewer kinds", "found; clean only-b", "new -"},
		{"enough kinds", "found; clean only-a", "new resolved"},
		{"a smaller bound", "found-b2; clean bound1", "new -"},
		{"a bound that is large enough", "found; clean bound1", "new resolved"},
		{"a search that broke off", "found; clean broken-off", "new -"},
		{"found by a search that broke off", "found broken-off; clean", "new resolved"},
		{"another story hides it", "found; other-story", "new -"},
		{"another property does not", "found; other-property", "new resolved"},
		{"the same draws", "found random; clean random more", "new resolved"},
		{"other draws", "found random; clean random seed2", "new -"},
		{"fewer draws", "found random; clean random fewer", "new -"},
		{"drawn, then tried", "found random; clean", "new -"},
		{"two workloads, one searched", "found + found again; clean", "new -"},
		{"two workloads, both searched", "found + found again; clean + clean again", "new resolved"},
		{"two workloads, found in one", "found + found again; found + clean again; clean", "new ongoing resolved"},
		{"found by one search of two", "found; clean + found", "new ongoing"},
		{"two versions, one repaired", "found; found + clean", "new ongoing"},
		{"replayed, fails", "found; fails", "new ongoing"},
		{"replayed, passes", "found; passes", "new resolved"},
		{"replayed, proves nothing", "found; unclear", "new -"},
		{"replayed, fails later", "found; passes; fails", "new resolved regressed"},
		{"a replay outranks a search without it", "found; clean + fails", "new ongoing"},
		{"a search outranks a replay that passes", "found; found + passes", "new ongoing"},
		{"searched after replays", "found; fails; clean", "new ongoing resolved"},
		{"hidden, but replayed", "found; other-story + passes", "new resolved"},
		{"resolved, then silent", "found; clean; ; found", "new resolved - regressed"},
	} {
		var visits []*visit
		seen := map[*visit]*sighting{}
		count := 0
		for i, night := range strings.Split(test.nights, ";") {
			count++
			for one := range strings.SplitSeq(night, "+") {
				if strings.TrimSpace(one) == "" {
					continue
				}
				v, s := makeVisit(int64(i+1), one)
				visits = append(visits, v)
				if s != nil {
					seen[v] = s
				}
			}
		}
		got := make([]string, count)
		for i := range got {
			got[i] = "-"
		}
		for _, turn := range judge(theFinding, visits, seen) {
			got[turn.night-1] = string(turn.state)
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("%s: %s: %s, not %s", test.name, test.nights, s, test.want)
		}
	}
}
