// Package libraries has the locks that people use: unmodified libraries, each behind an adapter of some twenty lines that
// translates the steps of a scenario into its calls, in its default configuration and in those that its documentation offers. An
// adapter adds nothing to a library and takes nothing from it. The only exception is the random delay of rueidis, which comes
// from the seed of the run.
package libraries

import (
	"runtime/debug"
	"slices"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/sim/history"
)

// A Lock is a library in one of its configurations.
type Lock struct {
	clients.Lock        // its Like is required
	Module       string // the path of the Go module
	// Restless libraries are nondeterministic in native runs: they draw from randomness that cannot be seeded, or leave the order
	// of simultaneous actions to the Go scheduler. These runs cannot be repeated to the byte; runs with guests can.
	Restless bool
}

// Locks lists the libraries.
func Locks() []Lock {
	return slices.Concat(
		redsyncs(),
		redislocks(),
		rueidislocks(),
	)
}

// Version is the version of the library with which this program was built, such as v4.18.1; empty if the program does not know.
func Version(l Lock) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path != l.Module {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		return m.Version
	}
	return ""
}

// nodes returns the go-redis clients to the nodes: those of the Env, which do not retry, or, if change is not nil, others.
func nodes(env clients.Env, change func(*redis.Options)) []*redis.Client {
	if change == nil {
		return env.Nodes
	}
	var all []*redis.Client
	for _, addr := range env.Addrs {
		all = append(all, env.Client(addr, change))
	}
	return all
}

// Find returns one of [Locks] by its name. If there is none, the error names the nearest.
func Find(name string) (Lock, error) {
	var names []string
	for _, l := range Locks() {
		if l.Name == name {
			return l, nil
		}
		names = append(names, l.Name)
	}
	return Lock{}, history.Unknown("library", name, names)
}
