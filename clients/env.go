// Package clients holds the locks under test, the worker that carries out the steps of a client, and the resource that the locks
// protect. The same code runs in simulation and on real Redis; only the dialer and the clocks differ.
package clients

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Env is what a client process has: clocks, a source of randomness, and a network with Redis nodes in it.
type Env struct {
	// Clock is steady: it drifts and pauses, and never jumps. In a run the steady clocks of all clients begin with the same time, which is also
	// that of package time. On real machines they do not: a lock must not compare readings of two clients' clocks.
	Clock clockwork.Clock
	Wall  clockwork.Clock // wall clock: may jump
	Rand  *rand.Rand      // of math/rand/v2, seeded by the run; for one goroutine at a time
	Addrs []string        // one literal IP:port per Redis node
	Dial  Dialer          // for any client library
	Nodes []*redis.Client // clients to Addrs over Dial, ready to use; see [NewEnv] for their options

	more *more // clients made by Client
}

// more is what Close closes besides Nodes. The copies of an Env share it.
type more struct {
	mu      sync.Mutex
	clients []*redis.Client
	warm    *WarmClients // the owner of Nodes; nil if they are the Env's own
}

// poolSize is how many connections a client may have to one node at once, and how many of its dials may fail in total. After that
// go-redis fails without dialling. Goroutines that ask several nodes would then draw their backoff from math/rand at the same instant, in
// an order that depends on the Go scheduler. In the matrix no client fails to dial a node more than 350 times. A larger pool takes go-redis
// longer to make, and a run may make fifteen of them.
const poolSize = 1024

// maxInUse is how many connections the clients of one process may have in use when no operation is in progress. By default the pool of go-redis
// has ten for each processor. A lock that keeps taking connections and gives none back stops its program in the end.
const maxInUse = 32

// bufferSize is the size of the read and write buffers of a connection. Requests and replies of locks are shorter; the 64 KiB
// that go-redis would take for each connection are a good part of the memory of a short simulation.
const bufferSize = 2 << 10

// Dialer opens a connection, like [net.Dialer.DialContext].
type Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// NewEnv makes an Env, with a go-redis client to each address. They differ from go-redis's defaults in these options:
//
//   - no retries: a SET NX that is repeated because its reply was lost finds its own key and appears to be refused;
//   - one attempt to dial, and a fixed pool that is never waited for, so large that its connections do not run out in a
//     row of failures, after which go-redis would dial in the background: all of that would use timers that do not belong to
//     the clock of the process;
//   - idle connections are not closed;
//   - no handshake beyond HELLO, and RESP 2.
//
// [Env.Close] closes them. A lock that wants other options makes its own clients with [Env.Client].
func NewEnv(clock, wall clockwork.Clock, random *rand.Rand, dial Dialer, addrs []string) Env {
	env := Env{Clock: clock, Wall: wall, Rand: random, Addrs: addrs, Dial: dial, more: &more{}}
	for _, addr := range addrs {
		env.Nodes = append(env.Nodes, connect(dial, addr, nil))
	}
	return env
}

// Warm tries to open a connection to each of Nodes, and leaves it in the pool of the client.
func (e Env) Warm() {
	for _, c := range e.Nodes {
		c.Ping(context.Background()) // if the node does not answer, the pool stays as it is
	}
}

// Made makes the lock, and tries to open a connection of each client that the lock makes with [Env.Client]. It returns a New that
// returns this lock. If build panics or ends its goroutine, Made returns build, so that this happens again in the lane, where it
// is reported.
func (e Env) Made(build New) New {
	made, done := build, make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		l := build(e)
		made = func(Env) Locker { return l }
	}()
	<-done
	e.more.mu.Lock()
	own := slices.Clone(e.more.clients)
	e.more.mu.Unlock()
	for _, c := range own {
		c.Ping(context.Background())
	}
	return made
}

// Client makes one more go-redis client to one of Addrs. Its options are those of Nodes, as changed by change, which may be nil.
// It may change what a program would: retries, with their number and backoff (MaxRetries 0 is go-redis's default of three),
// timeouts and [redis.Options.ContextTimeoutEnabled], the protocol, hooks for connecting. Four options are set again afterwards,
// because a simulated run depends on them: Addr and Dialer are the network; PoolSize is so large that the pool is never waited
// for; and MaintNotificationsConfig is off, because otherwise go-redis asks the machine for addresses.
//
// [Env.Close] closes the client with the others, so a lock need not.
func (e Env) Client(addr string, change func(*redis.Options)) *redis.Client {
	c := connect(e.Dial, addr, change)
	e.more.mu.Lock()
	e.more.clients = append(e.more.clients, c)
	e.more.mu.Unlock()
	return c
}

func connect(dial Dialer, addr string, change func(*redis.Options)) *redis.Client {
	o := &redis.Options{
		Protocol:        2,
		MaxRetries:      -1,
		DialerRetries:   1,
		ConnMaxIdleTime: -1,
		DisableIdentity: true,
		ReadBufferSize:  bufferSize,
		WriteBufferSize: bufferSize,
	}
	if change != nil {
		change(o)
	}
	o.Addr, o.Dialer, o.PoolSize = addr, dial, poolSize
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return watchful(o)
}

