package explorer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"lockstep/checker"
	"lockstep/checker/explain"
	"lockstep/checker/facts"
	"lockstep/reports"
	"lockstep/reports/internal/sample"
	"lockstep/sim/history"
)

// pageOf returns the page of some runs, and the data for its script.
func pageOf(t *testing.T, runs ...Run) (string, pageData) {
	t.Helper()
	var b bytes.Buffer
	if err := Page(&b, Link{}, runs...); err != nil {
		t.Fatal(err)
	}
	_, data, _ := strings.Cut(b.String(), `<script type="application/json">`)
	data, _, found := strings.Cut(data, "</script>")
	if !found {
		t.Fatal("the page has no data")
	}
	var d pageData
	if err := json.Unmarshal([]byte(data), &d); err != nil {
		t.Fatal(err)
	}
	return b.String(), d
}

func asPage(r sample.Run) Run { return Run{Facts: facts.Of(r.H), Result: r.Result} }

// Every sentence, jump and mark of a page leads to an event, and every event has a text.
func TestPageLinks(t *testing.T) {
	for _, c := range append(sample.Runs(t), sample.Hostile(), sample.Run{Name: "busy", H: sample.Busy(), Result: checker.Check(facts.Of(sample.Busy()), nil)}) {
		_, d := pageOf(t, asPage(c))
		m := d.Runs[0]
		valid := func(i int) bool { return i >= 0 && i < len(m.Events) }
		if len(m.Events) != len(c.H.Events) || len(m.Lanes) == 0 {
			t.Fatalf("%s: %d events of %d, %d lanes", c.Name, len(m.Events), len(c.H.Events), len(m.Lanes))
		}
		for i, e := range m.Events {
			if e.Who == "" || e.Verb == "" {
				t.Errorf("%s: event %d has no words: %+v", c.Name, i, e)
			}
		}
		for _, s := range m.Stories {
			for _, said := range s.Sentences {
				if len(said.Events) == 0 || !valid(said.Events[0]) || said.Text == "" {
					t.Errorf("%s: %q leads nowhere: %v", c.Name, said.Text, said.Events)
				}
			}
		}
		for _, v := range m.Violations {
			if !valid(v.Event) || !m.Events[v.Event].Proof {
				t.Errorf("%s: the violation of %s is at event %d, which proves nothing", c.Name, v.Property, v.Event)
			}
		}
		if m.Verdict == string(checker.Unsafe) && len(m.Violations) == 0 {
			t.Errorf("%s: %s with %d violations", c.Name, m.Verdict, len(m.Violations))
		}
		for _, f := range m.Flights {
			if f.From == f.To || f.From < 0 || f.To < 0 || f.Sent > f.At || !valid(f.Event) {
				t.Errorf("%s: a message leads nowhere: %+v", c.Name, f)
			}
		}
		for _, l := range m.Lanes {
			for _, b := range l.Bars {
				if b.From > b.To || b.To > m.End || b.Style == "" {
					t.Errorf("%s: %s has the bar %+v", c.Name, l.Name, b)
				}
				if (b.Style == "holding" || b.Style == "living") && len(b.Ends) == 0 {
					t.Errorf("%s: %s has no end to count down to: %+v", c.Name, l.Name, b)
				}
			}
			for _, mk := range l.Marks {
				if !valid(mk.Event) || mk.Shape == "" {
					t.Errorf("%s: %s has the mark %+v", c.Name, l.Name, mk)
				}
			}
		}
	}
}

