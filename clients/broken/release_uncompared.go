package broken

import (
	"context"
	"time"

	"lockstep/clients"
)

// releaseUncompared is the lock on one node with a random token that it does not compare: who outlives its TTL deletes the
// lock of the next holder. Caught by fixed-value: owner only, lease exclusion.
var releaseUncompared = clients.Lock{
	Name:  "single-uncompared",
	About: "single, released by DEL whatever the key holds",
	Like:  []string{"single"},
	New:   func(env clients.Env) clients.Locker { return &uncompared{clients.NewSingle(env), env} },
}

type uncompared struct {
	clients.Locker
	env clients.Env
}

func (l *uncompared) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	lease, err := l.Locker.Acquire(ctx, name, ttl)
	if err != nil {
		return nil, err
	}
	return &uncomparedLease{lease, l.env, name}, nil
}

type uncomparedLease struct {
	clients.Lease
	env  clients.Env
	name string
}

func (l *uncomparedLease) Release(ctx context.Context) error {
	n, err := l.env.Nodes[0].Del(ctx, l.name).Result()
	if err == nil && n == 0 {
		return clients.ErrNotHeld
	}
	return err
}
