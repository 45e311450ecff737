package course

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/clients/given"
	"lockstep/scenarios"
	"lockstep/scenarios/play"
)

var (
	// results is the directory in which [Judge] writes what graders read.
	results = flag.String("results", "", "write results.json, junit.xml, report.txt, and a page for each story that fails, to this `directory`")
	// source is the student's file. That of a submission is not in the lab.
	source = flag.String("lock", lockFile, "the `file` with the lock, in which calls are looked for that a solution must not have")
)

// Judge plays the lock of lock.go in the runs of an exercise, and prints the grade. The test fails unless the lock gets all points. The runs
// take place in simulation, and the same lock always gets the same grade. With go test -results DIR it writes results.json, for
// Gradescope; junit.xml, for CI servers; report.txt; and a page for each story that fails. DIR is relative to the exercise.
func Judge(t *testing.T, exercise int, newLock clients.New) {
	t.Helper()
	e, err := Find(exercise)
	if err != nil {
		t.Fatal(err)
	}
	g := Played(t, e, *source, newLock)
	if g == nil {
		return
	}
	if *results != "" {
		if err := g.write(t.Context(), *results); err != nil {
			t.Errorf("-results: %v", err)
		}
	}
	fmt.Print("\n", g.Report(), "\n")
	if g.Points() < e.Most() {
		t.Fail()
	}
}

// longestRun limits how much real time a run may take. It stops a solution that retries for ever.
const longestRun = 5 * time.Second

// lockFile is the file of an exercise that the student writes.
const lockFile = "lock.go"

