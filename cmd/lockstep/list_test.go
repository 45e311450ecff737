package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"lockstep/clients"
	"lockstep/clients/libraries"
)

// What is listed fits into 80 columns where nobody knows how wide a terminal is.
func TestListFits(t *testing.T) {
	root := newApp(known{clients.Locks(), libraries.Locks()})
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetArgs([]string{"list"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("a line has %d columns: %s", n, line)
		}
	}
	for _, name := range []string{"hung-node-of-three", "redlock-sequential", "rueidislock"} {
		if !strings.Contains(out.String(), "\n  "+name+" ") {
			t.Errorf("%s is not listed", name)
		}
	}
}
