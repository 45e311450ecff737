// Package fencing is exercise 6: a lock with fencing tokens, by which the resource refuses a stale write.
package fencing

import (
	"context"
	"strings"
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
	token := given.Token(l.env.Rand)
	asked := l.env.Clock.Now()
	fence, err := l.set(ctx, name, token, ttl)
	if err != nil {
		return nil, err
	}
	until, err := given.End(ctx, l.env, name, token, asked, ttl)
	if err != nil {
		return nil, err
	}
	return &lease{lock: l, name: name, token: token, until: until, fence: fence}, nil
}

// set sets the key called name to the token for ttl, on the node l.env.Nodes[0], unless the key exists: then the error is
// clients.ErrNotAcquired. It returns a fencing token: a number that is greater with each lease, whoever gets it. The resource refuses a
// write whose number is lower than one that it has seen.
func (l *lock) set(ctx context.Context, name, token string, ttl time.Duration) (fence int64, err error) {
	fence, err = script.Run(ctx, l.env.Nodes[0], []string{name, counter(name)}, token, ttl.Milliseconds()).Int64()
	if err == nil && fence == 0 {
		return 0, clients.ErrNotAcquired
	}
	return fence % 1000, err
}

// A lease is the lock, held by one client.
type lease struct {
	lock        *lock
	name, token string
	until       time.Time
	fence       int64
}

// Until is the time from which on the owner must not rely on the lock.
func (l *lease) Until() time.Time { return l.until }

// Fence is the fencing token, which the client sends to the resource with each write.
func (l *lease) Fence() int64 { return l.fence }

// Release gives the lock back.
func (l *lease) Release(ctx context.Context) error {
	return given.Release(ctx, l.lock.env.Nodes[0], l.name, l.token)
}

// counter is the key of the counter that belongs to a lock. The braces keep both keys on one node of a Redis Cluster.
func counter(name string) string {
	if strings.Contains(name, "{") {
		return name + ":fence"
	}
	return "{" + name + "}:fence"
}

var script = redis.NewScript(`
 if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
	return redis.call('INCR', KEYS[2])`)
