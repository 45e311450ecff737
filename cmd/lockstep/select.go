package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"lockstep/clients"
	"lockstep/nodes"
	"lockstep/scenarios"
)

// selection is what the arguments of a command name.
type selection struct {
	scenario *scenarios.Scenario
	runs     []scenarios.Section
	file     bool // it is not from the catalogue
	one      bool // the one run was named
}

// choose finds the scenarios that the arguments name: SCENARIO or SCENARIO/RUN of the catalogue, or files. No argument
// means the whole catalogue. If locks are named, only their runs are chosen.
func choose(known []clients.Lock, args, locks []string) ([]selection, error) {
	for _, l := range locks {
		if _, err := clients.FindIn(known, l); err != nil {
			return nil, err
		}
	}
	var all []selection
	if len(args) == 0 {
		catalogue, err := scenarios.Catalogue()
		if err != nil {
			return nil, err
		}
		for _, s := range catalogue {
			all = append(all, selection{scenario: s, runs: s.Runs})
		}
	}
	for _, arg := range args {
		s, err := open(arg)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	var chosen []selection
	for _, s := range all {
		if s.runs = keep(s.runs, locks); len(s.runs) > 0 {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no run of %s in what you named; see lockstep list", strings.Join(locks, " or "))
	}
	for _, s := range chosen {
		for _, r := range s.runs {
			if _, err := clients.FindIn(known, r.Lock); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", s.scenario.File, r.Line(), err)
			}
		}
	}
	return chosen, nil
}

// possible leaves out, with a line for each, the runs that cannot be done on real servers, unless it is one of those that was
// asked for.
func (f *runFlags) possible(w io.Writer, chosen []selection) ([]selection, error) {
	var kept []selection
	var first error
	for _, s := range chosen {
		var runs []scenarios.Section
		for _, r := range s.runs {
			err := scenarios.CheckRedis(s.scenario, r, f.speed)
			switch {
			case err == nil:
				runs = append(runs, r)
			case s.one || !errors.Is(err, nodes.ErrSimOnly):
				return nil, err
			default:
				first = cmp.Or(first, err)
				fmt.Fprintf(w, "left out: %v\n", err)
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

func keep(runs []scenarios.Section, locks []string) []scenarios.Section {
	if len(locks) == 0 {
		return runs
	}
	var kept []scenarios.Section
	for _, r := range runs {
		for _, l := range locks {
			if r.Lock == l {
				kept = append(kept, r)
			}
		}
	}
	return kept
}

// open finds one scenario, with all of its runs or the one named.
func open(arg string) (selection, error) {
	if file, id, one := cutFile(arg); file != "" {
		s, err := load(file)
		if err != nil {
			return selection{}, err
		}
		return selection{scenario: s, file: true}.narrow(id, one)
	}
	name, id, one := strings.Cut(arg, "/")
	s, err := scenarios.Find(name)
	if err != nil {
		return selection{}, err
	}
	return selection{scenario: s}.narrow(id, one)
}

// narrow chooses one run, or all of them.
func (s selection) narrow(id string, one bool) (selection, error) {
	if !one {
		s.runs = s.scenario.Runs
		return s, nil
	}
	r, err := s.scenario.FindRun(id)
	s.runs, s.one = []scenarios.Section{r}, true
	return s, err
}

// cutFile takes FILE or FILE/RUN apart; file is empty if arg names none.
func cutFile(arg string) (file, id string, one bool) {
	if file, id, one = strings.Cut(arg, ".txtar/"); one {
		return file + ".txtar", id, true
	}
	if isFile(arg) {
		return arg, "", false
	}
	return "", "", false
}

// isFile tells the name of a file from the name of a scenario: by its ending, or by there being one.
func isFile(arg string) bool {
	if filepath.Ext(arg) != "" || strings.ContainsRune(arg, filepath.Separator) && strings.HasPrefix(arg, ".") || filepath.IsAbs(arg) {
		return true
	}
	info, err := os.Stat(arg)
	return err == nil && info.Mode().IsRegular()
}

func load(file string) (*scenarios.Scenario, error) {
	if filepath.Ext(file) == ".jsonl" {
		return nil, fmt.Errorf("%s: that is a history; lockstep show judges it again", file)
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no such file; lockstep list names the scenarios of the catalogue", file)
	}
	if err != nil {
		return nil, err
	}
	return scenarios.Parse(file, data)
}

func names(locks []clients.Lock) []string {
	var names []string
	for _, l := range locks {
		names = append(names, l.Name)
	}
	return names
}
