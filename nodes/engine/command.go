package engine

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A command describes one command of redis-server.
type command struct {
	name string // in capitals; CLIENT|ID for a subcommand
	// arity is the number of elements, including the command word; if it is negative, the least number. first, last and step
	// give the positions of keys; a negative last counts from the end. The values are those of COMMAND.
	arity             int
	first, last, step int
	write             bool
	noScript          bool // redis.call refuses it
	control           bool // runs at once between MULTI and EXEC
	container         bool // its second word is a subcommand
	// run replaces miniredis where that differs from redis-server.
	run func(r *Redis, s *Session, c *command, args []string)
}

// word is the command word without the subcommand.
func (c *command) word() string {
	word, _, _ := strings.Cut(c.name, "|")
	return word
}

// commands are the commands of a node by name, in capitals and in small letters.
var commands = byName(
	// Strings.
	command{name: "SET", arity: -3, write: true, first: 1, last: 1, step: 1, run: runSet},
	command{name: "GET", arity: 2, first: 1, last: 1, step: 1},
	command{name: "GETSET", arity: 3, write: true, first: 1, last: 1, step: 1},
	command{name: "GETDEL", arity: 2, write: true, first: 1, last: 1, step: 1},
	command{name: "GETEX", arity: -2, write: true, first: 1, last: 1, step: 1, run: runGetex},
	command{name: "SETNX", arity: 3, write: true, first: 1, last: 1, step: 1, run: runSetNX},
	command{name: "SETEX", arity: 4, write: true, first: 1, last: 1, step: 1, run: runSetex},
	command{name: "PSETEX", arity: 4, write: true, first: 1, last: 1, step: 1, run: runSetex},
	command{name: "MGET", arity: -2, first: 1, last: -1, step: 1},
	command{name: "MSET", arity: -3, write: true, first: 1, last: -1, step: 2, run: runMSet},
	command{name: "MSETNX", arity: -3, write: true, first: 1, last: -1, step: 2, run: runMSet},
	command{name: "APPEND", arity: 3, write: true, first: 1, last: 1, step: 1},
	command{name: "STRLEN", arity: 2, first: 1, last: 1, step: 1},
	command{name: "GETRANGE", arity: 4, first: 1, last: 1, step: 1, run: runGetRange}, // redislock checks with it whose key it is
	command{name: "INCR", arity: 2, write: true, first: 1, last: 1, step: 1, run: runIncrement},
	command{name: "DECR", arity: 2, write: true, first: 1, last: 1, step: 1, run: runIncrement},
	command{name: "INCRBY", arity: 3, write: true, first: 1, last: 1, step: 1, run: runIncrement},
	command{name: "DECRBY", arity: 3, write: true, first: 1, last: 1, step: 1, run: runIncrement},
	command{name: "DELEX", arity: -2, write: true, first: 1, last: 1, step: 1},

	// Keys and their deadlines.
	command{name: "DEL", arity: -2, write: true, first: 1, last: -1, step: 1},
	command{name: "UNLINK", arity: -2, write: true, first: 1, last: -1, step: 1},
	command{name: "EXISTS", arity: -2, first: 1, last: -1, step: 1},
	command{name: "TOUCH", arity: -2, first: 1, last: -1, step: 1},
	command{name: "TYPE", arity: 2, first: 1, last: 1, step: 1},
	command{name: "RENAME", arity: 3, write: true, first: 1, last: 2, step: 1},
	command{name: "RENAMENX", arity: 3, write: true, first: 1, last: 2, step: 1},
	command{name: "EXPIRE", arity: -3, write: true, first: 1, last: 1, step: 1, run: runExpire},
	command{name: "PEXPIRE", arity: -3, write: true, first: 1, last: 1, step: 1, run: runExpire},
	command{name: "EXPIREAT", arity: -3, write: true, first: 1, last: 1, step: 1, run: runExpire},
	command{name: "PEXPIREAT", arity: -3, write: true, first: 1, last: 1, step: 1, run: runExpire},
	command{name: "PERSIST", arity: 2, write: true, first: 1, last: 1, step: 1},
	command{name: "TTL", arity: 2, first: 1, last: 1, step: 1, run: runTTL},
	command{name: "PTTL", arity: 2, first: 1, last: 1, step: 1, run: runTTL},
	command{name: "EXPIRETIME", arity: 2, first: 1, last: 1, step: 1, run: runTTL},
	command{name: "PEXPIRETIME", arity: 2, first: 1, last: 1, step: 1, run: runTTL},
	command{name: "KEYS", arity: 2},
	command{name: "SCAN", arity: -2},
	command{name: "DBSIZE", arity: 1},
	command{name: "FLUSHALL", arity: -1, write: true, run: runFlush},
	command{name: "FLUSHDB", arity: -1, write: true, run: runFlush},

	// Hashes, sets, lists and sorted sets, which some locks use for queues and counters.
	command{name: "HSET", arity: -4, write: true, first: 1, last: 1, step: 1},
	command{name: "HSETNX", arity: 4, write: true, first: 1, last: 1, step: 1, run: runSetNX},
	command{name: "HGET", arity: 3, first: 1, last: 1, step: 1},
	command{name: "HMGET", arity: -3, first: 1, last: 1, step: 1},
	command{name: "HGETALL", arity: 2, first: 1, last: 1, step: 1},
	command{name: "HEXISTS", arity: 3, first: 1, last: 1, step: 1},
	command{name: "HDEL", arity: -3, write: true, first: 1, last: 1, step: 1},
	command{name: "HINCRBY", arity: 4, write: true, first: 1, last: 1, step: 1, run: runHIncrBy},
	command{name: "HLEN", arity: 2, first: 1, last: 1, step: 1},
	command{name: "HKEYS", arity: 2, first: 1, last: 1, step: 1},
	command{name: "HVALS", arity: 2, first: 1, last: 1, step: 1},
	command{name: "SADD", arity: -3, write: true, first: 1, last: 1, step: 1},
	command{name: "SREM", arity: -3, write: true, first: 1, last: 1, step: 1},
	command{name: "SISMEMBER", arity: 3, first: 1, last: 1, step: 1},
	command{name: "SMEMBERS", arity: 2, first: 1, last: 1, step: 1},
	command{name: "SCARD", arity: 2, first: 1, last: 1, step: 1},
	command{name: "LPUSH", arity: -3, write: true, first: 1, last: 1, step: 1},
	command{name: "RPUSH", arity: -3, write: true, first: 1, last: 1, step: 1},
	command{name: "LPOP", arity: -2, write: true, first: 1, last: 1, step: 1},
	command{name: "RPOP", arity: -2, write: true, first: 1, last: 1, step: 1},
	command{name: "LLEN", arity: 2, first: 1, last: 1, step: 1},
	command{name: "LINDEX", arity: 3, first: 1, last: 1, step: 1},
	command{name: "LRANGE", arity: 4, first: 1, last: 1, step: 1},
	command{name: "BLPOP", arity: -3, write: true, first: 1, last: -2, step: 1, noScript: true, run: runBlockingPop},
	command{name: "BRPOP", arity: -3, write: true, first: 1, last: -2, step: 1, noScript: true, run: runBlockingPop},
	command{name: "LREM", arity: 4, write: true, first: 1, last: 1, step: 1},
	command{name: "ZADD", arity: -4, write: true, first: 1, last: 1, step: 1},
	command{name: "ZREM", arity: -3, write: true, first: 1, last: 1, step: 1},
	command{name: "ZSCORE", arity: 3, first: 1, last: 1, step: 1},
	command{name: "ZRANK", arity: 3, first: 1, last: 1, step: 1},
	command{name: "ZCARD", arity: 2, first: 1, last: 1, step: 1},
	command{name: "ZCOUNT", arity: 4, first: 1, last: 1, step: 1},
	command{name: "ZRANGE", arity: -4, first: 1, last: 1, step: 1},
	command{name: "ZRANGEBYSCORE", arity: -4, first: 1, last: 1, step: 1},
	command{name: "ZREMRANGEBYSCORE", arity: 4, write: true, first: 1, last: 1, step: 1},

	// Transactions and scripts.
	command{name: "MULTI", arity: 1, noScript: true, control: true, run: runMulti},
	command{name: "EXEC", arity: 1, noScript: true, control: true, run: runExec},
	command{name: "DISCARD", arity: 1, noScript: true, control: true, run: runDiscard},
	command{name: "WATCH", arity: -2, first: 1, last: -1, step: 1, noScript: true, control: true, run: runWatch},
	command{name: "UNWATCH", arity: 1, noScript: true, run: runUnwatch},
	command{name: "EVAL", arity: -3, noScript: true, run: runEval},
	command{name: "EVAL_RO", arity: -3, noScript: true, run: runEval},
	command{name: "EVALSHA", arity: -3, noScript: true, run: runEval},
	command{name: "EVALSHA_RO", arity: -3, noScript: true, run: runEval},
	command{name: "SCRIPT", arity: -2, container: true},
	command{name: "SCRIPT|LOAD", arity: 3, noScript: true, run: runScriptLoad},
	command{name: "SCRIPT|EXISTS", arity: -3, noScript: true, run: runScriptExists},
	command{name: "SCRIPT|FLUSH", arity: -2, noScript: true, run: runScriptFlush},

	// Connections and the server.
	command{name: "PING", arity: -1, run: runPing},
	command{name: "ECHO", arity: 2},
	command{name: "SELECT", arity: 2, run: runSelect},
	command{name: "AUTH", arity: -2, noScript: true, run: runAuth},
	command{name: "HELLO", arity: -1, noScript: true, run: runHello},
	command{name: "QUIT", arity: -1, noScript: true, control: true, run: runQuit},
	command{name: "CLIENT", arity: -2, container: true},
	command{name: "CLIENT|ID", arity: 2, noScript: true, run: runClientID},
	command{name: "CLIENT|GETNAME", arity: 2, noScript: true, run: runClientGetName},
	command{name: "CLIENT|SETNAME", arity: 3, noScript: true, run: runClientSetName},
	command{name: "CLIENT|TRACKING", arity: -3, noScript: true, run: runClientTracking},
	command{name: "CLUSTER", arity: -2, container: true},
	command{name: "CLUSTER|INFO", arity: 2, run: runCluster},
	command{name: "CLUSTER|NODES", arity: 2, run: runCluster},
	command{name: "CLUSTER|SHARDS", arity: 2, run: runCluster},
	command{name: "CLUSTER|SLOTS", arity: 2, run: runCluster},
	command{name: "TIME", arity: 1, run: runTime},
	command{name: "INFO", arity: -1, run: runInfo},
	command{name: "ROLE", arity: 1, noScript: true, run: runRole},
	command{name: "WAIT", arity: 3, noScript: true, run: runWait},

	// Publish and subscribe.
	command{name: "PUBLISH", arity: 3, run: runPublish},
	command{name: "SUBSCRIBE", arity: -2, noScript: true, run: runSubscribe},
	command{name: "UNSUBSCRIBE", arity: -1, noScript: true, run: runUnsubscribe},
	command{name: "PSUBSCRIBE", arity: -2, noScript: true, run: runSubscribe},
	command{name: "PUNSUBSCRIBE", arity: -1, noScript: true, run: runUnsubscribe},
)

