package broken

import (
	"context"
	"errors"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// pollsOn waits for the lock for one TTL, whether or not its context ends. It needs a client whose context ends while another has the lock.
var pollsOn = clients.Lock{
	Name:  "single-polls-on",
	About: "single, which polls for one TTL and ignores the end of its context",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			for give := env.Clock.Now().Add(ttl); ; env.Clock.Sleep(100 * time.Millisecond) {
				lease, err := parts.Take(context.WithoutCancel(ctx), env, name, parts.Token(env.Rand), ttl)
				if !errors.Is(err, clients.ErrNotAcquired) || !env.Clock.Now().Before(give) {
					return parts.Granted(lease, err)
				}
			}
		})
	},
}
