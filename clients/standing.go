package clients

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"syscall"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
)

// Standing is what is kept of a client process from one simulated run to the next: go-redis clients, each with one open and
// greeted connection, as [Env.Warm] leaves them. To make them takes longer than to acquire and release a lock with them.
//
// Their connections are those of the run that is played: each run dials anew, and says what go-redis said when it opened them.
// Whoever plays a run cannot tell them from new ones; where that is not certain, they are [Standing.Fit] for no other run.
type Standing struct {
	addrs   []string
	clients []*redis.Client
	lines   []*line
	heard   [bufferSize]byte

	mu    sync.Mutex
	dial  Dialer // of the run that is played; nil when the client's lane is over
	stray bool   // a client dialled once more, or in vain
}

// NewStanding makes clients to some addresses, without connections. It must be called outside of any bubble: what is made within
// one is of use in that one only.
func NewStanding(addrs []string) *Standing {
	s := &Standing{addrs: addrs}
	for i, addr := range addrs {
		s.lines = append(s.lines, &line{})
		s.clients = append(s.clients, connect(func(ctx context.Context, network, addr string) (net.Conn, error) {
			return s.open(ctx, i, network, addr)
		}, addr, nil))
	}
	return s
}

// Env makes an [Env] for the next run, with connections that are open already; it is for [sim.World.Warm] to call.
func (s *Standing) Env(clock, wall clockwork.Clock, random *rand.Rand, dial Dialer) Env {
	env := Env{Clock: clock, Wall: wall, Rand: random, Addrs: slices.Clone(s.addrs), Dial: dial, Nodes: slices.Clone(s.clients), more: &more{standing: s}}
	s.mu.Lock()
	s.dial = dial
	s.mu.Unlock()
	for i, l := range s.lines {
		if l.Conn == nil { // the first run
			s.clients[i].Ping(context.Background())
			l.greets, l.greeting = false, bytes.TrimSuffix(l.greeting, ping)
			continue
		}
		conn, err := dial(context.Background(), "tcp", s.addrs[i])
		if err != nil {
			s.stray = true
			continue
		}
		conn.Write(l.greeting)
		conn.Read(s.heard[:]) // what go-redis has heard already
		l.Conn = conn
	}
	return env
}

// open is how go-redis dials: once, for the connection that stays.
func (s *Standing) open(ctx context.Context, i int, network, addr string) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[i]
	if l.Conn != nil || s.dial == nil {
		s.stray = true
	}
	dial := s.dial
	if dial == nil {
		return nil, net.ErrClosed
	}
	if s.stray {
		s.mu.Unlock()
		defer s.mu.Lock()
		return dial(ctx, network, addr)
	}
	conn, err := dial(ctx, network, addr) // nobody else is about while the world stands still
	if err != nil {
		s.stray = true
		return nil, err
	}
	l.Conn, l.greets = conn, true
	return l, nil
}

// hangUp closes the connections at the end of the client's lane, and the clients as well if they are not as they were.
func (s *Standing) hangUp() error {
	s.mu.Lock()
	s.dial = nil
	s.mu.Unlock()
	rest := s.rest()
	var errs []error
	for i, c := range s.clients {
		if rest {
			errs = append(errs, s.lines[i].Close())
		} else {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// rest reports whether every client still has its one connection, and is not using it.
func (s *Standing) rest() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.stray && !slices.ContainsFunc(s.clients, func(c *redis.Client) bool {
		stats := c.PoolStats()
		return stats.TotalConns != 1 || stats.IdleConns != 1
	})
}

// Fit reports whether the clients can take part in another run, now that one is over.
func (s *Standing) Fit() bool { return s.dial == nil && s.rest() }

// To reports whether these are clients to some addresses.
func (s *Standing) To(addrs []string) bool { return slices.Equal(s.addrs, addrs) }

// ping is what go-redis says for the sake of an answer, after the greeting.
var ping = []byte("*1\r\n$4\r\nping\r\n")

// line is a connection as go-redis keeps it, over the one of the run that is played.
type line struct {
	net.Conn
	greets   bool // what is written is what a connection begins with
	greeting []byte
}

func (l *line) Write(b []byte) (int, error) {
	if l.greets {
		l.greeting = append(l.greeting, b...)
	}
	return l.Conn.Write(b)
}

// SyscallConn is for go-redis, which looks whether an idle connection is alive.
func (l *line) SyscallConn() (syscall.RawConn, error) {
	if c, ok := l.Conn.(syscall.Conn); ok {
		return c.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
