//go:build !js

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"lockstep/scenarios/reader"
)

// The runs of the debate can be played in a browser, with the checksums that they have natively; and a reader can change them.
func TestLiveInBrowser(t *testing.T) {
	b := newBrowser(t)
	dir := filepath.Join(t.TempDir(), "site")
	if out, code := program(t, "debate", "--out", dir, "--live"); code != exitExpected {
		t.Fatalf("status %d\n%s", code, out)
	}
	page := "file://" + dir + "/live.html"
	b.visit(page + "#10")
	b.until(`!document.getElementById("live").hidden`)

	t.Run("predict, then look", func(t *testing.T) {
		b.t = t
		if eval[bool](b, `!document.getElementById("stage").hidden`) {
			t.Error("the outcome is shown before the reader asks for it")
		}
		b.click("#kept")
		b.until(`document.querySelectorAll(".edge:not(:empty)").length === 2`)
		if got, want := b.text("#outcome"), "“resource exclusion” is violated (broken assumption: bounded pause)."; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got, want := b.text(".edge"), "Kept from 1s to 11500ms, violated from 12s to 25s."; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := b.text("#guess"); got != "You expected: kept." {
			t.Error(got)
		}
	})

	t.Run("checksums", func(t *testing.T) {
		b.t = t
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
		for range 4 {
			b.press("\ue014") // the right arrow key
		}
		b.until(`document.getElementById("outcome").textContent.includes("is violated")`)
		b.until(`location.hash === "#10/2/13s,10s"`)
	})

	t.Run("a scenario of one's own", func(t *testing.T) {
		b.t = t
		b.script(`const e = document.getElementById("script"); e.value = e.value.replace("pause 13s", "puase 13s"); document.getElementById("play").click()`)
		b.until(`document.getElementById("mistakes").textContent.includes('unknown step "puase"')`)
		b.script(`const e = document.getElementById("script"); e.value = e.value.replace("puase 13s", "pause 14s"); document.getElementById("play").click()`)
		b.until(`document.getElementById("outcome").textContent.includes("UNSAFE")`)
		b.until(`location.hash.startsWith("#lk")`)
		checksum, link := b.text("#checksum"), eval[string](b, `location.hash`)

		other := newBrowser(t) // a fresh profile
		other.visit(page + link)
		other.until(`document.getElementById("checksum")?.textContent !== ""`)
		if got := other.text("#checksum"); got != checksum {
			t.Errorf("the link leads to a run with checksum %s, not %s", got, checksum)
		}
	})

	t.Run("links that lead nowhere", func(t *testing.T) {
		b.t = t
		for _, link := range []string{"#99", "#10/77", "#10/1/1s", "#10/1/%00,%ff", "#lk1.", "#lk1.AAAA", "#lk9.x", "#%", "#<img src=x onerror=alert(1)>", "#10/1/15s,10s,10s,10s,10s,10s", "#lk1." + strings.Repeat("A", 5000)} {
			b.visit("about:blank")
			b.visit(page + link)
			b.until(`!document.getElementById("live").hidden`)
			b.until(`document.getElementById("predict").hidden === false || document.getElementById("outcome").textContent.includes("cannot be played")`)
		}
	})
	b.t = t

	// From a server it works, too, with the policy that is in the page.
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	b.visit(server.URL + "/live.html#17")
	b.until(`!document.getElementById("live").hidden`)
	b.click("#look")
	b.until(`document.getElementById("outcome").textContent.includes("is violated")`)

	for done := false; !done; {
		select {
		case what := <-b.seen:
			if !strings.HasPrefix(what, "request: blob:") && !strings.HasPrefix(what, "request: "+server.URL) && !strings.HasPrefix(what, "request: about:") {
				t.Error(what)
			}
		default:
			done = true
		}
	}
	info, err := os.Stat(filepath.Join(dir, "engine.js"))
	if err != nil || info.Size() > 9<<20 {
		t.Errorf("the program has %v, %v", info, err)
	}
}

func (b *browser) visit(url string) {
	b.t.Helper()
	b.ok(nil, chromedp.Do(b.ctx, chromedp.Navigate(url)))
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

var _ = time.Second
