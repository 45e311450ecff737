package engine

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"lockstep/sim/history"
)

// The two roles of a node, and WAIT between them. The network between a primary and its replicas is the caller's: it
// sends what Stream gives to Apply of each replica, and what Apply and Load reach as an offset to Acked.

// A follower is a replica as its primary sees it.
type follower struct {
	name   string
	offset int64 // that it has acknowledged
	at     int64 // when it did so last, in milliseconds by the wall clock of the primary
}

// A waiter is a session that WAIT keeps.
type waiter struct {
	session *Session
	offset  int64 // of its own last command
	n       int64 // replicas that must have it
	until   int64 // in milliseconds since 1970 by the wall clock; 0: for ever
}

// roles is what a node knows of its primary or of its replicas.
type roles struct {
	primary string // that this node follows; empty: it is a primary itself
	linked  bool   // what the primary does arrives
	unread  []byte // the start of a unit of effects whose rest has not arrived

	followers []follower
	waiters   []waiter
	wantAck   bool // GETACK is to be sent
	feeding   bool // a session is being fed
	reply     func(*Session, []byte)
	address   func(process string) (host string, port int)
	delegate  func(s *Session, args []string) (reply []byte, ok bool)

	minReplicas int
	maxLag      time.Duration
}

const (
	readOnly    = "READONLY You can't write against a read only replica."
	noReplicas  = "NOREPLICAS Not enough good replicas to write."
	unblocked   = "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)"
	waitReplica = "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is " +
		"configured to be writable (which is not the default) writes to replicas are just local and are not propagated."
)

// Follow makes the node a replica of a primary: REPLICAOF. It refuses the writes of clients from now on, keeps what it has
// until Load, and lets no key expire. Clients in WAIT are told and disconnected.
func (r *Redis) Follow(primary string) {
	r.primary, r.linked, r.unread, r.followers = primary, false, nil, nil
	for len(r.waiters) > 0 {
		s := r.waiters[0].session
		r.stopWaiting(s)
		var w Replies
		w.Fail(unblocked)
		s.Close()
		r.reply(s, w)
	}
}

// Promote makes the node a primary: REPLICAOF NO ONE. Keys that are over expire now.
func (r *Redis) Promote() {
	r.primary, r.linked, r.unread = "", false, nil
	r.Tick()
}

// Following names the primary that the node is a replica of; empty: it is a primary.
func (r *Redis) Following() string { return r.primary }

// Load makes a replica a copy of its primary: what [Redis.Snapshot] said when [Redis.Offset] was offset.
func (r *Redis) Load(snapshot []byte, offset int64) {
	r.begin(r.primary, "PSYNC")
	old := r.reload(snapshot)
	r.effects.offset, r.linked, r.unread = offset, true, nil
	r.disk.replace(snapshot, r.at)
	r.reportReload(old, history.Delete)
}

// Linked reports whether a replica is connected to its primary.
func (r *Redis) Linked() bool { return r.linked }

// Unlinked says that the connection to the primary is lost. [Redis.Load] makes another.
func (r *Redis) Unlinked() { r.linked, r.unread = false, nil }

// Apply has a replica do what its primary did, in bytes as [Redis.Stream] gave them, and cut anywhere. It reports whether
// the primary asks for an acknowledgement of the offset: REPLCONF ACK.
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
			r.disk.write(unit, len(cmds), r.at)
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

// firstUnit returns the first unit of effects in data, if it is complete, and what is in it.
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

// Acked tells a primary that a replica has got as far as offset. The first time, also with offset 0, is when the primary
// learns that the replica is there.
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

// acks counts the replicas that have got as far as offset.
func (r *Redis) acks(offset int64) (n int64) {
	for _, f := range r.followers {
		if f.offset >= offset {
			n++
		}
	}
	return n
}

// MinReplicas sets min-replicas-to-write and min-replicas-max-lag: a primary refuses to write while it has not heard from
// so many replicas for longer than that. Redis counts whole seconds, and counts once a second; the node at each write.
func (r *Redis) MinReplicas(n int, maxLag time.Duration) { r.minReplicas, r.maxLag = n, maxLag }

// forbids says why a command may not run in the role that the node has; empty: it may.
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

// writes says whether a command is one that writes. A script is, if it has flags and no-writes is not among them; one
// without flags is asked when it does.
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
	if r.minReplicas == 0 || r.maxLag == 0 || r.primary != "" {
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

// OnReply sets the function that gets replies which come later than their request: those of WAIT. After it has sent the
// reply it calls [Session.Feed] with nothing, to have what arrived meanwhile run, or, if the session is closed, closes the
// connection. Without such a function WAIT answers at once, with what has been acknowledged by then.
func (r *Redis) OnReply(f func(s *Session, reply []byte)) { r.reply = f }

func runWait(r *Redis, s *Session, _ *command, args []string) {
	if r.primary != "" {
		r.out.Fail(waitReplica)
		return
	}
	n, ok := parseInt(args[1])
	timeout, ok2 := parseInt(args[2])
	switch {
	case !ok:
		r.out.Fail(notInteger)
		return
	case !ok2:
		r.out.Fail("ERR timeout is not an integer or out of range")
		return
	case timeout < 0:
		r.out.Fail("ERR timeout is negative")
		return
	}
	acks := r.acks(s.wrote)
	if acks >= n || s.executing || r.reply == nil {
		r.out.Integer(acks)
		return
	}
	switch {
	case timeout > 1<<63-1-r.at:
		timeout = 0
	case timeout > 0:
		timeout += r.at
	}
	s.waiting = true
	r.waiters = append(r.waiters, waiter{session: s, offset: s.wrote, n: n, until: timeout})
	r.wantAck = true
}

// askForAcks has the replicas say how far they are, once for all that began to wait.
func (r *Redis) askForAcks() {
	if !r.wantAck {
		return
	}
	r.wantAck = false
	if r.effects.stream != nil {
		r.effects.offset += int64(len(getAck))
		r.effects.stream([]byte(getAck))
	}
}

// release answers the sessions that have waited long enough.
func (r *Redis) release() {
	for !r.feeding && len(r.waiters) > 0 {
		now := r.now().UnixMilli()
		i := slices.IndexFunc(r.waiters, func(w waiter) bool {
			return w.until != 0 && w.until < now || r.acks(w.offset) >= w.n
		})
		if i < 0 {
			return
		}
		w := r.waiters[i]
		r.stopWaiting(w.session)
		var reply Replies
		reply.Integer(r.acks(w.offset))
		r.reply(w.session, reply)
	}
}

func (r *Redis) stopWaiting(s *Session) {
	s.waiting = false
	r.waiters = slices.DeleteFunc(r.waiters, func(w waiter) bool { return w.session == s })
}

// timeout is the first millisecond in which a waiter has waited long enough; 0: never.
func (r *Redis) timeout() (at int64) {
	for _, w := range r.waiters {
		if w.until != 0 && (at == 0 || w.until+1 < at) {
			at = w.until + 1
		}
	}
	return at
}

// hide takes away the keys that are over on a replica, which may not delete them but answers as if it had, and returns
// what brings them back.
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

// Delegate sets the function that every command is offered first that comes over a connection: for PSYNC, REPLCONF,
// SENTINEL, CLUSTER and whatever else takes a network. If it is not ok the node deals with the command itself.
func (r *Redis) Delegate(f func(s *Session, args []string) (reply []byte, ok bool)) { r.delegate = f }

// Addresses sets the function that says where a process listens, for INFO and ROLE.
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

// runInfo knows the sections server, replication and cluster, and of those what locks and their clients look at.
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
