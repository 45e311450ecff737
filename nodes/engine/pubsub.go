package engine

import (
	"slices"
	"strings"
)

// Publish and subscribe. A message goes to the connections that are subscribed to its channel, in the order in which they
// subscribed, and then to those that are subscribed to a pattern that matches. It is not stored: whoever is not connected misses
// it.
//
// The following behaviour of redis-server 7.0 may surprise readers of its documentation:
//   - A client that publishes to itself gets the message before the reply to PUBLISH, even inside EXEC, where it comes between two
//     elements of the array.
//   - A primary sends PUBLISH to its replicas, whose subscribers get the message too, but does not write it to disk. On a replica
//     anybody may publish, to the subscribers of that replica. In a cluster the message goes to the subscribers of all nodes.
//   - A subscription belongs to a connection. It outlasts a change of the node's role. So a subscriber of a primary that was
//     replaced may wait for messages that only subscribers of the new primary get.

// pubsub records who is subscribed to what.
type pubsub struct {
	channels, patterns topics
	spread             func(channel, message string)
}

// topics are channels or patterns that have subscribers, in the order in which each got its first subscriber.
type topics []*topic

type topic struct {
	name        string
	subscribers []*Session
}

// OnPublish sets the function that receives what clients publish on a node of a cluster, so that the other nodes can
// [Redis.Publish] it. The function must not call back into the node.
func (r *Redis) OnPublish(f func(channel, message string)) { r.pubsub.spread = f }

func (p *pubsub) reset() { *p = pubsub{spread: p.spread} }

// leave ends all subscriptions of a connection.
func (p *pubsub) leave(s *Session) {
	for _, list := range [...]*topics{&p.channels, &p.patterns} {
		for _, name := range list.of(s) {
			list.remove(name, s)
		}
	}
}

// count returns the number of channels and patterns to which a connection is subscribed.
func (p *pubsub) count(s *Session) int { return len(p.channels.of(s)) + len(p.patterns.of(s)) }

// of returns the names of the topics to which a connection is subscribed.
func (l topics) of(s *Session) (names []string) {
	for _, t := range l {
		if slices.Contains(t.subscribers, s) {
			names = append(names, t.name)
		}
	}
	return names
}

func (l topics) index(name string) int {
	return slices.IndexFunc(l, func(t *topic) bool { return t.name == name })
}

func (l *topics) add(name string, s *Session) {
	i := l.index(name)
	if i < 0 {
		i = len(*l)
		*l = append(*l, &topic{name: name})
	}
	if t := (*l)[i]; !slices.Contains(t.subscribers, s) {
		t.subscribers = append(t.subscribers, s)
	}
}

func (l *topics) remove(name string, s *Session) {
	i := l.index(name)
	if i < 0 {
		return
	}
	t := (*l)[i]
	t.subscribers = slices.DeleteFunc(t.subscribers, func(o *Session) bool { return o == s })
	if len(t.subscribers) == 0 {
		*l = slices.Delete(*l, i, i+1)
	}
}

// runSubscribe is SUBSCRIBE and PSUBSCRIBE: one reply for each argument.
func runSubscribe(r *Redis, s *Session, c *command, args []string) {
	list := r.pubsub.list(c)
	for _, name := range args[1:] {
		list.add(name, s)
		r.subscribed(s, c, func() { r.out.Bulk(name) })
	}
}

// runUnsubscribe is UNSUBSCRIBE and PUNSUBSCRIBE: one reply for each argument, or for each subscription if there is no argument.
func runUnsubscribe(r *Redis, s *Session, c *command, args []string) {
	list, names := r.pubsub.list(c), args[1:]
	if len(names) == 0 {
		names = list.of(s)
	}
	for _, name := range names {
		list.remove(name, s)
		r.subscribed(s, c, func() { r.out.Bulk(name) })
	}
	if len(names) == 0 {
		r.subscribed(s, c, func() { r.out.null(s.peer.Resp3) })
	}
}

func (p *pubsub) list(c *command) *topics {
	if c.name[0] == 'P' {
		return &p.patterns
	}
	return &p.channels
}

// subscribed replies to one argument of a command that changes subscriptions.
func (r *Redis) subscribed(s *Session, c *command, name func()) {
	r.out.message(3, s.peer.Resp3)
	r.out.Bulk(strings.ToLower(c.name))
	name()
	r.out.Integer(int64(r.pubsub.count(s)))
}

// whileSubscribed reports whether a connection that speaks RESP2 and is subscribed to something may send a command. Such a
// connection could not tell other replies from messages.
func (c *command) whileSubscribed() bool {
	switch c.name {
	case "SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE", "PING", "QUIT":
		return true
	}
	return false
}

func notWhileSubscribed(c *command) string {
	return "ERR Can't execute '" + strings.ToLower(c.name) +
		"': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"
}

func runPublish(r *Redis, _ *Session, _ *command, args []string) {
	receivers := r.Publish(args[1], args[2])
	switch {
	case r.clustered:
		if r.pubsub.spread != nil {
			r.pubsub.spread(args[1], args[2])
		}
	case r.primary == "" && r.effects.logs && r.effects.stream != nil:
		r.emit("PUBLISH", args[1], args[2])
		r.effects.published++
	}
	r.out.Integer(receivers)
}

// Publish sends a message to the subscribers of a channel on this node, and returns how many copies it sent.
func (r *Redis) Publish(channel, message string) (receivers int64) {
	for _, t := range r.pubsub.channels {
		if t.name != channel {
			continue
		}
		for _, s := range t.subscribers {
			r.deliver(s, "message", channel, message)
			receivers++
		}
	}
	for _, t := range r.pubsub.patterns {
		if !matches(t.name, channel) {
			continue
		}
		for _, s := range t.subscribers {
			r.deliver(s, "pmessage", t.name, channel, message)
			receivers++
		}
	}
	return receivers
}

// deliver sends a message to a subscriber.
func (r *Redis) deliver(s *Session, words ...string) {
	var m Replies
	m.message(len(words), s.resp3())
	for _, word := range words {
		m.Bulk(word)
	}
	switch {
	case s != r.current:
		if r.push != nil {
			r.push(s, m)
		}
	case r.script != nil: // its reply is written later
		r.script.own = append(r.script.own, m...)
	default:
		r.out = append(r.out, m...)
	}
}

// resp3 reports whether a connection speaks RESP3. While a script runs for it, its peer is set to RESP2.
func (s *Session) resp3() bool {
	if script := s.redis.script; script != nil && script.session == s {
		return script.resp3
	}
	return s.peer.Resp3
}
