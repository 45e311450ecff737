package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// accused returns the leases that a violation names, in the order of their grants.
func (n *narrator) accused() []*facts.Lease {
	var leases []*facts.Lease
	for i := range n.f.Holds {
		if l := &n.f.Holds[i]; slices.Contains(n.v.Events, l.ReturnEvent) {
			leases = append(leases, l)
		}
	}
	slices.SortStableFunc(leases, func(a, b *facts.Lease) int { return a.GrantEvent - b.GrantEvent })
	return leases
}

// culprit returns the last event of a violation, up to its time, for which f holds, or -1.
func (n *narrator) culprit(f func(history.Event) bool) int {
	for _, i := range slices.Backward(n.v.Events) {
		if e := n.event(i); e.At <= n.v.At && f(e) {
			return i
		}
	}
	return -1
}

// tellOverlap tells how two clients came to hold a lock at once.
func (n *narrator) tellOverlap() {
	var held, late *facts.Lease // late began while held was in force
	for _, l := range n.accused() {
		if l.From == n.v.At && (late == nil || l.ReturnEvent > late.ReturnEvent) {
			late = l
		}
	}
	for _, l := range n.accused() {
		if late != nil && l.Client != late.Client && l.From <= late.From && late.From < l.To && (held == nil || l.To > held.To) {
			held = l
		}
	}
	if held == nil {
		return
	}
	first, second := held, late
	if second.GrantEvent < first.GrantEvent {
		first, second = second, first
	}
	n.grant(first, "")
	n.renewals(first, second.GrantEvent)
	n.delays(first)
	n.delays(second)
	why := n.successions(first, second)
	n.clientClocks(first, second)
	n.grant(second, why)

	believed := n.validity(held, late.ReturnEvent)
	if until := n.event(believed).Until; until != history.NoEnd {
		n.say(detail, late.ReturnEvent, []int{held.ReturnEvent, believed}, "%s did not know this: by its own clock %s was valid until %s.",
			held.Client, held.Label, history.Seconds(until))
	} else {
		text, counted := "%s did not know this: %s has no end", held.ReturnEvent
		if !held.Lasts && !held.Renewed && n.v.Assumption == checker.None {
			for _, j := range n.f.Extensions[held.Label] {
				if j < late.ReturnEvent {
					counted = max(counted, j)
				}
			}
			text += ", and a TTL had not passed since the reply at " + n.time(counted)
		}
		n.say(detail, late.ReturnEvent, []int{held.ReturnEvent, counted}, text+".", held.Client, held.Label)
	}
	soon, later := held, late
	if later.To < soon.To {
		soon, later = later, soon
	}
	text, events := n.ending(soon)
	if then, more := n.ending(later); later.EndEvent >= 0 {
		text, events = text+"; "+then, append(events, more...)
	}
	n.say(step, late.ReturnEvent, append(events, held.ReturnEvent), "From %s on both %s and %s held the lock, until %s.",
		history.Seconds(late.From), held.Client, late.Client, text)
	n.writesBetween(late.ReturnEvent, held, late)
}

// ending says what ended a hold, and returns the events that show it.
func (n *narrator) ending(l *facts.Lease) (string, []int) {
	at := n.time(l.EndEvent)
	switch e := n.event(l.EndEvent); {
	case l.EndEvent < 0:
		believed := n.validity(l, len(n.f.Events))
		if until := n.event(believed).Until; until != history.NoEnd && l.Ended == facts.LeaseEnded {
			return fmt.Sprintf("the clock of %s read %s, the end of %s", l.Client, history.Seconds(until), l.Label), []int{l.ReturnEvent, believed}
		}
		return "the end of the run", []int{l.ReturnEvent}
	case e.Op == history.Release:
		how, events := n.releasing(l.EndEvent)
		return how, append(events, l.ReturnEvent)
	case e.Op == "crash":
		n.tellOnce(l.EndEvent)
		return l.Client + " crashed at " + at, []int{l.EndEvent}
	case l.Ended == facts.LeaseLost:
		return fmt.Sprintf("%s was told at %s that %s was lost", l.Client, at, l.Label), []int{l.ReturnEvent, l.EndEvent}
	default:
		return l.Client + " exited at " + at, []int{l.EndEvent}
	}
}

