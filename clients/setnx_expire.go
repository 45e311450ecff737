package clients

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// NewSetNXExpire is the lock of [NewSingle] with two commands instead of one SET: SETNX and EXPIRE. A client that crashes between
// them holds it for ever (anon2023, part 1, section 3; why2020, in its first point on a single node, says that it dates from
// before Redis 2.6.12).
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

// setNXThenExpire takes a lock. It ignores the reply to EXPIRE: the key may be gone by then, or be another's. If EXPIRE does not
// reach the node, the key stays for ever.
func setNXThenExpire(ctx context.Context, node *redis.Client, name, token string, ttl time.Duration) (bool, error) {
	ok, err := node.Do(ctx, "SETNX", name, token).Bool() // SetNX of go-redis sends SET with NX
	if err != nil || !ok {
		return false, err
	}
	return true, node.Expire(ctx, name, wholeSeconds(ttl)).Err()
}

// wholeSeconds rounds up to whole seconds, the unit of EXPIRE. So a key may outlive the lease, but not the other way round.
func wholeSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}
