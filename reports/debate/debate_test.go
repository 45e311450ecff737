package debate

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/reports/explorer"
	"lockstep/reports/internal/sample"
	"lockstep/reports/sites"
	"lockstep/scenarios/claims"
)

// sampleDebate has all claims. Every run that a claim draws is the same sample run under another name, and the claim's only evidence.
func sampleDebate(t *testing.T) Debate {
	t.Helper()
	argument, err := claims.Load()
	if err != nil {
		t.Fatal(err)
	}
	d := Debate{Argument: argument, Command: "lockstep debate --out debate", Versions: []string{"lockstep (devel)"}}
	h := sample.PauseAfterAcquire("single", "plain")
	r := explorer.Run{Facts: facts.Of(h), Result: checker.Check(facts.Of(h), nil), Title: "A pause.", Prose: "It is long."}
	add := func(name string) {
		if !slices.ContainsFunc(d.Runs, func(r NamedRun) bool { return r.Name == name }) {
			d.Runs = append(d.Runs, NamedRun{Run: r, Name: name, Command: "lockstep run " + name})
		}
	}
	add("pause-after-acquire/redlock")
	for i := range argument.Claims {
		c := &argument.Claims[i]
		c.Evidence = nil
		for _, name := range c.Draw {
			add(name)
			c.Evidence = append(c.Evidence, claims.Evidence{Run: name, Property: checker.ResourceExclusion})
		}
	}
	return d
}

// siteFiles writes a debate, and returns the files by name.
func siteFiles(t *testing.T, d Debate) map[string]string {
	t.Helper()
	files, err := d.Files()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range files {
		all[f.Name] = string(f.Data)
	}
	return all
}

// The verdicts of a debate follow its runs, in every place.
func TestDebateVerdicts(t *testing.T) {
	d := sampleDebate(t)
	for _, tt := range []struct {
		history       string
		verdict, word string
	}{{"plain", "UNSAFE", `<span class="violated">violated</span> (bounded pause broken)`}, {"fenced", "SAFE", `<span class="ok">ok</span>`}} {
		h := sample.PauseAfterAcquire("fenced", tt.history)
		for i := range d.Runs {
			d.Runs[i].Facts, d.Runs[i].Result = facts.Of(h), checker.Check(facts.Of(h), nil)
		}
		if got := d.Runs[0].Result.Verdict; string(got) != tt.verdict {
			t.Fatalf("%s: the run is %s", tt.history, got)
		}
		other := map[string]string{"UNSAFE": "SAFE", "SAFE": "UNSAFE"}[tt.verdict]
		for name, page := range siteFiles(t, d) {
			if strings.HasPrefix(name, "explore/") || !strings.HasSuffix(name, ".html") || name == "index.html" || name == "conclusion.html" {
				continue // pages drawn by a script, and pages that explain both words
			}
			if !strings.Contains(page, `">`+tt.verdict+`</span>`) || strings.Contains(page, `">`+other+`</span>`) {
				t.Errorf("%s does not say %s, or says %s", name, tt.verdict, other)
			}
			if strings.Contains(page, `data-label="Found"`) && !strings.Contains(page, tt.word) {
				t.Errorf("%s does not say %s", name, tt.word)
			}
		}
	}
}

// If a run keeps the promise that a claim asks about, and breaks another, the table of runs says so.
func TestDebateOtherPromise(t *testing.T) {
	d := sampleDebate(t)
	h := sample.PauseAfterAcquire("fenced", "plain")
	d.Runs[0].Facts, d.Runs[0].Result = facts.Of(h), checker.Check(facts.Of(h), nil)
	for property, want := range map[checker.Property]string{checker.OwnerOnly: "the run breaks another promise", checker.ResourceExclusion: "bounded pause broken"} {
		a, err := newRunView(d.Runs[0]).answer(claims.Evidence{Property: property})
		if err != nil || a.Text != want {
			t.Errorf("%s is %s: %q, %v; want %q", property, a.Status, a.Text, err, want)
		}
	}
}

// Every promise and every assumption that a page names is explained.
func TestDebateMeanings(t *testing.T) {
	for _, p := range checker.Properties() {
		if promiseMeaning[p] == "" {
			t.Errorf("%s is not explained", p)
		}
	}
	for _, a := range checker.Assumptions() {
		if assumptionMeaning[a] == "" {
			t.Errorf("%s is not explained", a)
		}
	}
	index := siteFiles(t, sampleDebate(t))["index.html"]
	if want := `<div id="promise-resource-exclusion"><dt>resource exclusion</dt><dd>The resource accepts no write`; !strings.Contains(index, want) {
		t.Errorf("index.html has no %s", want)
	}
}

