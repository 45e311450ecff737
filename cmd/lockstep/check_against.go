package main

import (
	"bufio"
	"bytes"
	"cmp"
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
	switch {
	case e.Scenario == "" || e.Run == "" || e.Lock == "":
		return errors.New(`not a line of lockstep run --json: it has no "scenario", "run" and "lock"`)
	case !slices.Contains([]checker.Verdict{checker.Safe, checker.Unsafe, checker.Inconclusive}, e.Verdict):
		return fmt.Errorf("unknown verdict %q; there are %s, %s and %s", e.Verdict, checker.Safe, checker.Unsafe, checker.Inconclusive)
	case len(e.Properties) == 0:
		return errors.New(`not a line of lockstep run --json: it has no "properties"`)
	}
	for _, p := range slices.Sorted(maps.Keys(e.Properties)) {
		if s := e.Properties[p]; !slices.Contains([]checker.Status{checker.OK, checker.Violated, checker.Unknown}, s) {
			return fmt.Errorf("%s: unknown status %q; there are %s, %s and %s", p, s, checker.OK, checker.Violated, checker.Unknown)
		}
	}
	if why := e.contradiction(); why != "" {
		return fmt.Errorf("%s contradicts itself: %s; lockstep run --json writes no such line", oneLine(e.key()), why)
	}
	return nil
}

// contradiction says how a line contradicts itself, or returns "". A verdict that somebody has edited must not be taken for a result.
func (l line) contradiction() string {
	all := slices.Sorted(maps.Keys(l.Properties))
	violated := slices.DeleteFunc(slices.Clone(all), func(p checker.Property) bool { return l.Properties[p] != checker.Violated })
	for _, v := range l.Violations {
		if !slices.Contains(violated, v.Property) {
			return fmt.Sprintf("it lists a violation of %s, but does not say that this is violated", oneLine(string(v.Property)))
		}
	}
	switch l.Verdict {
	case checker.Safe:
		for _, p := range all {
			if s := l.Properties[p]; s != checker.OK {
				return fmt.Sprintf("its verdict is %s, and %s is %s", l.Verdict, oneLine(string(p)), s)
			}
		}
	case checker.Unsafe:
		if len(violated) == 0 {
			return fmt.Sprintf("its verdict is %s, and no property is violated", l.Verdict)
		}
	default:
		return ""
	}
	if len(l.Unmet) > 0 {
		return fmt.Sprintf("its verdict is %s, but it says why nothing is proved", l.Verdict)
	}
	return ""
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

// changes lists the differences from the earlier verdict, the earlier statuses of properties and the assumptions broken then. How often,
// when and by whom a property was violated does not matter. A property that only one of the two has is a change: it may be new, or
// somebody may have removed it.
func (e *earlier) changes(now line) []string {
	var all []string
	if e.Verdict != now.Verdict {
		all = append(all, fmt.Sprintf("it was %s, and is %s", e.Verdict, now.Verdict))
	}
	for _, p := range checker.Properties() {
		was, is := e.Properties[p], now.Properties[p]
		switch a, b := e.broken(p), now.broken(p); {
		case was == "":
			all = append(all, fmt.Sprintf("%s is %s, and was not judged then", p, is))
		case was != is:
			all = append(all, fmt.Sprintf("%s was %s, and is %s", p, was, is))
		case a != b:
			all = append(all, fmt.Sprintf("%s was violated with %s broken, and is with %s", p, cmp.Or(a, "nothing said to be"), b))
		}
	}
	for _, p := range slices.Sorted(maps.Keys(e.Properties)) {
		if !slices.Contains(checker.Properties(), p) {
			all = append(all, fmt.Sprintf("%s was %s, and is not judged any more", oneLine(string(p)), e.Properties[p]))
		}
	}
	return all
}

// broken lists the assumptions that were broken when a property was violated.
func (l line) broken(p checker.Property) string {
	var all []string
	for _, a := range checker.Assumptions() {
		if slices.ContainsFunc(l.Violations, func(v violation) bool { return v.Property == p && v.Assumption == a }) {
			all = append(all, string(a))
		}
	}
	return strings.Join(all, " and ")
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
		all := was.changes(now)
		if len(all) == 0 {
			continue
		}
		changed++
		fmt.Fprintf(w, "\n%s has changed since %s:%d\n", oneLine(g.run), reports.Visible(b.file), was.at)
		for _, s := range all {
			printWrapped(w, s)
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
