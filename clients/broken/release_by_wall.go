package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// releaseByWall sends no release if the lease is over by the wall clock. It needs a wall clock that is set forward, beyond the end of the
// lease: nobody gets the lock until the key expires.
var releaseByWall = clients.Lock{
	Name:  "single-release-by-wall",
	About: "single, which does not release a lease that is over by the wall clock",
	Like:  []string{"single"},
	New:   byWall(func(lease *parts.Lease, end time.Time) clients.Lease { return &wallReleased{lease, end} }),
}

// byWall makes locks like single that make something else of each lease, and of its end by the wall clock.
func byWall(of func(lease *parts.Lease, end time.Time) clients.Lease) clients.New {
	return func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			end := env.Wall.Now().Add(ttl)
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return of(lease, end), nil
		})
	}
}

type wallReleased struct {
	*parts.Lease
	end time.Time // by the wall clock
}

func (l *wallReleased) Release(ctx context.Context) error {
	if !l.Env.Wall.Now().Before(l.end) {
		return clients.ErrNotHeld
	}
	return l.Lease.Release(ctx)
}
