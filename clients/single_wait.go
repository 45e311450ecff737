package clients

import (
	"context"
	"fmt"
	"time"
)

const (
	// waitReplicas is how many replicas must have acknowledged a lock. The lock does not know how many there are: if there is
	// one, that is all of them; if there are more, another one may be promoted.
	waitReplicas = 1
	waitTimeout  = time.Second // by the node's clock; Redisson's default (its setting slavesSyncTimeout)
)

// NewSingleWait is the lock of [NewSingle] that is granted only after a replica has acknowledged it: SET is followed by WAIT, on
// the same connection, because WAIT covers only the writes of its own connection (https://redis.io/docs/latest/commands/wait/).
// If too few replicas acknowledge in time, the lock is released.
//
// Redisson's locks do so since 3.12.5 (2020), which deprecated its Redlock in favour of this, but up to 3.16.6 they ignored how
// many replicas had answered (https://github.com/redisson/redisson/issues/3474,
// https://github.com/redisson/redisson/issues/3994). Redisson requires all replicas that it knows of.
//
// Here an extension waits, too: if a replica is promoted that has not received it, the key expires there at the old end.
func NewSingleWait(env Env) Locker { return &singleWait{env} }

type singleWait struct{ env Env }

func (l *singleWait) Acquire(ctx context.Context, name string, ttl time.Duration) (Lease, error) {
	token := newToken(l.env.Rand)
	start := l.env.Clock.Now()
	conn := l.env.Nodes[0].Conn()
	defer conn.Close() // returns it to the pool
	ok, err := conn.SetNX(ctx, name, token, ttl).Result()
	if err != nil {
		return nil, notRun(err)
	}
	if !ok {
		return nil, ErrNotAcquired
	}
	n, err := conn.Wait(ctx, waitReplicas, waitTimeout).Result()
	if why := objection(n, err); why != "" {
		return nil, (&singleLease{l.env, name, token, start}).refuse(ctx, why)
	}
	lease, err := l.env.lease(ctx, name, token, start.Add(ttl))
	if err != nil {
		return nil, err
	}
	return &singleWaitLease{lease}, nil
}

type singleWaitLease struct{ *singleLease }

// Extend waits as Acquire does. Without an acknowledgement the key may expire at the old end on a replica and at the new end on the
// primary, so the lease ends at the earlier of the two.
func (l *singleWaitLease) Extend(ctx context.Context, ttl time.Duration) error {
	return l.extend(ttl, func() error {
		conn := l.env.Nodes[0].Conn()
		defer conn.Close()
		if err := l.prolong(ctx, conn, ttl); err != nil {
			return err
		}
		n, err := conn.Wait(ctx, waitReplicas, waitTimeout).Result()
		if why := objection(n, err); why != "" {
			return fmt.Errorf("%w: %s", ErrNotExtended, why)
		}
		return nil
	})
}

// objection says what is wrong with the reply to WAIT.
func objection(acknowledged int64, err error) string {
	switch {
	case err != nil:
		return "WAIT: " + err.Error()
	case acknowledged < waitReplicas:
		return fmt.Sprintf("%d of %d replicas acknowledged it", acknowledged, waitReplicas)
	}
	return ""
}
