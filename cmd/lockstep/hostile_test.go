package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// hostileFile is a name that tells a terminal to clear itself, to change its title, and to write from right to left.
const hostileFile = "it's\x1b[2J\x1b]0;title\a\u202eevil\u2066 \\n\u009b31m"

// hostilePage is a scenario with marks of direction in its prose. They are allowed there; control characters are not.
const hostilePage = `# Two writes ` + "\u202e" + `reversed.
#
# The prose ` + "\u2067is\u200f" + ` reversed as well.

client c1
  acquire
  pause 15s
  write A
client c2
  until 12s
  acquire
  write B
must c1 resumes after its lease ended

-- single nodes=1 --
`

// No command prints characters from names or prose that a terminal would obey, however it ends.
func TestHostileNames(t *testing.T) {
	dir := t.TempDir()
	page := hostileFile + ".txtar"
	write(t, filepath.Join(dir, page), hostilePage)
	write(t, filepath.Join(dir, "broken"+page), strings.ReplaceAll(hostilePage, "pause 15s", "puase\u202e 15s"))
	write(t, filepath.Join(dir, hostileFile, "broken.jsonl"), "{\x1b}")
	write(t, filepath.Join(dir, "\xff.txtar"), hostilePage)
	out := hostileFile + "-out"
	printed := ""
	for _, c := range []struct {
		status int
		args   string // with PAGE, FILE and OUT
		want   string // in what it prints
	}{
		{1, "run PAGE --out OUT", "it's?[2J?]0;title??evil? \\n?31m/single"},
		{1, "run PAGE PAGE -v", "verdict: UNSAFE"},
		{3, "run brokenPAGE", `.txtar:7: unknown step "puase\u202e"`},
		{3, "run PAGE/FILE", "unknown run"},
		{3, "run FILE", ": that is a directory; name a .txtar file in it"},
		{3, "run noFILE", "unknown scenario"},
		{3, "run --lock FILE", "unknown lock"},
		{3, "run PAGE --on redis://127.0.0.1:1 --speed 2", "127.0.0.1:1"},
		{1, "show PAGE", "The prose ?is? reversed as well."},
		{1, "show PAGE --html OUT/run.html --svg OUT/run.svg", "— UNSAFE: resource exclusion"},
		{3, "show PAGE --html PAGE/run.html", ": that is a file; name a directory"},
		{1, "check OUT PAGE", "see it again: lockstep show"},
		{1, "check OUT", "?: no scenario in the catalogue"},
		{3, "check FILE", "broken.jsonl:1: "},
		{3, "check OUT --against PAGE", "not a line of lockstep run --json"},
		{1, "matrix PAGE --lock single --out OUT", "written: it's?[2J"},
		{1, "matrix PAGE --lock single --markdown", "Two writes ?reversed"},
		{1, "explore PAGE --kinds pause --out OUT/found", "see it: lockstep replay"},
		{1, "replay PAGE --save OUT/saved.txtar", "verdict: UNSAFE"},
		{3, "plot clocks PAGE --out OUT", "every clock showed true time"},
		{0, "plot wait PAGE --out OUT", "wait.png"},
		{3, "plot FILE", "unknown plot"},
		{3, "serve FILE-nowhere", "there is no such directory"},
		{3, "run \xff.txtar", `"\xff.txtar": the name of a scenario file must be valid UTF-8`},
		{3, "FILE", "unknown command"},
		{3, "run --FILE", "unknown flag"},
	} {
		var args []string
		for word := range strings.SplitSeq(c.args, " ") {
			args = append(args, strings.NewReplacer("PAGE", page, "FILE", hostileFile, "OUT", out).Replace(word))
		}
		p := exec.Command(os.Args[0], args...)
		p.Dir = dir
		p.Env = append(os.Environ(), asProgram+"=1")
		said, _ := p.CombinedOutput()
		if p.ProcessState == nil || p.ProcessState.ExitCode() != c.status || !strings.Contains(string(said), c.want) {
			t.Errorf("%s: %v, want %d and %q:\n%q", c.args, p.ProcessState, c.status, c.want, said)
		}
		for line := range strings.Lines(string(said)) {
			if i := strings.IndexFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return r != '\t' && !unicode.IsGraphic(r) }); i >= 0 {
				t.Errorf("%s prints %q", c.args, line)
			}
		}
		printed += string(said)
	}

	// The commands that show runs again still name the right files.
	bash, err := exec.LookPath("bash")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("there is no bash to run the commands")
	}
	again := regexp.MustCompile(`(?m)see it(?: again)?: lockstep (.*)$`).FindAllStringSubmatch(printed, -1)
	if len(again) < 4 {
		t.Errorf("%d commands in\n%s", len(again), printed)
	}
	for _, a := range again {
		p := exec.Command(bash, "-c", "exec "+quoted(os.Args[0])+" "+a[1])
		p.Dir = dir
		p.Env = append(os.Environ(), asProgram+"=1")
		if said, _ := p.CombinedOutput(); !strings.Contains(string(said), "verdict: UNSAFE") {
			t.Errorf("%s: %s", a[1], said)
		}
	}
}
