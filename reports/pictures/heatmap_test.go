package pictures

import (
	"bytes"
	"flag"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var redraw = flag.Bool("rewrite", false, "redraw the pictures in testdata")

// sampleMap is a map of n by n cells. A pause that outlives the lease does harm there, and some cells are missing.
func sampleMap(n int) *HeatMap {
	m := &HeatMap{
		Title:    "Share of unsafe runs: redlock on 5 nodes",
		Subtitle: "a client pauses, once in each run, each time at another place; 2 clients; 100 runs per cell",
		Foot:     "2,400 runs: 310 unsafe, 12 prove nothing, 40 in which the perturbation had no effect",
		X:        HeatAxis{Label: "a client pauses (s)"},
		Y:        HeatAxis{Label: "TTL (s)"},
		Bound:    "pause = TTL",
	}
	for i := range n {
		m.X.Values = append(m.X.Values, 60*float64(i)/float64(n-1))
		m.Y.Values = append(m.Y.Values, 1+29*float64(i)/float64(n-1))
	}
	for j := range n {
		for i := range n {
			if i == n-1 && j%3 == 1 {
				continue
			}
			share := 0.0
			if m.X.Values[i] > m.Y.Values[j] {
				share = 0.01 + 0.37*float64(i-j+n)/float64(2*n)
			}
			m.Cells = append(m.Cells, HeatCell{X: i, Y: j, Runs: 100, Unsafe: int(100 * share), Share: share, Low: share * 0.8, High: share*1.2 + 0.02, Doubtful: j == 1 && i > n/2})
		}
	}
	return m
}

// Cells with few runs have counts, not percentages.
func TestHeatMapFewRuns(t *testing.T) {
	m := sampleMap(5)
	for i := range m.Cells {
		m.Cells[i].Runs, m.Cells[i].Unsafe, m.Cells[i].Share = 29, 0, 0
	}
	m.Cells[0].Runs = 30
	svg, _ := drawn(t, m)
	if few, share := strings.Count(string(svg), ">0 of 29<"), strings.Count(string(svg), ">0 %<"); few != len(m.Cells)-1 || share != 2 {
		t.Errorf("%d cells say 0 of 29, and %d texts say 0 %%; want %d, and 2: one cell and the scale", few, share, len(m.Cells)-1)
	}
}

// sampleCurve is one row of a map.
func sampleCurve() *HeatMap {
	m := sampleMap(9)
	m.Cells = slices.DeleteFunc(m.Cells, func(c HeatCell) bool { return c.Y != 1 })
	for i := range m.Cells {
		m.Cells[i].Y = 0
	}
	m.Y = HeatAxis{}
	m.Bound, m.BoundAt = "TTL", 10
	return m
}

func drawn(t *testing.T, m *HeatMap) (svg, png []byte) {
	t.Helper()
	var s, p bytes.Buffer
	if err := m.WriteSVG(&s); err != nil {
		t.Fatal(err)
	}
	if err := m.WritePNG(&p); err != nil {
		t.Fatal(err)
	}
	return s.Bytes(), p.Bytes()
}

// The pictures are those in testdata. PNG files are compared pixel by pixel, because encoders may change.
func TestHeatMapGolden(t *testing.T) {
	for name, m := range map[string]*HeatMap{"map": sampleMap(5), "curve": sampleCurve()} {
		svg, pixels := drawn(t, m)
		again, pixelsAgain := drawn(t, m)
		if !bytes.Equal(svg, again) || !bytes.Equal(pixels, pixelsAgain) {
			t.Errorf("%s: a different picture the second time", name)
		}
		for ending, got := range map[string][]byte{".svg": svg, ".png": pixels} {
			file := filepath.Join("testdata", name+ending)
			if *redraw {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			same := bytes.Equal(got, want)
			if ending == ".png" {
				same = samePixels(t, got, want)
			}
			if !same {
				t.Errorf("%s differs from the picture drawn now; run with -rewrite, and look at it", file)
			}
		}
	}
}

func samePixels(t *testing.T, a, b []byte) bool {
	t.Helper()
	x, err := png.Decode(bytes.NewReader(a))
	if err != nil {
		t.Fatal(err)
	}
	y, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if x.Bounds() != y.Bounds() {
		return false
	}
	for j := range x.Bounds().Dy() {
		for i := range x.Bounds().Dx() {
			if x.At(i, j) != y.At(i, j) {
				return false
			}
		}
	}
	return true
}

// TestHeatMapPictures writes maps of other sizes to the directory that PICTURES names, for people to look at.
func TestHeatMapPictures(t *testing.T) {
	dir := os.Getenv("PICTURES")
	if dir == "" {
		t.Skip("PICTURES names no directory")
	}
	wide := sampleMap(25)
	wide.Cells = slices.DeleteFunc(wide.Cells, func(c HeatCell) bool { return c.Y > 2 })
	wide.Y.Values = wide.Y.Values[:3]
	for name, m := range map[string]*HeatMap{"map25": sampleMap(25), "map5": sampleMap(5), "map2": sampleMap(2), "wide": wide, "curve": sampleCurve()} {
		_, data := drawn(t, m)
		if err := os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The scale gets darker in steps that an eye sees as even (CIE L*), so that it can be read without its colours.
func TestHeatIsEven(t *testing.T) {
	lightness := func(at float64) float64 {
		c := heatAt(at)
		linear := func(v uint8) float64 {
			s := float64(v) / 255
			if s <= 0.04045 {
				return s / 12.92
			}
			return math.Pow((s+0.055)/1.055, 2.4)
		}
		return 116*math.Cbrt(0.2126*linear(c.R)+0.7152*linear(c.G)+0.0722*linear(c.B)) - 16
	}
	const steps = 10
	even := (lightness(0) - lightness(1)) / steps
	for i := range steps {
		step := lightness(float64(i)/steps) - lightness(float64(i+1)/steps)
		if step < 0.75*even || step > 1.25*even {
			t.Errorf("step %d is %.1f; the others are about %.1f", i, step, even)
		}
	}
	if d := lightness(0) - lightness(1); d < 60 {
		t.Errorf("the scale spans %.0f of 100, want at least 60", d)
	}
}

// Cells that are missing or doubtful have signs of their own. The legend explains only signs that occur.
func TestHeatMapSigns(t *testing.T) {
	whole := sampleMap(5)
	whole.Cells = nil
	for j := range whole.Y.Values {
		for i := range whole.X.Values {
			whole.Cells = append(whole.Cells, HeatCell{X: i, Y: j})
		}
	}
	has := func(m *HeatMap, text string) bool {
		svg, _ := drawn(t, m)
		return strings.Contains(string(svg), ">"+text+"<")
	}
	for _, text := range []string{"not run", "proves little"} {
		if has(whole, text) {
			t.Errorf("a map without missing or doubtful cells says %q", text)
		}
		if !has(sampleMap(5), text) {
			t.Errorf("the sample does not say %q", text)
		}
	}
	if !has(whole, "0 %") {
		t.Error("no text in the cells of a small map")
	}
}

func TestRoundTicks(t *testing.T) {
	for _, test := range []struct {
		from, to float64
		n        int
		want     string
	}{
		{0, 60, 25, "0 5 10 15 20 25 30 35 40 45 50 55 60"},
		{1, 30, 25, "5 10 15 20 25 30"},
		{-20, 20, 21, "-20 -15 -10 -5 0 5 10 15 20"},
		{1, 9, 9, "1 2 3 4 5 6 7 8 9"},
		{5, 5, 1, "5"},
		{0, 0.3, 31, "0 0.05 0.1 0.15 0.2 0.25 0.3"},
	} {
		a := HeatAxis{}
		for i := range test.n {
			a.Values = append(a.Values, test.from+(test.to-test.from)*float64(i)/float64(max(test.n-1, 1)))
		}
		var got []string
		for _, tick := range a.ticks() {
			got = append(got, tick.text)
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("%v to %v in %d: %s, want %s", test.from, test.to, test.n, s, test.want)
		}
	}
}