// unsimulated are the commands of redis-server 7 that a node refuses: those with random results, those for administrators, and
// those that no known lock uses.
var unsimulated = strings.Fields(`
	ACL ASKING BGREWRITEAOF BGSAVE BITCOUNT BITFIELD BITFIELD_RO BITOP BITPOS BLMOVE BLMPOP BRPOPLPUSH BZMPOP
	BZPOPMAX BZPOPMIN COMMAND CONFIG COPY DEBUG DUMP FAILOVER FCALL FCALL_RO FUNCTION GEOADD GEODIST
	GEOHASH GEOPOS GEORADIUS GEORADIUSBYMEMBER GEORADIUSBYMEMBER_RO GEORADIUS_RO GEOSEARCH GEOSEARCHSTORE GETBIT
	HINCRBYFLOAT HMSET HRANDFIELD HSCAN HSTRLEN INCRBYFLOAT LASTSAVE LATENCY LCS LINSERT LMOVE LMPOP LOLWUT LPOS
	LPUSHX LSET LTRIM MEMORY MIGRATE MODULE MONITOR MOVE OBJECT PFADD PFCOUNT PFDEBUG PFMERGE PFSELFTEST PSYNC PUBSUB RANDOMKEY READONLY READWRITE REPLCONF REPLICAOF RESET RESTORE RESTORE-ASKING RPOPLPUSH RPUSHX
	SAVE SDIFF SDIFFSTORE SETBIT SETRANGE SHUTDOWN SINTER SINTERCARD SINTERSTORE SLAVEOF SLOWLOG SMISMEMBER SMOVE SORT
	SORT_RO SPOP SPUBLISH SRANDMEMBER SSCAN SSUBSCRIBE SUBSTR SUNION SUNIONSTORE SUNSUBSCRIBE SWAPDB SYNC
	XACK XADD XAUTOCLAIM XCLAIM XDEL XGROUP XINFO XLEN XPENDING XRANGE XREAD XREADGROUP XREVRANGE XSETID XTRIM
	ZDIFF ZDIFFSTORE ZINCRBY ZINTER ZINTERCARD ZINTERSTORE ZLEXCOUNT ZMPOP ZMSCORE ZPOPMAX ZPOPMIN ZRANDMEMBER ZRANGEBYLEX
	ZRANGESTORE ZREMRANGEBYLEX ZREMRANGEBYRANK ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN ZUNION ZUNIONSTORE`)

