package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// tellOnce reports whether fault i has not been told yet, and marks it as told.
func (n *narrator) tellOnce(i int) bool {
	if i < 0 || n.told[i] {
		return false
	}
	n.told[i] = true
	return true
}

// fault tells of event i if it is a fault that was not told yet.
func (n *narrator) fault(w weight, i int) {
	e := n.event(i)
	if e.Kind != history.Injected || e.Op == history.Missed || !n.tellOnce(i) {
		return
	}
	if e.Op == "pause" {
		n.pause(w, i)
		return
	}
	switch f := e.Fault().(type) {
	case history.Crash, history.Stop:
		if back := n.undone(i); back >= 0 {
			n.say(w, i, []int{back}, "%s and came back at %s.", n.deed(i), n.time(back))
		} else {
			n.say(w, i, nil, "%s.", n.deed(i))
		}
	case history.Cut, history.Hold, history.Delay:
		n.link(w, i, f)
	case history.Drift:
		n.drifted(w, i, f)
	default:
		n.say(w, i, nil, "%s.", n.deed(i))
	}
}

// sign tells of event i if it shows how the environment broke an assumption: if it is a fault or a late message.
func (n *narrator) sign(i int) {
	switch {
	case n.event(i).Kind == history.Message:
		n.late(i)
	case n.v.Assumption == checker.None:
		n.fault(detail, i)
	default:
		n.fault(step, i)
	}
}

// the returns the name of a process for use in a sentence.
func the(process string) string {
	if process == history.ResourceName {
		return "the resource"
	}
	return process
}

// Faults says in sentences what some faults did, to a reader who does not know yet when they will end.
func Faults(f *facts.Facts, faults ...int) []string {
	blind := *f
	blind.Undone = nil
	n := &narrator{f: &blind, told: map[int]bool{}}
	for _, i := range faults {
		n.fault(step, i)
	}
	var all []string
	for _, s := range n.story {
		all = append(all, s.Text)
	}
	return all
}

// deed says what a fault did, without a full stop.
func (n *narrator) deed(i int) string {
	e := n.event(i)
	at, process := " at "+history.Seconds(e.At), the(e.Process)
	switch f := e.Fault().(type) {
	case history.Crash:
		if f.Power {
			return "The machine of " + process + " lost power" + at
		}
		return process + " crashed" + at
	case history.Stop:
		return process + " was stopped" + at
	case history.Restart:
		if f.Empty {
			return process + " came back" + at + " with an empty disk"
		}
		return process + " came back" + at
	case history.Resume:
		return process + " resumed" + at
	case history.Jump:
		return fmt.Sprintf("The wall clock of %s jumped %s%s", process, course(f.By), at)
	case history.Drift:
		return drift{history.Seconds(e.At), f.PPM, []string{process}}.text()
	case history.Slew:
		return fmt.Sprintf("From %s on the wall clock of %s was slewed %s, over %s", history.Seconds(e.At), process, course(f.By), history.FormatDuration(f.Over))
	case history.Promote:
		return "Clients were sent to " + process + " from " + history.Seconds(e.At) + " on"
	case history.Follow:
		return process + " became a replica of " + f.Primary + at
	case history.Reset:
		return fmt.Sprintf("The connections of %s and %s broke%s", f.Link.From, f.Link.To, at)
	case history.Chosen:
		what := "request"
		if f.Reply {
			what = "reply"
		}
		fate := map[history.Action]string{history.HoldMessage: "held back", history.ResetMessage: "lost", history.DelayMessage: "delayed by " + history.FormatDuration(f.By)}
		return fmt.Sprintf("From %s on the next %s %s from %s to %s was to be %s", history.Seconds(e.At), f.What, what, f.Link.From, f.Link.To, fate[f.Action])
	}
	if e.Op == "crash" {
		return process + " crashed" + at
	}
	if e.Op == "drift" {
		return fmt.Sprintf("From %s on, the clocks of %s were off by %+d ppm", history.Seconds(e.At), process, e.PPM)
	}
	return fmt.Sprintf("%s was hit by the fault %q%s", process, e.Op, at)
}

// A drift is what happened to the clocks of some processes at the same time.
type drift struct {
	at        string
	ppm       int64
	processes []string
}

func (d drift) text() string {
	rate := "ran at the right rate"
	switch {
	case d.ppm > 0:
		rate = fmt.Sprintf("ran fast by %d ppm", d.ppm)
	case d.ppm < 0:
		rate = fmt.Sprintf("ran slow by %d ppm", -d.ppm)
	}
	return fmt.Sprintf("From %s on, the clocks of %s %s", d.at, strings.Join(d.processes, " "), rate)
}

