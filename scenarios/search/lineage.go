package search

import (
	"slices"
	"time"

	"lockstep/checker/facts"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// A lineage is what the outcome of an operation depended on: the messages, the state of servers and the clocks without which it might
// have been another. Perturbing something else is wasted on this outcome. The idea is that of Alvaro, Rosen, Hellerstein,
// "Lineage-driven Fault Injection" (SIGMOD 2015), who derive it from a program in Datalog. Here it is read off a history, and so
// it is an approximation: an outcome depends on all replies that the client got before it, and a reply on what was last done to each
// key that its request may name.
type lineage struct {
	moments  map[string][]time.Duration // by process, when something that the outcome depends on happened there, or was sent from there
	messages map[sending]bool
	sent     map[string][]time.Duration // by link, in both directions: when messages were
}

type sending struct {
	from, to string
	sent     time.Duration
}

// An outcome identifies the outcome of an operation in the runs of a walk: perturbations change when it comes, and whether it is
// the same.
type outcome struct {
	process string
	id      int
	op      string
	kind    history.Kind
}

func outcomeOf(e history.Event) outcome { return outcome{e.Process, e.ID, e.Op, e.Kind} }

// outcomes lists the outcomes of a run that depend on others, before everything healed, by sort: grants, refusals, releases and so on.
func outcomes(f *facts.Facts) (sorts [][]int) {
	order := map[string]int{}
	for i := range f.Events {
		e := &f.Events[i]
		if e.Process == f.Meta.Probe {
			break
		}
		_, invoked := f.Invocation[i]
		if !invoked || e.Op == history.Check || e.Op == history.Wait {
			continue
		}
		sort := e.Op + " " + string(e.Kind)
		if _, known := order[sort]; !known {
			order[sort] = len(sorts)
			sorts = append(sorts, nil)
		}
		sorts[order[sort]] = append(sorts[order[sort]], i)
	}
	return sorts
}

// lineageOf returns the lineage of outcome i.
func lineageOf(f *facts.Facts, i int) *lineage {
	t := &tracer{
		Facts:   f,
		lineage: &lineage{moments: map[string][]time.Duration{}, messages: map[sending]bool{}, sent: map[string][]time.Duration{}},
		arrived: map[history.Link][]int{}, changes: map[string][]int{}, seen: map[int]bool{},
	}
	for j := range f.Events[:i+1] {
		switch e := &f.Events[j]; {
		case e.Kind == history.Message && e.Op == history.Deliver && e.Word != "" && e.Word != handshake:
			link := history.Link{From: e.By, To: e.Process}
			t.arrived[link] = append(t.arrived[link], j)
		case e.Kind == history.State && e.Key != "":
			t.changes[e.Process] = append(t.changes[e.Process], j)
		}
	}
	t.operation(i)
	return t.lineage
}

// A tracer goes back from an outcome. Its functions take events that the outcome depends on.
type tracer struct {
	*facts.Facts
	*lineage
	arrived map[history.Link][]int // messages
	changes map[string][]int       // of keys, by server
	seen    map[int]bool
}

// point notes an event. It reports whether that is new.
func (t *tracer) point(i int) bool {
	if t.seen[i] {
		return false
	}
	t.seen[i] = true
	e := &t.Events[i]
	t.moments[e.Process] = append(t.moments[e.Process], e.At)
	return true
}

// operation takes an outcome: it depends on the replies that the client had by then, and on the lease.
func (t *tracer) operation(i int) {
	if !t.point(i) {
		return
	}
	e := &t.Events[i]
	invoked := t.Invocation[i]
	t.point(invoked)
	for link, messages := range t.arrived {
		if link.To != e.Process {
			continue
		}
		for _, j := range messages {
			if invoked < j && j < i {
				t.reply(j)
			}
		}
	}
	if l := t.Lease(e.Lease); l != nil && l.ReturnEvent < i {
		t.operation(l.ReturnEvent)
	}
}

// reply takes a message to a client: it depends on the request, and on the keys that the server had.
func (t *tracer) reply(i int) {
	t.message(i)
	e := &t.Events[i]
	requests := t.arrived[history.Link{From: e.Process, To: e.By}]
	for _, j := range slices.Backward(requests) {
		if r := &t.Events[j]; r.At <= e.Sent && r.Word == e.Word {
			t.request(j)
			return
		}
	}
}

// request takes a message to a server: what it did there depends on what was last done to each key that it may name.
func (t *tracer) request(i int) {
	if !t.message(i) {
		return
	}
	e := &t.Events[i]
	sent := facts.Before(t.Invokes[e.By], i)
	for ; sent >= 0 && t.At(sent) > e.Sent; sent = facts.Before(t.Invokes[e.By], sent) {
	}
	if sent >= 0 { // the operation that sent it
		t.point(sent)
	}
	known := map[string]bool{}
	var keys []string
	for _, j := range t.changes[e.Process] {
		if key := t.Events[j].Key; !known[key] {
			known[key] = true
			keys = append(keys, key)
		}
	}
	done := map[string]bool{}
	for _, j := range slices.Backward(t.changes[e.Process]) {
		if key := t.Events[j].Key; j < i && !done[key] && shareKey(e.Value, key, keys) {
			done[key] = true
			t.change(j)
		}
	}
}

// change takes a change of a key: it depends on the request that caused it, or on what had given the key its deadline.
func (t *tracer) change(i int) {
	if !t.point(i) {
		return
	}
	e := &t.Events[i]
	if e.By == "" {
		for _, j := range slices.Backward(t.changes[e.Process]) {
			if c := &t.Events[j]; j < i && c.Key == e.Key && (c.Op == history.Set || c.Op == history.Over || c.Op == history.Retime) {
				t.change(j)
				return
			}
		}
		return
	}
	for _, j := range slices.Backward(t.arrived[history.Link{From: e.By, To: e.Process}]) {
		if j < i && t.Events[j].At == e.At {
			t.request(j)
			return
		}
	}
}

// message notes a message. It reports whether that is new.
func (t *tracer) message(i int) bool {
	if !t.point(i) {
		return false
	}
	e := &t.Events[i]
	t.moments[e.By] = append(t.moments[e.By], e.Sent)
	for _, link := range []string{e.By + "-" + e.Process, e.Process + "-" + e.By} {
		t.sent[link] = append(t.sent[link], e.Sent)
	}
	t.messages[sending{e.By, e.Process, e.Sent}] = true
	return true
}

// touches reports whether a perturbation is of something in the lineage: of one of its messages, or of a process or a link where it
// has something while the fault lasts.
func (l *lineage) touches(p Perturbation) bool {
	return slices.ContainsFunc(p.Steps, func(step script.Step) bool {
		until := p.lasts()
		switch f := p.fault(step).(type) {
		case nil, history.Restart, history.Heal:
			return false
		case history.Chosen:
			return l.messages[sending{f.Link.From, f.Link.To, p.At}]
		case history.Delay:
			return within(l.sent[f.Link.From+"-"+f.Link.To], p.At, until)
		case history.Cut:
			return within(l.sent[f.Link.From+"-"+f.Link.To], p.At, until)
		case history.Promote:
			return within(l.moments["n1"], p.At, until)
		default:
			return within(l.moments[f.Target()], p.At, until)
		}
	})
}

// lasts returns when the faults of a perturbation are over.
func (p Perturbation) lasts() time.Duration {
	until := history.NoEnd
	for _, step := range p.Steps {
		switch s := step.(type) {
		case script.When:
			if s.After > 0 {
				until = p.At + s.After
			}
		case script.At:
			until = s.Time
		}
		if pause, ok := p.fault(step).(history.Pause); ok {
			until = p.At + pause.For
		}
	}
	return until
}

// within reports whether any of some instants is between two others.
func within(instants []time.Duration, from, to time.Duration) bool {
	return slices.ContainsFunc(instants, func(at time.Duration) bool { return from <= at && at <= to })
}
