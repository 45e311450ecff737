// Package extension is exercise 5: a client that needs the lock for longer extends its lease.
package extension

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

// A lease is the lock, held by one client.
type lease struct {
	lock        *lock
	name, token string
	until       time.Time
}

// Until is the time from which on the owner must not rely on the lock, by l.lock.env.Clock.
func (l *lease) Until() time.Time { return l.until }

// Extend makes the lease last for ttl from now, if it is still ours: the key on the node l.lock.env.Nodes[0] gets a new TTL (the command
// PEXPIRE sets one), and l.until the new end. The ttl may be longer or shorter than before.
//
//   - If the lease is over, or the key is not ours any more, the error is clients.ErrNotHeld.
//   - If the answer comes so late that even the new lease is over, the error is clients.ErrNotExtended.
//   - Other errors are those of the node. After them the node may have set the new TTL, or not. So l.until is then the earlier of the two
//     ends, and also while Extend waits for the answer.
func (l *lease) Extend(ctx context.Context, ttl time.Duration) error {
	clock := l.lock.env.Clock
	asked := clock.Now()
	if !asked.Before(l.until) {
		return clients.ErrNotHeld
	}
	until := asked.Add(ttl)
	if until.Before(l.until) {
		l.until = until
	}
	var n int
	var err error
	for range 3 {
		if n, err = script.Run(ctx, l.lock.env.Nodes[0], []string{l.name}, l.token, ttl.Milliseconds()).Int(); err == nil {
			break
		}
	}
	switch {
	case err != nil:
		return err
	case n == 0:
		return clients.ErrNotHeld
	case !clock.Now().Before(until):
		return clients.ErrNotExtended
	}
	l.until = until
	return nil
}

// Release gives the lock back.
func (l *lease) Release(ctx context.Context) error {
	return given.Release(ctx, l.lock.env.Nodes[0], l.name, l.token)
}

var script = redis.NewScript(`
	if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
	return 0`)
