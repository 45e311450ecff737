package pictures

import (
	"fmt"
	"image/color"
	"os"
	"regexp"
	"testing"

	"lockstep/reports/explorer"
	"lockstep/reports/internal/sample"
	"lockstep/sim/history"
)

// No two of the first thirty clients look the same, and neighbours share neither colour nor pattern.
func TestLooksDiffer(t *testing.T) {
	h := &history.History{}
	for i := range 30 {
		h.Meta.Clients = append(h.Meta.Clients, fmt.Sprintf("c%d", i+1))
	}
	c := cast(explorer.CastOf(h))
	seen := map[look]string{}
	for i, client := range h.Meta.Clients {
		l := c.look(client)
		if other, found := seen[l]; found {
			t.Errorf("%s looks like %s", client, other)
		}
		seen[l] = client
		if i > 0 {
			if before := c.look(h.Meta.Clients[i-1]); before.ink == l.ink || before.pattern == l.pattern {
				t.Errorf("%s looks much like its neighbour", client)
			}
		}
		if l.ink == red {
			t.Errorf("%s has the colour of violations", client)
		}
	}
}

// Pictures are drawn for the light theme. After the filter of the dark theme of the debate, too, their colours for text have a contrast
// of at least 4.5.
func TestNight(t *testing.T) {
	style, err := os.ReadFile("../debate/site.css")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`filter: invert\(([0-9.]+)\) hue-rotate\(180deg\) brightness\(([0-9.]+)\);`).FindSubmatch(style)
	if m == nil {
		t.Fatal("the style has no such filter for pictures in the dark theme")
	}
	var invert, brightness float64
	if _, err := fmt.Sscan(string(m[1])+" "+string(m[2]), &invert, &brightness); err != nil {
		t.Fatal(err)
	}
	night := func(c color.NRGBA) float64 { // the relative luminance
		var in, out [3]float64
		for i, v := range []uint8{c.R, c.G, c.B} {
			in[i] = float64(v)/255*(1-2*invert) + invert
		}
		grey := []float64{0.213, 0.715, 0.072} // hue-rotate(180deg) mirrors a colour at this grey: Filter Effects, 8.5
		for i := range out {
			out[i] = min(1, max(0, brightness*(2*(grey[0]*in[0]+grey[1]*in[1]+grey[2]*in[2])-in[i])))
		}
		return sample.Luminance(t, fmt.Sprintf("%02x%02x%02x", int(255*out[0]), int(255*out[1]), int(255*out[2])))
	}
	check := func(c color.NRGBA, least float64) {
		if got := sample.Contrast(night(c), night(white)); got < least {
			t.Errorf("%v has a contrast of %.2f in the dark theme, want %.1f", c, got, least)
		}
	}
	for _, c := range []color.NRGBA{black, grey, red, calm, doubt} {
		check(c, 4.5)
	}
	for _, l := range looks {
		check(l.ink, 4.5)
	}
}
