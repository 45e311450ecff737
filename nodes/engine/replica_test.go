package engine

import (
	"context"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/nodes/internal/redistest"
	"lockstep/nodes/redisserver"
	"lockstep/sim/history"
)

// A couple is a primary and its replica, on which a fact is shown: nodes or real servers.
type couple struct {
	testing.TB
	primary, replica func() redistest.Waiter // each opens a connection
	synced           func()                  // returns when the replica has everything
	freeze           func(frozen bool)       // freezes the link: nothing on it is lost, and nothing arrives
	promote          func()                  // REPLICAOF NO ONE
	rejoin           func()                  // makes the old primary a replica of the new one
	pass             func(time.Duration)     // lets time pass
	now              func() time.Time
	skew             func(time.Duration) // puts the replica's wall clock ahead, so that its keys expire earlier
	minReplicas      func(n int, maxLag time.Duration)
}

// replicationFacts must hold in every simulation of replication. Each was first observed on redis-server 7.0.15, and each is tested
// on both.
var replicationFacts = []struct {
	name string
	show func(c couple)
}{
	{"what was acknowledged and had not arrived is lost by promotion", func(c couple) {
		p, r := c.primary(), c.replica()
		redistest.Expect(c, p, "SET before t0", "+OK")
		c.synced()
		c.freeze(true)
		redistest.Expect(c, p, "SET lock t1 NX PX 30000", "+OK")
		redistest.Expect(c, p, "GET lock", "$2 t1")
		c.promote()
		redistest.Expect(c, r, "GET before", "$2 t0")
		redistest.Expect(c, r, "GET lock", "$-1")
		redistest.Expect(c, r, "SET lock t2 NX PX 30000", "+OK")
		redistest.Expect(c, p, "GET lock", "$2 t1") // the old primary goes on
	}},
	{"a link that goes on delivers everything", func(c couple) {
		p, r := c.primary(), c.replica()
		c.freeze(true)
		redistest.Expect(c, p, "SET lock t1 NX PX 30000", "+OK")
		redistest.Expect(c, r, "GET lock", "$-1")
		c.freeze(false)
		c.synced()
		redistest.Expect(c, r, "GET lock", "$2 t1")
		redistest.Expect(c, p, "DEL lock", ":1")
		c.synced()
		redistest.Expect(c, r, "GET lock", "$-1")
	}},
	{"the end of a key is the same instant on both", func(c couple) {
		p, r := c.primary(), c.replica()
		for _, command := range []string{
			"SET k v PX 60000", "SET k v NX EX 60", "SETEX k 60 v", "PSETEX k 60000 v", "EXPIRE k 70", "PEXPIRE k 80000",
			"GETEX k EX 90", "EVAL return(redis.call('set','k','v','px',50000)) 0", "EVAL return(redis.call('pexpire','k',99000)) 0",
			"PERSIST k",
		} {
			if strings.Contains(command, "NX") {
				redistest.Expect(c, p, "DEL k", ":1")
			}
			if reply := p.Do(strings.Fields(command)...); reply[0] == '-' {
				c.Errorf("%s: %s", command, reply)
			}
			c.pass(20 * time.Millisecond) // a relative lifetime would show this
			c.synced()
			if a, b := p.Do("PEXPIRETIME", "k"), r.Do("PEXPIRETIME", "k"); a != b || a == ":-2\r\n" {
				c.Errorf("%s: the primary has %q, the replica %q", command, a, b)
			}
		}
	}},
	{"a replica waits to be told that a key is over, and answers as if it was", func(c couple) {
		p, r := c.primary(), c.replica()
		redistest.Expect(c, p, "HSET h f v", ":1")
		redistest.Expect(c, p, "SET lock t1 PX 1500", "+OK")
		redistest.Expect(c, p, "PEXPIRE h 1500", ":1")
		c.synced()
		c.freeze(true)
		c.pass(1600 * time.Millisecond)
		for i := 0; i < 2; i++ {
			redistest.Expect(c, r, "GET lock", "$-1")
			redistest.Expect(c, r, "EXISTS lock h", ":0")
			redistest.Expect(c, r, "PTTL lock", ":-2")
			redistest.Expect(c, r, "PEXPIRETIME lock", ":-2")
			redistest.Expect(c, r, "TYPE h", "+none")
			redistest.Expect(c, r, "HGET h f", "$-1")
			redistest.Expect(c, r, "KEYS *", "*0")
			redistest.Expect(c, r, "EVAL return(redis.call('get','lock')) 0", "$-1")
			redistest.Expect(c, r, "DBSIZE", ":2")
		}
		c.freeze(false)
		c.synced()
		redistest.Expect(c, r, "DBSIZE", ":0")
	}},
	{"a replica that is promoted lets keys expire", func(c couple) {
		p, r := c.primary(), c.replica()
		redistest.Expect(c, p, "SET lock t1 PX 1500", "+OK")
		c.synced()
		c.freeze(true)
		c.pass(1600 * time.Millisecond)
		redistest.Expect(c, r, "DBSIZE", ":1")
		c.promote()
		redistest.Expect(c, r, "SET lock t2 NX", "+OK")
		redistest.Expect(c, r, "SET short t3 PX 50", "+OK")
		c.pass(time.Second)
		redistest.Expect(c, r, "DBSIZE", ":1")
	}},
	{"a promoted replica whose clock is ahead ends a lock that it has acknowledged", func(c couple) {
		p, r := c.primary(), c.replica()
		redistest.Expect(c, p, "SET lock t1 NX PX 30000", "+OK")
		redistest.Expect(c, p, "WAIT 1 5000", ":1")
		c.skew(40 * time.Second)
		redistest.Expect(c, r, "GET lock", "$-1")
		redistest.Expect(c, r, "DBSIZE", ":1") // a replica must not delete it
		redistest.Expect(c, p, "GET lock", "$2 t1")
		c.promote()
		redistest.Expect(c, r, "SET lock t2 NX PX 30000", "+OK")
		redistest.Expect(c, p, "GET lock", "$2 t1") // two clients hold the lock
		redistest.Expect(c, p, "SET lock t3 NX PX 30000", "$-1")
	}},
	{"one whose clock is right does not", func(c couple) {
		p, r := c.primary(), c.replica()
		redistest.Expect(c, p, "SET lock t1 NX PX 30000", "+OK")
		redistest.Expect(c, p, "WAIT 1 5000", ":1")
		c.promote()
		redistest.Expect(c, r, "SET lock t2 NX PX 30000", "$-1")
		redistest.Expect(c, r, "GET lock", "$2 t1")
	}},
	{"one whose clock is ahead by less does not either", func(c couple) {
		p, r := c.primary(), c.replica()
		redistest.Expect(c, p, "SET lock t1 NX PX 30000", "+OK")
		redistest.Expect(c, p, "WAIT 1 5000", ":1")
		c.skew(5 * time.Second)
		c.promote()
		redistest.Expect(c, r, "SET lock t2 NX PX 30000", "$-1")
	}},
	{"one whose clock is behind keeps a lock that is over", func(c couple) {
		p, r := c.primary(), c.replica()
		redistest.Expect(c, p, "SET lock t1 NX PX 1000", "+OK")
		redistest.Expect(c, p, "WAIT 1 5000", ":1")
		c.skew(-40 * time.Second)
		c.freeze(true)
		c.pass(1200 * time.Millisecond)
		redistest.Expect(c, p, "GET lock", "$-1")
		c.promote()
		redistest.Expect(c, r, "SET lock t2 NX PX 30000", "$-1")
		redistest.Expect(c, r, "GET lock", "$2 t1")
	}},
	{"a replica acknowledges about once a second, whether or not it is asked", func(c couple) {
		p := c.primary()
		acknowledged := func() time.Time {
			redistest.Expect(c, p, "SET k v", "+OK")
			offset := infoOf(p, "master_repl_offset")
			for end := c.now().Add(5 * time.Second); ; c.pass(5 * time.Millisecond) {
				if line := infoOf(p, "slave0"); strings.Contains(line, ",offset="+offset+",lag=0") {
					return c.now()
				}
				if c.now().After(end) {
					c.Fatalf("the primary is at %s, the replica at %s", offset, infoOf(p, "slave0"))
				}
			}
		}
		last := acknowledged()
		for range 2 {
			at := acknowledged()
			if period := at.Sub(last); period < 700*time.Millisecond || period > 2*time.Second {
				c.Errorf("after %v", period)
			}
			last = at
		}
	}},
	{"a primary that becomes a replica loses what it has of its own", func(c couple) {
		p, r := c.primary(), c.replica()
		redistest.Expect(c, p, "SET both t0", "+OK")
		c.synced()
		c.freeze(true)
		redistest.Expect(c, p, "SET lock t1 NX", "+OK")
		redistest.Expect(c, p, "DEL both", ":1")
		c.promote()
		redistest.Expect(c, r, "SET lock t2 NX PX 60000", "+OK")
		c.rejoin()
		redistest.Expect(c, p, "GET lock", "$2 t2")
		redistest.Expect(c, p, "GET both", "$2 t0")
		if a, b := p.Do("PEXPIRETIME", "lock"), r.Do("PEXPIRETIME", "lock"); a != b {
			c.Errorf("the end of the key is %q and %q", a, b)
		}
		redistest.Expect(c, p, "SET lock t3", "-READONLY You can't write against a read only replica.")
	}},
	{"a replica refuses writes", func(c couple) {
		p, r := c.primary(), c.replica()
		redistest.Expect(c, p, "SET lock t1", "+OK")
		c.synced()
		const readOnly = "-READONLY You can't write against a read only replica."
		for _, command := range []string{"SET lock t2 NX", "DEL lock", "PEXPIRE none 5", "GETEX lock", "GETDEL none", "FLUSHALL"} {
			redistest.Expect(c, r, command, readOnly)
		}
		redistest.Expect(c, r, "EVAL return(redis.call('get','lock')) 0", "$2 t1")
		const script = "return(redis.call('del','lock'))"
		redistest.Expect(c, r, "EVAL "+script+" 0", readOnly+" script: "+sha1Hex(script)+", on @user_script:1.")
		redistest.Expect(c, r, "EVAL return(redis.pcall('del','lock')) 0", readOnly)
		if got := r.Do("EVAL", "#!lua\nreturn 1", "0"); got != readOnly+"\r\n" {
			c.Errorf("a script that may write: %q", got)
		}
		if got := r.Do("EVAL", "#!lua flags=no-writes\nreturn 1", "0"); got != ":1\r\n" {
			c.Errorf("a script that may not write: %q", got)
		}
		redistest.Expect(c, r, "MULTI", "+OK")
		redistest.Expect(c, r, "GET lock", "+QUEUED")
		redistest.Expect(c, r, "SET lock t2", readOnly)
		redistest.Expect(c, r, "EXEC", "-EXECABORT Transaction discarded because of previous errors.")
		redistest.Expect(c, r, "GET lock", "$2 t1")
	}},
	{"WAIT counts the replicas that have the writes of its connection", func(c couple) {
		p, other := c.primary(), c.primary()
		redistest.Expect(c, p, "SET lock t1", "+OK")
		redistest.Expect(c, p, "WAIT 1 5000", ":1")
		redistest.Expect(c, p, "WAIT 0 0", ":1")
		redistest.Expect(c, p, "SET lock t2", "+OK")
		redistest.Expect(c, p, "WAIT 2 500", ":1")
		c.freeze(true)
		redistest.Expect(c, p, "SET lock t3", "+OK")
		redistest.Expect(c, other, "WAIT 1 100", ":1") // this connection has not written anything
		redistest.Expect(c, p, "WAIT 1 100", ":0")
		redistest.Expect(c, p, "GET lock", "$2 t3") // nothing is rolled back
		redistest.Expect(c, p, "WAIT 0 0", ":0")
		c.freeze(false)
		redistest.Expect(c, p, "WAIT 1 5000", ":1")
	}},
	{"WAIT takes the last command of its connection for a write", func(c couple) {
		p, other := c.primary(), c.primary()
		redistest.Expect(c, p, "SET lock t1", "+OK")
		redistest.Expect(c, other, "WAIT 1 5000", ":1") // returns at once: this connection has not written anything
		redistest.Expect(c, other, "WAIT 1 5000", ":1") // waits for t1, because the last command of this connection was WAIT
		c.freeze(true)
		redistest.Expect(c, p, "SET lock t2", "+OK")
		redistest.Expect(c, other, "WAIT 1 100", ":1") // ignores the write of another connection
		redistest.Expect(c, p, "SET lock t3", "+OK")
		redistest.Expect(c, other, "GET lock", "$2 t3")
		redistest.Expect(c, other, "WAIT 1 100", ":0")
		redistest.Expect(c, p, "SET lock t4 NX", "$-1") // writes nothing
		redistest.Expect(c, p, "WAIT 1 100", ":0")
	}},
	{"WAIT answers at once in a transaction", func(c couple) {
		p := c.primary()
		c.freeze(true)
		redistest.Expect(c, p, "MULTI", "+OK")
		redistest.Expect(c, p, "SET lock t1", "+QUEUED")
		redistest.Expect(c, p, "WAIT 1 0", "+QUEUED")
		redistest.Expect(c, p, "EXEC", "*2 +OK :1") // counts by the offset before the transaction
		redistest.Expect(c, p, "WAIT 1 50", ":0")
		redistest.Expect(c, p, "MULTI", "+OK")
		redistest.Expect(c, p, "WAIT 1 0", "+QUEUED")
		redistest.Expect(c, p, "EXEC", "*1 :0")
	}},
	{"WAIT has its refusals", func(c couple) {
		p, r := c.primary(), c.replica()
		redistest.Expect(c, p, "WAIT x 0", "-ERR value is not an integer or out of range")
		redistest.Expect(c, p, "WAIT 1 x", "-ERR timeout is not an integer or out of range")
		redistest.Expect(c, p, "WAIT 1 -1", "-ERR timeout is negative")
		redistest.Expect(c, p, "WAIT 1 9223372036854775807", ":1")
		redistest.Expect(c, p, "WAIT 1 9223372036854775808", "-ERR timeout is not an integer or out of range")
		redistest.Expect(c, p, "WAIT -1 0", ":1")
		redistest.Expect(c, r, "WAIT 0 0", "-ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a "+
			"replica is configured to be writable (which is not the default) writes to replicas are just local and are not propagated.")
		redistest.Expect(c, p, "EVAL return(redis.call('wait',0,0)) 0", "-ERR This Redis command is not allowed from script script: "+
			sha1Hex("return(redis.call('wait',0,0))")+", on @user_script:1.")
	}},
	{"min-replicas refuses writes while a replica is silent", func(c couple) {
		p, r := c.primary(), c.replica()
		c.minReplicas(1, 3*time.Second)
		redistest.Expect(c, p, "SET lock t1", "+OK")
		c.synced()
		c.freeze(true)
		redistest.Expect(c, p, "SET lock t2", "+OK") // the replica has not been silent for long
		c.pass(5200 * time.Millisecond)
		const few = "-NOREPLICAS Not enough good replicas to write."
		redistest.Expect(c, p, "SET lock t3", few)
		redistest.Expect(c, p, "DEL none", few)
		redistest.Expect(c, p, "GET lock", "$2 t2")
		redistest.Expect(c, p, "EVAL return(redis.call('get','lock')) 0", "$2 t2")
		const script = "return(redis.call('del','lock'))"
		redistest.Expect(c, p, "EVAL "+script+" 0", few+" script: "+sha1Hex(script)+", on @user_script:1.")
		if got := p.Do("EVAL", "#!lua\nreturn 1", "0"); got != few+"\r\n" {
			c.Errorf("a script that may write: %q", got)
		}
		redistest.Expect(c, p, "MULTI", "+OK")
		redistest.Expect(c, p, "SET lock t3", few)
		redistest.Expect(c, p, "EXEC", "-EXECABORT Transaction discarded because of previous errors.")
		redistest.Expect(c, r, "SET lock t3", "-READONLY You can't write against a read only replica.")
	}},
	{"min-replicas is asked again at EXEC", func(c couple) {
		p := c.primary()
		redistest.Expect(c, p, "MULTI", "+OK")
		redistest.Expect(c, p, "SET lock t1", "+QUEUED")
		c.minReplicas(2, 10*time.Second)
		redistest.Expect(c, p, "EXEC", "-EXECABORT Transaction discarded because of: NOREPLICAS Not enough good replicas to write.")
		c.minReplicas(1, 10*time.Second)
		redistest.Expect(c, p, "SET lock t1", "+OK")
	}},
	{"what is published on a primary reaches the subscribers of its replica, and nothing goes the other way", func(c couple) {
		p, r, other, there := c.primary(), c.replica(), c.replica(), c.primary()
		redistest.Expect(c, r, "SUBSCRIBE free", "*3 $9 subscribe $4 free :1")
		redistest.Expect(c, there, "SUBSCRIBE free", "*3 $9 subscribe $4 free :1")
		redistest.Expect(c, p, "PUBLISH free 1", ":1") // the replica's do not count
		redistest.Expect(c, p, "EVAL redis.call('set','k','v');return(redis.call('publish','free','2')) 0", ":1")
		for _, s := range []redistest.Waiter{r, there} {
			expectMessage(c, s, "*3 $7 message $4 free $1 1")
			expectMessage(c, s, "*3 $7 message $4 free $1 2")
		}
		redistest.Expect(c, other, "PUBLISH free 3", ":1")
		redistest.Expect(c, p, "PUBLISH free 4", ":1")
		expectMessage(c, r, "*3 $7 message $4 free $1 3")
		expectMessage(c, r, "*3 $7 message $4 free $1 4")
		expectMessage(c, there, "*3 $7 message $4 free $1 4")
	}},
	{"a subscription stays with its server when the roles change", func(c couple) {
		p, r, old := c.primary(), c.replica(), c.primary()
		redistest.Expect(c, old, "SUBSCRIBE free", "*3 $9 subscribe $4 free :1")
		c.freeze(true)
		c.promote()
		redistest.Expect(c, p, "PUBLISH free 1", ":1")
		c.rejoin()
		redistest.Expect(c, r, "PUBLISH other 2", ":0")
		redistest.Expect(c, p, "PUBLISH free 3", ":1")
		expectMessage(c, old, "*3 $7 message $4 free $1 1")
		expectMessage(c, old, "*3 $7 message $4 free $1 3")
	}},
	{"the effect of BLPOP is LPOP", func(c couple) {
		p, r, waits := c.primary(), c.replica(), c.primary()
		waits.Send("BLPOP", "none", "l", "0")
		redistest.Expect(c, p, "RPUSH l a b", ":2")
		expectMessage(c, waits, "*2 $1 l $1 a")
		c.synced()
		redistest.Expect(c, r, "LRANGE l 0 -1", "*1 $1 b")
		redistest.Expect(c, waits, "BRPOP l 0", "*2 $1 l $1 b")
		c.synced()
		redistest.Expect(c, r, "EXISTS l", ":0")
		redistest.Expect(c, r, "BLPOP l 0", "-READONLY You can't write against a read only replica.")
	}},
	{"BLPOP replies with nothing after its timeout", func(c couple) {
		p := c.primary()
		for _, command := range []string{"BLPOP none 0.15", "BRPOP none other 0.15"} {
			begin := c.now()
			redistest.Expect(c, p, command, "*-1")
			if took := c.now().Sub(begin); took < 150*time.Millisecond || took > 320*time.Millisecond {
				c.Errorf("%s: after %v", command, took)
			}
		}
		redistest.Expect(c, p, "PING", "+PONG")
	}},
	{"a wait ends with an error, and the connection with it, if the primary becomes a replica", func(c couple) {
		waits := c.primary()
		waits.Send("BLPOP", "l", "0")
		redistest.Expect(c, c.primary(), "PING", "+PONG") // the server has read both when it replies
		c.freeze(true)
		c.promote()
		c.rejoin()
		expectMessage(c, waits, "-UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)")
	}},
	{"ROLE and INFO know who is who", func(c couple) {
		p, r := c.primary(), c.replica()
		redistest.Expect(c, p, "SET lock t1", "+OK")
		c.synced()
		role := func(s redistest.Conn) string { return strings.Fields(s.Do("ROLE"))[2] }
		has := func(s redistest.Conn, lines ...string) {
			c.Helper()
			info := s.Do("INFO", "replication")
			for _, line := range lines {
				if !strings.Contains(info, "\r\n"+line+"\r\n") {
					c.Errorf("INFO replication has no %s: %q", line, info)
				}
			}
		}
		if role(p) != "master" || role(r) != "slave" {
			c.Errorf("roles %s and %s", role(p), role(r))
		}
		if got := strings.Fields(r.Do("ROLE")); got[7] != "connected" {
			c.Errorf("the link of the replica is %s", got[7])
		}
		has(p, "role:master", "connected_slaves:1")
		has(r, "role:slave", "master_link_status:up", "connected_slaves:0", "slave_read_only:1")
		redistest.Expect(c, r, "SET lock t2", "-READONLY You can't write against a read only replica.")
		c.promote()
		if role(r) != "master" {
			c.Errorf("after promotion the role is %s", role(r))
		}
		has(r, "role:master")
		redistest.Expect(c, r, "SET lock t2", "+OK")
	}},
}

