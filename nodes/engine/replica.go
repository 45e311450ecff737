package engine

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/sim/history"
)

// The two roles of a node. The caller is the network between a primary and its replicas: it passes the bytes of Stream
// to Apply of each replica, and the offset that Apply and Load have reached to Acked.

// A follower is a replica as its primary sees it.
type follower struct {
	name   string
	offset int64 // the offset that it has acknowledged
	at     int64 // when it last did so, in milliseconds by the wall clock of the primary
}

// roles is what a node knows of its primary or its replicas.
type roles struct {
	primary string // the primary that this node follows; empty if it is a primary itself
	linked  bool   // it is connected to the primary
	unread  []byte // an incomplete unit of effects

	followers []follower
	address   func(process string) (host string, port int)
	delegate  func(s *Session, args []string) (reply []byte, ok bool)

	minReplicas int
	maxLag      time.Duration
}

const (
	readOnly   = "READONLY You can't write against a read only replica."
	noReplicas = "NOREPLICAS Not enough good replicas to write."
)

// Follow makes the node a replica of a primary: REPLICAOF. From now on it refuses writes of clients and lets no key expire. It
// keeps its keys until Load. Clients that wait, in WAIT or BLPOP, get an error and are disconnected.
func (r *Redis) Follow(primary string) {
	r.primary, r.linked, r.unread, r.followers = primary, false, nil, nil
	r.unblock()
}

// Promote makes the node a primary: REPLICAOF NO ONE. Keys whose deadline has passed expire now.
func (r *Redis) Promote() {
	r.primary, r.linked, r.unread = "", false, nil
	r.Tick()
}

// Following returns the primary of the node; empty if it is a primary itself.
func (r *Redis) Following() string { return r.primary }

// Load makes a replica a copy of its primary, by the [Redis.Snapshot] that the primary had at this [Redis.Offset].
func (r *Redis) Load(snapshot []byte, offset int64) {
	r.begin(r.primary, "PSYNC")
	old := r.reload(snapshot)
	r.effects.offset, r.linked, r.unread = offset, true, nil
	r.disk.replace(snapshot, r.at)
	r.reportReload(old, history.Delete)
}

// Linked reports whether a replica is connected to its primary.
func (r *Redis) Linked() bool { return r.linked }

// Unlinked notes that the connection to the primary is lost. [Redis.Load] restores it.
func (r *Redis) Unlinked() { r.linked, r.unread = false, nil }

// Apply applies bytes of the primary's stream to a replica. They may be cut anywhere. It reports whether the primary asks for an
// acknowledgement of the offset: REPLCONF ACK.
func (r *Redis) Apply(stream []byte) (ack bool) {
	r.begin(r.primary, "")
	r.unread = append(r.unread, stream...)
	logs := r.effects.logs
	r.effects.logs = false
	for {
		unit, cmds := firstUnit(r.unread)
		if len(unit) == 0 {
			break
		}
		if len(cmds) == 1 && cmds[0][0] == "REPLCONF" {
			ack = true
		} else {
			for _, args := range cmds {
				r.word, r.nx = args[0], false
				r.replay(args)
			}
			if n := len(cmds) - published(cmds); n > 0 {
				r.disk.write(unit, n, r.at)
			}
		}
		r.effects.offset += int64(len(unit))
		if stream := r.effects.stream; stream != nil {
			stream(slices.Clone(unit))
		}
		r.unread = r.unread[len(unit):]
	}
	r.effects.logs = logs
	return ack
}

// published counts the commands that are PUBLISH, which change nothing that a disk keeps.
func published(cmds [][]string) (n int) {
	for _, args := range cmds {
		if args[0] == "PUBLISH" {
			n++
		}
	}
	return n
}

// firstUnit returns the first unit of effects in data, if it is complete, and its commands.
func firstUnit(data []byte) (unit []byte, cmds [][]string) {
	for pos, multi := 0, false; pos < len(data); {
		args, n, err := ParseCommand(data[pos:])
		if err != nil {
			panic("engine: " + err.Error())
		}
		if n == 0 {
			break
		}
		pos += n
		switch args[0] {
		case "MULTI":
			multi = true
			continue
		case "EXEC":
			multi = false
		default:
			cmds = append(cmds, args)
		}
		if !multi {
			return data[:pos], cmds
		}
	}
	return nil, nil
}

// Acked tells a primary that a replica has reached offset. By the first call, also with offset 0, the primary learns that the
// replica is there.
func (r *Redis) Acked(replica string, offset int64) {
	now := r.now().UnixMilli()
	i := slices.IndexFunc(r.followers, func(f follower) bool { return f.name == replica })
	if i < 0 {
		i = len(r.followers)
		r.followers = append(r.followers, follower{name: replica})
	}
	f := &r.followers[i]
	f.offset, f.at = max(f.offset, offset), now
	r.release()
}

// ReplicaGone tells a primary that the connection to a replica is lost.
func (r *Redis) ReplicaGone(replica string) {
	r.followers = slices.DeleteFunc(r.followers, func(f follower) bool { return f.name == replica })
}

// acks counts the replicas that have reached offset.
func (r *Redis) acks(offset int64) (n int64) {
	for _, f := range r.followers {
		if f.offset >= offset {
			n++
		}
	}
	return n
}

// MinReplicas sets min-replicas-to-write and min-replicas-max-lag: a primary refuses writes unless it has heard from n replicas
// within maxLag. Redis uses whole seconds, and checks once a second; a node checks at each write.
func (r *Redis) MinReplicas(n int, maxLag time.Duration) { r.minReplicas, r.maxLag = n, maxLag }

