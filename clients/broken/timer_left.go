package broken

import (
	"context"
	"sync"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// timerLeft keeps its leases by name, and has a timer forget each after its TTL. A release does not stop the timer, which then forgets the
// next lease of that name. That lease can no longer be released. The mistake shows only if a client holds the lock again when its first
// lease would have ended.
var timerLeft = clients.Lock{
	Name:  "single-timer-left",
	About: "single, which forgets a lease by a timer that a release does not stop",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		all := &remembered{held: map[string]*parts.Lease{}}
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			all.mu.Lock()
			all.held[name] = lease
			all.mu.Unlock()
			env.Clock.AfterFunc(ttl, func() { all.forget(name) })
			return &rememberedLease{lease, all}, nil
		})
	},
}

type remembered struct {
	mu   sync.Mutex
	held map[string]*parts.Lease // by name
}

// forget reports whether there was a lease.
func (r *remembered) forget(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.held[name]
	delete(r.held, name)
	return ok
}

type rememberedLease struct {
	*parts.Lease
	of *remembered
}

func (l *rememberedLease) Release(ctx context.Context) error {
	if !l.of.forget(l.Name) {
		return clients.ErrNotHeld
	}
	return l.Lease.Release(ctx)
}
