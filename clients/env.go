// Package clients holds the locks under test, the worker that carries out what a client does, and the resource that the
// locks protect. The same code runs in simulation and on real Redis; only the dialer and the clocks differ.
package clients

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Env is what a client process has: its clocks, its randomness, and a network with Redis nodes in it.
type Env struct {
	Clock clockwork.Clock // steady: drifts and pauses, never jumps
	Wall  clockwork.Clock // the clock on the wall: may jump
	Rand  *rand.Rand      // for one goroutine at a time
	Addrs []string        // one literal IP:port per Redis node
	Dial  Dialer          // for any client library
	Nodes []*redis.Client // clients to Addrs over Dial, ready to use; see [NewEnv] for their options
}

// poolSize is how many connections a client to one node may have, and how many dials in a row may fail.
const poolSize = 1024

// Dialer opens a connection, like [net.Dialer.DialContext].
type Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// NewEnv makes an Env, with a go-redis client to each address. They differ from go-redis's defaults in these options:
//
//   - no retries: a SET NX that is repeated because its reply was lost finds its own key and looks refused;
//   - one attempt to dial, and a fixed pool that is never waited for, and so large that its connections do not run out in a
//     row of failures, after which it would dial in the background: all of that would use timers that do not belong to the
//     clock of the process;
//   - no handshake beyond HELLO.
//
// [Env.Close] closes them.
func NewEnv(clock, wall clockwork.Clock, random *rand.Rand, dial Dialer, addrs []string) Env {
	env := Env{Clock: clock, Wall: wall, Rand: random, Addrs: addrs, Dial: dial}
	for _, addr := range addrs {
		env.Nodes = append(env.Nodes, connect(dial, addr))
	}
	return env
}

func connect(dial Dialer, addr string) *redis.Client {
	return watchful(&redis.Options{
		Addr:                     addr,
		Dialer:                   dial,
		Protocol:                 2,
		MaxRetries:               -1,
		DialerRetries:            1,
		PoolSize:                 poolSize,
		ConnMaxIdleTime:          -1,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// Close closes the clients to the nodes.
func (e Env) Close() error {
	var errs []error
	for _, n := range e.Nodes {
		errs = append(errs, n.Close())
	}
	return errors.Join(errs...)
}

// New builds the lock under test for one client process.
type New func(Env) Locker

// A Locker obtains leases.
type Locker interface {
	// Acquire returns a lease, or an error wrapping [ErrNotAcquired] where it certainly did not get one. Any other error
	// leaves the outcome unknown.
	Acquire(ctx context.Context, name string, ttl time.Duration) (Lease, error)
}

// A Lease is the lock, held until some time.
type Lease interface {
	// Until is how long the holder may rely on it, by [Env.Clock]. The zero time means that the lock does not say.
	Until() time.Time
	// Release gives the lock back. It returns an error wrapping [ErrNotHeld] where the lock was certainly no longer ours.
	// Any other error leaves the outcome unknown.
	Release(ctx context.Context) error
}

// Fenced is a [Lease] with a fencing token: a number that grows with each grant, which the resource can compare
// (Kleppmann, "How to do distributed locking", 2016).
type Fenced interface {
	Fence() int64
}

// Extender is a [Lease] that can be made to last longer.
type Extender interface {
	// Extend asks for the lease to end ttl from now, whenever it would have ended; the TTL has whole milliseconds, as in
	// Redis. If it returns nil, Until returns the new end. An error wrapping [ErrNotExtended] says that the lease ends when it
	// would have, one wrapping [ErrNotHeld] that it is over. Any other error leaves the outcome unknown, and Until as it was.
	Extend(ctx context.Context, ttl time.Duration) error
}

// Renewing is a [Lease] that renews itself, until it is released, or lost, or the context that it was acquired with is over.
type Renewing interface {
	// Lost is closed when the lease is known to be lost: it could not be renewed, because the lock is no longer ours.
	Lost() <-chan struct{}
	// Notify has f called after each renewal that succeeds from now on, with the new end by [Env.Clock], which Until returns
	// as well. It is called by a goroutine of the lease, one renewal after the other. There is one f; nil takes it back.
	Notify(f func(until time.Time))
}

// Errors with a definite meaning.
var (
	ErrNotAcquired = errors.New("lock not acquired")
	ErrNotHeld     = errors.New("lock not held")
	ErrNotExtended = errors.New("lock not extended")
)
