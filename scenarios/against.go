package scenarios

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"lockstep/checker"
	"lockstep/reports"
	"lockstep/scenarios/files"
	"lockstep/scenarios/play"
	"lockstep/sim/history"
)

// largestVerdicts is the most bytes that a file of verdicts may have. One of the whole catalogue has about 100 kB.
const largestVerdicts = 16 << 20

// An earlier is a run of a file of verdicts. These fields are a part of what lockstep run --json prints.
type earlier struct {
	Scenario   string                              `json:"scenario"`
	Run        string                              `json:"run"`
	Verdict    checker.Verdict                     `json:"verdict"`
	Properties map[checker.Property]checker.Status `json:"properties"`
	Violations []earlierViolation                  `json:"violations"`
	// Inapplicable says why the run does not apply to the lock; empty if it does. It is for those who read the file, and is not compared.
	Inapplicable string `json:"does_not_apply,omitempty"`

	line int // in the file
}

type earlierViolation struct {
	Property   checker.Property   `json:"property"`
	Assumption checker.Assumption `json:"assumption"`
}

func newEarlier(o *play.Outcome) earlier {
	e := earlier{Scenario: o.Scenario.Name, Run: o.Run.ID(), Verdict: o.Result.Verdict, Properties: map[checker.Property]checker.Status{}, Violations: []earlierViolation{}, Inapplicable: o.Inapplicable()}
	for _, s := range o.Result.Statuses {
		e.Properties[s.Property] = s.Status
	}
	for _, v := range o.Result.Violations { // each once, whenever and however often it came
		e.Violations = add(e.Violations, []earlierViolation{{v.Property, v.Assumption}})
	}
	slices.SortFunc(e.Violations, func(a, b earlierViolation) int {
		return cmp.Or(cmp.Compare(a.Property, b.Property), cmp.Compare(a.Assumption, b.Assumption))
	})
	return e
}

func (e earlier) result() checker.Result {
	r := checker.Result{Verdict: e.Verdict}
	for _, p := range slices.Sorted(maps.Keys(e.Properties)) {
		r.Statuses = append(r.Statuses, checker.PropertyStatus{Property: p, Status: e.Properties[p]})
	}
	for _, v := range e.Violations {
		r.Violations = append(r.Violations, checker.Violation{Property: v.Property, Assumption: v.Assumption})
	}
	return r
}

// parseEarlier reads a line of a file of verdicts.
func parseEarlier(data []byte) (e earlier, err error) {
	if err := json.Unmarshal(data, &e); err != nil {
		return e, history.Mistyped(err)
	}
	if err := history.OnlyOnce(data); err != nil {
		return e, err
	}
	if e.Scenario == "" || e.Run == "" {
		return e, errors.New(`it must have a "scenario" and a "run"`)
	}
	if err := e.result().Valid(); err != nil {
		return e, errors.New(reports.Visible(err.Error()))
	}
	return e, nil
}

// readEarlier reads a file of verdicts, by the names of the runs.
func readEarlier(ctx context.Context, file string) (map[string]earlier, error) {
	data, err := files.Read(ctx, file, largestVerdicts)
	if err != nil {
		return nil, err
	}
	all := map[string]earlier{}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		e, err := parseEarlier(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: this must be a line as scenarios.Rewrite(true) writes it: %w", file, n, err)
		}
		name := e.Scenario + "/" + e.Run
		if first, twice := all[name]; twice {
			return nil, fmt.Errorf("%s:%d: %s is also on line %d; each run must occur once", file, n, reports.Visible(name), first.line)
		}
		e.line = n
		all[name] = e
	}
	return all, nil
}

// before reads the file that Against names; nil if there is none.
func (o *options) before(ctx context.Context) (map[string]earlier, error) {
	if o.against == "" {
		return nil, nil
	}
	all, err := readEarlier(ctx, o.against)
	switch {
	case errors.Is(err, fs.ErrNotExist) && o.rewrite:
		if err := files.MakeDir(filepath.Dir(o.against)); err != nil {
			return nil, err
		}
		return map[string]earlier{}, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("scenarios.Against: %w; to create it, run the test with scenarios.Rewrite(true), for example behind a flag of your own", err)
	case err != nil:
		return nil, fmt.Errorf("scenarios.Against: %w", err)
	case o.rewrite:
		return all, files.CheckWritable(o.against)
	}
	return all, nil
}

// renew writes the outcomes to the file that Against names. Runs that were not selected stay as they are there, and so do those
// that did not end.
func (b *bench) renew(ctx context.Context, selected bool) (changed bool, err error) {
	all := map[string]earlier{}
	for name, e := range b.earlier {
		if selected || slices.Contains(b.names, name) {
			all[name] = e
		}
	}
	for _, o := range b.outcomes {
		if o.Report == nil {
			all[o.Name()] = newEarlier(o)
		}
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := enc.Encode(all[name]); err != nil {
			return false, err
		}
	}
	if old, err := files.Read(ctx, b.against, largestVerdicts); err == nil && bytes.Equal(old, text.Bytes()) {
		return false, nil
	}
	return true, files.Write(ctx, b.against, text.Bytes())
}
