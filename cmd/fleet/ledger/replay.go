package ledger

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"lockstep/reports"
)

// A Program is a lockstep program that replays findings.
type Program struct {
	Path    string
	modules []module
}

// FindProgram returns the program in a file or, if that is empty, the one beside this program, or else on PATH.
func FindProgram(ctx context.Context, file string) (*Program, error) {
	p := &Program{Path: file}
	if file == "" {
		if self, err := os.Executable(); err == nil {
			beside := filepath.Join(filepath.Dir(self), "lockstep"+filepath.Ext(self))
			if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
				p.Path = beside
			}
		}
		if p.Path == "" {
			path, err := exec.LookPath("lockstep")
			if err != nil {
				return nil, errors.New("there is no program lockstep beside this one or on PATH; --lockstep must name it")
			}
			p.Path = path
		}
	}
	text, _, err := p.run(ctx, "version", "--json")
	if err == nil {
		err = json.Unmarshal(text, &p.modules)
	}
	if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("--lockstep %s: it must be the program lockstep, and answer `version --json`: %w", p.Path, err)
	}
	return p, ctx.Err()
}

// playLimit is how long one replay may take. It makes a run of some milliseconds, or compiles a guest first.
const playLimit = 2 * time.Minute

// mostOutput is the most bytes that are read of what a replay prints.
const mostOutput = 16 << 20

// run runs the program, and returns what it printed on standard output and on standard error.
func (p *Program) run(ctx context.Context, args ...string) (out, errs []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, playLimit)
	defer cancel()
	c := exec.CommandContext(ctx, p.Path, args...)
	c.Cancel = func() error { // so that it can end its workers
		if err := c.Process.Signal(os.Interrupt); err != nil {
			return c.Process.Kill()
		}
		return nil
	}
	c.WaitDelay = 5 * time.Second
	o, e := &limited{most: mostOutput}, &limited{most: 16 << 10}
	c.Stdout, c.Stderr = o, e
	err = c.Run()
	if ctx.Err() == context.DeadlineExceeded {
		err = fmt.Errorf("it took longer than %v", playLimit)
	}
	return o.Bytes(), e.Bytes(), err
}

// limited keeps the first bytes that are written to it.
type limited struct {
	bytes.Buffer
	most int
}

func (l *limited) Write(b []byte) (int, error) {
	l.Buffer.Write(b[:min(len(b), l.most-l.Len())])
	return len(b), nil
}

var _ io.Writer = (*limited)(nil)

// Play replays a finding, and says what came of it.
//
// It calls `lockstep run FILE --json`, which makes the same run as `lockstep replay FILE`, but says by property what was violated and which
// assumption is to blame. The exit status of replay is 1 both if the run differs in a byte and if the violation is gone.
func (p *Program) Play(ctx context.Context, f *Finding) (Outcome, string) {
	dir, err := os.MkdirTemp("", "lockstep-ledger-")
	if err != nil {
		return Unclear, err.Error()
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, f.ID+".txtar")
	if err := os.WriteFile(file, []byte(f.Scenario), 0o600); err != nil {
		return Unclear, err.Error()
	}
	out, errs, err := p.run(ctx, "run", file, "--json")
	var line struct {
		Verdict    string `json:"verdict"`
		Unmet      []string
		Violations []struct {
			Property   string `json:"property"`
			Assumption string `json:"assumption"`
		} `json:"violations"`
		Unfit  string `json:"does_not_apply"`
		Report string `json:"report"`
	}
	if json.Unmarshal(out, &line) != nil || line.Verdict == "" && line.Unfit == "" {
		why := strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(string(errs)), "lockstep: "), dir+string(filepath.Separator), "")
		if why == "" && err != nil {
			why = err.Error()
		}
		return Unclear, cmp.Or(why, "it printed no result")
	}
	for _, v := range line.Violations {
		if v.Property == f.Property && v.Assumption == f.Assumption {
			return Fails, ""
		}
	}
	switch {
	case line.Unfit != "":
		return Unclear, line.Unfit
	case line.Report != "":
		return Unclear, line.Report
	case len(line.Unmet) > 0:
		return Unclear, strings.Join(line.Unmet, "; ")
	}
	for _, v := range line.Violations {
		if v.Property == f.Property {
			return Gone, "violated for another reason: " + v.Assumption
		}
	}
	return Gone, ""
}

