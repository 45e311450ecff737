package main

import (
	"os"
	"regexp"
	"testing"
)

var shownCommand = regexp.MustCompile("(?s)(<!-- command:[^>]*-->\n```\n\\$ lockstep )([^\n]*)\n(.*?)(```\n<!-- /command -->)")

// What pages show of a command is what the command prints.
func TestDocumentedCommands(t *testing.T) {
	for _, file := range []string{"../../README.md", "../../docs/commands.md", "../../docs/exploring.md"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		shown := 0
		want := shownCommand.ReplaceAllStringFunc(string(data), func(block string) string {
			shown++
			part := shownCommand.FindStringSubmatch(block)
			return part[1] + part[2] + "\n" + prints(t, part[2]) + part[4]
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
