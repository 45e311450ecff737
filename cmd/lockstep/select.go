package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lockstep/clients"
	"lockstep/clients/foreign"
	"lockstep/reports"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// selection is what an argument of a command names.
type selection struct {
	scenario *script.Scenario
	runs     []script.Section
	file     bool // it is not from the catalogue
	one      bool // the argument names a single run
}

// choose finds the scenarios that the arguments name: SCENARIO or SCENARIO/RUN of the catalogue, or files. Without arguments it is the
// whole catalogue. If locks are named, only their runs are chosen. If an argument names one run, the locks replace the one in it.
func choose(ctx context.Context, k known, args, locks []string) ([]selection, error) {
	locks = once(locks)
	for _, l := range locks {
		if err := k.check(l); err != nil {
			return nil, err
		}
	}
	var all []selection
	if len(args) == 0 {
		catalogue, err := script.Catalogue()
		if err != nil {
			return nil, err
		}
		for _, s := range catalogue {
			all = append(all, selection{scenario: s, runs: s.Runs})
		}
	}
	for _, arg := range args {
		s, err := k.open(ctx, arg)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	var chosen []selection
	for _, s := range all {
		if err := s.keep(k, locks); err != nil {
			return nil, err
		}
		if len(s.runs) > 0 {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 {
		return nil, k.noRun(all, locks)
	}
	for _, s := range chosen {
		for _, r := range s.runs {
			if err := k.check(r.Lock); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", s.scenario.File, r.Line(), err)
			}
		}
	}
	return chosen, nil
}

// check returns an error if there is no lock or library with a name. It suggests one, because there are too many to list.
func (k known) check(lock string) error {
	if clients.IsWasm(lock) {
		_, err := foreign.Find(lock)
		return err
	}
	names := k.names()
	if slices.Contains(names, lock) {
		return nil
	}
	if near := k.nearest(lock); near != "" {
		return fmt.Errorf("unknown lock %q (did you mean %q?); lockstep list has all %d", lock, near, len(names))
	}
	return fmt.Errorf("unknown lock %q; lockstep list has all %d", lock, len(names))
}

// nearest is the lock or library with a name, or the one with the most similar name, or empty if none is similar.
func (k known) nearest(name string) string {
	names := k.names()
	if slices.Contains(names, name) {
		return name
	}
	return history.Nearest(name, names)
}

// keep narrows the runs to those of the locks, in the order of the scenario file.
func (s *selection) keep(k known, locks []string) error {
	if len(locks) == 0 {
		return nil
	}
	var kept []script.Section
	for _, l := range locks {
		if !s.one {
			kept = append(kept, k.runsOf(l, s.scenario, s.runs)...)
			continue
		}
		r, err := k.put(l, s.scenario, s.runs[0])
		if err != nil {
			return err
		}
		kept = append(kept, r)
	}
	slices.SortStableFunc(kept, func(a, b script.Section) int { return cmp.Compare(a.Line(), b.Line()) })
	s.runs = kept
	return nil
}

// noRun says what to name instead: a single run, in which any lock can be used.
func (k known) noRun(all []selection, locks []string) error {
	first, lock := all[0].scenario, locks[0]
	name, hint := first.Name, ""
	if all[0].file {
		name = first.File
	}
	named := name
	if len(all) > 1 {
		named = "what you named"
	}
	if l, ok := k.library(lock); ok {
		hint = fmt.Sprintf(" (%s replaces %s)", lock, strings.Join(l.Like, " and "))
	}
	return fmt.Errorf("%s has no run of %s%s; to play %s in place of another lock, name that lock's run: %s --lock %s",
		named, strings.Join(locks, " or "), hint, lock, operand(name+"/"+first.Runs[0].ID()), quoted(lock))
}

// once leaves out repeated names.
func once(names []string) []string {
	var first []string
	for _, n := range names {
		if !slices.Contains(first, n) {
			first = append(first, n)
		}
	}
	return first
}

// possible leaves out the runs that cannot be made on real servers, and prints a line for each. It is an error if such a run was named.
func (f *runFlags) possible(w io.Writer, chosen []selection) ([]selection, error) {
	var kept []selection
	var first error
	for _, s := range chosen {
		var runs []script.Section
		for _, r := range s.runs {
			err := f.refuse(s.scenario, r)
			switch {
			case err == nil:
				runs = append(runs, r)
			case s.one || !play.LeftOut(err):
				return nil, err
			default:
				first = cmp.Or(first, err)
				fmt.Fprintf(w, "left out: %s\n", reports.Visible(err.Error()))
			}
		}
		if s.runs = runs; len(runs) > 0 {
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		return nil, first
	}
	return kept, nil
}

// open finds one scenario, with all of its runs or the one named.
func (k known) open(ctx context.Context, arg string) (selection, error) {
	if strings.Contains(arg, "://") { // not quoted: it may contain a password
		return selection{}, errors.New("a server is not a scenario; did you mean --on redis://HOST:PORT?")
	}
	if file, id, one := cutFile(arg); file != "" {
		s, err := load(ctx, file)
		if err != nil {
			return selection{}, err
		}
		return selection{scenario: s, file: true}.narrow(id, one)
	}
	name, id, one := strings.Cut(arg, "/")
	s, err := script.Find(name)
	if info, none := os.Stat(arg); err != nil && none == nil && info.IsDir() {
		return selection{}, fmt.Errorf("%s: that is a directory; name a .txtar file in it", arg)
	}
	if near := k.nearest(name); err != nil && near != "" {
		return selection{}, fmt.Errorf("%w; did you mean --lock %s?", err, near)
	}
	if err != nil {
		return selection{}, err
	}
	return selection{scenario: s}.narrow(id, one)
}

// narrow chooses one run of a scenario, or all of them.
func (s selection) narrow(id string, one bool) (selection, error) {
	if !one {
		s.runs = s.scenario.Runs
		return s, nil
	}
	r, err := s.scenario.FindRun(id)
	s.runs, s.one = []script.Section{r}, true
	return s, err
}

// cutFile splits FILE or FILE/RUN; file is empty if arg names none.
func cutFile(arg string) (file, id string, one bool) {
	if file, id, one = strings.Cut(arg, ".txtar/"); one {
		return file + ".txtar", id, true
	}
	if isFile(arg) {
		return arg, "", false
	}
	return "", "", false
}

// isFile distinguishes the name of a file from that of a scenario: by its ending, or because the file exists.
func isFile(arg string) bool {
	if filepath.Ext(arg) != "" || strings.ContainsRune(arg, filepath.Separator) && strings.HasPrefix(arg, ".") || filepath.IsAbs(arg) {
		return true
	}
	info, err := os.Stat(arg)
	return err == nil && info.Mode().IsRegular()
}

func load(ctx context.Context, file string) (*script.Scenario, error) {
	if filepath.Ext(file) == ".jsonl" {
		return nil, fmt.Errorf("%s: that is a history; lockstep show judges it again", file)
	}
	s, err := script.Load(ctx, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no such file; lockstep list names the scenarios of the catalogue", file)
	}
	return s, err
}
