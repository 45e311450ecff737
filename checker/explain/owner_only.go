package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// tellIntrusion tells how a command of one client came to touch the key of another.
func (n *narrator) tellIntrusion() {
	n.intrusion(n.culprit(func(e history.Event) bool {
		return (e.Op == history.Over || e.Op == history.Retime || e.Op == history.Delete) && e.By != history.Client(e.Owner)
	}))
}

// intrusion tells of event i, by which a client touched another client's key: which lease of its own it had there, what became of
// that lease, whose key it was by then, and what the client was doing.
func (n *narrator) intrusion(i int) {
	e := n.event(i)
	owner := history.Client(e.Owner)
	about := n.during(i)
	op := n.event(about)
	own := n.meant(i, op)
	set := n.before(i, func(o history.Event) bool {
		return (o.Op == history.Set || o.Op == history.Over) && o.Process == e.Process && o.Key == e.Key && o.Lease == e.Owner
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
	n.looked(about, i)

	verb := map[string]string{history.Over: "overwrote", history.Retime: "changed the expiry of", history.Delete: "deleted"}[e.Op]
	text := fmt.Sprintf("%s %s the key of %s on %s at %s", e.By, verb, e.Owner, e.Process, n.time(i))
	events := []int{about, set}
	since, late := "", e.Sent > 0 && n.long(e.At-e.Sent)
	if about >= 0 && n.long(e.At-op.At) {
		n.pauses(e.By, about, i)
		since = ", which had begun at " + history.Seconds(op.At)
	}
	if late {
		since = ", by a command that had been under way since " + history.Seconds(e.Sent)
	}
	switch {
	case own != nil && op.Op == history.Release:
		text, events = text+", "+n.releasedIn(about), append(events, own.ReturnEvent)
		if first := n.f.Releases[own.Label][0]; first < about {
			text, events = text+", after a first one at "+n.time(first), append(events, first)
		}
	case own != nil && op.Op == history.Extend:
		text, events = text+", in the extension of "+own.Label, append(events, own.ReturnEvent)
	case op.Op == history.Acquire:
		text += ", in an acquire"
	case !late:
		since = ""
	}
	text += since
	command, name := n.command(i)
	if name != "" {
		text, events = text+": "+name+" "+blindly[name], append(events, command)
	}
	if own != nil && n.comparesNothing(i, set) {
		text, events = text+": its script does not compare the token", append(events, command)
	}
	n.say(step, i, events, "%s.", text)
	if out := n.outcome(about); op.Op == history.Acquire && out >= 0 && n.event(out).Kind == history.Fail && e.Op == history.Over {
		n.say(step, out, []int{about}, "%s did not get the lock that way: its acquire failed at %s.", e.By, n.time(out))
	}
	if own != nil && name == "" {
		n.sameToken(own, n.first(own.Label, e.Process), set, i)
	}
}

// meant returns the lease whose key the client of event i meant to touch in operation op: the lease that it was releasing or
// extending or, unless it was acquiring one, the last that it had been granted; nil if there is none.
func (n *narrator) meant(i int, op history.Event) (own *facts.Lease) {
	if op.Op == history.Release || op.Op == history.Extend {
		own = n.f.Lease(op.Lease)
	}
	if own != nil || op.Op == history.Acquire {
		return own
	}
	for j := range n.f.Holds {
		if l := &n.f.Holds[j]; l.Client == n.event(i).By && l.ReturnEvent < i {
			own = l
		}
	}
	return own
}

// looked says that the client of change i had looked at the key in operation about, when it was the key of another lease.
func (n *narrator) looked(about, i int) {
	e := n.event(i)
	read, had := n.look(about, i)
	if had == nil || had.Label == e.Owner {
		return
	}
	verb := "read"
	if !strings.HasPrefix(n.event(read).Value, "GET ") {
		verb = "asked for the TTL of"
	}
	text, events := fmt.Sprintf("%s %s the key on %s at %s, when it was that of %s", e.By, verb, e.Process, n.time(read), had.Label), []int{had.From}
	if told := n.after(read, func(o history.Event) bool {
		return o.Op == history.Deliver && o.Process == e.By && o.By == e.Process && o.Sent >= n.event(read).At
	}); told < i && n.long(n.event(told).At-n.event(read).At) {
		text, events = text+", and got the answer at "+n.time(told), append(events, told)
	}
	n.say(step, read, events, "%s.", text)
}

// command returns the message whose command caused change i, and the name of the command if it acts on a key whatever its value.
func (n *narrator) command(i int) (int, string) {
	e := n.event(i)
	j := n.before(i, func(o history.Event) bool {
		return o.Op == history.Deliver && o.Process == e.Process && o.By == e.By
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
	"DEL":     "does not compare the token",
	"EXPIRE":  "does not compare the token",
	"PEXPIRE": "does not compare the token",
	"GETSET":  "does not compare the token",
}

// look returns the last time before change i at which the operation that caused it read the key, or its time to live, and whose key
// it was then; -1 and nil if it did neither.
func (n *narrator) look(about, i int) (int, *facts.Life) {
	e := n.event(i)
	j := n.before(i, func(o history.Event) bool {
		return o.Op == history.Deliver && o.Process == e.Process && o.By == e.By &&
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

// sameToken says that change i was possible because two leases have the same token, if the commands show it. Their keys were set by events
// a and b, and the client of the change meant that of a.
func (n *narrator) sameToken(own *facts.Lease, a, b, i int) {
	if a < 0 || b < 0 || a == b {
		return
	}
	mine, other := n.event(b).Lease, own.Label
	if mine == n.event(a).Lease { // a token is named after the lease of the client that sends it first
		n.say(step, b, []int{a}, "%s set the key with the token of %s.", n.event(b).By, mine)
		return
	}
	request, sent := n.values(i)
	first, marked := n.values(a)
	second, others := n.values(b)
	if slices.Contains(others, mine) {
		return // a random token, which no other client has
	}
	if l := n.f.Lease(mine); l != nil && own.Fence != 0 && own.Fence == l.Fence { // a script drew it
		n.say(step, b, []int{a, own.ReturnEvent, l.ReturnEvent}, "%s had the same token as %s: %d.", mine, other, own.Fence)
		n.lostCounters(own, l)
		return
	}
	for _, token := range sent {
		if d, err := time.ParseDuration(token + "ms"); err == nil && d == n.f.Meta.TTL {
			continue
		}
		if slices.Contains(marked, token) && slices.Contains(others, token) {
			n.say(step, b, []int{a, first, second, request}, "%s had the same token as %s: %s.", mine, other, token)
			return
		}
	}
}

// comparesNothing reports whether change i was made by a script that was not sent the random token that the key had been given by event set.
func (n *narrator) comparesNothing(i, set int) bool {
	request, sent := n.values(i)
	_, marks := n.values(set)
	token := n.event(set).Lease // a random token is named after its lease
	return strings.HasPrefix(n.event(request).Word, "EVAL") && slices.Contains(marks, token) && !slices.Contains(sent, token)
}

// values returns the request that caused change i, and what its command on that key passes to be its value, or to be compared with it: the
// argument after the key or, if it is a script, those after the keys.
func (n *narrator) values(i int) (request int, values []string) {
	request, _ = n.command(i)
	for c := range strings.SplitSeq(n.event(request).Value, "; ") {
		args := strings.Fields(c)
		at := slices.Index(args, n.event(i).Key)
		switch {
		case at < 1 || at+1 == len(args):
		case strings.HasPrefix(args[0], "EVAL"):
			if keys, err := strconv.Atoi(args[2]); err == nil && at < 3+keys && 3+keys < len(args) {
				return request, args[3+keys:]
			}
		default:
			return request, args[at+1 : at+2]
		}
	}
	return request, nil
}