// releasing says that a client released a lease, by invocation i, and whether the release failed.
func (n *narrator) releasing(i int) (string, []int) {
	e := n.event(i)
	out := n.outcome(i)
	switch o := n.event(out); {
	case out >= 0 && o.Kind == history.Fail:
		text := fmt.Sprintf("%s asked for the release of %s at %s, which failed", e.Process, e.Lease, history.Seconds(e.At))
		if why := plain(o.Error); why != "" {
			text += ": " + why
		}
		return text, []int{i, out}
	case out >= 0 && o.Kind == history.Info:
		text := fmt.Sprintf("%s asked for the release of %s at %s, ", e.Process, e.Lease, history.Seconds(e.At))
		why := plain(o.Error)
		switch unsent := n.unsent(i, out); {
		case unsent && strings.Contains(o.Error, context.Canceled.Error()):
			text += "but no request was sent, because its context had been canceled"
		case unsent:
			text += "but no request was sent"
		case why != "":
			text += "and got only an error: " + why
		default:
			text += "and got no answer"
		}
		return text, []int{i, out}
	}
	return fmt.Sprintf("%s began to release %s at %s", e.Process, e.Lease, history.Seconds(e.At)), []int{i}
}

// unsent reports whether the history shows that a client sent nothing to a node in an operation. A history has messages, even those
// that were lost, except one that a fault on its link holds for ever.
func (n *narrator) unsent(in, out int) bool {
	client, from, to := n.event(in).Process, n.event(in).At, n.event(out).At
	by := func(e history.Event) bool { return e.Kind == history.Message && e.By == client }
	for _, node := range n.f.Meta.Nodes {
		if n.linkFault(client, node, out) >= 0 {
			return false
		}
	}
	return n.before(in, by) >= 0 && n.after(in, func(e history.Event) bool {
		return by(e) && e.Process != history.ResourceName && from <= e.Sent && e.Sent <= to
	}) < 0
}

// plain returns an error if it is fit for a sentence: one line without digits.
func plain(s string) string {
	if strings.ContainsAny(s, "\n0123456789") {
		return ""
	}
	return strings.TrimSuffix(s, ".")
}

// writesBetween tells which writes the resource accepted while two leases were held.
func (n *narrator) writesBetween(from int, a, b *facts.Lease) {
	var texts []string
	var events []int
	for i := from; i < len(n.f.Events); i++ {
		e := n.event(i)
		if e.Kind == history.State && e.Op == history.Accept && (e.Lease == a.Label || e.Lease == b.Label) && e.At < min(a.To, b.To) {
			texts = append(texts, fmt.Sprintf("%s under %s at %s", e.Value, e.Lease, history.Seconds(e.At)))
			events = append(events, i)
		}
	}
	if len(events) > 2 {
		texts, events = texts[:2], events[:2]
	}
	if len(events) > 0 {
		n.say(detail, events[0], events, "Meanwhile the resource accepted %s.", history.List(texts))
	}
}

// delays tells what kept a client from learning of its grant for long.
func (n *narrator) delays(l *facts.Lease) {
	asked := max(l.InvokeEvent, 0)
	if !n.long(l.From - max(l.Granted, n.event(asked).At)) {
		return
	}
	n.pauses(l.Client, asked, l.ReturnEvent)
	if len(n.paused) > 0 {
		return
	}
	for i := asked; i < l.ReturnEvent; i++ {
		e := n.event(i)
		if e.Kind == history.Message && e.Op == history.Deliver && e.Process == l.Client && e.Sent >= n.event(asked).At && n.long(e.At-e.Sent) {
			n.late(i)
			return
		}
	}
}

