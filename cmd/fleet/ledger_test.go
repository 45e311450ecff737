package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Nights of a lock: one on which a run did not end, one on which nothing was found, and one that found two lines which the runner of
// GitHub Actions could take for commands.
const (
	oneFound  = `{"lock":"mylock","workload":"once","seed":1,"bounded":{"bound":1,"kinds":["pause"]},"found":[{"broke":"panic: no","plan":[{"kind":"pause","steps":["pause c1 1s"]}]}]}` + "\n"
	noneFound = `{"lock":"mylock","workload":"once","seed":1,"bounded":{"bound":1,"kinds":["pause"]},"found":[]}` + "\n"
	commands  = `{"lock":"::error::no","seed":1,"bounded":{"bound":1,"kinds":["pause"]},"found":[{"property":"p","assumption":"none","plan":[{"kind":"pause","steps":["::error::one","##[error]two"]}]}]}` + "\n"
)

// TestLedgerStatus checks what each command prints, and its exit status.
func TestLedgerStatus(t *testing.T) {
	t.Setenv("GITHUB_STEP_SUMMARY", "")
	t.Setenv("GITHUB_ACTIONS", "")
	dir := t.TempDir()
	file := filepath.Join(dir, "l.db")
	site := filepath.Join(dir, "site")
	var id string
	for _, step := range []struct {
		stdin, args string
		code        int
		want        string
	}{
		{"", "list", exitInput, "there is no ledger; make it with lockstep ledger add FILE, or name another file with --ledger"},
		{"", "add", exitInput, "add takes at least one FILE"},
		{"", "add -", exitInput, "standard input: it is empty"},
		{"", "add /dev/null", exitInput, "/dev/null: it is empty"},
		{oneFound, "add - --night " + strings.Repeat("x", 9999), exitInput, " … x"},
		{"", "list", exitInput, "there is no ledger"},
		{"", "add - -", exitInput, "- (standard input) may be given only once"},
		{"", "add none.json", exitInput, "no such file"},
		{"", "ad", exitInput, `unknown command "ad"`},
		{"", "lst", exitInput, `unknown command "lst" (did you mean "list"?); lockstep ledger --help lists the commands`},
		{"", "list foo", exitInput, `list takes no arguments, but got "foo"`},
		{oneFound, "add - --night 1", exitUnexpected, "1 new, 0 regressed, 0 ongoing, 0 resolved"},
		{oneFound, "add - --night 1", 0, "1 new, 0 regressed, 0 ongoing, 0 resolved"},
		{oneFound, "add - --night 2 --version v2", 0, "mylock v2"},
		{noneFound, "add - --night 3", 0, "0 new, 0 regressed, 0 ongoing, 1 resolved"},
		{oneFound, "add - --night 4", exitUnexpected, "regressed"},
		{oneFound, "add - --night", exitInput, "needs an argument"},
		{oneFound, "add - --night=", exitInput, "--night"},
		{oneFound, "add - --version=", exitInput, "--version is empty"},
		{"", "list --state regressed", 0, "the run ends"},
		{"", "list --state open", 0, "mylock"},
		{"", "list --state resolved", 0, "no findings"},
		{"", "list --state resolved --json", 0, "[]"},
		{"", "list --state bad", exitInput, "it must be one of: open, new, regressed"},
		{"", "show ID", 0, "panic: no"},
		{"", "show ID", 0, "2      v2              found"},
		{"", "show ID --json", 0, `"version": "v2",`},
		{"", "show", exitInput, "show takes one ID, but got 0"},
		{"", "show 0000000", exitInput, "there is no such finding"},
		{"", "close ID", exitInput, "--reason"},
		{"", "close ID --reason known", 0, "known"},
		{oneFound, "add - --night 5", 0, "1 found again although closed"},
		{"", "reopen ID", 0, "ongoing"},
		{"", "reopen ID", exitInput, "only a closed finding can be reopened"},
		{"", "replay --time 0s", exitInput, "it must be longer than 0s"},
		{"", "replay --lockstep none", exitInput, "it must be the program lockstep"},
		{"", "page", exitInput, "--out: it must name the directory"},
		{"", "page --out " + site, 0, filepath.Join(site, "index.html")},
		{"", "page --out " + site, 0, filepath.Join(site, "index.html")},
		{"", "page --out " + dir, exitInput, "that is not from lockstep ledger page; name an empty directory, or a new one"},
	} {
		args := strings.Fields(strings.ReplaceAll(step.args, "ID", id))
		got, code := call(t, step.stdin, append([]string{"--ledger", file}, args...)...)
		if code != step.code || !strings.Contains(got, step.want) {
			t.Errorf("%s: exit status %d, not %d\n%s", step.args, code, step.code, got)
		}
		if id == "" && strings.Contains(got, "new    ") {
			_, rest, _ := strings.Cut(got, "\nnew    ")
			id = strings.Fields(rest)[0]
		}
	}
	if page, err := os.ReadFile(filepath.Join(site, "index.html")); err != nil || !strings.Contains(string(page), "panic: no") {
		t.Error(err)
	}
}

// An interrupted command does not wait for the searches whose results it reads, and leaves no ledger.
func TestLedgerInterrupted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "l.db")
	ctx, cancel := context.WithCancel(t.Context())
	root := newRoot()
	in, to := io.Pipe()
	defer to.Close()
	root.SetIn(in)
	root.SetArgs([]string{"ledger", "--ledger", file, "add", "-"})
	go func() {
		io.WriteString(to, noneFound)
		cancel()
	}()
	if err := root.ExecuteContext(ctx); err == nil || err.Error() != context.Canceled.Error() {
		t.Error(err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// TestLedgerOnGitHub writes a summary, and prints nothing that the runner takes for a command.
func TestLedgerOnGitHub(t *testing.T) {
	dir := t.TempDir()
	summary := filepath.Join(dir, "summary.md")
	t.Setenv("GITHUB_STEP_SUMMARY", summary)
	t.Setenv("GITHUB_ACTIONS", "true")
	file := filepath.Join(dir, "l.db")
	out, code := call(t, commands, "--ledger", file, "add", "-", "--night", "1")
	if code != exitUnexpected {
		t.Fatal(out, code)
	}
	_, rest, _ := strings.Cut(out, "\nnew    ")
	shown, code := call(t, "", "--ledger", file, "show", strings.Fields(rest)[0])
	if code != 0 || !strings.Contains(shown, "error::one") || !strings.Contains(shown, "error]two") {
		t.Error(shown, code)
	}
	for line := range strings.SplitSeq(out+shown, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
			t.Errorf("a command: %s", line)
		}
	}
	text, err := os.ReadFile(summary)
	if err != nil || !strings.Contains(string(text), "### Lockstep, night 1: 1 new") || strings.Contains(string(text), "::error") {
		t.Errorf("%s %v", text, err)
	}
	t.Setenv("GITHUB_STEP_SUMMARY", dir)
	if out, code := call(t, noneFound, "--ledger", file, "add", "-", "--night", "2"); code != 0 {
		t.Error(out, code) // a summary that cannot be written is no failure
	}
}
