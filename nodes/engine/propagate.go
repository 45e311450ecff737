package engine

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// What a command did to the data is told to replicas and to the append-only file as its effect: SET with the end of the
// key as an absolute time and no condition, DEL, PEXPIREAT, PERSIST; for hashes, lists, sets and sorted sets, and for
// RENAME, the command itself. What changed nothing has no effect, whatever it was meant to do (redis: server.dirty). The
// several effects of one command, script or transaction are a unit between MULTI and EXEC, which happens all or not at
// all. Effects are bytes of the protocol, as a client would send them.

const (
	unitBegin = "*1\r\n$5\r\nMULTI\r\n"
	unitEnd   = "*1\r\n$4\r\nEXEC\r\n"
	getAck    = "*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n"
)

// effects collects what the outermost command has done so far.
type effects struct {
	unit Replies // MULTI, and the effects
	n    int
	// expired are those that the passing of time had, which Redis does not count as changes.
	expired int
	// logs says that somebody wants to know. It is off while a replica applies what its primary did.
	logs bool
	// whole says that a command runs which is its own effect.
	whole bool

	stream func(unit []byte)
	offset int64 // bytes of the stream so far
}

// Stream sets the function that is told of every unit of effects once it has happened, in bytes to be sent to replicas
// as they are: on a primary what clients and the passing of time did, on a replica what it applied. The offset counts
// from here. It must not call back into the node.
func (r *Redis) Stream(f func(unit []byte)) {
	r.effects.stream = f
	r.effects.logs = f != nil || r.disk.logs()
}

// Offset is the replication offset: the bytes of the stream that this node has produced, or applied.
func (r *Redis) Offset() int64 { return r.effects.offset }

// Advance moves the offset forward by n bytes of the stream that come from no effect, such as a ping.
func (r *Redis) Advance(n int) { r.effects.offset += int64(n) }

// emit adds an effect to the unit in progress.
func (r *Redis) emit(args ...string) {
	e := &r.effects
	if e.n == 0 {
		e.unit = append(e.unit[:0], unitBegin...)
	}
	e.n++
	e.unit.command(args...)
}

// command writes a command as a client sends it.
func (w *Replies) command(args ...string) {
	w.Array(len(args))
	for _, a := range args {
		w.Bulk(a)
	}
}

// settle ends the unit in progress, and hands it out.
func (r *Redis) settle() {
	e := &r.effects
	if e.n == 0 {
		return
	}
	unit, changes := e.unit[len(unitBegin):], e.n-e.expired
	if e.n > 1 {
		e.unit = append(e.unit, unitEnd...)
		unit = e.unit
	}
	e.n, e.expired = 0, 0
	r.disk.write(unit, changes, r.at)
	if stream := r.effects.stream; stream != nil {
		r.effects.offset += int64(len(unit))
		stream(bytes.Clone(unit))
	}
}

// changed emits the effect that made one state of a key out of another. What a hash or a list holds is not seen here, but
// in done.
func (r *Redis) changed(name string, old, is Entry, lives bool) {
	switch {
	case r.effects.whole:
	case !lives:
		r.emit("DEL", name)
	case is.Text && (!old.Text || is.Value != old.Value):
		r.emitSet(name, is)
	case is.Deadline == old.Deadline:
	case is.Deadline == 0:
		r.emit("PERSIST", name)
	default:
		r.emit("PEXPIREAT", name, formatDeadline(is.Deadline))
	}
}

func (r *Redis) emitSet(name string, is Entry) {
	if is.Deadline == 0 {
		r.emit("SET", name, is.Value)
		return
	}
	r.emit("SET", name, is.Value, "PXAT", formatDeadline(is.Deadline))
}

// done emits the effect of a command that ran and was not seen to change a key: that of a command which is its own effect,
// and of one which wrote what was there already. Redis counts that as a change.
func (r *Redis) done(c *command, args []string, reply []byte) {
	if !r.wrote(c, args, reply) {
		return
	}
	switch c.effect() {
	case itself:
		r.emit(args...)
	case retime:
		r.emit("PEXPIREAT", args[c.first], formatDeadline(r.keys[args[c.first]].Deadline))
	case rewrite:
		r.emitSet(args[c.first], r.keys[args[c.first]])
	}
}

