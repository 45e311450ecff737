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
// carries the bytes and says when time has passed; it starts no goroutine that outlives NewRedis, opens no socket, reads
// no clock but the one given, and is deterministic. It is not safe for concurrent use.
//
// It can be a primary or a replica (replica.go) of another that its caller carries the effects of commands to
// (propagate.go), and has a disk (persistence.go).
//
// miniredis keeps the data and runs the commands. What it does differently from redis-server is set right here: deadlines
// and the commands that deal in them (deadline.go), transactions (session.go), scripts (script.go), and the reading of
// numbers and arguments everywhere (command.go). A differential test holds all of it against a real server.
//
// Known differences that remain:
//   - WAIT answers a millisecond after its timeout; redis-server, when nothing else happens, up to a tenth of a second later.
//   - The stream of effects has no SELECT and no PING, one DEL per key, and SET or DEL where redis-server leaves INCR, APPEND,
//     GETDEL, MSET or FLUSHALL as they are. So offsets count other bytes.
//   - A full synchronization takes no time, nor does a snapshot, nor an fsync but those of [AOFEverysecSlow].
//   - On a replica, a key that is over and was watched fails EXEC, whenever it was watched. So does one that was watched
//     there and that the promotion of the replica ends, and one that was watched on a primary which becomes a replica: it is
//     written anew by a full synchronization, where redis-server is content with what is missing. redis-server runs EXEC.
//   - INFO has the sections server, replication and cluster, and of those the fields that locks and their clients look at. What
//     it leaves out is not 0 but missing.
//   - A deadline after 2262 is in April 2262: miniredis counts nanoseconds.
//   - Keys expire when a command finds their deadline passed, or at the latest at [Redis.Tick]. redis-server looks ten
//     times a second, at random keys. Clients see no difference but in DBSIZE, and when the clock is set back meanwhile.
//   - Lua is gopher-lua: messages of run-time errors are worded differently, a number that is concatenated keeps more
//     than 14 digits, string.format takes arguments that it should refuse, and bit, struct, cmsgpack and
//     redis.setresp(3) are missing.
//   - An inline command knows no quotes.
//   - CLIENT has only SETNAME, GETNAME, ID and TRACKING (see tracking.go). Commands listed in unsimulated (command.go) return
//     an error.
//   - DELEX, which came with Redis 8.4, is there.
type Redis struct {
	now      func() time.Time
	observer func(Change)

	mini *miniredis.Miniredis
	db   *miniredis.RedisDB
	pipe *bufio.Writer // where miniredis writes; ends in out
	out  Replies
	// plain is where SET, the most frequent command of locks, is rewritten.
	plain [8]string

	commands map[string]*command // a field and not the variable, which the commands themselves must not refer to

	keys  map[string]Entry
	next  int64 // the earliest deadline; 0: none
	stale bool  // next must be looked up again

	effects  effects
	tracking tracking
	roles
	disk    Disk
	loading bool     // a snapshot is being loaded
	own     *Session // of the node itself, for what no client asks; nil until it is used

	clustered bool // it is a node of a cluster (package nodes)

	process int // counts restarts
	clients int64
	scripts map[string]*script // by SHA-1
	lua     *interpreter       // nil until a script runs

	// The outermost command that runs, and when it began: time stands still inside a command, a script or a transaction.
	at       int64 // milliseconds since 1970 by the wall clock of the node
	began    time.Time
	by, word string
	nx       bool
	script   *running // the script that runs, if any
}

// NewRedis starts an empty server. It reads its wall clock, now, at each command.
func NewRedis(now func() time.Time) *Redis {
	r := &Redis{now: now, mini: openMini(), commands: commands, keys: map[string]Entry{}, scripts: map[string]*script{}}
	r.db = r.mini.DB(0)
	r.pipe = bufio.NewWriterSize(&r.out, 256)
	return r
}

// Connect opens a connection. Client names who is on the other end, for [Change.By]; empty: unknown.
func (r *Redis) Connect(client string) *Session {
	r.clients++
	return &Session{redis: r, process: r.process, client: client, id: r.clients, peer: server.NewPeer(r.pipe)}
}

// SetClustered makes the node part of a cluster. The function given to [Redis.Delegate] answers what clients ask about
// the cluster.
func (r *Redis) SetClustered() { r.clustered = true }

// Tick does what the passing of time brings about: keys expire whose deadline has passed by now, files are written, and
// clients that waited long enough are answered. Call it at [Redis.NextDeadline], and after the clock of the node was set.
func (r *Redis) Tick() {
	r.begin("", "")
	r.expire()
	r.disk.cron(r.at, r.Snapshot)
	r.release()
}

// NextDeadline returns the first instant, by the wall clock of the node, at which [Redis.Tick] has something to do. For a
// key that is one millisecond after its deadline: redis counts whole milliseconds, and a key lives through its last.
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

// Close ends the use of the server: what it was made of serves others from now on. Closing it again does nothing. A server
// that has panicked is not to be closed, but left to the garbage collector, which frees all that it has.
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

// self is the session of the node itself.
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
