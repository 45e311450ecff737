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

// WarmClients are the go-redis clients of one client process, kept from one simulated run to the next. Each has one connection
// that is open and has said HELLO, as [Env.Warm] leaves it. Making them takes longer than acquiring and releasing a lock with them.
//
// Each run dials its own connections, and repeats on them what go-redis wrote when it opened the first ones. A run cannot tell
// these clients from new ones. If that is not certain, [WarmClients.Fit] is false, and they are not used again.
type WarmClients struct {
	addrs   []string
	clients []*redis.Client
	lines   []*line
	heard   [bufferSize]byte

	mu    sync.Mutex
	dial  Dialer // of the current run; nil when the client's lane is over
	stray bool   // a client dialled a second time, or failed to
}

// NewWarmClients makes clients to some addresses, without connections. It must be called outside of any bubble: what is made in
// a bubble can be used only there.
func NewWarmClients(addrs []string) *WarmClients {
	s := &WarmClients{addrs: addrs}
	for i, addr := range addrs {
		s.lines = append(s.lines, &line{})
		s.clients = append(s.clients, connect(func(ctx context.Context, network, addr string) (net.Conn, error) {
			return s.open(ctx, i, network, addr)
		}, addr, nil))
	}
	return s
}

// Env makes an [Env] for the next run, whose connections are open already. It is called within [sim.World.Warm].
func (s *WarmClients) Env(clock, wall clockwork.Clock, random *rand.Rand, dial Dialer) Env {
	env := Env{Clock: clock, Wall: wall, Rand: random, Addrs: slices.Clone(s.addrs), Dial: dial, Nodes: slices.Clone(s.clients), more: &more{warm: s}}
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
		conn.Read(s.heard[:]) // the reply, which go-redis got on its first connection
		l.Conn = conn
	}
	return env
}

// open is what go-redis dials with. It expects to dial once, for the connection that is kept.
func (s *WarmClients) open(ctx context.Context, i int, network, addr string) (net.Conn, error) {
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
	conn, err := dial(ctx, network, addr) // under mu: no other goroutine runs within World.Warm
	if err != nil {
		s.stray = true
		return nil, err
	}
	l.Conn, l.greets = conn, true
	return l, nil
}

// hangUp closes the connections at the end of the client's lane, and the clients too if they cannot be used again.
func (s *WarmClients) hangUp() error {
	s.mu.Lock()
	s.dial = nil
	s.mu.Unlock()
	idle := s.idle()
	var errs []error
	for i, c := range s.clients {
		if idle {
			errs = append(errs, s.lines[i].Close())
		} else {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// idle reports whether every client still has exactly one connection, and none is in use.
func (s *WarmClients) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.stray && !slices.ContainsFunc(s.clients, func(c *redis.Client) bool {
		stats := c.PoolStats()
		return stats.TotalConns != 1 || stats.IdleConns != 1
	})
}

// Fit reports whether the clients can be used in another run. It is called after a run.
func (s *WarmClients) Fit() bool { return s.dial == nil && s.idle() }

// To reports whether these are the clients for addrs.
func (s *WarmClients) To(addrs []string) bool { return slices.Equal(s.addrs, addrs) }

// ping is the PING that Env sends to open the connection. It is not part of the greeting.
var ping = []byte("*1\r\n$4\r\nping\r\n")

// line is the connection that go-redis keeps. Beneath it is the connection of the current run.
type line struct {
	net.Conn
	greets   bool // what is written now is the greeting
	greeting []byte
}

func (l *line) Write(b []byte) (int, error) {
	if l.greets {
		l.greeting = append(l.greeting, b...)
	}
	return l.Conn.Write(b)
}

// SyscallConn is called by go-redis to check whether an idle connection is alive.
func (l *line) SyscallConn() (syscall.RawConn, error) {
	if c, ok := l.Conn.(syscall.Conn); ok {
		return c.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
