// Package release is exercise 2: a client releases only its own lock.
package release

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/given"
)

// New makes the lock of one client.
func New(env clients.Env) clients.Locker { return &lock{env} }

type lock struct{ env clients.Env }

// Acquire takes the lock with this name for ttl.
func (l *lock) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	token, until, err := given.Acquire(ctx, l.env, name, ttl)
	if err != nil {
		return nil, err
	}
	return &lease{lock: l, name: name, token: token, until: until}, nil
}

// A lease is the lock, held by one client. The value of the key called name was token when the lease was granted.
type lease struct {
	lock        *lock
	name, token string
	until       time.Time
}

// Until is the time from which on the owner must not rely on the lock.
func (l *lease) Until() time.Time { return l.until }

// Release gives the lock back: it deletes the key on the node l.lock.env.Nodes[0] if the value is still the token, so that others need
// not wait for the end of the TTL. If the key is gone, or is another client's, the error is clients.ErrNotHeld. Other errors are those of
// the node.
func (l *lease) Release(ctx context.Context) error {
	n, err := script.Run(ctx, l.lock.env.Nodes[0], []string{"lock"}, l.token).Int()
	if err != nil {
		return err
	}
	if n == 0 {
		return clients.ErrNotHeld
	}
	return nil
}

var script = redis.NewScript(`
	if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
	return 0`)
