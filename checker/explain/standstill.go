package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// tellStandstill tells why no client got the lock: which nodes were down or out of reach, and which keys stood in the way.
func (n *narrator) tellStandstill() {
	for _, i := range n.v.Events {
		if e := n.event(i); e.Kind == history.Invoke && e.Op != history.Acquire {
			n.say(step, i, nil, "%s called %s of %s at %s, and the call never returned.", e.Process, e.Op, e.Lease, n.time(i))
			last := n.before(len(n.f.Events), func(m history.Event) bool {
				return m.Kind == history.Message && (m.By == e.Process || m.Process == e.Process)
			})
			if last > i {
				n.say(step, last, nil, "The last message to or from %s arrived at %s.", e.Process, n.time(last))
			}
			return
		}
	}
	var askers []string
	for _, i := range n.v.Events {
		if e := n.event(i); e.Op == history.Acquire && !slices.Contains(askers, e.Process) {
			askers = append(askers, e.Process)
		}
	}
	asked := slices.IndexFunc(n.v.Events, func(i int) bool { return n.event(i).Kind != history.State })
	from := n.v.Events[max(asked, 0)]
	to := n.before(len(n.f.Events), func(e history.Event) bool { return e.At <= n.v.At })
	for i := range to {
		if n.nodes([]string{n.event(i).Process}) > 0 && (n.stands(i, from) || i > from && n.stands(i, to)) {
			n.fault(step, i)
		}
	}
	for _, asker := range askers {
		for _, node := range n.f.Meta.Nodes {
			n.fault(background, n.linkFault(asker, node, from))
		}
	}
	n.obstacles(from, to)
	n.overstayed()
	if n.v.Property == checker.FaultTolerance { // a lock on one node cannot have it, but it can be free of deadlocks
		n.alone(askers, from, to)
	}
	n.sameKey(n.event(from).Lock)
	for _, asker := range askers {
		if !n.dawdled(asker, from, to) {
			n.spurned(asker, from, to)
		}
		n.refused(asker, from, to)
		n.withoutRequest(asker, to)
		n.unasked(asker, from, to)
	}
}

// sameKey tells of a key that stands for leases of two locks, one of them the lock that was asked for.
func (n *narrator) sameKey(asked string) {
	for _, own := range n.f.Lives {
		for _, k := range n.f.Lives {
			l, other := n.f.Lease(own.Label), n.f.Lease(k.Label)
			if l != nil && other != nil && l.Lock == asked && other.Lock != asked && k.Node == own.Node && k.Key == own.Key {
				n.say(step, k.From, []int{own.From, l.InvokeEvent, other.InvokeEvent}, "The locks %s and %s have the same key on %s: %s.",
					history.ShortName(other.Lock), history.ShortName(asked), k.Node, history.ShortName(k.Key))
				return
			}
		}
	}
}

