package ledger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"lockstep/reports"
)

// An Input is a file to add, or a stream.
type Input struct {
	Name string // for errors
	io.Reader
}

// errOdd is the error for a label that cannot be one.
var errOdd = errors.New("it must be one line of 1 to 100 bytes, with no space at either end, such as 2026-11-27")

func checkLabel(flag, s string) error {
	if s == "" || len(s) > 100 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) || strings.TrimSpace(s) != s {
		return fmt.Errorf("--%s %q: %w", flag, reports.Shorten(s, 100), errOdd)
	}
	return nil
}

// CheckLabels returns an error if a night or a version cannot have this label. No version is one.
func CheckLabels(night, version string) error {
	err := checkLabel("night", night)
	if err == nil && version != "" {
		err = checkLabel("version", version)
	}
	return err
}

// A Batch is what searches have printed, in its order.
type Batch []func(*book) error

// Read reads and checks inputs. That may take as long as the searches that print them.
func Read(inputs []Input) (Batch, error) {
	var all Batch
	any := false
	for _, in := range inputs {
		err := read(in.Name, in, func(p *printed) error {
			any = true
			all = append(all, func(b *book) error { return b.search(p) })
			return nil
		}, func(modules []module) {
			all = append(all, func(b *book) error {
				b.modules = modules
				return nil
			})
		})
		if err != nil {
			return nil, err
		}
	}
	if !any {
		return nil, fmt.Errorf("%s: there is no search in it; it must have a line of lockstep explore --json for each search", inputs[0].Name)
	}
	return all, nil
}

// Add adds what searches have printed to a night, all of it or, if there is an error, nothing. What was added before is not added again.
// The version is that of the locks; if it is empty, it is what version --json says in the inputs before the search, if that is there.
func (l *Ledger) Add(ctx context.Context, night, version string, batch Batch) (*Night, error) {
	if err := CheckLabels(night, version); err != nil {
		return nil, err
	}
	var result *Night
	err := l.write(ctx, func(tx *sql.Tx) (err error) {
		b := &book{ctx: ctx, tx: tx, version: version}
		if b.night, err = b.nightOf(night); err != nil {
			return err
		}
		told, err := b.told()
		if err != nil {
			return err
		}
		for _, add := range batch {
			if err := add(b); err != nil {
				return err
			}
		}
		if result, err = b.settle(); err == nil {
			result.told = told
		}
		return err
	})
	return result, err
}

// told returns the findings that are new on the night, or have regressed, so far: an alarm about them has been given.
func (b *book) told() (map[int64]bool, error) {
	var added bool
	if err := b.tx.QueryRowContext(b.ctx, "SELECT EXISTS (SELECT 1 FROM visits WHERE night = ?)", b.night).Scan(&added); !added || err != nil {
		return nil, err
	}
	before, err := b.settle()
	if err != nil {
		return nil, err
	}
	told := map[int64]bool{}
	for _, f := range slices.Concat(before.New, before.Regressed) {
		told[f.id] = true
	}
	return told, nil
}

// A book is a ledger during a change.
type book struct {
	ctx     context.Context
	tx      *sql.Tx
	night   int64
	version string // of all locks; empty if modules says it
	modules []module
}

// nightOf returns the number of a night, which it makes if it is new.
func (b *book) nightOf(label string) (id int64, err error) {
	if _, err = b.tx.ExecContext(b.ctx, "INSERT INTO nights (label) VALUES (?) ON CONFLICT DO NOTHING", label); err != nil {
		return 0, err
	}
	err = b.tx.QueryRowContext(b.ctx, "SELECT id FROM nights WHERE label = ?", label).Scan(&id)
	return id, err
}

// versions returns the version of a lock, and the build of Lockstep; empty if unknown.
func (b *book) versions(lock string) (version, build string) {
	lockstep := "" // all that older programs say about their build
	for _, m := range b.modules {
		switch m.Name {
		case lock:
			version = m.Version
		case "build":
			build = m.Version
		case "lockstep":
			lockstep = m.Version
		}
	}
	return cmp.Or(b.version, version), cmp.Or(build, lockstep)
}