func expectMessage(t testing.TB, s redistest.Waiter, want string) {
	t.Helper()
	if got := strings.TrimSpace(strings.ReplaceAll(s.Hear(), "\r\n", " ")); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestReplicationOnNodes(t *testing.T) {
	for _, fact := range replicationFacts {
		t.Run(fact.name, func(t *testing.T) { fact.show(newNodes(t).couple()) })
	}
}

func TestReplicationOnRedis(t *testing.T) {
	t.Parallel()
	redistest.NeedServer(t)
	for _, fact := range replicationFacts {
		t.Run(fact.name, func(t *testing.T) {
			t.Parallel()
			redistest.Steady(t, func(t testing.TB) { fact.show(realCouple(t)) })
		})
	}
}

// twoNodes are a primary and a replica with a link between them.
type twoNodes struct {
	t     testing.TB
	clock *testClock
	n, r  *Redis
	skew  time.Duration // how far the replica's clock is ahead
	sent  [][]byte      // on its way to the replica
	stuck bool
	late  map[*Session][]string
}

func newNodes(t testing.TB) *twoNodes {
	two := &twoNodes{t: t, late: map[*Session][]string{}}
	two.n, two.clock = newNode(t)
	two.r = NewRedis(func() time.Time { return two.clock.Add(two.skew) })
	t.Cleanup(two.r.Close)
	two.n.OnReply(func(s *Session, reply []byte) {
		two.tell(s, reply)
		two.tell(s, s.Feed(nil))
	})
	for _, r := range []*Redis{two.n, two.r} {
		r.OnPush(two.tell)
	}
	two.n.Stream(func(unit []byte) { two.sent = append(two.sent, unit) })
	two.r.Follow("n1")
	two.r.Load(two.n.Snapshot(), two.n.Offset())
	two.n.Acked("r1", two.r.Offset())
	return two
}

func (two *twoNodes) couple() couple {
	return couple{
		TB:      two.t,
		primary: func() redistest.Waiter { return twoConn{two, two.n.Connect("c1")} },
		replica: func() redistest.Waiter { return twoConn{two, two.r.Connect("c2")} },
		synced:  two.deliver, freeze: func(frozen bool) { two.stuck = frozen; two.deliver() },
		promote: two.r.Promote, rejoin: func() {
			two.n.Follow("r1")
			two.n.Load(two.r.Snapshot(), two.r.Offset())
		}, pass: two.pass, now: two.clock.now, minReplicas: two.n.MinReplicas,
		skew: func(by time.Duration) {
			two.skew = by
			two.r.Tick()
		},
	}
}

// A replica that has lost its primary says so in INFO, by which a Sentinel chooses among replicas.
func TestReplicaWithoutALink(t *testing.T) {
	two := newNodes(t)
	two.r.Unlinked()
	if info := two.r.Connect("c1").Do("INFO", "replication"); !strings.Contains(string(info), "\r\nmaster_link_status:down\r\n") {
		t.Errorf("INFO replication: %q", info)
	}
}

// tell keeps what a connection is sent until somebody hears it.
func (two *twoNodes) tell(s *Session, data []byte) {
	if len(data) > 0 {
		two.late[s] = append(two.late[s], string(data))
	}
}

// deliver lets the replica catch up unless the link is frozen.
func (two *twoNodes) deliver() {
	for len(two.sent) > 0 && !two.stuck {
		unit := two.sent[0]
		two.sent = two.sent[1:]
		if two.r.Apply(unit) {
			two.n.Acked("r1", two.r.Offset())
		}
	}
}

// pass lets time pass. The replica acknowledges every second.
func (two *twoNodes) pass(d time.Duration) {
	for end := two.clock.Add(d); two.clock.Before(end); {
		second := two.clock.Truncate(time.Second).Add(time.Second)
		next := second
		for _, r := range []*Redis{two.n, two.r} {
			at, ok := r.NextDeadline()
			if r == two.r {
				at = at.Add(-two.skew)
			}
			if ok && at.Before(next) {
				next = at
			}
		}
		if end.Before(next) {
			next = end
		}
		two.clock.Time = next
		two.n.Tick()
		two.r.Tick()
		two.deliver()
		if next.Equal(second) && !two.stuck {
			two.n.Acked("r1", two.r.Offset())
		}
	}
}

// twoConn is a connection to one of the two nodes. It waits for replies that take time.
type twoConn struct {
	two *twoNodes
	s   *Session
}

func (c twoConn) Do(args ...string) string {
	c.Send(args...)
	return c.Hear()
}

func (c twoConn) Send(args ...string) {
	c.two.tell(c.s, []byte(c.s.Do(args...)))
	c.two.deliver()
}

func (c twoConn) Hear() string {
	for end := c.two.clock.Add(time.Minute); len(c.two.late[c.s]) == 0; c.two.pass(10 * time.Millisecond) {
		if c.two.clock.After(end) {
			c.two.t.Fatal("nothing is heard for a minute")
		}
	}
	heard := c.two.late[c.s][0]
	c.two.late[c.s] = c.two.late[c.s][1:]
	return heard
}

// realCouple starts two servers, one of which is a replica of the other over a link that can be frozen.
// [TestStoppedReplicaLosesNothing] shows why the replica is not stopped instead.
func realCouple(t testing.TB) couple {
	start := func(extra ...string) *redisserver.Server {
		s, err := redisserver.Start(t.Context(), append(extra, "--repl-diskless-sync-delay", "0", "--appendonly", "no")...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Stop)
		return s
	}
	p := start()
	link := newFreezer(t, p.Addr())
	r := start("--replicaof", strings.ReplaceAll(link.addr, ":", " "))
	control, admin := redistest.Dial(t, p.Addr()), redistest.Dial(t, r.Addr())
	synced := func() {
		t.Helper()
		var offset int
		fmt.Sscanf(infoOf(control, "master_repl_offset"), "%d", &offset)
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(2 * time.Millisecond) {
			var at int
			fmt.Sscanf(infoOf(admin, "slave_repl_offset"), "%d", &at)
			if infoOf(admin, "master_link_status") == "up" && at >= offset && infoOf(control, "connected_slaves") == "1" &&
				strings.Contains(infoOf(control, "slave0"), "state=online") {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("the replica does not catch up: %s", admin.Do("INFO", "replication"))
			}
		}
	}
	synced()
	return couple{
		TB: t, primary: func() redistest.Waiter { return redistest.Dial(t, p.Addr()) }, replica: func() redistest.Waiter { return redistest.Dial(t, r.Addr()) },
		synced: synced, freeze: link.freeze, pass: time.Sleep, now: time.Now,
		// The deadlines of keys are moved. Even while a replica accepts writes, it does not expire keys that it has copied.
		skew: func(by time.Duration) {
			redistest.Expect(t, admin, "CONFIG SET replica-read-only no", "+OK")
			if moved, err := r.Jump(by); err != nil || moved != 1 {
				t.Fatalf("%d keys have another end: %v", moved, err)
			}
			redistest.Expect(t, admin, "CONFIG SET replica-read-only yes", "+OK")
		},
		promote: func() { admin.Do("REPLICAOF", "NO", "ONE") },
		rejoin: func() {
			link.freeze(false) // the frozen link leads to nobody any more
			host, port, _ := net.SplitHostPort(r.Addr())
			control.Do("REPLICAOF", host, port)
			for deadline := time.Now().Add(10 * time.Second); infoOf(control, "master_link_status") != "up"; time.Sleep(2 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("the old primary does not catch up: %s", control.Do("INFO", "replication"))
				}
			}
		},
		minReplicas: func(n int, maxLag time.Duration) {
			control.Do("CONFIG", "SET", "min-replicas-to-write", fmt.Sprint(n),
				"min-replicas-max-lag", fmt.Sprint(int(maxLag/time.Second)))
		},
	}
}