// unasked tells of nodes that were up and in reach while a client waited, and to which it sent nothing for long, though it sent requests to others.
func (n *narrator) unasked(client string, from, to int) {
	from = max(from, n.asking(client, from))
	request := func(e history.Event, node string) bool {
		return e.Kind == history.Message && e.By == client && e.Process == node
	}
	var left []string
	start := from // since when none of them was asked
	for _, node := range n.f.Meta.Nodes {
		since, down := n.reachable(client, node, to)
		asked := n.before(to+1, func(e history.Event) bool { return request(e, node) })
		if since = max(from, since, asked); !down && n.long(n.event(to).At-n.event(since).At) {
			left, start = append(left, node), max(start, since)
		}
	}
	// The client may have gone on like that after the violation: up to its next request to one of them, or a fault, or until it got the lock.
	next := n.after(to, func(e history.Event) bool {
		return slices.ContainsFunc(left, func(node string) bool { return request(e, node) }) || e.Kind == history.Injected || e.Process == client && e.Kind == history.OK
	})
	end := max(to, n.lastBefore(next, func(e history.Event) bool {
		return e.Process == client && e.Op == history.Acquire && (e.Kind == history.Fail || e.Kind == history.Info)
	}))
	last := n.event(end).At
	var asked, named []string
	events := []int{start, to}
	for _, node := range n.f.Meta.Nodes {
		of := func(e history.Event) bool { return e.Process == node || e.By == node }
		if sent := n.after(start, func(e history.Event) bool { return request(e, node) }); sent >= 0 && n.event(sent).Departure() <= last {
			asked, events = append(asked, node), append(events, sent)
		} else if seen := max(n.before(end, of), n.after(-1, of)); seen >= 0 && slices.Contains(left, node) {
			named, events = append(named, node), append(events, seen)
		}
	}
	if len(asked) == 0 || len(left) == 0 || slices.ContainsFunc(left, func(node string) bool { return slices.Contains(asked, node) }) {
		return
	}
	others := fmt.Sprintf("%d other nodes that were", len(left))
	switch {
	case len(named) == len(left) && len(left) > 1:
		others = history.List(left) + ", which were"
	case len(named) == len(left):
		others = left[0] + ", which was"
	case len(left) == 1:
		others = "another node that was"
	}
	n.say(step, end, events, "From %s to %s %s sent requests to %s, but none to %s up and in reach.", n.time(start), history.Seconds(last), client, history.List(asked), others)
}

// reachable returns the last event before event i at which a fault on a node ended, or one between it and a client, -1 if there is none, and
// whether such a fault was in force at event i. What the history does not show then may have been lost.
func (n *narrator) reachable(client, node string, i int) (since int, down bool) {
	since = -1
	for j := range i {
		e := n.event(j)
		hits := e.Kind == history.Injected && e.Process == node && (e.Op == "crash" || e.Op == "stop" || e.Op == "pause")
		if !hits && !(slices.Contains(n.f.Cuts, j) && n.between(j, client, node)) {
			continue
		}
		if end := n.undone(j); end < 0 || end > i {
			return since, true
		} else {
			since = max(since, end)
		}
	}
	return since, false
}

// withoutRequest tells of a client whose lock refused it, or returned an error, at least twice without sending a request to a node.
func (n *narrator) withoutRequest(client string, to int) {
	request := func(e history.Event) bool { return e.Kind == history.Message && n.nodes([]string{e.Process}) > 0 }
	if n.after(-1, request) < 0 { // the history has no messages
		return
	}
	last := n.before(to+1, func(e history.Event) bool {
		sent := request(e) && e.By == client
		// While a fault lasts, requests may never arrive, and the history does not show them. Deadlock freedom is only about the time after it.
		return sent || e.Kind == history.Injected && n.v.Property == checker.DeadlockFreedom
	})
	answered := func(e history.Event) bool {
		return e.Process == client && e.Op == history.Acquire && (e.Kind == history.Fail || e.Kind == history.Info && n.v.Property == checker.DeadlockFreedom)
	}
	asked := n.after(last, func(e history.Event) bool {
		return e.Process == client && e.Op == history.Acquire && e.Kind == history.Invoke
	})
	if last < 0 || asked < 0 {
		return
	}
	// The client may have gone on like that after the violation, up to its next request, or fault, or until it got the lock.
	next := n.after(max(last, to), func(e history.Event) bool {
		return request(e) && e.By == client || e.Kind == history.Injected || e.Process == client && e.Op == history.Acquire && e.Kind == history.OK
	})
	first, end := n.after(asked, answered), n.lastBefore(next, answered)
	if first < 0 || !n.long(n.event(end).At-n.event(first).At) {
		return
	}
	how := "refused it"
	if e := n.event(end); e.Kind == history.Info {
		how = "returned an error"
		if e.Error != "" {
			how += " (" + history.Shortened(e.Error, 100) + ")"
		}
	}
	n.say(step, first, []int{last, end}, "From %s to %s %s sent no request to a lock node: its lock %s without asking one.", history.Seconds(n.event(last).Departure()), n.time(end), client, how)
}

