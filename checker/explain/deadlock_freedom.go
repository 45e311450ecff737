package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// tellStandstill tells why no client got the lock: which nodes were down or out of reach, and which keys stood in the way.
func (n *narrator) tellStandstill() {
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
	for _, asker := range askers {
		n.dawdled(asker, from, to)
		n.refused(asker, from, to)
		n.withoutRequest(asker, to)
	}
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
	since := n.event(last).At
	if n.event(last).Kind == history.Message {
		since = n.event(last).Departure()
	}
	answered := func(e history.Event) bool {
		return e.Process == client && e.Op == history.Acquire && (e.Kind == history.Fail || e.Kind == history.Info && n.v.Property == checker.DeadlockFreedom)
	}
	asked := n.after(last, func(e history.Event) bool {
		return e.Process == client && e.Op == history.Acquire && e.Kind == history.Invoke
	})
	if last < 0 || asked < 0 {
		return
	}
	first, end := n.after(asked, answered), n.before(to+1, answered)
	if first < 0 || end <= first || !n.long(n.event(end).At-n.event(first).At) {
		return
	}
	how := "refused it"
	if e := n.event(end); e.Kind == history.Info {
		how = "returned an error"
		if e.Error != "" {
			how += " (" + history.Shortened(e.Error, 100) + ")"
		}
	}
	n.say(step, first, []int{last, end}, "From %s to %s %s sent no request to a lock node: its lock %s without asking one.", history.Seconds(since), n.time(end), client, how)
}

