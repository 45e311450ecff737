package script

import (
	"fmt"
	"slices"
	"strings"

	"lockstep/scenarios/catalogue"
	"lockstep/sim/history"
)

// Catalogue returns the scenarios that come with Lockstep, in the order of their names.
func Catalogue() ([]*Scenario, error) {
	entries, err := catalogue.Files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var all []*Scenario
	for _, e := range entries {
		s, err := read(e.Name())
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *Scenario) int { return strings.Compare(a.Name, b.Name) }) // which differs from the order of the files
	return all, nil
}

// Stories returns the scenarios of the catalogue that are not swept: each of their runs is one run.
func Stories() ([]*Scenario, error) {
	all, err := Catalogue()
	return slices.DeleteFunc(all, func(s *Scenario) bool { return len(s.Sweep) > 0 }), err
}

// Find returns a scenario of the catalogue by its name.
func Find(name string) (*Scenario, error) {
	entries, err := catalogue.Files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		base := strings.TrimSuffix(e.Name(), ".txtar")
		if base == name {
			return read(e.Name())
		}
		names = append(names, base)
	}
	slices.Sort(names) // which differs from the order of the files
	return nil, &NotFound{name, history.Nearest(name, names), len(names)}
}

// NotFound is the error of [Find].
type NotFound struct {
	Name string
	Near string // the scenario with the most similar name, or empty if none is similar
	All  int    // how many scenarios there are, which are too many to list
}

// Short says the same without naming a command.
func (e *NotFound) Short() string {
	if e.Near != "" {
		return fmt.Sprintf("unknown scenario %q (did you mean %q?)", e.Name, e.Near)
	}
	return fmt.Sprintf("unknown scenario %q", e.Name)
}

func (e *NotFound) Error() string {
	return fmt.Sprintf("%s; lockstep list has all %d", e.Short(), e.All)
}

func read(file string) (*Scenario, error) {
	data, err := catalogue.Files.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, data)
}
