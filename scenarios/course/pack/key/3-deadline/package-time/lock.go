// Package deadline is exercise 3: a client knows when its lease is over.
package deadline

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/given"
)

// New makes the lock of one client.
func New(env clients.Env) clients.Locker { return &lock{env} }

type lock struct{ env clients.Env }

// Acquire takes the lock with this name for ttl. It uses set, and returns a lease whose field until is the time from which on the owner
// must not rely on the lock. The clock is l.env.Clock: l.env.Clock.Now() is its time. If the answer of the node comes so late that the
// lease is over, Acquire gives the key back and returns clients.ErrNotAcquired.
func (l *lock) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	token := given.Token(l.env.Rand)
	asked := time.Now() // not the clock of the process
	if err := l.set(ctx, name, token, ttl); err != nil {
		return nil, err
	}
	won := &lease{lock: l, name: name, token: token, until: asked.Add(ttl)}
	if time.Since(asked) >= ttl {
		won.Release(context.WithoutCancel(ctx)) // even if the caller no longer waits
		return nil, clients.ErrNotAcquired
	}
	return won, nil
}

// set sets the key to the token for ttl, unless it exists: then the error is clients.ErrNotAcquired. given.Token makes a token.
func (l *lock) set(ctx context.Context, name, token string, ttl time.Duration) error {
	ok, err := l.env.Nodes[0].SetNX(ctx, name, token, ttl).Result()
	if err == nil && !ok {
		return clients.ErrNotAcquired
	}
	return err
}

// A lease is the lock, held by one client.
type lease struct {
	lock        *lock
	name, token string
	until       time.Time
}

// Until is the time from which on the owner must not rely on the lock.
func (l *lease) Until() time.Time { return l.until }

// Release gives the lock back.
func (l *lease) Release(ctx context.Context) error {
	return given.Release(ctx, l.lock.env.Nodes[0], l.name, l.token)
}
