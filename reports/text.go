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
	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// A Role is the reason why a part of a text timeline is highlighted.
type Role int

// The roles that [TextOptions.Paint] may colour.
const (
	Violating Role = iota // an event that proves a violation, or a property that is violated
	Holding               // a property that holds, and the verdict SAFE
	Doubtful              // an assumption that is not met, and the verdict UNKNOWN
	Faulty                // a fault
	Aside                 // details: messages and bites
)

// TextOptions says what a text timeline shows. The zero value gives the golden text of scenario files.
type TextOptions struct {
	Verbose  bool // show bites, waits, exits, and what is folded
	Messages bool // show messages, and each event of the probe
	// Measurements come after the verdict.
	Measurements []checker.Measurement
	// Unexplained leaves out the explanations of violations.
	Unexplained bool
	// Paint colours a piece of text; nil leaves it plain. It must not change the visible text.
	Paint func(Role, string) string
}

// Width is the greatest number of columns of a line in a text timeline.
const Width = 100

// Text writes what happened as a timeline, one line per event. The verdict with the violations, the measurements, and an explanation of
// the first violation of each property follow. An exclamation mark in the first column marks an event that proves a violation.
//
// What a reader does not need is folded:
//   - what several nodes did at once for one client is one line;
//   - of repeated tries that are refused, only the last outcome is shown;
//   - of operations that a client repeats many times, and of repeated changes on servers, only the first and the last are shown;
//   - an invocation is left out if its outcome follows within 100 ms, with only its own changes in between;
//   - a probe that got the lock at once and released it is one line;
//   - the properties that are ok share a line.
//
// Faults, and the events that prove a violation, are never left out. With [TextOptions].Verbose only the first of these rules
// applies.
func Text(w io.Writer, f *facts.Facts, r checker.Result, o TextOptions) error {
	paint := o.Paint
	if paint == nil {
		paint = func(_ Role, s string) string { return s }
	}
	bw := bufio.NewWriter(w)
	t := NewTranscript(f, r, o)
	for i := range f.Events {
		t.Event(i)
	}
	if !o.Verbose {
		t.foldInvocations()
		t.foldRounds()
	}
	t.write(bw, paint)
	writeVerdict(bw, r, o.Verbose, paint)
	writeOrder(bw, f.Meta, paint)
	writeMeasurements(bw, o.Measurements, paint)
	if !o.Unexplained {
		writeExplanations(bw, f, r)
	}
	return bw.Flush()
}

// A transcript converts events into lines.
type transcript struct {
	F      *facts.Facts
	o      TextOptions
	proof  []int // the events that prove violations, ascending
	grants []int // the events that granted a lease, ascending
	// How a lease had ended, by the extension that revived it.
	revived map[int]string
	all     []string
	folds   []Deed
	// The first and the last event of a probe that is folded into one line; the second is -1 if none is.
	probed, probe int
	Lines         []line
}

// A line is one event, or the same event on several nodes.
type line struct {
	event  *history.Event
	index  int           // of the event
	until  time.Duration // when it happened on the last of the nodes
	times  int           // how many tries it stands for, if it stands for several
	Who    string
	nodes  []string // the nodes on which it happened
	Kind   string
	Op     string
	Detail string
	Grant  string // the node whose key completed the quorum
	Proof  bool
}

func NewTranscript(f *facts.Facts, r checker.Result, o TextOptions) *transcript {
	t := &transcript{F: f, o: o, grants: GrantEvents(f.Holds), revived: revivals(f.Holds), all: Servers(f.Meta)}
	for _, v := range r.Violations {
		t.proof = append(t.proof, v.Events...)
	}
	slices.Sort(t.proof)
	t.probe = -1
	if !o.Verbose {
		if !o.Messages {
			t.probed, t.probe = quietProbe(f.History, t.proof)
		}
		t.folds = slices.DeleteFunc(Deeds(f), func(d Deed) bool { return !d.Folded() })
	}
	return t
}

