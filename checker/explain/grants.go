package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// votes returns the spans of the keys by which a lease was granted, one for each server, in the order of the servers. Copies that
// replication made are not votes.
func (n *narrator) votes(l *facts.Lease) []facts.Life {
	var votes []facts.Life
	for _, k := range n.f.Lives {
		if k.Label == l.Label && k.From < l.ReturnEvent && l.ReturnEvent < k.To && n.event(k.From).By == l.Client &&
			!slices.ContainsFunc(votes, func(o facts.Life) bool { return o.Node == k.Node }) {
			votes = append(votes, k)
		}
	}
	slices.SortStableFunc(votes, func(a, b facts.Life) int { return strings.Compare(a.Node, b.Node) })
	return votes
}

func processes(keys []facts.Life) []string {
	var names []string
	for _, k := range keys {
		if !slices.Contains(names, k.Node) {
			names = append(names, k.Node)
		}
	}
	return names
}

// number chooses between a word for one key and a word for several.
func number(keys []facts.Life, one, several string) string {
	if len(keys) == 1 {
		return one
	}
	return several
}

func beginnings(keys []facts.Life) []int {
	var events []int
	for _, k := range keys {
		events = append(events, k.From)
	}
	return events
}

func endings(keys []facts.Life) []int {
	var events []int
	for _, k := range keys {
		events = append(events, k.To)
	}
	return events
}

// nodes counts the lock nodes among some servers. A replica counts as the node whose place it may take.
func (n *narrator) nodes(servers []string) int {
	var nodes []string
	for _, s := range servers {
		if of := n.f.Meta.Replicas[s]; of != "" {
			s = of
		}
		if slices.Contains(n.f.Meta.Nodes, s) && !slices.Contains(nodes, s) {
			nodes = append(nodes, s)
		}
	}
	return len(nodes)
}

// promptly is how soon a client learns of its grant if nothing delays it.
const promptly = 10 * time.Millisecond

// grant says which client was granted which lease, on which nodes and until when. why says how that was possible.
func (n *narrator) grant(l *facts.Lease, why string) {
	if l == nil {
		return
	}
	e := n.event(l.ReturnEvent)
	if e.Op != history.Acquire { // a hold that began with a late extension
		n.grant(n.f.Lease(l.Label), "")
		n.say(step, l.ReturnEvent, nil, "%s extended %s at %s, after it had ended, until %s by its own clock%s.",
			l.Client, l.Label, history.Seconds(l.From), history.Seconds(e.Until), why)
		return
	}
	votes := n.votes(l)
	text := l.Client + " was granted " + l.Label
	// A majority makes the grant. Keys that were set visibly later are named separately.
	first, later := votes, []facts.Life(nil)
	if late := func(k facts.Life) bool { return k.From > l.GrantEvent && n.time(k.From) != history.Seconds(l.Granted) }; l.GrantSeen {
		later = slices.DeleteFunc(slices.Clone(votes), func(k facts.Life) bool { return !late(k) })
		first = slices.DeleteFunc(slices.Clone(votes), late)
	}
	if len(first) > 0 {
		text += " on " + strings.Join(processes(first), " ")
		if n.nodes(processes(votes)) < n.f.Meta.Quorum() {
			text += ", which is not a majority,"
		}
	}
	text += " at " + history.Seconds(l.Granted)
	if len(later) > 0 {
		last := slices.MaxFunc(later, func(a, b facts.Life) int { return cmp.Compare(a.From, b.From) })
		text += fmt.Sprintf(" (and on %s by %s)", strings.Join(processes(later), " "), n.time(last.From))
	}
	if l.Fence != 0 {
		text += fmt.Sprintf(" with fence %d", l.Fence)
	}
	if l.From-l.Granted > promptly {
		text += ", and learnt of it at " + history.Seconds(l.From)
	}
	if e.Until == history.NoEnd {
		text += ", with no end"
	} else {
		text += ", valid until " + history.Seconds(e.Until) + " by its own clock"
	}
	n.say(step, l.GrantEvent, append(beginnings(votes), l.ReturnEvent), "%s%s.", text, why)
}

// renewals says until when a lease was extended before event i.
func (n *narrator) renewals(l *facts.Lease, i int) {
	var events []int
	for j := l.ReturnEvent + 1; j < min(i, len(n.f.Events)); j++ {
		if prolongs(n.f.Events[j], l.Label) {
			events = append(events, j)
		}
	}
	if len(events) == 0 {
		n.retimed(l, i)
		return
	}
	last := events[len(events)-1]
	text := fmt.Sprintf("%s extended %s at %s", l.Client, l.Label, n.time(last))
	if len(events) > 1 {
		text = fmt.Sprintf("%s extended %s %d times, the last time at %s", l.Client, l.Label, len(events), n.time(last))
	}
	n.say(detail, last, nil, "%s, until %s by its own clock.", text, history.Seconds(n.event(last).Until))
}