// forbids says why a command may not run in the present role of the node; empty if it may.
func (r *Redis) forbids(s *Session, c *command, args []string) string {
	if r.primary == "" && r.minReplicas == 0 {
		return ""
	}
	switch {
	case c.name == "EXEC" && !slices.ContainsFunc(s.queue, func(q queued) bool { return r.writes(q.command, q.args) }):
		return ""
	case c.name != "EXEC" && !r.writes(c, args):
		return ""
	case r.primary != "":
		return readOnly
	case r.tooFewReplicas():
		return noReplicas
	}
	return ""
}

// writes reports whether a command writes. A script with flags does unless no-writes is among them. A script without flags is
// checked at each of its commands.
func (r *Redis) writes(c *command, args []string) bool {
	var sc *script
	switch c.name {
	case "EVAL", "EVAL_RO":
		sc, _ = compile(args[1])
	case "EVALSHA", "EVALSHA_RO":
		sc = r.scripts[strings.ToLower(args[1])]
	default:
		return c.write
	}
	return sc != nil && sc.flags && !sc.readOnly
}

func (r *Redis) tooFewReplicas() bool {
	if r.minReplicas == 0 || r.maxLag == 0 {
		return false
	}
	good := 0
	for _, f := range r.followers {
		if r.at/1000-f.at/1000 <= int64(r.maxLag/time.Second) {
			good++
		}
	}
	return good < r.minReplicas
}

// hide removes the expired keys of a replica, which may not delete them but must answer as if they were gone. It returns a
// function that restores them.
func (r *Redis) hide() (back func()) {
	over := Overdue(r.keys, r.at)
	if len(over) == 0 {
		return func() {}
	}
	image, entries := r.dump(over), make([]Entry, len(over))
	for i, name := range over {
		entries[i] = r.keys[name]
		delete(r.keys, name)
		r.db.Del(name)
	}
	return func() {
		cmds, _, _ := ParseCommands(image)
		for _, args := range cmds {
			r.self().aside(args...)
		}
		for i, name := range over {
			r.keys[name] = entries[i]
		}
	}
}

// Delegate sets the function that is offered every command from a connection first: for PSYNC, REPLCONF, SENTINEL, CLUSTER and
// all others that need a network. If it returns ok false, the node runs the command itself.
func (r *Redis) Delegate(f func(s *Session, args []string) (reply []byte, ok bool)) { r.delegate = f }

// Addresses sets the function that returns where a process listens, for INFO and ROLE.
func (r *Redis) Addresses(f func(process string) (host string, port int)) { r.address = f }

func (r *Redis) addressOf(process string) (host string, port int) {
	if r.address == nil {
		return process, 6379
	}
	return r.address(process)
}

func runRole(r *Redis, _ *Session, _ *command, _ []string) {
	if r.primary != "" {
		host, port := r.addressOf(r.primary)
		r.out.Array(5)
		r.out.Bulk("slave")
		r.out.Bulk(host)
		r.out.Integer(int64(port))
		if r.linked {
			r.out.Bulk("connected")
			r.out.Integer(r.effects.offset)
		} else {
			r.out.Bulk("connect")
			r.out.Integer(-1)
		}
		return
	}
	r.out.Array(3)
	r.out.Bulk("master")
	r.out.Integer(r.effects.offset)
	r.out.Array(len(r.followers))
	for _, f := range r.followers {
		host, port := r.addressOf(f.name)
		r.out.Array(3)
		r.out.Bulk(host)
		r.out.Bulk(strconv.Itoa(port))
		r.out.Bulk(strconv.FormatInt(f.offset, 10))
	}
}

// runInfo returns those fields of the sections server, replication and cluster that locks and their clients read.
func runInfo(r *Redis, _ *Session, _ *command, args []string) {
	var b strings.Builder
	section := func(name string) bool {
		if len(args) > 1 && !slices.ContainsFunc(args[1:], func(a string) bool {
			a = strings.ToLower(a)
			return a == name || a == "all" || a == "default" || a == "everything"
		}) {
			return false
		}
		if b.Len() > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString("# " + strings.ToUpper(name[:1]) + name[1:] + "\r\n")
		return true
	}
	line := func(name, value string) { b.WriteString(name + ":" + value + "\r\n") }
	number := func(name string, n int64) { line(name, strconv.FormatInt(n, 10)) }
	if section("server") {
		line("redis_version", "7.0.15")
		line("redis_mode", r.mode())
	}
	if section("replication") {
		if r.primary != "" {
			host, port := r.addressOf(r.primary)
			line("role", "slave")
			line("master_host", host)
			number("master_port", int64(port))
			if r.linked {
				line("master_link_status", "up")
			} else {
				line("master_link_status", "down")
			}
			number("slave_repl_offset", r.effects.offset)
			number("slave_priority", 100)
			number("slave_read_only", 1)
		} else {
			line("role", "master")
		}
		number("connected_slaves", int64(len(r.followers)))
		for i, f := range r.followers {
			host, port := r.addressOf(f.name)
			line("slave"+strconv.Itoa(i), "ip="+host+",port="+strconv.Itoa(port)+",state=online,offset="+
				strconv.FormatInt(f.offset, 10)+",lag="+strconv.FormatInt(r.at/1000-f.at/1000, 10))
		}
		number("master_repl_offset", r.effects.offset)
	}
	if section("cluster") {
		enabled := int64(0)
		if r.clustered {
			enabled = 1
		}
		number("cluster_enabled", enabled)
	}
	r.out.Bulk(b.String())
}
