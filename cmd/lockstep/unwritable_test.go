package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"lockstep/internal/draws"
)

// runProgram runs the program in a directory, and returns what it prints, and its exit status.
func runProgram(t *testing.T, dir string, stdout *os.File, args ...string) (out, said string, status int) {
	t.Helper()
	p := exec.Command(os.Args[0], args...)
	p.Dir = dir
	p.Env = append(os.Environ(), asProgram+"=1")
	var printed, errors strings.Builder
	p.Stdout, p.Stderr = &printed, &errors
	if stdout != nil {
		p.Stdout = stdout
	}
	p.Run() // the status says how it ended
	return printed.String(), errors.String(), p.ProcessState.ExitCode()
}

// If the files of a run cannot be written, the program fails, but still prints the result, and does not claim that a file was saved.
func TestVerdictsOfWhatCannotBeKept(t *testing.T) {
	draws.Seldom(t, 3, 4)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "two.txtar"), hostilePage)
	for i, c := range []struct {
		args  string // with OUT
		taken string // a file in OUT, besides those that the command writes
		want  string // on standard output
		fails string // on standard error
	}{
		{"run two.txtar --out OUT", "", "resource exclusion bounded pause     NO: SAFE", "is a directory"},
		{"run two.txtar --json --out OUT", "", `"verdict":"UNSAFE"`, "is a directory"},
		{"replay two.txtar --out OUT", "", "verdict: UNSAFE", "is a directory"},
		{"explore two.txtar --kinds pause --out OUT", "unreduced-single-1.txtar", "see it: lockstep replay lk1.", "is a directory"},
	} {
		free, taken := filepath.Join(dir, fmt.Sprint("free", i)), filepath.Join(dir, fmt.Sprint("taken", i))
		if err := os.Mkdir(free, 0o755); err != nil {
			t.Fatal(err)
		}
		runProgram(t, dir, nil, strings.Fields(strings.ReplaceAll(c.args, "OUT", free))...)
		if err := os.CopyFS(taken, os.DirFS(free)); err != nil {
			t.Fatal(err)
		}
		files := []string{filepath.Join(taken, c.taken)}
		filepath.Walk(taken, func(name string, info os.FileInfo, _ error) error {
			if !info.IsDir() {
				files = append(files, name)
			}
			return nil
		})
		if len(files) < 2 {
			t.Errorf("%s wrote nothing", c.args)
		}
		for _, file := range files {
			os.Remove(file)
			if err := os.MkdirAll(file, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		out, said, status := runProgram(t, dir, nil, strings.Fields(strings.ReplaceAll(c.args, "OUT", taken))...)
		if status != exitInput || !strings.Contains(out, c.want) || !strings.Contains(said, c.fails) || strings.Contains(out, "kept as") || strings.Contains(out, "lockstep replay "+taken) {
			t.Errorf("%s: %d, want %q and %q:\n%s%s", c.args, status, c.want, c.fails, out, said)
		}
	}
}

// The program fails if a verdict cannot be printed, even if it is a bad one.
func TestUnprintableVerdict(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "two.txtar"), hostilePage)
	for _, args := range []string{"run two.txtar", "explore two.txtar --kinds pause", "replay two.txtar"} {
		if _, said, status := runProgram(t, dir, full, strings.Fields(args)...); status != exitInput || !strings.Contains(said, "no space left") {
			t.Errorf("%s: %d, %s", args, status, said)
		}
	}
}
