package main

import (
	"flag"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var rewriteReadme = flag.Bool("rewrite", false, "renew the output of the program in the documentation")

func readme(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The README is short, and its Go code is that of an Example, so it compiles.
func TestREADME(t *testing.T) {
	text := readme(t)
	if n := strings.Count(text, "\n"); n > 150 {
		t.Errorf("README.md has %d lines, and may have 150", n)
	}
	example, err := os.ReadFile("../../scenarios/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("(?s)```go\npackage mylock\n\nimport .*?\n\\)\n\n(.*?)```").FindStringSubmatch(text)
	if code == nil || !strings.Contains(string(example), code[1]) {
		t.Error("the Go code of the README is not part of scenarios/example_test.go, which compiles")
	}
}

var (
	question = regexp.MustCompile("(?m)^\\| ([^|]*\\?) \\| `lockstep ([^`]*)` \\| ([^|]*) \\|$")
	inQuotes = regexp.MustCompile(`“([^”]*)”`)
	verdicts = regexp.MustCompile(`\b(?:SAFE|UNSAFE|UNKNOWN)\b`)
	runRow   = regexp.MustCompile(`(?m)^.*? (SAFE|UNSAFE|UNKNOWN)\b`)
)

// The README answers each question with the verdicts of its command in order, or with a sentence that the command prints.
func TestREADMEQuestions(t *testing.T) {
	if testing.Short() {
		t.Skip("plays the runs of twenty commands")
	}
	rows := question.FindAllStringSubmatch(readme(t), -1)
	if len(rows) < 10 {
		t.Fatalf("README.md has %d questions, want at least 10", len(rows))
	}
	for _, row := range rows {
		ask, command, answer := row[1], row[2], row[3]
		if strings.Contains(command, "--on ") {
			continue // real servers take real time, and have their own tests
		}
		out := prints(t, command)
		if q := inQuotes.FindStringSubmatch(answer); q != nil {
			if !strings.Contains(out, q[1]) {
				t.Errorf("README.md: %s lockstep %s does not print %q:\n%s", ask, command, q[1], out)
			}
			continue
		}
		var got []string
		for _, m := range runRow.FindAllStringSubmatch(out, -1) {
			got = append(got, m[1])
		}
		if want := verdicts.FindAllString(answer, -1); len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("README.md: %s The answer says %q, and lockstep %s says %q:\n%s", ask, want, command, got, out)
		}
	}
}

var (
	commandWord = regexp.MustCompile(`'[^']*'|\S+`)
	elapsed     = regexp.MustCompile(`( as expected) \([0-9.]+(?:µs|ms|s)\)`)
	trailing    = regexp.MustCompile(`(?m) +$`)
)

// prints returns the standard output of a command, without the elapsed time, and without spaces at the ends of lines.
func prints(t *testing.T, command string) string {
	t.Helper()
	var args []string
	for _, word := range commandWord.FindAllString(command, -1) {
		args = append(args, strings.Trim(word, "'"))
	}
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), asProgram+"=1", "COLUMNS=100")
	out, err := c.Output()
	if c.ProcessState == nil || c.ProcessState.ExitCode() == exitInput {
		t.Fatalf("lockstep %s: %v\n%s", command, err, out)
	}
	return trailing.ReplaceAllString(elapsed.ReplaceAllString(string(out), "$1"), "")
}
