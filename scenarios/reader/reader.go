// Package reader plays the runs that a reader of the debate asks for: a run of a claim with other quantities, or a scenario that the reader
// has written. In a browser it is compiled to WebAssembly ([lockstep/cmd/browser]).
package reader

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/reports/explorer"
	"lockstep/scenarios/claims"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// argument has the claims. They are read once, and not for each run.
var argument = sync.OnceValues(claims.Load)

// A Menu is what a reader can choose from.
type Menu struct {
	Claims []Claim `json:"claims"`
}

// A Claim is a claim of the debate with the runs that can be played again.
type Claim struct {
	ID      string `json:"id"`
	Heading string `json:"heading"`
	Text    string `json:"text"`
	Chapter string `json:"chapter"`
	Runs    []Run  `json:"runs"` // the one that is drawn comes first
}

// A Run is a run of a claim, and what can be changed in it.
type Run struct {
	Name     string           `json:"name"`     // SCENARIO/LOCK, and /LABEL if there is one
	Property checker.Property `json:"property"` // what the claim asks of it
	Vary     []Quantity       `json:"vary"`
	Script   string           `json:"script"` // a scenario file with this run alone
}

// A Quantity can be changed in a run.
type Quantity struct {
	What   string   `json:"what"`
	Values []string `json:"values"`
	Own    int      `json:"own"` // the number of the value that the run has
}

// NewMenu lists the claims whose runs have a quantity that can be changed.
func NewMenu() (*Menu, error) {
	a, err := argument()
	if err != nil {
		return nil, err
	}
	m := &Menu{Claims: []Claim{}}
	for _, c := range a.Claims {
		if len(c.Vary) == 0 {
			continue
		}
		claim := Claim{ID: c.ID, Heading: c.Heading, Text: c.Text, Chapter: c.Chapter}
		var seen []string
		evidence := slices.Clone(c.Evidence)
		drawn := func(e claims.Evidence) int {
			return (slices.Index(c.Draw, e.Run) + 1 + len(c.Draw)) % (len(c.Draw) + 1)
		}
		slices.SortStableFunc(evidence, func(a, b claims.Evidence) int { return drawn(a) - drawn(b) })
		for _, e := range evidence {
			if slices.Contains(seen, e.Run) || e.Quantity != "" {
				continue
			}
			r, err := newRun(c, e)
			if err != nil {
				return nil, fmt.Errorf("claim %s: %s: %w", c.ID, e.Run, err)
			}
			seen = append(seen, e.Run)
			claim.Runs = append(claim.Runs, *r)
		}
		m.Claims = append(m.Claims, claim)
	}
	return m, nil
}

func newRun(c claims.Claim, e claims.Evidence) (*Run, error) {
	s, section, err := find(e.Run)
	if err != nil {
		return nil, err
	}
	r := &Run{Name: e.Run, Property: e.Property, Vary: []Quantity{}, Script: alone(s, section)}
	for _, q := range c.Vary {
		own, ok := q.In(r.Script)
		if q.Scenario != s.Name || !ok {
			continue
		}
		values, err := q.Values(own)
		if err != nil {
			return nil, err
		}
		r.Vary = append(r.Vary, Quantity{What: q.What, Values: values, Own: slices.Index(values, own)})
	}
	return r, nil
}

// find returns a run of the catalogue by its name.
func find(name string) (*script.Scenario, script.Section, error) {
	scenario, id, _ := strings.Cut(name, "/")
	s, err := script.Find(scenario)
	if err != nil {
		return nil, script.Section{}, err
	}
	r, err := s.FindRun(id)
	return s, r, err
}

// alone returns a scenario file with one run of a scenario. It has no musts, expectations or timeline: these need not hold any more
// when a quantity is changed.
func alone(s *script.Scenario, r script.Section) string {
	whole := s.Resolve(r)
	return s.Edited(func(page *script.Scenario) {
		page.Prose, page.TTL, page.Musts, page.Reports, page.SimOnly = "", whole.TTL, nil, nil, ""
		r.TTL, r.Musts, r.Reports, r.SimOnly, r.Expect, r.Golden = 0, nil, nil, "", nil, ""
		// A client without steps is a process, too; only a run can say so, in the place of a lane of the scenario.
		if !slices.ContainsFunc(whole.Lanes, func(l script.Lane) bool { return len(l.Steps) == 0 }) {
			page.Lanes, r.Lanes = slices.Clone(whole.Lanes), nil
		}
		page.Runs = []script.Section{r}
	}).String()
}

// A Request asks for a run.
type Request struct {
	ID int `json:"id"` // that of the answer
	// A run of a claim, with the values of its quantities in their order. A value that is missing or empty is that of the run.
	Claim  string   `json:"claim,omitempty"`
	Run    string   `json:"run,omitempty"`
	Values []string `json:"values,omitempty"`
	// Script is a scenario file instead. Its first run is played.
	Script string `json:"script,omitempty"`
	// Token is a run in a token instead, as lockstep explore prints it.
	Token string `json:"token,omitempty"`
	// Brief asks for the properties only.
	Brief bool `json:"brief,omitempty"`
}

