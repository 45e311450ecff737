package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"lockstep/checker"
	"lockstep/reports"
	"lockstep/scenarios/files"
	"lockstep/scenarios/play"
	"lockstep/sim/history"
)

// A baseline is the output of an earlier run --json. Later runs are compared with it.
type baseline struct {
	file  string
	lines []*earlier
	found map[*earlier]bool
}

// An earlier is a verdict of a baseline, with its line number.
type earlier struct {
	line
	at int
}

// longestLine is the most bytes that a line of JSON may have. Lines of runs have about a thousand.
const longestLine = 16 << 20

// readBaseline reads what run --json has printed.
func readBaseline(ctx context.Context, file string) (*baseline, error) {
	data, err := files.Read(ctx, file, largestFile)
	if err != nil {
		return nil, err
	}
	b := &baseline{file: file, found: map[*earlier]bool{}}
	seen := map[string]int{}
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, longestLine)
	n := 1
	for ; sc.Scan(); n++ {
		if len(bytes.TrimSpace(sc.Bytes())) == 0 {
			continue
		}
		e := &earlier{at: n}
		if err := e.parse(sc.Bytes()); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, n, err)
		}
		if first := seen[e.key()]; first > 0 {
			return nil, fmt.Errorf("%s:%d: %s is also on line %d; each run must occur once", file, n, oneLine(e.key()), first)
		}
		seen[e.key()] = n
		b.lines = append(b.lines, e)
	}
	if err := sc.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("%s:%d: a line may have at most %d MB; lockstep run --json writes none that is longer", file, n, longestLine>>20)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(b.lines) == 0 {
		return nil, fmt.Errorf("%s: there is no run in it; lockstep run --json prints one per line", file)
	}
	return b, nil
}

// parse reads a line, and says what is wrong with it.
func (e *earlier) parse(data []byte) error {
	var probe struct {
		Verdict  *string `json:"verdict"`
		Resource *string `json:"resource"`
		Kind     *string `json:"kind"`
	}
	if err := json.Unmarshal(data, &probe); err != nil {
		return fmt.Errorf("not a line of lockstep run --json: %w", history.Mistyped(err))
	}
	if probe.Verdict == nil && (probe.Resource != nil || probe.Kind != nil) {
		return errors.New("that is a history; lockstep check FILE judges it, and --against takes what run --json prints")
	}
	if err := json.Unmarshal(data, &e.line); err != nil {
		return fmt.Errorf("not a line of lockstep run --json: %w", history.Mistyped(err))
	}
	if err := history.OnlyOnce(data); err != nil {
		return err
	}
	if e.Scenario == "" || e.Run == "" || e.Lock == "" {
		return errors.New(`not a line of lockstep run --json: it has no "scenario", "run" and "lock"`)
	}
	if err := e.result().Valid(); err != nil {
		return errors.New(oneLine(err.Error()))
	}
	return nil
}

// result is the result that a line tells, as far as it can be compared.
func (l line) result() checker.Result {
	r := checker.Result{Verdict: l.Verdict, Unmet: l.Unmet}
	for _, p := range slices.Sorted(maps.Keys(l.Properties)) {
		r.Statuses = append(r.Statuses, checker.PropertyStatus{Property: p, Status: l.Properties[p]})
	}
	for _, v := range l.Violations {
		r.Violations = append(r.Violations, checker.Violation{Property: v.Property, Assumption: v.Assumption})
	}
	return r
}

// key names a run in a way that is the same on any day.
func (l line) key() string {
	s := l.Scenario + "/" + l.Run
	if l.Lock != l.reference() {
		s += " with " + l.Lock
	}
	if l.Seed != 1 {
		s += fmt.Sprintf(", seed %d", l.Seed)
	}
	if l.On != play.OnSim && l.On != "" {
		s += ", on redis"
	}
	return s
}

// ofCatalogue reports whether the scenario of a run is in the catalogue, and not in a file of the user's.
func (l line) ofCatalogue() bool { return l.File == "" || strings.HasPrefix(l.File, catalogue) }

// reference is the lock that the scenario names.
func (l line) reference() string {
	if l.Reference != "" {
		return l.Reference
	}
	return l.Lock
}

// find returns the earlier verdict of a run, or nil.
func (b *baseline) find(now line) *earlier {
	for _, e := range b.lines {
		if e.key() == now.key() {
			b.found[e] = true
			return e
		}
	}
	return nil
}

// shownKeys is how many of the runs are named that only one side has.
const shownKeys = 10

// tell says what has changed since the earlier run, and which runs have no counterpart. It returns missing runs that were asked for as
// findings: a run that is gone no longer proves what it did. All outcomes must have been made into findings before.
func (b *baseline) tell(w io.Writer, findings []finding, asked func(*earlier) bool) ([]finding, error) {
	findings = slices.DeleteFunc(slices.Clone(findings), func(g finding) bool { return g.o == nil })
	changed, fresh := 0, []string(nil)
	for _, g := range findings {
		now := newLine(g.o)
		was := b.find(now)
		if was == nil {
			fresh = append(fresh, oneLine(now.key()))
			continue
		}
		all := g.o.Result.Changes(was.result())
		if len(all) == 0 {
			continue
		}
		changed++
		fmt.Fprintf(w, "\n%s has changed since %s:%d\n", oneLine(g.run), reports.Visible(b.file), was.at)
		for _, s := range all {
			printWrapped(w, oneLine(s))
		}
		for _, v := range g.o.Result.Violations[:min(1, len(g.o.Result.Violations))] {
			printWrapped(w, fmt.Sprintf("%s (broken: %s)", oneLine(v.What), v.Assumption))
		}
		fmt.Fprintf(w, "  see it again: %s\n", g.again)
	}
	var missing []finding
	var gone, others []string
	for _, e := range b.lines {
		switch key := oneLine(e.key()); {
		case b.found[e]:
		case asked == nil || asked(e):
			gone = append(gone, key)
			missing = append(missing, finding{
				run: key, suite: reports.Visible(e.Scenario), file: filepath.ToSlash(b.file), line: e.at, status: exitUnexpected, none: "missing",
				reasons: []string{fmt.Sprintf("it was %s in %s:%d, and is missing", e.Verdict, b.file, e.at)},
			})
		default:
			others = append(others, key)
		}
	}
	if len(findings) > 0 && len(fresh) == len(findings) {
		return nil, fmt.Errorf("%s has none of these runs; it has %s", b.file, few(append(gone, others...)))
	}
	fmt.Fprintf(w, "\nagainst %s: %d changed, %d the same", reports.Visible(b.file), changed, len(findings)-len(fresh)-changed)
	if len(gone) > 0 {
		fmt.Fprintf(w, ", %d missing", len(gone))
	}
	fmt.Fprintln(w)
	if len(gone) > 0 {
		printWrapped(w, "missing: "+few(gone))
	}
	if len(fresh) > 0 {
		printWrapped(w, "new, and compared with what their scenarios expect: "+few(fresh))
	}
	if len(others) > 0 {
		printWrapped(w, "not asked for: "+few(others))
	}
	return missing, nil
}

// foundOtherwise reports whether a run was found with another seed or on other servers. Then it was not asked for as it was.
func (b *baseline) foundOtherwise(e *earlier) bool {
	return slices.ContainsFunc(b.lines, func(o *earlier) bool {
		return b.found[o] && o.Scenario == e.Scenario && o.Run == e.Run && o.Lock == e.Lock
	})
}

// few names the first runs, and says how many more there are.
func few(names []string) string {
	if len(names) <= shownKeys {
		return strings.Join(names, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(names[:shownKeys], "; "), len(names)-shownKeys)
}
