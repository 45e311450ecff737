package clients

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// NewSetNXExpire is the lock of [NewSingle] whose SET is two commands, SETNX and EXPIRE: who dies between them holds it for
// ever (anon2023, part 1, section 3; why2020, its first point on a single node, says that it comes from
// the time before Redis 2.6.12).
func NewSetNXExpire(env Env) Locker { return &setNXExpire{env} }

type setNXExpire struct{ env Env }

func (l *setNXExpire) Acquire(ctx context.Context, name string, ttl time.Duration) (Lease, error) {
	token := newToken(l.env.Rand)
	start := l.env.Clock.Now()
	ok, err := setNXThenExpire(ctx, l.env.Nodes[0], name, token, ttl)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, ErrNotAcquired
	}
	lease, err := l.env.lease(ctx, name, token, start.Add(ttl))
	if err != nil {
		return nil, err
	}
	return lease, nil
}

// setNXThenExpire takes a lock. What EXPIRE answers nobody looks at: the key may be gone by then, or another's. If it
// cannot be reached, the key stays for ever.
func setNXThenExpire(ctx context.Context, node *redis.Client, name, token string, ttl time.Duration) (bool, error) {
	ok, err := node.Do(ctx, "SETNX", name, token).Bool() // SetNX of go-redis sends SET with NX
	if err != nil || !ok {
		return false, err
	}
	return true, node.Expire(ctx, name, wholeSeconds(ttl)).Err()
}

// wholeSeconds rounds up to what EXPIRE can count in. A key may so outlive the lease, but not the other way round.
func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}