// tellWrite tells how the resource came to accept a write under a lease after a newer one was granted.
func (n *narrator) tellWrite() {
	i := n.culprit(func(e history.Event) bool {
		return e.Kind == history.State && (e.Op == history.Accept || e.Op == history.Mark)
	})
	e := n.event(i)
	l := n.f.Lease(e.Lease)
	var newer *facts.Lease
	for _, o := range n.accused() {
		if l != nil && o.Label != l.Label && o.GrantEvent > l.GrantEvent && o.GrantEvent < i && newer == nil {
			newer = o
		}
	}
	if newer == nil {
		return
	}
	n.grant(l, "")
	n.renewals(l, newer.GrantEvent)
	sent := n.before(i+1, func(o history.Event) bool { return o.At <= e.Departure() })
	n.pauses(l.Client, l.ReturnEvent, sent)
	why := n.successions(l, newer)
	n.clientClocks(l, newer)
	n.grant(newer, why)
	j := n.writing(i)
	if h := n.f.HoldAt(l.Label, n.event(j).At); j >= 0 && h.ReturnEvent > newer.GrantEvent {
		n.say(step, h.ReturnEvent, nil, "%s extended %s at %s, after it had ended, until %s by its own clock.",
			l.Client, l.Label, history.Seconds(h.From), history.Seconds(n.event(h.ReturnEvent).Until))
	}
	if check := n.before(j, func(o history.Event) bool {
		return o.Process == l.Client && o.Op == history.Check && o.Kind == history.OK && o.Lease == l.Label
	}); check >= 0 {
		n.say(detail, check, nil, "%s checked its clock at %s, and %s was valid.", l.Client, n.time(check), l.Label)
	}

	before := n.before(i, func(o history.Event) bool { return o.Kind == history.State && o.Op == e.Op && o.Process == e.Process })
	switch last := n.event(before); {
	case last.Lease != newer.Label:
	case last.Op == history.Mark:
		n.say(detail, before, nil, "%s entered under %s at %s.", newer.Client, newer.Label, n.time(before))
	default:
		n.say(detail, before, nil, "%s wrote %s under %s, and the resource accepted it at %s.", newer.Client, last.Value, newer.Label, n.time(before))
	}
	n.wrote(l, j, i)
	text := fmt.Sprintf("At %s the resource accepted %s under %s", n.time(i), e.Value, l.Label)
	if e.Op == history.Mark {
		text = fmt.Sprintf("At %s the resource accepted the mark of %s", n.time(i), l.Label)
	}
	events := []int{newer.GrantEvent, newer.ReturnEvent}
	if n.overdue(e) {
		text += ", which had been under way since " + history.Seconds(e.Sent)
		n.cause = append(n.cause, i)
		n.kept(l.Client, e.Process, e.Sent, i)
	}
	text += fmt.Sprintf(", though %s was the newer lease", newer.Label)
	switch last := n.event(before); {
	case e.Op == history.Mark && last.Lease == newer.Label:
		text, events = text+": from now on it refuses what "+newer.Client+" writes", append(events, before)
	case e.Op == history.Mark:
	case e.Fence != 0 && !n.seenFence(i, e.Fence):
		text += fmt.Sprintf(": no fence above %d had reached it yet", e.Fence)
	case before > newer.GrantEvent && last.Lease != l.Label && last.Value != "" && !strings.Contains(e.Value, last.Value):
		text, events = text+": it overwrote "+last.Value, append(events, before)
	}
	n.say(step, i, events, "%s.", text)
	if higher := n.before(i, func(o history.Event) bool {
		return o.Kind == history.State && o.Op == history.Accept && o.Process == e.Process && o.Fence > e.Fence
	}); e.Fence != 0 && higher >= 0 && n.f.Meta.Resource == "plain" {
		n.say(step, i, []int{higher}, "The resource does not compare tokens: it accepted fence %d after fence %d.", e.Fence, n.event(higher).Fence)
	}
	n.overworked(l, j)
}

// overworked makes the last sentence say that a client went on after its lease, if that alone explains the violation.
func (n *narrator) overworked(l *facts.Lease, j int) {
	if l == nil || j < 0 || l.EndEvent >= 0 && l.EndEvent < j {
		return
	}
	believed := n.validity(l, j)
	if until := n.event(believed).Until; until == history.NoEnd || n.event(j).Clock < until {
		return
	}
	late := ""
	if believed > l.ReturnEvent {
		late = " in time"
	}
	n.blame = Sentence{
		Text:   fmt.Sprintf("No assumption was broken: %s worked longer than its lease lasted, and nothing renewed the lease%s.", l.Client, late),
		Events: []int{believed, j},
	}
}

// wrote tells of the invocation of a write, and what its client could know about its lease by then.
func (n *narrator) wrote(l *facts.Lease, j, accepted int) {
	if j < 0 {
		return
	}
	in := n.event(j)
	believed := n.validity(l, j)
	until := n.event(believed).Until
	events := []int{l.ReturnEvent, believed}
	text := fmt.Sprintf("%s wrote %s under %s at %s", l.Client, n.event(accepted).Value, l.Label, n.time(j))
	if in.Op == history.Enter {
		text = fmt.Sprintf("%s entered under %s at %s", l.Client, l.Label, n.time(j))
	}
	switch {
	case l.EndEvent >= 0 && l.EndEvent < j:
		then, more := n.ending(l)
		text, events = text+", after "+then, append(events, more...)
	case until == history.NoEnd:
	case in.Clock >= until:
		text += "; by its own clock the lease had ended at " + history.Seconds(until)
	default:
		text += ", while its lease was valid by its own clock"
	}
	n.say(step, j, events, "%s.", text)
}