func byName(list ...command) map[string]*command {
	m := make(map[string]*command, 2*len(list))
	for i := range list {
		c := &list[i]
		m[c.name], m[strings.ToLower(c.name)] = c, c
	}
	return m
}

// Errors of several commands.
const (
	notInteger = "ERR value is not an integer or out of range"
	syntax     = "ERR syntax error"
)

// lookup finds a command, and checks what redis-server checks before it runs or queues one. A refusal is the error reply; if only
// the number of arguments is wrong, the command is returned too.
func (r *Redis) lookup(args []string) (c *command, refusal string) {
	c, ok := r.commands[args[0]]
	if !ok {
		c, ok = r.commands[strings.ToUpper(args[0])]
	}
	switch {
	case !ok || strings.Contains(args[0], "|"):
		if name := unsimulatedName(args[0]); name != "" && r.refused != nil {
			r.refused(r.by, name)
		}
		return nil, UnknownCommand(args)
	case c.container && len(args) > 1:
		sub, ok := r.commands[c.name+"|"+strings.ToUpper(args[1])]
		if !ok {
			return nil, fmt.Sprintf("ERR unknown subcommand '%.128s'. Try %s HELP.", args[1], c.name)
		}
		c = sub
	}
	if len(args) != c.arity && (c.arity > 0 || len(args) < -c.arity) {
		return c, fmt.Sprintf("ERR wrong number of arguments for '%s' command", strings.ToLower(c.name))
	}
	return c, ""
}

