package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// untilWall remembers the end of its lease as a time of the wall clock, as code does that stores a timestamp in milliseconds. It needs
// a wall clock that is set back while the lock is held, and another client that waits.
var untilWall = clients.Lock{
	Name:  "single-until-wall",
	About: "single, whose lease ends by the wall clock",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			end := env.Wall.Now().Add(ttl)
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &wallLease{lease, env, end}, nil
		})
	},
}

type wallLease struct {
	clients.Lease
	env clients.Env
	end time.Time // by the wall clock
}

func (l *wallLease) Until() time.Time { return l.env.Clock.Now().Add(l.env.Wall.Until(l.end)) }
