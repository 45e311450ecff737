package reports

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"lockstep/checker"
	"lockstep/sim/history"
)

// A Role is why a piece of a text timeline stands out.
type Role int

// The roles that a [TextOptions.Paint] may colour.
const (
	Violating Role = iota // an event that proves a violation, or a property that is violated
	Holding               // a property that holds, and the verdict SAFE
	Doubtful              // an assumption that is not met, and the verdict UNKNOWN
	Faulty                // a fault
	Aside                 // detail: messages and bites
)

// TextOptions says what a text timeline shows. The zero value gives the golden text of scenario files.
type TextOptions struct {
	Verbose  bool // also bites, waits and exits
	Messages bool // also messages
	// Measurements come after the verdict.
	Measurements []checker.Measurement
	// Unexplained leaves out why the violations came about.
	Unexplained bool
	// Paint colours a piece of text; nil leaves it plain. It must not change what is read.
	Paint func(Role, string) string
}

// Width is the number of columns that no line of a text timeline exceeds.
const Width = 100

// Text writes a history as a timeline, one line per event, then the verdict with what proves it, what was measured, and why the first
// violation of each property came about. An exclamation mark in the first column marks what proves a violation. Three things
// are folded, since they would fill pages: what several nodes did at once for one client, the attempts of a client that is
// refused again and again, and what a client does many times over, but for the first and the last.
func Text(w io.Writer, h *history.History, r checker.Result, o TextOptions) error {
	paint := o.Paint
	if paint == nil {
		paint = func(_ Role, s string) string { return s }
	}
	bw := bufio.NewWriter(w)
	t := newTranscript(h, r, o)
	for i := range h.Events {
		t.event(i)
	}
	t.write(bw, paint)
	writeVerdict(bw, r, paint)
	writeMeasurements(bw, o.Measurements, paint)
	if !o.Unexplained {
		writeExplanations(bw, h, r)
	}
	return bw.Flush()
}

// A transcript turns events into lines.
type transcript struct {
	h      *history.History
	o      TextOptions
	proof  []int // the events that prove violations, ascending
	grants []int // the events that granted a lease, ascending
	all    []string
	folds  []deed
	lines  []line
}

// A line is one event, or one that happened on several nodes.
type line struct {
	event  *history.Event
	who    string
	nodes  []string // where it happened, if on nodes
	kind   string
	op     string
	detail string
	grant  string // the node whose key made a quorum
	proof  bool
}

func newTranscript(h *history.History, r checker.Result, o TextOptions) *transcript {
	t := &transcript{h: h, o: o, grants: grantEvents(checker.Leases(h)), all: servers(h.Meta)}
	for _, v := range r.Violations {
		t.proof = append(t.proof, v.Events...)
	}
	slices.Sort(t.proof)
	if !o.Verbose {
		t.folds = slices.DeleteFunc(deeds(h), func(d deed) bool { return !d.folded() })
	}
	return t
}

// event adds the line of event i, if it has one.
func (t *transcript) event(i int) {
	e := &t.h.Events[i]
	_, proof := slices.BinarySearch(t.proof, i)
	l := line{event: e, who: e.Process, kind: string(e.Kind), op: e.Op, proof: proof}
	if n := slices.IndexFunc(t.folds, func(d deed) bool { return d.covers(i, e) }); n >= 0 && !proof {
		d := &t.folds[n]
		if i != d.out {
			return
		}
		l.op, l.detail = fmt.Sprintf("%s ×%d", operation(e), d.times), d.summary()
		t.lines = append(t.lines, l)
		return
	}
	switch e.Kind {
	case history.Invoke, history.OK, history.Fail, history.Info:
		if !t.o.Verbose && (e.Op == history.Wait || e.Op == history.Exit || e.Op == history.Unpaused) {
			return
		}
		l.op, l.detail = operation(e), outcome(e)
	case history.Injected:
		l.who, l.op, l.detail = actor(e), e.Value, firstLine(e.Error)
		if e.Op == history.Missed {
			l.kind, l.detail = e.Op, "never injected"
		}
	case history.Bite:
		if !t.o.Verbose {
			return
		}
		l.who, l.op, l.detail = actor(e), fmt.Sprintf("fault %d", e.ID), e.Value
	case history.State:
		t.state(l, i)
		return
	case history.Message:
		if !t.o.Messages {
			return
		}
		l.kind, l.op, l.detail = e.Op, "from "+e.By, e.Value
		if e.Op == history.Deliver {
			l.kind = "recv"
		}
	}
	t.lines = append(t.lines, l)
}

// state adds the line of a change on a server, or puts it into the line before if that is the same on another node.
func (t *transcript) state(l line, i int) {
	e := l.event
	l.kind = e.Op
	l.op, l.detail = t.change(i)
	if slices.Contains(t.all, e.Process) {
		l.nodes = []string{e.Process}
	}
	if _, grant := slices.BinarySearch(t.grants, i); grant {
		l.grant = e.Process
	}
	if len(t.lines) > 0 {
		if p := &t.lines[len(t.lines)-1]; p.sameElsewhere(&l) {
			p.nodes, p.proof, p.grant = append(p.nodes, l.nodes...), p.proof || l.proof, p.grant+l.grant
			return
		}
	}
	t.lines = append(t.lines, l)
}

// atOnce is how far apart the events of one line may lie.
const atOnce = 10 * time.Millisecond

func (l *line) sameElsewhere(o *line) bool {
	return len(l.nodes) > 0 && len(o.nodes) == 1 && !slices.Contains(l.nodes, o.nodes[0]) &&
		l.kind == o.kind && l.op == o.op && l.detail == o.detail && o.event.At-l.event.At < atOnce
}

// write writes the lines in columns.
func (t *transcript) write(w io.Writer, paint func(Role, string) string) {
	timeWidth, whoWidth, kindWidth := len("  0.000s"), len("resource"), len("invoke")
	for i := range t.lines {
		l := &t.lines[i]
		if len(l.nodes) > 0 {
			l.who = ranges(l.nodes, t.all)
			if len(l.nodes) > 1 && l.grant != "" {
				l.detail += ", the grant on " + l.grant
			} else if l.grant != "" {
				l.detail += ", the grant"
			}
		}
		timeWidth = max(timeWidth, len(seconds(l.event.At)))
		whoWidth = max(whoWidth, min(utf8.RuneCountInString(l.who), 16))
		kindWidth = max(kindWidth, min(utf8.RuneCountInString(l.kind), 8))
	}
	for i := range t.lines {
		l := &t.lines[i]
		mark := " "
		if l.proof {
			mark = "!"
		}
		head := fmt.Sprintf("%s%*s  %-*s %-*s  ", mark, timeWidth, seconds(l.event.At), whoWidth, printable(l.who, whoWidth), kindWidth, printable(l.kind, kindWidth))
		op, detail := printable(l.op, Width-len(head)), printable(l.detail, Width)
		s := strings.TrimRight(fmt.Sprintf("%s%-14s  %s", head, op, detail), " ")
		indent := strings.Repeat(" ", utf8.RuneCountInString(head)+16)
		for rest := s; rest != ""; {
			s, rest = cutLine(rest, Width)
			fmt.Fprintln(w, painted(l, s, paint))
			if rest != "" {
				rest = indent + rest
			}
		}
	}
}

// painted paints a line as its event deserves.
func painted(l *line, s string, paint func(Role, string) string) string {
	switch {
	case l.proof:
		return paint(Violating, s)
	case l.event.Kind == history.Injected:
		return paint(Faulty, s)
	case l.event.Kind == history.Bite || l.event.Kind == history.Message:
		return paint(Aside, s)
	}
	return s
}