// retimed says when a lock that does not report its renewals last renewed a lease's key before event i.
func (n *narrator) retimed(l *facts.Lease, i int) {
	last := n.before(i, func(e history.Event) bool {
		return e.Kind == history.State && e.Op == history.Retime && e.Owner == l.Label && e.By == l.Client
	})
	if l.Renewed && last > l.ReturnEvent {
		n.say(detail, last, nil, "%s renewed the key of %s on %s, the last time at %s.", l.Client, l.Label, n.event(last).Process, n.time(last))
	}
}

// prolongs reports whether e gives a lease a new end.
func prolongs(e history.Event, label string) bool {
	return e.Lease == label && e.Until != history.NoEnd && (e.Op == history.Extend && e.Kind == history.OK || e.Op == history.Renew && e.Kind == history.Info)
}

// validity returns the event that gave a lease the end that it had at event i.
func (n *narrator) validity(l *facts.Lease, i int) int {
	j := n.before(i, func(e history.Event) bool { return prolongs(e, l.Label) })
	return max(j, l.ReturnEvent)
}

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
			// A key without an end of its own is over when the lease is.
			over := ", though that lease lasted until " + history.Seconds(n.event(first.ReturnEvent).Until) + " by its owner's clock"
			switch until := n.event(first.ReturnEvent).Until; {
			case until == history.NoEnd:
				over = ""
			case e.At >= first.End:
				over = ": that lease had ended at " + history.Seconds(until) + " by its owner's clock"
			}
			n.say(step, old.To, []int{old.From, first.ReturnEvent}, "%s found the key of %s on %s, and overwrote it at %s%s.",
				second.Client, first.Label, old.Node, n.time(old.To), over)
			n.cause = append(n.cause, old.To)
		case n.nodes([]string{e.By}) > 0:
			n.say(detail, old.To, []int{old.From}, "The key of %s disappeared from %s at %s, as it had from %s.",
				first.Label, old.Node, n.time(old.To), e.By)
		case e.By != first.Client:
			if n.v.Assumption == checker.BoundedClockError {
				n.clockFaultsOf(old.Node, old.From, old.To, n.copied(*old))
			}
			n.intrusion(old.To)
		case e.At < first.To:
			n.say(step, old.To, []int{old.From}, "%s itself deleted the key of %s on %s at %s.",
				e.By, first.Label, old.Node, n.time(old.To))
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
	n.expiry(expired, manner)
	moved()
	for _, k := range votes {
		n.takeover(first, k)
	}
	n.unreached(first, processes(never))

	nodes := processes(never)
	switch {
	case len(votes) == 0 || len(nodes) == 0 || n.f.Meta.Replicas[nodes[0]] != "" || len(short)+len(shortLost) > 0:
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
		return e.Kind == history.Injected && e.Process == process && e.Op == "restart"
	})
	n.cause = append(n.cause, crash, to)
	switch {
	case crash < from:
		n.say(step, to, nil, "%s lost %s at %s.", the(process), what, n.time(to))
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

// takeover tells how a replica came to grant a lease in the place of the node that had granted the first.
func (n *narrator) takeover(first *facts.Lease, k facts.Life) {
	primary := n.f.Meta.Replicas[k.Node]
	if primary == "" {
		return
	}
	promoted := n.before(k.From, func(e history.Event) bool {
		return e.Kind == history.State && e.Op == history.Promoted && e.Process == k.Node
	})
	if promoted < 0 {
		promoted = n.before(k.From, func(e history.Event) bool {
			return e.Kind == history.Injected && e.Op == "promote" && e.Process == k.Node
		})
	}
	if promoted < 0 {
		return
	}
	n.tellOnce(n.before(promoted+1, func(e history.Event) bool {
		return e.Kind == history.Injected && e.Op == "promote" && e.Process == k.Node
	}))
	for i := range promoted {
		switch e := n.event(i); {
		case e.Kind != history.Injected:
		case e.Process == primary && n.stands(i, promoted):
			n.fault(step, i)
		case n.links(i, primary) && n.stands(i, promoted):
			n.fault(detail, i)
		}
	}
	n.election(primary, n.before(promoted, func(e history.Event) bool { return e.Kind == history.State && e.Op == history.Promoted }), promoted)

	var had, copies []facts.Life
	for _, o := range n.f.Lives {
		switch {
		case o.Label != first.Label || o.Key != k.Key:
		case o.Node == primary && o.From > promoted:
			n.say(step, promoted, []int{o.From}, "At %s %s took the place of %s, which kept running by itself.", n.time(promoted), k.Node, primary)
			n.cause = append(n.cause, promoted)
			return
		case o.From > promoted:
		case o.Node == primary:
			had = append(had, o)
		case o.Node == k.Node:
			copies = append(copies, o)
		}
	}
	if len(copies) == 0 && len(had) > 0 {
		n.lag(primary, k.Node, had[0].From)
		n.say(step, promoted, []int{had[0].From}, "At %s %s took the place of %s; the key of %s had never reached %[2]s.",
			n.time(promoted), k.Node, primary, first.Label)
		n.cause = append(n.cause, promoted)
		return
	}
	evidence := append(beginnings(had), beginnings(copies)...)
	named := slices.ContainsFunc(evidence, func(i int) bool { e := n.event(i); return e.Process == primary || e.By == primary })
	if !named {
		n.say(step, promoted, nil, "At %s %s was promoted.", n.time(promoted), k.Node)
		return
	}
	n.say(step, promoted, evidence, "At %s %s took the place of %s.", n.time(promoted), k.Node, primary)
	n.cause = append(n.cause, promoted)
}

// election tells of the Sentinels that made a promotion, between two events: which of them considered the primary down, and which
// learned that a quorum did, and was elected to promote a replica.
func (n *narrator) election(primary string, from, promoted int) {
	says := func(op, process string) func(history.Event) bool {
		return func(e history.Event) bool {
			return e.Kind == history.State && e.Op == op && e.Value == primary && (process == "" || e.Process == process)
		}
	}
	leader := n.before(promoted, says(history.Leader, ""))
	if leader < from {
		leader = -1
	}
	agreed := n.after(from, says(history.Odown, n.event(leader).Process))
	if agreed < 0 || agreed > promoted {
		return
	}
	var who []string
	var doubts []int
	for i := max(from, 0); i < max(agreed, leader); i++ {
		if e := n.event(i); says(history.Sdown, "")(e) && !slices.Contains(who, e.Process) {
			who, doubts = append(who, e.Process), append(doubts, i)
		}
	}
	slices.Sort(who)
	text, events := "", append(doubts, agreed)
	if len(who) > 0 {
		text = fmt.Sprintf("%s considered %s down from %s on; ", strings.Join(who, " "), primary, n.time(doubts[0]))
	}
	text += fmt.Sprintf("%s learnt at %s that a quorum did", n.event(agreed).Process, n.time(agreed))
	if len(who) == 0 {
		text = fmt.Sprintf("At %s %s learnt that a quorum considered %s down", n.time(agreed), n.event(agreed).Process, primary)
	}
	if leader >= 0 {
		text, events = text+", and was elected at "+n.time(leader), append(events, leader)
	}
	n.say(detail, events[0], events, "%s.", text)
}

// lag tells why a change that a primary made at event i had not reached its replica.
func (n *narrator) lag(primary, replica string, i int) {
	if j := n.linkFault(primary, replica, i+1); j >= 0 {
		n.fault(step, j)
		return
	}
	n.fault(detail, n.after(i, func(e history.Event) bool {
		f, ok := facts.Lasting(e)
		return ok && f.Covers(primary, replica)
	}))
}

// unreached tells why a lease had no keys on some nodes, if faults on links kept its client from them.
func (n *narrator) unreached(l *facts.Lease, nodes []string) {
	asked := l.InvokeEvent
	if asked < 0 {
		asked = l.ReturnEvent
	}
	var faults []int
	var far []string
	for _, node := range nodes {
		if j := n.linkFault(l.Client, node, max(asked, l.GrantEvent)); j >= 0 && n.event(j).Op != "delay" {
			faults, far = append(faults, j), append(far, node)
			n.tellOnce(j)
		}
	}
	if len(far) > 0 {
		n.say(detail, slices.Min(faults), faults, "From %s %s could not reach %s.", n.time(slices.Min(faults)), l.Client, strings.Join(far, " "))
	}
}

// holding returns a lease that a client other than but relied on at event i, or nil.
func (n *narrator) holding(but string, i int) *facts.Lease {
	for j := range n.f.Holds {
		l := &n.f.Holds[j]
		if l.Client != but && l.From <= n.event(i).At && n.event(i).At < l.To && l.ReturnEvent < i {
			return l
		}
	}
	return nil
}
