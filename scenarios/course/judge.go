package course

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

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

// lockFile is the file of an exercise that the student writes.
const lockFile = "lock.go"

// Played plays a lock, which is in a file, in the runs of an exercise, and returns the grade. In a worker process for another call it
// returns nil.
func Played(t *testing.T, e *Exercise, file string, newLock clients.New) *Grade {
	t.Helper()
	// The clients are never guests: these would have to be compiled, which takes longer than all the rest.
	outcomes := scenarios.Played(t, newLock, scenarios.Like(e.Like), scenarios.Guests(scenarios.GuestsNever))
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
	return newGrade(e, outcomes, void)
}

// A Grade is what a lock got for an exercise.
type Grade struct {
	Exercise *Exercise
	Void     string // why there are no points, whatever the runs show; empty if the runs decide
	Rows     []Row  // one for each story, in their order, and one for all runs
}

// A Row is a part of a grade.
type Row struct {
	Name, Title  string // the run, or "all runs", and what it is about
	Points, Most int
	What, Hint   string        // what happened, in a sentence or two, and what to do about it, if points are missing
	Outcome      *play.Outcome // of the run; nil for all runs
}

// Points are all points of a grade.
func (g *Grade) Points() int {
	n := 0
	for _, r := range g.Rows {
		n += r.Points
	}
	return n
}

// newGrade counts the points.
func newGrade(e *Exercise, outcomes []*play.Outcome, void string) *Grade {
	g := &Grade{Exercise: e, Void: void}
	for _, s := range e.Stories {
		r := Row{Name: s.Run, Title: s.Title, Most: s.Points, Hint: s.Hint, What: "The lock was not played in this run."}
		if i := slices.IndexFunc(outcomes, func(o *play.Outcome) bool { return o.Name() == s.Run }); i >= 0 {
			r.Outcome, r.What = outcomes[i], happened(outcomes[i])
		}
		g.Rows = append(g.Rows, r.counted(s.Points, void))
	}
	return &Grade{e, void, append(g.Rows, e.all(outcomes).counted(e.Rest, void))}
}

// counted gives the points of a row if nothing is wrong with it. Some are lost if the row says so already.
func (r Row) counted(points int, void string) Row {
	switch {
	case void != "":
		r.Points, r.What, r.Hint = 0, "", ""
	case r.What == "":
		r.Points, r.Hint = points, ""
	}
	return r
}

// all is the row about all runs.
func (e *Exercise) all(outcomes []*play.Outcome) Row {
	var failing []string
	runs := 0
	for _, o := range outcomes {
		if o.Standing() == play.NotApplicable {
			continue
		}
		runs++
		if o.Failed() {
			failing = append(failing, o.Name())
		}
	}
	r := Row{Name: "all runs", Most: e.Rest, Hint: e.Hint, Title: fmt.Sprintf("All %d runs for a lock of this kind, including those above.", runs)}
	if len(failing) == 0 {
		return r
	}
	const most = 5
	list := strings.Join(failing[:min(most, len(failing))], ", ")
	if n := len(failing) - most; n > 0 {
		list += fmt.Sprintf(", and %d more", n)
	}
	r.Points = max(0, e.Rest-PerRun*len(failing))
	r.What = fmt.Sprintf("%d of them failed, and each costs %d points: %s.", len(failing), PerRun, list)
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

// happened says in a sentence or two what went wrong in a run; empty if nothing did.
func happened(o *play.Outcome) string {
	switch s := o.Standing(); {
	case s == play.NotRun, s == play.Failed, s == play.TooBig:
		why, _, _ := strings.Cut(strings.TrimSpace(o.Report.Reason), "\n")
		return "The run did not end: " + why
	case s == play.Broke:
		b := o.Broken()[0]
		text := fmt.Sprintf("%s is violated: %s.", b.Property, strings.TrimSuffix(b.What, "."))
		if b.Assumption == checker.None {
			return text + " Nothing but the lock is to blame."
		}
		return text + fmt.Sprintf(" The run also breaks the assumption %s, but a correct lock copes with that here.", b.Assumption)
	case s == play.NotApplicable:
		return "The run does not apply: " + o.Inapplicable() + "."
	case !s.Proves():
		return fmt.Sprintf("The run shows nothing, because the dangerous situation did not arise: %s. Your lock differs from the task even before that point.", o.Unproved()[0])
	}
	return ""
}
