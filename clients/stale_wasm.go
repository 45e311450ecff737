package clients

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// watchful makes a client that does not use dead idle connections.
//
// Elsewhere go-redis itself checks an idle connection before it reuses it. In WebAssembly it does not, because few browsers have
// sockets, and runs must be the same everywhere. So before a client takes a connection from its pool, the dead ones are removed
// from it. go-redis has no call for that, but it asks the [redis.Limiter] of the options before it takes a connection, also
// for pipelines, transactions, and clients made by [redis.Client.WithTimeout], which have no hooks. And it removes a connection
// on which a command fails. So the limiter sends the command probe until one does not fail. The connection answers it by itself: if it
// is dead by an error, and otherwise by a reply. Nothing is sent.
//
// One thing differs from other systems: there go-redis dials after the third dead idle connection, even if the pool has more.
func watchful(o *redis.Options) *redis.Client {
	l := &pruner{next: o.Limiter}
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

// A pruner removes dead connections from the pool of a client. A program in WebAssembly has one thread, and nothing here waits.
type pruner struct {
	next   redis.Limiter // that of the program, or nil
	prober *redis.Client
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
	for slices.ContainsFunc(l.open, (*watchfulConn).dead) && l.prober.PoolStats().IdleConns > 0 {
		if err := l.prober.Echo(context.Background(), probe).Err(); !errors.Is(err, errDead) {
			break // the pool gives this connection first, and it is alive
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
	reply []byte // to a probe, which has not been read
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

// dead reports whether no more replies can come on the connection.
func (c *watchfulConn) dead() bool {
	s, ok := c.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	return err == nil && raw.Read(func(uintptr) bool { return true }) != nil
}
