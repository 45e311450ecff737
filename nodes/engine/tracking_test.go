package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
	"pgregory.net/rapid"

	"lockstep/nodes/internal/redistest"
)

// A listener is a connection that may receive messages that it did not ask for. Its method hear returns everything since the last
// call. Both methods end with a PING of their own and its reply, so that no message is still on its way.
type listener interface {
	redistest.Conn
	hear() string
}

// nodeListener is a connection to a node.
type nodeListener struct {
	*Session
	told map[*Session][]byte
}

func (l *nodeListener) take() string {
	told := string(l.told[l.Session])
	delete(l.told, l.Session)
	return told
}

func (l *nodeListener) hear() string { return l.take() + l.Session.Do("PING") }

func (l *nodeListener) Do(args ...string) string {
	return l.take() + l.Session.Do(args...) + l.hear()
}

// realListener is a connection to a real server. Everything up to the reply to its PING has arrived.
type realListener struct{ *redistest.Client }

func (l realListener) hear() string { return l.read(redistest.AppendCommand(nil, "PING"), 1) }

func (l realListener) Do(args ...string) string {
	return l.read(redistest.AppendCommand(redistest.AppendCommand(nil, args...), "PING"), 2)
}

// read sends commands and reads up to the last reply to them.
func (l realListener) read(data []byte, replies int) string {
	l.T.Helper()
	if _, err := l.Conn.Write(data); err != nil {
		l.T.Fatal(err)
	}
	var got strings.Builder
	for replies > 0 {
		one, err := proto.Read(l.Replies)
		if err != nil {
			l.T.Fatal(err)
		}
		got.WriteString(one)
		if one[0] != '>' {
			replies--
		}
	}
	return got.String()
}

// listeners are three connections to a node, and three to a real server.
func listeners(t testing.TB, server *redistest.Server, now func() time.Time) (r *Redis, node, real []listener) {
	r = NewRedis(now)
	told := map[*Session][]byte{}
	r.OnPush(func(s *Session, message []byte) { told[s] = append(told[s], message...) })
	control := server.Connect()
	control.Do("FLUSHALL")
	control.Close()
	for i := range 3 {
		node = append(node, &nodeListener{r.Connect(fmt.Sprint("c", i+1)), told})
		real = append(real, realListener{server.Connect()})
	}
	return r, node, real
}

// trackingOps are commands on a few keys, so that each reads and writes keys that others read and write too.
var trackingOps = []string{
	"CLIENT TRACKING ON", "CLIENT TRACKING ON OPTOUT", "CLIENT TRACKING ON OPTOUT NOLOOP", "CLIENT TRACKING OFF",
	"client tracking on noloop", "CLIENT TRACKING ON maybe", "CLIENT TRACKING MAYBE", "CLIENT TRACKING", "HELLO 2",
	"HELLO 3", "HELLO 3",
	"GET K", "GET K", "GET K", "MGET K K", "EXISTS K K", "TTL K", "TYPE K", "STRLEN K", "TOUCH K", "HGET H f", "HGETALL H", "LRANGE L 0 -1",
	"SMEMBERS S", "KEYS *", "DBSIZE", "WATCH K", "GETEX K", "PING",
	"SET K x", "SET K x", "SET K y NX", "SET K z XX", "SET K x GET", "SETEX K 60 x", "GETSET K x", "GETDEL K", "MSET K x K y", "MSETNX K x K y", "APPEND K w",
	"DEL K", "DEL K K", "UNLINK K", "EXPIRE K 100", "PEXPIREAT K 99999999999999", "PEXPIREAT K 1", "PERSIST K", "GETEX K EX 100", "GETEX K PXAT 99999999999999",
	"GETEX K PERSIST", "RENAME K K", "RENAMENX K K", "INCR N", "INCRBY N 0", "GET N",
	"HSET H f x", "HSETNX H f x", "HDEL H f", "LPUSH L x", "LPOP L", "LREM L 0 y", "SADD S x", "SREM S x",
	"FLUSHALL", "FLUSHDB", "MULTI", "EXEC", "EXEC", "DISCARD",
	"EVAL return@redis.call('GET',KEYS[1]) 1 K", "EVAL return@redis.call('GET',KEYS[1]) 2 K K", "EVAL return@redis.call('GET','k2') 0",
	"EVAL return@redis.call('GET','k2') 1 K", "EVAL return@redis.call('SET',KEYS[1],'x') 1 K", "EVAL return@redis.call('DBSIZE') 1 K",
	"EVAL return@1 1 K", "EVAL_RO return@redis.call('GET',KEYS[1]) 1 K", "EVAL return@redis.pcall('GET','H') 1 K",
	// These are the scripts of rueidislock.
	"EVAL local@r=redis.call('SET',KEYS[1],ARGV[1],'NX','PXAT',ARGV[2]);redis.call('GET',KEYS[1]);return@r 1 K x 99999999999999",
	"EVAL local@r=redis.call('SET',KEYS[1],ARGV[1],'NX','PXAT',ARGV[2]);redis.call('GET',KEYS[1]);return@r 1 K x 1",
	"EVAL if@redis.call('GET',KEYS[1])==ARGV[1]@then@local@r=redis.call('PEXPIREAT',KEYS[1],ARGV[2]);redis.call('GET',KEYS[1]);return@r@end;return@0 1 K x 99999999999999",
	"EVAL if@redis.call('GET',KEYS[1])==ARGV[1]@then@return@redis.call('DEL',KEYS[1])@end;return@0 1 K x",
}

