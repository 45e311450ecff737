// Package engine is redis-server without a network: commands, scripts, transactions, keys and their expiry, what is
// written to disk, and what is sent to a replica. It runs no goroutine, and reads only the clock that it is given.
//
// Package nodes turns it into simulated processes. Package live, which deals with real servers, uses its protocol code,
// [Change], [Owners] and [Disk].
package engine

import (
	"bufio"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// Redis is one Redis server without a network: redis-server 7.0.15 with one database, as far as locks can tell. Its caller
// carries the bytes and says when time has passed; it starts no goroutine that outlives NewRedis, opens no socket, reads no clock
// but the one given, and is deterministic. It is not safe for concurrent use.
//
// It can be a primary or a replica (replica.go), to which its caller carries the effects of the primary's commands
// (propagate.go), and has a disk (persistence.go).
//
// miniredis keeps the data and runs the commands. Where it differs from redis-server it is corrected here: deadlines and the
// commands that use them (deadline.go), transactions (session.go), scripts (script.go), and the parsing of numbers and arguments
// everywhere (command.go). A differential test compares all of it with a real server.
//
// Known differences that remain:
//   - WAIT, BLPOP and BRPOP reply a millisecond after their timeout. If nothing else happens, redis-server takes up to a tenth of
//     a second longer.
//   - The stream of effects has no SELECT and no PING, one DEL per key, and SET or DEL where redis-server sends INCR, APPEND,
//     GETDEL, MSET or FLUSHALL unchanged. So offsets differ.
//   - A full synchronization takes no time, nor does a snapshot, nor an fsync, except with [AOFEverysecSlow].
//   - On a replica, an expired key that is watched fails EXEC, no matter when WATCH came. So does a key that was watched on a replica
//     and expires when the replica is promoted, and one that was watched on a primary that becomes a replica: a full synchronization
//     rewrites it. redis-server runs EXEC.
//   - INFO has the sections server, replication and cluster, and of those only the fields that locks and their clients read. Other
//     fields are missing.
//   - A deadline after 2262 becomes one in April 2262: miniredis counts nanoseconds.
//   - Keys expire when a command finds that their deadline has passed, or at the latest at [Redis.Tick]. redis-server looks at random
//     keys ten times a second. Clients see a difference only in DBSIZE, and if the clock is set back meanwhile.
//   - Lua is gopher-lua: messages of run-time errors are worded differently, a number that is concatenated keeps more
//     than 14 digits, string.format accepts arguments that it should refuse, and bit, struct, cmsgpack and
//     redis.setresp(3) are missing.
//   - An inline command cannot contain quotes.
//   - CLIENT has only SETNAME, GETNAME, ID and TRACKING (see tracking.go). Commands listed in unsimulated (command.go) return
//     an error.
//   - Channels and patterns are kept in the order in which somebody subscribed to them; redis-server's order is random.
//   - DELEX, which came with Redis 8.4, is there.
type Redis struct {
	now      func() time.Time
	observer func(Change)
	refused  func(client, command string)

	mini *miniredis.Miniredis
	db   *miniredis.RedisDB
	pipe *bufio.Writer // miniredis writes to it; it writes to out
	out  Replies
	// plain holds the arguments of SET, the most frequent command of locks, in their rewritten form.
	plain [8]string

	commands map[string]*command // a field, because the commands themselves refer to it

	keys  map[string]Entry
	next  int64 // the earliest deadline; 0 if there is none
	stale bool  // next must be recomputed

	effects  effects
	tracking tracking
	pubsub   pubsub
	push     func(s *Session, message []byte)
	current  *Session // whose command runs; nil if no client's does
	waiting
	roles
	disk    Disk
	loading bool     // a snapshot is being loaded
	own     *Session // the session of the node itself, for commands of no client; nil until it is used

	clustered bool // it is a node of a cluster (package nodes)

	process int // counts restarts
	clients int64
	scripts map[string]*script // by SHA-1
	lua     *interpreter       // nil until a script runs

	// The outermost command, and when it began: time stands still inside a command, a script or a transaction.
	at       int64 // milliseconds since 1970 by the wall clock of the node
	began    time.Time
	by, word string
	nx       bool
	script   *running // the current script, if any
}

// NewRedis starts an empty server. It reads its wall clock, now, at each command.
func NewRedis(now func() time.Time) *Redis {
	r := &Redis{now: now, mini: openMini(), commands: commands, keys: map[string]Entry{}, scripts: map[string]*script{}}
	r.db = r.mini.DB(0)
	r.pipe = bufio.NewWriterSize(&r.out, 256)
	return r
}

// Connect opens a connection. The client at the other end is named for [Change.By]; empty if it is unknown.
func (r *Redis) Connect(client string) *Session {
	r.clients++
	return &Session{redis: r, process: r.process, client: client, id: r.clients, peer: server.NewPeer(r.pipe)}
}

// SetClustered makes the node part of a cluster. The function given to [Redis.Delegate] replies to commands about the cluster.
func (r *Redis) SetClustered() { r.clustered = true }

// Tick carries out what is due: keys whose deadline has passed expire, files are written, and clients whose wait is over get
// their replies. Call it at [Redis.NextDeadline], and after the clock of the node was set.
func (r *Redis) Tick() {
	r.begin("", "")
	r.expire()
	r.disk.cron(r.at, r.Snapshot)
	r.release()
}

// NextDeadline returns the first instant, by the wall clock of the node, at which [Redis.Tick] has something to do. For a key
// that is one millisecond after its deadline: Redis counts whole milliseconds, and a key exists during its last.
func (r *Redis) NextDeadline() (time.Time, bool) {
	var next int64
	if at := r.earliest(); at != 0 && r.primary == "" {
		next = at + 1
	}
	for _, at := range [...]int64{r.disk.next(), r.timeout()} {
		if at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	if next == 0 {
		return time.Time{}, false
	}
	return date(next), true
}

// Close releases the server, so that its parts can be reused. Closing it again does nothing. A server that has panicked must not
// be closed; the garbage collector frees it.
func (r *Redis) Close() {
	if r.mini == nil {
		return
	}
	r.process++
	r.closeLua()
	closeMini(r.mini)
	r.mini, r.db = nil, nil
}

func (r *Redis) closeLua() {
	if r.lua != nil {
		r.lua.close()
		r.lua = nil
	}
}

// begin marks the start of an outermost command.
func (r *Redis) begin(by, word string) {
	r.began = r.now()
	r.at, r.by, r.word = r.began.UnixMilli(), by, word
}

// self returns the session of the node itself.
func (r *Redis) self() *Session {
	if r.own == nil {
		r.own = &Session{redis: r, peer: server.NewPeer(r.pipe)}
	}
	return r.own
}

// expire removes the keys whose deadline has passed, the earliest first. A replica leaves that to its primary.
func (r *Redis) expire() {
	if r.primary != "" || r.loading {
		return
	}
	if next := r.earliest(); next == 0 || r.at <= next {
		return
	}
	for _, name := range Overdue(r.keys, r.at) {
		alone := r.effects.n == 0
		r.drop(name)
		if alone {
			r.settle()
		}
	}
}

// Overdue returns the names of the keys whose deadline has passed at a time in milliseconds, the earliest first.
func Overdue(keys map[string]Entry, at int64) []string {
	var over []string
	for name, e := range keys {
		if e.Deadline != 0 && at > e.Deadline {
			over = append(over, name)
		}
	}
	slices.SortFunc(over, func(a, b string) int {
		return cmp.Or(cmp.Compare(keys[a].Deadline, keys[b].Deadline), strings.Compare(a, b))
	})
	return over
}

// earliest returns the earliest deadline of all keys; 0 if none has one.
func (r *Redis) earliest() int64 {
	if r.stale {
		r.next, r.stale = 0, false
		for _, e := range r.keys {
			r.retimed(0, e.Deadline)
		}
	}
	return r.next
}

// retimed keeps the earliest deadline up to date when a key gets another one.
func (r *Redis) retimed(old, deadline int64) {
	switch {
	case deadline != 0 && (r.next == 0 || deadline < r.next):
		r.next = deadline
	case old != 0 && old == r.next && old != deadline:
		r.stale = true
	}
}

// names returns the names of all keys of any type, sorted.
func (r *Redis) names() []string {
	names := make([]string, 0, len(r.keys))
	for name := range r.keys {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
