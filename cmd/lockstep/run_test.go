package main

import (
	"io"
	"strings"
	"testing"
)

// What is done again on real servers is said, whatever else workers print, in whichever pieces.
func TestAgain(t *testing.T) {
	var said strings.Builder
	a := &again{to: &said}
	for _, piece := range []string{"redis: pool.go: noise\npause/single on real ser", "vers, try 1 of 4: \x1b[31mmust c1", " acquires\npanic: x\n"} {
		if _, err := io.WriteString(a, piece); err != nil {
			t.Fatal(err)
		}
	}
	if got := said.String(); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "pause/single on real servers, try 1 of 4: ") || strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
}