// TestTrackingIsLikeRedis has three clients do the same on a node and on redis-server, and compares byte by byte what each
// receives: replies, and messages that it did not ask for, before and after them.
func TestTrackingIsLikeRedis(t *testing.T) {
	server := redistest.Start(t)
	told := 0
	rapid.Check(t, func(rt *rapid.T) {
		now := time.Now()
		r, node, real := listeners(t, server, func() time.Time { return now })
		defer r.Close()
		for i := range real {
			defer real[i].(realListener).Close()
			for _, c := range []listener{node[i], real[i]} {
				if c.Do("HELLO", "3"); i < 2 {
					c.Do(strings.Fields([]string{"CLIENT TRACKING ON OPTOUT", "CLIENT TRACKING ON OPTOUT NOLOOP"}[i])...)
				}
			}
		}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			i := rapid.IntRange(0, 2).Draw(rt, "client")
			text := rapid.SampledFrom(trackingOps).Draw(rt, "command")
			for strings.Contains(text, " K") {
				text = strings.Replace(text, " K", " "+rapid.SampledFrom([]string{"k1", "k2"}).Draw(rt, "key"), 1)
			}
			args := strings.Fields(text)
			for j := range args {
				args[j] = strings.ReplaceAll(args[j], "@", " ")
			}
			got, want := node[i].Do(args...), real[i].Do(args...)
			rt.Logf("c%d %s: %q", i+1, text, want)
			if got != want && !sameButFor(text, got, want) {
				rt.Fatalf("c%d %s:\nnode answers         %q\nredis-server answers %q", i+1, text, got, want)
			}
			for j := range node {
				got, want := node[j].hear(), real[j].hear()
				if got != want {
					rt.Fatalf("c%d %s: c%d is told\nby the node         %q\nby redis-server %q", i+1, text, j+1, got, want)
				}
				if strings.Contains(want, "invalidate") {
					told++
				}
			}
		}
	})
	if told == 0 {
		t.Error("nobody was ever told anything")
	}
}

// sameButFor tolerates what other tests check: the numbers of connections, keys that are over but not yet deleted, and sets, which
// have no order.
func sameButFor(command, node, redis string) bool {
	word, _, _ := strings.Cut(command, " ")
	if slices.Contains([]string{"HELLO", "KEYS", "DBSIZE", "SMEMBERS", "HGETALL", "TTL"}, word) {
		return strings.Count(node, "invalidate") == strings.Count(redis, "invalidate")
	}
	return strings.HasPrefix(command, "EVAL") && strings.Contains(command, "DBSIZE") || command == "EXEC"
}

// TestTrackingOfKeysThatExpire waits for keys to expire. Readers are told once, even if nobody asks for the key again.
func TestTrackingOfKeysThatExpire(t *testing.T) {
	redistest.Steady(t, func(t testing.TB) {
		server := redistest.Start(t)
		r, node, real := listeners(t, server, time.Now)
		defer r.Close()
		const told, pong = ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n", "+PONG\r\n"
		for name, c := range map[string][]listener{"node": node, "redis-server": real} {
			c[0].Do("HELLO", "3")
			c[1].Do("HELLO", "3")
			c[0].Do("CLIENT", "TRACKING", "ON", "OPTOUT", "NOLOOP")
			c[1].Do("CLIENT", "TRACKING", "ON", "OPTOUT")
			c[2].Do("SET", "k", "x", "PX", "40")
			c[0].Do("GET", "k")
			c[1].Do("GET", "k")
			for i := range 2 {
				var got string
				for start := time.Now(); got == "" && time.Since(start) < 5*time.Second; time.Sleep(10 * time.Millisecond) {
					r.Tick()
					if got = c[i].hear(); got == pong {
						got = ""
					}
				}
				if got != told+pong {
					t.Errorf("%s: c%d is told %q, want %q", name, i+1, got, told)
				}
			}
			if got := c[2].Do("SET", "k", "x") + c[0].hear() + c[1].hear(); got != "+OK\r\n"+pong+pong+pong {
				t.Errorf("%s: after the key was forgotten: %q", name, got)
			}
		}
	})
}

// A closed connection is told nothing, and a restart forgets what was read.
func TestTrackingEnds(t *testing.T) {
	r := NewRedis(time.Now)
	defer r.Close()
	var told []string
	r.OnPush(func(s *Session, message []byte) { told = append(told, s.client) })
	open := func(name string) *Session {
		s := r.Connect(name)
		s.Do("HELLO", "3")
		s.Do("CLIENT", "TRACKING", "ON")
		s.Do("GET", "k")
		return s
	}
	open("gone").Close()
	open("stays")
	r.Connect("writer").Do("SET", "k", "x")
	if got := strings.Join(told, " "); got != "stays" {
		t.Errorf("told %q, want only the one that stays", got)
	}
	open("before")
	r.Crash(Killed)
	r.Restart(false)
	told = nil
	r.Connect("writer").Do("SET", "k", "y")
	if len(told) > 0 {
		t.Errorf("after a restart told %q", told)
	}
}

func TestTrackingRefusesWhatItIsNot(t *testing.T) {
	r := NewRedis(time.Now)
	defer r.Close()
	for _, options := range []string{"BCAST", "OPTIN", "PREFIX a", "REDIRECT 1"} {
		got := r.Connect("c1").Do(strings.Fields("CLIENT TRACKING ON " + options)...)
		word, _, _ := strings.Cut(options, " ")
		if !strings.HasPrefix(got, "-ERR CLIENT TRACKING with "+word+" is a form of redis-server's that Lockstep does not simulate") {
			t.Errorf("%s: %q", options, got)
		}
	}
}
