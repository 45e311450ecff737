package libraries

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	pools "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/sim"
)

const redsyncModule = "github.com/go-redsync/redsync/v4"

// Redsync runs on any number of nodes, and can extend its leases.
var redsyncLike = []string{"redlock", "redlock-extend", "single", "single-extend"}

// redsyncs lists redsync as NewMutex makes it, with the options that its documentation offers, and with two options of go-redis
// that matter: whether a command is retried, and whether a deadline that redsync sets reaches the socket, which it does only with
// [redis.Options.ContextTimeoutEnabled].
func redsyncs() []Lock {
	return []Lock{
		redsyncWith("redsync", "redsync and go-redis with their defaults", stock),
		redsyncWith("redsync-fail-fast", "redsync that goes on when a majority has answered: WithFailFast", stock, redsync.WithFailFast(true)),
		redsyncWith("redsync-setnx-extend", "redsync that sets a key again if an extension finds it gone: WithSetNXOnExtend", stock, redsync.WithSetNXOnExtend()),
		redsyncWith("redsync-timeout", "redsync that waits a fiftieth of the TTL for a node: WithTimeoutFactor, ContextTimeoutEnabled", heedDeadlines, redsync.WithTimeoutFactor(0.02)),
		redsyncWith("redsync-no-retries", "redsync over go-redis without retries: MaxRetries -1", nil),
	}
}

// stock is go-redis by default: it retries a command without a reply up to three times.
func stock(o *redis.Options) { o.MaxRetries = 0 }

// heedDeadlines makes go-redis stop waiting when the context is done. Otherwise it is stock.
func heedDeadlines(o *redis.Options) {
	stock(o)
	o.ContextTimeoutEnabled = true
}

func redsyncWith(name, about string, change func(*redis.Options), options ...redsync.Option) Lock {
	build := func(env clients.Env) clients.Locker {
		var all []pools.Pool
		for _, node := range nodes(env, change) {
			all = append(all, goredis.NewPool(node))
		}
		return &redsyncLocker{redsync.New(all...), options, sim.HarnessClock(env.Clock)}
	}
	return Lock{Lock: clients.Lock{Name: name, About: about, Like: redsyncLike, New: build}, Module: redsyncModule}
}

type redsyncLocker struct {
	*redsync.Redsync
	options []redsync.Option
	clock   sim.Timekeeper // not used by redsync
}

func (l *redsyncLocker) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	m := l.NewMutex(name, append([]redsync.Option{redsync.WithExpiry(ttl)}, l.options...)...)
	if err := m.LockContext(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", clients.ErrNotAcquired, sorted{err}) // redsync has asked all nodes to delete keys that it may have set
	}
	return &redsyncLease{m, l.clock, ttl}, nil
}

type redsyncLease struct {
	*redsync.Mutex
	clock sim.Timekeeper
	ttl   time.Duration // of the mutex
}

// Until converts what is left by package time, which redsync reads, to the clock of the process.
func (l *redsyncLease) Until() time.Time { return l.clock.Now().Add(time.Until(l.Mutex.Until())) }

// Release has an unknown outcome if too few nodes had our key, and others that might have it did not answer.
func (l *redsyncLease) Release(ctx context.Context) error {
	ok, err := l.UnlockContext(ctx)
	switch {
	case ok:
		return nil
	case errors.As(err, new(*redsync.RedisError)) && !errors.As(err, new(*redsync.ErrTaken)):
		return sorted{err}
	}
	return fmt.Errorf("%w: %w", clients.ErrNotHeld, sorted{err})
}

// Extend extends the lease by the expiry with which the mutex was made: redsync has no other. If it fails, Until is unchanged. If a majority of nodes
// do not have our key, the lease is over.
func (l *redsyncLease) Extend(ctx context.Context, ttl time.Duration) error {
	if ttl != l.ttl {
		return clients.ErrFixedTTL
	}
	ok, err := l.ExtendContext(ctx)
	switch {
	case ok:
		return nil
	case errors.As(err, new(*redsync.ErrTaken)):
		return fmt.Errorf("%w: %w", clients.ErrNotHeld, sorted{err})
	}
	return fmt.Errorf("%w: %w", clients.ErrNotExtended, sorted{err})
}

// sorted is an error of redsync with its lines, one for each node, in sorted order. redsync orders them as its goroutines end,
// which depends on the Go scheduler if one timeout ends several of them.
type sorted struct{ error }

func (e sorted) Error() string {
	lines := strings.Split(e.error.Error(), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func (e sorted) Unwrap() error { return e.error }
