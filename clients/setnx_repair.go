package clients

import (
	"context"
	"fmt"
	"time"
)

// repairPoll is how long a waiter sleeps between two looks. The source has usleep(0.001), which is usleep(0) and so a busy
// loop, bounded only by the time that its two commands take; it will have meant a millisecond. Ten are short against a TTL
// of seconds as well, and leave the node time for others.
const repairPoll = 10 * time.Millisecond

// NewSetNXRepair is a lock of SETNX and EXPIRE in which a waiter that finds a key without an end gives it one
// (nemo2018, example 3, getLock and releaseLock). It waits for one TTL, which there is 2 s.
//
// The waiter reads the TTL and then sets it, in two steps: if it is late, the key is another's by then, whose lease it
// lengthens. In the source's manner the wait is measured in whole seconds of the clock on the wall, so that it is up to one
// second shorter than the TTL, and a waiter that gave a key its end does not see it; the token is of [NewSingleUsec], and
// the release that of [NewMultiDel]. Nothing is made of the time that acquiring took, so that a lease may be over when it
// arrives. After such a wait without success the source's loop skips the work, for which its total of increments falls
// short although none is lost.
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