// drifted tells of a drift, together with those of other processes at the same time and of the same size.
func (n *narrator) drifted(w weight, i int, f history.Drift) {
	d := &drift{n.time(i), f.PPM, []string{the(n.event(i).Process)}}
	for k := range n.story {
		if s := &n.story[k]; s.drift != nil && s.drift.at == d.at && s.drift.ppm == d.ppm {
			s.drift.processes = append(s.drift.processes, d.processes...)
			slices.Sort(s.drift.processes)
			s.Text, s.weight = s.drift.text()+".", max(s.weight, w)
			s.Events = append(s.Events[:1:1], sorted(append(s.Events[1:], i)...)...)
			return
		}
	}
	n.say(w, i, nil, "%s.", d.text())
	if last := len(n.story) - 1; n.story[last].Text == d.text()+"." {
		n.story[last].drift = d
	}
}

func course(d time.Duration) string {
	if d < 0 {
		return "back by " + history.FormatDuration(-d)
	}
	return "forward by " + history.FormatDuration(d)
}

// undone returns the event that ended fault i, or -1.
func (n *narrator) undone(i int) int { return event(n.f.Undone, i) }

// pause tells of pause i.
func (n *narrator) pause(w weight, i int) {
	n.tellOnce(i)
	process := the(n.event(i).Process)
	back := n.undone(i)
	if back < 0 {
		n.paused = append(n.paused, facts.Span{From: i, To: len(n.f.Events)})
		n.say(w, i, nil, "From %s on %s was paused.", n.time(i), process)
		return
	}
	n.paused = append(n.paused, facts.Span{From: i, To: back})
	n.tellOnce(back)
	n.say(w, i, []int{back}, "From %s to %s %s was paused.", n.time(i), n.time(back), process)
}

// pauses tells of the long pauses of a process that overlap the time between two events.
func (n *narrator) pauses(process string, from, to int) {
	for _, p := range n.f.Pauses[process] {
		ended := p.To < len(n.f.Events)
		if p.From >= to || n.told[p.From] || ended && (p.To < from || !n.long(n.f.At(p.To)-n.f.At(p.From))) {
			continue
		}
		n.pause(step, p.From)
		n.cause = append(n.cause, p.From)
	}
}

// clockFaultsOf tells which fault made the clocks of a process run wrong between two events: the last in that time, or a drift from
// before. If all is set, the whole error counts and not only its change in that time, so that every fault from before counts too.
func (n *narrator) clockFaultsOf(process string, from, to int, all bool) {
	fault := -1
	for _, i := range n.f.ClockFaults[process] {
		switch e := n.event(i); {
		case i >= to:
		case e.Op == "drift" && e.PPM == 0 && i < from && !all:
			fault = -1
		case e.Op == "drift", all, i > from:
			fault = i
		}
	}
	if fault >= 0 {
		n.fault(step, fault)
		n.cause = append(n.cause, fault)
	}
}

// clientClocks tells of the clocks of two clients if a clock is to blame and no clock fault was told yet.
func (n *narrator) clientClocks(first, second *facts.Lease) {
	for i := range n.told {
		switch n.event(i).Op {
		case "jump", "drift", "slew":
			return
		}
	}
	if n.v.Assumption == checker.BoundedClockError {
		n.clockFaultsOf(first.Client, first.InvokeEvent, second.ReturnEvent, false)
		n.clockFaultsOf(second.Client, second.InvokeEvent, second.ReturnEvent, true)
	}
}

// linkFault returns the last fault that was in force between two processes right before event i, or -1.
func (n *narrator) linkFault(from, to string, i int) int {
	for _, j := range slices.Backward(n.f.Cuts) {
		if end := n.undone(j); j < i && n.between(j, from, to) && (end < 0 || end >= i) {
			return j
		}
	}
	return -1
}

// between reports whether a lasting fault is on the link of two processes, in whatever direction.
func (n *narrator) between(fault int, a, b string) bool {
	link, _ := facts.Lasting(n.event(fault))
	return link.Covers(a, b) || link.Covers(b, a)
}

// apart tells of the faults on the links between two processes that were in force at some time between two events. It returns them.
func (n *narrator) apart(a, b string, from, to int) []int {
	var faults []int
	for _, i := range n.f.Cuts {
		if end := n.undone(i); i < to && n.between(i, a, b) && (end < 0 || end > from) {
			n.fault(step, i)
			faults = append(faults, i)
		}
	}
	return faults
}

