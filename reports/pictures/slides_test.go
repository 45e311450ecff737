package pictures

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/reports/explorer"
	"lockstep/reports/internal/sample"
)

func slidesOf(r sample.Run) *Slides { return NewSlides(facts.Of(r.H), r.Result) }

// drawnBy returns what a method writes.
func drawnBy(t testing.TB, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func busyRun() sample.Run {
	h := sample.Busy()
	return sample.Run{Name: "busy", H: h, Result: checker.Check(facts.Of(h), nil)}
}

// Slides are 16 to 9, their labels do not overlap, and the same run gives the same bytes.
func TestSlides(t *testing.T) {
	for _, r := range append(sample.Runs(t), sample.Hostile(), busyRun()) {
		s := slidesOf(r)
		f := s.figure
		if f.width*9 != f.height*16 {
			t.Errorf("%s: %v by %v is not 16 to 9", r.Name, f.width, f.height)
		}
		if err := overlap(f); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
		svg := drawnBy(t, s.Whole().WriteSVG)
		if err := wellFormed(svg); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
		if svg != drawnBy(t, slidesOf(r).Whole().WriteSVG) {
			t.Errorf("%s: a different slide the second time", r.Name)
		}
		if !strings.Contains(svg, ">0.000s<") || len(r.H.Meta.Nodes) > 0 && !strings.Contains(svg, ">Redis<") {
			t.Errorf("%s: the last slide does not say where time begins, or what a node is", r.Name)
		}
		if !strings.Contains(svg, string(r.Result.Verdict)) {
			t.Errorf("%s: the last slide does not say %s", r.Name, r.Result.Verdict)
		}
	}
	s := slidesOf(sample.Runs(t)[0])
	data := drawnBy(t, s.Slide(2).WritePNG)
	img, err := png.Decode(strings.NewReader(data))
	if err != nil || img.Bounds().Dx() != 1920 || img.Bounds().Dy() != 1080 {
		t.Errorf("%v, %v", img.Bounds(), err)
	}
}

// What is drawn at one step is drawn at the same place at the next: texts stay, and what lasts only grows. The last slide has everything.
func TestSlidesGrow(t *testing.T) {
	for _, r := range sample.Runs(t) {
		s := slidesOf(r)
		if whole := s.Whole().figure; whole.now != whole.End {
			t.Errorf("%s: the last slide stops at %v of %v", r.Name, whole.now, whole.End)
		}
		for n := 2; n <= s.Len(); n++ {
			if n > 9 && n < s.Len() {
				continue
			}
			before, after := thingsOn(s.Slide(n-1).figure), thingsOn(s.Slide(n).figure)
			for what, reach := range before {
				if after[what] < reach {
					t.Errorf("%s: %+v reaches %v on slide %d, and %v on the next", r.Name, what, reach, n-1, after[what])
				}
			}
		}
		if got, want := drawnBy(t, s.Slide(s.Len()).WriteSVG), drawnBy(t, s.Whole().WriteSVG); got != want {
			t.Errorf("%s: the last step is not the whole picture", r.Name)
		}
		if first := drawnBy(t, s.Slide(1).WriteSVG); s.Len() > 1 && strings.Contains(first, "SAFE") {
			t.Errorf("%s: the first slide gives the verdict away", r.Name)
		}
	}
}

// A thing is something that is drawn, with its place; its reach is where it ends.
type thing struct {
	kind, text string
	lane       int
	box        box
}

func thingsOn(f *figure) map[thing]float64 {
	all := map[thing]float64{}
	for i, l := range f.Lanes {
		for _, b := range l.Bars {
			if b.From <= f.now {
				all[thing{"bar", b.Text, i, box{x0: f.x(b.From)}}] = float64(f.reach(b.From, b.To))
			}
		}
		for _, s := range l.Shades {
			if s.From <= f.now {
				all[thing{"shade", s.Text, i, box{x0: f.x(s.From)}}] = float64(f.reach(s.From, s.To))
			}
		}
		for _, m := range l.Marks {
			if m.At <= f.now {
				all[thing{"mark", m.Text, i, box{x0: f.x(m.At)}}] = 1
			}
		}
		for _, l := range f.labels[i] {
			if l.at <= f.now {
				all[thing{"label", l.text, i, l.box}] = 1
			}
		}
		for _, b := range f.barTexts(i) {
			all[thing{"text", b.text, i, b.box}] = 1
		}
	}
	return all
}

// Violations are named on the slide on which they occur, and nowhere before.
func TestSlidesSayWhatIsWrong(t *testing.T) {
	r := sample.Runs(t)[0]
	const wrong = "c1 writes A 5.0 s after its lease ended, while c2 holds the lock"
	s := slidesOf(r)
	var said []string
	for n := 1; n <= s.Len(); n++ {
		svg := drawnBy(t, s.Slide(n).WriteSVG)
		if strings.Contains(svg, ">"+wrong+"<") {
			said = append(said, s.steps[n-1].Text)
		}
	}
	if want := []string{"The resource accepted A from c1.", ""}; !slices.Equal(said, want) {
		t.Errorf("said at %q, want %q", said, want)
	}
}

var animates = regexp.MustCompile(`animation:([a-z0-9]+) ([.\d]+)s`)

// An animation is a picture of the whole run to whoever does not animate it: nothing but a style sheet moves it, and nothing is fetched.
func TestAnimation(t *testing.T) {
	for _, r := range append(sample.Runs(t), sample.Hostile()) {
		s := slidesOf(r)
		svg := drawnBy(t, s.WriteAnimation)
		if svg != drawnBy(t, slidesOf(r).WriteAnimation) {
			t.Errorf("%s: a different animation the second time", r.Name)
		}
		ids := readAnimation(t, r.Name, svg)
		for _, m := range animates.FindAllStringSubmatch(svg, -1) {
			if !strings.Contains(svg, "@keyframes "+m[1]+"{") {
				t.Errorf("%s: no key frames %s", r.Name, m[1])
			}
		}
		for _, m := range regexp.MustCompile(`url\(#(\w+)\)`).FindAllStringSubmatch(svg, -1) {
			if !slices.Contains(ids, m[1]) {
				t.Errorf("%s: no element has the ID %s", r.Name, m[1])
			}
		}
		if !strings.Contains(svg, "@media screen and (prefers-reduced-motion: no-preference) {") {
			t.Errorf("%s: it moves on paper, or for readers who prefer that it does not", r.Name)
		}
		a := newAnimation(s)
		if a.length < leastPlay-1e6 || a.length > mostPlay+1e6 {
			t.Errorf("%s: it takes %v", r.Name, a.length)
		}
		for i, st := range a.stops {
			if a.appears(i) > st.from || a.appears(i+1) < st.to {
				t.Errorf("%s: the line stands still from %v to %v, and the caption %q is there from %v to %v", r.Name, st.from, st.to, st.Text, a.appears(i), a.appears(i+1))
			}
			if st.alarm != "" && st.to-st.from < 2*leastStop {
				t.Errorf("%s: a violation is shown for %v", r.Name, st.to-st.from)
			}
		}
	}
}

// readAnimation returns the IDs of elements, and checks that the file has no scripts, no links and no hidden parts but captions and the line.
func readAnimation(t *testing.T, name, svg string) (ids []string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return ids
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if !slices.Contains([]string{"svg", "title", "desc", "style", "clipPath", "rect", "g", "path", "text"}, e.Name.Local) {
			t.Errorf("%s: an element %s", name, e.Name.Local)
		}
		for _, a := range e.Attr {
			switch {
			case a.Name.Local == "id":
				ids = append(ids, a.Value)
			case a.Name.Local == "href", strings.HasPrefix(a.Name.Local, "on"), strings.Contains(a.Value, "url(") && a.Value != "url(#past)",
				a.Name.Local != "xmlns" && strings.Contains(a.Value, "://"):
				t.Errorf("%s: %s=%q", name, a.Name.Local, a.Value)
			}
		}
	}
}

// If there is no room for words, clients are drawn without them, so that type does not become too small.
func TestCrowdedSlide(t *testing.T) {
	s := slidesOf(sample.Judged("herd", sample.Herd()))
	for i, l := range s.figure.Lanes {
		for _, label := range s.figure.labels[i] {
			if l.Kind == explorer.ClientLane && strings.HasPrefix(label.text, "acquire") {
				t.Errorf("%s says %q", l.Name, label.text)
			}
		}
	}
}
