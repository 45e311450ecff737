package clients

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"lockstep/sim/history"
)

// A Lock is a lock with its name and description.
type Lock struct {
	Name  string
	About string // one line: what it does, or how it differs from the lock that it is like
	// Like names the locks from the literature with which it can be compared, if any, the most similar first. It can take their
	// place in their runs: it does the same for its holder, on as many nodes.
	Like []string
	New  New
}

// Locks lists the locks of the literature, simplest first.
func Locks() []Lock {
	single, redlock := []string{"single"}, []string{"redlock"}
	return []Lock{
		{"nolock", "no lock at all: GET, add one, SET", nil, NewNoLock},
		{"watch", "no lock but WATCH, GET, MULTI, SET, EXEC; a failed EXEC is skipped", nil, NewWatch},
		{"watch-retry", "watch, repeated until EXEC succeeds", nil, NewWatchRetry},
		{"watch-in-multi", "watch with GET queued inside MULTI, where it returns nothing", nil, NewWatchInMulti},
		{"setnx", "SET NX without a TTL", single, NewSetNX},
		{"setnx-expire", "SETNX, then EXPIRE: two commands", single, NewSetNXExpire},
		{"setnx-repair", "SETNX, then EXPIRE; a waiter adds an expiry that is missing", single, NewSetNXRepair},
		{"getset", "the value is the end by the client's clock; taken over by GETSET", single, NewGetSet},
		{"fixed", "SET NX PX with a fixed value, released by DEL", single, NewFixed},
		{"getdel", "single, released by GET, comparison in the client, and DEL", single, NewGetDel},
		{"multidel", "single, released by GET, comparison in the client, and MULTI, DEL, EXEC", single, NewMultiDel},
		{"single", "SET NX PX with a random token, released by compare-and-delete, on one node", nil, NewSingle},
		{"single-usec", "single, with a token from a clock in microseconds", single, NewSingleUsec},
		{"single-retries", "single, over a client library that repeats failed commands", single, NewSingleRetries},
		{"single-delex", "single, released by DELEX IFEQ", single, NewSingleDelex},
		{"single-extend", "single whose leases can be extended", single, NewSingleExtend},
		{"single-wait", "single, which waits until a replica has acknowledged it", nil, NewSingleWait},
		{"watchdog", "single, renewed every third of a TTL while its holder lives", single, NewWatchdog},
		{"fenced", "single, with a fencing token from a counter", single, NewFenced},
		{"redlock", "a majority of nodes, asked in parallel; allows for clock drift", nil, NewRedlock},
		{"redlock-sequential", "Redlock with the nodes asked in turn, as first published", redlock, NewRedlockSequential},
		{"redlock-wall", "redlock that measures on the wall clock how long acquiring took", redlock, NewRedlockWall},
		{"redlock-extend", "redlock whose leases can be extended on a majority", redlock, NewRedlockExtend},
	}
}

// Find returns one of [Locks] by its name. If there is none, the error names the nearest.
func Find(name string) (New, error) { return FindIn(Locks(), name) }

// UsualNodes returns the number of nodes on which a lock usually runs: five if it is Redlock or like it, otherwise one.
func UsualNodes(name string) int {
	for _, l := range Locks() {
		if l.Name == name && (name == "redlock" || slices.Contains(l.Like, "redlock")) {
			return 5
		}
	}
	return 1
}

// WasmPrefix begins the name of a lock whose code is a WebAssembly program, in any language: the path of its file follows.
// Package foreign runs it.
const WasmPrefix = "wasm:"

// IsWasm reports whether a name is that of such a lock.
func IsWasm(name string) bool { return strings.HasPrefix(name, WasmPrefix) }

// longestPath is the most bytes that the path of such a file may have. It becomes part of the names of files.
const longestPath = 150

// CheckWasm returns an error if the name of such a lock could not be written in a scenario file.
func CheckWasm(name string) error {
	path := strings.TrimPrefix(name, WasmPrefix)
	switch {
	case path == "":
		return fmt.Errorf("%s must be followed by the path of a file, as in %s./lock.wasm", WasmPrefix, WasmPrefix)
	case len(path) > longestPath:
		return fmt.Errorf("%s...: the path of the file may have at most %d bytes, not %d", WasmPrefix, longestPath, len(path))
	case strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == utf8.RuneError }):
		return fmt.Errorf("%q: the path of the file must not contain spaces or control characters", name)
	}
	return nil
}

// FileWord returns the name of a lock as part of the name of a file.
func FileWord(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`:/\`, r) {
			return '-'
		}
		return r
	}, strings.Replace(name, WasmPrefix+"./", WasmPrefix, 1))
}

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