// all returns the clients to the nodes, and those that [Env.Client] made.
func (e Env) all() []*redis.Client {
	e.more.mu.Lock()
	defer e.more.mu.Unlock()
	return slices.Concat(e.Nodes, e.more.clients)
}

// inUse counts the connections that have been taken from the pools and not been given back. A subscription does not count.
func (e Env) inUse() (n int) {
	for _, c := range e.all() {
		stats := c.PoolStats()
		n += int(stats.TotalConns) - int(stats.IdleConns)
	}
	return n
}

// Close closes the clients to the nodes, and those that [Env.Client] made.
func (e Env) Close() error {
	all := e.all()
	var errs []error
	if s := e.more.warm; s != nil {
		errs, all = append(errs, s.hangUp()), all[len(e.Nodes):]
	}
	for _, c := range all {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// New builds the lock under test for one client process.
type New func(Env) Locker

// A Locker obtains leases. If it is an [io.Closer] too, it is closed when its client no longer needs it: at the end of the lane,
// or, if the client stays or has crashed, at the end of the run. All goroutines that it started must then have ended.
type Locker interface {
	// Acquire returns a lease. An error wraps [ErrNotAcquired] if the lock was certainly not acquired; after any other error the
	// outcome is unknown. A client may ask for a lock that it holds; if it is refused, that changes nothing about its lease.
	//
	// Acquire may wait for the lock until ctx is done. Then it must delete what it may have set, and return.
	Acquire(ctx context.Context, name string, ttl time.Duration) (Lease, error)
}

// A Lease is the lock, held until some time.
type Lease interface {
	// Until is how long the holder may rely on the lease, by [Env.Clock]. The zero time means that the lock does not say.
	Until() time.Time
	// Release gives the lock back. It asks the nodes even if the lease is over by the client's clock: a key may last longer, because a clock was set
	// back, or because the reply to an extension was lost. The error wraps [ErrNotHeld] if the lock was certainly no longer ours; after any other error
	// the outcome is unknown, and Release can be called again to try again. It can also be called again after a success, as by a function that
	// releases explicitly and by defer. Then it may fail, but must not hang or panic, and must not release another lease.
	Release(ctx context.Context) error
}

// Fenced is a [Lease] with a fencing token: a number that grows with each grant, which the resource can compare
// (Kleppmann, "How to do distributed locking", 2016).
type Fenced interface {
	Fence() int64
}

// Extender is a [Lease] that can be extended.
type Extender interface {
	// Extend asks for the lease to end ttl from now, whatever its present end; ttl is in whole milliseconds, as in Redis. If it
	// returns nil, Until returns the new end. An error that wraps [ErrNotHeld] means that the lease is over. One that wraps
	// [ErrNotExtended] means that the lease was certainly not extended; after any other error the outcome is unknown.
	//
	// After each of these two, and until Extend returns, a node may have set the new end or have kept the old one. Nobody may then
	// rely on more than the earlier of the two, and Until must return that one, unless the lock knows that no node has set the new end.
	//
	// The ttl may be longer or shorter than that with which the lease was acquired. A lock that cannot do this returns [ErrFixedTTL].
	Extend(ctx context.Context, ttl time.Duration) error
}

// Renewing is a [Lease] that renews itself until it is released or lost, or until the context with which it was acquired is done.
// If Until returns the zero time, renewals are silent, and the holder relies on the lease until Lost is closed.
type Renewing interface {
	// Lost is closed when the lease is known to be lost: it could not be renewed, because the lock is no longer ours.
	Lost() <-chan struct{}
	// Notify sets the function that is called after each successful renewal, with the new end by [Env.Clock], which Until
	// returns too. A goroutine of the lease calls it, for one renewal after the other. Only one function is set at a time; nil
	// removes it.
	Notify(f func(until time.Time))
}

// Keyed is a [Locker] that sets several keys for a lease on one node. Keys returns how many of them a client must have set there to have
// the lock; without this method it is one.
type Keyed interface {
	Keys() int
}

// Errors with a definite meaning.
var (
	ErrNotAcquired = errors.New("lock not acquired")
	ErrNotHeld     = errors.New("lock not held")
	ErrNotExtended = errors.New("lock not extended")
	// ErrNotExtender says that the lock has no extension.
	ErrNotExtender = errors.New("the lock cannot extend its leases")
	// ErrCallerGone is the cause of a context that ends because the caller of an acquire waits no longer ([context.Cause]). Other contexts of
	// a client end only with its process.
	ErrCallerGone = errors.New("the caller waits no longer")
	// ErrFixedTTL says that nothing was asked of the nodes: this lock extends its leases only by the TTL with which it acquired them.
	ErrFixedTTL = errors.New("the lock extends only by the TTL with which it acquired")
)