// writing returns the invocation of the write, update or entry that the resource accepted by event i, or -1.
func (n *narrator) writing(i int) int {
	return n.before(i, func(o history.Event) bool { return o.Writes(n.event(i)) })
}

// seenFence reports whether the resource had accepted anything with a higher fence before event i.
func (n *narrator) seenFence(i int, fence int64) bool {
	return n.before(i, func(o history.Event) bool {
		return o.Kind == history.State && o.Op == history.Accept && o.Fence > fence
	}) >= 0
}

// tellReturn tells how Acquire came to return a lease that was over.
func (n *narrator) tellReturn() {
	i := n.culprit(func(e history.Event) bool { return e.Kind == history.OK && e.Op == history.Acquire })
	e := n.event(i)
	l := n.f.Lease(e.Lease)
	if l == nil {
		return
	}
	asked := l.InvokeEvent
	n.say(step, asked, nil, "%s asked for the lock at %s.", l.Client, n.time(asked))
	n.delays(l)
	var keys, expired []facts.Life
	for _, k := range n.f.Lives {
		if k.Label == l.Label && k.From > asked && k.From < i && n.event(k.From).By == l.Client {
			keys = append(keys, k)
			if k.To < i && n.event(k.To).Op == history.Expire {
				expired = append(expired, k)
			}
		}
	}
	if len(keys) > 0 {
		n.say(step, keys[0].From, beginnings(keys), "%s of %s %s set on %s %s.",
			number(keys, "The key", "The keys"), l.Label, number(keys, "was", "were"), strings.Join(processes(keys), " "), n.when(beginnings(keys)))
	}
	n.expiry(expired, "")
	if other := n.holding(l.Client, i); other != nil {
		n.grant(other, "")
	}
	n.say(step, i, nil, "Acquire handed %s to %s at %s, though it had ended at %s by the clock of %s, which read %s.",
		l.Label, l.Client, n.time(i), history.Seconds(e.Until), l.Client, history.Seconds(e.Clock))
	if used := n.after(i, func(o history.Event) bool {
		return o.Kind == history.State && o.Op == history.Accept && o.Lease == l.Label
	}); used >= 0 {
		n.say(background, used, nil, "%s relied on it: the resource accepted %s under %s at %s.", l.Client, n.event(used).Value, l.Label, n.time(used))
	}
}

// tellIntrusion tells how a command of one client came to touch the key of another.
func (n *narrator) tellIntrusion() {
	n.intrusion(n.culprit(func(e history.Event) bool {
		return e.Kind == history.State && (e.Op == history.Over || e.Op == history.Retime || e.Op == history.Delete) && e.By != history.Client(e.Owner)
	}))
}

