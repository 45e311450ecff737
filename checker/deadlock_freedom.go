package checker

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// deadlockFreedom checks that the lock can be acquired again when everything that the last fault left behind has expired: "Eventually it is
// always possible to acquire a lock, even if the client that locked a resource crashes or gets partitioned" (redis.io, "Distributed
// Locks"). It judges the clients of the run and the probe.
func deadlockFreedom(ix *index) (found []Violation, unknown string) {
	found = slices.Concat(ix.stuck(), ix.hanging(), ix.deaf())
	probe, unknown := ix.probed()
	if found = append(found, probe...); len(found) > 0 {
		unknown = ""
	}
	return found, unknown
}

// stuck finds the needs that stay unserved although one TTL has passed since the last fault, or since the start of a run without faults.
// After an outage or a lost message, a lock may keep everybody out until the keys of that time have expired. After that, a client that asks has
// to get the lock within the limit of fault tolerance, or within 5 s if that is longer. A client that retries at intervals gets one interval
// more, because its last try may come just before the keys expire. A need that a wrong clock explains does not count: the clock is still wrong.
func (ix *index) stuck() (found []Violation) {
	reported := map[string]time.Duration{}
	for _, n := range ix.unserved() {
		over := ix.settled(n.To)
		expired := facts.Later(max(over, 0), ix.Meta.TTL)
		if n.From < expired {
			expired = facts.Later(expired, ix.Meta.Pace)
		}
		due := facts.Later(max(n.From, expired), ix.deadlockAfter())
		if end, known := reported[n.lock]; n.broken != None || due >= n.To || known && n.From < end {
			continue
		}
		reported[n.lock] = n.To
		since := "there was no fault"
		if over >= 0 {
			since = "the last fault was over at " + history.Seconds(over)
		}
		found = append(found, Violation{
			Property:   DeadlockFreedom,
			At:         due,
			What:       n.what(ix) + " and " + since,
			Assumption: None,
			Events:     proof(n.first, n.last),
		})
	}
	return found
}

// deadlockAfter is the limit of stuck and hanging. With a short TTL it is longer than that of fault tolerance: a lock that backs off for two
// seconds is too slow then, but not deadlocked.
func (ix *index) deadlockAfter() time.Duration { return max(ix.maxWait(), 5*time.Second) }

// hanging finds the releases and extensions that never return. One counts if the run hit a cap, its client lives on, and for a TTL plus the
// limit of stuck there has been no fault and no message to or from that client: whatever the lock is waiting for will not come. An acquire
// may wait for as long as its caller lets it, see [index.deaf].
func (ix *index) hanging() (found []Violation) {
	if ix.Meta.Cap == "" {
		return nil
	}
	for i, e := range ix.Events {
		_, ended := ix.Outcome[i]
		gone := facts.After(ix.Crashes[e.Process], i) >= 0 || facts.After(ix.Exits[e.Process], i) >= 0
		if e.Kind != history.Invoke || e.Op != history.Release && e.Op != history.Extend || ended || gone {
			continue
		}
		last := i
		for j, m := range ix.Events {
			if m.Kind == history.Message && (m.By == e.Process || m.Process == e.Process) {
				last = max(last, j)
			}
		}
		end := max(ix.At(len(ix.Events)), ix.Meta.CapAt)
		quiet := max(ix.At(last), ix.settled(end))
		if due := facts.Later(quiet, facts.Later(ix.Meta.TTL, ix.deadlockAfter())); due < end {
			found = append(found, Violation{
				Property:   DeadlockFreedom,
				At:         due,
				What:       fmt.Sprintf("%s called %s at %s and the call never returned, though after %s there was no fault and no message to or from %s", e.Process, e.Op, history.Seconds(e.At), history.Seconds(quiet), e.Process),
				Assumption: None,
				Events:     proof(i),
			})
		}
	}
	return found
}

