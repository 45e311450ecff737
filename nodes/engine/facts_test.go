package engine

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockstep/nodes/internal/redistest"
)

// bench is a server on which a fact is shown: a node or a real redis-server.
type bench struct {
	testing.TB
	conn    redistest.Conn
	connect func() redistest.Conn
	pass    func(time.Duration)      // lets time pass
	jump    func(time.Duration)      // sets the wall clock
	now     func() time.Time         // reads the wall clock
	about   func(got, want int) bool // real time is not exact
	loops   int                      // how many loops of a script take more than 30 ms
}

// facts must hold in every simulation of Redis. Each was first observed on redis-server 7.0.15, and each is tested on both.
var facts = []struct {
	name string
	show func(b bench)
}{
	{"a jump forward deletes a lock at once", func(b bench) {
		redistest.Expect(b, b.conn, "SET lock t NX PX 5000", "+OK")
		b.jump(10 * time.Second)
		redistest.Expect(b, b.conn, "SET lock t2 NX PX 5000", "+OK")
	}},
	{"a jump back prolongs a lock", func(b bench) {
		redistest.Expect(b, b.conn, "SET lock t NX PX 996", "+OK")
		b.jump(-9944 * time.Millisecond)
		b.expectAbout("PTTL lock", 10940)
		redistest.Expect(b, b.conn, "SET lock t2 NX PX 5000", "$-1")
	}},
	{"a jump is no passing of time for what has no deadline", func(b bench) {
		redistest.Expect(b, b.conn, "SET lock t NX", "+OK")
		b.jump(100 * time.Hour)
		redistest.Expect(b, b.conn, "GET lock", "$1 t")
		redistest.Expect(b, b.conn, "TTL lock", ":-1")
	}},
	{"SET with a deadline in the past succeeds, and the key is gone", func(b bench) {
		past := strconv.FormatInt(b.now().Add(-time.Minute).UnixMilli(), 10)
		redistest.Expect(b, b.conn, "SET lock t NX PXAT "+past, "+OK")
		redistest.Expect(b, b.conn, "GET lock", "$-1")
		redistest.Expect(b, b.conn, "SET lock t2 NX PXAT "+past, "+OK")
		redistest.Expect(b, b.conn, "EXISTS lock", ":0")
	}},
	{"SET and EXPIRE with a deadline in the past, inside a transaction", func(b bench) {
		past := strconv.FormatInt(b.now().Add(-time.Minute).UnixMilli(), 10)
		redistest.Expect(b, b.conn, "MULTI", "+OK")
		for _, command := range []string{"SET a 1 PXAT " + past, "GET a", "SET b 1", "PEXPIREAT b " + past, "GET b"} {
			redistest.Expect(b, b.conn, command, "+QUEUED")
		}
		redistest.Expect(b, b.conn, "EXEC", "*5 +OK $-1 +OK :1 $-1")
	}},
	{"EXPIRE with a time that is not positive deletes", func(b bench) {
		for _, command := range []string{"EXPIRE k 0", "PEXPIRE k -1", "EXPIREAT k 1", "PEXPIREAT k -5", "EXPIREAT k 0"} {
			redistest.Expect(b, b.conn, "SET k v", "+OK")
			redistest.Expect(b, b.conn, command, ":1")
			redistest.Expect(b, b.conn, "EXISTS k", ":0")
		}
	}},
	{"time stands still inside a script", func(b bench) {
		redistest.Expect(b, b.conn, "SET lock t PX 30", "+OK")
		if got := b.conn.Do("EVAL", b.busy(), "0"); got != ":1\r\n" {
			b.Errorf("the lock was over within the script: %q", got)
		}
		b.pass(40 * time.Millisecond)
		redistest.Expect(b, b.conn, "EXISTS lock", ":0")
	}},
	{"time stands still inside a transaction", func(b bench) {
		redistest.Expect(b, b.conn, "SET lock t PX 30", "+OK")
		redistest.Expect(b, b.conn, "MULTI", "+OK")
		b.conn.Do("EVAL", b.busy(), "0")
		redistest.Expect(b, b.conn, "EXISTS lock", "+QUEUED")
		redistest.Expect(b, b.conn, "EXEC", "*2 :1 :1")
	}},
	{"a watched key that expires fails EXEC", func(b bench) {
		redistest.Expect(b, b.conn, "SET lock t PX 60", "+OK")
		redistest.Expect(b, b.conn, "WATCH lock", "+OK")
		b.pass(100 * time.Millisecond)
		redistest.Expect(b, b.conn, "MULTI", "+OK")
		redistest.Expect(b, b.conn, "PING", "+QUEUED")
		redistest.Expect(b, b.conn, "EXEC", "*-1")
	}},
	{"a watched key that was over at WATCH does not fail EXEC", func(b bench) {
		redistest.Expect(b, b.conn, "SET lock t PX 60", "+OK")
		b.pass(100 * time.Millisecond)
		redistest.Expect(b, b.conn, "WATCH lock", "+OK")
		b.pass(100 * time.Millisecond)
		redistest.Expect(b, b.conn, "MULTI", "+OK")
		redistest.Expect(b, b.conn, "GET lock", "+QUEUED")
		redistest.Expect(b, b.conn, "EXEC", "*1 $-1")
	}},
	{"a key that was over at WATCH, and was set since, fails EXEC", func(b bench) {
		redistest.Expect(b, b.conn, "SET lock t PX 60", "+OK")
		b.pass(100 * time.Millisecond)
		redistest.Expect(b, b.conn, "WATCH lock", "+OK")
		redistest.Expect(b, b.connect(), "SET lock t2", "+OK")
		redistest.Expect(b, b.conn, "MULTI", "+OK")
		redistest.Expect(b, b.conn, "EXEC", "*-1")
	}},
	{"watching again does not forget", func(b bench) {
		redistest.Expect(b, b.conn, "WATCH lock", "+OK")
		redistest.Expect(b, b.connect(), "SET lock t", "+OK")
		redistest.Expect(b, b.conn, "WATCH lock", "+OK")
		redistest.Expect(b, b.conn, "MULTI", "+OK")
		redistest.Expect(b, b.conn, "EXEC", "*-1")
	}},
	{"UNWATCH inside a transaction comes too late", func(b bench) {
		redistest.Expect(b, b.conn, "WATCH lock", "+OK")
		redistest.Expect(b, b.connect(), "SET lock t", "+OK")
		redistest.Expect(b, b.conn, "MULTI", "+OK")
		redistest.Expect(b, b.conn, "UNWATCH", "+QUEUED")
		redistest.Expect(b, b.conn, "EXEC", "*-1")
	}},
	{"a write of the same value fails EXEC, too", func(b bench) {
		redistest.Expect(b, b.conn, "SET lock t", "+OK")
		redistest.Expect(b, b.conn, "WATCH lock", "+OK")
		redistest.Expect(b, b.connect(), "SET lock t", "+OK")
		redistest.Expect(b, b.conn, "MULTI", "+OK")
		redistest.Expect(b, b.conn, "EXEC", "*-1")
	}},
	{"what fails to write does not fail EXEC", func(b bench) {
		redistest.Expect(b, b.conn, "SET lock t", "+OK")
		redistest.Expect(b, b.conn, "WATCH lock", "+OK")
		other := b.connect()
		redistest.Expect(b, other, "SET lock t NX", "$-1")
		redistest.Expect(b, other, "DEL other", ":0")
		redistest.Expect(b, other, "PERSIST lock", ":0")
		redistest.Expect(b, b.conn, "MULTI", "+OK")
		redistest.Expect(b, b.conn, "EXEC", "*0")
	}},
	{"FLUSHALL and GETEX touch what they change", func(b bench) {
		for _, command := range []string{"FLUSHALL", "GETEX lock PX 5000", "GETEX lock PERSIST"} {
			redistest.Expect(b, b.conn, "SET lock t PX 10000", "+OK")
			redistest.Expect(b, b.conn, "WATCH lock", "+OK")
			b.connect().Do(strings.Fields(command)...)
			redistest.Expect(b, b.conn, "MULTI", "+OK")
			redistest.Expect(b, b.conn, "EXEC", "*-1")
		}
	}},
	{"TTL rounds to the nearest second", func(b bench) {
		redistest.Expect(b, b.conn, "SET lock t PX 1800", "+OK")
		redistest.Expect(b, b.conn, "TTL lock", ":2")
		redistest.Expect(b, b.conn, "SET lock t PX 1200", "+OK")
		redistest.Expect(b, b.conn, "TTL lock", ":1")
	}},
	{"an error of a queued command stops none of the others", func(b bench) {
		redistest.Expect(b, b.conn, "MULTI", "+OK")
		redistest.Expect(b, b.conn, "SET lock t PX 0", "+QUEUED")
		redistest.Expect(b, b.conn, "SET lock t", "+QUEUED")
		redistest.Expect(b, b.conn, "EXEC", "*2 -ERR invalid expire time in 'set' command +OK")
	}},
	{"a script that is not known is refused with NOSCRIPT", func(b bench) {
		redistest.Expect(b, b.conn, "EVALSHA "+strings.Repeat("0", 40)+" 0", "-NOSCRIPT No matching script. Please use EVAL.")
		redistest.Expect(b, b.conn, "EVAL return'x' 0", "$1 x")
		redistest.Expect(b, b.conn, "EVALSHA "+sha1Hex("return'x'")+" 0", "$1 x")
		redistest.Expect(b, b.conn, "SCRIPT EXISTS "+sha1Hex("return'x'")+" "+strings.Repeat("0", 40), "*2 :1 :0")
		redistest.Expect(b, b.conn, "SCRIPT FLUSH", "+OK")
		redistest.Expect(b, b.conn, "EVALSHA "+sha1Hex("return'x'")+" 0", "-NOSCRIPT No matching script. Please use EVAL.")
	}},
	{"scripts have names for the levels of the log and for what is replicated", func(b bench) {
		redistest.Expect(b, b.conn, "EVAL return{redis.LOG_DEBUG,redis.LOG_VERBOSE,redis.LOG_NOTICE,redis.LOG_WARNING} 0", "*4 :0 :1 :2 :3")
		redistest.Expect(b, b.conn, "EVAL return{redis.REPL_NONE,redis.REPL_AOF,redis.REPL_SLAVE,redis.REPL_REPLICA,redis.REPL_ALL} 0", "*5 :0 :1 :2 :2 :3")
	}},
	{"WAIT returns at once inside a transaction", func(b bench) {
		redistest.Expect(b, b.conn, "MULTI", "+OK")
		redistest.Expect(b, b.conn, "WAIT 1 0", "+QUEUED")
		redistest.Expect(b, b.conn, "EXEC", "*1 :0")
	}},
	{"integers are written without ornament", func(b bench) {
		for _, value := range []string{"+1", "01", "1.0", "-0"} {
			redistest.Expect(b, b.conn, "SET n "+value, "+OK")
			redistest.Expect(b, b.conn, "INCR n", "-ERR value is not an integer or out of range")
			redistest.Expect(b, b.conn, "EXPIRE n "+value, "-ERR value is not an integer or out of range")
		}
	}},
}

