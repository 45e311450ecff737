package history

import "testing"

func TestLeases(t *testing.T) {
	const x, y, z = "0123456789abcdef", "fedcba9876543210", "a token of another"
	set := func(l *Leases, client string, id int, takes Taking, values ...string) string {
		lease, _ := l.Set(client, id, takes, "job", values...)
		return lease
	}
	number := func(l *Leases, lock, key string, id int) string {
		l.Acquire("c1", 1, lock)
		lease, _ := l.Set("c1", id, TakesNumbered, key, "7")
		return lease
	}
	short := func(l *Leases, key string, id int) string {
		l.Acquire("c1", 1, "job")
		lease, _ := l.Set("c1", id, TakesNamed, key, "x")
		return lease
	}
	for _, c := range []struct {
		name string
		do   func(l *Leases) string
		want string
	}{
		{"a fresh token", func(l *Leases) string { return l.Send("c1", 1, x) }, "c1#1"},
		{"the same to another node", func(l *Leases) string { l.Send("c1", 1, x); return l.Send("c1", 1, x) }, "c1#1"},
		{"a second attempt", func(l *Leases) string { l.Send("c1", 1, x); return l.Send("c1", 1, y) }, "c1#2"},
		{"which is the one asked for", func(l *Leases) string { l.Send("c1", 1, x); l.Send("c1", 1, y); return l.Asked("c1", 1) }, "c1#2"},
		{"of two clients", func(l *Leases) string { l.Send("c1", 1, x); return l.Send("c2", 1, y) }, "c2#1"},
		{"sent back", func(l *Leases) string { l.Send("c1", 1, x); return l.Known(x) }, "c1#1"},
		{"never sent", func(l *Leases) string { return l.Known(x) }, ""},
		{"a short token without an expiry", func(l *Leases) string { return short(l, "job", 1) }, "c1#1"},
		{"outside of an acquire", func(l *Leases) string { return short(l, "job", 0) }, ""},
		{"in a key with a prefix, which may be a queue", func(l *Leases) string { return short(l, "queue:{job}", 1) }, ""},
		{"a key with a token", func(l *Leases) string { l.Send("c1", 1, x); return set(l, "c1", 1, TakesAlways, x) }, "c1#1"},
		{"a key set late", func(l *Leases) string { l.Send("c1", 1, x); l.Send("c1", 2, y); return set(l, "c1", 1, TakesAlways, x) }, "c1#1"},
		{"a key set by a script of another", func(l *Leases) string { l.Send("c1", 1, x); return set(l, "c2", 1, TakesNothing, x) }, "c1#1"},
		{"a token used again", func(l *Leases) string { l.Send("c1", 1, x); l.Send("c1", 2, x); return set(l, "c1", 2, TakesAlways, x) }, "c1#2"},
		{"which stands for the first everywhere else", func(l *Leases) string { l.Send("c1", 1, x); set(l, "c1", 2, TakesAlways, x); return l.Known(x) }, "c1#1"},
		{"and handed out", func(l *Leases) string { l.Send("c1", 1, x); set(l, "c1", 2, TakesAlways, x); return l.Asked("c1", 2) }, "c1#2"},
		{"renewed with its token", func(l *Leases) string { l.Send("c1", 1, x); return set(l, "c1", 0, TakesNothing, x) }, "c1#1"},
		{"a value that all share", func(l *Leases) string { return set(l, "c1", 1, TakesAlways, "1") }, "c1#1"},
		{"and handed out too", func(l *Leases) string { set(l, "c1", 1, TakesAlways, "1"); return l.Asked("c1", 1) }, "c1#1"},
		{"but no token", func(l *Leases) string { set(l, "c1", 1, TakesAlways, "1"); return l.Known("1") }, ""},
		{"taken again", func(l *Leases) string { set(l, "c1", 1, TakesAlways, "1"); return set(l, "c1", 2, TakesAlways, "1") }, "c1#2"},
		{"on a second node", func(l *Leases) string { set(l, "c1", 1, TakesAlways, "1"); return set(l, "c1", 1, TakesAlways, "1") }, "c1#1"},
		{"and taken over by another", func(l *Leases) string { set(l, "c1", 1, TakesAlways, "1"); return set(l, "c2", 1, TakesAlways, "2") }, "c2#1"},
		{"a counter", func(l *Leases) string { return set(l, "c1", 1, TakesNothing, "7") }, ""},
		{"a number that a script sets in the key of the lock", func(l *Leases) string { return number(l, "job", "job", 1) }, "c1#1"},
		{"in that key with a prefix", func(l *Leases) string { return number(l, "job", "locks:{job}", 1) }, "c1#1"},
		{"in a key whose last word ends like the name", func(l *Leases) string { return number(l, "lock", "clock", 1) }, ""},
		{"or like a number in it", func(l *Leases) string { return number(l, "7", "job:17", 1) }, ""},
		{"in another key", func(l *Leases) string { return number(l, "job", "job:fence", 1) }, ""},
		{"in another acquire", func(l *Leases) string { return number(l, "job", "job", 2) }, ""},
		{"outside of an acquire", func(l *Leases) string { return number(l, "job", "job", 0) }, ""},
		{"in the key of a lock that nobody has named", func(l *Leases) string { return number(l, "", "job", 1) }, ""},
		{"and sent back, if it is long", func(l *Leases) string {
			l.Acquire("c1", 1, "job")
			l.Set("c1", 1, TakesNumbered, "job", "1234567890123456")
			return l.Send("c1", 0, "1234567890123456")
		}, "c1#1"},
		{"handed out, if a description was sent after the token", func(l *Leases) string {
			l.Acquire("c1", 1, "job")
			l.Send("c1", 1, x)
			l.Set("c1", 1, TakesAlways, "locks:{job}", x)
			l.Send("c1", 1, z)
			return l.Asked("c1", 1)
		}, "c1#1"},
		{"handed out, if a description was set in a key of its own", func(l *Leases) string {
			l.Acquire("c1", 1, "job")
			l.Send("c1", 1, x)
			l.Set("c1", 1, TakesAlways, "job", x)
			l.Send("c1", 1, z)
			l.Set("c1", 1, TakesAlways, "info:{job}", z)
			return l.Asked("c1", 1)
		}, "c1#1"},
		{"handed out, if a description was set before the key of the lock", func(l *Leases) string {
			l.Acquire("c1", 1, "job")
			l.Send("c1", 1, z)
			l.Set("c1", 1, TakesAlways, "info:{job}", z)
			l.Send("c1", 1, x)
			l.Set("c1", 1, TakesAlways, "job", x)
			return l.Asked("c1", 1)
		}, "c1#2"},
		{"handed out, if a script has swapped the value of another, a part of which was sent as well", func(l *Leases) string {
			l.Acquire("c1", 1, "job")
			l.Send("c1", 1, x)
			l.Send("c1", 1, z)
			l.Set("c1", 1, TakesNothing, "job", x)
			return l.Asked("c1", 1)
		}, "c1#1"},
		{"handed out, if the value is the same for all, and a description was sent", func(l *Leases) string {
			l.Acquire("c1", 1, "job")
			l.Set("c1", 1, TakesAlways, "job", "1")
			l.Send("c1", 1, z)
			return l.Asked("c1", 1)
		}, "c1#1"},
		{"handed out at the second try, though a key of the first is set last", func(l *Leases) string {
			l.Acquire("c1", 1, "job")
			l.Send("c1", 1, x)
			l.Send("c1", 1, z)
			l.Set("c1", 1, TakesAlways, "job", z)
			l.Set("c1", 1, TakesAlways, "job", x)
			return l.Asked("c1", 1)
		}, "c1#2"},
		{"handed out at the second try, whose key is set last", func(l *Leases) string {
			l.Acquire("c1", 1, "job")
			l.Send("c1", 1, x)
			l.Set("c1", 1, TakesAlways, "job", x)
			l.Send("c1", 1, z)
			l.Set("c1", 1, TakesAlways, "job", z)
			return l.Asked("c1", 1)
		}, "c1#2"},
		{"handed out, if no key has the name of the lock", func(l *Leases) string {
			l.Acquire("c1", 1, "job")
			l.Send("c1", 1, x)
			l.Set("c1", 1, TakesAlways, "other", x)
			l.Send("c1", 1, z)
			return l.Asked("c1", 1)
		}, "c1#2"},
		{"a hash with a token in it", func(l *Leases) string {
			l.Send("c1", 1, x)
			return set(l, "c1", 1, TakesNothing, "owner", x, "count", "1")
		}, "c1#1"},
		{"beside a long word that others sent", func(l *Leases) string {
			l.Send("c2", 1, z)
			l.Send("c1", 1, x)
			return set(l, "c1", 1, TakesNothing, z, x)
		}, "c1#1"},
		{"before it", func(l *Leases) string {
			l.Send("c2", 1, z)
			l.Send("c1", 1, x)
			return set(l, "c1", 1, TakesNothing, x, z)
		}, "c1#1"},
		{"of an earlier try, beside a long word that others sent", func(l *Leases) string {
			l.Send("c2", 1, z)
			l.Send("c1", 1, x)
			l.Send("c1", 1, y)
			return set(l, "c1", 1, TakesNothing, z, x)
		}, "c1#1"},
		{"before it, too", func(l *Leases) string {
			l.Send("c2", 1, z)
			l.Send("c1", 1, x)
			l.Send("c1", 1, y)
			return set(l, "c1", 1, TakesNothing, x, z)
		}, "c1#1"},
		{"beside a long word of its own", func(l *Leases) string {
			l.Send("c1", 1, z)
			l.Send("c1", 1, x)
			return set(l, "c1", 1, TakesNothing, z, x)
		}, "c1#2"},
		{"or before it", func(l *Leases) string {
			l.Send("c1", 1, z)
			l.Send("c1", 1, x)
			return set(l, "c1", 1, TakesNothing, x, z)
		}, "c1#2"},
		{"with the tokens of two others", func(l *Leases) string {
			l.Send("c2", 1, y)
			l.Send("c3", 1, x)
			return set(l, "c1", 1, TakesNothing, y, x)
		}, "c2#1"},
		{"which is the one asked for as well", func(l *Leases) string { l.Send("c1", 1, z); l.Send("c1", 1, x); return l.Asked("c1", 1) }, "c1#2"},
		{"a hash that takes without a token", func(l *Leases) string { return set(l, "c1", 1, TakesAlways, "owner", "1") }, "c1#1"},
		{"whose words are no tokens", func(l *Leases) string { set(l, "c1", 1, TakesAlways, x, y); return l.Known(x) }, ""},
		{"a value with a token in it", func(l *Leases) string { l.Send("c1", 1, x); return set(l, "c1", 1, TakesNothing, `{"owner":"`+x+`"}`) }, "c1#1"},
		{"copied to a replica", func(l *Leases) string {
			l.Send("c1", 1, x)
			set(l, "c1", 1, TakesNothing, "owner "+x)
			return set(l, "", 0, TakesNothing, "owner "+x)
		}, "c1#1"},
		{"with tokens of two leases", func(l *Leases) string {
			l.Send("c1", 1, x)
			l.Send("c1", 2, y)
			return set(l, "c1", 2, TakesNothing, y+" "+x)
		}, "c1#2"},
		{"with the token of its process, which it sends after that of the lease", func(l *Leases) string {
			l.Send("c1", 1, y)
			l.Send("c1", 1, x)
			return set(l, "c1", 1, TakesNothing, x+":"+y)
		}, "c1#2"},
		{"which is the one that it asked for", func(l *Leases) string { l.Send("c1", 1, y); l.Send("c1", 1, x); return l.Asked("c1", 1) }, "c1#2"},
		{"a short token that a script sets", func(l *Leases) string { return set(l, "c1", 1, TakesInAcquire, "k3f9") }, "c1#1"},
		{"a key that a script makes when no lease is asked for", func(l *Leases) string { return set(l, "c1", 0, TakesInAcquire, "k3f9") }, ""},
		{"with the token of another", func(l *Leases) string { l.Send("c2", 1, x); return set(l, "c1", 1, TakesNothing, "owner "+x) }, ""},
		{"with a token of long ago in it", func(l *Leases) string {
			l.Send("c1", 1, x)
			l.Send("c1", 2, y)
			return set(l, "c1", 2, TakesNothing, "owner "+x)
		}, "c1#2"},
		{"with a short word in it", func(l *Leases) string {
			l.Send("c1", 1, "owner")
			return set(l, "c1", 1, TakesNothing, "the owner of the lock")
		}, ""},
		{"a token that was sent in a value", func(l *Leases) string { l.Send("c1", 1, "owner "+x); return l.Send("c1", 0, x) }, "c1#1"},
		{"and in a value of another acquire", func(l *Leases) string { l.Send("c1", 1, "owner "+x); return l.Send("c1", 2, x) }, "c1#2"},
		{"and by another client", func(l *Leases) string { l.Send("c1", 1, "owner "+x); return l.Send("c2", 0, x) }, "c2#1"},
		{"a value with what was sent before", func(l *Leases) string { l.Send("c1", 1, x); return l.Send("c1", 1, "owner "+x) }, "c1#1"},
		{"a value with two tokens", func(l *Leases) string { l.Send("c1", 1, x); l.Send("c1", 2, y); return l.Send("c1", 3, x+" "+y) }, "c1#3"},
		{"an extension with two tokens, of which one is new", func(l *Leases) string {
			l.Send("c1", 1, x)
			l.Send("c1", 2, y)
			l.Send("c1", 0, x)
			return l.Send("c1", 0, z)
		}, "c1#1"},
		{"a client that announces no acquire", func(l *Leases) string { l.Send("c1", 0, x); return l.Send("c1", 0, z) }, "c1#2"},
		{"an extension with another's token, and a new one", func(l *Leases) string {
			l.Send("c1", 1, x)
			l.Send("c2", 1, y)
			l.Send("c1", 0, y)
			return l.Send("c1", 0, z)
		}, "c1#1"},
		{"a queue of others", func(l *Leases) string { l.Send("c2", 1, y); return set(l, "c1", 0, TakesNothing, "a", y) }, "c2#1"},
		{"a queue that the client leaves, with what was left of an earlier acquire", func(l *Leases) string {
			l.Send("c1", 1, x)
			l.Send("c1", 2, y)
			return set(l, "c1", 2, OnlyRemoves, x)
		}, "c1#1"},
		{"the name of a client beside a token that is gone", func(l *Leases) string {
			l.Send("c1", 1, x)
			l.Send("c1", 1, x+"/1")
			l.Send("c1", 2, x)
			l.Send("c1", 2, x+"/2")
			return set(l, "c1", 0, OnlyRemoves, "owner", x)
		}, ""},
		{"a longer name", func(l *Leases) string {
			l.Send("c1", 1, x+y)
			l.Send("c1", 1, x+y+"/1")
			l.Send("c1", 2, x+y)
			return set(l, "c1", 0, OnlyRemoves, "owner", x+y)
		}, ""},
		{"the name as the only value", func(l *Leases) string {
			l.Send("c1", 1, x)
			l.Send("c1", 1, x+"/1")
			l.Send("c1", 2, x)
			set(l, "c1", 2, TakesAlways, x)
			return l.Known(x)
		}, "c1#1"},
		{"the name beside the token of another lease", func(l *Leases) string {
			l.Send("c1", 1, x)
			l.Send("c1", 1, x+"/1")
			l.Send("c1", 2, x)
			l.Send("c1", 2, x+"/2")
			return set(l, "c1", 0, OnlyRemoves, "owner", x, x+"/2", "1")
		}, "c1#2"},
		{"a token that marks a lease by itself, sent in another acquire", func(l *Leases) string {
			l.Send("c1", 1, x)
			l.Send("c1", 2, x)
			return set(l, "c1", 0, OnlyRemoves, "owner", x)
		}, "c1#1"},
		{"a token beside another, sent in one acquire", func(l *Leases) string {
			l.Send("c1", 1, x)
			l.Send("c1", 1, x+"/1")
			return set(l, "c1", 0, OnlyRemoves, "owner", x)
		}, "c1#1"},
		{"a lock that sends nothing", func(l *Leases) string { return l.Asked("c1", 1) }, "c1#1"},
		{"twice", func(l *Leases) string { l.Asked("c1", 1); return l.Asked("c1", 2) }, "c1#2"},
		{"another's token is no mark of mine", func(l *Leases) string { l.Send("c2", 1, z); return l.Asked("c1", 1) }, "c1#1"},
	} {
		if got := c.do(NewLeases()); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A token in a text gives way to its lease, whatever is around it; a part of a token, or what nobody has sent, stays.
func TestLeasesName(t *testing.T) {
	l := NewLeases()
	const hex, uuid, base64 = "0123456789abcdef0123456789abcdef", "4e2f2c3a-7d5b-4b59-9d53-2f6f0b8c1a77", "q83vEjRWeJq83vEjRWeJ+g=="
	l.Send("c1", 1, hex)
	l.Send("c2", 1, uuid)
	l.Send("c2", 2, base64)
	l.Send("c3", 1, "short")
	for text, want := range map[string]string{
		"held by " + hex: "held by c1#1",
		hex:              "c1#1",
		`"` + hex + `"`:  `"c1#1"`,
		"lock: \"" + uuid + "\", then " + base64 + ".": "lock: \"c2#1\", then c2#2.",
		"held by x" + hex:                          "held by x" + hex,
		"held by short, not by one that is long":   "held by short, not by one that is long",
		"held by fedcba9876543210fedcba9876543210": "held by fedcba9876543210fedcba9876543210",
		"Ünïcödé " + hex + " ✓":                    "Ünïcödé c1#1 ✓",
		"":                                         "",
	} {
		if got := l.Name(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
