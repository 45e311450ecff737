package sound

import (
	"context"
	"sync"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// mutex holds a mutex while a renewal or a release is under way, so that they never overlap. In a native run virtual time stands still
// while a goroutine waits for a mutex, so that some of its runs need guests.
var mutex = clients.Lock{
	Name:  "watchdog-mutex",
	About: "watchdog, which renews and releases under one mutex",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			turn := &sync.Mutex{}
			watchdog := parts.Watchdog(func(l *parts.Renewed, _ time.Duration) {
				renew := l.Renew
				l.Renew = func(ctx context.Context) (bool, error) {
					turn.Lock()
					defer turn.Unlock()
					return renew(ctx)
				}
			})(env)
			lease, err := watchdog.Acquire(ctx, name, ttl)
			if err != nil {
				return nil, err
			}
			return &mutexLease{lease.(*parts.Renewed), turn}, nil
		})
	},
}

type mutexLease struct {
	*parts.Renewed
	turn *sync.Mutex
}

func (l *mutexLease) Release(ctx context.Context) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	return l.Renewed.Release(ctx)
}
