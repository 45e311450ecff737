package clients

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// errStale says that an idle connection turned out to be dead before anything was sent on it.
var errStale = errors.New("the idle connection was dead")

// watchful makes up for what go-redis leaves out under GOOS=js: there it does not look whether an idle connection is
// alive before it uses it again, because few browsers have sockets. Runs must be the same everywhere, so the connection
// looks by itself when it is written to, and the command is given another one. Nothing of it was sent, so this is no retry
// of something that may have happened.
//
// Three things come out otherwise than elsewhere: WATCH on a connection that is dead fails, for a transaction has only one;
// a client made by [redis.Client.WithTimeout] has no hooks, so that its first command fails; and go-redis elsewhere gives up looking through its idle connections after the third dead one, and dials.
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

// withTimeout is [redis.Client.WithTimeout], which forgets the hooks of its client.
func withTimeout(c *redis.Client, d time.Duration) *redis.Client {
	c = c.WithTimeout(d)
	c.AddHook(another{tries: c.Options().PoolSize})
	return c
}

// watchfulConn looks whether it is alive before it is written to.
type watchfulConn struct{ net.Conn }

func (c watchfulConn) Write(b []byte) (int, error) {
	if c.dead() {
		return 0, errStale
	}
	return c.Conn.Write(b)
}

// dead reports whether the connection can carry no answer any more.
func (c watchfulConn) dead() bool {
	s, ok := c.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	return err == nil && raw.Read(func(uintptr) bool { return true }) != nil
}

// another is a hook that repeats what was not sent because the connection was dead. The first in vain closed it.
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
