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

// A hash stands for a lease as long as its mark stays where it is.
func TestOwnersOfHash(t *testing.T) {
	const a, b, c = "0123456789abcdef", "fedcba9876543210", "a1b2c3d4e5f6a7b8"
	tokens := map[string]string{a: "a", b: "b", c: "c"}
	type step struct {
		client string
		fields []string // of the hash, with their values
		want   string
	}
	for _, test := range []struct {
		what  string
		steps []step
	}{
		{"released, with the owner in another field", []step{
			{"a", []string{"owner", a}, "a#1"},
			{"a", []string{"owner", "", "last", a}, ""},
			{"b", []string{"owner", b, "last", a}, "b#1"},
			{"b", []string{"last", a}, ""},
			{"b", []string{"last", b}, ""},
			{"c", []string{"last", b, "owner", c}, "c#1"},
		}},
		{"released, and the owner is noted then", []step{
			{"a", []string{"fence", "1", "owner", a}, "a#1"},
			{"a", []string{"fence", "1"}, ""},
			{"a", []string{"fence", "1", "last", a}, ""},
			{"b", []string{"fence", "2", "last", a}, ""},
			{"b", []string{"fence", "2", "last", a, "owner", b}, "b#1"},
			{"b", []string{"fence", "2", "last", a}, ""},
		}},
		{"a counter before the owner", []step{
			{"a", []string{"fence", "1"}, "a#1"},
			{"a", []string{"fence", "1", "owner", a}, "a#1"},
			{"a", []string{"fence", "1"}, ""},
			{"b", []string{"fence", "2"}, ""},
			{"b", []string{"fence", "2", "owner", b}, "b#1"},
		}},
		{"taken over, with the former owner in another field", []step{
			{"a", []string{"owner", a}, "a#1"},
			{"b", []string{"last", a, "owner", a}, "a#1"},
			{"b", []string{"last", a, "owner", b}, "b#1"},
		}},
		{"taken again with the same token", []step{
			{"a", []string{"owner", a}, "a#1"},
			{"a", []string{"owner", ""}, ""},
			{"a", []string{"owner", a}, "a#1"},
		}},
		{"a short mark", []step{
			{"a", []string{"owner", "x"}, "a#1"},
			{"b", []string{"owner", "x", "waits", b}, "a#1"},
		}},
		{"a waiter in a field of its own", []step{
			{"a", []string{"1", a}, "a#1"},
			{"b", []string{"1", a, "2", b}, "a#1"},
			{"c", []string{"1", a, "2", b, "3", c}, "a#1"},
			{"a", []string{"2", b, "3", c}, "b#1"},
			{"b", []string{"3", c}, "c#1"},
		}},
		{"a mark that is the name of a field, with a count", []step{
			{"a", []string{a, "1"}, "a#1"},
			{"a", []string{a, "2"}, "a#1"},
			{"b", []string{a, "2", b, "1"}, "a#1"},
			{"a", []string{b, "1"}, "b#1"},
		}},
	} {
		leases, owners, old := history.NewLeases(), Owners{}, ""
		for _, client := range tokens {
			leases.Acquire(client, 1, "k")
		}
		for n, s := range test.steps {
			for token, client := range tokens {
				if client == s.client {
					leases.Send(client, 1, token)
				}
			}
			change := Change{Op: history.Over, Key: "k", Old: old, New: Collection(append([]string{"HSET", "k"}, s.fields...)).Value, Collection: true, Command: "EVALSHA"}
			if n == 0 {
				change.Op = history.Set
			}
			old = change.New
			owners["k"] = owners.After(change, func(takes history.Taking, key string, values ...string) (lease, value string) {
				return leases.Set(s.client, 1, takes, key, values...)
			})
			if got := owners["k"].Lease; got != s.want {
				t.Errorf("%s, step %d: %q, want %q", test.what, n+1, got, s.want)
			}
		}
	}
}