// deaf finds the acquires that did not return although their context had ended. One counts if nothing hindered its client for the limit of stuck:
// a lock may need that time to delete the keys that it has set.
func (ix *index) deaf() (found []Violation) {
	for cancelled, e := range ix.Events {
		if e.Kind != history.Info || e.Op != history.Cancel {
			continue
		}
		i := facts.Before(ix.Invokes[e.Process], cancelled)
		if i < 0 || ix.Events[i].Op != history.Acquire {
			continue
		}
		end := max(ix.At(len(ix.Events)), ix.Meta.CapAt)
		proven := []int{i, cancelled}
		if out, ok := ix.Outcome[i]; ok {
			end, proven = ix.At(out), append(proven, out)
		} else if gone := facts.After(ix.Crashes[e.Process], i); gone >= 0 {
			end = ix.At(gone)
		}
		if due := facts.Later(max(e.At, ix.hindered(e.Process, end)), ix.deadlockAfter()); due < end {
			found = append(found, Violation{
				Property:   DeadlockFreedom,
				At:         due,
				What:       fmt.Sprintf("the context of the acquire of %s ended at %s, and by %s the call had not returned", e.Process, history.Seconds(e.At), history.Seconds(due)),
				Assumption: None,
				Events:     proof(proven...),
			})
		}
	}
	return found
}

// hindered returns until when, before an instant, something kept a client from an answer: a pause of it or of a server, a server that was down
// or out of reach, or a message between them that was lost or late. It returns -1 if nothing did.
func (ix *index) hindered(client string, before time.Duration) time.Duration {
	at := time.Duration(-1)
	note := func(stretches []facts.Stretch) {
		for _, s := range stretches {
			if s.From < before {
				at = max(at, min(s.To, before))
			}
		}
	}
	d := newDearth(ix, "", "")
	for server := range ix.Groups {
		note(d.trouble(client, server))
		for _, link := range []facts.Direction{{From: client, To: server}, {From: server, To: client}} {
			note(ix.KeptBack[link])
			for _, i := range d.astray[link] {
				note([]facts.Stretch{{From: d.gone(i), To: ix.At(i)}})
			}
		}
	}
	return at
}

// settled returns when the last of the faults that began before an instant was over: when a server was back, a process went on, a link was
// whole again, a clock ran right again, or a delayed message arrived. It returns -1 if there was none. The crash of a client is over at once,
// since it leaves only its keys behind. So is the loss of a message.
func (ix *index) settled(before time.Duration) time.Duration {
	at := time.Duration(-1)
	note := func(stretches ...facts.Stretch) {
		for _, s := range stretches {
			if s.From < before {
				at = max(at, min(s.To, before))
			}
		}
	}
	for p, spans := range ix.Outages {
		if ix.Servers[p] {
			note(ix.Stretches(spans)...)
		}
	}
	for _, spans := range ix.Pauses {
		note(ix.Stretches(spans)...)
	}
	note(ix.Disturbed()...)
	for _, kept := range ix.KeptBack {
		note(kept...)
	}
	drifting := map[string]bool{}
	for _, e := range ix.Events {
		late := e.Kind == history.Message && (e.Op == history.Drop || ix.OutOfReach(e.At-e.Departure()))
		if e.At >= before || !late && e.Kind != history.Injected && e.Kind != history.Bite {
			continue
		}
		at = max(at, e.At)
		if e.Op == "drift" {
			drifting[e.Process] = e.PPM != 0
		}
	}
	if slices.Contains(slices.Collect(maps.Values(drifting)), true) {
		return before
	}
	return at
}

// probed checks that the probe acquired within its bound. The probe is a fresh client that starts after everything has
// healed and one TTL has passed. If it could not acquire then, there is a key in its way that nothing will remove.
//
// The probe may be refused and try again: only its first invocation counts. A bound of zero means no limit.
//
// If others rightfully held the lock all the time, the probe had to be refused, and the property is unknown.
//
// If a node keeps a key for too long, its clock is the cause, or that of the client which computed the deadline. If such keys took at least half of
// the probe's time, they are to blame.
func (ix *index) probed() (found []Violation, unknown string) {
	asked := -1
	for _, i := range ix.Invokes[ix.Meta.Probe] {
		if ix.Events[i].Op == history.Acquire {
			asked = i
			break
		}
	}
	if ix.Meta.Probe == "" || asked < 0 {
		return nil, "no probe asked for the lock"
	}
	v := Violation{
		Property:   DeadlockFreedom,
		At:         facts.Later(ix.At(asked), ix.Meta.Bound),
		What:       fmt.Sprintf("%s asked for %s at %s and never got it", ix.Meta.Probe, ix.TheLock(ix.Events[asked].Lock), history.Seconds(ix.At(asked))),
		Assumption: None,
		Events:     []int{asked},
	}
	for _, l := range ix.Leases {
		if l.Client != ix.Meta.Probe {
			continue
		}
		if ix.Meta.Bound == 0 || l.From <= v.At {
			return nil, ""
		}
		v.What = fmt.Sprintf("%s asked for %s at %s and got it only at %s, where %s were allowed",
			ix.Meta.Probe, ix.TheLock(ix.Events[asked].Lock), history.Seconds(ix.At(asked)), history.Seconds(l.From), history.Seconds(ix.Meta.Bound))
		v.Events = proof(asked, l.ReturnEvent)
		break
	}
	end := v.At
	if last := ix.At(len(ix.Events) - 1); ix.Meta.Bound == 0 || last < end {
		end = last
	}
	if holder := ix.holdsThrough(ix.Events[asked].Lock, facts.Stretch{From: ix.At(asked), To: end}); holder != "" {
		return nil, fmt.Sprintf("%s held the lock the whole time that %s asked for it", holder, ix.Meta.Probe)
	}
	if keys := ix.overstayed(facts.Stretch{From: ix.At(asked), To: v.At}); len(keys) > 0 {
		v.Assumption, v.Events = BoundedClockError, proof(append(keys, v.Events...)...)
	}
	return []Violation{v}, ""
}

