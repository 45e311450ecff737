package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"lockstep/checker"
	"lockstep/checker/explain"
	"lockstep/checker/facts"
	"lockstep/clients"
	"lockstep/internal/draws"
	"lockstep/reports/debate"
	"lockstep/reports/sites"
	"lockstep/scenarios/claims"
	"lockstep/scenarios/play"
)

func argument(t *testing.T) *claims.Argument {
	t.Helper()
	a, err := claims.Load()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// debated makes the runs that bear on the claims, and returns the site, and the outcomes by name.
func debated(t *testing.T) (map[string]string, map[string]*play.Outcome) {
	t.Helper()
	f := &runFlags{known: known{locks: clients.Locks()}, on: play.OnSim, tries: 1, limit: time.Minute}
	argument := argument(t)
	chosen, err := choose(t.Context(), f.known, evidence(argument.Claims), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &cobra.Command{}
	c.SetContext(context.Background())
	outcomes, err := f.runAll(c, f.cases(chosen, 0))
	if err != nil {
		t.Fatal(err)
	}
	files, err := f.newDebate(argument, outcomes).Files()
	if err != nil {
		t.Fatal(err)
	}
	site, byName := map[string]string{}, map[string]*play.Outcome{}
	for _, file := range files {
		site[file.Name] = string(file.Data)
	}
	for _, o := range outcomes {
		byName[o.Name()] = o
	}
	return site, byName
}

var (
	claimSection = regexp.MustCompile(`(?s)<section class="claim" id="claim-([0-9]+[ab]?)".*?</section>`)
	evidenceRow  = regexp.MustCompile(`<tr><th scope="row"><a href="([^"]*)">([^<]*)</a></th><td data-label="Asked">([^<]*)</td><td data-label="Found">(.*?)</td><td data-label="Run"><span class="came [a-z]+">([A-Z]+)</span></td></tr>`)
	anyTag       = regexp.MustCompile(`<[^>]*>`)
)

// TestDebate checks that every claim is on the site, with every run that bears on it, and that each verdict is that of the run.
func TestDebate(t *testing.T) {
	draws.Seldom(t, 0, 4)
	site, outcomes := debated(t)
	sections := map[string]string{}
	for name, page := range site {
		for _, m := range claimSection.FindAllStringSubmatch(page, -1) {
			if sections[m[1]] != "" {
				t.Errorf("%s: claim %s is there twice", name, m[1])
			}
			sections[m[1]] = m[0]
		}
	}
	all := argument(t).Claims
	for _, claim := range all {
		section := sections[claim.ID]
		if section == "" {
			t.Errorf("claim %s is missing", claim.ID)
			continue
		}
		if !strings.Contains(html.UnescapeString(section), claim.Text) || !strings.Contains(html.UnescapeString(section), claim.Conclusion) {
			t.Errorf("claim %s lacks its text, or its conclusion", claim.ID)
		}
		if !strings.Contains(section, `<span class="found `+string(claim.Kind)+`">`) {
			t.Errorf("claim %s is not marked as %s", claim.ID, claim.Kind)
		}
		rows := evidenceRow.FindAllStringSubmatch(section, -1)
		if len(rows) != len(claim.Evidence) {
			t.Fatalf("claim %s shows %d runs of %d", claim.ID, len(rows), len(claim.Evidence))
		}
		for i, e := range claim.Evidence {
			o, row := outcomes[e.Run], rows[i]
			if row[2] != e.Run || row[5] != string(o.Result.Verdict) {
				t.Errorf("claim %s shows %s %s, and %s came out %s", claim.ID, row[2], row[5], e.Run, o.Result.Verdict)
			}
			found := html.UnescapeString(anyTag.ReplaceAllString(row[4], ""))
			found = strings.TrimSuffix(found, " (the run breaks another promise)") // see TestDebateOtherPromise
			if want := foundIn(o, e); found != want {
				t.Errorf("claim %s, %s: the site says %q, want %q", claim.ID, e.Run, found, want)
			}
		}
	}
	for _, claim := range all {
		checkExplanation(t, claim, sections[claim.ID], outcomes)
	}
	if len(sections) != len(all) {
		t.Errorf("%d claims on the site, want %d", len(sections), len(all))
	}
	for _, wrong := range checkLinks(site) {
		t.Error(wrong)
	}
}

var (
	drawnRun = regexp.MustCompile(`<figcaption><strong>([^<]*)</strong>.*?<span class="reason">([^<]*)</span>`)
	why      = regexp.MustCompile(`(?s)<summary>Why “(.*?)” was violated, step by step</summary>\s*<ol>(.*?)</ol>`)
)

// checkExplanation checks that the explanation of the run that a claim draws is about a violation that the claim asks about, if there is
// one.
func checkExplanation(t *testing.T, claim claims.Claim, section string, outcomes map[string]*play.Outcome) {
	t.Helper()
	drawn := drawnRun.FindStringSubmatch(section)
	o := outcomes[drawn[1]]
	var asked, violated []checker.Property
	for _, e := range claim.Evidence {
		if e.Run == drawn[1] && e.Quantity == "" {
			asked = append(asked, e.Property)
		}
	}
	for _, v := range o.Result.Violations {
		if asked == nil || slices.Contains(asked, v.Property) {
			violated = append(violated, v.Property)
		}
	}
	told := why.FindStringSubmatch(section)
	if told == nil {
		if violated != nil {
			t.Errorf("claim %s does not explain %v", claim.ID, violated)
		}
		return
	}
	n := slices.IndexFunc(o.Result.Violations, func(v checker.Violation) bool { return string(v.Property) == told[1] })
	if n < 0 || !slices.Contains(violated, o.Result.Violations[n].Property) {
		t.Errorf("claim %s asks %v of %s, and explains %s", claim.ID, asked, drawn[1], told[1])
		return
	}
	text := html.UnescapeString(told[2])
	for _, s := range explain.Story(facts.Of(o.History), o.Result.Violations[n]) {
		if !strings.Contains(text, "<li>"+s.Text+"</li>") {
			t.Errorf("claim %s does not say: %s", claim.ID, s.Text)
		}
	}
	if reason := html.UnescapeString(drawn[2]); n > 0 && !strings.Contains(reason, o.Result.Violations[n].What) {
		t.Errorf("claim %s: the caption of the picture is %q, which is not what is explained", claim.ID, reason)
	}
}

// TestDebateOfARestart checks the claim about delayed restarts. It says that a node was away while its key ended by a clock that jumped,
// and not only that the key expired.
func TestDebateOfARestart(t *testing.T) {
	if testing.Short() {
		t.Skip("plays hundreds of runs")
	}
	site, _ := debated(t)
	text := html.UnescapeString(site["clocks.html"])
	for _, want := range []string{"<li>n3 crashed at 0.050s.</li>", "<li>n3 came back at 1.050s without the key of c1#1: by its wall clock"} {
		if !strings.Contains(text, want) {
			t.Errorf("clocks.html does not say %s", want)
		}
	}
}

// TestDebateSources checks that a reader can follow every source: each has an address, and no page names a file of this repository.
func TestDebateSources(t *testing.T) {
	if testing.Short() {
		t.Skip("plays hundreds of runs")
	}
	site, _ := debated(t)
	note, address := regexp.MustCompile(`(?s)<li id="note-[0-9]+">(.*?)</li>`), regexp.MustCompile(`<a class="url" href="([^"]*)"`)
	program := regexp.MustCompile(`(?s)<script>.*?</script>`)
	ours := regexp.MustCompile(`\b[\w-]+\.(txt|txtar|md|go)\b|\b(anon|nemo|why)(20[0-9]{2}|-setnx|-redlock)\b`)
	notes := 0
	for name, page := range site {
		for _, m := range note.FindAllStringSubmatch(page, -1) {
			notes++
			if !address.MatchString(m[1]) {
				t.Errorf("%s: a source without an address: %s", name, m[1])
			}
		}
		if strings.HasPrefix(name, "SHA") {
			continue
		}
		if file := ours.FindString(program.ReplaceAllString(page, "")); file != "" {
			t.Errorf("%s names %s, which its readers do not have", name, file)
		}
	}
	if notes == 0 {
		t.Error("there are no sources")
	}
}

// TestDebateCountsTraces checks that the site counts different runs by their checksums.
func TestDebateCountsTraces(t *testing.T) {
	if testing.Short() {
		t.Skip("plays hundreds of runs")
	}
	site, outcomes := debated(t)
	traces := map[string]string{}
	for name, o := range outcomes {
		traces[o.History.Meta.Checksum] = name
	}
	if len(traces) == len(outcomes) {
		t.Fatal("all runs differ: there is nothing to test")
	}
	if want := fmt.Sprintf("%d runs, %d of them different:", len(outcomes), len(traces)); !strings.Contains(site["how.html"], want) {
		t.Errorf("how.html does not say %q", want)
	}
	if got, want := strings.Count(site["how.html"], "</code> that of <a href="), len(outcomes)-len(traces); got != want {
		t.Errorf("how.html says of %d runs that they are like others, want %d", got, want)
	}
	const power = "crash-restart-aof/redlock/everysec-power"
	if want := "The events of crash-restart-aof/redlock/lying-power are those of " + power; !strings.Contains(site["redlock.html"], want) {
		t.Errorf("claim 8 does not say that two of its runs are one piece of evidence")
	}
}

// foundIn is the result that the site should show for a run.
func foundIn(o *play.Outcome, e claims.Evidence) string {
	for _, m := range o.Measurements {
		if e.Quantity != "" && m.Quantity == e.Quantity {
			return m.Text
		}
	}
	text := string(o.Result.Status(e.Property))
	var why []string
	for _, v := range o.Result.Violations {
		broken := string(v.Assumption) + " broken"
		if v.Assumption == checker.None {
			broken = "no assumption broken"
		}
		if v.Property == e.Property && !slices.Contains(why, broken) {
			why = append(why, broken)
		}
	}
	if len(why) > 0 {
		text += " (" + strings.Join(why, ", ") + ")"
	}
	return text
}

var (
	reference = regexp.MustCompile(`\b(href|src|srcset|action|data|poster)="([^"]*)"`)
	loading   = regexp.MustCompile(`(?i)url\(|@import|<link|<base|<object|<embed|<form[^>]*action`)
	scripted  = regexp.MustCompile(`(?s)<script.*?</script>`)
	identity  = regexp.MustCompile(`\bid="([^"]*)"`)
)

// checkLinks checks that everything that a page refers to is on the site, down to the anchor. Pages elsewhere are only linked, by a
// well-formed address, and never loaded.
func checkLinks(site map[string]string) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	ids, reached := map[string][]string{}, map[string]bool{"index.html": true, sites.Sums: true}
	for name, page := range site {
		if path.Ext(name) != ".html" {
			continue
		}
		page = scripted.ReplaceAllString(page, "")
		for _, m := range identity.FindAllStringSubmatch(page, -1) {
			if slices.Contains(ids[name], m[1]) {
				say("%s: the id %s is there twice", name, m[1])
			}
			ids[name] = append(ids[name], m[1])
		}
	}
	for name, page := range site {
		if path.Ext(name) != ".html" {
			continue
		}
		if page = scripted.ReplaceAllString(page, ""); loading.MatchString(page) {
			say("%s loads something: %s", name, loading.FindString(page))
		}
		if !strings.Contains(page, `<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;`) {
			say("%s has no policy", name)
		}
		for _, m := range reference.FindAllStringSubmatch(page, -1) {
			to, err := url.Parse(html.UnescapeString(m[2]))
			if err != nil {
				say("%s: %v", name, err)
				continue
			}
			if to.IsAbs() {
				if m[1] != "href" || to.Scheme != "https" && to.Scheme != "http" || to.Host == "" {
					say("%s: %s is not only linked", name, m[0])
				}
				if !strings.Contains(page, m[0]+` rel="noreferrer"`) {
					say("%s: %s says where the reader comes from", name, m[0])
				}
				continue
			}
			file := name
			if to.Path != "" {
				file = path.Join(path.Dir(name), to.Path)
			}
			if _, ok := site[file]; !ok {
				say("%s: %s leads nowhere", name, m[0])
			}
			reached[file] = true
			if to.Fragment != "" && !slices.Contains(ids[file], to.Fragment) {
				say("%s: %s leads to no place in %s", name, m[0], file)
			}
		}
	}
	for name := range site {
		if !reached[name] {
			say("nothing leads to %s", name)
		}
	}
	return wrong
}

// TestLinkChecker checks that checkLinks finds each kind of mistake.
func TestLinkChecker(t *testing.T) {
	const head = `<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;">`
	good := func() map[string]string {
		return map[string]string{
			"index.html":  head + `<a href="runs/a.html#x">a</a> <a href="https://example.org/" rel="noreferrer">b</a>`,
			"runs/a.html": head + `<p id="x"><a href="../index.html">back</a> <img src="a.svg"> <a href="#x">up</a>`,
			"runs/a.svg":  "<svg/>",
			"SHA256SUMS":  "",
		}
	}
	if wrong := checkLinks(good()); wrong != nil {
		t.Errorf("a good site: %q", wrong)
	}
	for _, tt := range []struct{ file, add, want string }{
		{"index.html", `<a href="gone.html">`, "leads nowhere"},
		{"index.html", `<a href="runs/a.html#y">`, "leads to no place in runs/a.html"},
		{"index.html", `<a href="#y">`, "leads to no place in index.html"},
		{"runs/a.html", `<a href="index.html">`, "leads nowhere"},
		{"runs/a.html", `<img src="../../a.svg">`, "leads nowhere"},
		{"runs/a.html", `<i id="x">`, "the id x is there twice"},
		{"index.html", `<img src="https://example.org/a.png">`, "is not only linked"},
		{"index.html", `<a href="javascript:alert(1)">`, "is not only linked"},
		{"index.html", `<a href="https://example.org/x">`, "says where the reader comes from"},
		{"index.html", `<a href="https://exa mple.org/">`, "invalid character"},
		{"index.html", `<link rel="stylesheet">`, "loads something"},
		{"lonely.html", head, "nothing leads to lonely.html"},
		{"runs/a.html", "", "has no policy"},
	} {
		site := good()
		site[tt.file] += tt.add
		if tt.add == "" {
			site[tt.file] = strings.TrimPrefix(site[tt.file], head)
		}
		if wrong := strings.Join(checkLinks(site), "\n"); !strings.Contains(wrong, tt.want) {
			t.Errorf("%s in %s: %q, want %q", tt.add, tt.file, wrong, tt.want)
		}
	}
}

// TestDebateContradictions checks that no site is written if a run contradicts the text, or proves nothing.
func TestDebateContradictions(t *testing.T) {
	if testing.Short() {
		t.Skip("plays hundreds of runs")
	}
	_, outcomes := debated(t)
	f := &runFlags{known: known{locks: clients.Locks()}, on: play.OnSim}
	claim := func(e claims.Evidence) []claims.Claim {
		return []claims.Claim{{ID: "10", Text: "Something.", Evidence: []claims.Evidence{e}}}
	}
	gone := *outcomes["clock-jump/redlock"]
	gone.Result = checker.Result{Verdict: checker.Inconclusive, Unmet: []string{"nothing bit"}}
	for _, tt := range []struct {
		name     string
		evidence claims.Evidence
		outcome  *play.Outcome
		status   status
		want     string
	}{
		{"as it is", claims.Evidence{Property: checker.LeaseExclusion, Status: checker.Violated, Assumption: checker.BoundedClockError}, outcomes["clock-jump/redlock"], 0, ""},
		{"status", claims.Evidence{Property: checker.LeaseExclusion, Status: checker.OK}, outcomes["clock-jump/redlock"], exitUnexpected, "the text says lease exclusion is ok, but in the run it is violated"},
		{"assumption", claims.Evidence{Property: checker.LeaseExclusion, Status: checker.Violated, Assumption: checker.BoundedPause}, outcomes["clock-jump/redlock"], exitUnexpected, `depends on "bounded pause", but in the run the broken assumption is "bounded clock error"`},
		{"quantity", claims.Evidence{Quantity: checker.RoundTrips}, outcomes["clock-jump/redlock"], exitUnexpected, "the text shows round trips, but the run does not report it"},
		{"unknown", claims.Evidence{Property: checker.LeaseExclusion, Status: checker.Violated}, &gone, exitUnknown, "the run proves nothing: nothing bit"},
		{"missing", claims.Evidence{Property: checker.LeaseExclusion, Status: checker.Violated}, nil, exitUnknown, "there is no such run"},
	} {
		var said bytes.Buffer
		c := &cobra.Command{}
		c.SetErr(&said)
		tt.evidence.Run = "clock-jump/redlock"
		err := f.contradictions(c, claim(tt.evidence), map[string]*play.Outcome{"clock-jump/redlock": tt.outcome})
		if tt.want == "" {
			if err != nil || said.Len() > 0 {
				t.Errorf("%s: error %v, said %q", tt.name, err, &said)
			}
			continue
		}
		if err != tt.status || !strings.Contains(said.String(), tt.want) || !strings.Contains(said.String(), "claim 10, Something.\n") {
			t.Errorf("%s: error %v, want %v; said %q, want %q", tt.name, err, tt.status, &said, tt.want)
		}
	}
}

// TestSiteDir checks that a list of files that names files outside the directory has no effect on them.
func TestSiteDir(t *testing.T) {
	top := t.TempDir()
	outside := filepath.Join(top, "outside.txt")
	dir := filepath.Join(top, "site")
	sub := filepath.Join(dir, "runs")
	for _, err := range []error{
		os.WriteFile(outside, []byte("mine"), 0o644),
		os.MkdirAll(sub, 0o755),
		os.WriteFile(filepath.Join(dir, sites.Sums), []byte(debate.Mark+"0  ../outside.txt\n0  runs/old.html\n"), 0o644),
		os.WriteFile(filepath.Join(sub, "old.html"), []byte("old"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	d, err := sites.Open(dir, "lockstep debate", debate.Mark)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Write(context.Background(), []sites.File{{Name: sites.Sums, Data: []byte(debate.Mark)}, {Name: "a/index.html", Data: []byte("new")}}); err != nil {
		t.Error(err)
	}
	if err := d.Write(context.Background(), []sites.File{{Name: "../outside.txt", Data: []byte("new")}}); err == nil {
		t.Error("a file outside was written")
	}
	d.Close()
	if got, err := os.ReadFile(outside); err != nil || string(got) != "mine" {
		t.Errorf("outside: %q, %v", got, err)
	}
	if _, err := os.Stat(sub); !os.IsNotExist(err) {
		t.Errorf("a file of the old site is still there: %v", err)
	}

	made := filepath.Join(top, "made")
	if d, err = sites.Open(made, "lockstep debate", debate.Mark); err != nil {
		t.Fatal(err)
	}
	d.Close()
	if _, err := os.Stat(made); !os.IsNotExist(err) {
		t.Errorf("a directory that was made for a site that was not written is still there: %v", err)
	}
}

// Drawing is abandoned when the program is interrupted.
func TestUnlessInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	if n, err := unlessInterrupted(ctx, func() (int, error) { return 3, nil }); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	end := make(chan struct{})
	defer close(end)
	_, err := unlessInterrupted(ctx, func() (int, error) {
		cancel()
		<-end
		return 0, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