// KeysOf returns the keys of a command, or none if the node does not run the command.
func (r *Redis) KeysOf(args []string) (keys []string) {
	c, refusal := r.lookup(args)
	switch {
	case refusal != "" || c == nil:
	case strings.HasPrefix(c.name, "EVAL") && len(args) > 2:
		n, _ := strconv.Atoi(args[2])
		return args[3:max(3, min(3+n, len(args)))]
	case c.first > 0:
		last := c.last
		if last < 0 {
			last += len(args)
		}
		for i := c.first; i <= min(last, len(args)-1); i += c.step {
			keys = append(keys, args[i])
		}
	}
	return keys
}

// KeyPositions returns which elements of a command are keys: every step-th from first to last. A negative last counts from the
// end. First is 0 if the command has no keys at fixed positions, or if there is no command of that name; see [FullName].
func KeyPositions(name string) (first, last, step int) {
	if c := commands[name]; c != nil {
		return c.first, c.last, c.step
	}
	return 0, 0, 1
}

// FullName returns the name of a command in capitals, followed by its subcommand if it has one: CLIENT|ID.
func FullName(cmd []string) string {
	name := strings.ToUpper(cmd[0])
	if c := commands[name]; c != nil && c.container && len(cmd) > 1 {
		name += "|" + strings.ToUpper(cmd[1])
	}
	return name
}

// OnRefused sets the function that is told which commands of redis-server clients send that the node does not have.
func (r *Redis) OnRefused(f func(client, command string)) { r.refused = f }

