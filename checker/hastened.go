package checker

import (
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// A lock may keep the end of a lease as a date in the key, and let others take the key over after that date. If the clock that
// the date is compared with is ahead of the clock that it was made with, the lease seems to be over too early. Such a takeover is the
// clocks' fault if the lease was over by the wrong clocks, and was not by right ones.

// hastened reports whether a client took over another's key too early because a clock was wrong.
func (ix *index) hastened(k facts.Life) bool {
	return ix.hastenedByNode(k) || ix.hastenedByClients(k) >= 0
}

// takenOver reports whether a client overwrote or deleted another's key while it asked for the lock. A client that releases a lock
// compares no dates. Effects that a server replicates belong to no operation.
func (ix *index) takenOver(k facts.Life) bool {
	if k.To == len(ix.Events) {
		return false
	}
	end := ix.Events[k.To]
	if end.Op != history.Delete && end.Op != history.Over || end.By == history.Client(k.Label) {
		return false
	}
	in := ix.invokedBy(end.By, k.To, end.Departure())
	return in >= 0 && ix.Events[in].Op == history.Acquire
}

// invokedBy returns the operation in which a client sent, at the instant sent, the request that took effect by event i; -1 if there is none.
func (ix *index) invokedBy(client string, i int, sent time.Duration) int {
	in := facts.Before(ix.Invokes[client], i)
	for in >= 0 && ix.At(in) > sent {
		in = facts.Before(ix.Invokes[client], in)
	}
	return in
}

// wantedTTL returns the TTL that a client asked for in an operation: the one in which it sent, at the instant sent, the request behind
// event i.
func (ix *index) wantedTTL(client string, i int, sent time.Duration) time.Duration {
	if in := ix.invokedBy(client, i, sent); in >= 0 {
		return ix.TTL(ix.Events[in])
	}
	return ix.Meta.TTL
}

// hastenedByNode reports whether a client took over another's key too early because the clock of the node had been set forward:
// less than a TTL had passed since the key was set, or the lease was extended, by true time, but more by the wall clocks of the
// node and of its copy that was promoted. This happens to a script that asks its server for the time; its keys need no deadline. An
// extension counts from the request for it, because it may have changed another key, or a value in a hash.
func (ix *index) hastenedByNode(k facts.Life) bool {
	if !ix.takenOver(k) {
		return false
	}
	end := ix.Events[k.To]
	set := ix.Events[k.From]
	for _, n := range ix.LivesOf[k.Label] { // of a copy, the original's
		if o := ix.Lives[n]; ix.Servers[set.By] && o.Group == k.Group && o.Key == k.Key && o.From < k.From && !ix.Servers[ix.Events[o.From].By] {
			set = ix.Events[o.From]
		}
	}
	client, timed := history.Client(k.Label), k.Timed
	ttl := ix.wantedTTL(client, k.From, set.Departure())
	if j := facts.Before(ix.Extensions[k.Label], k.To); j > k.From {
		asked, ok := ix.Invocation[j] // a renewal has none
		for _, e := range ix.Events[max(k.From+1, asked):j] {
			if e.Kind == history.Message && e.Op == history.Deliver && ix.Groups[e.Process] == k.Group && e.By == client {
				set, timed, ttl = e, e.At, ix.LongestTTL(k.Label)
				if ok {
					ttl = ix.TTL(ix.Events[asked])
				}
			}
		}
	}
	ahead := end.Wall - set.Wall
	return ahead > facts.Rounding && end.At < timed+ttl && end.At+ahead >= timed+ttl
}

// hastenedByClients returns the fault because of which a client took over another's key too early: its clock was ahead of the owner's
// by at least the rest of the lease. It returns -1 if there is none. The history does not show when the owner made the date: it is taken
// to be when its acquire began, but at most a twentieth of the TTL before it sent the command. A key that expires within a TTL needs no
// date.
func (ix *index) hastenedByClients(k facts.Life) int {
	owner := history.Client(k.Label)
	set := ix.Events[k.From]
	ttl := ix.wantedTTL(owner, k.From, set.Departure())
	if !ix.takenOver(k) || set.By != owner || k.Promise <= ttl+facts.Rounding {
		return -1
	}
	end := ix.Events[k.To]
	made := set.Departure() - ttl/20
	if in := ix.invokedBy(owner, k.From, set.Departure()); in >= 0 {
		made = max(made, ix.At(in))
	}
	then, now := ix.wallAt(owner, set.Departure()), ix.wallAt(end.By, end.Departure())
	rest := made + ttl - end.Departure()
	if rest <= 0 || now-then < rest {
		return -1
	}
	if now > -then { // the greater of the two errors
		return facts.Before(ix.ClockFaults[end.By], k.To)
	}
	return facts.Before(ix.ClockFaults[owner], k.From)
}

// wallAt returns how far the wall clock of a client was ahead of true time at an instant, according to its operations. After a fault
// the first operation to begin or end shows it.
func (ix *index) wallAt(client string, t time.Duration) (wall time.Duration) {
	stale := false
	for _, e := range ix.Events {
		if e.Process != client {
			continue
		}
		switch e.Kind {
		case history.Injected:
			if e.At > t {
				return wall
			}
			stale = true
		case history.Invoke, history.OK, history.Fail, history.Info:
			if e.At > t && !stale {
				return wall
			}
			if wall = e.Wall; e.At > t {
				return wall
			}
			stale = false
		}
	}
	return wall
}
