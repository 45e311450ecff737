package scenarios

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/sim"
)

// DefaultTTL is how long a node keeps the key of a lock where a scenario does not say.
const DefaultTTL = 10 * time.Second

// Nemesis is the name of the lane that injects faults.
const Nemesis = "nemesis"

// Names of processes that are neither clients with a lane nor nodes.
const (
	resourceName = "resource"
	probeName    = "probe" // the fresh client that must acquire after the end
)

// A Scenario is one page of the catalogue: who does what, what goes wrong meanwhile, and what must come of it for each
// lock. Zero fields stand for what the author did not say; [Scenario.Resolve] fills them in.
type Scenario struct {
	Name  string // the name of the file without its folder and extension
	File  string // the file as given to [Parse]
	Title string // one sentence
	Prose string // the story and where it comes from; lines end with \n, but for the last
	TTL   time.Duration
	Lanes []Lane
	Musts []checker.Must // without these states a run proves nothing
	Runs  []Run

	mustLines []int
}

// A Lane is what one process does, in order. A client's lane begins at the start of the run; the lane of the [Nemesis] has
// no order of its own, since each of its steps says when.
type Lane struct {
	Process string
	Steps   []Step

	line int // where the lane begins; each step takes one more line
}

// A Run is one lock put through a scenario: what is expected, and the timeline that came out last.
type Run struct {
	Lock     string
	Label    string // tells several runs of one lock apart, such as a control
	Nodes    int    // how many Redis nodes there are: n1 to n9
	Resource string // Plain or Fenced
	TTL      time.Duration
	Lanes    []Lane         // each replaces the scenario's lane of the same process, or is one more
	Musts    []checker.Must // if there are any, they replace the scenario's
	Expect   []Expectation  // properties that are not named are expected to be OK
	Golden   string         // the timeline, verbatim

	line      int
	mustLines []int
	golden    int           // the line where the timeline begins
	slack     time.Duration // what a busy machine may add to the time of the probe; 0 in simulation
}

// The kinds of resources. A fenced one refuses writes under a fencing token lower than the highest that it has seen.
const (
	Plain  = "plain"
	Fenced = "fenced"
)

// An Expectation is what must come out for a property. It is kept by hand: nothing but an author changes it.
type Expectation struct {
	Property   checker.Property
	Status     checker.Status
	Assumption checker.Assumption // what each violation must name as broken; empty if that does not matter

	line int
}

// ID names the run within its scenario: the lock, with the label if there is one, as in redlock/too-short.
func (r Run) ID() string {
	if r.Label == "" {
		return r.Lock
	}
	return r.Lock + "/" + r.Label
}

// Line is where the run begins in its file; 0 if it comes from none.
func (r Run) Line() int { return r.line }

// NodeNames lists the Redis nodes of the run.
func (r Run) NodeNames() []string {
	names := make([]string, r.Nodes)
	for i := range names {
		names[i] = fmt.Sprintf("n%d", i+1)
	}
	return names
}

// Expected is the outcome that the run expects for a property.
func (r Run) Expected(p checker.Property) checker.Status {
	for _, e := range r.Expect {
		if e.Property == p {
			return e.Status
		}
	}
	return checker.OK
}

// Resolve returns the run with everything that it takes from the scenario, and every default, filled in: its TTL, its
// resource, its lanes and its musts.
func (s *Scenario) Resolve(r Run) Run {
	r.TTL = cmp.Or(r.TTL, s.TTL, DefaultTTL)
	r.Resource = cmp.Or(r.Resource, Plain)
	lanes := slices.Clone(s.Lanes)
	for _, lane := range r.Lanes {
		if i := slices.IndexFunc(lanes, func(l Lane) bool { return l.Process == lane.Process }); i >= 0 {
			lanes[i] = lane
		} else {
			lanes = append(lanes, lane)
		}
	}
	r.Lanes = lanes
	if len(r.Musts) == 0 {
		r.Musts, r.mustLines = s.Musts, s.mustLines
	}
	return r
}

