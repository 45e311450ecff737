package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"lockstep/internal/draws"
)

var shownCommand = regexp.MustCompile("(?s)(<!-- command:[^>]*-->\n```\n\\$ lockstep )([^\n]*)\n(.*?)(```\n<!-- /command -->)")

// The output of commands in the documentation is what they print.
func TestDocumentedCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("plays the runs of many commands")
	}
	for _, file := range []string{"../../README.md", "../../docs/commands.md", "../../docs/exploring.md", "../../docs/why.md", "../../docs/limits.md"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		shown := 0
		want := shownCommand.ReplaceAllStringFunc(string(data), func(block string) string {
			shown++
			part := shownCommand.FindStringSubmatch(block)
			if strings.HasPrefix(part[2], "limits ") && !*rewriteReadme && !draws.Due(uint64(shown), 5) { // each plays thousands of runs
				return block
			}
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
			t.Errorf("%s does not show what its commands print; go test ./cmd/lockstep -run Commands -rewrite renews it", file)
		}
	}
}
