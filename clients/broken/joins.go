package broken

import (
	"context"
	"sync"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// joins gives a share of the lease to a client that asks for a lock which its process already holds. It counts the end from then on, but does not
// extend the key.
// It needs a client that asks for the lock while it holds it, and relies on it after the key is gone.
var joins = clients.Lock{
	Name:  "single-joins",
	About: "single, which lets a client join its own lease, with a later end",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		s := &sharedLease{env: env}
		return parts.Acquire(s.acquire)
	},
}

// A sharedLease is the lease of a process, and how many of its tasks share it.
type sharedLease struct {
	env    clients.Env
	mu     sync.Mutex
	lease  *parts.Lease
	shares int
}

func (s *sharedLease) acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	until := s.env.Clock.Now().Add(ttl)
	s.mu.Lock()
	if s.shares > 0 && s.lease.Name == name && s.env.Clock.Now().Before(s.lease.End) {
		s.shares++
		s.mu.Unlock()
		return &share{s, until}, nil
	}
	s.mu.Unlock()
	lease, err := parts.Take(ctx, s.env, name, parts.Token(s.env.Rand), ttl)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.lease, s.shares = lease, 1
	s.mu.Unlock()
	return &share{s, lease.End}, nil
}

type share struct {
	of  *sharedLease
	end time.Time
}

func (s *share) Until() time.Time { return s.end }

func (s *share) Release(ctx context.Context) error {
	s.of.mu.Lock()
	s.of.shares--
	last := s.of.shares == 0
	s.of.mu.Unlock()
	if !last {
		return nil
	}
	return s.of.lease.Release(ctx)
}
