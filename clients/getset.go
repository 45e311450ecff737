package clients

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// NewGetSet is a lock whose value is the time at which it ends, by the wall clock of the client that took it. The key has no TTL.
// A client whose SETNX is refused compares the value with its own clock. If that time has passed, it writes a new time with
// GETSET. It has the lock if GETSET returns the value that its GET returned (anon-setnx, the wrong example).
//
// That works only if all clocks agree. And a client that loses the race has still overwritten the time of the winner, as the
// source notes: the winner's lease then lasts longer than it thinks, and its release does not find its own value. If a key is
// released between GET and GETSET, GETSET sets it again, and it belongs to nobody until that time has passed.
//
// The source shows no release, and only says that it has problems too. The one here comes with the same code elsewhere: GET,
// comparison in the client, DEL.
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
	old, err := node.Do(ctx, "GETSET", name, value).Text() // deprecated in Redis, and therefore in go-redis
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