// Equal reports whether two scenarios say the same. Where in a file they say it does not matter.
func (s *Scenario) Equal(t *Scenario) bool {
	return s.Name == t.Name && s.File == t.File && s.Title == t.Title && s.Prose == t.Prose && s.TTL == t.TTL &&
		slices.EqualFunc(s.Lanes, t.Lanes, Lane.equal) &&
		slices.EqualFunc(s.Musts, t.Musts, sameMust) &&
		slices.EqualFunc(s.Runs, t.Runs, Run.equal)
}

func (l Lane) equal(m Lane) bool {
	return l.Process == m.Process && slices.Equal(l.Steps, m.Steps)
}

func (r Run) equal(q Run) bool {
	return r.Lock == q.Lock && r.Label == q.Label && r.Nodes == q.Nodes && r.Resource == q.Resource && r.TTL == q.TTL &&
		slices.EqualFunc(r.Lanes, q.Lanes, Lane.equal) &&
		slices.EqualFunc(r.Musts, q.Musts, sameMust) &&
		slices.EqualFunc(r.Expect, q.Expect, func(e, f Expectation) bool {
			return e.Property == f.Property && e.Status == f.Status && e.Assumption == f.Assumption
		}) &&
		r.Golden == q.Golden
}

func sameMust(m, n checker.Must) bool { return m.String() == n.String() }

// check looks for lanes, faults and musts that name what does not exist or cannot happen. Runs differ in their nodes and in
// their lanes, so the scenario must make sense in each of them.
func (s *Scenario) check() error {
	for _, r := range s.Runs {
		for _, lane := range r.Lanes {
			replaces := slices.ContainsFunc(s.Lanes, func(l Lane) bool { return l.Process == lane.Process })
			if len(lane.Steps) == 0 && !replaces {
				return fail(lane.line, "the lane of %s has no steps, and replaces none", lane.Process)
			}
		}
		if err := s.Resolve(r).check(); err != nil {
			return err
		}
	}
	return nil
}

// check checks a resolved run.
func (r Run) check() error {
	clients := r.clients()
	if len(clients) == 0 {
		return fail(r.line, "run %s has no client", r.ID())
	}
	for _, lane := range r.Lanes {
		if lane.Process != Nemesis {
			continue
		}
		for i, step := range lane.Steps {
			err := r.checkFault(faultOf(step))
			if when, ok := step.(When); ok {
				err = cmp.Or(r.checkEvent(when.Event), err)
			}
			if err != nil {
				return fail(lane.stepLine(i), "run %s: %w", r.ID(), err)
			}
		}
	}
	for i, must := range r.Musts {
		if err := r.checkMust(must); err != nil {
			return fail(r.mustLines[i], "run %s: %w", r.ID(), err)
		}
	}
	return nil
}

// lane returns the steps of a process in a resolved run.
func (r Run) lane(process string) []Step {
	for _, lane := range r.Lanes {
		if lane.Process == process {
			return lane.Steps
		}
	}
	return nil
}

// clients lists the clients of a resolved run that have a lane.
func (r Run) clients() []string {
	var clients []string
	for _, lane := range r.Lanes {
		if lane.Process != Nemesis {
			clients = append(clients, lane.Process)
		}
	}
	return clients
}

func (r Run) isClient(name string) bool { return slices.Contains(r.clients(), name) }

// checkExists leaves out the probe: it comes when everything has healed, so that no fault can be about it.
func (r Run) checkExists(name string) error {
	processes := slices.Concat(r.clients(), r.NodeNames(), []string{resourceName})
	if !slices.Contains(processes, name) {
		return sim.Unknown("process", name, processes)
	}
	return nil
}

// processLike matches the words of a must that name a client or a node; no other word of a must looks like that.
var processLike = regexp.MustCompile(`^[cn][0-9]+$`)

