// Package redlock is exercise 4: a lock on five nodes.
package redlock

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/given"
)

// New makes the lock of one client.
func New(env clients.Env) clients.Locker { return &lock{env, given.NewNodes(env)} }

type lock struct {
	env   clients.Env
	nodes *given.Nodes
}

// Acquire takes the lock with this name for ttl. It tries up to three times.
func (l *lock) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	return l.nodes.Retry(ctx, func() (clients.Lease, error) { return l.attempt(ctx, name, ttl) })
}

// attempt tries once. It draws a token (given.Token), and asks all nodes to set the key:
//
//	errs := l.nodes.Ask(ctx, given.Set(name, token, ttl))
//
// errs has one error for each node, which is nil if the node has granted the lock. The client has the lock if a majority of all nodes has
// granted it, and if the lease is not over when the answers have arrived. The lease must be shorter than ttl: clocks of nodes may run up
// to one per cent faster than ours, and a node may delete a key up to 2 ms early. If the client does not have the lock, attempt deletes
// the keys on all nodes and returns clients.ErrNotAcquired.
func (l *lock) attempt(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	token := given.Token(l.env.Rand)
	asked := l.env.Clock.Now()
	errs := l.nodes.Ask(ctx, given.Set(name, token, ttl))
	n := 0
	for _, err := range errs {
		if err == nil {
			n++
		}
	}
	until := asked.Add(ttl - (ttl/100 + 2*time.Millisecond))
	if n < len(errs)/2+1 || !l.env.Clock.Now().Before(until) {
		if n < len(errs)/2+1 {
			l.nodes.Ask(context.WithoutCancel(ctx), given.Delete(name, token))
		}
		return nil, clients.ErrNotAcquired
	}
	return &lease{lock: l, name: name, token: token, until: until}, nil
}

// A lease is the lock, held by one client.
type lease struct {
	lock        *lock
	name, token string
	until       time.Time
}

// Until is the time from which on the owner must not rely on the lock.
func (l *lease) Until() time.Time { return l.until }

// Release deletes the key on every node on which it has the token.
func (l *lease) Release(ctx context.Context) error {
	return l.lock.nodes.Released(l.lock.nodes.Ask(ctx, given.Delete(l.name, l.token)))
}
