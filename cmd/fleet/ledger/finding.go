package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"lockstep/reports"
	"lockstep/scenarios/script"
)

// A Finding is one way in which a lock fails.
type Finding struct {
	ID         string `json:"id"`
	Lock       string `json:"lock"`
	Property   string `json:"property"`
	Assumption string `json:"assumption"`
	Shape      string `json:"shape"`
	Title      string `json:"title"`
	State      State  `json:"state"`
	Reason     string `json:"reason,omitempty"` // why it was closed
	First      string `json:"first"`            // the nights on which it was first and last there
	Last       string `json:"last"`
	Nights     int    `json:"nights"` // on how many it was there
	Judged     string `json:"judged"` // the last night that says something about it
	Size       int    `json:"size"`   // of the smallest scenario: clients, nodes and steps
	Token      string `json:"token,omitempty"`
	Scenario   string `json:"scenario,omitempty"` // the smallest one, as the text of a scenario file
	Story      string `json:"story,omitempty"`

	id, first int64
	// was is the state that it would have if it were not closed.
	was State
}

// Faults says in one line what goes wrong in the smallest scenario, without the times, such as "crash n1; restart n1 empty". It tells findings apart that
// have the same lock, property and assumption. Without a scenario, it is the shape.
func (f *Finding) Faults() string {
	page, err := script.Parse("scenario", []byte(f.Scenario))
	if err != nil {
		return f.Shape
	}
	var all []string
	page.EachStep(func(_, _ int, lane script.Lane, step script.Step) {
		if fault := lane.Fault(step); fault != nil {
			all = append(all, fmt.Sprint(fault))
		}
	})
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, "; ")
}

// A Night is what one night made of the findings of the locks that it searched.
type Night struct {
	Label     string
	Searches  int
	Replays   bool
	Locks     []string // each with its version, if that is known
	New       []*Finding
	Regressed []*Finding
	Ongoing   []*Finding
	Resolved  []*Finding
	Closed    []*Finding // closed, and found again
	Unproven  []*Finding // a replay of that night proved nothing, and nothing else says more
	Silent    []*Finding // open, but no search of that night could have found them

	told map[int64]bool // those that were new or had regressed before the last addition to the night
}

// Bad reports whether something is new, or has come back, that the night did not say before the last addition.
func (n *Night) Bad() bool {
	return slices.ContainsFunc(slices.Concat(n.New, n.Regressed), func(f *Finding) bool { return !n.told[f.id] })
}

func (n *Night) saw(v *visit) {
	if v.replayed {
		n.Replays = true
	} else {
		n.Searches++
	}
	lock := v.lock
	if v.version != "" {
		lock += " " + v.version
	}
	if !slices.Contains(n.Locks, lock) {
		n.Locks = append(n.Locks, lock)
	}
}

func (n *Night) put(f *Finding) {
	to := map[State]*[]*Finding{New: &n.New, Regressed: &n.Regressed, Ongoing: &n.Ongoing, Resolved: &n.Resolved}[f.State]
	*to = append(*to, f)
}

// List returns all findings with their stories, those that need attention first; then by lock, property, assumption and shape.
func (l *Ledger) List(ctx context.Context) ([]*Finding, error) {
	all, err := list(ctx, l.db, "", true)
	return all, l.told(err)
}

// list returns the findings whose name begins with a prefix, with their stories if that is asked for.
func list(ctx context.Context, q querier, prefix string, stories bool) ([]*Finding, error) {
	story := "''"
	if stories {
		story = "f.story"
	}
	rows, err := q.QueryContext(ctx, `SELECT f.id, f.name, f.lock, f.property, f.assumption, f.shape, f.title, f.state, f.closed IS NOT NULL, coalesce(f.closed, ''),
		coalesce(a.label, ''), coalesce(z.label, ''), coalesce(j.label, ''), coalesce(f.first, 0), f.nights, f.size, f.token, f.scenario, `+story+`
		FROM findings f LEFT JOIN nights a ON a.id = f.first LEFT JOIN nights z ON z.id = f.last LEFT JOIN nights j ON j.id = f.judged
		WHERE substr(f.name, 1, length(?)) = ?
		ORDER BY f.lock, f.property, f.assumption, f.shape`, prefix, prefix)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []*Finding
	for rows.Next() {
		f := &Finding{}
		var closed bool
		if err := rows.Scan(&f.id, &f.ID, &f.Lock, &f.Property, &f.Assumption, &f.Shape, &f.Title, &f.was, &closed, &f.Reason,
			&f.First, &f.Last, &f.Judged, &f.first, &f.Nights, &f.Size, &f.Token, &f.Scenario, &f.Story); err != nil {
			return nil, err
		}
		if err := f.check(); err != nil {
			return nil, err
		}
		if f.State = f.was; closed {
			f.State = Closed
		}
		all = append(all, f)
	}
	slices.SortStableFunc(all, func(a, b *Finding) int {
		return slices.Index(States(), a.State) - slices.Index(States(), b.State)
	})
	return all, rows.Err()
}

// id is what an ID looks like: see nameOf. It becomes the name of a file.
var id = regexp.MustCompile(`^[0-9a-f]{12}$`)

// check returns an error if the row of a finding is none that this program writes.
func (f *Finding) check() error {
	switch {
	case !id.MatchString(f.ID):
		return damaged{fmt.Sprintf("a finding has the ID %q", reports.Shorten(f.ID, longestName))}
	case !slices.Contains(States(), f.was):
		return damaged{fmt.Sprintf("finding %s has the state %q", f.ID, reports.Shorten(string(f.was), longestName))}
	case f.Token != "" && !token.MatchString(f.Token):
		return damaged{fmt.Sprintf("finding %s has a token that no search has printed", f.ID)}
	}
	return nil
}

