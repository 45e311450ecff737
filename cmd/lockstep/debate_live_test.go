//go:build !js

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"lockstep/internal/draws"
	"lockstep/scenarios/play"
	"lockstep/scenarios/reader"
)

// The runs of the debate can be played in a browser, with the checksums that they have natively; and a reader can change them.
func TestLiveInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program, and opens pages in a browser")
	}
	dir := filepath.Join(t.TempDir(), "site")
	if out, code := program(t, "debate", "--out", dir, "--live"); code != exitExpected {
		t.Fatalf("status %d\n%s", code, out)
	}
	b := newBrowser(t) // its time is limited
	page := "file://" + dir + "/live.html"
	b.visit(page + "#10")
	b.until(`!document.getElementById("live").hidden`)

	t.Run("predict, then look", func(t *testing.T) {
		b.t = t
		if eval[bool](b, `!document.getElementById("stage").hidden`) {
			t.Error("the outcome is shown before the reader asks for it")
		}
		b.click("#kept")
		b.until(`document.querySelectorAll(".strip .violated").length === 2`)
		if n := eval[int](b, `document.querySelectorAll(".strip [class]:not([class='']), .edge:not(:empty)").length`); n != 2 {
			t.Errorf("%d values and sentences are shown, not only the value of each slider that was played", n)
		}
		if got := eval[string](b, `document.activeElement.id`); got != "outcome" {
			t.Errorf("after the prediction the focus is at %q", got)
		}
		b.script(`document.getElementById("every").focus()`)
		b.press(" ")
		b.until(`document.querySelectorAll(".edge:not(:empty)").length === 2`)
		if got := b.text("#every"); got != "Show only values tried" {
			t.Errorf("the button that has shown all values says %q", got)
		}
		defer func() {
			b.click("#every")
			if n := eval[int](b, `document.querySelectorAll(".strip [class]:not([class='']), .edge:not(:empty)").length`); n != 2 {
				t.Errorf("%d values and sentences are shown once the reader hides the others", n)
			}
		}()
		if got, want := b.text("#outcome"), "“resource exclusion” is violated (broken assumption: bounded pause)."; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got, want := b.text(".edge"), "Kept from 1s to 11.5s, violated from 12s to 25s."; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := b.text("#guess"); got != "You expected that it is kept." {
			t.Error(got)
		}
	})

	// Without a link, the page opens with the claim of the first picture. It tells what happens, but not what comes out.
	t.Run("before the prediction", func(t *testing.T) {
		b.t = t
		b.visit("about:blank")
		b.visit(page)
		b.until(`!document.getElementById("live").hidden`)
		if got := b.text("#claim option:checked"); !strings.HasPrefix(got, "10. ") {
			t.Errorf("the page opens with %q", got)
		}
		told := b.text("#predict")
		for _, want := range []string{"is paused before it writes", "The lock is Redlock: five Redis servers, of which a majority must agree.", "15s; the TTL: 10s.", "“Resource exclusion” means that the resource accepts no"} {
			if !strings.Contains(told, want) {
				t.Errorf("%q does not say %q", told, want)
			}
		}
		if got := b.text("#runs label"); !strings.Contains(got, "Redlock: five Redis servers") || !strings.Contains(got, "pause-after-acquire/redlock") {
			t.Errorf("the first run is %q", got)
		}
		steps := eval[string](b, `document.getElementById("script").textContent`)
		if !strings.HasPrefix(steps, "client c1\n  acquire\n  pause 15s\n") && !strings.HasPrefix(steps, "ttl 10s\nclient c1\n  acquire\n  pause 15s\n") {
			t.Errorf("the steps are\n%s", steps)
		}
	})

	// Each answer changes the outcome. Pressed again, it brings back what the reader had chosen before.
	t.Run("what would have saved it", func(t *testing.T) {
		b.t = t
		b.visit("about:blank")
		b.visit(page + "#10/1/14s,10s")
		b.until(`!document.getElementById("live").hidden`)
		if !eval[bool](b, `document.getElementById("saving").hidden`) {
			t.Error("the answers are shown before the prediction")
		}
		b.click("#violated")
		pressed := func(n int, outcome, hash string) {
			t.Helper()
			b.until(`!document.getElementById("saving").hidden`)
			b.until(fmt.Sprintf(`document.getElementById("outcome").textContent.includes(%q)`, outcome))
			b.until(fmt.Sprintf(`location.hash === %q`, hash))
			// All of the above may still hold from an earlier choice.
			b.until(fmt.Sprintf(`[...document.querySelectorAll("#saves button")].findIndex((x) => x.getAttribute("aria-pressed") === "true") === %d`, n))
		}
		pressed(-1, "is violated", "#10/1/14s,10s")
		b.script(`document.querySelector("#saves button").focus()`)
		b.press(" ")
		pressed(0, "is kept", "#10/4/14s")
		b.click("#saves button:nth-child(2)")
		pressed(1, "is kept", "#10/1/14s,20s")
		b.click("#saves button:nth-child(2)")
		pressed(-1, "is violated", "#10/1/14s,10s")

		// They are offered at every pause at which the run is violated, and at no other.
		offered := func(pause int, want ...string) {
			t.Helper()
			b.script(`const s = document.querySelector("input[type=range]"); s.value = %d; s.dispatchEvent(new Event("input"))`, pause)
			b.until(fmt.Sprintf(`[...document.querySelectorAll("#saving:not([hidden]) button:not([hidden])")].map((x) => x.textContent).join("; ") === %q`, strings.Join(want, "; ")))
		}
		const fencing, longer = "A lock with fencing tokens, and a resource that checks them (another run)", "A longer TTL (20s)"
		last := eval[int](b, `Number(document.querySelector("input[type=range]").max)`)
		offered(last, fencing, longer)
		offered(0)
		offered(last*3/4, fencing, longer)
		b.click("#saves button")
		pressed(0, "is kept", "#10/4/19s")

		// A link to what an answer leads to has the way back.
		b.visit("about:blank")
		b.visit(page + "#10/1/14s,20s")
		b.until(`!document.getElementById("live").hidden`)
		b.click("#look")
		pressed(1, "is kept", "#10/1/14s,20s")
		b.click("#saves button:nth-child(2)")
		pressed(-1, "is violated", "#10/1/14s,10s")
	})

	// Three properties are violated in this run. The one that the claim is about is explained first, and the figure is there.
	t.Run("what was asked comes first", func(t *testing.T) {
		b.t = t
		b.script(`location.hash = "#2"`)
		b.until(`document.getElementById("claim").value === "2"`)
		b.click("#look")
		b.until(`document.getElementById("outcome").textContent.includes("“owner only” is violated")`)
		b.until(`document.querySelector("#stage .why h2")?.textContent === "Why “owner only” was violated"`)
		if got := b.text("#stage .caption"); !strings.Contains(got, "n1 delete lock of c2#1, by c1") {
			t.Errorf("the figure is at %q", got)
		}
	})

	t.Run("checksums", func(t *testing.T) {
		draws.Turn(t, 0, 3)
		b.t = t
		play.QuietRedis()
		menu, err := reader.NewMenu()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range menu.Claims {
			b.script(`document.getElementById("claim").value = %q; document.getElementById("claim").dispatchEvent(new Event("change"))`, c.ID)
			b.click("#look")
			for i, r := range c.Runs {
				b.script(`document.querySelectorAll("#runs input")[%d].click()`, i)
				want := reader.Play(reader.Request{Claim: c.ID, Run: r.Name}).Checksum
				b.until(fmt.Sprintf(`document.getElementById("checksum").textContent === %q`, want))
			}
		}
	})

	t.Run("a slider", func(t *testing.T) {
		b.t = t
		b.visit("about:blank")
		b.visit(page + "#10/2/11s,10s")
		b.until(`!document.getElementById("live").hidden`)
		b.click("#look")
		b.until(`document.getElementById("outcome").textContent.includes("is kept")`)
		b.script(`document.querySelector("input[type=range]").focus()`)
		b.press(kb.ArrowRight, kb.ArrowRight, kb.ArrowRight, kb.ArrowRight)
		b.until(`document.getElementById("outcome").textContent.includes("is violated")`)
		b.until(`location.hash === "#10/2/13s,10s"`)
	})

	// All sliders of two or three claims are moved to four values each; which claims depends on the day. With -all-draws all claims have their turn, and all
	// values of their sliders.
	t.Run("all sliders", func(t *testing.T) {
		b.t = t
		menu, err := reader.NewMenu()
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range menu.Claims {
			if !draws.Due(uint64(i), 12) {
				continue
			}
			b.script(`document.getElementById("claim").value = %q; document.getElementById("claim").dispatchEvent(new Event("change"))`, c.ID)
			b.click("#look")
			for n, r := range c.Runs {
				b.script(`document.querySelectorAll("#runs input")[%d].click()`, n)
				for q, vary := range r.Vary {
					last := len(vary.Values) - 1
					for v := range vary.Values {
						if !*draws.All && !slices.Contains([]int{0, last / 3, last / 2, last}, v) {
							continue
						}
						b.script(`const s = document.querySelectorAll("input[type=range]")[%d]; s.value = %d; s.dispatchEvent(new Event("input"))`, q, v)
						b.until(`!document.getElementById("outcome").classList.contains("old")`)
						if got := b.text("#outcome"); !strings.HasPrefix(got, "“"+string(r.Property)+"” is ") {
							t.Errorf("claim %s, %s, %s %s: %s", c.ID, r.Name, vary.What, vary.Values[v], got)
						}
					}
				}
			}
		}
	})

	// ADR 38 has what this logs. It measures, and demands nothing.
	times := func(t *testing.T) {
		b.t = t
		for range 5 {
			b.visit("about:blank")
			b.visit(page + "#10")
			b.until(`!document.getElementById("live").hidden`)
			b.click("#look")
			b.until(`performance.getEntriesByName("drawn").length === 1`)
			found, err := chromedp.Run(b.ctx, chromedp.Evaluate[struct {
				Ready, Median, Ninth float64
				Runs                 int
				Long                 []float64
			}](`(async () => {
				const long = [];
				new PerformanceObserver((list) => long.push(...list.getEntries().map((e) => e.duration))).observe({ type: "longtask" });
				performance.clearMeasures();
				const slider = document.querySelector("input[type=range]");
				const drawn = () => performance.getEntriesByName("drawn");
				for (let v = 0; v <= Number(slider.max); v++) {
					slider.value = v;
					slider.dispatchEvent(new Event("input"));
					while (drawn().length <= v) await new Promise((done) => setTimeout(done, 5));
				}
				await new Promise((done) => setTimeout(done, 200));
				const times = drawn().map((e) => e.duration).sort((a, b) => a - b);
				const at = (share) => times[Math.floor(share * times.length)];
				return { ready: Number(document.documentElement.dataset.ready), median: at(0.5), ninth: at(0.9), runs: times.length, long };
			})()`, chromedp.EvalAwaitPromise))
			b.ok(nil, err)
			t.Logf("ready after %.0f ms; %d runs with their pictures: median %.0f ms, 90th percentile %.0f ms; %d long tasks (ms): %.0f", found.Ready, found.Runs, found.Median, found.Ninth, len(found.Long), found.Long)
		}
	}
	if testing.Verbose() {
		t.Run("times", times)
	}

	// The page and that of a chapter, with the fold open, are as wide as the window.
	t.Run("looks", func(t *testing.T) {
		b := newBrowser(t)
		for _, width := range []int64{1280, 390} {
			b.size(width, 900)
			b.media("dark", "reduce")
			b.visit("about:blank")
			b.visit(page + "#10")
			b.until(`!document.getElementById("live").hidden`)
			b.click("#violated")
			b.until(`document.getElementById("outcome").textContent.includes("is violated") && !document.getElementById("saving").hidden`)
			if got := eval[int64](b, `document.documentElement.scrollWidth`); got > width {
				t.Errorf("at %d pixels the page has %d", width, got)
			}
			b.visit("file://" + dir + "/pauses.html")
			b.script(`const d = document.querySelector("details:has([src='live.html#10'])"); d.open = true; d.scrollIntoView()`)
			if got := eval[int64](b, `document.documentElement.scrollWidth`); got > width {
				t.Errorf("at %d pixels the chapter has %d", width, got)
			}
		}
		b.quiet("request: blob:", "request: about:")
	})

	t.Run("links that lead nowhere", func(t *testing.T) {
		b.t = t
		b.visit("about:blank")
		b.visit(page + "#%")
		b.until(`!document.getElementById("live").hidden`)
		const good = "10/1/15s,10s"
		links := []string{"#99", "#10/77", "#10/1/1s,x", "#10/1/%00,%ff", "#%", "#<img src=x onerror=alert(1)>", "#10/1/15s,10s,10s,10s,10s,10s"}
		r := rand.New(rand.NewPCG(uint64(time.Now().Unix()/86400), 2))
		for range 500 {
			links = append(links, "#"+hostile(r, good))
		}
		list, err := json.Marshal(links)
		b.ok(nil, err)
		silent, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](fmt.Sprintf(`(async () => {
			const follow = (link) => new Promise((done) => {
				const old = location.hash;
				location.hash = link;
				if (location.hash === old) return done(); // the same address again is no event
				window.addEventListener("hashchange", done, { once: true });
			});
			const silent = [];
			for (const link of %s) {
				await follow("#15");
				await follow(link);
				const said = document.getElementById("notice").textContent;
				if (said !== "The link is damaged, or leads to another version of this page." || document.getElementById("predict").hidden) silent.push(link);
			}
			return silent;
		})()`, list), chromedp.EvalAwaitPromise))
		b.ok(nil, err)
		for _, link := range silent {
			if !strings.HasPrefix("#"+good, link) && len(link) > 3 {
				t.Errorf("%.500q: there is no message", link)
			}
		}
	})
	t.Run("from the claim to the playground", func(t *testing.T) {
		b := newBrowser(t) // the other one may still follow hundreds of links
		b.visit(page + "#10/1/13s,10s")
		b.until(`!document.getElementById("live").hidden`)
		b.click("#look")
		b.until(`document.getElementById("checksum").textContent !== ""`)
		checksum := b.text("#checksum")
		b.visit(eval[string](b, `document.getElementById("edit").href`))
		b.until(`document.getElementById("state").textContent.includes("Checksum")`)
		if got := b.text("#state"); !strings.Contains(got, checksum) {
			t.Errorf("the playground has %q, and the claim %s", got, checksum)
		}
	})
	b.t = t

	tryOnPaper(t, dir)
	tryWithoutProgram(t, dir)

	// From a server it works, too, with the policy that is in the page.
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(dir)))
	mux.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }) // browsers ask for it unbidden
	server := httptest.NewServer(mux)
	defer server.Close()
	b.visit(server.URL + "/live.html#17")
	b.until(`!document.getElementById("live").hidden`)
	b.click("#look")
	b.until(`document.getElementById("outcome").textContent.includes("is violated")`)

	// In a chapter, which has told what came out, there is nothing to predict.
	b.visit(server.URL + "/pauses.html")
	b.script(`const d = document.querySelector("details:has([src='live.html#10'])"); d.open = true; d.scrollIntoView()`)
	const inside = `document.querySelector("[src='live.html#10']").contentDocument`
	b.until(inside + `?.getElementById("outcome")?.textContent.includes("is violated")`)
	b.until("!" + inside + `.getElementById("saving").hidden`)
	if !eval[bool](b, inside+`.getElementById("predict").hidden`) {
		t.Error("the figure in the chapter asks for a prediction")
	}

	b.quiet("request: blob:", "request: "+server.URL, "request: about:")
	info, err := os.Stat(filepath.Join(dir, "engine.js"))
	if err != nil || info.Size() > 9<<20 {
		t.Errorf("the program has %v, %v", info, err)
	}
	tryPlayground(t, dir) // last, because the time of this browser goes on meanwhile
}

