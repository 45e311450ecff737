package clients

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// watchful makes a client that does not use dead idle connections.
//
// Elsewhere go-redis itself checks an idle connection before it reuses it. In WebAssembly it does not, because few browsers have
// sockets, and runs must be the same everywhere. So before a client takes a connection from its pool, the dead ones are removed
// from it. go-redis has no call for that, but it asks the [redis.Limiter] of the options before it takes a connection, also
// for pipelines, transactions, and clients made by [redis.Client.WithTimeout], to which hooks do not apply. And it removes a connection
// on which a command fails. So the limiter sends ECHO with the text probe until an ECHO succeeds. The connection itself answers:
// with an error if it is dead, and otherwise with a reply. Nothing is sent, except for the greeting on a connection that was opened in
// advance (MinIdleConns).
//
// Two things differ from other systems: there go-redis dials after the third dead idle connection, even if the pool has more; and it checks
// the connections of a second pool for pipelines (PipelineReadBufferSize), too.
func watchful(o *redis.Options) *redis.Client {
	l := &pruner{next: o.Limiter, all: o.PoolFIFO}
	dial := o.Dialer
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		c := &watchfulConn{Conn: conn, of: l}
		l.open = append(l.open, c)
		return c, nil
	}
	o.Limiter = l
	c := redis.NewClient(o)
	l.prober = c.WithTimeout(-1) // shares the pool
	own := l.prober.Options()    // but not the options
	own.Limiter, own.MaxRetries, own.ContextTimeoutEnabled = nil, 0, false
	return c
}

// A pruner removes dead connections from the pool of a client. A program in WebAssembly has one thread.
type pruner struct {
	next   redis.Limiter // the limiter of the program, or nil
	all    bool          // a probe that succeeds says nothing about the connection that the pool gives next
	prober *redis.Client
	probes bool // the command that is sent now is a probe
	open   []*watchfulConn
}

// probe is an argument by which the command that looks for dead connections is recognised.
const probe = "lockstep: is this connection dead?"

var errDead = errors.New("the idle connection is dead")

func (l *pruner) Allow() error {
	if l.next != nil {
		if err := l.next.Allow(); err != nil {
			return err
		}
	}
	l.probes = true
	defer func() { l.probes = false }()
	for n := l.prober.PoolStats().IdleConns; n > 0 && l.prober.PoolStats().IdleConns > 0 && slices.ContainsFunc(l.open, (*watchfulConn).dead); n-- {
		if err := l.prober.Echo(context.Background(), probe).Err(); err == nil && !l.all {
			break
		}
	}
	return nil
}

func (l *pruner) ReportResult(err error) {
	if l.next != nil {
		l.next.ReportResult(err)
	}
}

// A watchfulConn answers a probe by itself.
type watchfulConn struct {
	net.Conn
	of    *pruner
	reply []byte // the unread reply to a probe
}

func (c *watchfulConn) Write(b []byte) (int, error) {
	if !bytes.Contains(b, []byte(probe)) {
		return c.Conn.Write(b)
	}
	if c.dead() {
		return 0, errDead
	}
	c.reply = []byte("+alive\r\n")
	return len(b), nil
}

func (c *watchfulConn) Read(b []byte) (int, error) {
	if len(c.reply) == 0 {
		return c.Conn.Read(b)
	}
	n := copy(b, c.reply)
	c.reply = c.reply[n:]
	return n, nil
}

func (c *watchfulConn) Close() error {
	c.of.open = slices.DeleteFunc(c.of.open, func(o *watchfulConn) bool { return o == c })
	return c.Conn.Close()
}

// A probe leaves the deadlines of the connection as they are.

func (c *watchfulConn) SetReadDeadline(t time.Time) error {
	if c.of.probes {
		return nil
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *watchfulConn) SetWriteDeadline(t time.Time) error {
	if c.of.probes {
		return nil
	}
	return c.Conn.SetWriteDeadline(t)
}

// dead reports whether an idle connection cannot be used again. The connections of a simulation, and those of a guest, say so by an
// error of Control.
func (c *watchfulConn) dead() bool {
	s, ok := c.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	return err != nil || raw.Control(nil) != nil
}
