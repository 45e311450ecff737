package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockstep/scenarios/play"
	"lockstep/scenarios/search"
)

// conclude explains what rapid has found, or sums up the test.
func (e *exploration) conclude() {
	e.t.Helper()
	if e.failed != nil {
		e.print(e.t, "The output above is rapid's. Use the command at the very end, not rapid's, which draws new plans.")
		e.explainSmallest(e.t, e.failed, *e.failing)
		return
	}
	proved := 0
	for _, c := range e.calm {
		singles, drawn := c.tally()
		proved += singles.Survived + singles.Violating + drawn.Survived + drawn.Violating
	}
	if proved == 0 {
		e.t.Errorf("nothing is proved: no run in which a perturbation had an effect came to a verdict\n%s", e.summary())
		return
	}
	e.print(e.t, "%s", e.summary())
}

// tally counts the plans, those with one perturbation separately. The calm run does not count as a plan.
func (c *calmRun) tally() (singles, drawn search.Level) {
	singles = c.singles
	for _, a := range c.tried {
		switch single := len(a.plan) == 1 && a.seed == c.seed; {
		case single && a.class == search.Violating:
			singles.Count(a.class)
		case !single && len(a.plan) > 0: // the other plans with one perturbation are in singles
			drawn.Count(a.class)
		}
	}
	return singles, drawn
}

// summary sums up all plans in a few words.
func (e *exploration) summary() string {
	var lines []string
	excused := map[string]int{}
	drawn := search.Level{}
	for _, c := range e.calm {
		singles, more := c.tally()
		drawn.Add(more)
		walks := search.Level{
			Survived: c.walks[search.Survived], Idle: c.walks[search.Idle], Violating: c.walks[search.Violating], Unproved: c.walks[search.Unproved],
		}
		walks.Plans = walks.Survived + walks.Idle + walks.Violating + walks.Unproved
		lines = append(lines, c.name,
			"  all plans with one perturbation, "+levelInWords(singles))
		if walks.Plans > 0 {
			lines = append(lines, "  runs of walks, "+levelInWords(walks))
		}
		for _, a := range c.tried {
			for _, f := range a.excused {
				excused[f.String()]++
			}
		}
	}
	if e.hunt > 0 {
		lines = append(lines, "plans drawn, "+levelInWords(drawn))
	}
	for _, f := range slices.Sorted(maps.Keys(excused)) {
		lines = append(lines, fmt.Sprintf("  %d × %s", excused[f], f))
	}
	if why := e.unreached(); why != "" {
		lines = append(lines, "clients' clocks were wrong, but package time was right, and "+why+"; with scenarios.Guests(scenarios.GuestsAlways) it is wrong, too")
	}
	if v, _ := play.Shared(); v != "" && e.guests != play.GuestsAlways {
		lines = append(lines, "the clients shared what processes on different machines do not ("+v+"); with scenarios.Guests(scenarios.GuestsAlways) they do not share it")
	}
	return strings.Join(lines, "\n")
}

// unreached says why wrong clocks of clients may not have reached all of the lock; empty if they have, or if there were none.
func (e *exploration) unreached() string {
	wrong := func(c *calmRun) bool { return c.setClocks > 0 }
	if e.guests == play.GuestsAlways || !slices.ContainsFunc(e.calm, wrong) {
		return ""
	}
	return play.MayCallPackageTime()
}

// levelInWords sums up plans of which none breaks a claim.
func levelInWords(l search.Level) string {
	n := search.Grouped
	return fmt.Sprintf("%s: %s survived, %s with a perturbation that had no effect, %s unproved, %s with a violation that the claim allows",
		n(l.Plans), n(l.Survived), n(l.Idle), n(l.Unproved), n(l.Violating))
}
