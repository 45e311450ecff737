package clients

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// NewSingleExtend is the lock of [NewSingle] with extension: the TTL of the key is set again if the key still has our token
// (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/, "Making the algorithm more reliable: Extending the
// lock"; anon2023, part 2, section 3 A).
func NewSingleExtend(env Env) Locker { return &singleExtend{env} }

type singleExtend struct{ env Env }

func (l *singleExtend) Acquire(ctx context.Context, name string, ttl time.Duration) (Lease, error) {
	lease, err := l.env.take(ctx, name, newToken(l.env.Rand), ttl)
	if err != nil {
		return nil, err
	}
	return &singleExtendLease{lease}, nil
}

type singleExtendLease struct{ *singleLease }

// Extend tries once.
func (l *singleExtendLease) Extend(ctx context.Context, ttl time.Duration) error {
	return l.extend(ttl, func() error { return l.prolong(ctx, l.env.Nodes[0], ttl) })
}

// extend counts time as acquiring does: from before the request. A lease that is over is not extended: until the reply came, its
// holder would not have known whether the key was still there. Until the reply comes, and if it never does, the key may end at the
// old end or at the new one, so the lease ends at the earlier of the two.
func (l *singleLease) extend(ttl time.Duration, ask func() error) error {
	clock := l.env.Clock
	if over := clock.Since(l.until); over >= 0 {
		return fmt.Errorf("%w: the lease ended %v ago", ErrNotHeld, over.Round(time.Millisecond))
	}
	until := clock.Now().Add(ttl)
	l.until = earlier(l.until, until)
	if err := ask(); err != nil {
		return err
	}
	if clock.Now().Before(until) {
		l.until = until
		return nil
	}
	return fmt.Errorf("%w: it was over when the answer came", ErrNotExtended)
}

// prolong sets the TTL of the key anew. It returns [ErrNotHeld] if the key does not have our token.
func (l *singleLease) prolong(ctx context.Context, on redis.Scripter, ttl time.Duration) error {
	n, err := extendScript.Run(ctx, on, []string{l.name}, l.token, ttl.Milliseconds()).Int()
	if err == nil && n == 0 {
		return ErrNotHeld
	}
	return err
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
