package pictures

import (
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"pgregory.net/rapid"
)

func TestPlaceLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ls []label
		for range rapid.IntRange(0, 60).Draw(t, "labels") {
			ls = append(ls, label{
				text:   strings.Repeat("w", rapid.IntRange(1, 90).Draw(t, "length")),
				face:   labelFace,
				x:      vg.Length(rapid.Float64Range(0, 1000).Draw(t, "x")),
				weight: rapid.IntRange(0, 3).Draw(t, "weight"),
			})
		}
		placed, rows := placeLabels(ls, 0, 1000)
		if len(placed) > len(ls) || rows > maxRows {
			t.Fatalf("%d of %d labels in %d rows", len(placed), len(ls), rows)
		}
		for i, a := range placed {
			if a.box.x0 < 0 || a.box.x1 > 1000 || a.row >= rows {
				t.Fatalf("%+v lies outside", a.box)
			}
			for _, b := range placed[:i] {
				if a.row == b.row && a.box.overlaps(b.box) {
					t.Fatalf("row %d: %+v and %+v", a.row, a.box, b.box)
				}
			}
		}
		// The heaviest label is never left out.
		heaviest := slices.MaxFunc(append(ls, label{}), func(a, b label) int { return a.weight - b.weight }).weight
		if len(ls) > 0 && placed[0].weight != heaviest {
			t.Fatalf("the first label has weight %d, the heaviest %d", placed[0].weight, heaviest)
		}
	})
}

func TestFit(t *testing.T) {
	long := strings.Repeat("mutual exclusion ", 20)
	for _, width := range []vg.Length{0, 5, 40, 300} {
		if got := labelFace.fit(long, width); labelFace.width(got) > width {
			t.Errorf("fit to %v gives %q", width, got)
		}
	}
	if got := labelFace.fit("short", 300); got != "short" {
		t.Errorf("fit changed a text that fits to %q", got)
	}
}
