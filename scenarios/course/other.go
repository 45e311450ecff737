package course

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/scenarios/play"
)

// Other programs may use the key of the lock, and not as the lock of the exercise does. In an answer a client is one of these programs if it asks
// for a lock with one of these names.
const (
	withoutTTL = "no-ttl"    // sets the key of the lock, unless it exists, without a TTL
	longer     = "longer"    // sets the key of the lock, unless it exists, to the last value that it has seen there, and one more character
	cancelled  = "cancelled" // the lock of the exercise, but the context of its extensions is cancelled already
	billion    = "billion"   // sets the counter of the fencing tokens of the lock to one less than 10^9
	bits       = "32-bits"   // the same, to one less than 2^32
)

// amongOthers returns the lock of build, but if it is asked for a lock with such a name, it acts as the other program.
func amongOthers(build clients.New) clients.New {
	return func(env clients.Env) clients.Locker {
		l := &mixed{Locker: build(env), env: env}
		if l.Locker == nil {
			panic("the function New of the lock returned nil; it must return a clients.Locker")
		}
		if c, ok := l.Locker.(io.Closer); ok {
			return &closed{l, c}
		}
		return l
	}
}

// mixed is a lock that may be another program's.
type mixed struct {
	clients.Locker
	env  clients.Env
	seen string // the last value of the key; for longer
}

// closed is a lock that has something to close.
type closed struct {
	*mixed
	io.Closer
}

func (l *mixed) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	node := l.env.Nodes[0]
	const counter = "{" + play.LockName + "}:fence"
	switch name {
	case cancelled:
		lease, err := l.Locker.Acquire(ctx, name, ttl)
		if e, ok := lease.(clients.Extender); ok && err == nil {
			return cancelledLease{lease, e}, nil
		}
		return lease, err
	case billion:
		return otherLease{}, node.Set(ctx, counter, 1_000_000_000-1, 0).Err()
	case bits:
		return otherLease{}, node.Set(ctx, counter, 1<<32-1, 0).Err()
	case withoutTTL, longer:
	default:
		return l.Locker.Acquire(ctx, name, ttl)
	}
	value := l.seen + "0"
	if name == withoutTTL {
		value, ttl = "another program's", 0
	}
	ok, err := node.SetNX(ctx, play.LockName, value, ttl).Result()
	if err != nil {
		return nil, err
	}
	if !ok {
		l.seen, err = node.Get(ctx, play.LockName).Result()
		if errors.Is(err, redis.Nil) {
			err = nil
		}
		return nil, errors.Join(clients.ErrNotAcquired, err)
	}
	return otherLease{}, nil
}

// otherLease is the lease of another program, which does not give it back.
type otherLease struct{}

func (otherLease) Until() time.Time              { return time.Time{} }
func (otherLease) Release(context.Context) error { return nil }

// cancelledLease is a lease whose owner no longer waits when it extends it.
type cancelledLease struct {
	clients.Lease
	extender clients.Extender
}

func (l cancelledLease) Extend(ctx context.Context, ttl time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return l.extender.Extend(ctx, ttl)
}