// busy returns a script that runs for some time, and then checks whether the lock is still there.
func (b bench) busy() string {
	return fmt.Sprintf("for i = 1, %d do end return redis.call('exists', 'lock')", b.loops)
}

func (b bench) expectAbout(command string, want int) {
	b.Helper()
	reply := b.conn.Do(strings.Fields(command)...)
	var got int
	if _, err := fmt.Sscanf(reply, ":%d\r\n", &got); err != nil || !b.about(got, want) {
		b.Errorf("%s: got %q, want about %d", command, reply, want)
	}
}

func TestFactsOnNode(t *testing.T) {
	for _, fact := range facts {
		t.Run(fact.name, func(t *testing.T) {
			r, clock := newNode(t)
			connect := func() redistest.Conn { return r.Connect("c1") }
			fact.show(bench{
				TB: t, conn: connect(), connect: connect, pass: clock.advance, jump: clock.advance, now: clock.now,
				about: func(got, want int) bool { return got == want }, loops: 1,
			})
		})
	}
}

func TestFactsOnRedis(t *testing.T) {
	server := redistest.Start(t)
	// Measure how fast this machine is.
	loops, took := 1_000_000, time.Duration(0)
	for took < 50*time.Millisecond {
		loops *= 2
		begin := time.Now()
		server.Connect().Do("EVAL", fmt.Sprintf("for i = 1, %d do end", loops), "0")
		took = time.Since(begin)
	}
	for _, fact := range facts {
		t.Run(fact.name, func(t *testing.T) {
			redistest.Steady(t, func(t testing.TB) {
				control := server.Connect()
				defer control.Close()
				control.Do("FLUSHALL")
				control.Do("SCRIPT", "FLUSH")
				connect := func() redistest.Conn {
					c := server.Connect()
					t.Cleanup(c.Close)
					return c
				}
				fact.show(bench{
					TB: t, conn: connect(), connect: connect, pass: time.Sleep, jump: control.Jump, now: time.Now,
					about: func(got, want int) bool { return want-got >= 0 && want-got < 100 }, loops: loops,
				})
			})
		})
	}
}
