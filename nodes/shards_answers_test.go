package nodes

import (
	"strings"
	"testing"

	"lockstep/nodes/internal/redistest"
)

// TestClusterCommands: replies that only a node of a cluster gives.
func TestClusterCommands(t *testing.T) {
	play{cfg: shards(3, 1), seed: 1, faults: "10s promote r1", lines: `
		c1 1s CLUSTER SLOTS -> [[0 5460 [10.0.0.3 6379 p2]] [5461 10921 [10.0.0.1 6379 n1] [10.0.0.2 6379 r1]] [10922 16383 [10.0.0.4 6379 p3]]]
		c1 1s SET foo 1 -> MOVED 12182 10.0.0.4:6379
		c1 1s EVAL return{redis.call('set',KEYS[1],1)} 1 foo -> MOVED 12182
		c1 1s EVAL return{redis.call('set',KEYS[1],1)} 1 lock -> [OK]
		c1 1s MSET lock 1 foo 1 -> CROSSSLOT
		c1 1s MSET lock 1 {lock}.fence 1 -> OK
		c1 1s SELECT 0 -> OK
		c1 1s SELECT 1 -> ERR SELECT is not allowed in cluster mode
		c1 1s SELECT x -> ERR value is not an integer or out of range
		c1 2s CLUSTER KEYSLOT lock -> 8718
		c1 12s GET {lock}.fence -> MOVED 8718 10.0.0.2:6379
		c1 12s GET {lock}.fence -> 1
		c1 13s CLUSTER SLOTS -> [[0 5460 [10.0.0.3 6379 p2]] [5461 10921 [10.0.0.2 6379 r1] [10.0.0.1 6379 n1]]`}.run(t)
}

// TestClusterTransactions: EXEC is refused if one command with all keys of the transaction would be. This ends the transaction.
func TestClusterTransactions(t *testing.T) {
	inGroup(t, shards(3, 1), func(g *Group) {
		g.nodes[0].Observe(nil) // no network delivers the commands
		s := redistest.On(g.nodes[0].Connect("c1"))
		for _, step := range []string{
			"MULTI -> +OK", "SET lock 1 -> +QUEUED", "INCR {lock}.fence -> +QUEUED", "EXEC -> *2 +OK :1",
			"MULTI -> +OK", "SET lock 2 -> +QUEUED", "SET k1 1 -> -MOVED 12706 10.0.0.4:6379", "SET k0 2 -> +QUEUED",
			"EXEC -> -EXECABORT Transaction discarded because of previous errors.",
			"MULTI -> +OK", "SET lock 2 -> +QUEUED", "SET k0 2 -> +QUEUED",
			"EXEC -> -CROSSSLOT Keys in request don't hash to the same slot", "EXEC -> -ERR EXEC without MULTI",
			"MULTI -> +OK", "SET lock 2 -> +QUEUED", "DISCARD -> +OK", "MGET lock {lock}.fence -> *2 $1 1 $1 1",
		} {
			command, want, _ := strings.Cut(step, " -> ")
			redistest.Expect(t, s, command, want)
		}
		s.Do("MULTI")
		s.Do("SET", "lock", "2")
		g.nodes[0].bus.down = true
		redistest.Expect(t, s, "EXEC", "-CLUSTERDOWN The cluster is down")
		g.nodes[0].bus.down = false
		redistest.Expect(t, s, "GET lock", "$1 1")
	})
}