// ToReplay returns the findings to replay, in the order that tells most in little time: "keep failing, faster, older". Those that are
// still there come first; among them short ones, and of these the oldest. Then come the resolved ones, in every later replay: each of them
// is a regression test. Closed ones are known, and are left out, and so are those that have no scenario.
func (l *Ledger) ToReplay(ctx context.Context) ([]*Finding, error) {
	all, err := l.List(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(f *Finding) bool { return f.State == Closed || f.Scenario == "" })
	group := func(f *Finding) int {
		if f.State.Open() {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b *Finding) int {
		return cmp.Or(group(a)-group(b), a.Size-b.Size, cmp.Compare(a.first, b.first))
	})
	return all, nil
}

// A Replayed is the outcome of a replay.
type Replayed struct {
	Finding *Finding
	Outcome Outcome
	Note    string // why it proves nothing, or what is different
}

// String is one line of the output of a replay.
func (r Replayed) String() string {
	f := r.Finding
	s := fmt.Sprintf("%-16s  %s  %s", map[Outcome]string{Fails: "fails", Gone: "passes", Unclear: "proves nothing"}[r.Outcome], f.ID,
		reports.Visible(fmt.Sprintf("%s: %s (assumption broken: %s)", f.Lock, f.Property, f.Assumption)))
	if r.Note != "" {
		s += " (" + reports.Shorten(reports.Visible(r.Note), 300) + ")"
	}
	return s
}

// Replay replays findings while there is time for more, calls each with each outcome, and records them all at the end as part of a night.
// It stops when ctx ends, and keeps what it has.
func (l *Ledger) Replay(ctx context.Context, night, version string, p *Program, findings []*Finding, more func() bool, each func(Replayed)) (*Night, error) {
	if err := CheckLabels(night, version); err != nil {
		return nil, err
	}
	var all []Replayed
	for _, f := range findings {
		if !more() {
			break
		}
		outcome, note := p.Play(ctx, f)
		if ctx.Err() != nil {
			break // the replay was interrupted, and says nothing
		}
		r := Replayed{f, outcome, note}
		all = append(all, r)
		each(r)
	}
	return l.record(context.WithoutCancel(ctx), night, version, p.modules, all)
}

// record adds replays to a night. A later replay of the same version on the same night replaces an earlier one.
func (l *Ledger) record(ctx context.Context, night, version string, modules []module, all []Replayed) (result *Night, err error) {
	err = l.write(ctx, func(tx *sql.Tx) (err error) {
		b := &book{ctx: ctx, tx: tx, version: version, modules: modules}
		if b.night, err = b.nightOf(night); err != nil {
			return err
		}
		visits := map[string]int64{}
		for _, r := range all {
			lock := r.Finding.Lock
			if visits[lock] == 0 {
				v := &visit{lock: lock, replayed: true}
				v.version, v.build = b.versions(lock)
				sum := sha256.Sum256(fmt.Appendf(nil, "replay %q %q %q", lock, v.version, v.build))
				if _, err := b.insert(v, sum[:16]); err != nil {
					return err
				}
				var id int64
				if err := tx.QueryRowContext(ctx, "SELECT id FROM visits WHERE night = ? AND digest = ?", b.night, sum[:16]).Scan(&id); err != nil {
					return err
				}
				visits[lock] = id
			}
			_, err := tx.ExecContext(ctx, "INSERT INTO sightings (finding, visit, what, kinds) VALUES (?, ?, ?, '') ON CONFLICT DO UPDATE SET what = excluded.what",
				r.Finding.id, visits[lock], r.Outcome)
			if err != nil {
				return err
			}
		}
		result, err = b.settle()
		return err
	})
	return result, err
}
