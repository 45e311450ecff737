package reader

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios/claims"
	"lockstep/scenarios/script"
)

// A Menu is what a reader can choose from.
type Menu struct {
	Claims []Claim `json:"claims"`
	Pages  []Page  `json:"pages"`
	Locks  []Lock  `json:"locks"`
}

// A Claim is a claim of the debate with the runs that can be played again.
type Claim struct {
	ID      string   `json:"id"`
	Heading string   `json:"heading"`
	Text    string   `json:"text"`
	Chapter string   `json:"chapter"`
	Setting string   `json:"setting"` // what happens in the first run, but not how it comes out
	Runs    []Run    `json:"runs"`    // the one that is drawn comes first
	Saves   []Saving `json:"saves"`
}

// A Saving is a choice that keeps what the first run of a claim violates.
type Saving struct {
	What   string   `json:"what"`
	Run    int      `json:"run"`    // the number of the run
	Values []string `json:"values"` // of its quantities, each the one that the run has, or the one that saves
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

// A Lock can take the place of another in a run.
type Lock struct {
	Name  string `json:"name"`
	About string `json:"about"`
	Nodes int    `json:"nodes"` // on how many it runs as a rule
}

// A Page is a scenario of the catalogue with the runs that can be played in a browser.
type Page struct {
	Name  string   `json:"name"`
	Title string   `json:"title"`
	Runs  []string `json:"runs"` // LOCK, or LOCK/LABEL
}

// NewMenu lists the claims whose runs can be played, the scenarios of the catalogue, and the locks.
func NewMenu() (*Menu, error) {
	a, err := argument()
	if err != nil {
		return nil, err
	}
	m := &Menu{Claims: []Claim{}, Pages: []Page{}}
	for _, c := range a.Claims {
		claim := Claim{ID: c.ID, Heading: c.Heading, Text: c.Text, Chapter: c.Chapter, Setting: c.Setting, Saves: []Saving{}}
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
		for _, s := range c.Saves {
			claim.Saves = append(claim.Saves, newSaving(s, claim.Runs))
		}
		if len(claim.Runs) > 0 {
			m.Claims = append(m.Claims, claim)
		}
	}
	for _, l := range clients.Locks() {
		m.Locks = append(m.Locks, Lock{l.Name, l.About, clients.UsualNodes(l.Name)})
	}
	stories, err := script.Stories()
	if err != nil {
		return nil, err
	}
	for _, s := range stories {
		p := Page{Name: s.Name, Title: s.Title, Runs: []string{}}
		for _, r := range s.Runs {
			if _, err := clients.Find(r.Lock); err == nil && !r.Guests {
				p.Runs = append(p.Runs, r.ID())
			}
		}
		if len(p.Runs) > 0 {
			m.Pages = append(m.Pages, p)
		}
	}
	return m, nil
}

func newSaving(s claims.Saving, runs []Run) Saving {
	n := slices.IndexFunc(runs, func(r Run) bool { return r.Name == s.Run })
	saving := Saving{What: s.What, Run: n, Values: []string{}}
	for _, q := range runs[n].Vary {
		value := q.Values[q.Own]
		if q.What == s.Quantity {
			value = s.Value
		}
		saving.Values = append(saving.Values, value)
	}
	return saving
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

// longestName limits the name of a run, in bytes: a message with a longer one would not be read.
const longestName = 200

// find returns a run of the catalogue by its name.
func find(name string) (*script.Scenario, script.Section, error) {
	if len(name) > longestName {
		return nil, script.Section{}, fmt.Errorf("no run has a name of %d bytes", len(name))
	}
	scenario, id, _ := strings.Cut(name, "/")
	s, err := script.Find(scenario)
	if none, ok := errors.AsType[*script.NotFound](err); ok {
		return nil, script.Section{}, errors.New(none.Short())
	}
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

// Link returns what opens a run in the playground: its name, if it is one of the catalogue, or else a token. The error says why it cannot be
// played in a browser.
func Link(s *script.Scenario, r script.Section, seed uint64) (string, error) {
	if _, err := playable(s, r); err != nil {
		return "", err
	}
	name := s.Name + "/" + r.ID()
	if t, q, err := find(name); err == nil && t.Equal(s) && r.Lock == q.Lock && seed == max(q.Seed, 1) {
		return name, nil
	}
	r.Seed = seed
	page, err := script.Parse(s.File, []byte(alone(s, r)))
	if err != nil {
		return "", err
	}
	return page.Token()
}
