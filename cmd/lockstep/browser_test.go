//go:build !js

package main

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"lockstep/internal/draws"
	"lockstep/sim/history"
)

// A browser is headless Chromium with one page. It records what the page must not do: write to the console, throw, or request anything
// except the page itself from the network.
type browser struct {
	t    *testing.T
	ctx  context.Context
	seen chan string
}

// newBrowser starts Chromium, and ends it with the test. Without Chromium the test is skipped; in CI it fails.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("opens pages in a browser")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		const missing = "there is no chromium; make chromium installs it"
		if os.Getenv("CI") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // as root, Chromium starts only without its sandbox
	}
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	limit := 4 * time.Minute
	if *draws.All {
		limit = 2 * time.Hour
	}
	ctx, cancel = context.WithTimeout(ctx, limit)
	t.Cleanup(cancel)
	ctx, crashed := context.WithCancelCause(ctx)
	b := &browser{t: t, ctx: ctx, seen: make(chan string, 100)}
	note := func(format string, args ...any) {
		select {
		case b.seen <- fmt.Sprintf(format, args...):
		default: // the test has failed already
		}
	}
	err := chromedp.Listen(ctx, func(ev any) {
		switch e := ev.(type) {
		case *inspector.EventTargetCrashed: // after which Chromium answers no question
			crashed(errors.New("the page crashed"))
		case *runtime.EventConsoleAPICalled:
			note("console %s", e.Type)
		case *runtime.EventExceptionThrown:
			note("exception %s: %v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception)
		case *log.EventEntryAdded:
			note("log: %s", e.Entry.Text)
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, "file:") {
				note("request: %s", e.Request.URL)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	b.ok(chromedp.Call(ctx, network.Enable, network.EnableParams{}))
	b.media("light", "no-preference")
	b.size(1280, 900)
	return b
}

// ok fails the test if there is an error.
func (b *browser) ok(_ any, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(b.why(err))
	}
}

// If the page has crashed, why says so in the error.
func (b *browser) why(err error) error {
	if cause := context.Cause(b.ctx); cause != nil && cause != b.ctx.Err() {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

func (b *browser) media(scheme, motion string) {
	b.t.Helper()
	b.ok(chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: motion},
	}}))
}

func (b *browser) size(width, height int64) {
	b.t.Helper()
	b.ok(nil, chromedp.Do(b.ctx, chromedp.EmulateViewport(width, height)))
}

func (b *browser) open(file string) {
	b.t.Helper()
	path, err := filepath.Abs(file)
	b.ok(nil, err)
	b.ok(nil, chromedp.Do(b.ctx, chromedp.Navigate((&url.URL{Scheme: "file", Path: path}).String())))
}

func (b *browser) press(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		b.ok(nil, chromedp.Do(b.ctx, chromedp.KeyEvent(k)))
	}
}

// text is the visible text of the first element that a selector matches.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return eval[string](b, `document.querySelector(`+literal(selector)+`).innerText`)
}

// eval evaluates an expression in the page.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, b.why(err))
	}
	return v
}

// until waits for an expression to hold.
func (b *browser) until(expression string) {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Poll[bool](expression)); err != nil {
		b.t.Fatalf("%s: %v", expression, b.why(err))
	}
}

// quiet fails the test if the page did something that it must not do. What begins with one of the words is allowed.
func (b *browser) quiet(allowed ...string) {
	b.t.Helper()
	for {
		select {
		case s := <-b.seen:
			if !slices.ContainsFunc(allowed, func(a string) bool { return strings.HasPrefix(s, a) }) {
				b.t.Error(s)
			}
		default:
			return
		}
	}
}

func literal(s string) string {
	q, _ := json.Marshal(s)
	return string(q)
}

