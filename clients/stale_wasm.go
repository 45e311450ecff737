package clients

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// errStale says that an idle connection was found dead before anything was sent on it.
var errStale = errors.New("the idle connection was dead")

// watchful replaces what go-redis leaves out in WebAssembly: there it does not check whether an idle connection is alive before it
// reuses it, because few browsers have sockets. Runs must be the same everywhere, so the connection itself checks before a write,
// and the command gets another connection. Nothing of the command was sent, so this is not a retry.
//
// Three things differ from other systems: WATCH on a dead connection fails, because a transaction has only one connection; a
// client made by [redis.Client.WithTimeout] has no hooks, so its first command fails; and elsewhere go-redis dials after the
// third dead idle connection.
func watchful(o *redis.Options) *redis.Client {
	dial := o.Dialer
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return watchfulConn{conn}, nil
	}
	c := redis.NewClient(o)
	c.AddHook(another{tries: o.PoolSize})
	return c
}

// withTimeout is [redis.Client.WithTimeout], but keeps the hooks of the client.
func withTimeout(c *redis.Client, d time.Duration) *redis.Client {
	c = c.WithTimeout(d)
	c.AddHook(another{tries: c.Options().PoolSize})
	return c
}

// watchfulConn checks whether it is alive before each write.
type watchfulConn struct{ net.Conn }

func (c watchfulConn) Write(b []byte) (int, error) {
	if c.dead() {
		return 0, errStale
	}
	return c.Conn.Write(b)
}

// dead reports whether no more replies can come on the connection.
func (c watchfulConn) dead() bool {
	s, ok := c.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	return err == nil && raw.Read(func(uintptr) bool { return true }) != nil
}

// another is a hook that repeats a command which was not sent because the connection was dead. The failed write has closed that
// connection.
type another struct{ tries int }

func (another) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h another) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return h.repeat(func() error { return next(ctx, cmd) })
	}
}

func (h another) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return h.repeat(func() error { return next(ctx, cmds) })
	}
}

func (h another) repeat(f func() error) error {
	err := f()
	for range h.tries {
		if !errors.Is(err, errStale) {
			break
		}
		err = f()
	}
	return err
}