// Event adds the line of event i, if it has one.
func (t *transcript) Event(i int) {
	e := &t.F.Events[i]
	_, proof := slices.BinarySearch(t.proof, i)
	l := line{event: e, index: i, until: e.At, Who: e.Process, Kind: string(e.Kind), Op: e.Op, Proof: proof}
	if t.probe >= 0 && byProbe(t.F.History, e) {
		if i == t.probe {
			l.Op, l.Detail = "acquire, release", "since "+history.Seconds(t.F.Events[t.probed].At)
			t.Lines = append(t.Lines, l)
		}
		return
	}
	if n := slices.IndexFunc(t.folds, func(d Deed) bool { return d.Covers(i, e) }); n >= 0 && !proof {
		d := &t.folds[n]
		if i != d.Out {
			return
		}
		l.Op, l.Detail, l.times = fmt.Sprintf("%s ×%d", Operation(e), d.Times), d.Summary(), d.Times
		t.Lines = append(t.Lines, l)
		return
	}
	switch e.Kind {
	case history.Invoke, history.OK, history.Fail, history.Info:
		if !t.o.Verbose && (e.Op == history.Wait || e.Op == history.Exit || e.Op == history.Unpaused) {
			return
		}
		l.Op, l.Detail = Operation(e), outcome(e)+t.revived[i]
	case history.Injected:
		l.Who, l.Op, l.Detail = actor(e), e.Value, FirstLine(e.Error)
		if e.Op == history.Missed {
			l.Kind, l.Detail = e.Op, "never injected"
		}
	case history.Bite:
		if !t.o.Verbose {
			return
		}
		l.Who, l.Op, l.Detail = actor(e), fmt.Sprintf("fault %d", e.ID), e.Value
	case history.State:
		t.state(l, i)
		return
	case history.Message:
		if !t.o.Messages {
			return
		}
		l.Kind, l.Op, l.Detail = e.Op, "from "+e.By, e.Value
		if e.Op == history.Deliver {
			l.Kind = "recv"
		}
	}
	t.Lines = append(t.Lines, l)
}

// state adds the line of a change on a server, or merges it with the line before if that is the same change on another node.
func (t *transcript) state(l line, i int) {
	e := l.event
	l.Kind = e.Op
	if e.Op == history.Over {
		l.Kind = history.Set // the detail says whose key it was, if that matters
	}
	l.Op, l.Detail = t.change(i)
	if slices.Contains(t.all, e.Process) {
		l.nodes = []string{e.Process}
	}
	if _, grant := slices.BinarySearch(t.grants, i); grant {
		l.Grant = e.Process
	}
	if len(t.Lines) > 0 {
		if p := &t.Lines[len(t.Lines)-1]; p.sameElsewhere(&l) {
			p.nodes, p.Proof, p.Grant, p.until = append(p.nodes, l.nodes...), p.Proof || l.Proof, p.Grant+l.Grant, l.until
			return
		}
	}
	t.Lines = append(t.Lines, l)
}

// atOnce is the time within which events of several nodes share a line.
const atOnce = 10 * time.Millisecond

func (l *line) sameElsewhere(o *line) bool {
	return len(l.nodes) > 0 && len(o.nodes) == 1 && !slices.Contains(l.nodes, o.nodes[0]) &&
		l.Kind == o.Kind && l.Op == o.Op && l.Detail == o.Detail && o.event.At-l.event.At < atOnce
}

// nameNodes puts the nodes on which it happened into the line.
func (l *line) nameNodes(all []string) {
	if len(l.nodes) == 0 {
		return
	}
	l.Who = Ranges(l.nodes, all)
	if len(l.nodes) > 1 && l.Grant != "" {
		l.Detail += ", the grant on " + l.Grant
	} else if l.Grant != "" {
		l.Detail += ", the grant"
	}
}

// write writes the lines in columns.
func (t *transcript) write(w io.Writer, paint func(Role, string) string) {
	timeWidth, whoWidth, kindWidth := len("  0.000s"), len("resource"), len("invoke")
	for i := range t.Lines {
		l := &t.Lines[i]
		l.nameNodes(t.all)
		timeWidth = max(timeWidth, len(history.Seconds(l.event.At)))
		whoWidth = max(whoWidth, min(utf8.RuneCountInString(l.Who), 16))
		kindWidth = max(kindWidth, min(utf8.RuneCountInString(l.Kind), 8))
	}
	for i := range t.Lines {
		l := &t.Lines[i]
		mark := " "
		if l.Proof {
			mark = "!"
		}
		head := fmt.Sprintf("%s%*s  %-*s %-*s  ", mark, timeWidth, history.Seconds(l.event.At), whoWidth, Printable(l.Who, whoWidth), kindWidth, Printable(l.Kind, kindWidth))
		op, detail := Printable(l.Op, Width-len(head)), Printable(l.Detail, Width)
		s := strings.TrimRight(fmt.Sprintf("%s%-14s  %s", head, op, detail), " ")
		indent := strings.Repeat(" ", utf8.RuneCountInString(head)+16)
		for rest := s; rest != ""; {
			s, rest = CutLine(rest, Width)
			fmt.Fprintln(w, painted(l, s, paint))
			if rest != "" {
				rest = indent + rest
			}
		}
	}
}

// painted paints a line by the role of its event.
func painted(l *line, s string, paint func(Role, string) string) string {
	switch {
	case l.Proof:
		return paint(Violating, s)
	case l.event.Kind == history.Injected:
		return paint(Faulty, s)
	case l.event.Kind == history.Bite || l.event.Kind == history.Message:
		return paint(Aside, s)
	}
	return s
}
