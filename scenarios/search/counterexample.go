package search

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/checker/explain"
	"lockstep/clients"
	"lockstep/reports"
	"lockstep/scenarios/files"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// A Counterexample is a small run in which a lock violates a property, as a page that can be added to the catalogue: with a
// story, expectations, and its timeline.
type Counterexample struct {
	Failing  play.Failing
	Scenario *script.Scenario // with one run
	Runs     int              // how many runs were needed to reduce it
	Complete bool             // false if there was no time to reduce it fully
	// Excused is how many smaller runs were rejected because one of the references in ExcusedBy violates the same property in them. If
	// there are any, these may keep it in this run only by chance.
	Excused   int
	ExcusedBy []string
}

// counterexampleText is a counterexample as JSON.
type counterexampleText struct {
	Failing  play.Failing `json:"failing"`
	File     string       `json:"file"`
	Page     string       `json:"page"`
	Runs     int          `json:"runs"`
	Complete bool         `json:"complete"`
	Excused  int          `json:"excused,omitempty"`
	By       []string     `json:"excused_by,omitempty"`
}

// MarshalJSON writes the page as its file.
func (c *Counterexample) MarshalJSON() ([]byte, error) {
	return json.Marshal(counterexampleText{c.Failing, c.Scenario.File, c.Scenario.String(), c.Runs, c.Complete, c.Excused, c.ExcusedBy})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Counterexample) UnmarshalJSON(data []byte) error {
	var t counterexampleText
	if err := json.Unmarshal(data, &t); err != nil {
		return err
	}
	page, err := script.Parse(t.File, []byte(t.Page))
	*c = Counterexample{t.Failing, page, t.Runs, t.Complete, t.Excused, t.By}
	return err
}

// Save writes the page into a directory, which must exist, and returns the name of the file: found-LOCK-PROPERTY-ASSUMPTION, and
// six digits that make it unique. An old file of that name has the same run.
func (c *Counterexample) Save(ctx context.Context, dir string) (file string, err error) {
	if info, err := os.Stat(dir); err != nil {
		return "", err
	} else if !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", dir)
	}
	file = filepath.Join(dir, c.Scenario.File)
	return file, files.Write(ctx, file, []byte(c.Scenario.String()))
}

// Chance says that a reference may keep the property only by chance. It is for a counterexample with Excused runs.
func (c *Counterexample) Chance() string {
	runs := "1 smaller run was rejected because %[1]s violates the same property in it"
	if c.Excused > 1 {
		runs = fmt.Sprintf("%d smaller runs were rejected because %%[1]s violates the same property in them", c.Excused)
	}
	return fmt.Sprintf(runs+"; %[1]s may keep it in this run only by chance", strings.Join(c.ExcusedBy, " or "))
}

// Story describes what everybody does in the run, and why it goes wrong.
func (c *Counterexample) Story() string {
	var b strings.Builder
	script.PrintLanes(&b, c.Scenario.Lanes)
	return b.String() + "\n" + c.Scenario.Prose + "\n"
}

// counterexample makes the page of the smallest run that was found.
func (s *shrinker) counterexample() (*Counterexample, error) {
	page := s.page.Edited(func(page *script.Scenario) {
		page.File = foundName(page, s.Failing) + ".txtar"
		page.Prose = s.origin() + "\n\n" + why(s.outcome, s.Failing)
		run := &page.Runs[0]
		run.Expect = expectations(s.outcome)
		if !s.x.restless { // a restless lock does not do the same twice
			run.Checksum, run.Golden = s.outcome.History.Meta.Checksum, s.outcome.Timeline()
		}
		page.Title = script.Headline(page)
	})
	checked, err := page.Checked()
	if err != nil {
		return nil, fmt.Errorf("the page of the smallest run cannot be read: %w", err)
	}
	return &Counterexample{Failing: s.Failing, Scenario: checked, Runs: s.played, Complete: s.complete, Excused: s.excused, ExcusedBy: s.excusedBy}, nil
}

// foundName returns the name of the file for a page with one run.
func foundName(page *script.Scenario, f play.Failing) string {
	bare := page.Edited(func(page *script.Scenario) {
		page.Title, page.Prose = "", ""
		run := &page.Runs[0]
		run.Checksum, run.Golden, run.Expect = "", "", nil
	})
	sum := fnv.New32a()
	sum.Write([]byte(bare.String()))
	name := fmt.Sprintf("found-%s-%s-%s-%06x", clients.FileWord(page.Runs[0].Lock), f.Property, f.Assumption, sum.Sum32()&0xffffff)
	return strings.ReplaceAll(name, " ", "-")
}

// expectations returns the expectations that the outcome meets.
func expectations(o *play.Outcome) (all []script.Expectation) {
	for _, p := range checker.Properties() {
		e := script.Expectation{Property: p, Status: o.Result.Status(p)}
		if e.Status == checker.OK {
			continue
		}
		var reasons []checker.Assumption
		for _, f := range o.Failing() {
			if f.Property == p {
				reasons = append(reasons, f.Assumption)
			}
		}
		if len(reasons) == 1 {
			e.Assumption = reasons[0]
		}
		all = append(all, e)
	}
	return all
}

// origin says how the page was found.
func (s *shrinker) origin() string {
	r, last := s.calm.Resolve(s.calm.Runs[0]), s.page.Resolve(s.page.Runs[0])
	var kinds []string
	for _, p := range s.Plan {
		if !slices.Contains(kinds, string(p.Kind)) {
			kinds = append(kinds, string(p.Kind))
		}
	}
	slices.Sort(kinds)
	plan := counted(len(s.Plan), "perturbation", "perturbations")
	if len(kinds) > 0 {
		plan += " (" + strings.Join(kinds, ", ") + ")"
	}
	text := fmt.Sprintf("Found by exploration: %s of a calm run of %s with %s and %s, a TTL of %s and seed %d. What is left of it: %s, %s, %s.",
		plan, r.Lock, counted(len(r.Clients()), "client", "clients"), servers(r), history.FormatDuration(r.TTL), cmp.Or(r.Seed, 1),
		counted(sizeOf(s.page)[0], "fault", "faults"), counted(len(last.Clients()), "client", "clients"), servers(last))
	return strings.Join(reports.Wrap(text, script.ProseWidth), "\n")
}

// servers says how many servers a run has.
func servers(r script.Section) string {
	text := counted(r.Nodes, "node", "nodes")
	for _, more := range []struct {
		n         int
		one, many string
	}{{r.Replicas, "replica", "replicas"}, {r.Sentinels, "sentinel", "sentinels"}, {r.Shards, "shard", "shards"}} {
		if more.n > 0 {
			text += " with " + counted(more.n, more.one, more.many)
		}
	}
	return text
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// why explains the violation.
func why(o *play.Outcome, f play.Failing) string {
	i := slices.IndexFunc(o.Result.Violations, func(v checker.Violation) bool { return v.Property == f.Property && v.Assumption == f.Assumption })
	var sentences []string
	for _, s := range explain.Story(o.Facts, o.Result.Violations[i]) {
		sentences = append(sentences, s.Text)
	}
	return strings.Join(reports.Wrap(strings.Join(sentences, " "), script.ProseWidth), "\n")
}