// intrusion tells of event i, by which a client touched another client's key: which lease of its own it had there, what became of
// that lease, whose key it was by then, and what the client was doing.
func (n *narrator) intrusion(i int) {
	e := n.event(i)
	if i < 0 {
		return
	}
	owner := history.Client(e.Owner)
	about := n.doing(e.By, i)
	op := n.event(about)
	var own *facts.Lease // the lease whose key the intruder meant to touch
	if op.Op == history.Release || op.Op == history.Extend {
		own = n.f.Lease(op.Lease)
	}
	for j := range n.f.Holds {
		if l := &n.f.Holds[j]; own == nil && op.Op != history.Acquire && l.Client == e.By && l.ReturnEvent < i {
			own = l
		}
	}
	set := n.before(i, func(o history.Event) bool {
		return o.Kind == history.State && (o.Op == history.Set || o.Op == history.Over) && o.Process == e.Process && o.Key == e.Key && o.Lease == e.Owner
	})
	if own != nil {
		n.grant(own, "")
		n.renewals(own, i)
		n.pauses(own.Client, own.ReturnEvent, i)
		var gone []facts.Life
		for _, k := range n.f.Lives {
			if k.Label == own.Label && k.To < i && n.event(k.To).Op == history.Expire && (k.Node == e.Process || n.f.Lease(e.Owner) != nil) {
				gone = append(gone, k)
			}
		}
		n.expiry(gone, "")
	}
	if l := n.f.Lease(e.Owner); l != nil && l.ReturnEvent < i {
		n.grant(l, "")
	} else if set >= 0 {
		n.say(step, set, nil, "%s set its key of %s on %s at %s.", owner, e.Owner, e.Process, n.time(set))
	}
	read, had := n.look(about, i)
	if had != nil && had.Label != e.Owner {
		verb := "read"
		if !strings.HasPrefix(n.event(read).Value, "GET ") {
			verb = "asked for the TTL of"
		}
		text, events := fmt.Sprintf("%s %s the key on %s at %s, when it was that of %s", e.By, verb, e.Process, n.time(read), had.Label), []int{had.From}
		if told := n.after(read, func(o history.Event) bool {
			return o.Kind == history.Message && o.Op == history.Deliver && o.Process == e.By && o.By == e.Process && o.Sent >= n.event(read).At
		}); told >= 0 && told < i && n.long(n.event(told).At-n.event(read).At) {
			text, events = text+", and got the answer at "+n.time(told), append(events, told)
		}
		n.say(step, read, events, "%s.", text)
	}

	verb := map[string]string{history.Over: "overwrote", history.Retime: "changed the expiry of", history.Delete: "deleted"}[e.Op]
	text := fmt.Sprintf("%s %s the key of %s on %s at %s", e.By, verb, e.Owner, e.Process, n.time(i))
	events := []int{about, set}
	began := ""
	if about >= 0 && n.long(e.At-op.At) {
		n.pauses(e.By, about, i)
		began = ", which had begun at " + history.Seconds(op.At)
	}
	switch {
	case own != nil && op.Op == history.Release:
		text, events = text+", in the release of "+own.Label+began, append(events, own.ReturnEvent)
	case own != nil && op.Op == history.Extend:
		text, events = text+", in the extension of "+own.Label+began, append(events, own.ReturnEvent)
	case op.Op == history.Acquire:
		text += ", in an acquire" + began
	}
	command, name := n.command(i)
	if name != "" {
		text, events = text+": "+name+" "+blindly[name], append(events, command)
	}
	if e.Sent > 0 && n.long(e.At-e.Sent) {
		text += ", by a command that had been under way since " + history.Seconds(e.Sent)
	}
	n.say(step, i, events, "%s.", text)
	if out := n.outcome(about); op.Op == history.Acquire && out >= 0 && n.event(out).Kind == history.Fail && e.Op == history.Over {
		n.say(step, out, []int{about}, "%s did not get the lock that way: its acquire failed at %s.", e.By, n.time(out))
	}
	if own != nil && name == "" {
		n.sameToken(n.first(own.Label, e.Process), set)
	}
}

// tellLostVote tells how a client took a key away from its own lease.
func (n *narrator) tellLostVote() {
	i := n.culprit(func(e history.Event) bool {
		return e.Kind == history.State && (e.Op == history.Over || e.Op == history.Retime || e.Op == history.Delete)
	})
	set := n.culprit(func(e history.Event) bool {
		return e.Kind == history.State && (e.Op == history.Over || e.Op == history.Set) && e.At <= n.event(i).At
	})
	e := n.event(i)
	if i < 0 || set < 0 {
		return
	}
	label := n.event(set).Lease
	l := n.f.Lease(label)
	if l == nil {
		return
	}
	n.grant(l, "")
	n.renewals(l, i)
	verb := map[string]string{history.Over: "overwrote", history.Retime: "shortened the life of", history.Delete: "deleted"}[e.Op]
	text := fmt.Sprintf("%s %s its own key of %s on %s at %s", e.By, verb, label, e.Process, n.time(i))
	asked := n.before(i, func(o history.Event) bool { // the last that gave the key a deadline
		return o.Kind == history.State && o.Process == e.Process && o.Key == e.Key && o.By == e.By && (o.Op == history.Set || o.Op == history.Over || o.Op == history.Retime)
	})
	how, events := n.byExtension(i)
	if e.Departure() < n.event(asked).Departure() {
		how, events = "", nil
		what := "set the key, and did not notice that the key belonged to another attempt"
		if n.event(asked).Op == history.Retime {
			what = "set the deadline of the key"
		}
		text += fmt.Sprintf(": the command had left at %s, before the one that %s", history.Seconds(e.Departure()), what)
	}
	n.say(step, i, append(events, set, asked), "%s%s.", text, how)
	var left []facts.Life
	for _, k := range n.f.Lives {
		if k.Label == label && k.From < i && i < k.To && k.Node != e.Process {
			left = append(left, k)
		}
	}
	if names := processes(left); len(names) > 0 && e.Op == history.Delete {
		n.say(detail, i, beginnings(left), "The lease kept the %s on %s.", number(left, "key", "keys"), strings.Join(names, " "))
	}
}

