package nodes

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"lockstep/nodes/engine"
	"lockstep/sim"
)

// A caller is the State of a connection that others have opened to a sentinel.
type caller struct {
	unread  []byte
	listens bool
}

// Open is called by the kernel.
func (s *Sentinel) Open(c *sim.Conn) {
	if l, ok := c.State.(line); ok {
		l.opened()
		return
	}
	c.State = &caller{}
}

// Closed is called by the kernel.
func (s *Sentinel) Closed(c *sim.Conn) {
	if l, ok := c.State.(line); ok {
		l.closed()
	}
	s.listeners = slices.DeleteFunc(s.listeners, func(o *sim.Conn) bool { return o == c })
}

// Receive is called by the kernel.
func (s *Sentinel) Receive(c *sim.Conn, data []byte) {
	if l, ok := c.State.(line); ok {
		l.receive(data)
		return
	}
	caller, ok := c.State.(*caller)
	if !ok {
		return
	}
	cmds, rest, err := engine.ParseCommands(append(caller.unread, data...))
	caller.unread = bytes.Clone(rest)
	var w engine.Replies
	for _, args := range cmds {
		s.answer(&w, c, caller, args)
	}
	if err != nil {
		w.Fail("ERR " + err.Error())
	}
	if len(w) > 0 {
		c.Write(w)
	}
	if err != nil {
		c.Close()
		s.listeners = slices.DeleteFunc(s.listeners, func(o *sim.Conn) bool { return o == c })
	}
}

func (s *Sentinel) answer(w *engine.Replies, c *sim.Conn, from *caller, args []string) {
	word := strings.ToUpper(args[0])
	if word == "SENTINEL" && len(args) > 1 {
		word += " " + strings.ToUpper(args[1])
	}
	switch {
	case word == "PING" && from.listens:
		w.Array(2)
		w.Bulk("pong")
		w.Bulk("")
	case word == "PING":
		w.Status("PONG")
	case word == "PUBLISH" && len(args) == 3:
		if args[1] != helloChannel {
			w.Fail("ERR Only HELLO messages are accepted by Sentinel instances.")
			return
		}
		s.hello(args[2])
		w.Integer(1)
	case word == "SUBSCRIBE" || word == "PSUBSCRIBE" || word == "UNSUBSCRIBE" || word == "PUNSUBSCRIBE":
		if strings.HasSuffix(word, "UNSUBSCRIBE") {
			from.listens = false
		} else if !from.listens {
			from.listens = true
			s.listeners = append(s.listeners, c)
		}
		for i, channel := range args[1:] {
			w.Array(3)
			w.Bulk(strings.ToLower(word))
			w.Bulk(channel)
			w.Integer(int64(i + 1))
		}
	case word == "SENTINEL GET-MASTER-ADDR-BY-NAME" && len(args) == 3:
		if args[2] != MasterName {
			w.NullArray(false)
			return
		}
		host, port, _ := strings.Cut(s.current().Addr(), ":")
		w.Array(2)
		w.Bulk(host)
		w.Bulk(port)
	case word == "SENTINEL IS-MASTER-DOWN-BY-ADDR" && len(args) == 6:
		s.answerState(w, args[2:])
	case (word == "SENTINEL SENTINELS" || word == "SENTINEL REPLICAS" || word == "SENTINEL SLAVES") && len(args) == 3:
		list := s.peers
		if word != "SENTINEL SENTINELS" {
			list = s.replicas
		}
		w.Array(len(list))
		for _, i := range list {
			host, port, _ := strings.Cut(i.proc.Addr(), ":")
			w.Array(8)
			for _, field := range []string{"name", i.proc.Name, "ip", host, "port", port, "flags", i.flags()} {
				w.Bulk(field)
			}
		}
	case word == "ROLE":
		w.Array(2)
		w.Bulk("sentinel")
		w.Array(1)
		w.Bulk(MasterName)
	case word == "CLIENT":
		w.Status("OK")
	default:
		w.Fail(engine.UnknownCommand(args))
	}
}

// answerState is SENTINEL is-master-down-by-addr: host, port, epoch, and the candidate or "*".
func (s *Sentinel) answerState(w *engine.Replies, args []string) {
	epoch, _ := strconv.ParseInt(args[2], 10, 64)
	down, leader, leaderEpoch := int64(0), "*", int64(0)
	if s.primary.proc.Addr() == args[0]+":"+args[1] {
		if s.primary.sdown && !s.tilt(s.now()) {
			down = 1
		}
		if args[3] != "*" {
			leader, leaderEpoch = s.vote(epoch, args[3])
			if leader == "" {
				leader = "*"
			}
		}
	}
	w.Array(3)
	w.Integer(down)
	w.Bulk(leader)
	w.Integer(leaderEpoch)
}