// dawdled tells of a client that had its keys on a majority of nodes, but whose attempt went on for long after that. Usually the
// lock waited for the reply of another node.
func (n *narrator) dawdled(client string, from, to int) {
	in := n.asking(client, from)
	if in < 0 || in > to || n.f.Meta.Quorum() < 2 {
		return
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
			return e.Kind == history.State && e.Op == history.Delete && e.By == client && e.Owner == last.Label
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
			return e.Process == node && e.Kind == history.Injected && (e.Op == "pause" || e.Op == "crash" || e.Op == "stop")
		})
		answer := n.after(in, func(e history.Event) bool {
			return e.Op == history.Deliver && e.By == node && e.Process == client
		})
		if fault >= 0 && n.stands(fault, i) && (answer < 0 || answer > end) {
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

// obstacles tells of the keys that lasted from event from to event to, and why nobody removed them.
func (n *narrator) obstacles(from, to int) {
	var labels []string
	stood := func(k facts.Life) bool {
		return n.nodes([]string{k.Node}) > 0 && k.To > to && (k.From < from || n.f.Meta.Quorum() == 1 && n.soon(k.From, from, to))
	}
	for _, k := range n.f.Lives {
		if stood(k) && !slices.Contains(labels, k.Label) {
			labels = append(labels, k.Label)
		}
	}
	for _, label := range labels[:min(len(labels), 2)] {
		var keys []facts.Life
		for _, k := range n.f.Lives {
			if k.Label == label && stood(k) {
				keys = append(keys, k)
			}
		}
		client := history.Client(label)
		where := strings.Join(processes(keys), " ")
		late, signs := n.planted(client, keys[0])
		if l := n.f.Lease(label); l != nil {
			n.grant(l, "")
			if late != "" {
				n.say(step, keys[0].From, signs, "A late request of %s set the key of %s again on %s at %s: %s.", client, label, keys[0].Node, n.time(keys[0].From), late)
			}
		} else if late != "" {
			n.say(step, keys[0].From, signs, "A late request of %s set the key of %s on %s at %s, and nobody held that lease: %s.", client, label, keys[0].Node, n.time(keys[0].From), late)
		} else {
			why, lost := n.unheard(client, keys)
			if why == "" {
				why, lost = n.leftBehind(client, keys)
			}
			n.inItsOwnWay(client, keys[0], to)
			n.say(step, keys[0].From, append(beginnings(keys), lost...), "%s of %s %s set on %s %s, but %s never had the lease%s.",
				number(keys, "The key", "The keys"), label, number(keys, "was", "were"), where, n.when(beginnings(keys)), client, why)
		}
		left := n.after(keys[0].From, func(e history.Event) bool {
			return e.Process == client && (e.Op == "crash" || e.Kind == history.Info && e.Op == history.Exit ||
				e.Kind == history.Invoke && e.Op == history.Release && e.Lease == label)
		})
		switch op := n.event(left).Op; {
		case left > to: // by then the violation was over
		case op == history.Release:
			n.unreleased(left, keys)
		case op == "crash":
			n.tellOnce(left)
			n.say(step, left, beginnings(keys), "%s crashed at %s, and never released %s.", client, n.time(left), label)
		case op == history.Exit:
			n.say(step, left, beginnings(keys), "%s exited at %s, and never released %s.", client, n.time(left), label)
		}
		last := n.before(to+1, func(e history.Event) bool {
			return e.Op == history.Retime && e.Owner == label
		})
		timed := max(last, keys[0].From)
		long, command := n.tooLong(client, timed)
		switch {
		case last > keys[0].From && !n.within(keys[0].From, last):
			if e := n.event(last); e.By == client && n.event(n.doing(client, last)).Op == history.Extend {
				if long == "" {
					long = ", by a TTL of " + rounded(e.Until-e.At-e.Wall)
				}
				n.say(step, last, command, "%s had extended %s on %s at %s%s.", client, label, e.Process, n.time(last), long)
			} else if e.By == client {
				n.say(step, last, command, "%s went on renewing %s on %s, the last time at %s%s.", client, label, e.Process, n.time(last), long)
			} else {
				n.say(step, last, nil, "The key of %s on %s was extended again and again, the last time at %s.", label, e.Process, n.time(last))
			}
		case n.event(keys[0].From).Until == history.NoEnd && !slices.Contains(n.v.Events, keys[0].From):
			n.say(step, from, beginnings(keys), "The key of %s on %s had no expiry, and nobody else could delete it.", label, where)
		case long != "":
			n.say(step, timed, command, "%s had set the key of %s on %s at %s%s.", client, label, n.event(timed).Process, n.time(timed), long)
		}
	}
	if len(labels) == 0 {
		n.split(from, to)
	}
}

// soon reports whether event i is in the first half of the time between two others. A key that was set later was not in the way for most
// of that time, and explains little.
func (n *narrator) soon(i, from, to int) bool {
	return from < i && i < to && 2*(n.event(i).At-n.event(from).At) < n.event(to).At-n.event(from).At
}

// tooLong says that event i gave a key of a client a longer TTL than the client had asked for, and by which command; it also returns that
// command. The text is empty if the TTL was not longer.
func (n *narrator) tooLong(client string, i int) (text string, command []int) {
	e, asked := n.event(i), n.f.Meta.TTL
	if e.By != client || e.Until <= 0 || e.Until == history.NoEnd {
		return "", nil
	}
	if op := n.event(n.doing(client, i)); op.Op == history.Extend {
		asked = n.f.TTL(op)
	}
	ttl := e.Until - e.At - e.Wall
	if ttl <= asked+asked/100+10*time.Millisecond {
		return "", nil
	}
	j, _ := n.command(i)
	if word := n.event(j).Word; word != "" {
		text = " by " + word
	}
	return fmt.Sprintf("%s, with a TTL of %s instead of %s", text, rounded(ttl), history.FormatDuration(asked)), []int{j}
}

// leftBehind says that the acquire that set some keys ended without the lease, and returns the event that shows it.
func (n *narrator) leftBehind(client string, keys []facts.Life) (why string, ended []int) {
	out := n.outcome(n.doing(client, keys[0].From))
	switch n.event(out).Kind {
	case history.Fail:
		return ": its acquire failed at " + n.time(out) + ", and left the " + number(keys, "key", "keys"), []int{out}
	case history.Info:
		return ": it gave up at " + n.time(out), []int{out}
	}
	return "", nil
}

// inItsOwnWay tells of a request that asked for the lock again in the acquire that had set a key, and found that key. What a script
// asks for is not known.
func (n *narrator) inItsOwnWay(client string, k facts.Life, to int) {
	j, _ := n.command(k.From)
	request, out := n.event(j), n.outcome(n.doing(client, k.From))
	again := n.after(k.From, func(e history.Event) bool {
		return e.Op == history.Deliver && e.Process == k.Node && e.By == client && e.Word == request.Word && e.Value != request.Value
	})
	if request.Word == "" || strings.HasPrefix(request.Word, "EVAL") || again < 0 || again > min(k.To, to) || out >= 0 && again > out {
		return
	}
	n.say(step, again, []int{k.From}, "At %s %s asked %s again, and the key of %s was in its way.", n.time(again), client, k.Node, k.Label)
}

// planted describes the acquire from which a key comes that was set only after the acquire had ended, and lists the events that show
// this. It returns "" if the key was set in time, or if the history does not say when the request left.
func (n *narrator) planted(client string, k facts.Life) (late string, signs []int) {
	left := n.event(k.From).Departure()
	in := n.before(k.From, func(e history.Event) bool {
		return e.Process == client && e.Kind == history.Invoke && e.Op == history.Acquire && e.At <= left
	})
	out := n.outcome(in)
	if out < 0 || out > k.From || n.event(out).At < left {
		return "", nil
	}
	how := map[history.Kind]string{history.OK: "the acquire had returned", history.Fail: "the acquire had failed", history.Info: "the client had given up"}[n.event(out).Kind]
	return fmt.Sprintf("the request had left at %s, and %s at %s", history.Seconds(left), how, n.time(out)), []int{in, out}
}

// unheard says that the replies to the requests which set some keys were lost, if all were, and returns the events that show it.
// The client of the keys never had the lease. unheard tells of the faults that caused the losses, and of repeated requests.
func (n *narrator) unheard(client string, keys []facts.Life) (why string, lost []int) {
	for _, k := range keys {
		reply := n.after(k.From, func(e history.Event) bool {
			return e.Kind == history.Message && e.By == k.Node && e.Process == client && e.Sent >= n.event(k.From).At
		})
		if op := n.event(reply).Op; op != history.Drop && op != history.Late {
			return "", nil
		}
		lost = append(lost, reply)
		n.fault(step, n.before(reply+1, func(e history.Event) bool {
			switch f := e.Fault().(type) {
			case history.Reset:
				return f.Link.Covers(client, k.Node) || f.Link.Covers(k.Node, client)
			case history.Chosen:
				return f.Reply && f.Link.Covers(k.Node, client)
			}
			return false
		}))
		n.repeated(client, k)
	}
	return number(keys, ": the reply was lost ", ": the replies were lost ") + n.when(lost), lost
}

// repeated tells of a request that set a key and arrived once more in the same acquire, which failed.
func (n *narrator) repeated(client string, k facts.Life) {
	request, _ := n.command(k.From)
	failed := n.outcome(n.doing(client, k.From))
	again := n.after(k.From, func(e history.Event) bool {
		return e.Op == history.Deliver && e.Process == k.Node && e.By == client && e.Value == n.event(request).Value
	})
	if again >= 0 && again < failed && n.event(failed).Kind == history.Fail {
		n.say(step, again, []int{k.From, failed}, "At %s the same request of %s arrived at %s again, found the key, and was refused.",
			n.time(again), client, k.Node)
	}
}

// overstayed tells of the keys that a violation names because they outlived their own time or that of their lease.
func (n *narrator) overstayed() {
	for _, k := range n.f.Lives {
		if !slices.Contains(n.v.Events, k.From) {
			continue
		}
		set := k.Set
		if l := n.f.Lease(k.Label); l != nil && n.event(set).Until == history.NoEnd {
			n.misread(l, k)
			continue
		}
		n.clockFaultsOf(k.Node, k.From, k.To, n.copied(k))
		did, span := "set", ""
		if set > k.From && !n.within(k.From, set) {
			did = "extended"
		}
		if e := n.event(set); !n.copied(k) && e.Until != 0 && e.Until != history.NoEnd {
			span = " for " + history.FormatDuration((e.Until - (e.At + e.Wall)).Round(time.Millisecond)) // a real server has its own clock
		}
		end, gone := len(n.f.Events)-1, "was still there at"
		if k.To < len(n.f.Events) {
			end, gone = k.To, "was gone only at"
		}
		n.say(step, end, []int{k.From, set}, "The key of %s had been %s on %s at %s%s, and %s %s.", k.Label, did, k.Node, n.time(set), span, gone, n.time(end))
	}
}

// within reports whether event i, which changed the deadline of a key, belongs to the acquire that set the key: the deadline of a
// hash needs a separate command.
func (n *narrator) within(set, i int) bool {
	in := n.doing(n.event(set).By, set)
	if in < 0 || n.event(i).By != n.event(set).By {
		return false
	}
	end := n.outcome(in)
	return end < 0 || i < end
}

// misread tells of a key without an end whose lease was over, and which another client did not take because of a wrong clock.
func (n *narrator) misread(l *facts.Lease, k facts.Life) {
	n.grant(l, "")
	for _, i := range n.v.Events {
		if e := n.event(i); e.Kind == history.Injected {
			n.fault(step, i)
		}
	}
	over := n.after(k.From, func(e history.Event) bool { return e.At >= l.End })
	asked := slices.IndexFunc(n.v.Events, func(i int) bool { return n.event(i).Op == history.Acquire })
	believed := n.validity(l, over)
	until := n.event(believed).Until
	if over < 0 || asked < 0 || until == history.NoEnd {
		return
	}
	n.say(step, over, []int{k.From, believed, n.v.Events[asked]},
		"By the clock of %s, %s was over at %s. Its key on %s has no expiry, and by the wall clock of %s the lease still lasted.",
		l.Client, l.Label, history.Seconds(until), k.Node, n.event(n.v.Events[asked]).Process)
}

// unreleased tells of a release after which keys remained.
func (n *narrator) unreleased(released int, keys []facts.Life) {
	e := n.event(released)
	done := n.outcome(released)
	if done < 0 {
		done = len(n.f.Events)
	}
	text := fmt.Sprintf("%s asked for the release of %s at %s", e.Process, e.Lease, n.time(released))
	at := func(op string) int {
		i := n.after(released, func(o history.Event) bool {
			return o.Op == op && o.By == e.Process && slices.Contains(processes(keys), o.Process)
		})
		if i > done {
			return -1
		}
		return i
	}
	if gone := at(history.Drop); gone >= 0 {
		n.say(step, released, []int{gone}, "%s, and the request was lost on its way to %s.", text, n.event(gone).Process)
		return
	}
	if fault := n.linkFault(e.Process, keys[0].Node, released+1); fault >= 0 && at(history.Deliver) < 0 {
		n.fault(step, fault)
		n.say(step, released, beginnings(keys), "%s, which never reached %s.", text, strings.Join(processes(keys), " "))
		return
	}
	how, events := n.releasing(released)
	left := "the key"
	if gone := n.after(released, func(o history.Event) bool {
		return o.Op == history.Delete && o.Owner == e.Lease && !slices.Contains(processes(keys), o.Process)
	}); gone >= 0 { // on another node, such as a primary that was replaced and kept running
		left = "the key on " + strings.Join(processes(keys), " ")
		events = append(events, append(beginnings(keys), gone)...)
	}
	n.say(step, released, events, "%s; %s was not deleted.", how, left)
}

// split tells how several clients kept each other from a majority: which nodes each had at the last key that was set.
func (n *narrator) split(from, to int) {
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
				return
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
			return
		}
	}
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
	text := fmt.Sprintf("%s asked for the lock at %s", client, n.time(first))
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
