package main

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"

	"lockstep/clients"
	"lockstep/clients/libraries"
	"lockstep/scenarios/script"
)

// known is what the program knows by name: the locks of the literature, which pages name, and the libraries, which are put
// in the places of those.
type known struct {
	locks     []clients.Lock
	libraries []libraries.Lock
}

// find returns a lock or a library.
func (k known) find(name string) (clients.New, error) {
	all := slices.Clone(k.locks)
	for _, l := range k.libraries {
		all = append(all, l.Lock)
	}
	return clients.FindIn(all, name)
}

// library returns the library with a name; ok is false for a lock of the literature.
func (k known) library(name string) (l libraries.Lock, ok bool) {
	i := slices.IndexFunc(k.libraries, func(l libraries.Lock) bool { return l.Name == name })
	if i < 0 {
		return libraries.Lock{}, false
	}
	return k.libraries[i], true
}

// names lists all.
func (k known) names() []string {
	var all []string
	for _, l := range k.locks {
		all = append(all, l.Name)
	}
	for _, l := range k.libraries {
		all = append(all, l.Name)
	}
	return all
}

// base lists the libraries in the configuration that each comes in: the first of each module.
func (k known) base() []libraries.Lock {
	var first []libraries.Lock
	for _, l := range k.libraries {
		if !slices.ContainsFunc(first, func(f libraries.Lock) bool { return f.Module == l.Module }) {
			first = append(first, l)
		}
	}
	return first
}

// runsOf returns the runs in which a lock takes part: those of its own, and for a library those of the locks that it is like,
// with the library in their place. Where two of these differ in nothing but the lock that the page names, one is enough: the
// lock's own, or else that of the lock which the library is most like.
func (k known) runsOf(lock string, s *script.Scenario, among []script.Section) []script.Section {
	places := []string{lock}
	if l, ok := k.library(lock); ok {
		places = append(places, l.Like...)
	}
	var kept []script.Section
	for _, place := range places {
		for _, r := range among {
			again := func(q script.Section) bool { return s.Resolve(q).SameButForLock(s.Resolve(r)) }
			if r.Lock == place && (place == lock || !slices.ContainsFunc(kept, again)) {
				kept = append(kept, r.With(lock))
			}
		}
	}
	slices.SortStableFunc(kept, func(a, b script.Section) int { return cmp.Compare(a.Line(), b.Line()) })
	return kept
}

// put puts a lock in the place of the one that a run names, if that can be. A lock that takes one node would leave the others
// of a run without a key, so that no lease of its were ever granted by a majority.
func (k known) put(lock string, s *script.Scenario, r script.Section) (script.Section, error) {
	if lock == r.Lock || r.Nodes == 1 {
		return r.With(lock), nil
	}
	places := []string{lock}
	if l, ok := k.library(lock); ok {
		places = append(places, l.Like...)
	}
	all, err := script.Catalogue()
	if err != nil {
		return r, err
	}
	var has bool
	for _, page := range all {
		for _, of := range page.Runs {
			if slices.Contains(places, of.Lock) {
				if of.Nodes > 1 {
					return r.With(lock), nil
				}
				has = true
			}
		}
	}
	if !has { // the catalogue does not know; the run will tell
		return r.With(lock), nil
	}
	return r, fmt.Errorf("%s/%s has %d nodes, and %s is a lock on one: lockstep list --json says how many each run has", s.Name, r.ID(), r.Nodes, lock)
}

// built returns the versions of the modules that this program was built from.
func built() map[string]string {
	versions := map[string]string{}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return versions
	}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			versions[dep.Path] = dep.Replace.Version
			continue
		}
		versions[dep.Path] = dep.Version
	}
	return versions
}
