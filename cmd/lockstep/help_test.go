package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"lockstep/clients"
	"lockstep/clients/libraries"
	"lockstep/reports"
)

// The help of each command fits into reports.Width columns, and has an example.
func TestHelp(t *testing.T) {
	seen := 0
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		seen++
		var b bytes.Buffer
		c.SetOut(&b)
		c.InitDefaultHelpFlag()
		if err := c.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > reports.Width {
				t.Errorf("%s --help has a line of %d columns: %s", c.CommandPath(), n, line)
			}
			if strings.HasSuffix(line, " ") {
				t.Errorf("%s --help has a line that ends in a space: %q", c.CommandPath(), line)
			}
		}
		if c.Runnable() && c.Example == "" && c.Name() != "version" && c.Name() != "help" {
			t.Errorf("%s --help has no example", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			look(sub)
		}
	}
	look(newApp(known{locks: clients.Locks(), libraries: libraries.Locks()}))
	if seen < 18 {
		t.Errorf("%d commands", seen)
	}
}

// Only running text is broken into lines. Indented lines stay as they are.
func TestFit(t *testing.T) {
	words := strings.Repeat("word ", 30)
	c := &cobra.Command{Long: words + "\nand more.\n\nThe kinds:\n  network  delay,\n  nodes    crash\n\nEnd."}
	fit(c)
	want := strings.Repeat("word ", 19) + "word\n" + strings.Repeat("word ", 10) + "and more.\n\nThe kinds:\n  network  delay,\n  nodes    crash\n\nEnd."
	if c.Long != want {
		t.Errorf("%q, want %q", c.Long, want)
	}
}
