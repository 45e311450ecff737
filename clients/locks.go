package clients

import "lockstep/sim"

// A Lock is a lock that can be put to the test by its name.
type Lock struct {
	Name  string
	About string // one line
	New   New
}

// Locks lists the locks of the literature, simplest first.
func Locks() []Lock {
	return []Lock{
		{"single", "SET NX PX with a random token, released by compare-and-delete, on one node", NewSingle},
		{"fenced", "single, with a fencing token from a counter", NewFenced},
		{"redlock", "a majority of nodes, asked in parallel; validity less drift", NewRedlock},
		{"redlock-sequential", "Redlock with the nodes asked in turn, as first published", NewRedlockSequential},
	}
}

// Find returns one of [Locks] by its name. The error names the nearest.
func Find(name string) (New, error) { return FindIn(Locks(), name) }

// FindIn returns a lock of a list by its name. The error names the nearest.
func FindIn(locks []Lock, name string) (New, error) {
	var names []string
	for _, l := range locks {
		if l.Name == name {
			return l.New, nil
		}
		names = append(names, l.Name)
	}
	return nil, sim.Unknown("lock", name, names)
}
