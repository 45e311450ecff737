package course

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"lockstep/clients"
	"lockstep/clients/given"
	"lockstep/internal/draws"
)

// lockIn writes the file of a solution.
func lockIn(t *testing.T, code string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), lockFile)
	if err := os.WriteFile(file, []byte("package release\n"+code), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// unsolvedLock is an exercise as it is handed out.
type unsolvedLock struct{ clients.Locker }

func (l unsolvedLock) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	lease, err := l.Locker.Acquire(ctx, name, ttl)
	if err != nil {
		return nil, err
	}
	return unsolvedLease{lease}, nil
}

type unsolvedLease struct{ clients.Lease }

func (unsolvedLease) Release(context.Context) error { return given.ErrUnsolved }

func newUnsolved(env clients.Env) clients.Locker { return unsolvedLock{clients.NewSingle(env)} }

// An exercise as it is handed out gets no points, and the report says what to do.
func TestUnsolved(t *testing.T) {
	draws.Seldom(t, 0, 2)
	e := exercise(t, 2)
	g := Played(t, e, lockIn(t, ""), newUnsolved)
	if g == nil {
		return
	}
	want := "Exercise 2, A client releases only its own lock: 0 of 100 points\n\n" +
		"This exercise is not solved yet. Write the function Release in 2-release/lock.go, in the place of\ngiven.ErrUnsolved.\n"
	if got := g.Report(); got != want {
		t.Errorf("the report is\n%s\nwant\n%s", got, want)
	}
	if len(g.Result().Tests) != len(e.Stories)+1+len(e.Answers) {
		t.Errorf("the result has %d tests, want one for each story, one for all runs, and one for each answer", len(g.Result().Tests))
	}
}

// refusing is a lock that nobody gets.
type refusing struct{}

func (refusing) Acquire(context.Context, string, time.Duration) (clients.Lease, error) {
	return nil, errors.New("no")
}

// A lock that nobody gets breaks no exclusion, and gets no points: others wait for a lock that is free.
func TestRefusesEverybody(t *testing.T) {
	draws.Seldom(t, 0, 2)
	g := Played(t, exercise(t, 1), lockIn(t, ""), func(clients.Env) clients.Locker { return refusing{} })
	if g != nil && (g.Points() != 0 || !strings.Contains(g.Report(), "deadlock freedom is violated") || !strings.Contains(g.Report(), "The same as in set-held/single.")) {
		t.Errorf("it gets points:\n%s", g.Report())
	}
}

// The same lock gets the same grade again, byte for byte, and the files of a grade are there.
func TestSameGrade(t *testing.T) {
	draws.Seldom(t, 1, 2)
	e := exercise(t, 2)
	var written []string
	for range 2 {
		g := Played(t, e, lockIn(t, ""), clients.NewGetDel)
		if g == nil {
			continue // a worker of the other call
		}
		dir := t.TempDir()
		if err := g.write(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		all := ""
		for _, name := range []string{resultFile, junitFile, reportFile, "release-race-single.html"} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			all += string(data)
		}
		written = append(written, all)
	}
	if len(written) == 2 && written[0] != written[1] {
		t.Error("the files of two grades of one lock differ")
	}
	for _, part := range []string{`"score": 0`, `"max_score": 32`, `"status": "failed"`, `<testsuites name="2-release"`,
		"  0 of 32  release-race/single\n           A release that compares in one step and deletes in another.\n           What happened: lease exclusion is violated: c3 held",
		"           Hint: The key was another client", "go test ./2-release -results=results",
		"runs failed, and each costs 5 points: ", " In ", "results/all-runs.html"} {
		if len(written) > 0 && !strings.Contains(written[0], part) {
			t.Errorf("the files of the grade lack %q", part)
		}
	}
}

func exercise(t *testing.T, number int) *Exercise {
	t.Helper()
	e, err := Find(number)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A solution must not use the clock of the machine, nor what it should be itself. The judge names the line.
func TestForbidden(t *testing.T) {
	file := lockIn(t, `
import (
	"time"
	lib "lockstep/clients"
	"lockstep/clients/given"
)

var _ = lib.NewSingle
var end = time.Now().Add(time.Second)
var _ = given.Acquire
var _ = given.Token
`)
	calls, err := exercise(t, 3).forbidden(file)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"lock.go:9: a solution must not use lib.NewSingle: write the lock yourself",
		"lock.go:10: a solution must not use time.Now: use the clock of the process, which is l.env.Clock in a method of the lock, and l.lock.env.Clock in one of a lease",
		"lock.go:11: a solution must not use given.Acquire: of this package the exercise allows only Token, SetOn and Release",
	}
	if strings.Join(calls, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(calls, "\n"), strings.Join(want, "\n"))
	}
}

// Each exercise has 100 points. An error in its file names the line.
func TestExercises(t *testing.T) {
	all, err := Exercises()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 6 {
		t.Errorf("there are %d exercises, want 6", len(all))
	}
	for _, e := range all {
		if e.Most() != 100 {
			t.Errorf("%s has %d points, want 100", e.Folder, e.Most())
		}
	}
	const good = "exercise: A\nlike: single\nfile: Release\nwith: given.Acquire\nidea:\n  x\ntask:\n  x\nstory: release-race/single 40 owner only\n  x\nrest: 30\nkind: a lock\n"
	for _, c := range []struct{ old, new, want string }{
		{"like: single", "like: singel", "scenarios/course/exercises/1-a.txt:2: "},
		{"release-race/single", "release-rice/single", "scenarios/course/exercises/1-a.txt:9: unknown scenario"},
		{"single 40", "single forty", `scenarios/course/exercises/1-a.txt:9: the points must be a number from 1 to 100, and not "forty"`},
		{"owner only", "owner", `scenarios/course/exercises/1-a.txt:9: unknown property "owner"`},
		{" owner only", "", "scenarios/course/exercises/1-a.txt:9: it must be RUN POINTS PROPERTY"},
		{"rest: 30", "answer: release 5\nrest: 30", "scenarios/course/exercises/1-a.txt:11: there must be a file scenarios/course/answers/release.txtar"},
		{"rest: 30", "hint: none\n  x\nrest: 30", `scenarios/course/exercises/1-a.txt:11: unknown property "none"`},
		{"rest: 30", "rest: 0", `scenarios/course/exercises/1-a.txt:11: the points must be`},
		{"idea:\n  x\n", "", `there must be a field "idea:"`},
	} {
		_, err := load(fstest.MapFS{"exercises/1-a.txt": {Data: []byte(strings.Replace(good, c.old, c.new, 1))}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("with %q the error is %v, want %q", c.new, err, c.want)
		}
	}
	if _, err := load(fstest.MapFS{"exercises/2-a.txt": {Data: []byte(good)}}); err == nil {
		t.Error("exercises that begin with 2 are accepted")
	}
}
