package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// waitSeconds is single-wait that rounds the TTL of the key down to seconds, but relies on all of it. Nothing about replicas shows this: it needs
// the runs of single.
var waitSeconds = clients.Lock{
	Name:  "single-wait-seconds",
	About: "single-wait, which rounds the TTL down to seconds",
	Like:  []string{"single-wait"},
	New: func(env clients.Env) clients.Locker {
		wait := clients.NewSingleWait(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			end := env.Clock.Now().Add(ttl)
			lease, err := wait.Acquire(ctx, name, max(time.Second, ttl.Truncate(time.Second)))
			if err != nil {
				return nil, err
			}
			return lasting{lease, end}, nil
		})
	},
}

// lasting is a lease with another end.
type lasting struct {
	clients.Lease
	end time.Time
}

func (l lasting) Until() time.Time { return l.end }
