package engine

import (
	"strings"
	"testing"
)

// A server that reuses the parts of a used one cannot be told from a new one, neither by its keys nor by its replies.
func TestUsedServerLeavesNothing(t *testing.T) {
	// The commands cover everything that a server keeps: keys of each kind with deadlines, scripts, the interpreter's random
	// numbers, names, open transactions, watched and tracked keys, a log, and pending replies.
	use := []string{
		"SET text 1 PX 5000", "SET lasting 1", "HSET hash a 1 b 2", "SADD set a b", "RPUSH list a b c", "ZADD sorted 1 a",
		"PEXPIRE hash 100", "SETNX other 1", "INCR number", "APPEND text 2",
		"SCRIPT LOAD return(1)", "EVAL return(math.random(1000)) 0", "EVAL return(redis.call('INCR',KEYS[1])) 1 number",
		"CLIENT SETNAME somebody", "HELLO 3", "CLIENT TRACKING on", "GET text", "WATCH text lasting", "MULTI", "SET text 3", "INCR hash",
	}
	look := []string{
		"KEYS *", "DBSIZE", "SCAN 0", "GET text", "TTL text", "PTTL hash", "TYPE set", "EXISTS list sorted other",
		"SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0",
		"EVAL return(math.random(1000)) 0", "EVAL return(KEYS[1]..ARGV[1]) 1 a b", "EVAL return(KEYS[1]) 0",
		"CLIENT ID", "CLIENT GETNAME", "INFO replication", "EXEC", "WATCH text", "MULTI", "SET text 4", "EXEC", "INCR number",
		"PTTL text", "HGETALL hash", "ROLE", "HELLO 2",
	}
	seen := func(r *Redis) string {
		var b strings.Builder
		s := r.Connect("c1")
		for _, line := range look {
			b.WriteString(line + ": " + s.Do(strings.Fields(line)...) + "\n")
		}
		return b.String()
	}
	first, _ := newNode(t)
	want := seen(first)
	first.Close()
	reused := 0
	for range 20 {
		used, _ := newNode(t)
		used.Persist(AOFEverysec)
		for _, client := range []string{"c1", "c2"} {
			s := used.Connect(client)
			for _, line := range use {
				s.Do(strings.Fields(line)...)
			}
		}
		mini := used.mini
		used.Close()

		next, _ := newNode(t)
		if next.mini == mini {
			reused++
		}
		if got := seen(next); got != want {
			t.Fatalf("a server made of a used one answers\n%s\na new one\n%s", got, want)
		}
		next.Close()
	}
	if reused == 0 { // the garbage collector may run in between, and the race detector drops pooled values on purpose
		t.Error("no server was made of a used one")
	}
}

// A closed server does not reply.
func TestClosedServerServesNobody(t *testing.T) {
	r, _ := newNode(t)
	s := r.Connect("c1")
	r.Close()
	if got := s.Do("SET", "key", "value"); got != "" {
		t.Errorf("a closed server answers %q", got)
	}
}
