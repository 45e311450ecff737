package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendByWall reports a lease as lost if it is over by the wall clock when the client extends it. To be caught, it needs a wall clock that is
// set past the end of the lease: then nobody gets the lock until the key expires.
var extendByWall = clients.Lock{
	Name:  "single-extend-by-wall",
	About: "single-extend, which reports a lease as lost if it is over by the wall clock",
	Like:  []string{"single-extend"},
	New:   byWall(func(lease *parts.Lease, end time.Time) clients.Lease { return &wallExtended{lease, end} }),
}

type wallExtended struct {
	*parts.Lease
	end time.Time // by the wall clock
}

func (l *wallExtended) Extend(ctx context.Context, ttl time.Duration) error {
	if !l.Env.Wall.Now().Before(l.end) {
		return clients.ErrNotHeld
	}
	until, end := l.Env.Clock.Now().Add(ttl), l.Env.Wall.Now().Add(ttl)
	n, err := parts.ExtendOn(ctx, l.Env.Nodes[0], l.Name, l.Token, ttl)
	if err = l.Extended(n != 0, err, until); err == nil {
		l.end = end
	}
	return err
}
