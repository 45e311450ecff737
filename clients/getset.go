package clients

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// NewGetSet is a lock whose value is the time at which it ends, by the clock on the wall of the client that took it. The
// key itself never ends: who finds SETNX refused compares the value with its own clock, and if it has passed, puts its own
// time there with GETSET. The lock is whose GETSET returns what its GET had returned (anon-setnx, the wrong
// example).
//
// All clocks have to agree for that. And who loses the race has nevertheless overwritten the time of the winner, which the
// source names: the winner's lease then lasts longer than it thinks, and its release does not find its own value. A key
// that is released between GET and GETSET is set by the latter, and belongs to nobody until that time has passed.
//
// The source shows no release, and says only that it has problems too. The one here is what elsewhere comes with the same
// code: GET, comparison in the client, DEL.
func NewGetSet(env Env) Locker { return &getSet{env} }

type getSet struct{ env Env }

func (l *getSet) Acquire(ctx context.Context, name string, ttl time.Duration) (Lease, error) {
	node := l.env.Nodes[0]
	start := l.env.Clock.Now()
	value := milliseconds(l.env.Wall.Now().Add(ttl))
	ok, err := node.Do(ctx, "SETNX", name, value).Bool()
	if err != nil {
		return nil, err
	}
	if !ok {
		if err := l.takeOver(ctx, node, name, value); err != nil {
			return nil, err
		}
	}
	return &getDelLease{&singleLease{env: l.env, name: name, token: value, until: start.Add(ttl)}}, nil
}

func (l *getSet) takeOver(ctx context.Context, node *redis.Client, name, value string) error {
	current, err := node.Get(ctx, name).Result()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotAcquired, err)
	}
	end, err := strconv.ParseInt(current, 10, 64)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotAcquired, err)
	}
	if left := end - l.env.Wall.Now().UnixMilli(); left >= 0 {
		return fmt.Errorf("%w: %d ms are left", ErrNotAcquired, left)
	}
	old, err := node.Do(ctx, "GETSET", name, value).Text() // deprecated in Redis, and so in go-redis
	switch {
	case errors.Is(err, redis.Nil):
		return fmt.Errorf("%w: it was released meanwhile", ErrNotAcquired)
	case err != nil:
		return err
	case old != current:
		return fmt.Errorf("%w: another was faster", ErrNotAcquired)
	}
	return nil
}

// milliseconds is System.currentTimeMillis as text.
func milliseconds(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