// unsimulatedName returns the name of a command in capitals if redis-server has it and nodes do not; otherwise it is empty.
func unsimulatedName(word string) string {
	for _, name := range unsimulated {
		if strings.EqualFold(name, word) {
			return name
		}
	}
	return ""
}

// notSimulated is the error for a command, or a form of it, that redis-server has and nodes do not.
func notSimulated(name string) string {
	return "ERR " + name + " is a command of redis-server that Lockstep does not simulate"
}

// UnknownCommand returns the error for a command that is not in the table.
func UnknownCommand(args []string) string {
	if name := unsimulatedName(args[0]); name != "" {
		return notSimulated(name)
	}
	var with strings.Builder
	for _, a := range args[1:] {
		if with.Len() >= 128 {
			break
		}
		fmt.Fprintf(&with, "'%.*s' ", 128-with.Len(), a)
	}
	return fmt.Sprintf("ERR unknown command '%.128s', with args beginning with: %s", args[0], with.String())
}

// runSetNX marks its changes as those of NX.
func runSetNX(r *Redis, s *Session, c *command, args []string) {
	r.nx = true
	args[0] = c.name
	r.forward(s, c, args)
}

// runMSet checks that each key has a value before any key is used.
func runMSet(r *Redis, s *Session, c *command, args []string) {
	if len(args)%2 == 0 {
		r.out.Fail("ERR wrong number of arguments for '" + strings.ToLower(c.name) + "' command")
		return
	}
	args[0] = c.name
	r.forward(s, c, args)
}

// runIncrement parses numbers as strictly as redis-server before miniredis adds them.
func runIncrement(r *Redis, s *Session, c *command, args []string) {
	if len(args) == 3 {
		by, ok := parseInt(args[2])
		if !ok {
			r.out.Fail(notInteger)
			return
		}
		if c.name == "DECRBY" && by == -1<<63 {
			r.out.Fail("ERR decrement would overflow")
			return
		}
	}
	if e, ok := r.keys[args[1]]; ok && e.Text {
		if _, ok := parseInt(e.Value); !ok {
			r.out.Fail(notInteger)
			return
		}
	}
	args[0] = c.name
	r.forward(s, c, args)
}

// runGetRange returns nothing for a range whose ends are counted from the end of the value and in the wrong order. miniredis
// returns the first byte if the value is so short that both ends would be before it.
func runGetRange(r *Redis, s *Session, c *command, args []string) {
	from, ok := parseInt(args[2])
	to, also := parseInt(args[3])
	if ok && also && from < 0 && to < 0 && from > to {
		args[2], args[3] = "1", "0"
	}
	args[0] = c.name
	r.forward(s, c, args)
}

// runHIncrBy does for a field what runIncrement does for a key. miniredis does not check for overflow here.
func runHIncrBy(r *Redis, s *Session, c *command, args []string) {
	by, ok := parseInt(args[3])
	if !ok {
		r.out.Fail(notInteger)
		return
	}
	if s.aside("HEXISTS", args[1], args[2]) == ":1\r\n" {
		n, ok := parseInt(r.db.HGet(args[1], args[2]))
		if !ok {
			r.out.Fail("ERR hash value is not an integer")
			return
		}
		if by > 0 && n > math.MaxInt64-by || by < 0 && n < math.MinInt64-by {
			r.out.Fail("ERR increment or decrement would overflow")
			return
		}
	}
	args[0] = c.name
	r.forward(s, c, args)
}

// runFlush deletes key by key, so that each deletion is reported, and each watched key is touched.
func runFlush(r *Redis, _ *Session, _ *command, args []string) {
	if len(args) > 2 || len(args) == 2 && !strings.EqualFold(args[1], "SYNC") && !strings.EqualFold(args[1], "ASYNC") {
		r.out.Fail(syntax)
		return
	}
	r.invalidateAll()
	for _, name := range r.names() {
		r.db.Del(name)
		r.look(name)
	}
	r.out.Status("OK")
}

func runTime(r *Redis, _ *Session, _ *command, _ []string) {
	us := r.began.UnixMicro()
	r.out.Array(2)
	r.out.Bulk(strconv.FormatInt(us/1e6, 10))
	r.out.Bulk(strconv.FormatInt(us%1e6, 10))
}
