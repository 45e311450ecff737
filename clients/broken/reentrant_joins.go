package broken

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// reentrantFlag lets a client in again that has the lock already, and notes that there is an inner lease, but not how many. The release of an
// inner lease only clears the note. To be caught, it needs a client that asks three times: the second release deletes the key.
var reentrantFlag = clients.Lock{
	Name:  "single-reentrant-flag",
	About: "single, whose client can take it again, and which does not count how often",
	Like:  []string{"single"},
	New:   joinable(1, func(l *joinedLease) clients.Lease { return l }),
}

// reentrantExtends counts the leases, but the extension of any of them sets the TTL of the key that they share. To be caught, it needs a client
// that extends an inner lease by less than its outer one has left.
var reentrantExtends = clients.Lock{
	Name:  "single-reentrant-extends",
	About: "single-extend, whose client can take it again; the extension of an inner lease may shorten the key",
	Like:  []string{"single-extend"},
	New:   joinable(math.MaxInt, func(l *joinedLease) clients.Lease { return &joinedExtended{l} }),
}

// joining is a lock whose client can take it again. Then the key gets the TTL of the new lease if that ends later.
type joining struct {
	env   clients.Env
	token string
	most  int // how many inner leases are counted

	mu    sync.Mutex
	inner map[string]int // by the name of the lock
}

// joinable returns a lock that counts a number of inner leases at most. lease makes what the client gets.
func joinable(most int, lease func(*joinedLease) clients.Lease) clients.New {
	return func(env clients.Env) clients.Locker {
		l := &joining{env: env, token: parts.Token(env.Rand), most: most, inner: map[string]int{}}
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			got, err := l.acquire(ctx, name, ttl)
			if err != nil {
				return nil, err
			}
			return lease(got), nil
		})
	}
}

var joinScript = redis.NewScript(`
	if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
	if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
	return 1`)

func (l *joining) acquire(ctx context.Context, name string, ttl time.Duration) (*joinedLease, error) {
	start := l.env.Clock.Now()
	lease, err := parts.Take(ctx, l.env, name, l.token, ttl)
	if errors.Is(err, clients.ErrNotAcquired) {
		n, again := joinScript.Run(ctx, l.env.Nodes[0], []string{name}, l.token, ttl.Milliseconds()).Int()
		if again != nil {
			return nil, again
		}
		if n == 0 {
			return nil, err
		}
		l.mu.Lock()
		l.inner[name] = min(l.inner[name]+1, l.most)
		l.mu.Unlock()
		lease, err = (&parts.Lease{Env: l.env, Name: name, Token: l.token, End: start.Add(ttl)}).Arrived(ctx)
	}
	if err != nil {
		return nil, err
	}
	return &joinedLease{lease, l}, nil
}

type joinedLease struct {
	*parts.Lease
	of *joining
}

func (l *joinedLease) Release(ctx context.Context) error {
	l.of.mu.Lock()
	inner := l.of.inner[l.Name]
	l.of.inner[l.Name] = max(0, inner-1)
	l.of.mu.Unlock()
	if inner > 0 {
		return nil
	}
	return l.Lease.Release(ctx)
}

type joinedExtended struct{ *joinedLease }

func (l *joinedExtended) Extend(ctx context.Context, ttl time.Duration) error {
	until := l.Env.Clock.Now().Add(ttl)
	n, err := parts.ExtendOn(ctx, l.Env.Nodes[0], l.Name, l.Token, ttl)
	return l.Extended(n != 0, err, until)
}