// What was sent to a stopped replica waits in its socket, and the replica reads it when it resumes, even if its primary is dead by
// then. That is why tests freeze the link instead. Sometimes the replica does not read it: if it sends an acknowledgement first, it
// finds the connection closed, and drops it with all unread data. So this is tried several times, and must succeed once.
func TestStoppedReplicaLosesNothing(t *testing.T) {
	t.Parallel()
	redistest.NeedServer(t)
	if redisserver.StopSignal == nil {
		t.Skip("no process can be paused here")
	}
	for range 20 {
		if stoppedReplicaFinds(t) {
			return
		}
	}
	t.Error("what was in the socket is lost")
}

func stoppedReplicaFinds(t *testing.T) bool {
	extra := []string{"--repl-diskless-sync-delay", "0", "--appendonly", "no"}
	p := redistest.StartServer(t, t.Context(), extra...)
	r := redistest.StartServer(t, t.Context(), append(extra, "--replicaof", strings.ReplaceAll(p.Addr(), ":", " "))...)
	c, replica := redistest.Dial(t, p.Addr()), redistest.Dial(t, r.Addr())
	redistest.Expect(t, c, "WAIT 1 10000", ":1")
	if err := r.Pause(); err != nil {
		t.Fatal(err)
	}
	redistest.Expect(t, c, "SET lock t1", "+OK")
	redistest.Expect(t, c, "WAIT 1 50", ":0")
	p.Crash()
	if err := r.Resume(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(500 * time.Millisecond); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if replica.Do("GET", "lock") == "$2\r\nt1\r\n" {
			return true
		}
	}
	return false
}

