package clients

import (
	"lockstep/sim/history"
)

// A Lock is a lock with its name and description.
type Lock struct {
	Name  string
	About string // one line
	New   New
}

// Locks lists the locks of the literature, simplest first.
func Locks() []Lock {
	return []Lock{
		{"nolock", "no lock at all: GET, add one, SET", NewNoLock},
		{"watch", "no lock but WATCH, GET, MULTI, SET, EXEC; a failed EXEC is skipped", NewWatch},
		{"watch-retry", "watch, repeated until EXEC succeeds", NewWatchRetry},
		{"watch-in-multi", "watch with GET queued inside MULTI, where it returns nothing", NewWatchInMulti},
		{"setnx", "SET NX without a TTL", NewSetNX},
		{"setnx-expire", "SETNX, then EXPIRE: two commands", NewSetNXExpire},
		{"setnx-repair", "SETNX, then EXPIRE; a waiter adds an expiry that is missing", NewSetNXRepair},
		{"getset", "the value is the end by the client's clock; taken over by GETSET", NewGetSet},
		{"fixed", "SET NX PX with a fixed value, released by DEL", NewFixed},
		{"getdel", "single, released by GET, comparison in the client, and DEL", NewGetDel},
		{"multidel", "single, released by GET, comparison in the client, and MULTI, DEL, EXEC", NewMultiDel},
		{"single", "SET NX PX with a random token, released by compare-and-delete, on one node", NewSingle},
		{"single-usec", "single, with a token from a clock in microseconds", NewSingleUsec},
		{"single-retries", "single, over a client library that repeats failed commands", NewSingleRetries},
		{"single-delex", "single, released by DELEX IFEQ", NewSingleDelex},
		{"single-extend", "single whose leases can be extended", NewSingleExtend},
		{"single-wait", "single, which waits until a replica has acknowledged it", NewSingleWait},
		{"watchdog", "single, renewed every third of a TTL while its holder lives", NewWatchdog},
		{"fenced", "single, with a fencing token from a counter", NewFenced},
		{"redlock", "a majority of nodes, asked in parallel; validity less drift", NewRedlock},
		{"redlock-sequential", "Redlock with the nodes asked in turn, as first published", NewRedlockSequential},
		{"redlock-wall", "redlock that measures on the wall clock how long acquiring took", NewRedlockWall},
		{"redlock-extend", "redlock whose leases can be extended on a majority", NewRedlockExtend},
	}
}

// Find returns one of [Locks] by its name. If there is none, the error names the nearest.
func Find(name string) (New, error) { return FindIn(Locks(), name) }

// FindIn returns a lock of a list by its name. If there is none, the error names the nearest.
func FindIn(locks []Lock, name string) (New, error) {
	var names []string
	for _, l := range locks {
		if l.Name == name {
			return l.New, nil
		}
		names = append(names, l.Name)
	}
	return nil, history.Unknown("lock", name, names)
}