// Attempts that are refused one after the other are drawn as one mark where the last of them ends, because nobody knows it before. They are
// details in the list, and their messages are not drawn.
func TestPageJoinsRefusals(t *testing.T) {
	h := sample.Herd()
	page, d := pageOf(t, Run{Facts: facts.Of(h), Result: checker.Check(facts.Of(h), nil)})
	m := d.Runs[0]
	refused, shown := 0, 0
	for _, l := range m.Lanes {
		for _, mk := range l.Marks {
			if strings.HasPrefix(mk.Text, "acquire refused") {
				refused++
				if e := m.Events[mk.Event]; mk.Text != "acquire refused ×30" || e.Level != 0 || e.Kind != history.Fail || mk.At != e.At {
					t.Errorf("%s at %v, for %s at %v of level %d", mk.Text, mk.At, e.Kind, e.At, e.Level)
				}
			}
		}
	}
	for _, e := range m.Events {
		if e.Kind == history.Fail && e.Level == 0 {
			shown++
			if e.What != "acquire ×30" || !strings.HasPrefix(e.Detail, "since ") {
				t.Errorf("the refusals are listed as %q, %q", e.What, e.Detail)
			}
		}
	}
	if refused != 9 || shown != 9 {
		t.Errorf("the refusals of nine clients are %d marks and %d lines", refused, shown)
	}
	for _, f := range m.Flights {
		if client := m.Lanes[min(f.From, f.To)].Name; client == "c2" && !f.Quiet {
			t.Errorf("a message of c2, which was refused each time, is drawn: %+v", f)
		}
	}
	if _, text, found := strings.Cut(page, `<pre class="canvas"`); !found || !strings.Contains(text, "acquire ×30") {
		t.Error("without the script, nothing says how often acquire was refused")
	}
}

// The same runs give the same bytes, and the policy allows only what is in the page.
func TestPageIsClosed(t *testing.T) {
	c := sample.Runs(t)[0]
	first, _ := pageOf(t, asPage(c))
	if again, _ := pageOf(t, asPage(c)); again != first {
		t.Error("the same run gives different bytes")
	}
	policy := html.UnescapeString(regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(first)[1])
	if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q", policy)
	}
	for _, tag := range []string{"style", "script"} {
		all := regexp.MustCompile(`(?s)<`+tag+`>(.*?)</`+tag+`>`).FindAllStringSubmatch(first, -1)
		if len(all) != 1 {
			t.Fatalf("%d elements %s", len(all), tag)
		}
		if source := HashSource(all[0][1]); !strings.Contains(policy, tag+"-src "+source) {
			t.Errorf("the policy does not allow the %s of the page", tag)
		}
	}
	for _, outside := range []string{"http:", "https:", "src=", "href=", "@import", "url(", " on", "style="} {
		for _, tag := range regexp.MustCompile(`<[a-z][^>]*>`).FindAllString(strings.SplitN(first, "<script>", 2)[0], -1) {
			if strings.Contains(tag, outside) && !strings.Contains(tag, "http-equiv") && !strings.Contains(tag, `aria-`) {
				t.Errorf("%s in %s", outside, tag)
			}
		}
	}
	for _, way := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "fetch(", "XMLHttp", "import("} {
		if strings.Contains(string(Script()), way) {
			t.Errorf("the script uses %s", way)
		}
	}
}

// External strings are shown as text.
func TestPageHostileText(t *testing.T) {
	harmless, _ := pageOf(t, asPage(sample.Runs(t)[0]))
	for n, bad := range sample.HostileTexts {
		h := *sample.PauseAfterAcquire("single", "plain")
		swap := func(s string) string {
			if s == "c1" {
				return bad
			}
			return strings.ReplaceAll(s, "c1#", bad+"#")
		}
		for i := range h.Events {
			e := &h.Events[i]
			e.Process, e.By, e.Lease, e.Owner = swap(e.Process), swap(e.By), swap(e.Lease), swap(e.Owner)
			e.Error, e.Value = bad, bad
		}
		h.Meta.Scenario, h.Meta.Lock, h.Meta.Label = bad, bad, bad
		h.Meta.Clients = []string{bad, "c2"}
		r := Run{Facts: facts.Of(&h), Result: checker.Check(facts.Of(&h), nil)}
		r.Title, r.Prose, r.Script = bad, "One\n\n"+bad, "client "+bad+"\n  acquire\n"
		page, d := pageOf(t, r)
		for _, tag := range []string{"<script", "</script", "<!--", "<img", "\u2028", "\u202e", "\x00", "\x1b"} {
			want := strings.Count(harmless, tag)
			if got := strings.Count(page, tag); got != want {
				t.Errorf("%d: %d times %q, want %d", n, got, tag, want)
			}
		}
		if want := template.HTMLEscapeString(reports.Printable(strings.Join(strings.Fields(bad), " "), proseMost/2)); !strings.Contains(page, "<bdi>"+strings.TrimSuffix(want, "…")) {
			t.Errorf("%d: the prose has no %.60q", n, want)
		}
		for _, s := range slices.Concat(d.Runs[0].Stories[0].Sentences, d.Runs[0].Stories[len(d.Runs[0].Stories)-1].Sentences) {
			if utf8.RuneCountInString(s.Text) > tellMost {
				t.Errorf("%d: the explanation goes on and on: %q", n, s.Text)
			}
		}
	}
}

