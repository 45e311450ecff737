//go:build !js

package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"lockstep/internal/draws"
	"lockstep/scenarios/play"
	"lockstep/scenarios/reader"
	"lockstep/scenarios/script"
)

// tryPlayground tries the page on which readers write scenarios.
func tryPlayground(t *testing.T, dir string) {
	b := newBrowser(t) // with a limit of its own
	defer func() {
		b.t = t
		b.quiet("request: blob:", "request: about:")
	}()
	page := "file://" + dir + "/playground.html"
	open := func(link string) {
		b.t.Helper()
		b.visit("about:blank")
		b.visit(page + link)
		b.until(`document.getElementById("state")?.textContent.includes("Checksum")`)
	}
	played := func(what string) {
		b.t.Helper()
		b.until(`!document.getElementById("state").classList.contains("busy") && document.getElementById("stage").textContent.includes(` + fmt.Sprintf("%q", what) + `)`)
	}
	// key presses a key that the page handles itself, so no character follows.
	key := func(name string) {
		b.t.Helper()
		b.ok(chromedp.Call(b.ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeRawKeyDown, Key: name}))
	}
	area := `document.querySelector("#editor textarea")`

	t.Run("a run of the catalogue", func(t *testing.T) {
		b.t = t
		open("#clock-drift/redlock/above")
		want := reader.Play(reader.Request{Run: "clock-drift/redlock/above"}).Checksum
		if got := b.text("#state"); !strings.Contains(got, want) {
			t.Errorf("%q; want checksum %s", got, want)
		}
		b.until(`location.hash === "#clock-drift/redlock/above"`)
	})

	t.Run("typing", func(t *testing.T) {
		b.t = t
		open("#pause-after-acquire/single")
		b.script(`const e = %s; e.focus(); const n = e.value.indexOf("  pause 15s") + 11; e.setSelectionRange(n, n)`, area)
		key("Enter")
		b.press("s", "l")
		b.until(`document.querySelector("#choices [role=option] .text")?.textContent === "sleep"`)
		key("Tab")
		b.until(area + `.value.includes("  sleep ")`) // if the list was being renewed, the entry is taken once it is there
		b.press("2", "s")
		defer func() {
			if !t.Failed() {
				return
			}
			t.Log(eval[string](b, area+".value.slice(0,150) + location.hash + '|' + document.activeElement.id + '|' + document.getElementById('state').className+ document.getElementById('state').textContent"))
		}()
		b.until(`!document.getElementById("state").classList.contains("busy") && location.hash.startsWith("#lk")`)
		if got := eval[string](b, area+".value"); !strings.Contains(got, "  pause 15s\n  sleep 2s\n  write A\n") {
			t.Error(got)
		}
		b.press("x")
		b.until(`document.querySelectorAll(".under .wrong").length === 1 && document.getElementById("mistakes").textContent.includes("2sx")`)
		if n := eval[int](b, `[...document.querySelectorAll(".knob")].filter((k) => k.checkVisibility()).length`); n != 0 {
			t.Errorf("%d knobs of the run before could still be dragged, which would undo what was typed", n)
		}
		if got := b.text("#outdated"); got != "This is the last run that could be played. It is not the run of your present text." {
			t.Errorf("over the run before: %q", got)
		}
		b.press(kb.Backspace)
		b.until(`document.querySelectorAll(".under .wrong").length === 0`)
		b.until(`document.getElementById("outdated").hidden`)
		b.until(`[...document.querySelectorAll(".knob")].some((k) => k.checkVisibility())`)
		state, link := b.text("#state"), eval[string](b, `location.hash`)

		other := newBrowser(t) // a fresh profile
		other.visit(page + link)
		other.until(`document.getElementById("state")?.textContent.includes("Checksum")`)
		checksum := func(s string) string { return s[strings.Index(s, "Checksum"):] }
		if got := other.text("#state"); checksum(got) != checksum(state) {
			t.Errorf("the link leads to %q, not to %q", got, state)
		}
	})

	t.Run("from nothing", func(t *testing.T) {
		b.t = t
		open("#pause-after-acquire/single")
		write := func(text string) {
			b.script(`const e = %s; e.value = %q; e.dispatchEvent(new Event("input"))`, area, text)
		}
		write(" \n")
		b.until(`document.getElementById("state").textContent === "Write a scenario, or choose one under Start from." && !document.getElementById("outdated").hidden`)
		write("client c1\n  write A\n")
		b.until(`document.getElementById("mistakes").textContent.includes("ends without a run")`)
		b.script(`const l = document.getElementById("lock"); l.value = "redlock"; l.dispatchEvent(new Event("change"))`)
		played("no client asked for the lock")
		if got := eval[string](b, area+".value"); got != "client c1\n  write A\n\n-- redlock nodes=5 --\n" {
			t.Errorf("the menu of locks makes it %q", got)
		}
		b.script(`document.getElementById("how-to").open = true`)
		if n := eval[int](b, `document.querySelectorAll("#step-forms tbody tr, #fault-forms tbody tr").length`); n != len(reader.NewHelp().Steps)+len(reader.NewHelp().Faults) {
			t.Errorf("the help has %d rows", n)
		}
		b.click("#use")
		b.until(`document.querySelector("#stage .verdict").textContent === "UNSAFE" && document.getElementById("outdated").hidden`)
		if got := eval[string](b, area+".value"); got != reader.NewHelp().Example {
			t.Errorf("the example is %q", got)
		}
		b.script(`window.copied = ""; navigator.clipboard.writeText = async (text) => { window.copied = text }`)
		write("client c1\n  acquire\n\n-- single nodes=1 --\n")
		played("single")
		b.until(`document.querySelector("#stage .verdict").textContent === "SAFE"`)
		b.click("#text")
		b.until(`window.copied.startsWith("# ") && window.copied.endsWith("\n\nclient c1\n  acquire\n\n-- single nodes=1 --\n")`)
	})

	t.Run("dragging", func(t *testing.T) {
		b.t = t
		open("#pause-after-acquire/redlock")
		b.script(`document.querySelector("[data-do=scale]").click()`)
		knob := `document.querySelector('.knob[aria-label="the end of pause c1 15s"]')`
		place := eval[[]float64](b, `(() => { const k = `+knob+`; k.scrollIntoView({ block: "center" }); const r = k.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()`)
		mouse := func(kind input.DispatchMouseEventType, x float64) {
			b.ok(nil, chromedp.Do(b.ctx, chromedp.MouseEvent(kind, x, place[1], chromedp.ButtonLeft)))
		}
		mouse(input.DispatchMouseEventTypeMousePressed, place[0])
		mouse(input.DispatchMouseEventTypeMouseMoved, place[0]-150)
		mouse(input.DispatchMouseEventTypeMouseMoved, place[0]-200)
		if got := eval[string](b, area+".value"); strings.Contains(got, "pause 15s") {
			t.Errorf("the text does not follow:\n%s", got)
		}
		mouse(input.DispatchMouseEventTypeMouseReleased, place[0]-200)
		b.until(`!document.getElementById("state").classList.contains("busy") && document.querySelector(".verdict").textContent === "SAFE"`)
		held := `document.activeElement.matches('.knob[aria-label^="the end of pause"]')`
		b.until(held)
		for range 2 { // the knob keeps the focus
			was := eval[string](b, area+".value")
			b.press(kb.ArrowRight)
			b.until(area + ".value !== " + fmt.Sprintf("%q", was) + ` && document.getElementById("stage").classList.contains("stale")`)
			b.until(`!document.getElementById("stage").classList.contains("stale") && ` + held)
		}

		// Where the axis is not to scale, each pixel is a step.
		open("#pause-after-acquire/redlock")
		b.script(`const a = document.querySelector("[data-do=scale]"); if (a.getAttribute("aria-pressed") === "true") a.click()`)
		drag := func(knob string, by float64) {
			b.until(knob + ` !== null`)
			place = eval[[]float64](b, `(() => { const k = `+knob+`; k.scrollIntoView({ block: "center" }); const r = k.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()`)
			mouse(input.DispatchMouseEventTypeMousePressed, place[0])
			mouse(input.DispatchMouseEventTypeMouseMoved, place[0]+by)
			mouse(input.DispatchMouseEventTypeMouseReleased, place[0]+by)
		}
		drag(knob, -3)
		if got := eval[string](b, area+".value"); !strings.Contains(got, "pause 14700ms") && !strings.Contains(got, "pause 14.7s") {
			t.Errorf("a drag by three pixels makes it\n%s", got)
		}

		// A fault that is moved far to the right still happens.
		open("#crash-restart-5/redlock")
		drag(`document.querySelector('.knob[aria-label="restart n3 empty"]')`, 2000)
		b.until(`!document.getElementById("state").classList.contains("busy") && !document.getElementById("stage").classList.contains("stale")`)
		b.until(`document.activeElement.matches('.knob[aria-label="restart n3 empty"]')`)
	})

	t.Run("fork and compare", func(t *testing.T) {
		b.t = t
		open("#pause-in-acquire/redlock")
		b.click("[data-do=last]")
		b.click("[data-do=back]")
		b.click("#fork")
		b.until(`document.querySelectorAll("#choices [role=option]").length > 10`)
		if got := b.text("#choices"); !strings.Contains(got, "the process stands still for that long") {
			t.Errorf("the list of faults does not say what they do:\n%s", got)
		}
		b.press("p", "a", "u")
		key("Tab") // the entry is taken, if need be once the list is there
		b.until(`document.querySelector("#choices [role=option] .text").textContent === "c1"`)
		key("Tab")
		b.until(`document.querySelector("#choices [role=option] .text").textContent === "1s"`)
		key("Tab")
		b.until(`document.querySelectorAll(".heads .head").length === 2`)
		b.script(`const l = document.getElementById("lock"); l.value = "redlock-sequential"; l.dispatchEvent(new Event("change"))`)
		played("redlock-sequential")
		b.until(`/^#.+,lk1/.test(location.hash)`)
		link := eval[string](b, `location.hash`)
		open(link)
		b.until(`document.querySelectorAll(".heads .head").length === 2`)
		b.click("#keep")
		b.until(`document.querySelectorAll(".heads .head").length === 1`)
	})

	// Each fault can be added with the mouse or the keys, its step is selected, the run is played, and the reader can take it back.
	t.Run("the palette of faults", func(t *testing.T) {
		draws.Turn(t, 1, 3)
		before := b
		b = newBrowser(t) // it takes a third of the time that a browser has
		defer func() {
			b.quiet("request: blob:", "request: about:")
			b = before
		}()
		const selected = `%[1]s.value.slice(%[1]s.selectionStart, %[1]s.selectionEnd)`
		step := fmt.Sprintf(selected, area)
		for _, run := range []string{"pause-after-acquire/redlock", "failover-lag/single"} {
			open("#" + run)
			text := eval[string](b, area+".value")
			for n, row := range reader.NewHelp().Faults {
				if row.Group != "replication" && !strings.HasSuffix(run, "redlock") {
					continue
				}
				b.script(`document.querySelectorAll("#faults button")[%d].click()`, n)
				if row.Group == "replication" && strings.HasSuffix(run, "redlock") {
					b.until(`document.getElementById("refused").textContent.includes("needs replicas, but the run has none")`)
					if got := eval[string](b, area+".value"); got != text {
						t.Errorf("%s: what cannot be added changes the text:\n%s", row.Form, got)
					}
					continue
				}
				b.until(area + `.value !== ` + fmt.Sprintf("%q", text) + ` && /^#lk/.test(location.hash)`)
				b.until(`!document.getElementById("state").classList.contains("busy") && !document.getElementById("stage").classList.contains("stale")`)
				if got, verb := eval[string](b, step), strings.Fields(row.Form)[0]; !strings.Contains(" "+got, " "+verb+" ") || eval[string](b, `document.activeElement.tagName`) != "TEXTAREA" {
					t.Errorf("%s: %q is selected", row.Form, got)
				}
				if got := b.text("#mistakes") + b.text("#choices"); got != "" || !eval[bool](b, `document.getElementById("state").textContent.includes("Checksum") && document.getElementById("outdated").hidden`) {
					t.Errorf("%s: %s", row.Form, got)
				}
				b.script(`document.execCommand("undo")`)
				b.until(area + `.value === ` + fmt.Sprintf("%q", text))
				b.until(`!document.getElementById("state").classList.contains("busy") && !document.getElementById("stage").classList.contains("stale") && location.hash === "#` + run + `"`)
			}
		}

		// A refusal is about the text that there was: it goes with the next text.
		open("#pause-after-acquire/redlock")
		b.script(`[...document.querySelectorAll("#faults button")].find((x) => x.textContent === "promote").click()`)
		b.until(`document.getElementById("refused").textContent !== ""`)
		b.script(`const l = document.getElementById("lock"); l.value = "redlock-sequential"; l.dispatchEvent(new Event("change"))`)
		b.until(`document.getElementById("refused").textContent === "" && /^#lk/.test(location.hash)`)

		b.script(`document.querySelector("#faults [tabindex='0']").focus()`)
		for _, name := range []string{"Home", "ArrowRight", "ArrowLeft", "ArrowLeft"} {
			key(name)
		}
		if got := eval[string](b, `document.activeElement.textContent + document.querySelectorAll("#faults [tabindex='0']").length`); got != "on request|reply1" {
			t.Errorf("the arrow keys lead to %q", got)
		}
		if got := b.text("#meaning"); !strings.Contains(got, "holds or delays one message") {
			t.Errorf("the meaning of the fault is %q", got)
		}
		b.press(kb.Enter)
		b.until(step + `.startsWith("on reply SET")`)
	})

	t.Run("another lock", func(t *testing.T) {
		b.t = t
		open("#pause-fenced/fenced")
		for _, c := range []struct{ lock, want string }{
			{"single", "-- single nodes=1 resource=fenced --"},
			{"redlock", "-- redlock nodes=5 resource=fenced --"},
			{"redlock-sequential", "-- redlock-sequential nodes=5 resource=fenced --"},
		} {
			b.script(`const l = document.getElementById("lock"); l.value = %q; l.dispatchEvent(new Event("change"))`, c.lock)
			b.until(fmt.Sprintf(`document.querySelector("#stage h1").textContent === %q`, "pause-fenced, changed · "+c.lock))
			if got := eval[string](b, area+".value"); !strings.Contains(got, c.want) {
				t.Errorf("with %s the text is\n%s", c.lock, got)
			}
		}
		b.script(`const e = %s; e.value = e.value.replace("nodes=5", "nodes=3"); e.dispatchEvent(new Event("input"))`, area)
		b.script(`const l = document.getElementById("lock"); l.value = "redlock"; l.dispatchEvent(new Event("change"))`)
		b.until(area + `.value.includes("-- redlock nodes=3 ")`)
	})

	// The heading says what the text is: a run of the catalogue, one that the reader has changed, or another scenario.
	t.Run("the heading", func(t *testing.T) {
		b.t = t
		open("#pause-after-acquire/redlock")
		own := eval[string](b, area+".value")
		for _, c := range []struct{ text, want string }{
			{strings.Replace(own, "15s", "14s", 1), "pause-after-acquire, changed · redlock"},
			{own, "pause-after-acquire · redlock"},
			{"# Another one.\n\nclient c1\n  acquire\n\n-- single nodes=1 --\n", "scenario · single"},
		} {
			b.script(`const e = %s; e.value = %q; e.dispatchEvent(new Event("input"))`, area, c.text)
			b.until(fmt.Sprintf(`document.querySelector("#stage h1").textContent === %q`, c.want))
		}
	})

	// A newcomer chooses the lock with tokens for a resource that checks none, and is told so.
	t.Run("tokens that nobody checks", func(t *testing.T) {
		b.t = t
		open("#pause-after-acquire/single")
		const told = "The lock gives each lease a fencing token, but this resource does not check it. With resource=fenced in the line that names the lock, it refuses a token lower than one that it has seen."
		hint := fmt.Sprintf(`document.querySelector("#stage .head").textContent.includes(%q)`, told)
		if eval[bool](b, hint) {
			t.Error("it is said of a lock without tokens")
		}
		b.script(`const l = document.getElementById("lock"); l.value = "fenced"; l.dispatchEvent(new Event("change"))`)
		b.until(hint)
		b.script(`const e = %s; e.value = e.value.replace("-- fenced nodes=1", "-- fenced nodes=1 resource=fenced"); e.dispatchEvent(new Event("input"))`, area)
		b.until(`document.querySelector("#stage .verdict").textContent === "SAFE"`)
		if eval[bool](b, hint) {
			t.Error("it is said of a resource that checks tokens")
		}
	})

	t.Run("pictures", func(t *testing.T) {
		b.t = t
		open("#clock-jump/redlock")
		b.script(`const make = URL.createObjectURL; URL.createObjectURL = (blob) => { blob.text().then((t) => (window.saved = t)); return make(blob) }`)
		b.click("#svg")
		b.until(`window.saved !== undefined`)
		svg := eval[string](b, `window.saved`)
		if err := xml.Unmarshal([]byte(svg), new(struct{})); err != nil || strings.Contains(svg, "http://www.w3.org/1999") {
			t.Errorf("%v: %.300s", err, svg)
		}
		for _, want := range []string{">c1<", ">clock-jump · redlock<", ">UNSAFE lease exclusion violated (bounded clock error broken)<", ">c1 holds c1#1<", "lock granted"} {
			if !strings.Contains(svg, want) {
				t.Errorf("the picture has no %s", want)
			}
		}
		width := eval[int](b, `document.querySelector(".picture").clientWidth`)
		b.script(`const make = URL.createObjectURL; URL.createObjectURL = (blob) => { createImageBitmap(blob).then((i) => (window.width = i.width)); return make(blob) }`)
		b.click("#png")
		b.until(`window.width !== undefined`)
		if got := eval[int](b, `window.width`); got != 2*width {
			t.Errorf("the picture is %d pixels wide, and that on the page %d", got, width)
		}
	})

	t.Run("it fits the window", func(t *testing.T) {
		b.t = t
		for _, width := range []int64{1280, 390} {
			b.size(width, 900)
			open("#crash-restart-5/redlock")
			b.click("#fork")
			b.until(`document.querySelectorAll("#choices .note").length > 10`)
			if got := eval[int64](b, `document.documentElement.scrollWidth`); got > width {
				t.Errorf("at %d pixels the page has %d", width, got)
			}
		}
		b.size(1280, 900)
	})

	// Whatever a link contains, the page shows the run that it leads to, or says that it is damaged, and changes nothing else. Here are only some of
	// the links of TestHostileLinks.
	t.Run("hostile links", func(t *testing.T) {
		b.t = t
		const each = 500
		open("#pause-after-acquire/single")
		token := reader.Play(reader.Request{Run: "pause-after-acquire/single"}).Token
		r := rand.New(rand.NewPCG(uint64(time.Now().Unix()/86400), 1))
		batches := 1
		if *draws.All {
			batches = hostileLinks / each
		}
		for range batches {
			links := make([]string, each)
			for i := range links {
				links[i] = hostile(r, token)
			}
			list, err := json.Marshal(links)
			b.ok(nil, err)
			found, err := chromedp.Run(b.ctx, chromedp.Evaluate[struct{ Runs, Wrong []string }](fmt.Sprintf(`(async () => {
				const $ = (id) => document.getElementById(id);
				const shown = () => [$("stage").firstElementChild, document.querySelector("#editor textarea").value, document.querySelectorAll("img, iframe, script").length];
				const found = { runs: [], wrong: [] };
				let before = shown();
				const changed = () => shown().some((v, n) => v !== before[n]);
				for (const link of %s) {
					$("state").textContent = $("notice").textContent = "";
					const old = location.hash;
					location.hash = "#" + link;
					if (location.hash === old) continue; // the same address again is no event
					await new Promise((done) => {
						const ended = () => $("notice").textContent || $("state").textContent.includes("Checksum");
						const observer = new MutationObserver(() => ended() && done(observer.disconnect()));
						for (const id of ["state", "notice"]) observer.observe($(id), { childList: true });
						setTimeout(done, 10_000);
					});
					const notice = $("notice").textContent;
					if (!notice) found.runs.push(link);
					else if (!notice.startsWith("The link is damaged, or leads to another version of this page: ") || notice.length > 300) found.wrong.push(link + ": " + notice);
					else if (changed()) found.wrong.push(link + ": something else is shown");
					before = shown();
				}
				await new Promise((done) => setTimeout(done, 1000));
				if (changed()) found.wrong.push("something else is shown a second after the last link");
				return found;
			})()`, list), chromedp.EvalAwaitPromise))
			b.ok(nil, err)
			for _, what := range found.Wrong {
				t.Errorf("%.500q", what)
			}
			for _, link := range found.Runs {
				if runs, message := follow(link); link != "" && (runs == 0 || message != "") {
					t.Errorf("%.500q leads to a run, and should say %.500q", link, message)
				}
			}
		}
	})
}

