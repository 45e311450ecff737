package engine

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Client-side caching (redis.io, "Client-side caching reference"): a connection that asked for it is told when a key that
// it has read is not what it was. redis-server remembers who read which key, forgets it with the first change, and tells
// that on the same connection, between replies, as a message of the type push.
//
// What redis-server 7.0 does, and not every reader of its documentation expects:
//   - A script reads for the client that runs it. If it reads anything at all, all keys that were declared to it count as
//     read, and a key that was not declared does not.
//   - A command that writes what was there already has changed the key: PEXPIREAT with the deadline that the key has.
//   - With NOLOOP a client is not told of its own changes; the key is forgotten all the same.
//   - What a client has to be told of its own command comes after the reply to it.
//   - A connection in RESP2 is told nothing: it has no type for it.
//
// ZADD of what is there already counts as a change here, and not there.
//
// A node tells of an expired key when it deletes it, which is at its deadline; redis-server, where nobody asks for the key,
// up to some tenths of a second later.

// tracking is who has read what.
type tracking struct {
	push     func(s *Session, message []byte)
	sessions []*Session // that track, in the order of their numbers
	readers  map[string]map[*Session]bool
	// While a client's command runs.
	current *Session
	own     Replies // what it will be told after the reply
}

// OnPush sets the function that is handed what a connection is told without having asked: that a key has changed which it
// read. It must not call back into the node.
func (r *Redis) OnPush(f func(s *Session, message []byte)) { r.tracking.push = f }

// tracks is what a connection has asked for with CLIENT TRACKING.
type tracks struct{ on, optOut, noLoop bool }

// runClientTracking is CLIENT TRACKING in its default mode. OPTOUT is the same to a client that does not send CLIENT
// CACHING.
func runClientTracking(r *Redis, s *Session, _ *command, args []string) {
	var want tracks
	for _, option := range args[3:] {
		switch option = strings.ToUpper(option); option {
		case "OPTOUT":
			want.optOut = true
		case "NOLOOP":
			want.noLoop = true
		case "OPTIN", "BCAST", "PREFIX", "REDIRECT":
			r.out.Fail("ERR CLIENT TRACKING with " + option + " is a form of redis-server's that Lockstep does not simulate: " +
				"the forms that it has are OFF, and ON with OPTOUT, NOLOOP or neither")
			return
		default:
			r.out.Fail(syntax)
			return
		}
	}
	switch {
	case strings.EqualFold(args[2], "ON"):
		want.on = true
	case strings.EqualFold(args[2], "OFF"):
		want = tracks{}
	default:
		r.out.Fail(syntax)
		return
	}
	r.tracking.leave(s)
	if s.tracks = want; want.on {
		r.tracking.sessions = append(r.tracking.sessions, s)
		slices.SortFunc(r.tracking.sessions, byID)
	}
	r.out.Status("OK")
}

func byID(a, b *Session) int { return cmp.Compare(a.id, b.id) }

// leave ends the tracking of a connection. What it has read stays remembered, as in redis-server: if it tracks again, it
// is told of that too.
func (t *tracking) leave(s *Session) {
	t.sessions = slices.DeleteFunc(t.sessions, func(o *Session) bool { return o == s })
	s.tracks = tracks{}
}

// reset forgets everything: there is another process in the place of the one that knew it.
func (t *tracking) reset() { *t = tracking{push: t.push} }

// reads says that a command only reads, and so counts as a read of its keys.
func (c *command) reads() bool {
	if c.write || c.control {
		return false
	}
	return c.first > 0 || c.name == "KEYS" || c.name == "SCAN" || c.name == "DBSIZE" // which have no keys, but scripts do
}

// remember notes that the client whose command runs has read the keys of a command that reads.
func (r *Redis) remember(s *Session, c *command, args []string) {
	var keys []string
	switch {
	case r.script != nil:
		s, keys = r.script.session, r.script.keys
	case c.first > 0:
		last := c.last
		if last < 0 {
			last += len(args)
		}
		for i := c.first; i <= last; i += c.step {
			keys = append(keys, args[i])
		}
	}
	if !s.tracks.on {
		return
	}
	t := &r.tracking
	for _, key := range keys {
		if t.readers[key] == nil {
			if t.readers == nil {
				t.readers = map[string]map[*Session]bool{}
			}
			t.readers[key] = map[*Session]bool{}
		}
		t.readers[key][s] = true
	}
}

// invalidate tells everybody who has read a key that it is not what it was, and forgets who they are.
func (r *Redis) invalidate(key string) {
	t := &r.tracking
	readers := t.readers[key]
	if readers == nil {
		return
	}
	delete(t.readers, key)
	for _, s := range slices.SortedFunc(maps.Keys(readers), byID) {
		if s == t.current && s.tracks.noLoop {
			continue
		}
		r.tell(s, func(w *Replies) {
			w.Array(1)
			w.Bulk(key)
		})
	}
}

// invalidateAll is what FLUSHALL does, and a full synchronization: every connection that tracks is told to forget
// everything, also the one that did it.
func (r *Redis) invalidateAll() {
	r.tracking.readers = nil
	for _, s := range r.tracking.sessions {
		r.tell(s, func(w *Replies) { w.null(true) })
	}
}

// tell sends an invalidation. What the running command's own client is told comes after the reply.
func (r *Redis) tell(s *Session, keys func(*Replies)) {
	if s.Closed() || !s.tracks.on {
		return
	}
	t := &r.tracking
	var message Replies
	message.number('>', 2)
	message.Bulk("invalidate")
	keys(&message)
	switch {
	case s == t.current:
		t.own = append(t.own, message...)
	case s.peer.Resp3 && t.push != nil:
		t.push(s, message)
	}
}

// tellOwn ends a client's command: it is told what the command has made of the keys that it had read.
func (r *Redis) tellOwn(s *Session) {
	t := &r.tracking
	t.current = nil
	if s.peer.Resp3 {
		r.out = append(r.out, t.own...)
	}
	t.own = t.own[:0]
}
