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
	lines := t.Lines
	if n := slices.IndexFunc(lines, func(l line) bool { return l.event.At > end }); n >= 0 {
		lines = lines[:n]
	}
	for len(lines) > 0 && t.mends(&lines[len(lines)-1]) { // everything heals after the end
		lines = lines[:len(lines)-1]
	}
	var all []Step
	for len(lines) > 0 {
		n := together(lines)
		s := Step{At: min(lines[n-1].until, end), Text: strings.Join(t.tell(lines[:n]), " ")}
		s.Heavy = slices.ContainsFunc(lines[:n], func(l line) bool { return l.heavy() })
		if s.Text != "" {
			all = append(all, s)
		}
		lines = lines[n:]
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

// tell tells what happened at one instant, causes first: a fault ends, clients act, a fault begins, and something changes on a server.
// A client that begins something is not worth a sentence if there is another.
func (t *transcript) tell(lines []line) []string {
	var ended, begun []int
	var acts, starts, changes []string
	for i := range lines {
		switch l := &lines[i]; {
		case t.mends(l):
			ended = append(ended, l.index)
		case l.event.Kind == history.Injected:
			begun = append(begun, l.index)
		case l.event.Kind == history.State:
			changes = append(changes, t.sentence(l)...)
		case l.event.Kind == history.Invoke:
			starts = append(starts, t.sentence(l)...)
		default:
			acts = append(acts, t.sentence(l)...)
		}
	}
	all := slices.Concat(t.faults(ended), acts, t.faults(begun), changes)
	if len(all) == 0 {
		return starts
	}
	return all
}

// mends reports whether l ended a fault, or tried to.
func (t *transcript) mends(l *line) bool {
	switch f := l.event.Fault().(type) {
	case history.Heal, history.ReleaseLink, history.Resume, history.Restart:
		return true
	case history.Delay:
		return f.By == 0
	}
	return false
}

// faults tells of faults at one instant. The sentences need no times.
func (t *transcript) faults(events []int) []string {
	var texts []string
	var others []int
	for _, i := range events {
		e := &t.F.Events[i]
		switch f := e.Fault().(type) {
		case history.Heal, history.ReleaseLink:
			texts = append(texts, t.mended(i)...)
			continue
		case history.Delay:
			if f.By == 0 {
				texts = append(texts, t.mended(i)...)
				continue
			}
		}
		if e.Op != history.Missed {
			others = append(others, i)
		}
	}
	for _, text := range explain.Faults(t.F, others...) {
		at := history.Seconds(t.F.Events[others[0]].At)
		for _, when := range []string{"From " + at + " on ", " from " + at + " on", " at " + at} {
			text = strings.ReplaceAll(text, when, "")
		}
		for _, word := range []string{"the ", "messages "} {
			if strings.HasPrefix(text, word) {
				text = strings.ToUpper(text[:1]) + text[1:]
			}
		}
		texts = append(texts, Printable(text, 160))
	}
	return texts
}

// mended says that event i ended faults on links, if it did.
func (t *transcript) mended(i int) []string {
	for _, end := range t.F.Undone {
		if end == i {
			return []string{"Links work again: " + Printable(t.F.Events[i].Value, 60) + "."}
		}
	}
	return nil
}

// sentence says what a line says that is about a client or a server. It says nothing of what goes without saying.
func (t *transcript) sentence(l *line) []string {
	e := l.event
	who := Printable(cmp.Or(Ranges(l.nodes, t.all), capital(l.Who)), 40)
	text := ""
	if e.Kind != history.State {
		if text = operated(l, who); text == "" {
			return nil
		}
	} else {
		text = t.changed(l, who)
	}
	if text == "" {
		l.nameNodes(t.all)
		text = capital(l.moment().String())
	} else if l.times > 1 {
		text += fmt.Sprintf(", %d times", l.times)
	}
	return []string{Printable(text, 160) + "."}
}

// operated says what a client did, or nothing if its effect has been told.
func operated(l *line, who string) string {
	e := l.event
	switch {
	case e.Op == history.Lost:
		return fmt.Sprintf("%s was told that %s is lost", who, e.Lease)
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
	case e.Kind == history.Info && e.Op != history.Renew:
		return fmt.Sprintf("%s got no answer to its %s", who, Operation(e))
	}
	return ""
}

// changed says what changed on a server, or nothing if there is no better sentence than the line itself.
func (t *transcript) changed(l *line, who string) string {
	e := l.event
	key := "key of " + e.Owner
	if e.Owner == "" {
		key = "key " + e.Key // it stands for no lease
	}
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
		return fmt.Sprintf("%s extended the %s", who, key)
	case history.Delete:
		if e.By != "" && e.By != history.Client(e.Owner) && !slices.Contains(t.all, e.By) {
			return fmt.Sprintf("%s deleted the %s, for %s", who, key, e.By)
		}
		return fmt.Sprintf("%s deleted the %s", who, key)
	case history.Expire:
		return fmt.Sprintf("The %s expired on %s", key, who)
	case history.Lose:
		return fmt.Sprintf("%s lost the %s", who, key)
	case history.Accept:
		return fmt.Sprintf("%s accepted %s from %s", who, e.Value, e.By)
	case history.Reject:
		reason := ""
		if seen := FenceSeen(t.F.History, l.index); e.Fence != 0 && seen > 0 {
			reason = fmt.Sprintf(": token %d is lower than %d", e.Fence, seen)
		}
		return fmt.Sprintf("%s rejected %s from %s%s", who, e.Value, e.By, reason)
	case history.Promoted:
		return who + " became a primary"
	case history.Followed:
		return fmt.Sprintf("%s became a replica of %s", who, e.Value)
	case history.Sdown:
		return fmt.Sprintf("%s noticed that %s does not answer", who, e.Value)
	case history.Odown:
		return fmt.Sprintf("%s agreed that %s is down", who, e.Value)
	case history.Leader:
		return fmt.Sprintf("%s was chosen to replace %s", who, e.Value)
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
