package reader

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// forked returns a scenario file with an unfinished step of the nemesis in its first run, which injects a fault at an instant, and the line
// of that step.
func forked(text string, at time.Duration) (string, int) {
	return withStep(text, fmt.Sprintf("at %s ", history.FormatDuration(at)))
}

// longestSearch limits how long a reader waits for a choice that has an effect.
const longestSearch = 2 * time.Second

// injected returns a scenario file with another step of the nemesis in its first run, and the line of that step. The fault is the example of a
// form. It is injected where and when it first has an effect; if it never has one, at the first place that is possible. If no place is
// possible, the error says why. In a file with mistakes, which cannot be played, it is the first choice.
func injected(text, form string) (string, int, error) {
	rows := history.FaultRows()
	i := slices.IndexFunc(rows, func(r history.FaultRow) bool { return r.Form == form })
	if i < 0 {
		return text, 0, fmt.Errorf("there is no fault %.100q", form)
	}
	all := choices(text, rows[i].Example)
	if _, err := scenario(Request{Script: text}); err != nil {
		longer, line := withStep(text, all[0].String())
		return longer, line, nil
	}
	possible, place := "", 0
	var why error
	begun := time.Now()
	for _, step := range all {
		longer, line := withStep(text, step.String())
		s, err := scenario(Request{Script: longer})
		if err != nil {
			why = err
			continue
		}
		if possible == "" {
			possible, place = longer, line
		}
		build, err := playable(s, s.Runs[0])
		if err != nil || time.Since(begun) > longestSearch {
			break // the page says why it cannot be played
		}
		o, err := play.Simulate(s, s.Runs[0], build, cmp.Or(s.Runs[0].Seed, 1))
		if err == nil && !slices.Contains(o.Result.Idle, script.FaultOf(step).String()) {
			return longer, line, nil
		}
	}
	if possible != "" {
		return possible, place, nil
	}
	if e, ok := errors.AsType[*script.Error](why); ok {
		why = cmp.Or(errors.Unwrap(e.Err), e.Err) // without the name of the run: there is only one
	}
	return text, 0, why
}

var clientLane = regexp.MustCompile(`(?m)^client (\S+)$`)

// choices are the steps that could inject a fault, the best one first. Most faults have an effect once a client has the lock, and all others from the
// start. A fault that only ends others is tried at several nodes, and some time later.
func choices(text, example string) (all []script.Step) {
	names := []string{"c1"}
	if found := clientLane.FindAllStringSubmatch(text, -1); found != nil {
		names = nil
		for _, m := range found {
			names = append(names, m[1])
		}
	}
	nodes, after := 1, time.Duration(0)
	f := fault(example)
	if script.Undoes(f) {
		nodes, after = 5, 5*time.Second
	}
	_, waits := f.(history.Chosen) // for its message, so from the start
	var others []script.Step
	for n := range nodes {
		for _, c := range names {
			f := fault(strings.NewReplacer("c1", c, "n1", fmt.Sprintf("n%d", n+1)).Replace(example))
			if !waits {
				all = append(all, script.When{Event: script.Event{Process: c, What: script.Acquired}, After: after, Fault: f})
			}
			others = append(others, script.At{Time: after, Fault: f})
			if after == 0 {
				others[len(others)-1] = script.AtStart{Fault: f}
			}
		}
	}
	return append(all, others...)
}

// fault parses a fault that is an example in the code.
func fault(text string) history.Fault {
	f, err := history.ParseFault(text)
	if err != nil {
		panic("reader: " + err.Error())
	}
	return f
}

// withStep returns a scenario file with another step of the nemesis in its first run, and the line of that step.
func withStep(text, step string) (string, int) {
	step = "  " + step
	lines := strings.Split(text, "\n")
	section := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "-- ") })
	if section < 0 {
		section = len(lines)
	}
	// The lane of the run stands for that of the page, so it comes first.
	for _, from := range []int{section, 0} {
		for n := from; n < len(lines) && (n <= section || !strings.HasPrefix(lines[n], "-- ")); n++ {
			if lines[n] != script.Nemesis {
				continue
			}
			for n++; n < len(lines) && strings.HasPrefix(lines[n], "  ") && strings.TrimSpace(lines[n]) != ""; n++ {
			}
			return strings.Join(slices.Insert(lines, n, step), "\n"), n + 1
		}
	}
	// A new lane ends the lanes of the page.
	n := section
	for n > 0 && !strings.HasPrefix(lines[n-1], " ") {
		n--
	}
	if n == 0 {
		n = section
	}
	return strings.Join(slices.Insert(lines, n, script.Nemesis, step), "\n"), n + 2
}
