package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewByWall looks every tenth of the period whether a renewal is due, and compares with its wall clock, as code does that stores when
// it last renewed. After a jump back none is due for a long time, and the lease ends under a holder who is alive. It needs such a jump,
// and a holder who leaves it to the lock to keep the lease.
var renewByWall = clients.Lock{
	Name:  "watchdog-by-wall",
	About: "watchdog whose renewals are due by the wall clock",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			l := parts.NewRenewed(ctx, lease, ttl)
			period := l.Every
			l.Every = period / 10
			due := env.Wall.Now().Add(period)
			l.Due = func() bool {
				now := env.Wall.Now()
				if now.Before(due) {
					return false
				}
				due = now.Add(period)
				return true
			}
			return l.Start(), nil
		})
	},
}
