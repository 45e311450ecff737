package scenarios

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"lockstep/checker"
	"lockstep/reports"
	"lockstep/reports/explorer"
	"lockstep/scenarios/play"
	"lockstep/sim/history"
)

// An account is what the test of an outcome has said of it.
type account struct {
	test   string // its name
	why    string // it failed or was skipped, or why a broken claim is accepted
	failed bool
}

// account stores what a test says of its outcome.
func (b *bench) account(t *testing.T, o *play.Outcome, why string, failed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.accounts[o] = account{t.Name(), why, failed}
}

// worstFirst is the order of the outcomes in a list.
var worstFirst = []play.Standing{play.Broke, play.Other, play.Failed, play.TooBig, play.NotRun, play.Known, play.Unproved,
	play.Allowed, play.AsOthers, play.Safe, play.NotApplicable}

// standing is that of the outcome, unless the test failed for another reason, such as a timeline that differs from the one in the file.
func (a account) standing(o *play.Outcome) play.Standing {
	if s := o.Standing(); !a.failed || s >= play.Failed {
		return s
	}
	return play.Other
}

// index lists the runs of the call, worst first, with links to the files that [keep] has written.
func (b *bench) index() explorer.List {
	list := explorer.List{Title: b.t.Name(), Sum: sentence(b.outcomes), Notes: append(b.claims(), hints(b.outcomes)...), As: "claim"}
	outcomes := slices.Clone(b.outcomes)
	slices.SortStableFunc(outcomes, func(o, p *play.Outcome) int {
		return cmp.Compare(slices.Index(worstFirst, b.accounts[o].standing(o)), slices.Index(worstFirst, b.accounts[p].standing(p)))
	})
	for _, o := range outcomes {
		a := b.accounts[o]
		s := a.standing(o)
		r := explorer.ListRow{Run: o.Name(), Standing: s.Word(), Look: looks[s], Why: b.whyOf(o), Open: s >= play.Failed, Again: b.again(a.test, o)}
		if o.Report == nil && s != play.NotApplicable {
			r.Verdict = string(o.Result.Verdict)
			var violated, broken []string
			for _, v := range o.Result.Violations {
				violated, broken = add(violated, []string{string(v.Property)}), add(broken, []string{string(v.Assumption)})
			}
			r.Violated, r.Broken = strings.Join(violated, ", "), strings.Join(broken, ", ")
		}
		for _, f := range filesOf(o) {
			address := url.PathEscape(fileName(a.test) + f.ending)
			if f.ending == explorerEnding {
				r.Page = address
			} else if !o.NotRun {
				r.Files = append(r.Files, explorer.Link{Name: f.name, Address: address})
			}
		}
		list.Rows = append(list.Rows, r)
	}
	return list
}

// looks are the styles of the standings in a list.
var looks = map[play.Standing]string{
	play.Broke: "NO", play.Other: "NO", play.Failed: "NO", play.TooBig: "NO", play.NotRun: "NO", play.Known: "UNKNOWN",
	play.Unproved: "UNKNOWN", play.Allowed: "yes", play.AsOthers: "yes", play.Safe: "yes", play.NotApplicable: "dim",
}

// claims says by which claims the runs were judged.
func (b *bench) claims() []string {
	switch {
	case b.against != "":
		return []string{"Each run must come out as " + filepath.ToSlash(b.against) + " says."}
	case len(b.outcomes) > 0 && b.outcomes[0].Promise.Exact:
		return []string{"Each run must come out as its scenario expects."}
	}
	claim := "It is claimed that in each run the lock keeps every property that " + strings.Join(b.like, " or ") + " keeps there. It may violate the others."
	for _, c := range []struct {
		verb string
		of   []checker.Assumption
	}{{"survives a breach of", b.survives}, {"needs", b.needs}} {
		var names []string
		for _, a := range c.of {
			names = append(names, string(a))
		}
		if len(names) > 0 {
			claim += " It " + c.verb + " " + history.List(names) + "."
		}
	}
	return []string{claim}
}

// whyOf says what is worth knowing about an outcome; empty if nothing is.
func (b *bench) whyOf(o *play.Outcome) string {
	if a := b.accounts[o]; a.why != "" || len(o.Result.Violations) == 0 {
		return a.why
	}
	what := o.Result.Violations[0].What
	switch o.Standing() {
	case play.AsOthers:
		if o.Promise.Earlier != nil {
			return "as before: " + what
		}
		return "as " + o.Run.Reference() + " does here: " + what
	case play.Allowed:
		return fmt.Sprintf("the lock needs %s: %s", o.Result.Violations[0].Assumption, what)
	}
	return what
}

// cases returns the outcomes for a report to CI servers, in the order of the catalogue.
func (b *bench) cases() []reports.Case {
	var all []reports.Case
	for _, o := range b.outcomes {
		a := b.accounts[o]
		s := a.standing(o)
		c := reports.Case{Suite: o.Scenario.Name, Name: o.Run.ID(), Kind: s.Word(), Again: b.again(a.test, o), Message: o.Name(),
			Seed: strconv.FormatUint(o.History.Meta.Seed, 10)}
		if why, _, _ := strings.Cut(b.whyOf(o), "\n"); why != "" {
			c.Message += ": " + why
		}
		switch s {
		case play.Broke, play.Other:
			c.Status = reports.Failed
		case play.Failed, play.TooBig, play.NotRun:
			c.Status = reports.Errored
		case play.Known, play.Unproved, play.NotApplicable:
			c.Status = reports.Skipped
		}
		if c.Status >= reports.Failed {
			c.Why = b.whyOf(o) + "\n\nsee it again: " + c.Again + "\n"
			if o.Report == nil {
				c.Output = o.Timeline()
			} else {
				c.Output = o.Report.String()
			}
		}
		all = append(all, c)
	}
	return all
}
