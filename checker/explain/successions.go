package explain

import (
	"fmt"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// successions tells how the keys of one lease vanished from the nodes where a later lease has its own. It returns what this means
// for the grant of the later one.
func (n *narrator) successions(first, second *facts.Lease) (why string) {
	var never, lost, early, expired []facts.Life
	votes := n.votes(second)
	for _, k := range votes {
		old := n.predecessor(first.Label, k)
		if old == nil {
			never = append(never, k)
			continue
		}
		switch e := n.event(old.To); {
		case e.Op == history.Lose:
			lost = append(lost, *old)
		case e.Op == history.Expire && n.f.Early(*old):
			early = append(early, *old)
		case e.Op == history.Expire:
			expired = append(expired, *old)
		case e.By == second.Client && e.Op == history.Over && e.Lease == second.Label:
			n.overwritten(first, second, old)
		case n.nodes([]string{e.By}) > 0:
			n.say(detail, old.To, []int{old.From}, "The key of %s disappeared from %s at %s, as it had from %s.",
				first.Label, old.Node, n.time(old.To), e.By)
		case e.By != first.Client:
			if n.v.Assumption == checker.BoundedClockError {
				n.clockFaultsOf(old.Node, old.From, old.To, n.copied(*old))
			}
			n.intrusion(old.To)
		case e.At < first.To:
			how := ""
			if n.v.Assumption == checker.BoundedClockError {
				n.clockFaultsOf(old.Node, old.From, old.To, n.copied(*old))
				n.clockFaultsOf(first.Client, old.To, old.To, true)
				how = fmt.Sprintf(": the deadline that it sent had passed by the clock of %s", old.Node)
			}
			where, op := n.amid(old.To)
			n.say(step, old.To, []int{old.From, op}, "%s itself deleted the key of %s on %s at %s%s%s.",
				e.By, first.Label, old.Node, n.time(old.To), where, how)
		}
	}
	short, shortLost := n.cutShort(first)
	early, lost = union(early, short), union(lost, shortLost)
	short, shortLost = n.cutShort(second)
	for _, k := range append(lost, shortLost...) {
		n.loss(k)
	}
	for _, k := range append(slices.Clone(early), short...) {
		n.clockFaultsOf(k.Node, k.From, k.To, n.copied(k))
	}
	n.expiry(early, ", before their time")
	n.expiry(short, ", before their time")
	moved := n.shorter(first, expired)
	manner := ""
	if n.unrenewed(first, expired) {
		manner = ", since no renewal had come in time"
	}
	for _, k := range expired {
		if i, _ := n.f.Forgot(k); i >= 0 {
			n.lost("the last extension of "+k.Label, k.Node, k.From, i)
		}
	}
	n.expiry(expired, manner)
	n.neverRenewed(first, expired)
	moved()
	for _, k := range votes {
		n.takeover(first, k)
	}
	n.unreached(first, processes(never))

	nodes := processes(never)
	switch {
	case len(nodes) == 0 || n.f.Meta.Replicas[nodes[0]] != "" || len(short)+len(shortLost) > 0:
		return ""
	case len(nodes) == len(processes(votes)):
		if n.otherName(first, never) {
			return ""
		}
		return ": no key of an older lease was there"
	}
	gone := slices.DeleteFunc(processes(votes), func(s string) bool { return slices.Contains(nodes, s) })
	return fmt.Sprintf(": %s no longer had the key of the older lease, and %s never had it", strings.Join(gone, " "), strings.Join(nodes, " "))
}

// overwritten tells how the client of one lease took the key of another, which it found on a node.
func (n *narrator) overwritten(first, second *facts.Lease, old *facts.Life) {
	if n.v.Assumption == checker.BoundedClockError { // the date in the key was made or read by a wrong clock
		n.clockFaultsOf(old.Node, old.From, old.To, n.copied(*old))
		n.clockFaultsOf(first.Client, old.From, old.From, true)
	}
	// A key without an end of its own is over when the lease is.
	until, extended := n.event(first.ReturnEvent).Until, first.ReturnEvent
	if i := facts.Before(n.f.Extensions[first.Label], old.To); i >= 0 {
		until, extended = n.event(i).Until, i
	}
	over := ", though that lease lasted until " + history.Seconds(until) + " by its owner's clock"
	switch {
	case until == history.NoEnd:
		over = ""
	case n.event(old.To).At >= first.End:
		over = ": that lease had ended at " + history.Seconds(until) + " by its owner's clock"
	}
	n.say(step, old.To, []int{old.From, first.ReturnEvent, extended}, "%s found the key of %s on %s, and overwrote it at %s%s.",
		second.Client, first.Label, old.Node, n.time(old.To), over)
	n.cause = append(n.cause, old.To)
}

// unrenewed tells which faults on links kept a lease from being renewed until its keys expired, if delays are to blame. It reports
// whether there were any.
func (n *narrator) unrenewed(l *facts.Lease, expired []facts.Life) (told bool) {
	for _, k := range expired {
		if n.v.Assumption != checker.BoundedDelay || !l.Renews && !l.Renewed && n.validity(l, k.To) == l.ReturnEvent {
			continue
		}
		faults := n.apart(l.Client, k.Node, k.Set, k.To)
		n.cause = append(n.cause, faults...)
		told = told || len(faults) > 0
	}
	return told
}

// neverRenewed says that nothing renewed a lease until its keys expired, though its lock renews leases by itself, if the clock of its client is to
// blame: a renewal is what would have helped. Faults that kept renewals away are told elsewhere, and a key that had less than its TTL is another matter.
func (n *narrator) neverRenewed(l *facts.Lease, expired []facts.Life) {
	if n.v.Assumption != checker.BoundedClockError || len(expired) == 0 || !n.event(l.ReturnEvent).Renews || len(n.f.Extensions[l.Label]) > 0 {
		return
	}
	for _, k := range expired {
		if since, down := n.reachable(l.Client, k.Node, k.To); k.Set != k.From || k.Promise < n.f.Meta.TTL*9/10 || down || since > k.From || len(n.f.Pauses[l.Client]) > 0 {
			return
		}
	}
	n.say(step, expired[len(expired)-1].To, []int{l.ReturnEvent}, "Nothing had renewed %s until then, though its lock renews leases by itself.", l.Label)
}

// cutShort returns the keys of a lease that vanished too early, before its client learned of the grant, if there never was a
// majority of keys at one instant. early are those that expired.
func (n *narrator) cutShort(l *facts.Lease) (early, lost []facts.Life) {
	for _, k := range n.f.Lives {
		if l.GrantSeen || k.Label != l.Label || k.To > l.ReturnEvent || n.nodes([]string{k.Node}) == 0 {
			continue
		}
		switch e := n.event(k.To); {
		case e.Op == history.Lose:
			lost = append(lost, k)
		case e.Op == history.Expire && n.f.Early(k):
			early = append(early, k)
		}
	}
	return early, lost
}

// union adds to a the spans of b that are not among them.
func union(a, b []facts.Life) []facts.Life {
	for _, k := range b {
		if !slices.Contains(a, k) {
			a = append(a, k)
		}
	}
	return a
}

// predecessor returns the last span of a lease for the same key and server as k that ended before k began, or nil.
func (n *narrator) predecessor(label string, k facts.Life) *facts.Life {
	var old *facts.Life
	for i := range n.f.Lives {
		if o := &n.f.Lives[i]; o.Label == label && o.Node == k.Node && o.Key == k.Key && o.To <= k.From {
			old = o
		}
	}
	return old
}

// copied reports whether a key came to its server by replication.
func (n *narrator) copied(k facts.Life) bool {
	return n.event(k.From).By != history.Client(k.Label)
}

// expiry says that keys of one lease expired. Of a server that was down in the meantime it says that it came back without its key.
func (n *narrator) expiry(keys []facts.Life, manner string) {
	keys = slices.DeleteFunc(slices.Clone(keys), func(k facts.Life) bool { return n.absence(k, manner) })
	if len(keys) == 0 {
		return
	}
	events := endings(keys)
	at := slices.Min(events)
	noun, names := number(keys, "key", "keys"), processes(keys)
	manner = strings.Replace(manner, "their", number(keys, "its", "their"), 1)
	where := strings.Join(names, " ") + " " + n.when(events)
	if len(keys) <= 3 && strings.HasPrefix(n.when(events), "from") {
		var each []string
		for _, k := range keys {
			each = append(each, fmt.Sprintf("%s (%s)", k.Node, n.time(k.To)))
		}
		where = history.List(each)
	}
	lead := "The"
	if slices.ContainsFunc(n.paused, func(p facts.Span) bool { return p.From < at && at < p.To }) {
		lead = "Meanwhile the"
	}
	n.say(step, at, events, "%s %s of %s expired on %s%s.", lead, noun, keys[0].Label, where, manner)
}

// absence tells of a key whose deadline passed while its server was down. It reports whether the key is one. In the history such a
// key expires when the server comes back, which readers understand only if they know that the server was down.
func (n *narrator) absence(k facts.Life, manner string) bool {
	down := facts.Before(n.f.Crashes[k.Node], k.To)
	back := n.undone(down)
	if down < k.From || n.event(back).At != n.event(k.To).At {
		return false
	}
	if n.tellOnce(down) {
		n.say(step, down, nil, "%s.", n.deed(down))
	}
	n.tellOnce(back)
	without := "without"
	if f, ok := n.event(back).Fault().(history.Restart); ok && f.Empty {
		without = "and without"
	}
	n.say(step, back, []int{k.To}, "%s %s the key of %s: by its wall clock the key had expired in the meantime%s.",
		n.deed(back), without, k.Label, strings.Replace(manner, "their", "its", 1))
	return true
}

// loss tells how a key was lost.
func (n *narrator) loss(k facts.Life) { n.lost("the key of "+k.Label, k.Node, k.From, k.To) }

// lost tells how a process lost something that it had between two events.
func (n *narrator) lost(what, process string, from, to int) {
	crash := n.before(to, func(e history.Event) bool {
		return e.Kind == history.Injected && e.Process == process && (e.Op == "crash" || e.Op == "stop" || e.Op == "follow")
	})
	back := n.before(to+1, func(e history.Event) bool {
		return e.Process == process && e.Op == "restart"
	})
	n.cause = append(n.cause, crash, to)
	switch {
	case crash < from:
		n.say(step, to, []int{from}, "%s lost %s at %s.", the(process), what, n.time(to))
		return
	case back > crash:
		n.say(step, crash, []int{back, to}, "%s and came back at %s without %s%s.", n.deed(crash), n.time(back), what, n.forgot(crash, back))
	default:
		n.say(step, crash, []int{to}, "%s and lost %s%s.", n.deed(crash), what, n.forgot(crash, -1))
	}
	n.tellOnce(crash)
	n.tellOnce(back)
}

// forgot says why a node had lost something after a restart, if this follows from its persistence; otherwise it returns nothing.
func (n *narrator) forgot(crash, back int) string {
	if f, ok := n.event(back).Fault().(history.Restart); ok && f.Empty {
		return ": its disk was empty"
	}
	if n.event(crash).Process == history.ResourceName {
		return "" // the history does not give its persistence
	}
	f, crashed := n.event(crash).Fault().(history.Crash)
	switch power := crashed && f.Power; n.f.Meta.Persistence {
	case "none":
		return ": it keeps nothing on a disk"
	case "rdb":
		if crashed {
			return ": its last snapshot was older"
		}
	case "aof-everysec", "aof-everysec-slow":
		switch {
		case power:
			return ": what it had not yet synchronized to disk was lost"
		case crashed && n.f.Meta.Persistence == "aof-everysec-slow":
			return ": its disk was busy with an earlier write, so it had replied before it had written"
		}
	case "aof-lying":
		if power {
			return ": its disk had only claimed to have written it"
		}
	}
	return ""
}

// unreached tells why a lease had no keys on some nodes, if faults on links kept its client from them.
func (n *narrator) unreached(l *facts.Lease, nodes []string) {
	var faults []int
	var far []string
	for _, node := range nodes {
		if j := n.linkFault(l.Client, node, l.GrantEvent); j >= 0 && n.event(j).Op != "delay" {
			faults, far = append(faults, j), append(far, node)
			n.tellOnce(j)
		}
	}
	if len(far) > 0 {
		n.say(detail, slices.Min(faults), faults, "From %s %s could not reach %s.", n.time(slices.Min(faults)), l.Client, strings.Join(far, " "))
	}
}
