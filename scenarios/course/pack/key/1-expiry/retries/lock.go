// Package expiry is exercise 1: a lock that is free again if its owner dies.
package expiry

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/given"
)

// New makes the lock of one client.
func New(env clients.Env) clients.Locker { return &lock{env} }

type lock struct{ env clients.Env }

// Acquire takes the lock with this name for ttl.
func (l *lock) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	token := given.Token(l.env.Rand) // the value of the key: it marks the owner
	asked := l.env.Clock.Now()
	if err := l.set(ctx, name, token, ttl); err != nil {
		return nil, err
	}
	until, err := given.End(ctx, l.env, name, token, asked, ttl)
	if err != nil {
		return nil, err
	}
	return &lease{lock: l, name: name, token: token, until: until}, nil
}

// set sets the key called name to the token, on the node l.env.Nodes[0], unless the key exists. The node deletes the key after ttl,
// whatever becomes of this client. If the key exists, the error is clients.ErrNotAcquired. Other errors are those of the node.
func (l *lock) set(ctx context.Context, name, token string, ttl time.Duration) error {
	var err error
	for range 3 {
		var ok bool
		ok, err = l.env.Nodes[0].SetNX(ctx, name, token, ttl).Result()
		if err == nil {
			if !ok {
				return clients.ErrNotAcquired // perhaps by the key of the try before, whose reply was lost
			}
			return nil
		}
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
