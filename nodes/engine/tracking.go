package engine

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Client-side caching (redis.io, "Client-side caching reference"): a connection that asked for it is told when a key that it has
// read changes. redis-server remembers which connections have read a key, and forgets them with the first change. It sends the
// message on the same connection, between replies, with the type push.
//
// The following behaviour of redis-server 7.0 may surprise readers of its documentation:
//   - A script reads for the client that runs it. If it reads anything at all, all its declared keys count as read, and undeclared
//     keys do not.
//   - A command that writes the value that is there already changes the key. So does PEXPIREAT with the present deadline.
//   - With NOLOOP a client is not told of its own changes, but the key is forgotten all the same.
//   - A client is told of the effects of its own command after the reply to it.
//   - A connection in RESP2 is told nothing, because RESP2 has no type for it.
//
// Here, unlike in redis-server, ZADD of what is there already counts as a change.
//
// A node reports an expired key when it deletes it, at its deadline. redis-server does so up to some tenths of a second later if
// nobody asks for the key.

// tracking records which connections have read which keys.
type tracking struct {
	sessions []*Session // those that track, in the order of their numbers
	readers  map[string]map[*Session]bool
	own      Replies // messages to the current session, which it gets after the reply
}

// OnPush sets the function that receives the messages to a connection that are not replies: that a key which the connection has
// read has changed, or what was published on a channel to which it is subscribed. The function must not call back into the node.
func (r *Redis) OnPush(f func(s *Session, message []byte)) { r.push = f }

// tracks is what a connection has requested with CLIENT TRACKING.
type tracks struct{ on, optOut, noLoop bool }

// runClientTracking is CLIENT TRACKING in its default mode. For a client that does not send CLIENT CACHING, OPTOUT is the same.
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

// leave ends the tracking of a connection. What it has read stays recorded, as in redis-server: if it tracks again, it is told of
// changes to those keys too.
func (t *tracking) leave(s *Session) {
	t.sessions = slices.DeleteFunc(t.sessions, func(o *Session) bool { return o == s })
	s.tracks = tracks{}
}

// reset forgets everything, because the process has been replaced by another.
func (t *tracking) reset() { *t = tracking{} }

// reads reports whether a command only reads, and so counts as a read of its keys.
func (c *command) reads() bool {
	if c.write || c.control {
		return false
	}
	return c.first > 0 || c.name == "KEYS" || c.name == "SCAN" || c.name == "DBSIZE" // it has no keys, but scripts do
}

// remember records that the client whose command runs has read the keys of a command that only reads.
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

// invalidate tells all connections that have read a key that it has changed, and forgets that they have read it.
func (r *Redis) invalidate(key string) {
	t := &r.tracking
	readers := t.readers[key]
	if readers == nil {
		return
	}
	delete(t.readers, key)
	for _, s := range slices.SortedFunc(maps.Keys(readers), byID) {
		if s == r.current && s.tracks.noLoop {
			continue
		}
		r.tell(s, func(w *Replies) {
			w.Array(1)
			w.Bulk(key)
		})
	}
}

// invalidateAll is called for FLUSHALL and a full synchronization: every connection that tracks is told to forget everything, even
// the one that caused it.
func (r *Redis) invalidateAll() {
	r.tracking.readers = nil
	for _, s := range r.tracking.sessions {
		r.tell(s, func(w *Replies) { w.null(true) })
	}
}

// tell sends an invalidation. The running command's own client gets it after the reply.
func (r *Redis) tell(s *Session, keys func(*Replies)) {
	if s.Closed() || !s.tracks.on {
		return
	}
	t := &r.tracking
	var message Replies
	message.message(2, true)
	message.Bulk("invalidate")
	keys(&message)
	switch {
	case s == r.current:
		t.own = append(t.own, message...)
	case s.peer.Resp3 && r.push != nil:
		r.push(s, message)
	}
}

// tellOwn ends a client's command: the client is told of its effect on keys that it has read.
func (r *Redis) tellOwn(s *Session) {
	t := &r.tracking
	r.current = nil
	if s.peer.Resp3 {
		r.out = append(r.out, t.own...)
	}
	t.own = t.own[:0]
}