// Played plays a lock, which is in a file, in the runs of an exercise, and returns the grade. In a worker process for another call it
// returns nil.
func Played(t *testing.T, e *Exercise, file string, newLock clients.New) *Grade {
	t.Helper()
	// The clients are never guests: these would have to be compiled, which takes longer than all the rest.
	outcomes := scenarios.Played(t, amongOthers(newLock), e.pages(), scenarios.Like(e.Like), scenarios.Guests(scenarios.GuestsNever), scenarios.Limit(longestRun))
	if outcomes == nil {
		return nil
	}
	calls, err := e.forbidden(file)
	if err != nil {
		t.Fatal(err)
	}
	void := strings.Join(calls, "\n")
	if slices.ContainsFunc(outcomes, unsolved) {
		void = fmt.Sprintf("This exercise is not solved yet. Write the function %s in %s/%s, in the place of given.ErrUnsolved.", e.Hole, e.Folder, lockFile)
	}
	g, err := newGrade(e, outcomes, void)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A Grade is what a lock got for an exercise.
type Grade struct {
	Exercise *Exercise
	Stopped  string // what the function does instead of returning, if it does not; empty if it does
	Void     string // why there are no points, whatever the runs show; empty if the runs decide
	Rows     []Row  // one for each story, one for all runs, and one for each answer
}

// A Row is a part of a grade.
type Row struct {
	Name, Title  string // the run, or "all runs", and what it is about or what it requires
	Points, Most int
	What, Hint   string        // what happened, in a sentence or two, and what to do about it, if points are missing
	Outcome      *play.Outcome // of the run; for all runs, of the first that fails and has no row of its own
}

// Points are all points of a grade.
func (g *Grade) Points() int {
	n := 0
	for _, r := range g.Rows {
		n += r.Points
	}
	return n
}

// newGrade counts the points. Without outcomes there must be a reason.
func newGrade(e *Exercise, outcomes []*play.Outcome, void string) (*Grade, error) {
	g := &Grade{Exercise: e, Void: void, Stopped: e.stopped(outcomes)}
	catalogue, answers := outcomes, outcomes
	if len(outcomes) > 0 { // those of the answers come last
		n := len(outcomes) - len(e.Answers)
		catalogue, answers = outcomes[:n], outcomes[n:]
	}
	for _, s := range e.Stories {
		r := played(s.Run, s.Title, s.Points, catalogue)
		r.Hint = e.hint(r.Outcome, s)
		g.Rows = append(g.Rows, r)
	}
	g.Rows = append(g.Rows, e.all(catalogue))
	otherTTL := false
	for _, a := range e.Answers {
		r := played(a.Page.Name+"/"+a.run().ID(), a.Page.Title, a.Points, answers)
		if r.Outcome != nil && r.Outcome.Report == nil {
			right, err := a.right()
			if err != nil {
				return nil, err
			}
			r.What = wrong(right, r.Outcome)
		}
		switch {
		case isOtherTTL(r.What):
			otherTTL, r.Hint = true, e.TTL
		case r.Outcome != nil && r.Outcome.Report != nil:
			r.Hint = e.hint(r.Outcome, Story{})
		}
		g.Rows = append(g.Rows, r)
	}
	for i, r := range g.Rows[:len(e.Stories)+1] {
		if otherTTL && e.TTL != "" && r.Hint != "" && !slices.ContainsFunc(e.Stories, func(s Story) bool { return s.Hint == r.Hint }) {
			g.Rows[i].Hint = e.TTL + " " + r.Hint // the most likely cause comes first
		}
	}
	said := map[string]string{} // by what happened, the row that says it
	for i := range g.Rows {
		r := &g.Rows[i]
		switch first := said[r.What]; {
		case void != "":
			r.Points, r.What, r.Hint = 0, "", ""
		case r.What == "":
			r.Points, r.Hint = r.Most, ""
		case first != "" && r.Outcome != nil:
			r.What = "The same as in " + first + "."
		default:
			said[r.What] = r.Name
		}
	}
	return g, nil
}

// played is the row of a run, without a hint.
func played(name, title string, points int, outcomes []*play.Outcome) Row {
	r := Row{Name: name, Title: title, Most: points, What: "The lock was not played in this run."}
	if i := slices.IndexFunc(outcomes, func(o *play.Outcome) bool { return o.Name() == name }); i >= 0 {
		r.Outcome, r.What = outcomes[i], happened(outcomes[i])
	}
	return r
}

// hint returns the hint for a run that breaks a property: that of the story if it is about the property, otherwise that of the exercise.
func (e *Exercise) hint(o *play.Outcome, s Story) string {
	switch {
	case o == nil:
		return ""
	case o.Standing() == play.Failed && !o.NotRun && waits(o.Report.Reason):
		return e.Stuck
	case o.Standing() != play.Broke:
		return ""
	}
	for _, b := range o.Broken() {
		if slices.Contains(s.About, b.Property) {
			return s.Hint
		}
	}
	return e.Hints[o.Broken()[0].Property]
}

// all is the row about all runs.
func (e *Exercise) all(outcomes []*play.Outcome) Row {
	var failing []*play.Outcome
	var names []string
	runs := 0
	for _, o := range outcomes {
		if o.Standing() == play.NotApplicable {
			continue
		}
		runs++
		if o.Failed() {
			failing, names = append(failing, o), append(names, o.Name())
		}
	}
	r := Row{Name: "all runs", Most: e.Rest, Title: "All runs of the catalogue for " + e.Kind + ", including those above."}
	if len(failing) == 0 {
		return r
	}
	const most = 5
	list := strings.Join(names[:min(most, len(names))], ", ")
	if n := len(names) - most; n > 0 {
		list += fmt.Sprintf(", and %d more", n)
	}
	r.Points = max(0, e.Rest-PerRun*len(failing))
	r.What = fmt.Sprintf("%d of %d runs failed, and each costs %d points: %s.", len(failing), runs, PerRun, list)
	others := slices.DeleteFunc(failing, func(o *play.Outcome) bool {
		return slices.ContainsFunc(e.Stories, func(s Story) bool { return s.Run == o.Name() })
	})
	if len(others) > 0 {
		r.Outcome = others[0]
		r.What += fmt.Sprintf(" In %s: %s", r.Outcome.Name(), happened(r.Outcome))
		r.Hint = e.hint(r.Outcome, Story{})
	}
	return r
}

// unsolved reports whether a run met [given.ErrUnsolved].
func unsolved(o *play.Outcome) bool {
	if o.History == nil {
		return false
	}
	for _, e := range o.History.Events {
		if strings.Contains(e.Error, given.ErrUnsolved.Error()) {
			return true
		}
	}
	return false
}

// lineOfLock matches a line of the student's file in a stack.
var lineOfLock = regexp.MustCompile(`\b` + regexp.QuoteMeta(lockFile) + `:(\d+)`)

// waits reports whether a run did not end because a function did not return.
func waits(reason string) bool {
	return !strings.HasPrefix(reason, "panic: ") && !strings.HasPrefix(reason, "fatal error: ") && !strings.HasPrefix(reason, "the worker ")
}

// stopped says in a line why runs did not end; empty if all did.
func (e *Exercise) stopped(outcomes []*play.Outcome) string {
	var first *play.Outcome
	n := 0
	for _, o := range outcomes {
		if o.Report == nil {
			continue
		}
		n++
		if first == nil && !o.NotRun {
			first = o
		}
	}
	if first == nil {
		return ""
	}
	why, _, _ := strings.Cut(strings.TrimSpace(first.Report.Reason), "\n")
	kind, what, _ := strings.Cut(why, ": ")
	text := "Your " + e.Hole
	switch {
	case kind == "panic":
		text += " panicked: " + strings.TrimSuffix(what, ".")
	case kind == "fatal error", kind == "the worker exited":
		text += " ended the program: " + what
	case strings.Contains(why, "computes without waiting"):
		text += " does not return: it loops without end"
	case strings.Contains(why, "left behind"), strings.Contains(why, "mutex"):
		text += ", or a goroutine of it, does not end: it waits for something that never comes"
	default:
		text = "A run with your " + e.Hole + " did not end: " + why
	}
	if m := lineOfLock.FindStringSubmatch(strings.Join(append(slices.Clone(first.Report.Blocked), first.Report.Stacks), "\n")); m != nil {
		text += fmt.Sprintf(" (%s/%s:%s)", e.Folder, lockFile, m[1])
	}
	text += "."
	if n == len(outcomes) {
		text += " No run could be played."
	} else {
		text += fmt.Sprintf(" %d of %d runs could not be played.", n, len(outcomes))
	}
	if waits(why) && e.Stuck != "" {
		text += " " + e.Stuck
	}
	return text
}

// happened says in a sentence or two what went wrong in a run; empty if nothing did.
func happened(o *play.Outcome) string {
	switch s := o.Standing(); {
	case s == play.NotRun:
		return "The lock was not played in this run, because other runs with it did not end."
	case s == play.Failed, s == play.TooBig:
		why, _, _ := strings.Cut(strings.TrimSpace(o.Report.Reason), "\n")
		return "The run did not end: " + why
	case s == play.Broke:
		b := o.Broken()[0]
		text := fmt.Sprintf("%s is violated: %s.", b.Property, strings.TrimSuffix(b.What, "."))
		if b.Assumption == checker.None {
			return text + " No assumption is broken, so the lock is at fault."
		}
		return text + fmt.Sprintf(" The run also breaks the assumption %s, but a correct lock copes with that here.", b.Assumption)
	case s == play.NotApplicable:
		return "The run does not apply: " + o.Inapplicable() + "."
	case !s.Proves():
		return fmt.Sprintf("The run shows nothing, because the dangerous situation did not arise: %s. Your lock differs from the task even before that point.", strings.TrimPrefix(o.Unproved()[0], "must "))
	}
	return ""
}
