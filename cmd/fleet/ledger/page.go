package ledger

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"strings"

	"lockstep/reports"
	"lockstep/reports/sites"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"visible": reports.Visible, "lines": reports.VisibleLines, "paragraphs": paragraphs, "noReplay": func() string { return noReplay },
}).Parse(pageText))

// Pages are the page about a ledger, and the scenarios of its findings.
type Pages struct {
	index    []byte
	findings []*Finding
}

// Mark is the first line of the list of files, see [sites.Sums].
const Mark = "# Written by lockstep ledger page, which replaces what is listed here, and nothing else.\n"

// Files returns the files: the index, which refers to nothing outside the directory, ID.txtar for each finding, and the list of them.
func (p *Pages) Files() []sites.File {
	all := []sites.File{{Name: "index.html", Data: p.index}}
	for _, f := range p.findings {
		if f.Scenario != "" {
			all = append(all, sites.File{Name: f.ID + ".txtar", Data: []byte(f.Scenario)})
		}
	}
	return sites.Sealed(Mark, all)
}

// A shown is a finding as the page shows it.
type shown struct {
	*Finding
	Status  string
	Span    string
	Command string
	Strip   []mark
	History []Line
	Whole   bool // it is shown with its story and its history, and not only as a line
}

// mostWhole is how many findings are shown as a whole. A browser takes long for a page with thousands of them.
const mostWhole = 500

// A mark is what one night says about a finding.
type mark struct {
	Night string
	State State // empty if it says nothing
	What  string
}

// paragraphs splits a story at its empty lines. The browser breaks lines of prose; steps stay as they are.
func paragraphs(story string) []string {
	all := strings.Split(story, "\n\n")
	if len(all) > 1 {
		for i, p := range all {
			all[i] = strings.ReplaceAll(p, "\n", " ")
		}
	}
	return all
}

// A lot is the findings in one state.
type lot struct {
	State State
	Means string
	All   []*shown
}

// Means says what a state means.
func (s State) Means() string {
	return map[State]string{
		New:       "found for the first time",
		Regressed: "found again after it was resolved",
		Ongoing:   "still there",
		Resolved:  "looked for in the same way and not found, or replayed without a violation",
		Closed:    "accepted, for the reason given",
	}[s]
}

// mostNights is how many nights the page shows of a finding.
const mostNights = 60

// Page makes the page.
func (l *Ledger) Page(ctx context.Context) (*Pages, error) {
	all, err := l.List(ctx)
	if err != nil {
		return nil, err
	}
	histories, err := l.histories(ctx, all[:min(len(all), mostWhole)])
	if err != nil {
		return nil, err
	}
	nights, err := l.nights(ctx)
	if err != nil {
		return nil, err
	}
	recent := nights[max(0, len(nights)-mostNights):]
	var lots []*lot
	for _, s := range States() {
		lots = append(lots, &lot{State: s, Means: s.Means()})
	}
	open := 0
	for i, f := range all {
		if f.State.Open() {
			open++
		}
		s := &shown{Finding: f, Whole: i < mostWhole, Status: f.status(), Span: f.span(), Command: f.command(), History: histories[f.id]}
		for _, lot := range lots {
			if lot.State == f.State {
				lot.All = append(lot.All, s)
			}
		}
		if !s.Whole {
			continue
		}
		byNight := map[string]*mark{}
		for _, h := range s.History {
			m := byNight[h.Night]
			if m == nil {
				m = &mark{Night: h.Night, State: h.State}
				byNight[h.Night] = m
			}
			if what := strings.TrimSpace(h.Version + " " + h.What); !strings.Contains(m.What, what) {
				m.What += ", " + what
			}
		}
		if len(recent) < len(nights) { // the table would be as long as the strip would be wide
			s.History = s.History[max(0, len(s.History)-mostNights):]
		}
		for _, n := range recent {
			if m := byNight[n]; m != nil {
				s.Strip = append(s.Strip, *m)
			} else {
				s.Strip = append(s.Strip, mark{Night: n, What: ", not looked for"})
			}
		}
	}
	var b bytes.Buffer
	err = pageTemplate.Execute(&b, map[string]any{"Lots": lots, "Nights": len(nights), "Latest": append([]string{""}, nights...)[len(nights)], "Total": len(all), "Open": open})
	if err != nil {
		return nil, fmt.Errorf("the page: %w", err)
	}
	return &Pages{b.Bytes(), all}, nil
}

// nights lists the labels of all nights, in their order.
func (l *Ledger) nights(ctx context.Context) ([]string, error) {
	rows, err := l.db.QueryContext(ctx, "SELECT label FROM nights ORDER BY id")
	if err != nil {
		return nil, l.told(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, l.told(err)
		}
		all = append(all, s)
	}
	return all, l.told(rows.Err())
}