// infoOf returns the value of one line of INFO replication.
func infoOf(c redistest.Conn, name string) string {
	_, rest, _ := strings.Cut(c.Do("INFO", "replication"), "\r\n"+name+":")
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}

// freezer forwards connections, and can hold the data of both directions.
type freezer struct {
	addr   string
	mu     sync.Mutex
	frozen bool
	thawed *sync.Cond
}

func newFreezer(t testing.TB, target string) *freezer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &freezer{addr: l.Addr().String()}
	f.thawed = sync.NewCond(&f.mu)
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		l.Close()
		f.freeze(false)
		work.Wait()
	})
	forward := func(to, from net.Conn) {
		defer to.Close()
		io.Copy(writer(func(p []byte) (int, error) {
			f.mu.Lock()
			for f.frozen {
				f.thawed.Wait()
			}
			f.mu.Unlock()
			return to.Write(p)
		}), from)
	}
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", target)
			if err != nil {
				c.Close()
				continue
			}
			context.AfterFunc(ctx, func() { c.Close(); up.Close() })
			work.Go(func() { forward(up, c) })
			work.Go(func() { forward(c, up) })
		}
	})
	return f
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func (f *freezer) freeze(frozen bool) {
	f.mu.Lock()
	f.frozen = frozen
	f.mu.Unlock()
	f.thawed.Broadcast()
}