const hostileLinks = 10_000

// What a hostile link names is a run, or else there is a message that a reader can read.
func TestHostileLinks(t *testing.T) {
	play.QuietRedis()
	token := reader.Play(reader.Request{Run: "pause-after-acquire/single"}).Token
	r := rand.New(rand.NewPCG(uint64(time.Now().Unix()/86400), 1))
	whole := 0
	for range hostileLinks {
		link := hostile(r, token)
		runs, message := follow(link)
		if message == "" {
			whole++
		}
		if runs == 0 && message == "" || len(message) > 250 {
			t.Fatalf("%.300q: %.600q", link, message)
		}
	}
	if whole == 0 || whole > hostileLinks/10 {
		t.Errorf("%d links are not damaged", whole)
	}
}

// follow says to how many runs a link leads, and what is wrong with it.
func follow(link string) (runs int, message string) {
	for _, name := range strings.SplitN(link, ",", 3)[:min(2, strings.Count(link, ",")+1)] {
		request := reader.Request{Run: name}
		if script.IsToken(name) {
			request = reader.Request{Token: name}
		}
		a := reader.Play(request)
		if len(a.Errors) > 0 {
			return runs, a.Errors[0].Text
		}
		runs++
	}
	return runs, ""
}

// hostile returns a fragment of an address that somebody might send.
func hostile(r *rand.Rand, token string) string {
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	const letters = "abcXYZ019-_.,%/#<>\"'& \u00e9\x01"
	noise := func(n int) string {
		var b strings.Builder
		for range r.IntN(n) {
			b.WriteByte(letters[r.IntN(len(letters))])
		}
		return b.String()
	}
	switch r.IntN(6) {
	case 0:
		return noise(60)
	case 1:
		return pick("lk1.", "lk9.", "lk1") + noise(200)
	case 2: // one character is another
		i := r.IntN(len(token))
		return token[:i] + pick("A", "b", "%", ",", "<") + token[min(i+1, len(token)):]
	case 3:
		return token[:r.IntN(len(token))]
	case 4:
		return pick("clock-jump/redlock", "../x", "clock-jump/none", "sweep-delay/single", "x/y/z") + pick("", ",", "/") + noise(20)
	default: // two names, which the page plays in their order, so that few links begin with a run
		bad := pick(noise(40), "clock-jump", "<img src=x onerror=alert(1)>", strings.Repeat("A", 20_000))
		if r.IntN(20) > 0 {
			return bad + "," + token
		}
		return token + "," + pick(token, bad)
	}
}
