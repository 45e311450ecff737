package clients

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// NewSingleDelex is the lock of [NewSingle] that is released by one command instead of a script, DELEX key IFEQ token, which
// Redis has since 8.4 (https://redis.io/docs/latest/commands/delex/; the Distributed Locks page names it since 2026). On a server
// without DELEX a release fails with an error: falling back to another way would hide which of them was tested.
func NewSingleDelex(env Env) Locker { return &singleDelex{env} }

type singleDelex struct{ env Env }

func (l *singleDelex) Acquire(ctx context.Context, name string, ttl time.Duration) (Lease, error) {
	lease, err := l.env.take(ctx, name, newToken(l.env.Rand), ttl)
	if err != nil {
		return nil, err
	}
	return &delexLease{lease}, nil
}

type delexLease struct{ *singleLease }

func (l *delexLease) Release(ctx context.Context) error {
	n, err := l.env.Nodes[0].DelExArgs(ctx, l.name, redis.DelExArgs{Mode: "IFEQ", MatchValue: l.token}).Result()
	switch {
	case err == nil && n == 0:
		return ErrNotHeld
	case err != nil && strings.HasPrefix(err.Error(), "ERR unknown command"):
		return fmt.Errorf("this server has no DELEX, which came with Redis 8.4: %w", err)
	}
	return err
}
