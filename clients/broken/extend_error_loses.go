package broken

import (
	"context"
	"fmt"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendErrorLoses reports the lease as lost after any error of an extension, so its client does not release it. It needs an extension whose
// reply is lost, and a client that has finished long before the key expires.
var extendErrorLoses = clients.Lock{
	Name:  "single-extend-error-loses",
	About: "single-extend, which reports a lease as lost if its extension gets no answer",
	Like:  []string{"single-extend"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &extendErrorLosesLease{lease}, nil
		})
	},
}

type extendErrorLosesLease struct{ *parts.Lease }

func (l *extendErrorLosesLease) Extend(ctx context.Context, ttl time.Duration) error {
	until := l.Env.Clock.Now().Add(ttl)
	n, err := parts.ExtendOn(ctx, l.Env.Nodes[0], l.Name, l.Token, ttl)
	if err != nil {
		return fmt.Errorf("%w: %w", clients.ErrNotHeld, err)
	}
	return l.Extended(n != 0, nil, until)
}