// A replica reports the changes of its primary, with the primary as their cause.
func TestReplicaReportsItsPrimary(t *testing.T) {
	two := newNodes(t)
	var got []Change
	two.r.Observe(func(c Change) { got = append(got, c) })
	p := twoConn{two, two.n.Connect("c1")}
	p.Do("SET", "lock", "t1", "NX", "PX", "100")
	p.Do("SET", "lock", "t1", "PX", "100")
	p.Do("EVAL", "redis.call('set', 'lock', 't2', 'px', 200) redis.call('incr', 'fence')", "0")
	p.Do("PEXPIRE", "lock", "300")
	p.Do("DEL", "fence")
	two.pass(time.Second)
	in := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	none := time.Time{}
	want := []Change{
		{history.Set, "lock", "", "t1", in(100), none, "n1", false, "SET", false, nil},
		{history.Over, "lock", "t1", "t2", in(200), in(100), "n1", false, "SET", false, nil},
		{history.Set, "fence", "", "1", none, none, "n1", false, "SET", false, nil},
		{history.Retime, "lock", "t2", "t2", in(300), in(200), "n1", false, "PEXPIREAT", false, nil},
		{history.Delete, "fence", "1", "", none, none, "n1", false, "DEL", false, nil},
		{history.Delete, "lock", "t2", "", none, in(300), "n1", false, "DEL", false, nil},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf(" got %+v\nwant %+v", got, want)
	}

	// A full copy replaces whatever the replica had.
	got = nil
	two.r.Promote()
	own := two.r.Connect("c2")
	own.Do("SET", "mine", "t3")
	own.Do("SET", "both", "t4")
	two.stuck = true
	p.Do("SET", "both", "t5")
	p.Do("SET", "new", "t6", "PX", "50")
	p.Do("HSET", "h", "f", "v")
	two.r.Follow("n1")
	two.sent = nil
	two.r.Load(two.n.Snapshot(), two.n.Offset())
	end := in(1050)
	want = []Change{
		{history.Set, "mine", "", "t3", none, none, "c2", false, "SET", false, nil},
		{history.Set, "both", "", "t4", none, none, "c2", false, "SET", false, nil},
		{history.Over, "both", "t4", "t5", none, none, "n1", false, "PSYNC", false, nil},
		{history.Set, "h", "", made("HSET h f v"), none, none, "n1", false, "PSYNC", true, nil},
		{history.Delete, "mine", "t3", "", none, none, "n1", false, "PSYNC", false, nil},
		{history.Set, "new", "", "t6", end, none, "n1", false, "PSYNC", false, nil},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf(" got %+v\nwant %+v", got, want)
	}
	if two.r.Offset() != two.n.Offset() {
		t.Errorf("offset %d of %d", two.r.Offset(), two.n.Offset())
	}
	if got, want := string(two.r.Snapshot()), string(two.n.Snapshot()); got != want {
		t.Errorf("the replica has %q, the primary %q", got, want)
	}
}

