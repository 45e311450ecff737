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

// Acquire takes the lock with this name for ttl. It draws a token (given.Token), and sets the key on the node:
//
//	err := given.SetOn(ctx, l.env.Nodes[0], name, token, ttl)
//
// If that fails, Acquire returns the error. Otherwise it returns a lease whose field until is the time from which on the owner must not
// rely on the lock, by l.env.Clock. If the answer of the node comes so late that the lease is over, Acquire deletes the key, and returns
// clients.ErrNotAcquired.
func (l *lock) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	token := given.Token(l.env.Rand)
	var asked time.Time
	var err error
	for range 3 {
		asked = l.env.Clock.Now()
		if err = given.SetOn(ctx, l.env.Nodes[0], name, token, ttl); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err // perhaps a refusal by the key of the try before, whose reply was lost
	}
	won := &lease{lock: l, name: name, token: token, until: asked.Add(ttl)}
	if !l.env.Clock.Now().Before(won.until) {
		won.Release(context.WithoutCancel(ctx)) // even if the caller no longer waits
		return nil, clients.ErrNotAcquired
	}
	return won, nil
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
