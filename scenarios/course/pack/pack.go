// Package pack has the files of the lab: what students get, and the key. The functions that students write are in _lab; the go command
// leaves out directories of such names, because unfinished code has unused functions. The solutions are packages in key, with a file for
// each exercise that says how many points each wrong solution gets, and why. Its fields are:
//
//	wrong: NAME POINTS    and below it what is wrong
package pack

import (
	"embed"
	"fmt"
	"go/format"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"lockstep/scenarios/course"
	"lockstep/scenarios/internal/fields"
)

//go:embed _lab key
var files embed.FS

// Lab returns the Go files of the lab by their slash-separated paths: for each exercise the file that students complete and the test that
// judges it, and the program that grades submissions.
func Lab() (map[string][]byte, error) {
	exercises, err := course.Exercises()
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	err = fs.WalkDir(files, "_lab", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := files.ReadFile(name)
		all[strings.TrimPrefix(name, "_lab/")] = data
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, e := range exercises {
		word := e.Folder[strings.Index(e.Folder, "-")+1:]
		test, err := format.Source(fmt.Appendf(nil, "package %s\n\nimport (\n\"testing\"\n\n\"lockstep/scenarios/course\"\n)\n\n"+
			"func TestExercise%d(t *testing.T) { course.Judge(t, %d, New) }\n", word, e.Number, e.Number))
		if err != nil {
			return nil, err
		}
		all[e.Folder+"/lock_test.go"] = test
	}
	return all, nil
}

// A Solution is a solution of an exercise, with the points that it gets.
type Solution struct {
	Name   string
	Points int
	Why    string // what is wrong; empty for the right one
	Code   []byte // of its lock.go
}

// Right is the name of the right solution of each exercise.
const Right = "right"

var rules = []fields.Rule{{Name: "wrong", Shape: fields.Titled, Least: 3, Most: 20}}

// Key returns the solutions of an exercise, the right one first.
func Key(e *course.Exercise) ([]Solution, error) {
	name := "key/" + e.Folder + ".txt"
	data, err := files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f, err := fields.Parse("scenarios/course/pack/"+name, data, rules)
	if err != nil {
		return nil, err
	}
	all := []Solution{{Name: Right, Points: e.Most()}}
	for i, w := range f.All("wrong") {
		name, n, _ := strings.Cut(w.Value, " ")
		points, err := strconv.Atoi(n)
		if err != nil || points < 0 || points >= e.Most() {
			return nil, f.Fail("wrong", i, "a wrong solution must have a name and points below %d, as in get-then-del 45; cannot read %q", e.Most(), w.Value)
		}
		all = append(all, Solution{Name: name, Points: points, Why: w.Text[0]})
	}
	for i, s := range all {
		if all[i].Code, err = files.ReadFile(path.Join("key", e.Folder, s.Name, "lock.go")); err != nil {
			return nil, err
		}
	}
	return all, nil
}
