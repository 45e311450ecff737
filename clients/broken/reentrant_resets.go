package broken

import (
	"context"
	"errors"
	"sync"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// reentrantResets lets a client in again that has the lock already, and gives the key the TTL of the new lease, as Redisson's script does
// (https://github.com/redisson/redisson, RedissonLock.java). Only the last release deletes the key. To be caught, it needs a client that asks again with
// a shorter TTL: then the key expires before the first lease ends.
var reentrantResets = clients.Lock{
	Name:  "single-reentrant-resets",
	About: "single, whose client can take it again, which sets the TTL of the key anew",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		l := &resetting{env: env, token: parts.Token(env.Rand), held: map[string]int{}}
		return parts.Acquire(l.acquire)
	},
}

type resetting struct {
	env   clients.Env
	token string

	mu   sync.Mutex
	held map[string]int // how many leases of a name have not been released
}

func (l *resetting) acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	start := l.env.Clock.Now()
	lease, err := parts.Take(ctx, l.env, name, l.token, ttl)
	if errors.Is(err, clients.ErrNotAcquired) {
		n, again := parts.ExtendOn(ctx, l.env.Nodes[0], name, l.token, ttl)
		if again != nil {
			return nil, again
		}
		if n == 0 {
			return nil, err
		}
		lease, err = (&parts.Lease{Env: l.env, Name: name, Token: l.token, End: start.Add(ttl)}).Arrived(ctx)
	}
	if err != nil {
		return nil, err
	}
	l.count(name, +1)
	return &resettingLease{lease, l}, nil
}

// count changes how many leases of a name there are, and returns it.
func (l *resetting) count(name string, by int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[name] += by
	return l.held[name]
}

type resettingLease struct {
	*parts.Lease
	of *resetting
}

func (l *resettingLease) Release(ctx context.Context) error {
	if l.of.count(l.Name, -1) > 0 {
		return nil
	}
	return l.Lease.Release(ctx)
}