// written has lockstep show write a page about some runs, and returns its address.
func written(t *testing.T, runs ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	c := exec.Command(os.Args[0], append([]string{"show", "--html", file}, runs...)...)
	c.Env = append(os.Environ(), asProgram+"=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("lockstep show --html %s: %v\n%s", strings.Join(runs, " "), err, out)
	}
	return file
}

// A reader steps to the violation with the keyboard, looks at a message with the mouse, and goes from a sentence to its events.
func TestPageInBrowser(t *testing.T) {
	b := newBrowser(t)
	b.open(written(t, "crash-restart-5/redlock"))
	if got := b.text(".head .verdict"); got != "UNSAFE" {
		t.Errorf("the verdict is %q", got)
	}

	steps := 0
	for ; steps < 100 && !strings.Contains(b.text(".caption"), "c2 ok acquire c2#1"); steps++ {
		b.press(kb.ArrowRight)
	}
	if steps == 0 || steps == 100 {
		t.Errorf("%d steps to the violation", steps)
	}
	there := b.text(".caption")
	b.press(kb.Home, "v")
	if got := b.text(".caption"); got != there {
		t.Errorf("v leads to %q, want %q", got, there)
	}
	for _, want := range []string{"c1\trelies on c1#1, 7.9 s left", "c2\trelies on c2#1, 9.9 s left", "n1\tkey of c1#1", "n3\tkey of c2#1"} {
		if got := b.text(".now table"); !strings.Contains(got, want) {
			t.Errorf("at the violation there is no %q in:\n%s", want, got)
		}
	}
	if got := b.text(".story .told"); !strings.Contains(got, "c2 was granted c2#1") {
		t.Errorf("the violation is told by %q", got)
	}
	if got := b.text(`.rows [aria-selected="true"]`); !strings.Contains(got, "2.006s") {
		t.Errorf("the list is at %q", got)
	}
	if got := eval[string](b, `document.querySelector("canvas.cursor").getAttribute("aria-valuetext")`); !strings.Contains(got, "c2 ok acquire") {
		t.Errorf("a screen reader hears %q", got)
	}

	b.hover(`(x) => { const f = x.runs[0].flights.find((f) => f.write); const e = x.diagram.ends(x.diagram.boxes[0], f); return [(2 * e.x0 + 3 * e.x1) / 5, (2 * e.y0 + 3 * e.y1) / 5]; }`)
	if got := b.text(".tip"); !strings.Contains(got, "c1 → resource") || !strings.Contains(got, "arrived 0.052s") {
		t.Errorf("the message says %q", got)
	}

	b.ok(nil, chromedp.Do(b.ctx, chromedp.Click(chromedp.CSS(".story li:nth-child(3) .said"))))
	if got := b.text(".caption"); !strings.Contains(got, "n3 fault crash n3") {
		t.Errorf("the sentence leads to %q", got)
	}
	if got := eval[int](b, `document.querySelectorAll(".rows .meant").length`); got < 2 {
		t.Errorf("the sentence stands on %d events", got)
	}
	b.ok(nil, chromedp.Do(b.ctx, chromedp.Click(chromedp.CSS(".story .chosen .link:last-child"))))
	if got := b.text(".caption"); !strings.Contains(got, "n3") || strings.Contains(got, "fault crash") {
		t.Errorf("its last event is %q", got)
	}

	before := eval[float64](b, zoom)
	b.press("+", "+")
	if got := eval[float64](b, zoom); got >= before {
		t.Errorf("after a zoom %v of the run is shown, before it %v", got, before)
	}
	b.press("0", "t", "m")
	if got := eval[int](b, `document.querySelectorAll(".rows [role=option]").length`); got != eval[int](b, `document.querySelector(".lockstep").lockstep.all[0].events.length`) {
		t.Errorf("with messages there are %d lines", got)
	}
	b.press("?")
	b.until(`document.querySelector("dialog").open`)
	b.press(kb.Escape)
	b.until(`!document.querySelector("dialog").open`)
	b.quiet()
}

