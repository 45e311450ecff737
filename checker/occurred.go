package checker

import (
	"slices"
	"strings"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// ends reports whether e is an outcome of an Acquire of the client.
func (m Must) ends(e history.Event, kind history.Kind) bool {
	return e.Process == m.client && e.Kind == kind && e.Op == history.Acquire
}

// answered reports whether e is an outcome of an Acquire of the client other than unknown.
func (m Must) answered(e history.Event) bool { return m.ends(e, history.OK) || m.ends(e, history.Fail) }

// down reports whether all the nodes were crashed at event i.
func (m Must) down(ix *index, i int) bool {
	return m.all(func(node string) []facts.Span { return ix.Outages[node] }, i)
}

// all reports whether event i falls into one of the spans of each of the nodes.
func (m Must) all(of func(node string) []facts.Span, i int) bool {
	for node := range strings.FieldsSeq(m.nodes) {
		if !slices.ContainsFunc(of(node), func(s facts.Span) bool { return s.From < i && i < s.To }) {
			return false
		}
	}
	return true
}

// someKey reports whether has is true for some key of the client on the node.
func (m Must) someKey(ix *index, has func(facts.Life) bool) bool {
	return slices.ContainsFunc(ix.Lives, func(l facts.Life) bool {
		return l.Node == m.nodes && history.Client(l.Label) == m.client && has(l)
	})
}

// waits looks for an Acquire, with a known outcome, that is in progress while another client holds the same lock.
func (ix *index) waits(pair func(client, holder string) bool) bool {
	return ix.some(func(i int, e history.Event) bool {
		if e.Op != history.Acquire || e.Kind != history.OK && e.Kind != history.Fail {
			return false
		}
		invoke, ok := ix.Invocation[i]
		return ok && slices.ContainsFunc(ix.Holds, func(l facts.Lease) bool {
			return l.Lock == e.Lock && pair(e.Process, l.Client) && ix.At(invoke) < l.To && l.From < e.At
		})
	})
}

// arrives reports whether e is the arrival of a write, or of an update by a word, at the resource.
func arrives(e history.Event, value string) bool {
	return isArrival(e) && (e.Value == value || e.Word == value)
}

// isArrival reports whether e shows that a write arrived at the resource: accepted, refused, or stored as a version.
func isArrival(e history.Event) bool {
	return e.Kind == history.State && (e.Op == history.Accept || e.Op == history.Reject || e.Op == history.Keep)
}

// dropped reports whether e is the loss of a message in a reset of its connection.
func dropped(e history.Event, from, to string) bool {
	return e.Op == history.Drop && e.By == from && e.Process == to
}

// travelled reports whether e is the arrival of a message, even if its receiver has given up the connection.
func travelled(e history.Event, from, to string) bool {
	return e.Kind == history.Message && e.Op != history.Drop && e.By == from && e.Process == to
}

// find returns the first event for which f is true, or -1.
func (ix *index) find(f func(history.Event) bool) int { return slices.IndexFunc(ix.Events, f) }

// some reports whether f is true for some event. It stops at the first.
func (ix *index) some(f func(int, history.Event) bool) bool {
	for i, e := range ix.Events {
		if f(i, e) {
			return true
		}
	}
	return false
}