// overdue reports whether the message that caused e took long enough to be mentioned.
func (n *narrator) overdue(e history.Event) bool {
	d := e.At - e.Sent
	return e.Sent > 0 && (n.long(d) || n.v.Assumption == checker.BoundedDelay && n.f.OutOfReach(d))
}

// late tells of message i, which took long, and of what kept it.
func (n *narrator) late(i int) {
	e := n.event(i)
	told := slices.ContainsFunc(n.cause, func(j int) bool {
		o := n.event(j)
		return o.Process == e.Process && o.By == e.By && o.At == e.At && o.Sent == e.Sent
	})
	if told {
		return
	}
	became := "arrived only"
	if e.Op == history.Drop {
		became = "was lost"
	}
	n.say(step, i, nil, "A message that %s had sent to %s at %s %s at %s.", the(e.By), the(e.Process), history.Seconds(e.Sent), became, history.Seconds(e.At))
	n.cause = append(n.cause, i)
	n.kept(e.By, e.Process, e.Sent, i)
}

// kept tells which faults kept a message from one process to another that left at the instant sent and arrived with event i.
func (n *narrator) kept(from, to string, sent time.Duration, i int) {
	left := n.before(i+1, func(o history.Event) bool { return o.At <= sent })
	n.fault(step, n.linkFault(from, to, left+1))
	n.fault(step, n.before(left+1, func(o history.Event) bool {
		f, ok := o.Fault().(history.Chosen)
		return ok && f.Link.Covers(from, to)
	}))
	for _, p := range n.f.Pauses[to] {
		if p.From < i && p.To > left {
			n.fault(step, p.From)
		}
	}
}

// links reports whether event i is a lasting fault on a link of a process.
func (n *narrator) links(i int, process string) bool {
	link, ok := facts.Lasting(n.event(i))
	return ok && (link.From == process || link.To == process)
}

// stands reports whether event i is a fault that stops a process or a link and is still in force at a later event.
func (n *narrator) stands(i, at int) bool {
	e := n.event(i)
	_, lasts := facts.Lasting(e)
	if lasts = lasts || e.Kind == history.Injected && (e.Op == "crash" || e.Op == "stop" || e.Op == "pause"); !lasts || i >= at {
		return false
	}
	end := n.undone(i)
	return end < 0 || end > at
}

// link tells of a fault on a link.
func (n *narrator) link(w weight, i int, f history.Fault) {
	link, _ := facts.Lasting(n.event(i))
	span, others := "From "+n.time(i)+" on", []int(nil)
	if end := n.undone(i); end >= 0 {
		span, others = "From "+n.time(i)+" to "+n.time(end), []int{end}
	}
	verb := "did not get through"
	if d, ok := f.(history.Delay); ok {
		if d.By == 0 {
			return
		}
		verb = "took " + history.FormatDuration(d.By) + " longer"
	}
	r := &route{span, verb, []history.Link{link}}
	for k := range n.story {
		if s := &n.story[k]; s.route != nil && s.route.join(r) {
			s.Text, s.weight = s.route.text(), max(s.weight, w)
			s.Events = append(s.Events[:1:1], sorted(append(append(others, i), s.Events[1:]...)...)...)
			return
		}
	}
	n.say(w, i, others, "%s", r.text())
	if last := len(n.story) - 1; n.story[last].Text == r.text() {
		n.story[last].route = r
	}
}

// A route is what happened to the messages on some links at the same time.
type route struct {
	span, verb string
	links      []history.Link
}

// join adds the links of another route if the same happened to them. It reports whether it did.
func (r *route) join(o *route) bool {
	if r.span != o.span || r.verb != o.verb || r.links[0].Both != o.links[0].Both {
		return false
	}
	for _, l := range o.links {
		if !slices.Contains(r.links, l) {
			r.links = append(r.links, l)
		}
	}
	return true
}

func (r *route) text() string {
	return fmt.Sprintf("%s messages %s %s.", r.span, r.way(), r.verb)
}

// way names the links, together if they share an end: between n1 and r1 r2.
func (r *route) way() string {
	first := r.links[0]
	near, joint := "from ", " to "
	if first.Both {
		near, joint = "between ", " and "
	}
	var from, to, each []string
	for _, l := range r.links {
		each = append(each, near+l.From+joint+l.To)
		if !slices.Contains(from, l.From) {
			from = append(from, l.From)
		}
		if !slices.Contains(to, l.To) {
			to = append(to, l.To)
		}
	}
	if len(from)*len(to) == len(each) {
		return near + strings.Join(from, " ") + joint + strings.Join(to, " ")
	}
	return history.List(each)
}
