package pictures

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/reports"
	"lockstep/reports/explorer"
	"lockstep/reports/internal/sample"
	"lockstep/sim/history"
)

func svg(t testing.TB, r sample.Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := NewTimeline(facts.Of(r.H), r.Result).WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func pngOf(t testing.TB, r sample.Run) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := NewTimeline(facts.Of(r.H), r.Result).WritePNG(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPictures writes the pictures of all histories to the directory that PICTURES names, for people to look at. No test can say
// whether a picture is understood in ten seconds.
func TestPictures(t *testing.T) {
	dir := os.Getenv("PICTURES")
	if dir == "" {
		t.Skip("PICTURES names no directory")
	}
	for _, r := range append(sample.Runs(t), sample.Hostile(), sample.Run{Name: "busy", H: sample.Busy(), Result: checker.Check(facts.Of(sample.Busy()), nil)}) {
		for ext, data := range map[string][]byte{".png": pngOf(t, r), ".svg": []byte(svg(t, r))} {
			if err := os.WriteFile(filepath.Join(dir, r.Name+ext), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestPicturesAreReproducible(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for i, r := range sample.Runs(t) {
		runtime.GOMAXPROCS(1)
		want := svg(t, r)
		runtime.GOMAXPROCS(4)
		if svg(t, r) != want {
			t.Errorf("%s: a different SVG the second time", r.Name)
		}
		if i > 0 {
			continue // drawing pixels is slow, and starts from the same figure
		}
		if !bytes.Equal(pngOf(t, r), pngOf(t, r)) {
			t.Errorf("%s: a different PNG the second time", r.Name)
		}
	}
}

// Pictures can be drawn in parallel. They share the fonts.
func TestPicturesInParallel(t *testing.T) {
	rs := sample.Runs(t)[:3]
	var want []string
	for _, r := range rs {
		want = append(want, svg(t, r))
	}
	var wg sync.WaitGroup
	for range 2 {
		for i, r := range rs {
			wg.Go(func() {
				if svg(t, r) != want[i] {
					t.Errorf("%s: a different SVG in parallel", r.Name)
				}
			})
		}
	}
	wg.Wait()
}

func TestPNGSize(t *testing.T) {
	r := sample.Runs(t)[0]
	img, err := png.Decode(bytes.NewReader(pngOf(t, r)))
	if err != nil {
		t.Fatal(err)
	}
	height := int(NewTimeline(facts.Of(r.H), r.Result).figure.height)
	if got := img.Bounds().Size(); got != image.Pt(1200, height) {
		t.Errorf("size %v, want 1200×%d", got, height)
	}
}

// Red is reserved for violations, so a picture has red exactly if the checker found one.
func TestViolationIsMarked(t *testing.T) {
	r, g, b, _ := red.RGBA()
	ink := fmt.Sprintf("#%02X%02X%02X", r>>8, g>>8, b>>8)
	for _, r := range sample.Runs(t) {
		f := NewTimeline(facts.Of(r.H), r.Result).figure
		marks := len(f.Bands) + len(f.Callouts)
		for _, l := range f.Lanes {
			for _, m := range l.Marks {
				if m.Proof {
					marks++
				}
			}
		}
		want := len(r.Result.Violations) > 0
		if got := strings.Contains(svg(t, r), ink); got != want {
			t.Errorf("%s: red %v, want %v", r.Name, got, want)
		}
		if (marks > 0) != want {
			t.Errorf("%s: %d marks of violations, want some %v", r.Name, marks, want)
		}
		if want && len(f.Callouts) == 0 {
			t.Errorf("%s: no callout", r.Name)
		}
	}
}

// The pictures have the words that a reader should find in ten seconds.
func TestPicturesSay(t *testing.T) {
	want := map[string][]string{
		"pause": {"UNSAFE: resource exclusion violated (bounded pause broken)", "paused 15 s", "c1 writes A 5.0 s after its lease ended, while c2 holds the lock",
			"c1#1 is over, c1 does not notice", "c2 holds c2#1"},
		"pause-fenced":     {"SAFE", "write A of c1 rejected: token 33 is lower than 34", "A from c1 rejected: fence 33 &lt; 34"},
		"clock-jump":       {"UNSAFE: lease exclusion violated (bounded clock error broken)", "clock +11s", "c1 and c2 hold the lock at once, for 2.0 s", "c1 ↔ n4,n5 cut"},
		"crash-restart":    {"durable nodes broken", "crashed", "restarts empty", "lost", "c2#1 granted: 3 of 5"},
		"halves":           {"SAFE", "Redis", ">+1.2 s<", ">0.000s<", "acquire refused ×12", "c2 ↔ n1..n3 cut"},
		"calm":             {"SAFE", "2 leases granted, one after the other"},
		"unknown":          {"UNKNOWN", "must c1 resumes after its lease ended"},
		"crash-no-ttl":     {"UNSAFE: deadlock freedom violated (no assumption broken)", "probe asked for the lock"},
		"fixed-value":      {"owner only", "deleted by c1"},
		"pause-in-acquire": {"expired on return", "lease over"},
		"failover": {"lease exclusion", "durable nodes broken", "n1 → r1 held", "crashed", "s1: n1 does not answer", "s2: n1 is down",
			"s1..s3", "acquire: no answer ×4", "primary from here on, without c1#1", "c1 and c2 hold the lock at once"},
		"failover-copied":   {"SAFE", "copy of c1#1", "primary from here on<", "acquire refused", "copy of a key"},
		"counter":           {"SAFE", "40 leases granted", "increment ×17", "40 from c2"},
		"watchdog":          {"renews", "told that c1#1 is lost", "paused 15 s", "c1 writes A 6.0 s after its lease ended"},
		"check-and-set":     {"mark is c2#1", "x A from c1 rejected", "rejected: mark is c2#1", "C from c2 kept beside the others"},
		"delay-to-resource": {"A of c1 arrives 90 s late", "c1 → resource held"},
	}
	for _, r := range sample.Runs(t) {
		got := svg(t, r)
		for _, s := range want[r.Name] {
			if !strings.Contains(got, s) {
				t.Errorf("%s: the picture does not say %q", r.Name, s)
			}
		}
	}
}

func TestLabelsDoNotOverlap(t *testing.T) {
	for _, r := range append(sample.Runs(t), sample.Hostile(), sample.Run{Name: "busy", H: sample.Busy(), Result: checker.Check(facts.Of(sample.Busy()), nil)}) {
		if err := overlap(NewTimeline(facts.Of(r.H), r.Result).figure); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
}

// overlap returns an error if two labels overlap, or one leaves the picture.
func overlap(f *figure) error {
	var all []label
	for _, ls := range f.labels {
		all = append(all, ls...)
	}
	for i, a := range all {
		if a.box.x0 < f.left || a.box.x1 > f.right || a.box.y0 < f.top-rowHeight || a.box.y1 > f.height-f.foot {
			return fmt.Errorf("%q lies outside: %+v", a.text, a.box)
		}
		if w := a.face.width(a.text); w > a.box.width() {
			return fmt.Errorf("%q is wider than its box: %v", a.text, w)
		}
		for _, b := range all[:i] {
			if a.box.overlaps(b.box) {
				return fmt.Errorf("%q at %+v and %q at %+v", a.text, a.box, b.text, b.box)
			}
		}
	}
	return nil
}

func TestHostileTextIsHarmless(t *testing.T) {
	r := sample.Hostile()
	got := svg(t, r)
	if err := wellFormed(got); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"<script", "\u202e", "\u2066", "\x1b", "\x00", strings.Repeat("long ", 50)} {
		if strings.Contains(got, bad) {
			t.Errorf("the SVG contains %q", bad)
		}
	}
	if !strings.Contains(got, "&lt;script&gt;") {
		t.Error("the SVG does not show the text at all")
	}
	var b strings.Builder
	if err := reports.Text(&b, facts.Of(r.H), r.Result, reports.TextOptions{Verbose: true, Messages: true}); err != nil {
		t.Fatal(err)
	}
	plain := b.String()
	for _, bad := range []string{"\u202e", "\x1b", "\x00"} {
		if strings.Contains(plain, bad) {
			t.Errorf("the text contains %q", bad)
		}
	}
}

// wellFormed reads an SVG as a browser would.
func wellFormed(s string) error {
	d := xml.NewDecoder(strings.NewReader(s))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func TestBusyHistory(t *testing.T) {
	h := sample.Busy()
	if len(h.Events) < 2000 {
		t.Fatalf("only %d events", len(h.Events))
	}
	r := sample.Run{Name: "busy", H: h, Result: checker.Check(facts.Of(h), nil)}
	if err := wellFormed(svg(t, r)); err != nil {
		t.Error(err)
	}
}

// faults has faults of each verb, and texts that are no faults.
var faults = []string{"pause c1 1s", "pause c2", "resume c2", "crash n1", "restart n1 empty", "jump n2 +1s", "drift n2 +500ppm",
	"slew n3 +1s over 10s", "cut c1-n1", "cut c2->n2", "heal", "hold c1->resource", "release c1->resource", "delay c1-n2 1s",
	"reset c1-n1", "on reply SET n1->c1 hold", "crash n1 power", "stop r1", "restart r1", "promote r1", "follow n1 r1",
	"cut n1-r1", "x y", "11", "n1", "nonsense", ""}

// Each fault changes the picture, except those that only end others.
func TestFaultsAreDrawn(t *testing.T) {
	draw := func(fault string) string {
		b := sample.NewBuilder("faults", "single", 3, 2, "plain")
		b.Acquire(0, "c1", 1, "n1", "n2")
		if f, err := history.ParseFault(fault); err == nil {
			b.Fault(time.Second, f)
		}
		h := b.History()
		h.Meta.Replicas = map[string]string{"r1": "n1"}
		return svg(t, sample.Run{Name: "faults", H: h, Result: checker.Check(facts.Of(h), nil)})
	}
	calm := draw("")
	for _, verb := range history.FaultVerbs() {
		i := slices.IndexFunc(faults, func(f string) bool { return f == verb || strings.HasPrefix(f, verb+" ") })
		switch {
		case i < 0:
			t.Errorf("the faults of these tests have no %s", verb)
		case slices.Contains([]string{"heal", "release", "resume"}, verb):
		case draw(faults[i]) == calm:
			t.Errorf("%s is not drawn", faults[i])
		}
	}
}

// Every possible history gives a report: people need one most when things have gone wrong.
func TestAnyHistoryIsDrawn(t *testing.T) {
	processes := []string{"c1", "c2", "probe", "n1", "n2", "n3", "resource", "c1->n1", "n1-c1", "", "stranger",
		"r1", "s1", "s2"}
	leases := []string{"c1#1", "c1#2", "c2#1", "", "odd"}
	ops := []string{history.Acquire, history.Release, history.Write, history.Read, history.Check, history.Wait, history.Exit, history.Deliver, history.Drop, history.Set,
		history.Over, history.Retime, history.Delete, history.Expire, history.Lose, history.Accept, history.Reject, history.Extend, history.Increment, history.Increment,
		history.Update, history.Enter, history.Renew, history.Lost, history.Keep, history.Mark, history.Promoted, history.Followed, history.Sdown, history.Odown, history.Leader, "", "odd"}
	kinds := []history.Kind{history.Invoke, history.OK, history.Fail, history.Info, history.Injected, history.Bite, history.State, history.Message, "", "odd"}
	rapid.Check(t, func(t *rapid.T) {
		h := &history.History{Meta: history.Meta{Scenario: "any", Lock: "any", Nodes: []string{"n1", "n2", "n3"}, Clients: []string{"c1", "c2"}, Probe: "probe",
			Replicas: map[string]string{"r1": "n1"}, Others: []string{"s1", "s2"}}}
		var now time.Duration
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			now += time.Duration(rapid.SampledFrom([]int{0, 1, 1000, 500_000, 1e9, 20e9}).Draw(t, "later"))
			e := history.Event{At: now, Clock: now,
				Kind:    rapid.SampledFrom(kinds).Draw(t, "kind"),
				Op:      rapid.SampledFrom(ops).Draw(t, "op"),
				Process: rapid.SampledFrom(processes).Draw(t, "process"),
				By:      rapid.SampledFrom(processes).Draw(t, "by"),
				ID:      rapid.IntRange(0, 3).Draw(t, "id"),
				Lease:   rapid.SampledFrom(leases).Draw(t, "lease"),
				Owner:   rapid.SampledFrom(leases).Draw(t, "owner"),
				Value:   rapid.SampledFrom(faults).Draw(t, "value"),
				Until:   rapid.SampledFrom([]time.Duration{0, now, now + time.Second, history.NoEnd}).Draw(t, "until"),
				Sent:    now / 2,
				Fence:   rapid.Int64Range(0, 2).Draw(t, "fence"),
			}
			h.Events = append(h.Events, e)
		}
		r := checker.Check(facts.Of(h), nil)
		for range rapid.IntRange(0, 3).Draw(t, "violations") {
			r.Violations = append(r.Violations, checker.Violation{
				Property: rapid.SampledFrom(checker.Properties()).Draw(t, "property"),
				At:       time.Duration(rapid.Int64Range(0, int64(now)).Draw(t, "at")),
				What:     "something",
				Events:   rapid.SliceOfN(rapid.IntRange(-1, 50), 0, 3).Draw(t, "proof"),
			})
		}
		if err := reports.Text(io.Discard, facts.Of(h), r, reports.TextOptions{Verbose: true, Messages: true}); err != nil {
			t.Fatal(err)
		}
		tl := NewTimeline(facts.Of(h), r)
		var b bytes.Buffer
		if err := tl.WriteSVG(&b); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
			t.Fatal("a coordinate is not a number")
		}
		if err := wellFormed(b.String()); err != nil {
			t.Fatal(err)
		}
		if err := overlap(tl.figure); err != nil {
			t.Fatal(err)
		}
		slides := NewSlides(facts.Of(h), r)
		b.Reset()
		if err := errors.Join(slides.Slide(1).WriteSVG(&b), slides.WriteAnimation(&b), overlap(slides.figure)); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
			t.Fatal("a coordinate of a slide is not a number")
		}
	})
}

// A write that changes nothing, because another wrote the same before, is drawn like any other, and the violation points at it. Servers
// on which nothing happened are left out.
func TestSilentWriteIsDrawn(t *testing.T) {
	b := sample.NewBuilder("lost-update", "nolock", 1, 2, "counter")
	for i, c := range []string{"c1", "c2"} {
		at := time.Duration(i) * time.Millisecond
		in := history.Event{At: at, Process: c, Kind: history.Invoke, Op: history.Increment, ID: 1, Lock: "lock"}
		b.Add(in)
		b.Add(history.Event{At: at + 5*time.Millisecond, Process: "resource", Kind: history.Message, Op: history.Deliver, By: c, Sent: at + 4*time.Millisecond, Value: "SET counter 1"})
		if i == 0 {
			b.Add(history.Event{At: at + 5*time.Millisecond, Process: "resource", Kind: history.State, Op: history.Set, Key: "counter", By: c, Sent: at + 4*time.Millisecond, Value: "1", Until: history.NoEnd})
		}
		in.At, in.Kind, in.Value = at+6*time.Millisecond, history.OK, "1"
		b.Add(in)
	}
	r := sample.Judged("nolock", b.History())
	f := NewTimeline(facts.Of(r.H), r.Result).figure
	var discs, proof int
	for _, m := range f.Lanes[f.laneIndex("resource")].Marks {
		if m.Shape == explorer.Accepted {
			discs++
		}
		if m.Proof {
			proof++
		}
	}
	if discs != 2 || proof != 1 {
		t.Errorf("%d writes, %d of them proof", discs, proof)
	}
	if f.laneIndex("n1") >= 0 {
		t.Error("n1 has a lane, though nothing happened there")
	}
	got := svg(t, r)
	for _, want := range []string{"1 from c1", "1 again, from c2", "c2 writes 1 again: an increment is lost", "1 of 2 acknowledged increments are lost: the counter went from 0 to 1<"} {
		if !strings.Contains(got, want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
}

// Many renewals of a lease have one label. A release that is lost or fails has one, too.
func TestRenewalsAndFailedReleases(t *testing.T) {
	b := sample.NewBuilder("watchdog-zombie", "watchdog", 1, 1, "plain")
	b.Acquire(0, "c1", 0, "n1")
	for i := range 12 {
		at := time.Duration(i+1) * 3 * time.Second
		b.Ends["n1"] = at + sample.TTL
		b.Add(history.Event{At: at, Process: "n1", Kind: history.State, Op: history.Retime, Lock: "lock", Key: "lock", Owner: "c1#1", By: "c1", Sent: at - 500*time.Microsecond, Until: at + sample.TTL})
	}
	for i, kind := range []history.Kind{history.Info, history.Info, history.Fail} {
		b.Ops["c1"]++
		e := history.Event{At: time.Duration(40+i) * time.Second, Process: "c1", Kind: history.Invoke, Op: history.Release, ID: b.Ops["c1"], Lock: "lock", Lease: "c1#1"}
		b.Add(e)
		if i == 0 {
			b.Add(history.Event{At: e.At + time.Microsecond, Process: "n1", Kind: history.Message, Op: history.Drop, By: "c1", Sent: e.At, Value: "DEL lock"})
		}
		e.At, e.Kind, e.Error = e.At+time.Millisecond, kind, "lock not held"
		b.Add(e)
	}
	got := svg(t, sample.Judged("watchdog-zombie", b.History()))
	for _, want := range []string{"extended ×12", "release is lost", "release: no answer", "release failed"} {
		if strings.Count(got, want+"<") != 1 {
			t.Errorf("the picture does not say %q once", want)
		}
	}
	if strings.Contains(got, "extended<") {
		t.Error("each renewal has a label")
	}
}

// Only the first violation of a property has a bold ring. That a client goes on after the end of its lease is said once.
func TestRepeatedViolations(t *testing.T) {
	b := sample.NewBuilder("pause", "single", 1, 2, "plain")
	at := b.Acquire(0, "c1", 0, "n1")
	b.Fault(at, history.Pause{Process: "c1", For: 15 * time.Second})
	b.Acquire(12*time.Second, "c2", 0, "n1")
	u := at + 15*time.Second
	b.Add(history.Event{At: u, Process: "c1", Kind: history.Injected, Op: "resume", Value: "resume c1", ID: 1})
	for _, value := range []string{"A", "B", "C"} {
		u = b.Write(u, "c1", value, 0) + time.Millisecond
	}
	r := sample.Judged("pause", b.History())
	bold, small := 0, 0
	f := NewTimeline(facts.Of(r.H), r.Result).figure
	for _, m := range f.Lanes[f.laneIndex("resource")].Marks {
		switch {
		case m.Lesser:
			small++
		case m.Proof:
			bold++
		}
	}
	if bold != 1 || small != 2 {
		t.Errorf("%d bold rings and %d small ones, of %d violations", bold, small, len(r.Result.Violations))
	}
	over := 0
	for _, bar := range f.Lanes[f.laneIndex("c1")].Bars {
		if bar.Style == explorer.Stale {
			over++
		}
	}
	if over != 1 {
		t.Errorf("said %d times that the lease is over", over)
	}
}

// What a client does to the key of another client is drawn, even in attempts to acquire that fail.
func TestOverwritingIsDrawn(t *testing.T) {
	b := sample.NewBuilder("getset", "getset", 1, 2, "plain")
	b.Acquire(0, "c1", 0, "n1")
	for i := range 3 {
		at := time.Duration(i+1) * time.Second / 10
		b.Ops["c2"]++
		e := history.Event{At: at, Process: "c2", Kind: history.Invoke, Op: history.Acquire, ID: b.Ops["c2"], Lock: "lock"}
		b.Add(e)
		if i == 1 {
			b.Add(history.Event{At: at + time.Microsecond, Process: "n1", Kind: history.State, Op: history.Over, Lock: "lock", Key: "lock", Lease: "c2#1", Owner: "c1#1", By: "c2", Sent: at, Until: history.NoEnd})
		}
		e.At, e.Kind = at+time.Millisecond, history.Fail
		b.Add(e)
	}
	r := sample.Judged("getset", b.History())
	f := NewTimeline(facts.Of(r.H), r.Result).figure
	var owners []string
	for _, bar := range f.Lanes[f.laneIndex("n1")].Bars {
		owners = append(owners, bar.Text)
	}
	if got := strings.Join(owners, " "); got != "c1#1 c2#1" {
		t.Errorf("the key belonged to %s", got)
	}
}
