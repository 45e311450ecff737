package broken

import (
	"context"
	"sync/atomic"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// oneStop keeps one way to stop its renewals: that of the newest lease. The release of an older lease stops the renewal of the newest
// one. It needs a client that has two locks, gives back the first one, and works on under the other for longer than its TTL.
var oneStop = clients.Lock{
	Name:  "watchdog-one-stop",
	About: "watchdog that stops the renewal of its newest lease when it gives back any",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		var newest, stopped atomic.Pointer[parts.Renewed]
		watchdog := parts.Watchdog(func(l *parts.Renewed, _ time.Duration) {
			newest.Store(l)
			l.Due = func() bool { return stopped.Load() != l }
		})(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := watchdog.Acquire(ctx, name, ttl)
			if err != nil {
				return nil, err
			}
			return &stopsNewest{lease.(*parts.Renewed), func() { stopped.Store(newest.Load()) }}, nil
		})
	},
}

type stopsNewest struct {
	*parts.Renewed
	stop func()
}

func (l *stopsNewest) Release(ctx context.Context) error {
	l.stop()
	return l.Renewed.Release(ctx)
}