// lastBefore returns the last event for which f holds before event i, or before the message that it is had left; -1 if there is none. If i is -1,
// all events count.
func (n *narrator) lastBefore(i int, f func(history.Event) bool) int {
	if i < 0 {
		return n.before(len(n.f.Events), f)
	}
	left := n.event(i).Departure()
	return n.before(i, func(e history.Event) bool { return f(e) && e.At <= left })
}

// dawdled tells of a client that had its keys on a majority of nodes, but whose attempt went on for long after that. Usually the
// lock waited for the reply of another node. It reports whether there is one.
func (n *narrator) dawdled(client string, from, to int) bool {
	in := n.asking(client, from)
	if in < 0 || in > to || n.f.Meta.Quorum() < 2 {
		return false
	}
	out := n.outcome(in)
	end := out
	if end < 0 {
		end = len(n.f.Events) - 1
	}
	for _, last := range n.f.Lives {
		if last.From > end || n.event(last.From).By != client {
			continue
		}
		var keys []facts.Life
		for _, k := range n.f.Lives {
			if k.Label == last.Label && k.From > in && k.From <= last.From && k.To > last.From && n.event(k.From).By == client {
				keys = append(keys, k)
			}
		}
		if n.nodes(processes(keys)) < n.f.Meta.Quorum() {
			continue
		}
		// A client that deletes one of these keys has given up the attempt, and may begin the next with the same token.
		gaveUp := n.after(last.From, func(e history.Event) bool {
			return e.Op == history.Delete && e.By == client && e.Owner == last.Label
		})
		end, out := end, out
		if gaveUp >= 0 && gaveUp < end {
			end, out = gaveUp, gaveUp
		}
		if !n.long(n.event(end).At - n.event(last.From).At) {
			continue
		}
		slices.SortStableFunc(keys, func(a, b facts.Life) int { return strings.Compare(a.Node, b.Node) })
		events := append(beginnings(keys), in)
		text := fmt.Sprintf("By %s %s had its keys on %s, a majority, but ", n.time(last.From), client, strings.Join(processes(keys), " "))
		gone, lasted := end, ""
		if k := slices.Min(endings(keys)); k < end {
			gone, lasted = k, " while they lasted"
		}
		if mute, because := n.mute(client, in, last.From, gone); len(mute) > 0 {
			text, events = text+strings.Join(mute, " ")+" did not answer"+lasted+", and ", append(events, append(because, gone)...)
		}
		switch {
		case out < 0:
			text += "its attempt never returned"
		case out == gaveUp:
			text, events = text+"it gave up its attempt only at "+n.time(out), append(events, out)
		default:
			text, events = text+"its attempt returned only at "+n.time(out), append(events, out)
		}
		n.say(step, last.From, events, "%s.", text)
		return true
	}
	return false
}

// spurned tells of the first attempt that a client gave up soon although a majority of nodes had its keys, and it had their answers.
func (n *narrator) spurned(client string, from, to int) {
	in := n.asking(client, from)
	if in < 0 || n.f.Meta.Quorum() < 2 {
		return
	}
	for _, last := range n.f.Lives {
		if last.From < in || last.From > to || n.event(last.From).By != client || n.f.Lease(last.Label) != nil {
			continue
		}
		gaveUp := n.after(last.From, func(e history.Event) bool {
			return e.Op == history.Delete && e.By == client && e.Owner == last.Label
		})
		var keys []facts.Life
		events, known := []int{in, gaveUp}, -1 // known is when the last of their answers arrived
		for _, k := range n.f.Lives {
			if k.Label != last.Label || k.From > last.From || k.To < last.From || n.f.Passing[k.Key] || slices.Contains(processes(keys), k.Node) ||
				n.event(k.To).Op != history.Delete || n.event(k.To).By != client {
				continue
			}
			answer := n.after(k.From, func(e history.Event) bool {
				return e.Kind == history.Message && e.Process == client && e.By == k.Node && e.Sent >= n.event(k.From).At
			})
			if n.event(answer).Op == history.Deliver && n.event(answer).At <= n.event(gaveUp).Departure() {
				keys, events, known = append(keys, k), append(events, k.From, answer), max(known, answer)
			}
		}
		if gaveUp < 0 || n.nodes(processes(keys)) < n.f.Meta.Quorum() || n.event(gaveUp).Departure()-n.event(in).At > n.f.Meta.TTL/4 {
			continue
		}
		slices.SortStableFunc(keys, func(a, b facts.Life) int { return strings.Compare(a.Node, b.Node) })
		n.say(step, known, append(events, last.From), "By %s %s had set its keys on %s, a majority, and had received their answers, but it deleted the keys at %s.",
			n.time(known), client, strings.Join(processes(keys), " "), n.time(gaveUp))
		return
	}
}