// Without the script a page still tells the verdicts of its runs, why, and the story of the scenario. Long texts are folded.
func TestPageWithoutScript(t *testing.T) {
	static := func(page string) string {
		return html.UnescapeString(regexp.MustCompile(`(?s)<(script|style).*?</(script|style)>`).ReplaceAllString(page, ""))
	}
	broken, kept := sample.PauseAfterAcquire("single", "plain"), sample.PauseAfterAcquire("fenced", "fenced")
	r := Run{Facts: facts.Of(broken), Result: checker.Check(facts.Of(broken), nil), Title: "A pause.", Prose: "First.\n\nSecond; why2020.", Script: "client c1\n  acquire\n"}
	other := r
	other.Facts, other.Result = facts.Of(kept), checker.Check(facts.Of(kept), nil)
	other.Picture = "<svg>a picture</svg>"
	page, _ := pageOf(t, r, other)
	text := static(page)
	for _, want := range []string{
		`<span class="letter">A</span>`, `<strong class="verdict">UNSAFE</strong>`, `<strong class="verdict">SAFE</strong>`, r.Result.Violations[0].What,
		"<h2>A: Why “resource exclusion” was violated</h2>", "<h2>B: Nothing was violated</h2>", "<bdi>A pause.</bdi>", "<p><bdi>First.</bdi></p>",
		`aria-label="Timeline of the run">`, "pause c1 15s", `aria-label="Picture of the run"><svg>a picture</svg>`,
		"<p><bdi>Second; “why”, “The story of asking for the hammer” (2020, in Chinese).</bdi></p>", "<pre>client c1\n  acquire</pre>", "<noscript>",
		"<th scope=\"row\">resource exclusion</th><td><strong>violated</strong>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("without its script the page has no %s", want)
		}
	}
	for _, s := range explain.Story(facts.Of(broken), r.Result.Violations[0]) {
		if !strings.Contains(text, "<bdi>"+s.Text+"</bdi>") {
			t.Errorf("without its script the page does not say: %s", s.Text)
		}
	}
	if n := strings.Count(text, "First."); n != 1 {
		t.Errorf("the story that two runs share is told %d times", n)
	}
}

// Prose of any length is complete on the page. What exceeds the limit is folded.
func TestPageFoldsProse(t *testing.T) {
	for _, tt := range []struct {
		name, prose  string
		open, folded int // paragraphs
	}{
		{"short", "One.\n\nTwo.", 2, 0},
		{"at the limit", strings.Repeat("x", proseMost), 1, 0},
		{"one long paragraph", strings.Repeat("ten chars ", 1024), 1, 1},
		{"one long word", strings.Repeat("é", 10<<10), 1, 1},
		{"many paragraphs", strings.Repeat(strings.Repeat("word ", 100)+"\n\n", 20), 3, 17},
	} {
		p := foldProse(tt.prose)
		if len(p.Open) != tt.open || len(p.Folded) != tt.folded {
			t.Errorf("%s: %d paragraphs are open and %d folded, want %d and %d", tt.name, len(p.Open), len(p.Folded), tt.open, tt.folded)
		}
		if n := utf8.RuneCountInString(strings.Join(p.Open, "")); n > proseMost+len(" …") {
			t.Errorf("%s: %d characters are open", tt.name, n)
		}
		bare := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, "…", "")), "") }
		if got := bare(strings.Join(p.Open, "") + strings.Join(p.Folded, "")); got != bare(tt.prose) {
			t.Errorf("%s: the page has %d bytes of %d", tt.name, len(got), len(bare(tt.prose)))
		}
		h := sample.PauseAfterAcquire("single", "plain")
		page, _ := pageOf(t, Run{Facts: facts.Of(h), Result: checker.Check(facts.Of(h), nil), Prose: tt.prose})
		if got, want := strings.Contains(page, `<details class="rest">`), tt.folded > 0; got != want {
			t.Errorf("%s: folded on the page is %v", tt.name, got)
		}
	}
}

