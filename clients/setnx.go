package clients

import (
	"context"
	"time"
)

// NewSetNX is the lock of [NewSingle] without a TTL: a client that crashes with it, or is cut off for good, holds it for ever
// (anon2023, part 1, section 2). It is SetNX of go-redis with an expiration of 0. Its leases do not say how long they last.
func NewSetNX(env Env) Locker { return &setNX{env} }

type setNX struct{ env Env }

func (l *setNX) Acquire(ctx context.Context, name string, _ time.Duration) (Lease, error) {
	token := newToken(l.env.Rand)
	ok, err := l.env.Nodes[0].SetNX(ctx, name, token, 0).Result()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, ErrNotAcquired
	}
	return &singleLease{env: l.env, name: name, token: token}, nil
}
