package explorer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/reports"
	"lockstep/sim/history"
)

// tellFaults puts faults where they act: a shade on a process that stands still, a mark on a process whose clock is set, and faults of
// links on a lane of their own.
func (t *teller) tellFaults() {
	for i := range t.f.Events {
		e := &t.f.Events[i]
		if e.Kind != history.Injected || e.Op == history.Missed || e.At > t.s.End {
			continue
		}
		words := strings.Fields(e.Value)
		switch f := e.Fault().(type) {
		case history.Pause:
			to := t.ended(i)
			if f.For > 0 {
				to = min(to, e.At+f.For)
			}
			t.shade(f.Process, shade{e.At, to, "paused " + reports.Span(to-e.At)})
		case history.Crash:
			text := "crashed"
			if f.Power {
				text = "lost power"
			}
			t.shade(f.Process, shade{e.At, t.ended(i), text})
		case history.Stop:
			t.shade(f.Process, shade{e.At, t.ended(i), "stopped"})
		case history.Promote:
			t.mark(f.Process, mark{At: e.At, Text: "clients are sent here", Weight: Usual, event: i})
		case history.Follow:
			t.mark(f.Process, mark{At: e.At, Text: "told to follow " + f.Primary, Weight: Usual, event: i})
		case history.Restart:
			text := "restarts"
			if f.Empty {
				text = "restarts empty"
			}
			t.mark(f.Process, mark{At: e.At, Text: text, Weight: Telling, event: i})
		case history.Jump:
			t.mark(f.Process, mark{At: e.At, Shape: Leapt, Text: "clock " + words[2], Weight: Telling, event: i})
		case history.Drift:
			t.mark(f.Process, mark{At: e.At, Shape: Leapt, Text: "clock drifts " + words[2], Weight: Telling, event: i})
		case history.Slew:
			t.mark(f.Process, mark{At: e.At, Shape: Leapt, Text: "clock slewed " + strings.Join(words[2:], " "), Weight: Telling, event: i})
		case history.Reset, history.Chosen:
			t.mark("network", mark{At: e.At, Text: e.Value, Weight: Telling, event: i})
		case history.Resume, history.Cut, history.Heal, history.Hold, history.ReleaseLink, history.Delay:
			// A resume ends a shade. tellLinks draws the others.
		default: // a fault that is new, or that cannot be parsed
			t.mark(t.laneOf(e), mark{At: e.At, Text: e.Value, Weight: Telling, event: i})
		}
	}
	t.tellLinks()
}

// laneOf returns the lane that shows a fault: that of the process it names, or that of the network.
func (t *teller) laneOf(e *history.Event) string {
	if t.lane(e.Process) != nil {
		return e.Process
	}
	return "network"
}

// ended returns when fault i ended, or the end of the picture.
func (t *teller) ended(i int) time.Duration {
	if j, ended := t.f.Undone[i]; ended {
		return t.f.At(j)
	}
	return t.s.End
}

func (t *teller) shade(process string, s shade) {
	if l := t.lane(process); l != nil {
		s.To = min(s.To, t.s.End)
		l.Shades = append(l.Shades, s)
	}
}

// A trouble is a lasting fault of links that have one end in common. Links with the same fault over the same time are drawn as one.
type trouble struct {
	from, to  time.Duration
	near, far []string
	arrow     string
	verb      string
}

func (tr *trouble) text(nodes []string) string {
	return fmt.Sprintf("%s %s %s %s", reports.Together(tr.near, nodes), tr.arrow, reports.Together(tr.far, nodes), tr.verb)
}

// join adds the link of o to tr if it has the same fault at the same time, and shares an end with all links of tr.
func (tr *trouble) join(o trouble) bool {
	switch {
	case o.from != tr.from || o.to != tr.to || o.arrow != tr.arrow || o.verb != tr.verb:
		return false
	case slices.Equal(o.near, tr.near):
		tr.far = append(tr.far, o.far...)
		return true
	case slices.Equal(o.far, tr.far):
		tr.near = append(tr.near, o.near...)
		return true
	}
	return false
}

// tellLinks draws the lasting faults of links: cut, hold and delay. Without any fault the network has no lane.
func (t *teller) tellLinks() {
	var busy []time.Duration // the time until which each row of the lane is taken
	for _, tr := range t.troubles() {
		row := slices.IndexFunc(busy, func(until time.Duration) bool { return until < tr.from })
		if row < 0 {
			row = len(busy)
			busy = append(busy, 0)
		}
		busy[row] = tr.to
		t.bar("network", Bar{From: tr.from, To: tr.to, Style: Severed, Row: row, Text: tr.text(t.servers)})
	}
	if l := t.lane("network"); len(l.Bars) == 0 && len(l.Marks) == 0 {
		t.s.Lanes = slices.DeleteFunc(t.s.Lanes, func(l Lane) bool { return l.Kind == NetworkLane })
	}
}

func (t *teller) troubles() []trouble {
	var all []trouble
	for _, i := range t.f.Cuts {
		e := &t.f.Events[i]
		if e.At > t.s.End {
			break
		}
		link, verb := lasting(e.Fault())
		tr := trouble{from: e.At, to: t.ended(i), near: []string{link.From}, far: []string{link.To}, arrow: "→", verb: verb}
		if link.Both {
			tr.arrow = "↔"
		}
		if !joinAny(all, tr) {
			all = append(all, tr)
		}
	}
	return all
}

// joinAny joins tr to the first trouble that it fits.
func joinAny(all []trouble, tr trouble) bool {
	for i := range all {
		if all[i].join(tr) {
			return true
		}
	}
	return false
}

// lasting returns the link of a lasting fault, and what the fault does there.
func lasting(f history.Fault) (history.Link, string) {
	switch f := f.(type) {
	case history.Cut:
		return f.Link, "cut"
	case history.Hold:
		return f.Link, "held"
	case history.Delay:
		return f.Link, "delayed " + reports.Span(f.By)
	}
	return history.Link{}, ""
}
