package course

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/scenarios/files"
)

// A Grader grades submissions. A submission is a directory with a folder for each exercise, as the lab has them. Only lock.go counts in
// each folder, so no submission can change the tests of the lab.
type Grader struct {
	Lab    string    // the directory of the lab
	Out    string    // where the results go
	Output io.Writer // gets a line for each submission
}

// longest limits how long the tests of an exercise may take.
const longest = 5 * time.Minute

// Submission grades one submission, and writes its results to Out.
func (g Grader) Submission(ctx context.Context, dir string) error {
	_, err := g.submission(ctx, dir, g.Out)
	return err
}

// All grades each directory in a directory. It writes the results of each to a directory of its name in Out, and the points of all to
// grades.csv.
func (g Grader) All(ctx context.Context, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	exercises, err := Exercises()
	if err != nil {
		return err
	}
	head := []string{"submission"}
	for _, e := range exercises {
		head = append(head, e.Folder)
	}
	rows := [][]string{append(head, "sum")}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		points, err := g.submission(ctx, filepath.Join(dir, e.Name()), filepath.Join(g.Out, e.Name()))
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
		row, sum := []string{e.Name()}, 0
		for _, n := range points {
			row, sum = append(row, strconv.Itoa(n)), sum+n
		}
		rows = append(rows, append(row, strconv.Itoa(sum)))
	}
	if len(rows) == 1 {
		return fmt.Errorf("%s must have a directory for each submission; there is none", dir)
	}
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		return err
	}
	return files.Write(ctx, filepath.Join(g.Out, "grades.csv"), b.Bytes())
}

// submission grades one submission, and returns the points for each exercise.
func (g Grader) submission(ctx context.Context, dir, out string) ([]int, error) {
	exercises, err := Exercises()
	if err != nil {
		return nil, err
	}
	if err := files.MakeDir(out); err != nil {
		return nil, err
	}
	var points []int
	var all Result
	var report strings.Builder
	sum, most := 0, 0
	for _, e := range exercises {
		r, text, err := g.exercise(ctx, e, dir, filepath.Join(out, e.Folder))
		if err != nil {
			return nil, err
		}
		n := 0
		for _, t := range r.Tests {
			n += t.Score
		}
		points, sum, most = append(points, n), sum+n, most+e.Most()
		all.Tests = append(all.Tests, r.Tests...)
		report.WriteString(text + "\n")
	}
	name := filepath.Base(dir)
	fmt.Fprintf(g.Output, "%-24s %v = %d of %d points\n", name, points, sum, most)
	return points, all.write(ctx, out, name, report.String())
}

// exercise grades one exercise of a submission. If there are no results, the reason is the result.
func (g Grader) exercise(ctx context.Context, e *Exercise, dir, out string) (*Result, string, error) {
	lock, err := filepath.Abs(filepath.Join(dir, e.Folder, lockFile))
	if err != nil {
		return nil, "", err
	}
	void := func(why string) (*Result, string, error) {
		grade, err := newGrade(e, nil, why)
		if err != nil {
			return nil, "", err
		}
		r := grade.Result()
		return &r, grade.Report(), grade.write(ctx, out)
	}
	if info, err := os.Lstat(lock); err != nil || !info.Mode().IsRegular() {
		return void(fmt.Sprintf("There is no file %s/%s in the submission.", e.Folder, lockFile))
	}
	if out, err = filepath.Abs(out); err != nil {
		return nil, "", err
	}
	for _, name := range []string{resultFile, reportFile} { // those of an earlier time must not count
		if err := os.Remove(filepath.Join(out, name)); err != nil && !os.IsNotExist(err) {
			return nil, "", err
		}
	}
	said, err := g.run(ctx, e, lock, out)
	if err != nil {
		return nil, "", err
	}
	data, err := os.ReadFile(filepath.Join(out, resultFile))
	if errors.Is(err, os.ErrNotExist) {
		return void("lock.go did not compile, or its tests did not finish:\n" + said)
	}
	var r Result
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		return nil, "", err
	}
	report, err := os.ReadFile(filepath.Join(out, reportFile))
	return &r, string(report), err
}

// run compiles the tests of an exercise with a student's file in the place of the one of the lab, runs them, and returns the last lines of
// what the compiler or the tests have printed. An error means that there is no Go, or no lab.
func (g Grader) run(ctx context.Context, e *Exercise, lock, out string) (string, error) {
	lab, err := filepath.Abs(g.Lab)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(lab, e.Folder, lockFile)); err != nil {
		return "", fmt.Errorf("%s must be the directory of the lab: %w", g.Lab, err)
	}
	scratch, err := os.MkdirTemp("", "lockstep-grade-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(lab, e.Folder, lockFile): lock}})
	if err != nil {
		return "", err
	}
	replaced, program := filepath.Join(scratch, "overlay.json"), filepath.Join(scratch, "exercise.test")
	if err := os.WriteFile(replaced, overlay, 0o600); err != nil {
		return "", err
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		return "", errors.New("the go command must be on the PATH, because it compiles the submissions")
	}
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	build := exec.CommandContext(ctx, tool, "test", "-c", "-trimpath", "-overlay", replaced, "-o", program, "./"+e.Folder)
	build.Dir = lab
	if said, err := build.CombinedOutput(); err != nil {
		return lastLines(strings.ReplaceAll(string(said), lock, e.Folder+"/"+lockFile)), ctx.Err()
	}
	// In the lab, because the test looks for the source of its module there.
	test := exec.CommandContext(ctx, program, "-test.timeout="+longest.String(), "-results="+out, "-lock="+lock)
	test.Dir = filepath.Join(lab, e.Folder)
	said, _ := test.CombinedOutput() // a test that fails has written its results
	return lastLines(string(said)), nil
}

// lastLines returns the end of a text.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	const most = 20
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// HasExercise reports whether a directory has a folder of an exercise, so that it is a submission itself.
func HasExercise(dir string) bool {
	exercises, err := Exercises()
	return err == nil && slices.ContainsFunc(exercises, func(e *Exercise) bool {
		info, err := os.Stat(filepath.Join(dir, e.Folder))
		return err == nil && info.IsDir()
	})
}
