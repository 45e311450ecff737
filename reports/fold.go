package reports

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockstep/sim/history"
)

// quietProbe returns the first and the last event of the probe if it was uneventful: it asked for the lock once, got it at once,
// and released it; it found no key of another client, and left none. Otherwise last is -1.
func quietProbe(h *history.History, proof []int) (first, last int) {
	first, last = -1, -1
	if h.Meta.Probe == "" {
		return first, last
	}
	step := 0
	steps := []struct {
		kind history.Kind
		op   string
	}{{history.Invoke, history.Acquire}, {history.OK, history.Acquire}, {history.Invoke, history.Release}, {history.OK, history.Release}}
	var began time.Duration
	for i := range h.Events {
		e := &h.Events[i]
		if !byProbe(h, e) {
			continue
		}
		if _, proves := slices.BinarySearch(proof, i); proves {
			return -1, -1
		}
		switch e.Kind {
		case history.State:
			if e.Owner != "" && history.Client(e.Owner) != h.Meta.Probe {
				return -1, -1
			}
			switch e.Op {
			case history.Set, history.Over, history.Retime, history.Delete:
			default:
				return -1, -1
			}
		case history.Invoke, history.OK, history.Fail, history.Info:
			if e.Op == history.Wait || e.Op == history.Exit {
				continue
			}
			if step == len(steps) || e.Kind != steps[step].kind || e.Op != steps[step].op {
				return -1, -1
			}
			if e.Kind == history.OK && e.At-began >= TellingDelay {
				return -1, -1
			}
			began = e.At
			if step++; step == 1 {
				first = i
			} else if step == len(steps) {
				last = i
			}
		default:
			return -1, -1
		}
	}
	return first, last
}

// byProbe reports whether an event is an act of the probe, or its effect on a server. Messages and bites are not shown beside a
// folded probe.
func byProbe(h *history.History, e *history.Event) bool {
	switch e.Kind {
	case history.Message, history.Bite:
		return false
	case history.State:
		return e.By == h.Meta.Probe || e.Lease != "" && history.Client(e.Lease) == h.Meta.Probe ||
			e.Owner != "" && history.Client(e.Owner) == h.Meta.Probe
	}
	return e.Process == h.Meta.Probe
}

// foldInvocations leaves out an invocation if its outcome followed soon, with only its own changes in between.
func (t *transcript) foldInvocations() {
	var kept []line
	for i := range t.Lines {
		if !t.answeredAtOnce(t.Lines[i:]) {
			kept = append(kept, t.Lines[i])
		}
	}
	t.Lines = kept
}

func (t *transcript) answeredAtOnce(lines []line) bool {
	invoke := lines[0].event
	if invoke.Kind != history.Invoke || lines[0].Proof {
		return false
	}
	for _, l := range lines[1:] {
		switch e := l.event; e.Kind {
		case history.State:
			copied := slices.Contains(t.all, e.By) && history.Client(cmp.Or(e.Lease, e.Owner)) == invoke.Process
			if e.By != invoke.Process && !copied {
				return false
			}
		case history.OK, history.Fail, history.Info:
			return e.Process == invoke.Process && e.ID == invoke.ID && e.Op == invoke.Op && e.At-invoke.At < TellingDelay
		default:
			return false
		}
	}
	return false
}

// Repeated changes on servers are shown once at the beginning and once at the end.
const (
	longestRound = 4 // the most lines that may recur together
	roundsFrom   = 4 // if there are fewer, all are shown
)

// foldRounds shows only the first and the last of repeated rounds of changes on servers. The last one says how many rounds it stands
// for.
func (t *transcript) foldRounds() {
	lines := t.Lines
	var kept []line
	for i := 0; i < len(lines); {
		size, times := rounds(lines[i:])
		if times < roundsFrom {
			kept = append(kept, lines[i])
			i++
			continue
		}
		last := i + (times-1)*size
		kept = append(kept, lines[i:i+size]...)
		for k, l := range lines[last : last+size] {
			l.Op, l.times = fmt.Sprintf("%s ×%d", l.Op, times-1), times-1
			l.Detail += ", since " + history.Seconds(lines[i+size+k].event.At)
			kept = append(kept, l)
		}
		i = last + size
	}
	t.Lines = kept
}

// rounds finds the repeated block that lines begin with. It returns the number of lines in it, and how often it occurs.
func rounds(lines []line) (size, times int) {
	for size = 1; size <= longestRound; size++ {
		n := 0
		for n < len(lines) && lines[n].event.Kind == history.State && !lines[n].Proof && (n < size || lines[n].again(&lines[n-size])) {
			n++
		}
		if times = n / size; times >= roundsFrom {
			return size, times
		}
	}
	return 1, 1
}

// again reports whether two lines are the same except for their time.
func (l *line) again(o *line) bool {
	if len(l.nodes) == 0 && l.Who != o.Who || len(l.nodes) != len(o.nodes) {
		return false
	}
	for _, n := range l.nodes {
		if !slices.Contains(o.nodes, n) {
			return false
		}
	}
	return l.Kind == o.Kind && l.Op == o.Op && l.Detail == o.Detail && l.Grant == o.Grant
}
