package broken

import (
	"context"
	"fmt"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// stillHeld refuses a client that holds a lease, and considers it held until a release succeeds. After a release whose reply is lost, it
// refuses that client for ever.
var stillHeld = clients.Lock{
	Name:  "single-still-held",
	About: "single, which considers the lock held until a release succeeds",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		held := &flag{}
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			if held.set {
				return nil, fmt.Errorf("%w: this client holds it", clients.ErrNotAcquired)
			}
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			held.set = true
			return &flaggedLease{lease, held}, nil
		})
	},
}

type flag struct{ set bool }

type flaggedLease struct {
	*parts.Lease
	held *flag
}

func (l *flaggedLease) Release(ctx context.Context) error {
	err := l.Lease.Release(ctx)
	if err == nil {
		l.held.set = false
	}
	return err
}