// Sentences cut long values short, so that readers see what became of them. The whole sentence is folded beside it.
func TestPageCutsValues(t *testing.T) {
	value := "<b>" + strings.Repeat("v", 2000)
	h := sample.PauseAfterAcquire("single", "plain")
	for i := range h.Events {
		if h.Events[i].Value == "A" {
			h.Events[i].Value = value
		}
	}
	page, d := pageOf(t, Run{Facts: facts.Of(h), Result: checker.Check(facts.Of(h), nil)})
	n := 0
	for _, s := range d.Runs[0].Stories[0].Sentences {
		if s.Whole == "" {
			continue
		}
		n++
		if !strings.Contains(s.Whole, value) || len(s.Text) > 300 || !strings.Contains(s.Text, reports.Printable(value, quoteMost)) {
			t.Errorf("%q has %d bytes, of %d in full", s.Text, len(s.Text), len(s.Whole))
		}
		for _, text := range []string{"<bdi>" + html.EscapeString(s.Text) + "</bdi>", "<summary>In full</summary><bdi>" + html.EscapeString(s.Whole) + "</bdi>"} {
			if !strings.Contains(html.UnescapeString(page), html.UnescapeString(text)) || strings.Contains(page, "<b>") {
				t.Errorf("the page has no %.100q as text", text)
			}
		}
	}
	if told := fmt.Sprint(d.Runs[0].Stories[0].Sentences); n == 0 || !strings.Contains(told, "though c2#1 was the newer lease") {
		t.Errorf("%d sentences are cut, or their ends are lost: %s", n, told)
	}
}

// Clocks are read off the events: a jump is a step, a slew is a slope, and a drift continues to the end.
func TestPageClocks(t *testing.T) {
	at := func(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
	fault := func(s float64, f history.Fault, clock, wall float64) history.Event {
		return history.Event{At: at(s), Clock: at(clock), Wall: at(wall), Process: "n1", Kind: history.Injected, Op: f.Verb(), Value: f.String()}
	}
	state := func(s, clock, wall float64) history.Event {
		return history.Event{At: at(s), Clock: at(clock), Wall: at(wall), Process: "n1", Kind: history.State, Op: history.Set, Key: "k"}
	}
	for _, c := range []struct {
		name   string
		events []history.Event
		wall   string
	}{
		{"right", []history.Event{state(1, 1, 0), state(2, 2, 0)}, "[{1s 0s} {4s 0s}]"},
		{"jump, before", []history.Event{state(1, 1, 0), fault(2, history.Jump{Process: "n1", By: at(3)}, 2, 0), state(3, 3, 3)}, "[{1s 0s} {2s 0s} {2s 3s} {4s 3s}]"},
		{"jump, after", []history.Event{state(1, 1, 0), fault(2, history.Jump{Process: "n1", By: at(3)}, 2, 3), state(3, 3, 3)}, "[{1s 0s} {2s 0s} {2s 3s} {4s 3s}]"},
		{"slew", []history.Event{state(1, 1, 0), fault(2, history.Slew{Process: "n1", By: at(0.2), Over: at(1)}, 2, 0), state(2.5, 2.5, 0.1)}, "[{1s 0s} {2s 0s} {3s 200ms} {4s 200ms}]"},
		{"drift", []history.Event{fault(0, history.Drift{Process: "n1", PPM: 500000}, 0, 0), state(2, 3, 1)}, "[{0s 0s} {4s 2s}]"},
	} {
		h := &history.History{Meta: history.Meta{Scenario: "s", Lock: "l", Nodes: []string{"n1"}, TTL: at(10)}, Events: c.events}
		if got := fmt.Sprint(ClockOf(h, "n1", at(4)).Wall); got != c.wall {
			t.Errorf("%s: %s, want %s", c.name, got, c.wall)
		}
	}
}

// In either theme, text on a page has a contrast of at least 4.5, and drawings of at least 3 (WCAG 2.2, 1.4.3 and 1.4.11).
func TestPageContrast(t *testing.T) {
	for n, theme := range sample.Themes(t, string(Style())) {
		for text, least := range map[string]float64{"ink": 4.5, "soft": 4.5, "red": 4.5, "green": 4.5, "doubt": 4.5, "accent": 4.5, "violet": 4.5, "link": 4.5} {
			for _, ground := range []string{"paper", "plate"} {
				if c := theme.Contrast(t, text, ground); c < least {
					t.Errorf("theme %d: %s on %s has a contrast of %.2f, want %.1f", n, text, ground, c, least)
				}
			}
		}
	}
}
