package engine

import (
	"bytes"
	"math"
	"math/big"
	"slices"
)

// Commands that wait: WAIT, for replicas that acknowledge, and BLPOP and BRPOP, for lists that get an element. Timeouts are
// points in time by the wall clock, as in redis-server: a jump forward ends a wait.

// A waiter is a session that waits.
type waiter struct {
	session *Session
	until   int64 // in milliseconds since 1970 by the wall clock; 0: without limit

	// In BLPOP or BRPOP; nil in WAIT.
	command *command
	keys    []string

	// In WAIT.
	offset int64 // the offset of its own last command
	n      int64 // how many replicas must have reached it
}

// waiting is what a node knows of sessions that wait.
type waiting struct {
	waiters []waiter   // in the order in which they began
	ready   []string   // lists that were created, and for which somebody may wait
	served  []*Session // their wait is over; what they have sent since is run after the current input
	// turn is the waiter that gets an element of a list, while the command of another session runs.
	turn *Session

	wantAck bool // GETACK must be sent
	feeding bool // a session is processing input
	reply   func(*Session, []byte)
}

// reset forgets all waiters, because the process has been replaced by another.
func (w *waiting) reset() { *w = waiting{reply: w.reply} }

const (
	unblocked   = "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)"
	waitReplica = "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is " +
		"configured to be writable (which is not the default) writes to replicas are just local and are not propagated."
	wrongType = "WRONGTYPE Operation against a key holding the wrong kind of value"
)

// OnReply sets the function that receives delayed replies: those of WAIT, BLPOP and BRPOP. After it has sent the reply, if there
// is one, it must call [Session.Feed] with nothing, so that commands that arrived meanwhile run, or, if the session is closed,
// close the connection. Without such a function these commands do not wait: WAIT replies with the acknowledgements so far, the
// others with null.
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
	r.wait(waiter{session: s, offset: s.wrote, n: n}, timeout)
	r.wantAck = true
}

// runBlockingPop is BLPOP and BRPOP. If there is an element, it is popped at once. Inside a transaction nobody waits.
func runBlockingPop(r *Redis, s *Session, c *command, args []string) {
	keys := args[1 : len(args)-1]
	timeout, refusal := parseTimeout(args[len(args)-1])
	if refusal != "" {
		r.out.Fail(refusal)
		return
	}
	for _, key := range keys {
		if _, lives := r.keys[key]; !lives {
			continue
		}
		if r.db.Type(key) != "list" {
			r.out.Fail(wrongType)
			return
		}
		r.pop(s, c, key)
		return
	}
	if s.executing || r.reply == nil {
		r.out.NullArray(s.peer.Resp3)
		return
	}
	r.wait(waiter{session: s, command: c, keys: keys}, timeout)
}

// parseTimeout parses a number of seconds, and returns it in milliseconds, rounded up.
func parseTimeout(text string) (ms int64, refusal string) {
	seconds, _, err := big.ParseFloat(text, 10, 64, big.ToNearestEven) // 64 bits, as a long double
	if err != nil {
		return 0, "ERR timeout is not a float or out of range"
	}
	seconds.Mul(seconds, big.NewFloat(1000))
	ms, accuracy := seconds.Int64()
	if accuracy == big.Below && ms < math.MaxInt64 {
		ms++
	}
	if ms < 0 || accuracy == big.Below && ms == math.MaxInt64 { // redis-server lets it overflow
		return 0, "ERR timeout is negative"
	}
	return ms, ""
}

// pop pops an element of a list for BLPOP or BRPOP. The effect, for replicas and the disk, is LPOP or RPOP.
func (r *Redis) pop(s *Session, c *command, key string) {
	r.out.Array(2)
	r.out.Bulk(key)
	r.forward(s, r.commands[c.name[1:]], []string{c.name[1:], key})
}

// wait makes a session wait for at most a time in milliseconds; 0: without limit.
func (r *Redis) wait(w waiter, timeout int64) {
	if timeout > 0 && timeout <= math.MaxInt64-r.at {
		w.until = r.at + timeout
	}
	w.session.waiting = true
	r.waiters = append(r.waiters, w)
}

// made notes that a list was created, or deleted and created again.
func (r *Redis) made(key string) {
	if !slices.Contains(r.ready, key) && slices.ContainsFunc(r.waiters, func(w waiter) bool { return slices.Contains(w.keys, key) }) {
		r.ready = append(r.ready, key)
	}
}

// serve gives elements of the lists that the last command, script or transaction created to those who wait for them; who has
// waited longest comes first. Each pop is a command of its own, by the client that waited.
func (r *Redis) serve() {
	for len(r.ready) > 0 {
		key := r.ready[0]
		i := slices.IndexFunc(r.waiters, func(w waiter) bool { return slices.Contains(w.keys, key) })
		if i < 0 || r.db.Type(key) != "list" {
			r.ready = r.ready[1:]
			continue
		}
		w := r.waiters[i]
		s := w.session
		r.by, r.word, r.nx = s.client, w.command.name, false
		r.current, r.turn = s, s
		mark := len(r.out)
		r.pop(s, w.command, key)
		r.tellOwn(s)
		r.settle()
		r.turn, s.wrote = nil, r.effects.offset
		reply := bytes.Clone(r.out[mark:])
		r.out = r.out[:mark]
		r.reply(s, reply)
		r.stopWaiting(s)
		s.waiting = true
		r.served = append(r.served, s)
	}
}

// askForAcks asks the replicas for their offsets, once for all sessions that have begun to wait.
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

// release replies to the sessions whose wait is over.
func (r *Redis) release() {
	for !r.feeding && len(r.served)+len(r.waiters) > 0 {
		if len(r.served) > 0 {
			s := r.served[0]
			r.served = r.served[1:]
			if s.waiting = false; len(s.unread) > 0 {
				r.reply(s, nil)
			}
			continue
		}
		now := r.now().UnixMilli()
		i := slices.IndexFunc(r.waiters, func(w waiter) bool {
			return w.until != 0 && w.until < now || w.command == nil && r.acks(w.offset) >= w.n
		})
		if i < 0 {
			return
		}
		w := r.waiters[i]
		r.stopWaiting(w.session)
		var reply Replies
		if w.command == nil {
			reply.Integer(r.acks(w.offset))
		} else {
			reply.NullArray(w.session.peer.Resp3)
		}
		r.reply(w.session, reply)
	}
}

// unblock ends all waits with an error, and the connections with them.
func (r *Redis) unblock() {
	for len(r.waiters) > 0 {
		s := r.waiters[0].session
		r.stopWaiting(s)
		var w Replies
		w.Fail(unblocked)
		s.Close()
		r.reply(s, w)
	}
}

func (r *Redis) stopWaiting(s *Session) {
	s.waiting = false
	r.waiters = slices.DeleteFunc(r.waiters, func(w waiter) bool { return w.session == s })
}

// timeout returns the first millisecond in which the wait of a session times out; 0 if there is none.
func (r *Redis) timeout() (at int64) {
	for _, w := range r.waiters {
		if w.until != 0 && (at == 0 || w.until+1 < at) {
			at = w.until + 1
		}
	}
	return at
}