const zoom = `document.querySelector(".lockstep").lockstep.axis.to - document.querySelector(".lockstep").lockstep.axis.from`

// hover moves the mouse to a point of the diagram. The given function returns the point for an explorer.
func (b *browser) hover(point string) {
	b.t.Helper()
	at := eval[[]float64](b, `(() => {
		const box = document.querySelector("canvas.cursor").getBoundingClientRect();
		const [x, y] = (`+point+`)(document.querySelector(".lockstep").lockstep);
		return [box.left + x, box.top + y];
	})()`)
	b.ok(nil, chromedp.Do(b.ctx, chromedp.MouseEvent(chromedp.MouseMoved, at[0], at[1])))
	b.until(`!document.querySelector(".tip").hidden`)
}

// Two runs share one axis and one cursor, and each can be shown alone.
func TestPageOfTwoInBrowser(t *testing.T) {
	b := newBrowser(t)
	b.open(written(t, "pause-fenced/fenced", "pause-fenced/fenced/unchecked"))
	if got := eval[string](b, `[...document.querySelectorAll(".verdict")].map((e) => e.innerText).join()`); got != "SAFE,UNSAFE" {
		t.Errorf("the verdicts are %s", got)
	}
	b.press("v")
	if got := b.text(".caption"); !strings.Contains(got, "B 15.009s resource accept A") {
		t.Errorf("the violation is %q", got)
	}
	if got := b.text(".now"); !strings.Contains(got, "A at 15.009s") || !strings.Contains(got, "B at 15.009s") {
		t.Errorf("at the cursor there is\n%s", got)
	}
	both := eval[float64](b, `document.querySelector(".picture").clientHeight`)
	b.ok(nil, chromedp.Do(b.ctx, chromedp.Click(chromedp.CSS(`[data-run="A"]`))))
	if got := eval[float64](b, `document.querySelector(".picture").clientHeight`); got >= both {
		t.Errorf("one run takes as much height as both")
	}
	if got := b.text(".why"); strings.Contains(got, "Why ") || !strings.Contains(got, "token 1 is lower than 2") {
		t.Errorf("the run that is safe says %q", got)
	}
	b.press("b", "b")
	if got := eval[float64](b, `document.querySelector(".picture").clientHeight`); got != both {
		t.Errorf("both are %v high, and were %v", got, both)
	}

	b.press(kb.Home, " ") // plays: the cursor moves through time
	b.until(`document.querySelector(".lockstep").lockstep.player.t > 0`)
	b.press(" ")
	b.media("light", "reduce")
	b.press(kb.Home, " ") // with reduced motion, it jumps from event to event
	b.until(`document.querySelector(".lockstep").lockstep.player.n > 0`)
	if got := eval[bool](b, `document.querySelector(".lockstep").lockstep.player.t === document.querySelector(".lockstep").lockstep.player.rows[document.querySelector(".lockstep").lockstep.player.n].at`); !got {
		t.Error("the cursor moves although the reader prefers reduced motion")
	}
	b.press(" ")

	b.media("dark", "no-preference")
	b.until(`document.documentElement.dataset.theme === "dark"`)
	b.quiet()
}