// Deadlines are absolute, so a key that is over by the wall clock of a promoted replica expires, whoever holds the lock.
func TestPromotedReplicaGoesByItsOwnClock(t *testing.T) {
	n, clock := newNode(t)
	ahead := &testClock{clock.Add(40 * time.Second)}
	r := NewRedis(ahead.now)
	t.Cleanup(r.Close)
	var got []Change
	r.Observe(func(c Change) { got = append(got, c) })
	r.Follow("n1")
	n.Stream(func(unit []byte) { r.Apply(unit) })
	n.Connect("c1").Do("SET", "lock", "t1", "NX", "PX", "30000")
	redistest.Expect(t, r.Connect("c2"), "GET lock", "$-1")
	if _, ok := r.NextDeadline(); ok {
		t.Error("a replica waits for the end of a key")
	}
	r.Tick()
	if len(got) != 1 || got[0].Op != history.Set {
		t.Errorf("a replica reports %+v", got)
	}
	r.Promote()
	if len(got) != 2 || got[1].Op != history.Expire || got[1].By != "" {
		t.Errorf("a promoted replica reports %+v", got)
	}
	redistest.Expect(t, r.Connect("c2"), "SET lock t2 NX PX 30000", "+OK")
}

// While a connection is in WAIT, its further commands wait too, but those of other connections do not.
func TestWaitKeepsItsConnection(t *testing.T) {
	r, clock := newNode(t)
	type answer struct {
		s     *Session
		reply string
	}
	var late []answer
	r.OnReply(func(s *Session, reply []byte) { late = append(late, answer{s, string(reply) + string(s.Feed(nil))}) })
	asked := 0
	r.Stream(func(unit []byte) {
		if strings.Contains(string(unit), "GETACK") {
			asked++
		}
	})
	r.Acked("r1", 0)
	a, b, c := r.Connect("c1"), r.Connect("c2"), r.Connect("c3")
	for _, s := range []*Session{a, b, c} {
		s.Do("SET", "k", s.client)
	}
	if got := a.Do("WAIT", "1", "500") + a.Do("INCR", "n") + a.Do("WAIT", "1", "0") + a.Do("INCR", "n"); got != "" {
		t.Errorf("a connection in WAIT answers %q", got)
	}
	if got := string(b.Feed([]byte("PING\r\nWAIT 1 0\r\nINCR n\r\n"))); got != "+PONG\r\n" {
		t.Errorf("before WAIT: %q", got)
	}
	offset := b.wrote
	c.Do("WAIT", "1", "100")
	if asked != 3 {
		t.Errorf("replicas were asked %d times", asked)
	}
	redistest.Expect(t, r.Connect("c4"), "EXISTS n", ":0")
	c.Close() // it gets no reply
	if at, ok := r.NextDeadline(); !ok || !at.Equal(start.Add(501*time.Millisecond)) {
		t.Errorf("the next deadline is %v", at)
	}
	clock.advance(500 * time.Millisecond)
	r.Tick()
	if late != nil {
		t.Errorf("answers before the timeout: %+v", late)
	}
	clock.advance(time.Millisecond)
	r.Tick()
	if want := []answer{{a, ":0\r\n:1\r\n"}}; !reflect.DeepEqual(late, want) {
		t.Errorf("after the timeout: %+v", late)
	}
	late = nil
	r.Acked("r1", offset-1)
	r.Acked("r1", offset)
	if want := []answer{{b, ":1\r\n:2\r\n"}}; !reflect.DeepEqual(late, want) {
		t.Errorf("after an acknowledgement: %+v", late)
	}
	late = nil
	r.ReplicaGone("r1")
	r.Acked("r2", r.Offset())
	if want := []answer{{a, ":1\r\n:3\r\n"}}; !reflect.DeepEqual(late, want) {
		t.Errorf("after an acknowledgement by another: %+v", late)
	}
	late = nil
	a.Do("WAIT", "2", "0")
	r.Follow("r2")
	if len(late) != 1 || !strings.HasPrefix(late[0].reply, "-UNBLOCKED ") || !a.Closed() {
		t.Errorf("a primary that becomes a replica answers %+v", late)
	}
}