// tryOnPaper prints the pages: the whole run is drawn once, in black on white, whatever part of it is in view.
func tryOnPaper(t *testing.T, dir string) {
	b := newBrowser(t)
	b.media("dark", "reduce")
	for page, ready := range map[string]string{"live.html#10": "live", "playground.html#pause-after-acquire/redlock": "playground"} {
		b.visit("file://" + dir + "/" + page)
		b.until(`!document.getElementById("` + ready + `").hidden`)
		if ready == "live" {
			b.click("#look")
		}
		b.until(`document.querySelector("#stage .verdict")?.textContent === "UNSAFE"`)
		whole := printed(b)
		b.script(`window.addEventListener("beforeprint", () => {
			window.paths = document.querySelectorAll(".drawn path, .drawn rect, .drawn text").length;
			window.ground = document.querySelector(".drawn svg > rect")?.getAttribute("fill");
		})`)
		b.press("+", "+")
		again := printed(b)
		if paths := eval[int](b, `window.paths`); paths < 100 || again < whole*9/10 || again > whole*11/10 {
			t.Errorf("%s: the drawing has %d parts; %d are printed of the whole run, and %d of a part", page, paths, whole, again)
		}
		if got := eval[string](b, `window.ground`); got != "#fff" && got != "#ffffff" {
			t.Errorf("%s: the ground of the drawing is %s", page, got)
		}
		if eval[bool](b, `document.querySelector(".drawn") !== null`) {
			t.Errorf("%s: the drawing stays on the screen", page)
		}
		b.script(`document.querySelector(".lockstep").append(Object.assign(document.createElement("i"), { className: "drawn", hidden: true }))`)
		if without := printed(b); whole-without < 100 {
			t.Errorf("%s: %d paths are printed, and %d without the drawing", page, whole, without)
		}
	}
	b.quiet("request: blob:", "request: about:")
}

