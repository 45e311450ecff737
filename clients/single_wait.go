package clients

import (
	"context"
	"fmt"
	"time"
)

const (
	// waitReplicas is how many replicas must have acknowledged a lock. How many there are the lock is not told: with one, that
	// is all of them; with more, the one that is promoted may be another.
	waitReplicas = 1
	waitTimeout  = time.Second // by the node's clock; Redisson's default (its setting slavesSyncTimeout)
)

// NewSingleWait is the lock of [NewSingle] that is not granted before a replica has acknowledged it: SET is followed by WAIT,
// on the same connection, because WAIT answers for the writes of its own connection only
// (https://redis.io/docs/latest/commands/wait/). If too few replicas acknowledge it in time, it is given back.
//
// Redisson's locks do so since 3.12.5 (2020), which deprecated its Redlock for it, but up to 3.16.6 did not look at how many
// replicas had answered (https://github.com/redisson/redisson/issues/3474, https://github.com/redisson/redisson/issues/3994).
// It demands all replicas that it knows of.
func NewSingleWait(env Env) Locker { return &singleWait{env} }

type singleWait struct{ env Env }

func (l *singleWait) Acquire(ctx context.Context, name string, ttl time.Duration) (Lease, error) {
	token := newToken(l.env.Rand)
	start := l.env.Clock.Now()
	conn := l.env.Nodes[0].Conn()
	defer conn.Close() // gives it back to the pool
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
	return lease, nil
}

// objection says what is wrong with the answer to WAIT.
func objection(acknowledged int64, err error) string {
	switch {
	case err != nil:
		return "WAIT: " + err.Error()
	case acknowledged < waitReplicas:
		return fmt.Sprintf("%d of %d replicas acknowledged it", acknowledged, waitReplicas)
	}
	return ""
}