// asking returns the invocation of the acquire that a client was in at event i, or else of its next one; -1 if there is none.
func (n *narrator) asking(client string, i int) int {
	if in := n.doing(client, i+1); n.event(in).Op == history.Acquire {
		return in
	}
	return n.after(i, func(e history.Event) bool {
		return e.Process == client && e.Op == history.Acquire && e.Kind == history.Invoke
	})
}

// mute returns the nodes that were crashed or paused at event i and from which no reply reached a client between two other events.
// It also returns their faults.
func (n *narrator) mute(client string, in, i, end int) (nodes []string, faults []int) {
	for _, node := range n.f.Meta.Nodes {
		fault := n.before(i, func(e history.Event) bool {
			return e.Process == node && (e.Op == "pause" || e.Op == "crash" || e.Op == "stop")
		})
		answer := n.after(in, func(e history.Event) bool {
			return e.Op == history.Deliver && e.By == node && e.Process == client
		})
		if n.stands(fault, i) && (answer < 0 || answer > end) {
			nodes, faults = append(nodes, node), append(faults, fault)
		}
	}
	return nodes, faults
}

// alone says that the lock is on one node, if this node was down or out of reach of the clients that asked.
func (n *narrator) alone(askers []string, from, to int) {
	if len(n.f.Meta.Nodes) != 1 || len(n.f.Meta.Replicas) > 0 {
		return
	}
	node := n.f.Meta.Nodes[0]
	if n.mostlyInReach(askers, node, from, to) {
		return
	}
	away := func(i int) {
		if i < 0 {
			return
		}
		if d, slow := n.event(i).Fault().(history.Delay); !slow || n.f.OutOfReach(d.By) {
			n.blame = Sentence{"The lock is on one node, and no other node can take its place.", []int{i}}
		}
	}
	for _, asker := range askers {
		away(n.linkFault(asker, node, from))
		away(n.linkFault(asker, node, to))
	}
	for i := range to {
		e := n.event(i)
		if (e.Op == "crash" || e.Op == "stop" || e.Op == "pause") && e.Process == node && (n.stands(i, from) || i >= from) {
			away(i)
		}
	}
}

// mostlyInReach reports whether a node was up, and in reach of each of some clients, for more than half of the time between two events, and at its
// end. Then something else explains most of the wait.
func (n *narrator) mostlyInReach(clients []string, node string, from, to int) bool {
	wait := facts.Stretch{From: n.event(from).At, To: n.event(to).At}
	away := append(n.f.Stretches(n.f.Outages[node]), n.f.Stretches(n.f.Pauses[node])...)
	for _, c := range clients {
		away = append(away, n.f.Apart(c, node)...)
	}
	reached := facts.Without([]facts.Stretch{wait}, facts.Merge(away))
	return 2*facts.Length(reached) > wait.To-wait.From && reached[len(reached)-1].To == wait.To
}

