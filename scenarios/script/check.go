package script

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/sim/history"
)

// check looks for lanes, faults and musts that name things that do not exist or cannot happen. Runs differ in their nodes and
// lanes, so the scenario must be valid in each of them.
func (s *Scenario) check() error {
	for _, r := range s.Runs {
		for _, lane := range r.Lanes {
			replaces := slices.ContainsFunc(s.Lanes, func(l Lane) bool { return l.Process == lane.Process })
			if len(lane.Steps) == 0 && !replaces {
				return fail(lane.line, "the lane of %s has no steps, and there is no lane for it to replace", lane.Process)
			}
		}
		if err := s.Resolve(r).check(); err != nil {
			return err
		}
	}
	return nil
}

// check checks a resolved run.
func (r Section) check() error {
	if len(r.Clients()) == 0 {
		return fail(r.line, "run %s has no client", r.ID())
	}
	for _, lane := range r.Lanes {
		for i, step := range lane.Steps {
			err := r.checkStep(step)
			if lane.Process == Nemesis {
				err = r.checkNemesisStep(step)
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

// checkExists does not know the probe: it starts when everything has healed, so no fault can affect it.
func (r Section) checkExists(name string) error {
	if processes := slices.Concat(r.Clients(), r.Servers()); !slices.Contains(processes, name) {
		return history.Unknown("process", name, processes)
	}
	return nil
}

// checkStep rejects a step of a client that the resource cannot carry out.
func (r Section) checkStep(step Step) error {
	switch s := Once(step).(type) {
	case Acquire:
		if s.TTL > r.TTL {
			return fmt.Errorf("%q asks for more than the TTL of the run, which is %s; write ttl %s, or more", step, history.FormatDuration(r.TTL), history.FormatDuration(s.TTL))
		}
	case Increment:
		if r.Resource != Counter {
			return fmt.Errorf("%q needs resource=%s; this is a %s one", step, Counter, r.Resource)
		}
	case Enter:
		if r.Resource != CheckAndSet {
			return fmt.Errorf("%q needs resource=%s; a %s one has no mark", step, CheckAndSet, r.Resource)
		}
	case Write:
		if s.Blind && r.Resource != CheckAndSet {
			return fmt.Errorf("%q needs resource=%s; a %s one has no mark", step, CheckAndSet, r.Resource)
		}
		return r.needsText(step)
	case Update, Read:
		return r.needsText(step)
	}
	return nil
}

// needsText rejects a step that needs a resource that holds text.
func (r Section) needsText(step Step) error {
	if r.Resource == Counter {
		return fmt.Errorf("%q needs a resource that holds text; a %s is for increments", step, Counter)
	}
	return nil
}

func (r Section) checkNemesisStep(step Step) error {
	if when, ok := step.(When); ok {
		if err := r.checkEvent(when.Event); err != nil {
			return err
		}
	}
	return r.checkFault(FaultOf(step))
}

// processLike matches the words of a must that name a client or a server; no other word of a must has that form.
var processLike = regexp.MustCompile(`^[cnrsp][0-9]+$`)

func (r Section) checkMust(m checker.Must) error {
	words := strings.Fields(m.String())
	for i, word := range words {
		if i > 0 && words[i-1] == "write" {
			if !slices.ContainsFunc(r.Lanes, func(l Lane) bool { return l.writes(word) }) {
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

// writes reports whether a step of the lane writes a value, or adds it as a word.
func (l Lane) writes(value string) bool {
	return slices.ContainsFunc(l.Steps, func(step Step) bool {
		switch s := Once(step).(type) {
		case Write:
			return s.Value == value
		case Update:
			return s.Word == value
		}
		return false
	})
}

func (r Section) checkFault(f history.Fault) error {
	switch f := f.(type) {
	case history.Restart:
		if r.IsClient(f.Process) {
			return fmt.Errorf("%s is a client, and a crashed client is gone for good; only servers restart", f.Process)
		}
		if f.Empty && f.Process == ResourceName && r.Resource != Counter {
			return fmt.Errorf("%q needs resource=%s; a %s one keeps what it has accepted", f, Counter, r.Resource)
		}
	case history.Stop:
		if r.IsClient(f.Process) {
			return fmt.Errorf("%s is a client, which ends at the end of its lane; write crash %[1]s", f.Process)
		}
	case history.Promote:
		return r.checkReplication(f, f.Process)
	case history.Follow:
		return r.checkReplication(f, f.Process, f.Primary)
	case history.Chosen:
		if err := r.checkLink(f.Link); err != nil {
			return err
		}
		// Between two servers requests go both ways: which of them dials depends on who is the primary.
		if client := r.IsClient(f.Link.From); (client || r.IsClient(f.Link.To)) && f.Reply == client {
			turned := f
			turned.Link.From, turned.Link.To = f.Link.To, f.Link.From
			return fmt.Errorf("requests go from a client to a server, and replies back; write %s", turned)
		}
		return nil
	}
	if history.ActsOnLinks(f) {
		return r.checkLink(history.LinkOf(f))
	}
	return r.checkExists(f.Target())
}

// checkReplication checks that a fault about replication affects only n1 and its replicas.
func (r Section) checkReplication(f history.Fault, names ...string) error {
	if r.Replicas == 0 {
		return fmt.Errorf("%s needs replicas, but the run has none; write replicas=1 in the line that names the lock", f)
	}
	for _, name := range names {
		if err := r.checkExists(name); err != nil {
			return err
		}
		if !r.IsLock(name) {
			return fmt.Errorf("%s cannot happen: %s is neither n1 nor a replica", f, name)
		}
	}
	return nil
}

// checkLink checks that a link joins two processes that communicate.
func (r Section) checkLink(l history.Link) error {
	if l == (history.Link{}) {
		return nil
	}
	if err := r.checkExists(l.From); err != nil {
		return err
	}
	if err := r.checkExists(l.To); err != nil {
		return err
	}
	if l.From == l.To || !r.talk(l.From, l.To) {
		return fmt.Errorf("nothing travels on %s; %s", l, r.links())
	}
	return nil
}

// talk reports whether two processes communicate: a client and any server, n1 and its replicas among themselves, and those that
// watch n1 with all of them and with each other.
func (r Section) talk(a, b string) bool {
	if r.IsClient(a) || r.IsClient(b) {
		return r.IsClient(a) != r.IsClient(b)
	}
	return r.Replicas > 0 && a != ResourceName && b != ResourceName
}

// links says which links exist.
func (r Section) links() string {
	if r.Replicas > 0 {
		return "a link joins a client and a server, or two Redis servers"
	}
	return "a link joins a client and a server"
}

// checkEvent rejects an event that nothing causes: its fault would never be injected.
func (r Section) checkEvent(e Event) error {
	if e.What.Server() {
		return r.checkServerEvent(e)
	}
	if !r.IsClient(e.Process) {
		return history.Unknown("client", e.Process, r.Clients())
	}
	if !slices.ContainsFunc(r.Lanes, e.possibleIn) {
		return fmt.Errorf("%s cannot happen; no step brings it about", e)
	}
	return nil
}

func (r Section) checkServerEvent(e Event) error {
	if e.What == Sets || e.What == Deletes || e.What == Receives {
		return r.checkKeyEvent(e)
	}
	for _, name := range []string{e.Process, e.Value} {
		if err := r.checkExists(name); name != "" && err != nil {
			return err
		}
	}
	watched := r.Sentinels+r.Shards > 0
	var possible bool
	switch e.What {
	case Promoted:
		possible = r.IsLock(e.Process) && r.Replicas > 0 && (watched || r.injects(history.Promote{Process: e.Process}))
	case Follows:
		possible = r.IsLock(e.Process) && r.IsLock(e.Value) && e.Process != e.Value &&
			(watched || r.injects(history.Follow{Process: e.Process, Primary: e.Value}) || r.injects(history.Promote{Process: e.Value}))
	default:
		possible = watched && !r.IsClient(e.Process) && e.Process != ResourceName && e.Process != e.Value
	}
	if !possible {
		return fmt.Errorf("%s cannot happen; no step and no server causes it", e)
	}
	return nil
}

// checkKeyEvent rejects an event about keys of the lock on a server that has none, or about a process that is not a client.
func (r Section) checkKeyEvent(e Event) error {
	nodes := slices.Concat(r.NodeNames(), r.ReplicaNames())
	if !slices.Contains(nodes, e.Process) {
		return history.Unknown("lock node", e.Process, nodes)
	}
	if !r.IsClient(e.Value) {
		return history.Unknown("client", e.Value, r.Clients())
	}
	return nil
}

// injects reports whether the nemesis has a step with this fault.
func (r Section) injects(f history.Fault) bool {
	return slices.ContainsFunc(r.Lane(Nemesis), func(step Step) bool { return FaultOf(step) == f })
}

// possibleIn reports whether a step of the lane can cause e.
func (e Event) possibleIn(lane Lane) bool {
	return slices.ContainsFunc(lane.Steps, func(step Step) bool {
		if lane.Process == Nemesis {
			pause, ok := FaultOf(step).(history.Pause)
			return ok && pause.Process == e.Process && (e.What == Paused || e.What == Resumed)
		}
		if lane.Process != e.Process {
			return false
		}
		switch step := Once(step).(type) {
		case Acquire: // it is not known here whether the lock renews itself
			return slices.Contains([]What{Acquires, Acquired, Refused, Renewed, Lost}, e.What)
		case Extend:
			return e.What == Extends || e.What == Extended
		case Release:
			return e.What == Releases || e.What == Released
		case Increment: // most locks acquire and release for it
			return slices.Contains([]What{Increments, Incremented, Acquires, Acquired, Refused, Releases, Released}, e.What)
		case Enter:
			return e.What == Enters || e.What == Entered
		case Write:
			return (e.What == Writes || e.What == Wrote) && e.Value == step.Value
		case Update:
			return (e.What == Updates || e.What == Updated) && e.Value == step.Word
		case Pause:
			return e.What == Paused || e.What == Resumed
		}
		return false
	})
}

// stepLine returns the line of a step in the file: lanes have no gaps.
func (l Lane) stepLine(i int) int { return l.line + 1 + i }

// check looks for steps of a client that are not valid at their position.
func (l Lane) check() error {
	var asked bool
	var least time.Duration // a lower bound of true time
	for i, step := range l.Steps {
		times := time.Duration(1)
		if r, ok := step.(Repeat); ok {
			times = time.Duration(r.N)
		}
		switch s := Once(step).(type) {
		case Acquire:
			asked = true
		case Release, Check, Extend, Enter:
			if !asked {
				return fail(l.stepLine(i), "%s before any acquire", step)
			}
		case Pause:
			if s.For > (longest-least)/times {
				return fail(l.stepLine(i), "%s takes the lane beyond %s", step, history.FormatDuration(longest))
			}
			least += times * s.For
		case Until:
			if s.Time < least {
				return fail(l.stepLine(i), "%s goes back in time: it is %s at the earliest", step, history.FormatDuration(least))
			}
			least = s.Time
		case Stay:
			if i < len(l.Steps)-1 {
				return fail(l.stepLine(i+1), "%s after stay; put stay last", l.Steps[i+1])
			}
		}
	}
	return nil
}

// longest limits how long a lane may pause in total, so that sums of a few durations do not overflow.
const longest = 100 * history.MaxDuration
