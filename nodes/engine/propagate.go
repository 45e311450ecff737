package engine

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Replicas and the append-only file receive the effects of commands: SET without a condition and with the deadline as an absolute
// time, DEL, PEXPIREAT, PERSIST; for hashes, lists, sets and sorted sets, and for RENAME, the command itself. A command that
// changed nothing has no effect (redis: server.dirty). The effects of one command, script or transaction are a unit between MULTI
// and EXEC, which is applied as a whole or not at all. Effects are bytes of the protocol, as a client would send them.

const (
	unitBegin = "*1\r\n$5\r\nMULTI\r\n"
	unitEnd   = "*1\r\n$4\r\nEXEC\r\n"
	getAck    = "*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n"
)

// effects collects the effects of the outermost command.
type effects struct {
	unit Replies // MULTI and the effects so far
	n    int
	// expired counts the effects of keys that expired, which Redis does not count as changes.
	expired int
	// published counts those that are PUBLISH. They are meant for replicas, and are in a log only if they are in a unit with
	// other commands.
	published int
	// logs says that effects are collected. They are not while a replica applies those of its primary.
	logs bool
	// whole says that the current command is its own effect.
	whole bool

	stream func(unit []byte)
	offset int64 // length of the stream in bytes
}

// Stream sets a function that is called with every unit of effects, as bytes that can be sent to replicas. The effects of a
// primary are those of clients and of keys that expire; those of a replica are the ones that it applied. The offset counts from
// here. The function must not call back into the node.
func (r *Redis) Stream(f func(unit []byte)) {
	r.effects.stream = f
	r.effects.logs = f != nil || r.disk.logs()
}

// Offset is the replication offset: the bytes of the stream that this node has produced, or applied.
func (r *Redis) Offset() int64 { return r.effects.offset }

// Advance adds n to the offset, for bytes of the stream that are no effect, such as a ping.
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

// settle ends the unit in progress, and passes it to the stream.
func (r *Redis) settle() {
	e := &r.effects
	if e.n == 0 {
		return
	}
	unit, kept, changes := e.unit[len(unitBegin):], e.n-e.published, e.n-e.published-e.expired
	if e.n > 1 {
		e.unit = append(e.unit, unitEnd...)
		unit = e.unit
	}
	if e.n, e.expired, e.published = 0, 0, 0; kept > 0 {
		r.disk.write(unit, changes, r.at)
	}
	if stream := r.effects.stream; stream != nil {
		r.effects.offset += int64(len(unit))
		stream(bytes.Clone(unit))
	}
}

// changed emits the effect that turns one state of a key into another. The contents of hashes and lists are handled by done.
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

// done emits the effect of a command that ran, if no change of a key was seen: that of a command which is its own effect, and of
// one which wrote what was there already, which Redis counts as a change.
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

// wrote reports whether a command that ran has written, if it is one that counts as a change even if it writes what was there.
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

// effect is the effect of a command apart from the changes of string keys and deadlines, which are seen.
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

// zeroIsChange reports whether a command may have changed something though its reply is 0.
func (c *command) zeroIsChange() bool {
	switch c.name {
	case "HSET", "HINCRBY", "ZADD", "INCR", "DECR", "INCRBY", "DECRBY":
		return true
	}
	return false
}

// Snapshot returns everything that the node holds as the commands that make it: what a full synchronization sends.
func (r *Redis) Snapshot() []byte { return r.dump(r.names()) }

// dump returns the commands that make the named keys.
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

// reload replaces the contents of the node by a snapshot. It returns the old keys, and the caller reports the changes.
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

// replay runs a command from a stream of effects.
func (r *Redis) replay(args []string) {
	c, refusal := r.lookup(args)
	if refusal != "" {
		panic("engine: an effect is refused: " + refusal)
	}
	mark := len(r.out)
	r.do(r.self(), c, args)
	r.out = r.out[:mark]
}
