package reader

import (
	"slices"
	"strings"
	"time"

	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// A Handle is a place in the figure of a run that a reader can drag along the time: when a fault comes, or when a pause ends. The text of
// its step follows.
type Handle struct {
	Lane string        `json:"lane"` // the process, or the link
	At   time.Duration `json:"at"`   // where it is, in true time since the start
	Line int           `json:"line"` // of the script, from 1
	// Text is the line with a % in the place of the duration, and Value is the duration that belongs to At.
	Text  string        `json:"text"`
	Value time.Duration `json:"value"`
	Least time.Duration `json:"least"` // the least value
	// Most is the greatest value with which the fault still happens before all faults are undone; 0 if the run lasts as long as it takes.
	Most time.Duration `json:"most,omitempty"`
	What string        `json:"what"` // such as "the end of pause c1 15s"
}

// A step is a line in the lane of a process.
type step struct {
	process string
	line    int // from 1
	step    script.Step
}

// stepsOf lists the steps that have an effect in the first run of a scenario file. The file must be correct.
func stepsOf(text string) []step {
	var lanes [][]step // with one lane for each process
	var open, inRun bool
	for n, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "-- "):
			if inRun {
				return slices.Concat(lanes...)
			}
			open, inRun = false, true
		case len(words) == 0 || line[0] != ' ' && words[0] != script.Nemesis && words[0] != "client":
			open = false
		case line[0] != ' ':
			process := words[len(words)-1]
			lanes = slices.DeleteFunc(lanes, func(l []step) bool { return l[0].process == process })
			lanes = append(lanes, []step{{process: process, line: n + 1}})
			open = true
		case open:
			last := &lanes[len(lanes)-1]
			if s, err := script.ParseStep((*last)[0].process, line); err == nil {
				*last = append(*last, step{(*last)[0].process, n + 1, s})
			}
		}
	}
	return slices.Concat(lanes...)
}

// markedTime is a duration that no one writes. It marks the place of a duration in the text of a step.
const markedTime = 987654321 * time.Nanosecond

// handles lists the handles in the figure of a run of a scenario file.
func handles(text string, h *history.History) []Handle {
	all := []Handle{}
	over := nth(h, 0, func(e history.Event) bool { return e.Step == 0 && e.Fault() == history.Fault(history.Heal{}) })
	limit := func(f *Handle) {
		if over != nil {
			f.Most = (f.Value + over.At - f.At - 1).Truncate(time.Millisecond)
		}
	}
	faults := 0 // how many steps of the nemesis came before
	pauses := map[history.Pause]int{}
	for _, s := range stepsOf(text) {
		add := func(what, lane string, at, value, least time.Duration, with script.Step) {
			text := "  " + strings.Replace(with.String(), history.FormatDuration(markedTime), "%", 1)
			all = append(all, Handle{Lane: lane, At: at, Line: s.line, Text: text, Value: value, Least: least, What: what})
		}
		switch t := s.step.(type) {
		case script.Pause:
			p := history.Pause{Process: s.process, For: t.For}
			if e := nth(h, pauses[p], func(e history.Event) bool { return e.Step == 0 && e.Fault() == history.Fault(p) }); e != nil {
				add("the end of "+p.String(), s.process, e.At+t.For, t.For, time.Millisecond, script.Pause{For: markedTime})
			}
			pauses[p]++
		case script.Until:
			add(t.String(), s.process, t.Time, t.Time, 0, script.Until{Time: markedTime})
		case script.AtStart, script.At, script.When:
			faults++
			number := faults
			e := nth(h, 0, func(e history.Event) bool { return e.Step == number && e.Fault() != nil })
			if e == nil {
				continue
			}
			f := script.FaultOf(t)
			lane := f.Target()
			switch t := t.(type) {
			case script.At:
				add(f.String(), lane, e.At, t.Time, 0, script.At{Time: markedTime, Fault: f})
				limit(&all[len(all)-1])
			case script.When:
				add(f.String(), lane, e.At, t.After, 0, script.When{Event: t.Event, After: markedTime, Fault: f})
				limit(&all[len(all)-1])
			}
			if p, ok := f.(history.Pause); ok && p.For > 0 {
				p.For = markedTime
				add("the end of "+f.String(), lane, e.At+f.(history.Pause).For, f.(history.Pause).For, time.Millisecond,
					script.WithFault(t, func(history.Fault) history.Fault { return p }))
			}
		}
	}
	return all
}

// nth returns the nth event, from 0, that a function accepts; nil if there are fewer.
func nth(h *history.History, n int, is func(history.Event) bool) *history.Event {
	for i := range h.Events {
		if is(h.Events[i]) {
			if n == 0 {
				return &h.Events[i]
			}
			n--
		}
	}
	return nil
}