// No site is written unless every run that its claims need is there exactly once.
func TestDebateGaps(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(*Debate)
		want  string
	}{
		{"no such run", func(d *Debate) { d.Argument.Claims[0].Evidence[0].Run = "gone/single" }, "claim 1: there is no run gone/single"},
		{"no figure", func(d *Debate) { d.Argument.Claims[0].Evidence[0].Quantity = checker.Wait }, "claim 1: lost-update/nolock does not report wait"},
		{"twice", func(d *Debate) { d.Runs = append(d.Runs, d.Runs[0]) }, "the run pause-after-acquire/redlock is listed twice"},
		{"one file", func(d *Debate) {
			d.Runs = append(d.Runs, d.Runs[0])
			d.Runs[len(d.Runs)-1].Name = "Pause-after-acquire_redlock"
		}, "the run Pause-after-acquire_redlock would be written to the file of another run, runs/pause-after-acquire-redlock.html"},
	} {
		d := sampleDebate(t)
		tt.spoil(&d)
		if _, err := d.Files(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

// External strings are shown as text, and cannot name a file outside the site.
func TestDebateHostileText(t *testing.T) {
	harmless := siteFiles(t, sampleDebate(t))
	for n, bad := range sample.HostileTexts {
		if testing.Short() && n > 0 {
			break // each takes two seconds
		}
		d := sampleDebate(t)
		h := *d.Runs[0].Facts.History
		h.Meta.Scenario, h.Meta.Lock, h.Meta.Label, h.Meta.Checksum = bad, bad, bad, bad
		h.Events = slices.Clone(h.Events)
		for i := range h.Events {
			h.Events[i].Value, h.Events[i].Error = bad, bad
		}
		first := d.Runs[0].Name
		d.Runs[0] = NamedRun{Name: "../" + bad, Command: bad}
		d.Runs[0].Run = explorer.Run{Facts: facts.Of(&h), Result: checker.Check(facts.Of(&h), nil), Title: bad, Prose: bad, Script: bad}
		d.Runs = append(d.Runs, NamedRun{Run: d.Runs[0].Run, Name: first, Command: bad})
		d.Command, d.Versions = bad, []string{bad}
		for name, page := range siteFiles(t, d) {
			if !regexp.MustCompile(`^(runs/|explore/)?[A-Za-z0-9-]+(\.html|\.svg)?$`).MatchString(name) {
				t.Errorf("%d: file %q", n, name)
			}
			was, ok := harmless[name]
			if !ok {
				was = harmless["runs/pause-after-acquire-redlock.html"]
			}
			for _, tag := range []string{"<script", "</script", "<!--", "<img", " onerror=", "\u2028", "\u202e", "\x00", "\x1b"} {
				if tag == " onerror=" && !strings.Contains(page, "<img src=x") {
					continue // it is text, not an attribute
				}
				if got, want := strings.Count(page, tag), strings.Count(was, tag); got != want {
					t.Errorf("%d: %s: %d times %q, want %d", n, name, got, tag, want)
				}
			}
		}
	}
}

// The pages of the article have no script. The policy of every page allows only what belongs to it.
func TestDebateIsClosed(t *testing.T) {
	files := siteFiles(t, sampleDebate(t))
	if again := siteFiles(t, sampleDebate(t)); again[sites.Sums] != files[sites.Sums] {
		t.Error("the same debate gives different bytes")
	}
	if !strings.HasPrefix(files[sites.Sums], Mark) || strings.Count(files[sites.Sums], "\n") != len(files) {
		t.Errorf("the checksums do not list all files:\n%s", files[sites.Sums])
	}
	for name, page := range files {
		if !strings.HasSuffix(name, ".html") {
			continue
		}
		policy := html.UnescapeString(regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)[1])
		if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", name, policy)
		}
		article := !strings.Contains(name, "/")
		if article && (strings.Contains(page, "<script") || strings.Contains(policy, "script-src")) {
			t.Errorf("%s has a script", name)
		}
		for _, m := range regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindAllStringSubmatch(page, -1) {
			if !strings.Contains(policy, explorer.HashSource(m[1])) {
				t.Errorf("%s: the policy does not allow a style of the page", name)
			}
		}
		if strings.Contains(page, " style=") {
			t.Errorf("%s has a style that its policy forbids", name)
		}
		for _, img := range regexp.MustCompile(`<img [^>]*>`).FindAllString(page, -1) {
			if !regexp.MustCompile(`alt="Timeline of the run [^"]{20,}"`).MatchString(img) {
				t.Errorf("%s: a picture has no alternative text: %s", name, img)
			}
		}
		if article {
			for _, once := range []string{"<h1", "<main", "<title>", `<html lang="en">`} {
				if strings.Count(page, once) != 1 {
					t.Errorf("%s: %d times %s", name, strings.Count(page, once), once)
				}
			}
		}
	}
}

// Text of the article has a contrast of at least 4.5 in either theme (WCAG 2.2, 1.4.3).
func TestDebateContrast(t *testing.T) {
	for n, theme := range sample.Themes(t, string(style)) {
		check := func(text, ground string) {
			if c := theme.Contrast(t, text, ground); c < 4.5 {
				t.Errorf("theme %d: %s on %s has a contrast of %.2f", n, text, ground, c)
			}
		}
		for _, text := range []string{"ink", "soft", "link", "red", "green", "doubt", "violet"} {
			check(text, "paper")
			check(text, "plate")
		}
		check("onchip", "red")
	}
}

// A page with a run has the theme of the run, which a reader can switch. So all colours of the site are among those of a run.
func TestDebateRunTheme(t *testing.T) {
	for _, m := range regexp.MustCompile(`--(\w+): #`).FindAllStringSubmatch(string(style), -1) {
		if n := strings.Count(string(explorer.Style()), "--"+m[1]+": #"); n != 2 {
			t.Errorf("the colour %s of the site is defined %d times for a run, want once for each theme", m[1], n)
		}
	}
}

// The prose of the article is marked up only where it asks for it.
func TestDebateProse(t *testing.T) {
	s, err := newSite(sampleDebate(t))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"see {17a}, or `SET`":   `see <a href="tokens.html#claim-17a">claim&nbsp;17a</a>, or <code>SET</code>`,
		"*this* <b> & \"that\"": "<em>this</em> &lt;b&gt; &amp; &#34;that&#34;",
	} {
		if got, err := s.prose(text); err != nil || string(got) != want {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}
	if _, err := s.prose("see {99}"); err == nil {
		t.Error("no error for a link to a claim that does not exist")
	}
}
