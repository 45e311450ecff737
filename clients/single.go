package clients

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/release.lua
var releaseLua string

var releaseScript = redis.NewScript(releaseLua)

// NewSingle is the correct lock on one Redis: SET with NX, PX and a random token, released by compare-and-delete
// (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/, "Correct Implementation with a Single
// Instance"; anon2023, part 1, section 1). It tries once.
func NewSingle(env Env) Locker { return &single{env} }

type single struct{ env Env }

func (l *single) Acquire(ctx context.Context, name string, ttl time.Duration) (Lease, error) {
	lease, err := l.env.take(ctx, name, newToken(l.env.Rand), ttl)
	if err != nil {
		return nil, err // not the nil *singleLease, which would be a non-nil Lease
	}
	return lease, nil
}

// take takes a lock with a token on the first node. It tries once.
func (e Env) take(ctx context.Context, name, token string, ttl time.Duration) (*singleLease, error) {
	start := e.Clock.Now() // read before the request: the node starts to count later, never earlier
	ok, err := e.Nodes[0].SetNX(ctx, name, token, ttl).Result()
	if err != nil {
		return nil, notRun(err)
	}
	if !ok {
		return nil, ErrNotAcquired
	}
	return e.lease(ctx, name, token, start.Add(ttl))
}

// notRun adds [ErrNotAcquired] to an error of a node that has certainly not run the command: one with too few replicas, or a
// replica, checks that before it looks at the command's keys.
func notRun(err error) error {
	if slices.ContainsFunc([]string{"NOREPLICAS", "READONLY"}, func(code string) bool { return redis.HasErrorPrefix(err, code) }) {
		return fmt.Errorf("%w: %w", ErrNotAcquired, err)
	}
	return err
}

// lease returns the lease of a lock on the first node, unless acquiring took so long that it is over.
func (e Env) lease(ctx context.Context, name, token string, until time.Time) (*singleLease, error) {
	lease := &singleLease{e, name, token, until}
	if e.Clock.Now().Before(until) {
		return lease, nil
	}
	return nil, lease.refuse(ctx, "it was over when it arrived")
}

// refuse gives back a lease that is not good enough. Its error gives the reason, and wraps [ErrNotAcquired].
func (l *singleLease) refuse(ctx context.Context, why string) error {
	err := fmt.Errorf("%w: %s", ErrNotAcquired, why)
	if left := l.Release(context.WithoutCancel(ctx)); left != nil && !errors.Is(left, ErrNotHeld) {
		err = fmt.Errorf("%w, and could not be released: %w", err, left)
	}
	return err
}

type singleLease struct {
	env         Env
	name, token string
	until       time.Time
}

func (l *singleLease) Until() time.Time { return l.until }

func (l *singleLease) Release(ctx context.Context) error {
	n, err := releaseScript.Run(ctx, l.env.Nodes[0], []string{l.name}, l.token).Int()
	if err == nil && n == 0 {
		return ErrNotHeld
	}
	return err
}
