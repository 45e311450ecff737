package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

var (
	shownCommand = regexp.MustCompile("(?s)(<!-- command:[^>]*-->\n```\n\\$ lockstep )([^\n]*)\n(.*?)(```\n<!-- /command -->)")
	commandWord  = regexp.MustCompile(`'[^']*'|\S+`)
)

// What pages show of a command is what the command prints.
func TestDocumentedCommands(t *testing.T) {
	for _, file := range []string{"../../README.md", "../../docs/exploring.md"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		shown := 0
		want := shownCommand.ReplaceAllStringFunc(string(data), func(block string) string {
			shown++
			part := shownCommand.FindStringSubmatch(block)
			var args []string
			for _, word := range commandWord.FindAllString(part[2], -1) {
				args = append(args, strings.Trim(word, "'"))
			}
			c := exec.Command(os.Args[0], args...)
			c.Env = append(os.Environ(), asProgram+"=1")
			out, err := c.Output()
			if c.ProcessState == nil || c.ProcessState.ExitCode() == exitInput {
				t.Fatalf("lockstep %s: %v\n%s", part[2], err, out)
			}
			return part[1] + part[2] + "\n" + string(out) + part[4]
		})
		if shown == 0 {
			t.Errorf("%s shows no command", file)
		}
		if *rewriteReadme {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if want != string(data) {
			t.Errorf("%s shows something else than its commands print; go test ./cmd/lockstep -run Commands -rewrite renews it", file)
		}
	}
}
