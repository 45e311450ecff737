package engine

import (
	"testing"
	"time"

	"lockstep/sim/history"
)

// A script that makes a key with an expiry may take a lock with it.
func TestTaking(t *testing.T) {
	soon := time.Unix(1, 0)
	for _, c := range []struct {
		what string
		c    Change
		want history.Taking
	}{
		{"SET NX", Change{Op: history.Set, New: "x", Command: "SET", NX: true}, history.TakesAlways},
		{"SET", Change{Op: history.Set, New: "x", Command: "SET", Deadline: soon}, history.TakesNothing},
		{"SET in a script", Change{Op: history.Set, New: "x", Command: "EVALSHA", Deadline: soon}, history.TakesInAcquire},
		{"SET in a transaction", Change{Op: history.Set, New: "x", Command: "EXEC", Deadline: soon}, history.TakesInAcquire},
		{"without an expiry yet", Change{Op: history.Set, New: "x", Command: "EVAL"}, history.TakesNamed},
		{"a number", Change{Op: history.Set, New: "1", Command: "EVAL", Deadline: soon}, history.TakesNumbered},
		{"a counter", Change{Op: history.Set, New: "1", Command: "EVAL"}, history.TakesNothing},
		{"a key that is there", Change{Op: history.Over, New: "x", Command: "EVAL", Deadline: soon}, history.TakesNothing},
		{"a hash", Change{Op: history.Set, New: Collection([]string{"HSET", "k", "owner", "x"}).Value, Collection: true, Command: "EVAL", Deadline: soon}, history.TakesInAcquire},
		{"a hash without an expiry yet", Change{Op: history.Set, New: Collection([]string{"HSET", "k", "owner", "x"}).Value, Collection: true, Command: "EVAL"}, history.TakesNamed},
		{"a list", Change{Op: history.Set, New: Collection([]string{"RPUSH", "k", "x"}).Value, Collection: true, Command: "EVAL", Deadline: soon}, history.TakesNamed},
		{"fewer in a list", Change{Op: history.Over, Old: Collection([]string{"RPUSH", "k", "x", "y"}).Value, New: Collection([]string{"RPUSH", "k", "y"}).Value, Collection: true, Command: "EVAL"}, history.OnlyRemoves},
		{"others in a list", Change{Op: history.Over, Old: Collection([]string{"RPUSH", "k", "x", "y"}).Value, New: Collection([]string{"RPUSH", "k", "y", "z"}).Value, Collection: true, Command: "EVAL"}, history.TakesNothing},
		{"a list in the place of a string", Change{Op: history.Over, Old: "x", New: Collection([]string{"RPUSH", "k", "x"}).Value, Collection: true, Command: "RENAME"}, history.TakesNothing},
	} {
		c.c.Key = "k"
		var got history.Taking
		Owners{}.After(c.c, func(takes history.Taking, key string, _ ...string) (lease, value string) {
			if got = takes; key != "k" {
				t.Errorf("%s: key %q", c.what, key)
			}
			return "", ""
		})
		if got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
}
