package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

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
		if !slices.ContainsFunc(keys, func(k facts.Life) bool { return !n.f.Passing[k.Key] }) {
			n.queued(client, keys)
			continue
		}
		where := strings.Join(processes(keys), " ")
		late, signs := n.planted(client, keys[0])
		if l := n.f.Lease(label); l != nil {
			n.grant(l, "")
			if late != "" {
				again := ""
				if n.first(label, keys[0].Node) < keys[0].From {
					again = "again "
				}
				n.say(step, keys[0].From, signs, "A late request of %s set the key of %s %son %s at %s: %s.", client, label, again, keys[0].Node, n.time(keys[0].From), late)
			} else {
				n.setAgain(l, keys[0])
			}
			n.misjudged(l, keys, to)
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
		n.deadline(label, keys, from, to)
	}
	if len(labels) == 0 && n.split(from, to) {
		return
	}
	var standing []string
	for _, k := range n.f.Lives {
		if stood(k) {
			standing = append(standing, k.Node)
		}
	}
	if len(n.f.Meta.Nodes)-n.nodes(standing) >= n.f.Meta.Quorum() { // the other nodes make a majority
		n.leftovers(from, to)
	}
}

// leftovers tells of the client whose failed attempts left keys that lasted for long while clients waited: the first keys, and how many more.
func (n *narrator) leftovers(from, to int) {
	var labels []string
	var first []facts.Life
	for _, k := range n.f.Lives {
		lasted := n.f.At(k.To) - n.event(k.From).At
		if k.From < from || k.From > to || n.f.Lease(k.Label) != nil || n.f.Passing[k.Key] || n.nodes([]string{k.Node}) == 0 || !n.long(lasted) ||
			n.event(k.From).By != history.Client(k.Label) || n.event(k.To).Op != history.Expire {
			continue
		}
		if len(first) > 0 && history.Client(k.Label) != history.Client(first[0].Label) {
			continue
		}
		if !slices.Contains(labels, k.Label) {
			labels = append(labels, k.Label)
		}
		if k.Label == labels[0] {
			first = append(first, k)
		}
	}
	if len(first) == 0 || n.nodes(processes(first)) >= n.f.Meta.Quorum() {
		return
	}
	text := ""
	if len(labels) > 1 {
		text = fmt.Sprintf(" It left such keys %d times.", len(labels))
	}
	n.say(step, first[0].From, append(beginnings(first), endings(first)...), "%s set the %s of %s on %s %s, but did not get the lock, and left %s there: nothing deleted %s before %s.%s",
		history.Client(labels[0]), number(first, "key", "keys"), labels[0], strings.Join(processes(first), " "), n.when(beginnings(first)),
		number(first, "it", "them"), number(first, "it", "them"), n.time(slices.Max(endings(first))), text)
}

// setAgain tells of a key that its client set after it had been granted the lease, and why that was too late; or that an extension or the
// release gave it another value.
func (n *narrator) setAgain(l *facts.Lease, k facts.Life) {
	if k.From <= l.ReturnEvent || n.event(k.From).By != l.Client {
		return
	}
	if n.event(k.From).Op == history.Over {
		in := n.during(k.From)
		out := n.outcome(in)
		lost := ""
		if e := n.event(out); e.Kind == history.Info {
			lost = ", and got no answer"
		}
		switch n.event(in).Op {
		case history.Extend:
			n.say(step, k.From, []int{in, out}, "The extension of %s at %s gave its key on %s a new value%s.", l.Label, n.time(k.From), k.Node, lost)
		case history.Release:
			n.say(step, k.From, []int{in, out}, "The release of %s at %s gave its key on %s a new value, and did not delete it.", l.Label, n.time(k.From), k.Node)
		}
		return
	}
	text, events := "", []int{l.ReturnEvent}
	if sent := n.event(k.From).Departure(); n.long(n.event(k.From).At - sent) {
		text = ", by a request that had left at " + history.Seconds(sent)
	}
	if over := facts.Before(n.f.Releases[l.Label], k.From); over >= 0 {
		text, events = fmt.Sprintf("%s, after the release that began at %s", text, n.time(over)), append(events, over)
	}
	n.say(step, k.From, events, "%s set the key of %s on %s again at %s%s.", l.Client, l.Label, k.Node, n.time(k.From), text)
}