// wrote says of a command that ran, and is one that changes its keys even where it writes what was there, whether it wrote.
func (r *Redis) wrote(c *command, args []string, reply []byte) bool {
	switch {
	case reply[0] == '-', reply[0] == '_', bytes.HasPrefix(reply, []byte("$-1")), bytes.HasPrefix(reply, []byte("*-1")):
		return false
	case string(reply) == ":0\r\n" && !c.zeroIsChange():
		return false
	case c.name == "RENAME" && args[1] == args[2]:
		return false
	}
	switch c.effect() {
	case itself, retime:
		return true
	case rewrite:
		return r.keys[args[c.first]].Text && !r.nx
	}
	return false
}

// effect is what a command has for its effect, beyond the difference that it is seen to make to string keys and deadlines.
type effect int

const (
	seen    effect = iota // nothing
	rewrite               // writing the same again is a change
	retime                // setting the same deadline again is a change
	itself                // the command as it was run
)

func (c *command) effect() effect {
	switch c.name {
	case "SET", "SETEX", "PSETEX", "GETSET", "MSET", "APPEND", "INCR", "DECR", "INCRBY", "DECRBY":
		return rewrite
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT":
		return retime
	case "RENAME", "RENAMENX", "HSET", "HSETNX", "HDEL", "HINCRBY", "SADD", "SREM", "LPUSH", "RPUSH", "LPOP", "RPOP", "LREM",
		"ZADD", "ZREM", "ZREMRANGEBYSCORE":
		return itself
	}
	return seen
}

// zeroIsChange says of a command that its reply 0 does not mean that it did nothing.
func (c *command) zeroIsChange() bool {
	switch c.name {
	case "HSET", "HINCRBY", "ZADD", "INCR", "DECR", "INCRBY", "DECRBY":
		return true
	}
	return false
}

// Snapshot is everything that the node holds, as the commands that make it: what a full synchronization sends.
func (r *Redis) Snapshot() []byte { return r.dump(r.names()) }

// dump returns the commands that make some keys.
func (r *Redis) dump(names []string) []byte {
	var w Replies
	for _, name := range names {
		e := r.keys[name]
		if e.Text {
			if e.Deadline == 0 {
				w.command("SET", name, e.Value)
			} else {
				w.command("SET", name, e.Value, "PXAT", formatDeadline(e.Deadline))
			}
			continue
		}
		w.command(r.contents(name)...)
		if e.Deadline != 0 {
			w.command("PEXPIREAT", name, formatDeadline(e.Deadline))
		}
	}
	return w
}

// contents returns the command that makes a hash, a list, a set or a sorted set.
func (r *Redis) contents(name string) []string {
	switch kind := r.db.Type(name); kind {
	case "hash":
		fields, _ := r.db.HKeys(name)
		slices.Sort(fields)
		args := []string{"HSET", name}
		for _, f := range fields {
			args = append(args, f, r.db.HGet(name, f))
		}
		return args
	case "list":
		elements, _ := r.db.List(name)
		return append([]string{"RPUSH", name}, elements...)
	case "set":
		members, _ := r.db.Members(name)
		slices.Sort(members)
		return append([]string{"SADD", name}, members...)
	case "zset":
		scores, _ := r.db.SortedSet(name)
		args := []string{"ZADD", name}
		members := slices.SortedFunc(maps.Keys(scores), func(a, b string) int {
			return cmp.Or(cmp.Compare(scores[a], scores[b]), strings.Compare(a, b))
		})
		for _, member := range members {
			args = append(args, strconv.FormatFloat(scores[member], 'g', -1, 64), member)
		}
		return args
	default:
		panic("engine: a key of type " + kind)
	}
}

// reload makes the node hold what a snapshot says and nothing else. The caller reports what that changed: it gets the
// keys of before.
func (r *Redis) reload(snapshot []byte) (old map[string]Entry) {
	r.invalidateAll()
	old = r.keys
	r.keys = map[string]Entry{}
	for name := range old {
		r.db.Del(name)
	}
	r.next, r.stale = 0, false
	observer, logs := r.observer, r.effects.logs
	r.observer, r.effects.logs, r.loading = nil, false, true
	cmds, _, err := ParseCommands(snapshot)
	if err != nil {
		panic("engine: " + err.Error())
	}
	for _, args := range cmds {
		if args[0] != "MULTI" && args[0] != "EXEC" {
			r.replay(args)
		}
	}
	r.observer, r.effects.logs, r.loading = observer, logs, false
	return old
}

// replay runs a command that is an effect.
func (r *Redis) replay(args []string) {
	c, refusal := r.lookup(args)
	if refusal != "" {
		panic("engine: an effect is refused: " + refusal)
	}
	mark := len(r.out)
	r.do(r.self(), c, args)
	r.out = r.out[:mark]
}
