package main

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"

	"lockstep/clients"
	"lockstep/clients/foreign"
	"lockstep/clients/libraries"
	"lockstep/scenarios/script"
	"lockstep/scenarios/shards"
)

// known has what the program knows by name: the locks of the literature, which scenarios name, and the libraries, which are run in their
// place.
type known struct {
	locks     []clients.Lock
	libraries []libraries.Lock
	// everywhere says that a lock of the literature is also run in the place of the locks that it is like.
	everywhere bool
	merged     *shards.Merged // the shards that lockstep merge puts together
}

// find returns a lock or a library.
func (k known) find(name string) (clients.New, error) {
	if clients.IsWasm(name) {
		return foreign.Find(name)
	}
	all := slices.Clone(k.locks)
	for _, l := range k.libraries {
		all = append(all, l.Lock)
	}
	return clients.FindIn(all, name)
}

// library returns the library with a name; ok is false if there is none. A lock in another language is run in the same way.
func (k known) library(name string) (l libraries.Lock, ok bool) {
	if clients.IsWasm(name) {
		return libraries.Lock{Lock: clients.Lock{Name: name, Like: []string{"single"}}}, true
	}
	i := slices.IndexFunc(k.libraries, func(l libraries.Lock) bool { return l.Name == name })
	if i < 0 {
		return libraries.Lock{}, false
	}
	return k.libraries[i], true
}

// like names the locks that a lock or a library is like, the nearest first.
func (k known) like(name string) []string {
	if l, ok := k.library(name); ok {
		return l.Like
	}
	if i := slices.IndexFunc(k.locks, func(l clients.Lock) bool { return l.Name == name }); i >= 0 {
		return k.locks[i].Like
	}
	return nil
}

// kinds lists the locks of the literature that decide which workloads suit a lock: itself, or those that a library is like.
func (k known) kinds(name string) []string {
	if l, ok := k.library(name); ok && len(l.Like) > 0 {
		return l.Like
	}
	return []string{name}
}

// names lists all locks and libraries.
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

// base lists the libraries in their default configuration, which is the first of each module.
func (k known) base() []libraries.Lock {
	var first []libraries.Lock
	for _, l := range k.libraries {
		if !slices.ContainsFunc(first, func(f libraries.Lock) bool { return f.Module == l.Module }) {
			first = append(first, l)
		}
	}
	return first
}

// runsOf returns the runs of a lock: its own, and for a library those of the locks that it is like, with the library in their place. If
// runs differ only in the lock that the scenario names, one is enough: the library's own, or else that of the lock that it is most like.
func (k known) runsOf(lock string, s *script.Scenario, among []script.Section) []script.Section {
	places := []string{lock}
	if _, ok := k.library(lock); ok || k.everywhere {
		places = append(places, k.like(lock)...)
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

// put replaces the lock that a run names, if possible. A lock that uses one node would leave the other nodes of a run without a key, and
// no majority would ever grant it a lease.
func (k known) put(lock string, s *script.Scenario, r script.Section) (script.Section, error) {
	if lock == r.Lock || r.Nodes == 1 || clients.IsWasm(lock) {
		return r.With(lock), nil
	}
	places := append([]string{lock}, k.like(lock)...)
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
	if !has { // the catalogue does not say how many nodes the lock uses; the run will show it
		return r.With(lock), nil
	}
	return r, fmt.Errorf("%s/%s has %d nodes, but %s is a lock on one: name another lock with --lock, such as %s; lockstep list --json says how many nodes each run has", s.Name, r.ID(), r.Nodes, lock, r.Lock)
}

// built returns the versions of the modules that this program was built with.
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