// command returns the message whose command caused change i, and the name of the command if it acts on a key whatever its value.
func (n *narrator) command(i int) (int, string) {
	e := n.event(i)
	j := n.before(i, func(o history.Event) bool {
		return o.Kind == history.Message && o.Op == history.Deliver && o.Process == e.Process && o.By == e.By && o.At == e.At
	})
	for c := range strings.SplitSeq(n.event(j).Value, "; ") {
		name, args, _ := strings.Cut(c, " ")
		if key, _, _ := strings.Cut(args, " "); key == e.Key && blindly[name] != "" {
			return j, name
		}
	}
	return j, ""
}

// blindly says, of each command that acts on a key whatever its value, what it fails to do.
var blindly = map[string]string{
	"DEL":     "asks for no token",
	"EXPIRE":  "asks for no token",
	"PEXPIRE": "asks for no token",
	"GETSET":  "does not compare",
}

// look returns the last time before change i at which the operation that caused it read the key, or its time to live, and whose key
// it was then; -1 and nil if it did neither.
func (n *narrator) look(about, i int) (int, *facts.Life) {
	e := n.event(i)
	j := n.before(i, func(o history.Event) bool {
		return o.Kind == history.Message && o.Op == history.Deliver && o.Process == e.Process && o.By == e.By &&
			slices.Contains([]string{"GET " + e.Key, "TTL " + e.Key, "PTTL " + e.Key}, o.Value)
	})
	if about < 0 || j < about {
		return -1, nil
	}
	if k := n.f.LifeAt(e.Process, e.Key, j); k != nil {
		return j, k
	}
	return -1, nil
}

// first returns the event that first set a key of a lease on a server, or -1.
func (n *narrator) first(label, process string) int {
	for _, k := range n.f.Lives {
		if k.Label == label && k.Node == process {
			return k.From
		}
	}
	return -1
}

// sameToken says that two keys were set to the same token, if the commands show it.
func (n *narrator) sameToken(a, b int) {
	if a < 0 || b < 0 || a == b {
		return
	}
	token := func(i int) (int, string) {
		j, _ := n.command(i)
		_, args, _ := strings.Cut(n.event(j).Value, " "+n.event(i).Key+" ")
		value, _, _ := strings.Cut(args, " ")
		return j, value
	}
	i, first := token(a)
	j, second := token(b)
	if first == "" || first != second {
		return
	}
	n.say(step, b, []int{a, i, j}, "%s had the same token as %s: %s.", n.event(b).Lease, n.event(a).Lease, first)
}

// tellTokens tells how a fencing token came to be no greater than that of an earlier lease.
func (n *narrator) tellTokens() {
	leases := n.accused()
	if len(leases) < 2 {
		return
	}
	b := leases[len(leases)-1]
	a := leases[len(leases)-2]
	for _, l := range leases[:len(leases)-1] {
		if l.Fence >= b.Fence && l.Fence > a.Fence {
			a = l
		}
	}
	n.grant(a, "")
	n.renewals(a, b.GrantEvent)
	for i := a.GrantEvent; i < b.ReturnEvent; i++ {
		e := n.event(i)
		if e.Kind == history.State && e.Owner == "" && e.Lease == "" && e.Key != "" && (e.Op == history.Lose || e.Op == history.Expire || e.Op == history.Delete) {
			n.say(step, i, nil, "The key %s was gone from %s at %s.", e.Key, e.Process, n.time(i))
			n.cause = append(n.cause, i)
			n.fault(step, n.before(i, func(o history.Event) bool {
				return o.Kind == history.Injected && o.Process == e.Process && (o.Op == "crash" || o.Op == "stop" || o.Op == "follow")
			}))
		}
	}
	n.delays(a)
	if fault := n.f.TimeSetBack(a, b); fault >= 0 {
		n.fault(step, fault)
		n.say(step, b.ReturnEvent, []int{a.ReturnEvent}, "Fences %d and %d are times of a clock, which went back in between.", a.Fence, b.Fence)
		n.cause = append(n.cause, fault)
	}
	n.grant(b, n.successions(a, b))
	relation := "less than"
	if a.Fence == b.Fence {
		relation = "the same as"
	}
	n.say(step, b.ReturnEvent, []int{a.ReturnEvent}, "Fence %d of %s was %s fence %d of %s, though the lease is newer.",
		b.Fence, b.Label, relation, a.Fence, a.Label)
}