// overstayed returns the events that set the keys which outlived their time and so kept the probe from the lock while it asked
// for it, all through s. It returns none if the probe had more time than such keys took.
func (ix *index) overstayed(s facts.Stretch) []int {
	primary := ix.primaries()
	there, due := map[string][]facts.Stretch{}, map[string][]facts.Stretch{} // by node: when there was a key, and when there was one that was not overdue
	var late []int
	instants := []time.Duration{s.From, s.To}
	for _, k := range ix.Lives {
		if history.Client(k.Label) == ix.Meta.Probe {
			continue
		}
		to := never
		if k.To < len(ix.Events) {
			to = ix.At(k.To)
		}
		for _, p := range primary[k.Node] {
			x := facts.Stretch{From: max(ix.At(k.From), p.From, s.From), To: min(to, p.To, s.To)}
			if x.From >= x.To {
				continue
			}
			right := facts.Stretch{From: x.From, To: min(x.To, k.Overdue(), ix.postdated(k))}
			there[k.Group], due[k.Group] = append(there[k.Group], x), append(due[k.Group], right)
			instants = append(instants, x.From, x.To, max(x.From, right.To))
			if right.To < x.To {
				late = append(late, k.From)
			}
		}
	}
	free := func(taken map[string][]facts.Stretch, t time.Duration) bool {
		nodes := 0
		for _, n := range ix.Meta.Nodes {
			if !facts.Covers(facts.Merge(taken[n]), t) {
				nodes++
			}
		}
		return nodes >= ix.Meta.Quorum()
	}
	slices.Sort(instants)
	var lost time.Duration
	for n, t := range instants[:len(instants)-1] {
		if !free(there, t) && free(due, t) {
			lost += instants[n+1] - t
		}
	}
	if lost == 0 || s.To-s.From-lost > lost {
		return nil
	}
	return late
}

// holdsThrough returns who held a lock during all of a time: one client, or several in turn; nobody if it was free for a moment,
// or if the probe held it.
func (ix *index) holdsThrough(lock string, s facts.Stretch) string {
	var held []facts.Stretch
	var holders []string
	for i := range ix.Holds {
		l := &ix.Holds[i]
		if l.Lock != lock || l.Client == ix.Meta.Probe {
			continue
		}
		h := facts.Stretch{From: l.From, To: ix.kept(l)}
		if h.From > s.To || h.To <= s.From || h.From >= h.To {
			continue
		}
		held = append(held, h)
		if !slices.Contains(holders, l.Client) {
			holders = append(holders, l.Client)
		}
	}
	// The last instant counts too.
	if len(held) == 0 || len(facts.Without([]facts.Stretch{{From: s.From, To: facts.Later(s.To, 1)}}, facts.Merge(held))) > 0 {
		return ""
	}
	return history.List(holders)
}

// kept returns when a hold ended for good. If a lease has no end by its lock, it is kept until its client gives it up, although
// the client may rely on it only for as long as its keys were to last.
func (ix *index) kept(l *facts.Lease) time.Duration {
	if !l.Endless {
		return l.To
	}
	end := never
	if i, _ := ix.GivenUp(l.Label, l.Client, l.ReturnEvent); i >= 0 {
		end = ix.At(i)
	}
	for _, i := range slices.Concat(ix.Losses[l.Label], ix.Extensions[l.Label]) { // the lease was lost, or its end changed
		if i > l.ReturnEvent && ix.Events[i].Process == l.Client {
			end = min(end, ix.At(i))
		}
	}
	return end
}