// misjudged tells of an extension that failed with the answer that the lease was not held, though its keys were there. A client that is told so
// cannot release the lease.
func (n *narrator) misjudged(l *facts.Lease, keys []facts.Life, to int) {
	i := l.EndEvent
	e := n.event(i)
	if i > to || e.Op != history.Extend {
		return
	}
	there := slices.DeleteFunc(slices.Clone(keys), func(k facts.Life) bool { return k.From > i })
	if n.nodes(processes(there)) < n.f.Meta.Quorum() {
		return
	}
	if asked, ok := n.f.Invocation[i]; ok && n.f.Unanswered(l.Client, asked, i) {
		n.say(step, i, append(beginnings(there), asked), "At %s the extension of %s by %s reported the lease as lost, although no node had answered, and its %s still on %s: after that %s could not release it.",
			n.time(i), l.Label, l.Client, number(there, "key was", "keys were"), strings.Join(processes(there), " "), l.Client)
		return
	}
	why := ""
	if text := plain(e.Error); text != "" {
		why = " (" + text + ")"
	}
	n.say(step, i, beginnings(there), "The extension of %s by %s failed at %s%s, though its %s on %s: after that %s could not release it.", l.Label, l.Client, n.time(i), why,
		number(there, "key was", "keys were"), strings.Join(processes(there), " "), l.Client)
}

// queued tells of a client that stayed in a queue for the lock, which is what some keys are.
func (n *narrator) queued(client string, keys []facts.Life) {
	var names []string
	for _, k := range keys {
		if !slices.Contains(names, k.Key) {
			names = append(names, k.Key)
		}
	}
	slices.Sort(names)
	first, last := keys[0].From, slices.Max(endings(keys))
	gone := n.after(first, func(e history.Event) bool {
		return e.Process == client && (e.Op == "crash" || e.Kind == history.Info && e.Op == history.Exit)
	})
	n.say(step, first, beginnings(keys), "%s was put into %s on %s at %s, where clients wait for the lock.",
		client, history.List(names), strings.Join(processes(keys), " "), n.time(first))
	stayed := "nothing removed it from there"
	if last < len(n.f.Events) {
		stayed += " until " + n.time(last)
	}
	switch {
	case gone < 0 || gone > last:
		n.say(step, first, append(endings(keys), beginnings(keys)...), "%s%s.", strings.ToUpper(stayed[:1]), strings.Replace(stayed[1:], " it ", " "+client+" ", 1))
	case n.event(gone).Op == "crash":
		n.tellOnce(gone)
		n.say(step, gone, endings(keys), "%s crashed at %s, and %s.", client, n.time(gone), stayed)
	default:
		n.say(step, gone, endings(keys), "%s exited at %s, and %s.", client, n.time(gone), stayed)
	}
}

// deadline tells what gave the keys of a lease the deadlines that they had at event to, unless it is what the lock was asked for.
func (n *narrator) deadline(label string, keys []facts.Life, from, to int) {
	client, first := history.Client(label), keys[0].From
	set := -1
	var retimes []int
	var endless []facts.Life
	for _, k := range keys {
		timed := k.From
		for i := k.From + 1; i <= to; i++ {
			if e := n.event(i); e.Op == history.Retime && e.Process == k.Node && e.Key == k.Key {
				if timed = i; !n.within(k.From, i) {
					retimes = append(retimes, i)
				}
			}
		}
		if n.event(timed).Until == history.NoEnd {
			endless = append(endless, k)
		}
		set = max(set, timed)
	}
	retimes = sorted(retimes...)
	long, command := n.tooLong(client, set)
	switch {
	case len(endless) > 0:
		if !slices.Contains(n.v.Events, first) {
			nobody := fmt.Sprintf(", and nobody else could delete %s", number(endless, "it", "them"))
			if slices.ContainsFunc(endless, func(k facts.Life) bool {
				return k.To < len(n.f.Events) && n.event(k.To).By != "" && n.event(k.To).By != client && !n.f.Servers[n.event(k.To).By]
			}) {
				nobody = ""
			}
			n.say(step, from, beginnings(endless), "The %s of %s on %s had no expiry%s.", number(endless, "key", "keys"), label, strings.Join(processes(endless), " "), nobody)
		}
	case len(retimes) > 0:
		n.retimes(label, keys, retimes, long, command)
	case long != "":
		n.say(step, set, command, "%s had set the key of %s on %s at %s%s.", client, label, n.event(set).Process, n.time(set), long)
	}
}