// An Answer is what came of the run. Exactly one of Errors and Statuses is not empty.
type Answer struct {
	ID       int                                 `json:"id"`
	Errors   []Mistake                           `json:"errors,omitempty"`
	Statuses map[checker.Property]checker.Status `json:"statuses,omitempty"`
	Broken   map[checker.Property][]string       `json:"broken,omitempty"` // by property: the assumptions that its violations broke
	Verdict  checker.Verdict                     `json:"verdict,omitempty"`
	Unmet    []string                            `json:"unmet,omitempty"`
	Checksum string                              `json:"checksum,omitempty"`
	Script   string                              `json:"script,omitempty"`
	Token    string                              `json:"token,omitempty"` // empty if the run is too long for one
	Figure   json.RawMessage                     `json:"figure,omitempty"`
	Took     float64                             `json:"took,omitempty"` // how long it took to play and to judge, in milliseconds
}

// A Mistake is an error in a request.
type Mistake struct {
	Line int    `json:"line,omitempty"` // of the script, from 1; 0 if it is no line's mistake
	Text string `json:"text"`
}

// longestScript limits the length of a script, in bytes.
const longestScript = 64 << 10

// Play plays a run that is asked for. An error in the request is in the answer.
func Play(r Request) Answer {
	a, err := played(r)
	if err != nil {
		a = &Answer{Errors: mistakes(err)}
	}
	a.ID = r.ID
	return *a
}

func played(r Request) (*Answer, error) {
	s, err := scenario(r)
	if err != nil {
		return nil, err
	}
	section := s.Runs[0]
	if section.Guests {
		return nil, errors.New("the clients of this run are WebAssembly themselves, which is not possible in a browser; use lockstep run")
	}
	if len(s.Sweep) > 0 {
		return nil, errors.New("a sweep is a series of runs; in a browser only single runs can be played; use lockstep run")
	}
	build, err := clients.Find(section.Lock)
	if err != nil {
		return nil, fmt.Errorf("%w; libraries are not part of this page, use lockstep run for them", err)
	}
	seed := section.Seed
	if seed == 0 {
		seed = 1
	}
	start := time.Now()
	o, err := play.Simulate(s, section, build, seed)
	if err != nil {
		return nil, err
	}
	a := &Answer{
		Statuses: map[checker.Property]checker.Status{}, Broken: map[checker.Property][]string{}, Verdict: o.Result.Verdict, Unmet: o.Result.Unmet,
		Checksum: o.History.Meta.Checksum, Took: float64(time.Since(start).Microseconds()) / 1000,
	}
	for _, p := range o.Result.Statuses {
		a.Statuses[p.Property] = p.Status
	}
	for _, v := range o.Result.Violations {
		if b := string(v.Assumption); !slices.Contains(a.Broken[v.Property], b) {
			a.Broken[v.Property] = append(a.Broken[v.Property], b)
		}
	}
	if r.Brief {
		return a, nil
	}
	a.Script = s.String()
	a.Token, _ = s.Token() // a run that is too long for a token has none
	a.Figure, err = explorer.Data(o.ToExplore())
	return a, err
}

// scenario returns the scenario that is asked for, with a single run.
func scenario(r Request) (*script.Scenario, error) {
	switch {
	case r.Token != "":
		return script.FromToken(r.Token)
	case r.Script == "":
		return changed(r)
	case len(r.Script) > longestScript:
		return nil, fmt.Errorf("a scenario must have at most %d bytes, but this one has %d", longestScript, len(r.Script))
	}
	s, err := script.Parse("scenario.txtar", []byte(r.Script))
	if err != nil {
		return nil, err
	}
	s.Runs = s.Runs[:1]
	return s, nil
}

// changed returns the run of a claim with other quantities.
func changed(r Request) (*script.Scenario, error) {
	a, err := argument()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(a.Claims, func(c claims.Claim) bool { return c.ID == r.Claim })
	if i < 0 {
		return nil, fmt.Errorf("there is no claim %.20q", r.Claim)
	}
	c := a.Claims[i]
	if !slices.ContainsFunc(c.Evidence, func(e claims.Evidence) bool { return e.Run == r.Run }) {
		return nil, fmt.Errorf("claim %s has no run %.100q", c.ID, r.Run)
	}
	s, section, err := find(r.Run)
	if err != nil {
		return nil, err
	}
	text := alone(s, section)
	n := 0
	for _, q := range c.Vary {
		own, ok := q.In(text)
		if q.Scenario != s.Name || !ok {
			continue
		}
		if n < len(r.Values) && r.Values[n] != "" {
			values, err := q.Values(own)
			if err != nil {
				return nil, err
			}
			if !slices.Contains(values, r.Values[n]) {
				return nil, fmt.Errorf("%s must be one of the values of its slider, %s to %s; got %.20q", q.What, q.From, q.To, r.Values[n])
			}
			text = q.Set(text, r.Values[n])
		}
		n++
	}
	if n < len(r.Values) {
		return nil, fmt.Errorf("%s has %d quantities, but there are %d values", r.Run, n, len(r.Values))
	}
	return script.Parse(s.File, []byte(text))
}

// mistakes lists the mistakes in an error, each with its line.
func mistakes(err error) []Mistake {
	var many interface{ Unwrap() []error }
	var all []Mistake
	if errors.As(err, &many) {
		for _, e := range many.Unwrap() {
			all = append(all, mistakes(e)...)
		}
		return all
	}
	if e, ok := errors.AsType[*script.Error](err); ok {
		return []Mistake{{e.Line, e.Err.Error()}}
	}
	return []Mistake{{0, err.Error()}}
}
