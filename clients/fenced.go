package clients

import (
	"context"
	_ "embed"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/fenced.lua
var fencedLua string

var fencedScript = redis.NewScript(fencedLua)

// NewFenced is the lock of [NewSingle] that also draws a fencing token from a counter, in the same script (Kleppmann,
// "How to do distributed locking", 2016, "Making the lock safe with fencing"; why2020). It protects
// only with a resource that compares tokens.
func NewFenced(env Env) Locker { return &fenced{env} }

type fenced struct{ env Env }

func (l *fenced) Acquire(ctx context.Context, name string, ttl time.Duration) (Lease, error) {
	token := newToken(l.env.Rand)
	start := l.env.Clock.Now()
	fence, err := fencedScript.Run(ctx, l.env.Nodes[0], []string{name, counterKey(name)}, token, ttl.Milliseconds()).Int64()
	if err != nil {
		return nil, err
	}
	if fence == 0 {
		return nil, ErrNotAcquired
	}
	lease, err := l.env.lease(ctx, name, token, start.Add(ttl))
	if err != nil {
		return nil, err
	}
	return &fencedLease{lease, fence}, nil
}

type fencedLease struct {
	*singleLease
	fence int64
}

func (l *fencedLease) Fence() int64 { return l.fence }

// counterKey is the key of the counter. It is in the same slot as the lock, because a Redis Cluster runs no script whose keys are in two slots.
func counterKey(name string) string {
	if strings.Contains(name, "{") {
		return name + ":fence" // the text between the braces decides the slot of both keys
	}
	return "{" + name + "}:fence"
}
