package broken

import (
	"context"
	"sync"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// leaseReused hands out a released lease again at the next acquire. It shows when a client that has the lock again releases its first
// lease once more: that object is now its second lease.
var leaseReused = clients.Lock{
	Name:  "single-lease-reused",
	About: "single, which hands out released leases again",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		var free freeLeases
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			taken, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return free.take(taken), nil
		})
	},
}

type freeLeases struct {
	mu   sync.Mutex
	list []*reusedLease
}

func (f *freeLeases) take(l *parts.Lease) *reusedLease {
	f.mu.Lock()
	defer f.mu.Unlock()
	lease := &reusedLease{free: f}
	if n := len(f.list); n > 0 {
		lease, f.list = f.list[n-1], f.list[:n-1]
	}
	lease.Lease = l
	return lease
}

type reusedLease struct {
	*parts.Lease
	free *freeLeases
}

func (l *reusedLease) Release(ctx context.Context) error {
	err := l.Lease.Release(ctx)
	l.free.mu.Lock()
	l.free.list = append(l.free.list, l)
	l.free.mu.Unlock()
	return err
}