// A clock that is set back makes WAIT longer, because its timeout is an instant of the wall clock.
func TestWaitGoesByTheWallClock(t *testing.T) {
	r, clock := newNode(t)
	answered := false
	r.OnReply(func(*Session, []byte) { answered = true })
	s := r.Connect("c1")
	s.Do("WAIT", "1", "100")
	clock.advance(-time.Second)
	r.Tick()
	clock.advance(1100 * time.Millisecond)
	r.Tick()
	if answered {
		t.Error("answered too early")
	}
	clock.advance(time.Millisecond)
	if r.Tick(); !answered {
		t.Error("not answered")
	}
}

func TestDelegate(t *testing.T) {
	r, _ := newNode(t)
	r.Delegate(func(s *Session, args []string) ([]byte, bool) {
		if args[0] == "REPLCONF" {
			r.Acked(s.client, 7)
			return []byte("+OK\r\n"), true
		}
		return nil, false
	})
	s := r.Connect("r1")
	if got := string(s.Feed([]byte("PING\r\nREPLCONF ACK 7\r\nPING\r\n"))); got != "+PONG\r\n+OK\r\n+PONG\r\n" {
		t.Errorf("got %q", got)
	}
	redistest.Expect(t, s, "WAIT 1 0", ":1")
	redistest.Expect(t, s, "PSYNC ? -1", "-ERR PSYNC is a command of redis-server that Lockstep does not simulate")
}
