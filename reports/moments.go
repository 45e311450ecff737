package reports

import (
	"fmt"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// A Moment is a line of a timeline.
type Moment struct {
	At    time.Duration
	Who   string
	Text  string
	Proof bool // it proves a violation
	Fault bool
}

// String says what happened, and to whom if the text of a fault does not say so.
func (m Moment) String() string {
	if m.Fault {
		return m.Text
	}
	return m.Who + " " + m.Text
}

// Moments lists the lines of the timeline that [Text] writes.
func Moments(f *facts.Facts, r checker.Result) []Moment {
	t := timeline(f, r)
	var all []Moment
	for i := range t.Lines {
		l := &t.Lines[i]
		l.nameNodes(t.all)
		all = append(all, l.moment())
	}
	return all
}

// timeline returns a transcript with the lines that [Text] writes if it is not verbose.
func timeline(f *facts.Facts, r checker.Result) *transcript {
	t := NewTranscript(f, r, TextOptions{})
	for i := range f.Events {
		t.Event(i)
	}
	t.foldInvocations()
	t.foldRounds()
	return t
}

func (l *line) moment() Moment {
	m := Moment{At: l.event.At, Who: l.Who, Proof: l.Proof, Fault: l.event.Kind == history.Injected}
	if !m.Fault {
		m.Text = l.Kind + " "
	}
	m.Text = strings.TrimSpace(m.Text + l.Op + " " + l.Detail)
	return m
}

// Told describes a single event in the words of the timeline, which may not show it, or of a message.
func Told(f *facts.Facts, i int) string {
	switch e := &f.Events[i]; {
	case e.Kind == history.Message && e.Op == history.Drop:
		return fmt.Sprintf("%s from %s to %s is lost", Message(*e), e.By, e.Process)
	case e.Kind == history.Message:
		return fmt.Sprintf("%s receives %s from %s", e.Process, Message(*e), e.By)
	case e.Kind == history.Injected:
		return e.Value
	}
	t := NewTranscript(f, checker.Result{}, TextOptions{Verbose: true})
	t.Event(i)
	if len(t.Lines) == 0 {
		return ""
	}
	l := &t.Lines[0]
	l.nameNodes(t.all)
	return strings.TrimSpace(strings.Join([]string{l.Who, l.Kind, l.Op, l.Detail}, " "))
}

// Sent describes the departure of a message, by the event of its arrival.
func Sent(e history.Event) string {
	return fmt.Sprintf("%s sends %s to %s", e.By, Message(e), e.Process)
}

// Message quotes the beginning of a request, and names a reply after its request.
func Message(e history.Event) string {
	const most = 40
	if e.Word != "" && !strings.HasPrefix(e.Value, e.Word) {
		return "the reply to " + Printable(e.Word, most)
	}
	return Printable(e.Value, most)
}