// retimes tells who gave the keys of a lease new deadlines after the acquire that set them, how often, and in which operation the last time.
func (n *narrator) retimes(label string, keys []facts.Life, retimes []int, long string, command []int) {
	last := retimes[len(retimes)-1]
	e, op := n.event(last), n.event(n.during(last))
	ttl := ""
	if e.Until > 0 && e.Until != history.NoEnd {
		ttl = rounded(e.Until - e.At - e.Wall)
	}
	retimes = slices.DeleteFunc(slices.Clone(retimes), func(i int) bool { return n.event(i).By != e.By || n.event(i).Process != e.Process })
	often := ""
	if len(retimes) > 1 {
		often = fmt.Sprintf(" %d times, the last time", len(retimes))
	}
	switch client := history.Client(label); {
	case e.By == client && op.Op == history.Extend:
		if long == "" && ttl != "" {
			long = ", by a TTL of " + ttl
		}
		n.say(step, last, command, "%s had extended %s on %s at %s%s.", client, label, e.Process, n.time(last), long)
	case e.By == client && op.Op == history.Release:
		if long == "" && ttl != "" {
			long = ", to a TTL of " + ttl
		}
		n.say(step, last, command, "In the release %s changed the expiry of the key of %s on %s at %s%s.", client, label, e.Process, n.time(last), long)
	case e.By == client && op.Op == history.Acquire && !n.renews(label):
		n.say(step, last, command, "%s changed the expiry of the key of %s on %s%s at %s, in another acquire%s.", client, label, e.Process, often, n.time(last), long)
	case e.By == client && often == "":
		n.say(step, last, command, "%s renewed %s on %s at %s%s.", client, label, e.Process, n.time(last), long)
	case e.By == client:
		n.say(step, last, command, "%s went on renewing %s on %s, the last time at %s%s.", client, label, e.Process, n.time(last), long)
	case n.f.Servers[e.By]:
		n.say(step, last, nil, "The expiry of the key of %s on %s was changed%s at %s.", label, e.Process, often, n.time(last))
	default:
		where := ""
		if op.Op == history.Acquire {
			where = ", in an acquire"
		}
		k := slices.IndexFunc(keys, func(k facts.Life) bool { return k.Node == e.Process && k.Key == e.Key })
		if had := keys[max(k, 0)].From; often == "" && ttl != "" && n.event(had).Until == history.NoEnd {
			n.say(step, last, []int{had}, "The key of %s on %s had no expiry until %s gave it a TTL of %s at %s%s.", label, e.Process, e.By, ttl, n.time(last), where)
			return
		}
		if ttl != "" {
			ttl = ", to a TTL of " + ttl
		}
		n.say(step, last, nil, "%s changed the expiry of the key of %s on %s%s at %s%s%s.", e.By, label, e.Process, often, n.time(last), ttl, where)
	}
}

// renews reports whether the lock renews a lease by itself.
func (n *narrator) renews(label string) bool {
	l := n.f.Lease(label)
	return l != nil && n.event(l.ReturnEvent).Renews
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
	if op := n.event(n.during(i)); op.Op == history.Extend {
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
	if request.Word == "" || strings.HasPrefix(request.Word, "EVAL") || again > min(k.To, to) || out >= 0 && again > out {
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
	if again < failed && n.event(failed).Kind == history.Fail {
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
	in := n.during(set)
	return in >= 0 && n.event(i).By == n.event(set).By && n.during(i) == in
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
	if asked < 0 || until == history.NoEnd || n.event(n.v.Events[asked]).Wall >= n.event(l.ReturnEvent).Wall {
		return // then it is not the asker whose clock was wrong
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
