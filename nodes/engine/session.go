package engine

import (
	"bytes"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// A Session is one connection to a [Redis].
type Session struct {
	redis   *Redis
	process int // the process that it is connected to
	client  string
	id      int64
	name    string // CLIENT SETNAME
	peer    *server.Peer
	unread  []byte // the start of a command whose rest has not arrived
	closed  bool
	wrote   int64 // the replication offset after its last command
	waiting bool  // in WAIT or BLPOP: input that arrives meanwhile waits too

	// State is for the caller that carries the bytes.
	State any

	tracks  tracks
	watched map[string]bool
	multi   bool     // between MULTI and EXEC
	broken  bool     // a command could not be queued
	queue   []queued // what EXEC will run
	// executing says that EXEC is running, in which nothing may wait.
	executing bool
}

type queued struct {
	command *command
	args    []string
}

// Feed takes bytes as they arrive from the network, runs each command that is complete, and returns the replies. A delayed reply
// comes through [Redis.OnReply]. After bytes that violate the protocol, and after QUIT, the session is [Session.Closed].
func (s *Session) Feed(data []byte) (reply []byte) { return s.FeedParsed(data, &Parsed{}) }

// FeedParsed is [Session.Feed] for a caller that may have parsed data already.
func (s *Session) FeedParsed(data []byte, known *Parsed) (reply []byte) {
	if s.Closed() {
		return nil
	}
	if s.waiting {
		s.unread = append(s.unread, data...)
		return nil
	}
	if len(s.unread) > 0 {
		s.unread = append(s.unread, data...)
		data = s.unread
	}
	r := s.redis
	r.out = r.out[:0]
	r.feeding = true
	for len(data) > 0 && !s.closed && !s.waiting {
		args, n := known.take(data), len(data)
		var err error
		if args == nil {
			args, n, err = ParseCommand(data)
		}
		if err != nil {
			r.out.Fail("ERR " + err.Error())
			s.Close()
		}
		if n == 0 {
			break
		}
		data = data[n:]
		if len(args) > 0 {
			s.run(args)
		}
	}
	if !s.closed {
		s.unread = append(s.unread[:0], data...)
	}
	r.feeding = false
	reply = bytes.Clone(r.out)
	r.askForAcks()
	r.release()
	return reply
}

// Close ends the connection: its transaction is discarded.
func (s *Session) Close() {
	s.closed = true
	s.redis.tracking.leave(s)
	s.redis.pubsub.leave(s)
	if s.waiting {
		s.redis.stopWaiting(s)
	}
	s.unread, s.queue, s.watched = nil, nil, nil
}

// Client returns the name that [Redis.Connect] was given.
func (s *Session) Client() string { return s.client }

// Queued returns the commands that wait for EXEC.
func (s *Session) Queued() (cmds [][]string) {
	for _, q := range s.queue {
		cmds = append(cmds, q.args)
	}
	return cmds
}

// Refused notes that a command was not run. If it was to be queued in a transaction, EXEC ends that transaction without executing
// it.
func (s *Session) Refused(args []string) {
	s.broken = s.broken || s.multi
	if strings.EqualFold(args[0], "EXEC") {
		s.discard()
	}
}

// Closed reports whether the connection has ended: by Close, by the server, or with the server's process.
func (s *Session) Closed() bool { return s.closed || s.process != s.redis.process }

// run runs one command, or queues it in a transaction.
func (s *Session) run(args []string) {
	r := s.redis
	if r.delegate != nil {
		if reply, ok := r.delegate(s, args); ok {
			r.out = append(r.out, reply...)
			return
		}
	}
	r.begin(s.client, "")
	c, refusal := r.lookup(args)
	if refusal == "" {
		refusal = r.forbids(s, c, args)
	}
	if refusal == "" && !s.peer.Resp3 && !c.whileSubscribed() && r.pubsub.count(s) > 0 {
		refusal = notWhileSubscribed(c)
	}
	if refusal != "" {
		if s.multi {
			s.broken = true
		}
		if c != nil && c.name == "EXEC" {
			// Even an invalid EXEC ends the transaction.
			refusal = "EXECABORT Transaction discarded because of: " + strings.TrimPrefix(refusal, "ERR ")
			s.discard()
		}
		r.out.Fail(refusal)
		return
	}
	if s.multi && !c.control {
		if !s.broken {
			s.queue = append(s.queue, queued{c, args})
		}
		r.out.Status("QUEUED")
		return
	}
	r.word = c.word()
	r.current = s
	if r.primary == "" || c.name == "DBSIZE" { // DBSIZE counts expired keys too
		r.do(s, c, args)
	} else {
		back := r.hide()
		r.do(s, c, args)
		back()
	}
	r.tellOwn(s)
	r.settle()
	s.wrote = r.effects.offset // whatever the command was
	r.expire()
	r.serve()
}

// do runs a command that was looked up, for a client, a transaction or a script.
func (r *Redis) do(s *Session, c *command, args []string) {
	r.expire()
	r.nx = false
	if c.run != nil {
		c.run(r, s, c, args)
	} else {
		args[0] = c.name
		r.forward(s, c, args)
	}
	if c.reads() && len(r.tracking.sessions) > 0 {
		r.remember(s, c, args)
	}
}

// forward makes miniredis run c in the form of args, and compares the keys that it may have changed. args must have the keys at the
// same positions as c.
func (r *Redis) forward(s *Session, c *command, args []string) {
	mark, before := len(r.out), r.effects.n
	r.mini.Server().Dispatch(s.peer, args)
	r.pipe.Flush()
	if !c.write {
		return
	}
	r.effects.whole = r.effects.logs && c.effect() == itself
	last := c.last
	if last < 0 {
		last += len(args)
	}
	for i := c.first; i <= last; i += c.step {
		r.look(args[i])
		if len(r.tracking.readers) > 0 && r.wrote(c, args, r.out[mark:]) {
			r.invalidate(args[i]) // even if the value is the same
		}
	}
	r.effects.whole = false
	if r.effects.logs && r.effects.n == before {
		r.done(c, args, r.out[mark:])
	}
}

func runMulti(r *Redis, s *Session, _ *command, _ []string) {
	if s.multi {
		r.out.Fail("ERR MULTI calls can not be nested")
		return
	}
	s.multi = true
	r.out.Status("OK")
}

func runExec(r *Redis, s *Session, _ *command, _ []string) {
	if !s.multi {
		r.out.Fail("ERR EXEC without MULTI")
		return
	}
	queue, broken, touched := s.queue, s.broken, s.touched()
	s.discard()
	switch {
	case broken:
		r.out.Fail("EXECABORT Transaction discarded because of previous errors.")
	case touched:
		r.out.NullArray(s.peer.Resp3)
	default:
		r.out.Array(len(queue))
		s.executing = true
		for _, q := range queue {
			r.do(s, q.command, q.args)
		}
		s.executing = false
	}
}

func runDiscard(r *Redis, s *Session, _ *command, _ []string) {
	if !s.multi {
		r.out.Fail("ERR DISCARD without MULTI")
		return
	}
	s.discard()
	r.out.Status("OK")
}

func (s *Session) discard() {
	s.multi, s.broken, s.queue = false, false, nil
	s.unwatch()
}

// runWatch passes the keys on to miniredis, which counts the versions of each. If a key is watched already, its first WATCH counts:
// miniredis would forget what has happened since.
func runWatch(r *Redis, s *Session, c *command, args []string) {
	if s.multi {
		r.out.Fail("ERR WATCH inside MULTI is not allowed")
		return
	}
	if s.watched == nil {
		s.watched = map[string]bool{}
	}
	for _, key := range args[1:] {
		if !s.watched[key] {
			s.watched[key] = true
			s.aside("WATCH", key)
		}
	}
	r.out.Status("OK")
}

func runUnwatch(r *Redis, s *Session, _ *command, _ []string) {
	s.unwatch()
	r.out.Status("OK")
}

func (s *Session) unwatch() {
	if len(s.watched) > 0 {
		clear(s.watched)
		s.aside("UNWATCH")
	}
}

// touched reports whether a watched key has changed. It finds out by an empty transaction of miniredis.
func (s *Session) touched() bool {
	if len(s.watched) == 0 {
		return false
	}
	s.aside("MULTI")
	return s.aside("EXEC") == "*-1\r\n"
}

// aside makes miniredis run a command for this session, and removes its reply from those to the client.
func (s *Session) aside(args ...string) (reply string) {
	r := s.redis
	mark := len(r.out)
	r.mini.Server().Dispatch(s.peer, args)
	r.pipe.Flush()
	reply = string(r.out[mark:])
	r.out = r.out[:mark]
	return reply
}
