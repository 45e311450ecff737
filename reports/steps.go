package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/checker"
	"lockstep/checker/explain"
	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// A Step is what happened in a run at one instant, or on several nodes at nearly the same one, for a picture that grows step by step.
type Step struct {
	At    time.Duration // when it was complete
	Text  string        // in one or more sentences
	Heavy bool          // if only some steps can be told, this is one of them
}

// Steps lists the lines of the timeline up to the end of the story, in sentences. What happens at one instant is one step. An
// acknowledgement is no step: its effect was one.
func Steps(f *facts.Facts, r checker.Result, end time.Duration) []Step {
	t := timeline(f, r)
	var all []Step
	for lines := t.Lines; len(lines) > 0; {
		n := together(lines)
		now := lines[:n]
		lines = lines[n:]
		if now[0].event.At > end {
			break
		}
		s := Step{At: min(now[n-1].until, end)}
		var texts []string
		for i := range now {
			if text := t.sentence(&now[i]); text != "" && now[i].event.Kind != history.Injected {
				texts = append(texts, text)
			}
			s.Heavy = s.Heavy || now[i].heavy()
		}
		texts = append(texts, t.faultsOf(now)...)
		if s.Text = strings.Join(texts, " "); s.Text != "" {
			all = append(all, s)
		}
	}
	return all
}

// together returns how many lines at the beginning belong to one step.
func together(lines []line) int {
	n := 1
	for n < len(lines) && lines[n].event.At <= lines[n-1].until {
		n++
	}
	return n
}

// heavy reports whether a story is hard to follow without l.
func (l *line) heavy() bool {
	switch e := l.event; e.Kind {
	case history.Injected:
		return true
	case history.OK, history.Info:
		return e.Op == history.Acquire || e.Op == history.Lost
	case history.State:
		switch e.Op {
		case history.Accept, history.Reject, history.Lose, history.Promoted:
			return true
		}
	}
	return false
}

// faultsOf tells of the faults among some lines of one instant. The sentences need no times.
func (t *transcript) faultsOf(lines []line) []string {
	var faults []int
	var ends []string
	at := ""
	for i := range lines {
		switch l := &lines[i]; {
		case l.event.Kind != history.Injected || l.event.Op == history.Missed:
		case l.event.Op == history.Heal{}.Verb() || l.event.Op == history.ReleaseLink{}.Verb():
			ends = append(ends, "Links work again: "+Printable(l.event.Value, 60)+".")
		default:
			faults, at = append(faults, l.index), history.Seconds(l.event.At)
		}
	}
	var texts []string
	for _, text := range explain.Faults(t.F, faults...) {
		text = strings.TrimPrefix(strings.ReplaceAll(text, " at "+at, ""), "From "+at+" on ")
		if rest, ok := strings.CutPrefix(text, "the "); ok {
			text = "The " + rest
		}
		texts = append(texts, Printable(text, 160))
	}
	return append(texts, ends...)
}

// sentence says what a line says, or nothing if that goes without saying.
func (t *transcript) sentence(l *line) string {
	e := l.event
	who := Printable(cmp.Or(Ranges(l.nodes, t.all), capital(l.Who)), 40)
	var text string
	switch e.Kind {
	case history.Invoke, history.OK, history.Fail, history.Info:
		text = operated(l, who)
		if text == "" {
			return ""
		}
	case history.State:
		text = t.changed(l, who)
	}
	if text == "" {
		l.nameNodes(t.all)
		text = capital(l.moment().String())
	} else if l.times > 1 {
		text += fmt.Sprintf(", %d times", l.times)
	}
	return Printable(text, 160) + "."
}

// operated says what a client did, or nothing if its effect has been told.
func operated(l *line, who string) string {
	e := l.event
	switch {
	case e.Op == history.Lost:
		return fmt.Sprintf("%s was told that %s is lost", who, e.Lease)
	case e.Op == history.Renew:
		return fmt.Sprintf("%s renewed %s", who, e.Lease)
	case e.Op == history.Acquire && e.Kind == history.Invoke:
		return who + " asked for the lock"
	case e.Op == history.Acquire && e.Kind == history.OK && e.Fence != 0:
		return fmt.Sprintf("%s acquired the lock: %s, fence %d", who, e.Lease, e.Fence)
	case e.Op == history.Acquire && e.Kind == history.OK:
		return fmt.Sprintf("%s acquired the lock: %s", who, e.Lease)
	case e.Op == history.Acquire && e.Kind == history.Fail:
		return who + " asked for the lock, and was refused"
	case e.Op == history.Acquire:
		return who + " asked for the lock, and got no answer"
	case e.Kind == history.Invoke:
		return fmt.Sprintf("%s began to %s", who, Operation(e))
	case e.Kind == history.Fail:
		return fmt.Sprintf("%s failed to %s: %s", who, Operation(e), FirstLine(e.Error))
	case e.Kind == history.Info:
		return fmt.Sprintf("%s got no answer to its %s", who, Operation(e))
	}
	return ""
}

// changed says what changed on a server, or nothing if there is no better sentence than the line itself.
func (t *transcript) changed(l *line, who string) string {
	e := l.event
	switch e.Op {
	case history.Set:
		switch {
		case e.Lease == "":
			return ""
		case slices.Contains(t.all, e.By):
			return fmt.Sprintf("%s got a copy of the key of %s", who, e.Lease)
		case l.Grant != "":
			return fmt.Sprintf("%s set the key of %s, which is granted", who, e.Lease)
		}
		return fmt.Sprintf("%s set the key of %s", who, e.Lease)
	case history.Over:
		if e.Lease != "" && e.Owner != "" {
			return fmt.Sprintf("%s overwrote the key of %s for %s", who, e.Owner, e.Lease)
		}
	case history.Retime:
		return fmt.Sprintf("%s extended the key of %s", who, e.Owner)
	case history.Delete:
		if e.By != "" && e.By != history.Client(e.Owner) && !slices.Contains(t.all, e.By) {
			return fmt.Sprintf("%s deleted the key of %s, for %s", who, e.Owner, e.By)
		}
		return fmt.Sprintf("%s deleted the key of %s", who, e.Owner)
	case history.Expire:
		return fmt.Sprintf("The key of %s expired on %s", e.Owner, who)
	case history.Lose:
		return fmt.Sprintf("%s lost the key of %s", who, e.Owner)
	case history.Accept:
		return fmt.Sprintf("%s accepted %s from %s", who, e.Value, e.By)
	case history.Reject:
		reason := ""
		if seen := FenceSeen(t.F.History, l.index); e.Fence != 0 && seen > 0 {
			reason = fmt.Sprintf(": fence %d < %d", e.Fence, seen)
		}
		return fmt.Sprintf("%s rejected %s from %s%s", who, e.Value, e.By, reason)
	case history.Promoted:
		return who + " became a primary"
	}
	return ""
}

// capital makes a sentence begin with "The resource"; the names of other processes have no article.
func capital(s string) string {
	if rest, ok := strings.CutPrefix(s, history.ResourceName); ok {
		return "The resource" + rest
	}
	return s
}
