package broken

import (
	"context"
	"fmt"
	"sync"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// oneAtATime asks no node while a goroutine of its process has a lease, whatever the name of its lock. It needs a client that
// asks for two locks.
var oneAtATime = clients.Lock{
	Name:  "single-one-at-a-time",
	About: "single, which refuses every name while its process has a lease",
	Like:  []string{"single"},
	New:   func(env clients.Env) clients.Locker { return &oneLease{env: env} },
}

type oneLease struct {
	env clients.Env
	mu  sync.Mutex // guards held
	// held is the lease of the process. It counts until it is released or over.
	held clients.Lease
}

func (l *oneLease) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	l.mu.Lock()
	has := l.held != nil && l.env.Clock.Now().Before(l.held.Until())
	l.mu.Unlock()
	if has {
		return nil, fmt.Errorf("%w: this process has a lock", clients.ErrNotAcquired)
	}
	lease, err := parts.Take(ctx, l.env, name, parts.Token(l.env.Rand), ttl)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = lease
	return counted{lease, l}, nil
}

type counted struct {
	*parts.Lease
	of *oneLease
}

func (c counted) Release(ctx context.Context) error {
	c.of.mu.Lock()
	if c.of.held == clients.Lease(c.Lease) {
		c.of.held = nil
	}
	c.of.mu.Unlock()
	return c.Lease.Release(ctx)
}