// look is how a search looked, as visits have it in JSON.
type look struct {
	Workload    string        `json:"workload,omitempty"`
	Seed        uint64        `json:"seed"`
	TTL         time.Duration `json:"ttl,omitempty"`
	Calm        string        `json:"calm,omitempty"`
	Bound       int           `json:"bound,omitempty"`
	BoundKinds  []string      `json:"boundKinds,omitempty"`
	BoundWhole  bool          `json:"boundWhole,omitempty"`
	Runs        int           `json:"runs,omitempty"`
	Strategy    string        `json:"strategy,omitempty"`
	RandomKinds []string      `json:"randomKinds,omitempty"`
	RandomWhole bool          `json:"randomWhole,omitempty"`
	Failing     [][2]string   `json:"failing,omitempty"`
}

// insert adds a visit; it returns 0 if that was added before.
func (b *book) insert(v *visit, digest []byte) (int64, error) {
	k := look{v.workload, v.seed, v.ttl, v.calm, v.bound, v.boundKinds, v.boundWhole, v.runs, v.strategy, v.randomKinds, v.randomWhole, nil}
	for _, f := range v.failing {
		k.Failing = append(k.Failing, [2]string{f.property, f.assumption})
	}
	text, err := json.Marshal(k)
	if err != nil {
		return 0, err
	}
	res, err := b.tx.ExecContext(b.ctx, "INSERT INTO visits (night, digest, lock, version, build, replayed, search) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		b.night, digest, v.lock, v.version, v.build, v.replayed, string(text))
	if err != nil {
		return 0, err
	}
	if n, err := res.RowsAffected(); n == 0 || err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// search adds a search, and what it found.
func (b *book) search(p *printed) error {
	v := p.visit()
	v.version, v.build = b.versions(p.Lock)
	visit, err := b.insert(v, p.digest(v.version, v.build))
	if visit == 0 || err != nil {
		return err
	}
	for i := range p.Found {
		if err := b.found(visit, p, &p.Found[i]); err != nil {
			return err
		}
	}
	return nil
}

// found adds a finding, or a sighting of one that is known. Of its scenarios, the smallest is kept, unless it passes by now.
func (b *book) found(visit int64, p *printed, f *found) error {
	kinds := f.kinds()
	shape, title, story, n := "", "", "", 0
	if f.page != nil {
		shape, title, story, n = Shape(f.page, f.Property), f.page.Title, f.page.Prose, size(f.page)
	}
	if shape == "" {
		shape = unreduced(kinds, f.Broke != "")
	}
	if title == "" {
		title = f.Property + " violated"
		if f.Broke != "" {
			title = "A run does not end."
		}
	}
	if story == "" {
		for _, p := range f.Plan {
			story += strings.Join(p.Steps, "\n") + "\n"
		}
		story = strings.TrimSuffix(shortened(story+f.Broke, longestStory), "\n")
	}
	var id int64
	var was int
	var had string
	err := b.tx.QueryRowContext(b.ctx, "SELECT id, size, scenario FROM findings WHERE lock = ? AND property = ? AND assumption = ? AND shape = ?",
		p.Lock, f.Property, f.Assumption, shape).Scan(&id, &was, &had)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		res, err := b.tx.ExecContext(b.ctx, `INSERT INTO findings (name, lock, property, assumption, shape, title, story, size, scenario, token)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, nameOf(p.Lock, f.Property, f.Assumption, shape), p.Lock, f.Property, f.Assumption, shape, title, story, n, f.Scenario, f.Token)
		if err != nil {
			return err
		}
		if id, err = res.LastInsertId(); err != nil {
			return err
		}
	case err != nil:
		return err
	case f.Scenario == "":
	case had != "" && n >= was:
		// The one that is kept passes by now, if its last replay says so and no search has found the finding since. Then the replays of a larger one
		// say more.
		var passes bool
		err := b.tx.QueryRowContext(b.ctx, `SELECT coalesce((SELECT s.what = ? FROM sightings s JOIN visits v ON v.id = s.visit
			WHERE s.finding = ? AND s.what IN (?, ?, ?) AND v.id != ? ORDER BY v.id DESC LIMIT 1), 0)`, Gone, id, Found, Fails, Gone, visit).Scan(&passes)
		if err != nil {
			return err
		}
		if !passes {
			break
		}
		fallthrough
	default:
		if _, err := b.tx.ExecContext(b.ctx, "UPDATE findings SET title = ?, story = ?, size = ?, scenario = ?, token = ? WHERE id = ?", title, story, n, f.Scenario, f.Token, id); err != nil {
			return err
		}
	}
	_, err = b.tx.ExecContext(b.ctx, "INSERT INTO sightings (finding, visit, what, kinds) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", id, visit, Found, strings.Join(kinds, ","))
	return err
}

// longestStory is the most bytes that are kept of a story that has no page: the stack of a panic can be long.
const longestStory = 4 << 10

func shortened(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// nameOf is the name of a finding: a hash of what makes it this one, so that it is the same in every ledger.
func nameOf(parts ...string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(parts, "\x00"))))[:12]
}

// settle judges all findings of the locks of the night again, and says what it made of them.
func (b *book) settle() (*Night, error) {
	locks, err := b.texts("SELECT DISTINCT lock FROM visits WHERE night = ? ORDER BY lock", b.night)
	if err != nil {
		return nil, err
	}
	night := &Night{}
	if err := b.tx.QueryRowContext(b.ctx, "SELECT label FROM nights WHERE id = ?", b.night).Scan(&night.Label); err != nil {
		return nil, err
	}
	update, err := b.tx.PrepareContext(b.ctx, "UPDATE findings SET state = ?, first = ?, last = ?, judged = ?, nights = ? WHERE id = ?")
	if err != nil {
		return nil, err
	}
	defer update.Close()
	unproven, err := b.unproven()
	if err != nil {
		return nil, err
	}
	states := map[int64]State{} // of the findings, by this night
	for _, lock := range locks {
		visits, err := visitsOf(b.ctx, b.tx, lock)
		if err != nil {
			return nil, err
		}
		for _, v := range visits {
			if v.night == b.night {
				night.saw(v)
			}
		}
		type row struct {
			id    int64
			state State
			first, last, judged,
			nights int64
		}
		var changed []row
		err = judgeAll(b.ctx, b.tx, lock, visits, func(f *judged) error {
			now := row{id: f.id}
			for _, t := range f.turns {
				now.state, now.judged = t.state, t.night
				if t.there() {
					now.first, now.last = cmp.Or(now.first, t.night), t.night
					now.nights++
				}
				if t.night == b.night {
					states[f.id] = t.state
				}
			}
			was := row{f.id, f.state, f.first, f.last, f.judged, f.nights}
			if len(f.turns) > 0 && now != was {
				changed = append(changed, now)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		for _, r := range changed {
			if _, err := update.ExecContext(b.ctx, r.state, r.first, r.last, r.judged, r.nights, r.id); err != nil {
				return nil, err
			}
		}
	}
	all, err := list(b.ctx, b.tx, "", false)
	if err != nil {
		return nil, err
	}
	for _, f := range all {
		state, said := states[f.id]
		switch {
		case !said && unproven[f.id] && f.State != Closed:
			night.Unproven = append(night.Unproven, f)
		case !said && f.State.Open() && slices.Contains(locks, f.Lock):
			night.Silent = append(night.Silent, f)
		case !said:
		case f.State == Closed && state != Resolved:
			night.Closed = append(night.Closed, f)
		case f.State == Closed:
		default:
			f.State = state
			night.put(f)
		}
	}
	return night, nil
}

// unproven returns the findings of which a replay of the night proved nothing.
func (b *book) unproven() (map[int64]bool, error) {
	rows, err := b.tx.QueryContext(b.ctx, "SELECT s.finding FROM visits v JOIN sightings s ON s.visit = v.id WHERE v.night = ? AND s.what = ?", b.night, Unclear)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[int64]bool{}
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		all[id] = true
	}
	return all, rows.Err()
}

// texts returns the texts that a query finds.
func (b *book) texts(query string, args ...any) ([]string, error) {
	rows, err := b.tx.QueryContext(b.ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

// visitsOf returns the visits of a lock, by night.
func visitsOf(ctx context.Context, q querier, lock string) ([]*visit, error) {
	rows, err := q.QueryContext(ctx, "SELECT id, night, version, build, replayed, search FROM visits WHERE lock = ? ORDER BY night, id", lock)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []*visit
	for rows.Next() {
		v := &visit{lock: lock}
		var text []byte
		if err := rows.Scan(&v.id, &v.night, &v.version, &v.build, &v.replayed, &text); err != nil {
			return nil, err
		}
		var k look
		if err := json.Unmarshal(text, &k); err != nil {
			return nil, damaged{fmt.Sprintf("what search %d did cannot be read", v.id)}
		}
		v.workload, v.seed, v.ttl, v.calm = k.Workload, k.Seed, k.TTL, k.Calm
		v.bound, v.boundKinds, v.boundWhole = k.Bound, k.BoundKinds, k.BoundWhole
		v.runs, v.strategy, v.randomKinds, v.randomWhole = k.Runs, k.Strategy, k.RandomKinds, k.RandomWhole
		for _, f := range k.Failing {
			v.failing = append(v.failing, failing{f[0], f[1]})
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// judged is a finding with its turns.
type judged struct {
	id                          int64
	what                        failing
	state                       State
	first, last, judged, nights int64
	turns                       []turn
}

// judgedOf returns the findings of a lock, without turns, by their numbers.
func judgedOf(ctx context.Context, q querier, lock string) (map[int64]*judged, error) {
	rows, err := q.QueryContext(ctx, `SELECT id, property, assumption, state, coalesce(first, 0), coalesce(last, 0), coalesce(judged, 0), nights
		FROM findings WHERE lock = ?`, lock)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[int64]*judged{}
	for rows.Next() {
		f := &judged{}
		if err := rows.Scan(&f.id, &f.what.property, &f.what.assumption, &f.state, &f.first, &f.last, &f.judged, &f.nights); err != nil {
			return nil, err
		}
		all[f.id] = f
	}
	return all, rows.Err()
}

// judgeAll judges the findings of a lock, one after the other.
func judgeAll(ctx context.Context, q querier, lock string, visits []*visit, each func(*judged) error) error {
	byID := map[int64]*visit{}
	for _, v := range visits {
		byID[v.id] = v
	}
	findings, err := judgedOf(ctx, q, lock)
	if err != nil {
		return err
	}
	rows, err := q.QueryContext(ctx, "SELECT s.finding, s.visit, s.what, s.kinds FROM findings f JOIN sightings s ON s.finding = f.id WHERE f.lock = ? ORDER BY f.id", lock)
	if err != nil {
		return err
	}
	defer rows.Close()
	var now *judged
	seen := map[*visit]*sighting{}
	end := func() error {
		if now == nil {
			return nil
		}
		now.turns = judge(now.what, visits, seen)
		clear(seen)
		return each(now)
	}
	lists := map[string][]string{}
	for rows.Next() { // there may be a million
		var finding, visit int64
		var s sighting
		var kinds string
		if err := rows.Scan(&finding, &visit, &s.what, &kinds); err != nil {
			return err
		}
		if now == nil || now.id != finding {
			if err := end(); err != nil {
				return err
			}
			now = findings[finding]
		}
		if byID[visit] == nil || s.what <= Silent || int(s.what) >= len(outcomes) {
			return damaged{fmt.Sprintf("what search %d made of finding %d cannot be read", visit, finding)}
		}
		if _, ok := lists[kinds]; !ok && kinds != "" {
			lists[kinds] = strings.Split(kinds, ",")
		}
		s.visit, s.kinds = byID[visit], lists[kinds]
		seen[s.visit] = &s
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return end()
}