// summed returns an altered history with the checksum that Lockstep would have written.
func summed(t *testing.T, altered string) []byte {
	t.Helper()
	h := &history.History{}
	var into any = &h.Meta
	for line := range strings.Lines(altered) {
		if err := json.Unmarshal([]byte(line), into); err != nil {
			t.Fatal(err)
		}
		h.Events = append(h.Events, history.Event{})
		into = &h.Events[len(h.Events)-1]
	}
	h.Events = h.Events[:len(h.Events)-1]
	var b bytes.Buffer
	if _, err := h.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// External strings are shown as text in the browser, and make the page no wider.
func TestPageOfHostileTextInBrowser(t *testing.T) {
	b := newBrowser(t)
	data, err := os.ReadFile(filepath.Join(historyOf(t, "pause-after-acquire/single"), "pause-after-acquire", "single.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{`<script>alert(1)</script>`, `"'><img src=x onerror=alert(1)>`, "\u202eesrever", strings.Repeat("long", 2500), `</script><script>alert(1)</script>`} {
		q := literal(bad)
		hostile := strings.ReplaceAll(string(data), `"c1"`, q)
		hostile = strings.ReplaceAll(hostile, `"lock not held"`, q)
		hostile = strings.ReplaceAll(hostile, `"value":"A"`, `"value":`+q)
		hostile = strings.ReplaceAll(hostile, `"lock":"single"`, `"lock":`+q)
		file := filepath.Join(t.TempDir(), "hostile.jsonl")
		b.ok(nil, os.WriteFile(file, summed(t, hostile), 0o644))
		b.size(390, 800)
		b.open(written(t, file))
		b.press("m", "v", kb.End, kb.Home, kb.ArrowRight)
		shown := strings.ReplaceAll(bad, "\u202e", "?")
		if got := b.text(".rows") + b.text(".now") + b.text("h1"); !strings.Contains(got, shown[:min(12, len(shown))]) || strings.Contains(got, "\u202e") {
			t.Errorf("%.20q is not shown as text", bad)
		}
		if got := eval[int](b, `document.querySelectorAll("img, script:not([type])").length`); got != 1 {
			t.Errorf("%.20q: %d scripts and images", bad, got)
		}
		if got := eval[float64](b, `document.documentElement.scrollWidth`); got > 390 {
			t.Errorf("%.20q makes the page %v pixels wide", bad, got)
		}
	}
	b.quiet()
}

// writtenSite writes the debate, and returns the directory.
func writtenSite(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	site, _ := debated(t)
	for name, page := range site {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// historyOf makes a run, and returns the directory with its history.
func historyOf(t *testing.T, run string) string {
	t.Helper()
	dir := t.TempDir()
	c := exec.Command(os.Args[0], "run", run, "--out", dir)
	c.Env = append(os.Environ(), asProgram+"=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// On a phone, neither pages of the debate nor pages of runs are wider than the screen: text is wrapped, and pictures and timelines scroll
// by themselves, and say so.
func TestNarrowScreens(t *testing.T) {
	b := newBrowser(t)
	b.size(390, 844)
	dir := writtenSite(t)
	pages, err := filepath.Glob(filepath.Join(dir, "*.html"))
	b.ok(nil, err)
	more, err := filepath.Glob(filepath.Join(dir, "*", "*.html"))
	b.ok(nil, err)
	if pages = append(pages, more...); len(pages) < 100 {
		t.Fatalf("%d pages", len(pages))
	}
	pages = append(pages, written(t, "crash-restart-5/redlock"), written(t, "pause-fenced/fenced", "pause-fenced/fenced/unchecked"))
	for _, page := range pages {
		b.open(page)
		b.ok(chromedp.Run(b.ctx, chromedp.Evaluate[any](`document.querySelectorAll("details:not(.explore)").forEach((d) => (d.open = true))`)))
		if got := eval[[]float64](b, `[document.documentElement.scrollWidth, innerWidth]`); got[0] > got[1] || got[1] != 390 {
			t.Errorf("%s is %v pixels wide on a screen of %v", page, got[0], got[1])
		}
		if got := eval[string](b, beyondScreen); got != "" {
			t.Errorf("%s: %s is beyond the edge of the screen", page, got)
		}
		if got := eval[int](b, unsaidBeyond); got > 0 {
			t.Errorf("%s: %d pictures or timelines do not say that they can be scrolled", page, got)
		}
	}
	b.size(1280, 900)
	b.open(filepath.Join(dir, "clocks.html"))
	if got := b.text("main"); strings.Contains(got, "scroll sideways") {
		t.Error("a wide screen says that there is something to scroll")
	}
	b.quiet()
}

// beyondScreen names the elements that end beyond the right edge of the screen, except those inside something that scrolls.
const beyondScreen = `[...document.body.querySelectorAll("*")].filter((e) => {
	const box = e.getBoundingClientRect();
	if (box.width === 0 || box.right <= innerWidth + 0.5) return false;
	for (let p = e.parentElement; p && p !== document.body; p = p.parentElement) if (getComputedStyle(p).overflowX !== "visible") return false;
	return true;
}).map((e) => e.tagName + "." + e.className).join(" ")`

// unsaidBeyond counts the pictures and timelines that extend beyond the screen without saying so.
const unsaidBeyond = `[...document.querySelectorAll(".canvas, pre[role=region]")].filter((e) =>
	e.scrollWidth > e.clientWidth && !/go(es)? on to the right|begins further to the left/.test(e.previousElementSibling?.innerText ?? "")).length`

// Labels of the axis that the time at the cursor would cover in part are not drawn.
func TestTimeAtCursorInBrowser(t *testing.T) {
	b := newBrowser(t)
	b.size(390, 844)
	b.open(written(t, "clock-jump/redlock"))
	covered := eval[[]bool](b, `(() => {
		const { diagram, axis, player } = document.querySelector(".lockstep").lockstep;
		const x = axis.x(player.t);
		const line = diagram.over.getContext("2d").getImageData(0, (diagram.bottom + 16) * devicePixelRatio, diagram.over.width, 1).data;
		const covers = (at) => line[4 * Math.round(at * devicePixelRatio) + 3] > 0;
		return diagram.taken.filter(([from, to]) => from < x + 15 && to > x + 15).map(([from, to]) => covers(from + 2) && covers(to - 2));
	})()`)
	if len(covered) == 0 || slices.Contains(covered, false) {
		t.Errorf("for each time that the one at the cursor covers, whether it is still drawn: %v", covered)
	}
	b.quiet()
}

// Without scripts, a reader of a page sees the verdict, why, and the story, and no controls that would do nothing.
func TestPageWithoutScriptInBrowser(t *testing.T) {
	b := newBrowser(t)
	b.ok(chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	b.open(written(t, "delayed-restart-clock/redlock"))
	got := b.text("body")
	for _, want := range []string{
		"delayed-restart-clock · redlock", "UNSAFE", "Why “lease exclusion” was violated", "n3 crashed at 0.050s.", "without the key of c1#1",
		"The environment broke the assumption that clocks run at nearly the same rate", "A delayed restart that waits by a clock which jumps", "Some clock has to",
		"open this page where its script may run",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("a reader does not see %q in\n%s", want, got)
		}
	}
	for _, not := range []string{"Violation\n", "Fit\n", "Events\n"} {
		if strings.Contains(got, not) {
			t.Errorf("a reader sees %q, which does nothing", not)
		}
	}
	b.picture("without a script", true)
	b.size(390, 844)
	if got := eval[float64](b, `document.documentElement.scrollWidth`); got > 390 {
		t.Errorf("on a narrow screen the page is %v pixels wide", got)
	}
	if got := b.text("figure"); !strings.Contains(got, "goes on to the right") {
		t.Error("on a narrow screen the picture does not say that it can be scrolled")
	}
	b.quiet()
}

// picture fails the test unless exactly one of the picture and the diagram of a page is visible, and the picture has its colours.
func (b *browser) picture(where string, drawn bool) {
	b.t.Helper()
	heights := eval[[]float64](b, `[".drawn svg", ".picture"].map((e) => document.querySelector(e).getBoundingClientRect().height)`)
	if shown := []bool{heights[0] > 100, heights[1] > 100}; shown[0] != drawn || shown[1] == drawn {
		b.t.Errorf("%s the picture is %v pixels high, and the diagram %v", where, heights[0], heights[1])
	}
	if got := eval[string](b, `getComputedStyle(document.querySelector(".drawn path")).fill`); got != "rgb(255, 255, 255)" {
		b.t.Errorf("%s the ground of the picture is %s", where, got)
	}
}

// A printed page has the whole picture of the run once, whatever part of the diagram is in view. Of two runs it has those that the reader
// has chosen.
func TestPagePrintsInBrowser(t *testing.T) {
	b := newBrowser(t)
	b.media("dark", "reduce")
	b.open(written(t, "pause-after-acquire/redlock"))
	b.press("v", "+", "+")
	b.picture("on the screen", false)
	with := printed(b)
	paths := eval[int](b, `(() => {
		const picture = document.querySelector(".drawn");
		picture.remove();
		return picture.querySelectorAll("path").length;
	})()`)
	if painted := with - printed(b); paths < 100 || painted < paths {
		t.Errorf("the picture has %d paths, but %d are printed", paths, painted)
	}

	b.open(written(t, "pause-fenced/fenced", "pause-fenced/fenced/unchecked"))
	both := printed(b)
	b.press("b")
	if one := printed(b); one < both/3 || one > both*2/3 {
		t.Errorf("%d paths are printed of two runs, and %d of one", both, one)
	}
	b.quiet()
}

// printed prints the page, and counts the paths on paper.
func printed(b *browser) int {
	b.t.Helper()
	result, err := chromedp.Call(b.ctx, page.PrintToPDF, page.PrintToPDFParams{})
	b.ok(nil, err)
	n := 0
	// Chromium ends lines with \n. A \r before one is the last byte of a stream, as of one in 256.
	for _, part := range regexp.MustCompile(`(?s)stream\n(.*?)\nendstream`).FindAllSubmatch(result.Data, -1) {
		r, err := zlib.NewReader(bytes.NewReader(part[1]))
		if err != nil {
			continue // not every stream of the file is compressed
		}
		content, err := io.ReadAll(r)
		b.ok(nil, err)
		n += len(regexp.MustCompile(`(?m)^[fSB]\*?$`).FindAll(content, -1))
	}
	return n
}

// A copied address leads back to the event: once the cursor rests, the page writes its event into the address, but not before the reader
// has moved it.
func TestPageAddressInBrowser(t *testing.T) {
	b := newBrowser(t)
	b.open(written(t, "pause-fenced/fenced", "pause-fenced/fenced/unchecked"))
	b.ok(chromedp.Run(b.ctx, chromedp.Evaluate[any](`(() => {
		window.written = 0;
		const write = history.replaceState;
		history.replaceState = function (...args) { window.written++; return write.apply(this, args); };
	})()`)))
	if got := eval[string](b, `location.hash`); got != "" {
		t.Errorf("the cursor has not been moved, and the address has %q", got)
	}
	for range 20 {
		b.press(kb.ArrowRight)
	}
	b.press("v")
	b.until(`location.hash !== ""`)
	link, there := eval[string](b, `location.href`), b.text(".caption")
	if n := eval[int](b, `window.written`); n > 10 || !strings.Contains(there, "B 15.009s resource accept A") {
		t.Errorf("the address was written %d times on the way to %q", n, there)
	}
	b.press(kb.Home)
	b.until(`location.hash === "#A0"`)
	b.ok(nil, chromedp.Do(b.ctx, chromedp.Navigate("about:blank")))
	b.ok(nil, chromedp.Do(b.ctx, chromedp.Navigate(link)))
	if got := b.text(".caption"); got != there {
		t.Errorf("%s leads to %q, not to %q", link, got, there)
	}
	b.press("b")
	b.ok(chromedp.Run(b.ctx, chromedp.Evaluate[any](`location.hash = "#B0"`)))
	b.until(`document.querySelector(".caption").innerText.includes("B 0.000s")`)
	b.quiet()
}

// A page of ten thousand events responds at once: a reader notices no delay in a step or a redraw.
func TestPageOfManyEventsInBrowser(t *testing.T) {
	b := newBrowser(t)
	scenario := filepath.Join(t.TempDir(), "many.txtar")
	b.ok(nil, os.WriteFile(scenario, []byte(manyEvents), 0o644))
	b.open(written(t, scenario))
	if got := eval[int](b, `document.querySelector(".lockstep").lockstep.all[0].events.length`); got < 10000 {
		t.Fatalf("%d events", got)
	}
	b.press("m", kb.End)
	if got := b.text(".caption"); !strings.Contains(got, " of 1") || strings.HasPrefix(got, "1 ") {
		t.Errorf("the last event is %q", got)
	}
	b.press("+", "+", "+", kb.ArrowLeft, kb.Home)
	median := eval[[]float64](b, `[() => document.querySelector(".lockstep").lockstep.redraw(), () => document.querySelector(".lockstep").lockstep.act("on"), () => document.querySelector(".lockstep").lockstep.diagram.find(500, 200)].map((f) => {
		const times = [];
		for (let i = 0; i < 21; i++) {
			const from = performance.now();
			f();
			times.push(performance.now() - from);
		}
		return times.sort((a, b) => a - b)[10];
	})`)
	t.Logf("redraw %.1f ms, step %.1f ms, search below the pointer %.1f ms", median[0], median[1], median[2])
	b.quiet()
}

const manyEvents = `# Many increments under a lock.
#
# A picture must cope with ten thousand events.

client c1
  repeat 300 increment
client c2
  repeat 300 increment

-- single nodes=1 resource=counter label=many --
`

// -rewrite takes the screenshots of the documentation anew. Without it the files only have to exist: people must judge whether they are
// good.
func TestPageScreenshots(t *testing.T) {
	shots := []struct {
		name string
		runs []string
	}{
		{"pause", []string{"pause-after-acquire/single"}},
		{"crash", []string{"crash-restart-5/redlock"}},
		{"pair", []string{"pause-fenced/fenced", "pause-fenced/fenced/unchecked"}},
	}
	sizes := []struct {
		width, height int64
		scheme        string
	}{{1280, 900, "light"}, {1280, 900, "dark"}, {390, 844, "light"}, {390, 844, "dark"}}
	chapters := []struct {
		name   string
		height int64 // down to the end of the first claim
		scheme string
	}{{"pauses", 2170, "light"}, {"tokens", 2110, "dark"}}
	if !*rewriteReadme {
		var files []string
		for _, s := range shots {
			for _, size := range sizes {
				files = append(files, shotFile(s.name, size.width, size.scheme))
			}
		}
		for _, c := range chapters {
			files = append(files, chapterFile(c.name))
		}
		for _, file := range files {
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%v; go test ./cmd/lockstep -run Screenshots -rewrite takes it", err)
			}
		}
		return
	}
	b := newBrowser(t)
	take := func(file string) {
		b.until(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
		png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		b.ok(nil, err)
		b.ok(nil, os.WriteFile(file, png, 0o644))
	}
	site := writtenSite(t)
	for _, c := range chapters {
		b.size(1280, c.height)
		b.media(c.scheme, "reduce")
		b.open(filepath.Join(site, c.name+".html"))
		take(chapterFile(c.name))
	}
	for _, s := range shots {
		page := written(t, s.runs...)
		for _, size := range sizes {
			b.size(size.width, size.height)
			b.media(size.scheme, "reduce")
			b.open(page)
			b.press("v")
			take(shotFile(s.name, size.width, size.scheme))
		}
	}
	b.quiet()
}

func chapterFile(name string) string {
	return filepath.Join("..", "..", "docs", "img", "debate-"+name+".png")
}

func shotFile(name string, width int64, scheme string) string {
	return filepath.Join("..", "..", "docs", "img", fmt.Sprintf("page-%s-%d-%s.png", name, width, scheme))
}