func (r Run) checkMust(m checker.Must) error {
	words := strings.Fields(m.String())
	for i, word := range words {
		if i > 0 && words[i-1] == "write" {
			if !slices.ContainsFunc(r.Lanes, func(l Lane) bool { return slices.Contains(l.Steps, Step(Write{word})) }) {
				return fmt.Errorf("no client writes %s", word)
			}
		} else if processLike.MatchString(word) {
			if err := r.checkExists(word); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r Run) checkFault(f sim.Fault) error {
	switch f := f.(type) {
	case sim.Restart:
		if r.isClient(f.Process) {
			return fmt.Errorf("%s is a client, and a crashed client is gone for good; only servers restart", f.Process)
		}
	case sim.Cut:
		return r.checkLink(f.Link)
	case sim.Heal:
		return r.checkLink(f.Link)
	case sim.Hold:
		return r.checkLink(f.Link)
	case sim.ReleaseLink:
		return r.checkLink(f.Link)
	case sim.Delay:
		return r.checkLink(f.Link)
	case sim.Reset:
		return r.checkLink(f.Link)
	case sim.Chosen:
		if err := r.checkLink(f.Link); err != nil {
			return err
		}
		if f.Reply == r.isClient(f.Link.From) {
			turned := f
			turned.Link.From, turned.Link.To = f.Link.To, f.Link.From
			return fmt.Errorf("requests go from a client to a server, and replies back; write %s", turned)
		}
		return nil
	}
	return r.checkExists(f.Target())
}

// checkLink checks that a link joins a client and a server; that is what there are links for.
func (r Run) checkLink(l sim.Link) error {
	if l == (sim.Link{}) {
		return nil
	}
	if err := r.checkExists(l.From); err != nil {
		return err
	}
	if err := r.checkExists(l.To); err != nil {
		return err
	}
	if r.isClient(l.From) == r.isClient(l.To) {
		return fmt.Errorf("nothing travels on %s; a link joins a client and a server", l)
	}
	return nil
}

// checkEvent rejects an event that no step brings about: its fault would never be injected.
func (r Run) checkEvent(e Event) error {
	if !r.isClient(e.Process) {
		return sim.Unknown("client", e.Process, r.clients())
	}
	if !slices.ContainsFunc(r.Lanes, e.possibleIn) {
		return fmt.Errorf("%s cannot happen; no step brings it about", e)
	}
	return nil
}

// possibleIn reports whether a step of the lane can bring e about.
func (e Event) possibleIn(lane Lane) bool {
	return slices.ContainsFunc(lane.Steps, func(step Step) bool {
		if lane.Process == Nemesis {
			pause, ok := faultOf(step).(sim.Pause)
			return ok && pause.Process == e.Process && (e.What == Paused || e.What == Resumed)
		}
		if lane.Process != e.Process {
			return false
		}
		switch step := step.(type) {
		case Acquire:
			return e.What == Acquires || e.What == Acquired || e.What == Refused
		case Release:
			return e.What == Releases || e.What == Released
		case Write:
			return (e.What == Writes || e.What == Wrote) && e.Value == step.Value
		case Pause:
			return e.What == Paused || e.What == Resumed
		}
		return false
	})
}

// stepLine is the line of a step in the file: lanes have no gaps.
func (l Lane) stepLine(i int) int { return l.line + 1 + i }

// check looks for steps of a client that make no sense where they stand.
func (l Lane) check() error {
	var asked bool
	var least time.Duration // true time at the earliest
	for i, step := range l.Steps {
		switch step := step.(type) {
		case Acquire:
			asked = true
		case Release, Check:
			if !asked {
				return fail(l.stepLine(i), "%s before any acquire", step)
			}
		case Pause:
			least += step.For
		case Until:
			if step.Time < least {
				return fail(l.stepLine(i), "%s goes back in time: it is %s at the earliest", step, sim.FormatDuration(least))
			}
			least = step.Time
		}
	}
	return nil
}