// split tells how several clients kept each other from a majority: which nodes each had at the last key that was set. It reports whether they did.
func (n *narrator) split(from, to int) bool {
	for i := to; i > from; i-- {
		if e := n.event(i); e.Op != history.Set || !slices.Contains(n.f.Meta.Nodes, e.Process) {
			continue
		}
		var texts []string
		var events []int
		var labels []string
		newest := map[string]string{} // by client: the label of its current attempt
		for _, k := range n.f.Lives {
			if k.From <= i {
				newest[history.Client(k.Label)] = k.Label
			}
			if k.From > i || k.To <= i || slices.Contains(labels, k.Label) || !slices.Contains(n.f.Meta.Nodes, k.Node) {
				continue
			}
			labels = append(labels, k.Label)
			var same []facts.Life
			for _, o := range n.f.Lives {
				if o.Label == k.Label && o.From <= i && o.To > i && slices.Contains(n.f.Meta.Nodes, o.Node) {
					same = append(same, o)
				}
			}
			if len(processes(same)) >= n.f.Meta.Quorum() {
				return false
			}
			texts = append(texts, fmt.Sprintf("%s had %s", k.Label, strings.Join(processes(same), " ")))
			events = append(events, beginnings(same)...)
		}
		if len(labels) > 1 {
			n.say(step, i, events, "Nobody had a majority: at %s %s.", n.time(i), history.List(texts))
			left := slices.DeleteFunc(labels, func(label string) bool { return newest[history.Client(label)] == label })
			if len(left) > 0 {
				n.say(step, i, events, "The keys of %s were left from earlier attempts.", history.List(left))
			}
			return true
		}
	}
	return false
}

// refused says how long a client asked for the lock, and with what result.
func (n *narrator) refused(client string, from, to int) {
	asks := func(e history.Event) bool {
		return e.Process == client && e.Op == history.Acquire && e.Kind == history.Invoke
	}
	first := n.after(from-1, asks)
	if first < 0 || first > to {
		first = n.before(from, asks)
	}
	got := n.after(first, func(e history.Event) bool {
		return e.Process == client && e.Op == history.Acquire && e.Kind == history.OK
	})
	var fails []int
	for i := first; i >= 0 && i < len(n.f.Events) && (got < 0 || i < got); i++ {
		if e := n.event(i); e.Process == client && e.Op == history.Acquire && (e.Kind == history.Fail || e.Kind == history.Info) {
			fails = append(fails, i)
		}
	}
	text := fmt.Sprintf("%s asked for %s at %s", client, n.f.TheLock(n.event(first).Lock), n.time(first))
	var events []int
	var how []string
	times := map[string]int{}
	for _, i := range fails {
		a := answer(n.event(i))
		if times[a]++; times[a] == 1 {
			how, events = append(how, a), append(events, i)
		}
	}
	switch last := len(fails) - 1; {
	case last < 0:
	case last == 0:
		text += ", " + how[0] + " at " + n.time(fails[0])
	default:
		for k, a := range how {
			how[k] = fmt.Sprintf("%s %d times", a, times[a])
			if times[a] == 1 {
				how[k] = a + " once"
			}
		}
		events = append(events, fails[last])
		text += ", " + history.List(how) + ", the last time at " + n.time(fails[last])
	}
	if got >= 0 {
		text, events = text+fmt.Sprintf(", and got %s only at %s", n.event(got).Lease, n.time(got)), append(events, got)
	} else {
		text += ", and never got it"
	}
	n.say(step, first, events, "%s.", text)
	cancelled := n.after(first, func(e history.Event) bool { return e.Process == client && e.Op == history.Cancel })
	if cancelled >= 0 && (got < 0 || cancelled < got) {
		n.say(step, cancelled, nil, "The context of that acquire ended at %s.", n.time(cancelled))
	}
}

// answer says how an attempt to acquire a lock failed.
func answer(e history.Event) string {
	switch code := errorCode.FindString(e.Error); {
	case code != "":
		return "was answered " + code
	case e.Kind == history.Fail:
		return "was refused"
	case strings.Contains(e.Error, "refused"), strings.HasPrefix(e.Error, "dial "):
		return "could not connect"
	}
	return "got no answer"
}

// errorCode matches the code of an error of Redis, such as NOREPLICAS.
var errorCode = regexp.MustCompile(`\b[A-Z]{5,}\b`)