// find returns the finding whose name begins so.
func find(ctx context.Context, q querier, id string) (*Finding, error) {
	if len(id) < 4 {
		return nil, fmt.Errorf("%q: an ID must have at least 4 characters; lockstep ledger list shows them", id)
	}
	all, err := list(ctx, q, strings.ToLower(id), true)
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, fmt.Errorf("%q: there is no such finding; lockstep ledger list shows the IDs", id)
	case len(all) > 1:
		return nil, fmt.Errorf("%q: %d IDs begin with this, such as %s and %s; give more of the ID", id, len(all), all[0].ID, all[1].ID)
	}
	return all[0], nil
}

// A Line is a line of the history of a finding: what the searches or the replays of one version of the lock said on one night.
type Line struct {
	Night   string  `json:"night"`
	Version string  `json:"version,omitempty"` // of the lock
	Build   string  `json:"build,omitempty"`   // of Lockstep; its version if that is all that was known
	Outcome Outcome `json:"-"`
	What    string  `json:"outcome"`
	How     string  `json:"how"`   // the search, in words
	State   State   `json:"state"` // what the night made of the finding
}

// ShortBuild is enough of the build to tell it from others: the same as lockstep fleet shows.
func (l Line) ShortBuild() string { return l.Build[:min(len(l.Build), 19)] }

// Show returns a finding, and its history.
func (l *Ledger) Show(ctx context.Context, id string) (*Finding, []Line, error) {
	f, err := find(ctx, l.db, id)
	if err != nil {
		return nil, nil, l.told(err)
	}
	histories, err := l.histories(ctx, []*Finding{f})
	return f, histories[f.id], err
}

// histories returns the histories of findings, by their numbers.
func (l *Ledger) histories(ctx context.Context, findings []*Finding) (map[int64][]Line, error) {
	labels := map[int64]string{}
	rows, err := l.db.QueryContext(ctx, "SELECT id, label FROM nights")
	if err != nil {
		return nil, l.told(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var label string
		if err := rows.Scan(&id, &label); err != nil {
			return nil, l.told(err)
		}
		labels[id] = label
	}
	if err := rows.Err(); err != nil {
		return nil, l.told(err)
	}
	wanted, locks := map[int64]bool{}, []string(nil)
	for _, f := range findings {
		wanted[f.id] = true
		if !slices.Contains(locks, f.Lock) {
			locks = append(locks, f.Lock)
		}
	}
	all := map[int64][]Line{}
	for _, lock := range locks {
		visits, err := visitsOf(ctx, l.db, lock)
		if err != nil {
			return nil, l.told(err)
		}
		err = judgeAll(ctx, l.db, lock, visits, func(f *judged) error {
			if !wanted[f.id] {
				return nil
			}
			for _, t := range f.turns {
				for _, o := range t.outcomes {
					v := o.visit
					line := Line{labels[t.night], v.version, v.build, o.what, o.what.String(), v.how(), t.state}
					if !slices.Contains(all[f.id], line) {
						all[f.id] = append(all[f.id], line)
					}
				}
			}
			return nil
		})
		if err != nil {
			return nil, l.told(err)
		}
	}
	return all, nil
}

// how says how a visit looked.
func (v *visit) how() string {
	if v.replayed {
		return "replay"
	}
	var all []string
	if v.workload != "" {
		all = append(all, "workload "+v.workload)
	}
	if v.bound > 0 {
		all = append(all, fmt.Sprintf("bound %d", v.bound))
	}
	if v.runs > 0 {
		all = append(all, fmt.Sprintf("%d runs, seed %d", v.runs, v.seed))
	}
	return strings.Join(all, ", ")
}

// CloseFinding closes a finding for a reason. It then stays closed, even if it is found again. A finding of another shape is another
// finding.
func (l *Ledger) CloseFinding(ctx context.Context, id, reason string) (*Finding, error) {
	if strings.TrimSpace(reason) == "" || len(reason) > 1000 || strings.ContainsFunc(reason, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, errors.New("--reason: it must say in one line of at most 1000 bytes why the finding is accepted")
	}
	return l.change(ctx, id, func(tx *sql.Tx, f *Finding) error {
		_, err := tx.ExecContext(ctx, "UPDATE findings SET closed = ?, closed_after = (SELECT max(id) FROM nights) WHERE id = ?", reason, f.id)
		return err
	})
}

// Reopen undoes CloseFinding.
func (l *Ledger) Reopen(ctx context.Context, id string) (*Finding, error) {
	return l.change(ctx, id, func(tx *sql.Tx, f *Finding) error {
		if f.State != Closed {
			return fmt.Errorf("%s is %s; only a closed finding can be reopened", f.ID, f.State)
		}
		_, err := tx.ExecContext(ctx, "UPDATE findings SET closed = NULL, closed_after = NULL WHERE id = ?", f.id)
		return err
	})
}

// change changes a finding, and returns what it is then.
func (l *Ledger) change(ctx context.Context, id string, do func(*sql.Tx, *Finding) error) (f *Finding, err error) {
	err = l.write(ctx, func(tx *sql.Tx) error {
		if f, err = find(ctx, tx, id); err != nil {
			return err
		}
		if err := do(tx, f); err != nil {
			return err
		}
		f, err = find(ctx, tx, f.ID)
		return err
	})
	return f, err
}
