package main

import (
	"strings"
	"testing"
	"time"
)

// Where the output is no terminal, there is a line every ten seconds, with an estimate if the number of steps is known.
func TestProgressLines(t *testing.T) {
	var out strings.Builder
	p := progress(&out, -1)
	now := p.start
	p.now = func() time.Time { return now }
	for _, step := range []struct {
		after     time.Duration
		done, all int
		want      string
	}{
		{9 * time.Second, 90, -1, ""},
		{10 * time.Second, 1000, -1, "  1,000 done after 10s: runs\n"},
		{19 * time.Second, 1900, 4000, ""},
		{20 * time.Second, 2000, 8000, "  2,000 of 8,000 done after 20s, about 1m0s left: runs\n"},
		{30 * time.Second, 160, 8000, "  160 of 8,000 done after 30s: runs\n"},
		{40 * time.Second, 8000, 8000, "  8,000 of 8,000 done after 40s: runs\n"},
	} {
		out.Reset()
		now = p.start.Add(step.after)
		p.describe("runs")
		p.set(step.done, step.all)
		if out.String() != step.want {
			t.Errorf("after %v: %q, want %q", step.after, out.String(), step.want)
		}
	}
	p.finish()
	var none *progressLine
	none.describe("nothing")
	none.add(1)
	none.finish()
}