// tryWithoutProgram opens the pages in browsers that cannot run the program: the reader learns why. The compiled program is kept for the next worker.
func tryWithoutProgram(t *testing.T, dir string) {
	b := newBrowser(t)
	altered := func(how string) (remove func()) {
		b.t.Helper()
		added, err := chromedp.Call(b.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
			let engine;
			Object.defineProperty(window, "lockstepEngine", { get: () => engine, set: (e) => { ` + how + `; engine = e; } });`})
		b.ok(nil, err)
		return func() {
			b.ok(chromedp.Call(b.ctx, page.RemoveScriptToEvaluateOnNewDocument, page.RemoveScriptToEvaluateOnNewDocumentParams(added)))
		}
	}
	for _, name := range []string{"live.html", "playground.html"} {
		for how, want := range map[string]string{
			`e.worker = "delete self.WebAssembly;" + e.worker`: "WebAssembly is not defined",
			`e.program = e.program.slice(0, 4000)`:             "",
			`e.program = "?" + e.program`:                      "",
		} {
			remove := altered(how)
			b.visit("file://" + dir + "/" + name)
			b.until(`!document.getElementById("loading").textContent.includes("is starting")`)
			if got := b.text("#loading"); !strings.HasPrefix(got, "The program that plays the runs did not start: "+want) || len(got) > 300 {
				t.Errorf("%s, %s: %q", name, how, got)
			}
			remove()
		}
		b.ok(chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
		b.visit("file://" + dir + "/" + name)
		if got := b.text("main"); strings.Contains(got, "is starting") || !strings.Contains(got, "JavaScript") {
			t.Errorf("%s without scripts:\n%s", name, got)
		}
		b.ok(chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: false}))
	}

	b.visit("file://" + dir + "/playground.html")
	b.until(`document.getElementById("state").textContent.includes("Checksum")`)
	if !eval[bool](b, `window.lockstepEngine.program instanceof WebAssembly.Module`) {
		t.Error("the compiled program is not kept")
	}
	b.click("#explore")
	b.until(`document.getElementById("explored").textContent.includes(" of about ")`)
	b.click("#explore")
	b.script(`document.getElementById("run").value = "clock-jump/redlock"; document.getElementById("run").dispatchEvent(new Event("change"))`)
	b.until(`document.querySelector("#stage h1").textContent.includes("clock-jump")`)
	b.quiet("request: blob:", "request: about:")
}

// visit opens a page, and waits until it is there: what ends the wait for the navigation may be a frame of the page before.
func (b *browser) visit(url string) {
	b.t.Helper()
	b.ok(nil, chromedp.Do(b.ctx, chromedp.Navigate(url)))
	page, _, _ := strings.Cut(url, "#")
	there := fmt.Sprintf(`document.readyState === "complete" && location.href.split("#")[0] === %q`, page)
	for {
		if ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](there)); err == nil && ok {
			return
		}
		b.ok(nil, b.ctx.Err())
		time.Sleep(20 * time.Millisecond)
	}
}

// script runs statements in the page.
func (b *browser) script(format string, args ...any) {
	b.t.Helper()
	eval[bool](b, "(() => { "+fmt.Sprintf(format, args...)+"; return true })()")
}

func (b *browser) click(selector string) {
	b.t.Helper()
	b.script(`document.querySelector(%q).click()`, selector)
}
