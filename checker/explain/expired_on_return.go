package explain

import (
	"strings"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

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
	used := n.after(i, func(o history.Event) bool { return o.Op == history.Accept && o.Lease == l.Label })
	n.say(background, used, nil, "%s relied on it: the resource accepted %s under %s at %s.", l.Client, n.event(used).Value, l.Label, n.time(used))
}
