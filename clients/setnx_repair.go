package clients

import (
	"context"
	"fmt"
	"time"
)

// repairPoll is how long a waiter sleeps between two checks. The source has usleep(0.001), which is usleep(0) and so a busy loop,
// limited only by the time that its two commands take; it probably meant a millisecond. Ten are still short compared with a TTL
// of seconds, and leave the node time for others.
const repairPoll = 10 * time.Millisecond

// NewSetNXRepair is a lock of SETNX and EXPIRE in which a waiter that finds a key without a TTL sets one (nemo2018, example 3,
// getLock and releaseLock). It waits for one TTL, which is 2 s in the source.
//
// The waiter reads the TTL and then sets it, in two steps. If it is late, the key may belong to another client by then, and the waiter
// prolongs the lease of that client. As in the source, the wait is measured in whole seconds of the wall clock. It may therefore be up to one second
// shorter than the TTL, and a waiter that set a TTL does not see the key expire. The token is that of [NewSingleUsec], and the
// release that of [NewMultiDel]. The time that acquiring took is ignored, so a lease may be over on return. After an unsuccessful
// wait the loop of the source skips the work. So its total of increments is too low although none is lost.
func NewSetNXRepair(env Env) Locker { return &setNXRepair{env} }

type setNXRepair struct{ env Env }

func (l *setNXRepair) Acquire(ctx context.Context, name string, ttl time.Duration) (Lease, error) {
	node, token := l.env.Nodes[0], uniqid(l.env.Wall.Now())
	end := l.env.Wall.Now().Unix() + int64(wholeSeconds(ttl)/time.Second)
	for l.env.Wall.Now().Unix() < end {
		start := l.env.Clock.Now()
		ok, err := setNXThenExpire(ctx, node, name, token, ttl)
		if err != nil {
			return nil, err
		}
		if ok {
			return &multiDelLease{&singleLease{env: l.env, name: name, token: token, until: start.Add(ttl)}}, nil
		}
		left, err := node.TTL(ctx, name).Result()
		if err == nil && left == -1 {
			err = node.Expire(ctx, name, wholeSeconds(ttl)).Err()
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotAcquired, err)
		}
		l.env.Clock.Sleep(repairPoll)
	}
	return nil, fmt.Errorf("%w for one TTL", ErrNotAcquired)
}
