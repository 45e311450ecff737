package scenarios

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios/claims"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// The pages that are made from the catalogue and from its outcomes are up to date.
func TestPages(t *testing.T) {
	outcomes := wholeCatalogue(t)
	for file, text := range map[string]string{
		"scenarios.md": scenariosPage(t, outcomes),
		"claims.md":    claimsPage(t, outcomes),
	} {
		path := filepath.Join("..", "docs", file)
		if *rewrite {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(path)
		if err != nil || linesOf(t, outcomes, string(have)) != linesOf(t, outcomes, text) {
			t.Errorf("docs/%s is out of date (%v); go test ./scenarios -run Pages -rewrite renews it", file, err)
		}
	}
}

// linesOf returns a page without its lines about stories of which a run is missing.
func linesOf(t *testing.T, outcomes map[string]*play.Outcome, page string) string {
	t.Helper()
	all, err := script.Stories()
	if err != nil {
		t.Fatal(err)
	}
	var missing []string
	for _, s := range all {
		if slices.ContainsFunc(s.Runs, func(r script.Section) bool { return outcomes[s.Name+"/"+r.ID()] == nil }) {
			missing = append(missing, "| ["+s.Name+"](")
		}
	}
	var b strings.Builder
	for line := range strings.Lines(page) {
		if !slices.ContainsFunc(missing, func(link string) bool { return strings.HasPrefix(line, link) }) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// scenariosPage has one line for each file of the catalogue, and the verdicts that came out.
func scenariosPage(t *testing.T, outcomes map[string]*play.Outcome) string {
	all, err := script.Stories()
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, s := range all {
		count += len(s.Runs)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# The catalogue

%d stories with %d runs, and %d sweeps. This page is generated from them: `+"`go test ./scenarios -run Pages -rewrite`"+`. *Lock/label* is a run. After it comes
each property that was violated, with the assumption that was broken in brackets, and the figures that the scenario reports. A run without
a violated property is SAFE.

| scenario | what it shows | what came out |
|---|---|---|
`, len(all), count, len(sweeps(t)))
	for _, s := range all {
		var runs []string
		for _, r := range s.Runs {
			if o := outcomes[s.Name+"/"+r.ID()]; o != nil {
				runs = append(runs, cell(o))
			}
		}
		fmt.Fprintf(&b, "| [%s](../scenarios/catalogue/%s) | %s | %s |\n", s.Name, s.File, s.Title, strings.Join(runs, "<br>"))
	}

	b.WriteString(`
## The sweeps

A sweep is a series of runs: one for each position, which is a moment at which a fault of its kinds is possible, with a magnitude. So
it fits any lock, whatever commands it sends. A lock is listed with what is violated at some position.

| sweep | what it does | kinds of faults | what came out |
|---|---|---|---|
`)
	for _, s := range sweeps(t) {
		var runs []string
		for _, r := range s.Runs {
			text := "`" + r.ID() + "`"
			for i, e := range r.Expect { // which TestSweeps checks
				if i > 0 {
					text += ","
				}
				text += fmt.Sprintf(" **%s** (%s)", e.Property, e.Assumption)
			}
			runs = append(runs, text)
		}
		fmt.Fprintf(&b, "| [%s](../scenarios/catalogue/%s) | %s | %s | %s |\n", s.Name, s.File, s.Title, history.List(script.WordsOf(s.Sweep)), strings.Join(runs, "<br>"))
	}

	b.WriteString("\n## The locks\n\n| lock | what it is |\n|---|---|\n")
	for _, l := range clients.Locks() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", l.Name, l.About)
	}

	fmt.Fprint(&b, `
## The edge of the allowance for drift

Redlock relies on its lease for the TTL less one per cent and 2 ms. How fast may the clock of one node run before two clients
hold the lock? The limits were found by bisection (`+"`go test ./scenarios -run DriftEdge -v`"+`). The difference between the two columns is the time that
messages take: the key of c1 is set after c1 began to count, and c2 holds the lock only when the replies have arrived.

| TTL | two clients hold from | the allowance alone would be |
|---|---|---|
`)
	for _, ttl := range []time.Duration{10 * time.Second, time.Second} {
		fmt.Fprintf(&b, "| %v | %+d ppm | %+d ppm |\n", ttl, driftEdge(t, ttl), allowance(ttl))
	}
	fmt.Fprintf(&b, `
## How long an isolated primary goes on

With min-replicas-to-write, a primary that has lost its replicas stops accepting writes (split-brain). After it was cut off, it still
granted the lock for **%v** (`+"`go test ./scenarios -run IsolatedPrimary -v`"+`): min-replicas-max-lag is 10 s, and is counted from the
last acknowledgement, in whole seconds. Without it, the primary never stops.
`, isolatedWindow(t).Round(100*time.Millisecond))
	return b.String()
}

// cell says what came of one run.
func cell(o *play.Outcome) string {
	text := "`" + o.Run.ID() + "`"
	broken := map[checker.Property][]string{}
	for _, v := range o.Result.Violations {
		if !slices.Contains(broken[v.Property], string(v.Assumption)) {
			broken[v.Property] = append(broken[v.Property], string(v.Assumption))
		}
	}
	var parts []string
	for _, p := range checker.Properties() {
		if o.Result.Status(p) == checker.Violated {
			parts = append(parts, fmt.Sprintf("**%s** (%s)", p, strings.Join(broken[p], ", ")))
		}
	}
	for _, m := range o.Measurements {
		parts = append(parts, "*"+m.String()+"*")
	}
	if len(parts) > 0 {
		text += " " + strings.Join(parts, ", ")
	}
	return text
}

// claimsPage has the claims of the sources, with what the runs say to each.
func claimsPage(t *testing.T, outcomes map[string]*play.Outcome) string {
	var b strings.Builder
	b.WriteString(`# What the sources claim, and what the runs say

The argument about locks on Redis, claim by claim, paraphrased. This page is made from the files in [scenarios/claims](../scenarios/claims) and from runs:
` + "`go test ./scenarios -run Pages -rewrite`" + `. A test fails when a run contradicts its claim. *Shown* and *agreed*
claims hold in these runs, which does not prove that they hold in all runs. A *refuted* claim fails in at least one run. A claim that
*depends on the goal* holds for one goal and not for another. No run can settle a *judgement*. A run that breaks an assumption which the
claim makes does not contradict the claim. The sources are listed in [sources.md](sources.md).

`)
	for _, c := range argument(t).Claims {
		fmt.Fprintf(&b, "## %s. %s\n\n", c.ID, c.Text)
		var by []string
		for _, v := range c.Voices {
			by = append(by, v.Who+": "+cited(v))
		}
		kind := strings.ToUpper(string(c.Kind[:1])) + string(c.Kind[1:])
		if c.Kind == claims.Depends {
			kind += " on the goal"
		}
		fmt.Fprintf(&b, "*%s.* %s\n\n", kind, c.Conclusion)
		said := strings.Join(by, "; ")
		if !strings.HasSuffix(said, "?") {
			said += "."
		}
		fmt.Fprintf(&b, "Said by %s\n\n| run | what came out |\n|---|---|\n", said)
		for _, e := range c.Evidence {
			name, _, _ := strings.Cut(e.Run, "/")
			fmt.Fprintf(&b, "| [%s](../scenarios/catalogue/%s.txtar) | %s |\n", e.Run, name, result(e, outcomes[e.Run]))
		}
		b.WriteString("\n")
	}
	return b.String()
}

var (
	quotedTitle = regexp.MustCompile(`“([^”]+)”`)
	keyYear     = regexp.MustCompile(`20[0-9]{2}$`)
)

// cited is the place where somebody makes a claim: title, and year if the key has one. Of a text that has no address, the key leads to
// what docs/sources.md says of it.
func cited(v claims.Voice) string {
	text := v.Source.Key
	if !v.Source.Retold {
		text = fmt.Sprintf("%q", quotedTitle.FindStringSubmatch(v.Source.Name)[1])
		if year := keyYear.FindString(v.Source.Key); year != "" {
			text += " (" + year + ")"
		}
	}
	if v.Quoted {
		text = "as quoted in " + text
	}
	if v.Place != "" {
		text += ", " + v.Place
	}
	return text
}

// result says what a run has to say as evidence.
func result(e claims.Evidence, o *play.Outcome) string {
	if o == nil {
		return "" // see linesOf
	}
	if e.Quantity != "" {
		for _, m := range o.Measurements {
			if m.Quantity == e.Quantity {
				return m.String()
			}
		}
	}
	text := fmt.Sprintf("%s: %s", e.Property, o.Result.Status(e.Property))
	why := map[string]bool{}
	for _, v := range o.Result.Violations {
		if v.Property == e.Property {
			why[play.BrokenWords(v.Assumption)] = true
		}
	}
	if len(why) > 0 {
		text += " (" + strings.Join(slices.Sorted(maps.Keys(why)), ", ") + ")"
	}
	return text
}
