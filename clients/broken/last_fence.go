package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// lastFence keeps one fencing token, the one that it drew last, and returns it for each of its leases. It needs a client that has two
// locks, the newer one with a counter that is ahead: under the older lock it then writes with a token that is too high, even when another
// client has that lock.
var lastFence = clients.Lock{
	Name:  "fenced-last-fence",
	About: "fenced, which returns the token that it drew last for every lease",
	Like:  []string{"fenced"},
	New: func(env clients.Env) clients.Locker {
		fenced, last := clients.NewFenced(env), int64(0)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := fenced.Acquire(ctx, name, ttl)
			if err != nil {
				return nil, err
			}
			last = lease.(clients.Fenced).Fence()
			return &lastFenceLease{lease, &last}, nil
		})
	},
}

type lastFenceLease struct {
	clients.Lease
	last *int64 // of the Locker
}

func (l *lastFenceLease) Fence() int64 { return *l.last }
