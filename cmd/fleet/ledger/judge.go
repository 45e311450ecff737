package ledger

import (
	"slices"
	"time"
)

// A State says what the last night that says something about a finding has made of it.
type State string

// The states of a finding.
const (
	New       State = "new"       // found for the first time
	Ongoing   State = "ongoing"   // found again
	Resolved  State = "resolved"  // looked for, and not found
	Regressed State = "regressed" // found again after it was resolved
	Closed    State = "closed"    // closed by a person, whether or not it is found
)

// States lists the states, those that need attention first.
func States() []State { return []State{New, Regressed, Ongoing, Resolved, Closed} }

// Open reports whether a finding in this state is still there, as far as anybody knows.
func (s State) Open() bool { return s == New || s == Ongoing || s == Regressed }

// An Outcome is what one visit says about a finding.
type Outcome int

// The outcomes. The numbers are those in the file.
const (
	Silent  Outcome = iota // it did not look, or could not have found it
	Absent                 // it looked in the same way, and did not find it
	Found                  // a search found it
	Fails                  // the saved scenario was replayed, and still violates the property
	Gone                   // it was replayed, and no longer does
	Unclear                // it was replayed, and proves nothing: a fault had no effect, or it could not be played
)

var outcomes = [...]string{"not looked for", "not found", "found", "replayed, fails", "replayed, passes", "replayed, proves nothing"}

func (o Outcome) String() string { return outcomes[o] }

// failing is a property with the assumption that is to blame for its violation.
type failing struct{ property, assumption string }

// A visit is one search of a lock on one night, or all replays of its findings on that night.
type visit struct {
	id             int64
	night          int64
	lock           string
	version, build string
	replayed       bool

	workload    string
	seed        uint64
	ttl         time.Duration
	calm        string // identifies the calm run and the properties that were looked for; empty if the search did not say
	bound       int    // 0 if there was no bounded search
	boundKinds  []string
	boundWhole  bool // it came to its end
	runs        int  // 0 if there was no random search
	strategy    string
	randomKinds []string
	randomWhole bool
	failing     []failing // what it reported, shared violations included
}

// A sighting is what a visit has recorded about a finding: [Found] with the kinds of the plan, or the outcome of a replay.
type sighting struct {
	visit *visit
	what  Outcome
	kinds []string
}

// covers reports whether a search would have found a finding again that the sighting was about, so that it is gone if the search did not.
//
// It must have perturbed the same calm run of the same lock with the same seed, and looked for the same properties: a fault may not hurt another run. A
// bounded search must have tried all kinds of the plan, and as many at once. A random search must have made the same draws: the same
// strategy and kinds, and about as many runs.
//
// A search reports one example of each violation with each assumption. If it reports another story about these two, it may have seen this
// one as well, and says nothing.
func (v *visit) covers(s *sighting, f failing) bool {
	was := s.visit
	if v.replayed || v.workload != was.workload || v.ttl != was.ttl || v.calm != was.calm || v.seed != was.seed || slices.Contains(v.failing, f) {
		return false
	}
	if v.boundWhole && v.tries(s.kinds) && was.tries(s.kinds) {
		return true
	}
	return v.randomWhole && v.runs > 0 && was.runs > 0 && v.strategy == was.strategy && slices.Equal(v.randomKinds, was.randomKinds) &&
		v.runs >= was.runs-was.runs/10 // the last walk may be longer or shorter
}

// tries reports whether a bounded search tried all plans with such perturbations.
func (v *visit) tries(kinds []string) bool {
	if v.bound == 0 || len(kinds) > v.bound {
		return false
	}
	for _, k := range kinds {
		if !slices.Contains(v.boundKinds, k) {
			return false
		}
	}
	return true
}

// A turn is what one night says about a finding.
type turn struct {
	night int64
	state State // what has become of the finding by then; never Closed
	// outcomes are those of the visits of that night, which are not silent.
	outcomes []outcome
}

type outcome struct {
	visit *visit
	what  Outcome
}

// there reports whether the finding was there on that night.
func (t *turn) there() bool { return t.state != Resolved }

// judge says what each night made of a finding. The visits are all those of its lock, by night, and the sightings all that it has. It is a
// function of these alone: in which order they came to be known does not matter.
//
// Nights that say nothing have no turn. If one visit of a night found the finding, it was there that night, whatever the others say: they
// may be of another version. A replay outranks a search that did not find it.
func judge(f failing, visits []*visit, sightings map[*visit]*sighting) []turn {
	var turns []turn
	var last []*sighting // by the searches of the last night on which a search found it
	for len(visits) > 0 {
		n := slices.IndexFunc(visits, func(v *visit) bool { return v.night != visits[0].night })
		if n < 0 {
			n = len(visits)
		}
		tonight := visits[:n]
		visits = visits[n:]

		var turn turn
		var seen []*sighting
		there, gone := false, false
		for _, v := range tonight {
			s := sightings[v]
			if s == nil {
				continue
			}
			turn.outcomes = append(turn.outcomes, outcome{v, s.what})
			there = there || s.what == Found || s.what == Fails
			gone = gone || s.what == Gone
			if s.what == Found {
				seen = append(seen, s)
			}
		}
		looked := 0
		for _, s := range last {
			for _, v := range tonight {
				if sightings[v] == nil && v.covers(s, f) {
					looked++
					turn.outcomes = append(turn.outcomes, outcome{v, Absent})
					break
				}
			}
		}
		gone = gone || len(last) > 0 && looked == len(last)
		if len(seen) > 0 {
			last = seen
		}
		before := State("")
		if len(turns) > 0 {
			before = turns[len(turns)-1].state
		}
		switch {
		case there && before == "":
			turn.state = New
		case there && before == Resolved:
			turn.state = Regressed
		case there:
			turn.state = Ongoing
		case gone && before != "":
			turn.state = Resolved
		default:
			continue
		}
		turn.night = tonight[0].night
		turns = append(turns, turn)
	}
	return turns
}
