package broken

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendVersioned writes a new version of its value with each extension, and compares with the version of the last extension that was
// answered. It needs an extension whose reply is lost, and then a release.
var extendVersioned = clients.Lock{
	Name:  "single-extend-versioned",
	About: "single, whose extension writes a new token, but keeps the old one if there is no reply",
	Like:  []string{"single"},
	New: extendable(func(l *parts.Lease, ctx context.Context, ttl time.Duration) error {
		until, next := l.Env.Clock.Now().Add(ttl), parts.Token(l.Env.Rand)
		err := replace(ctx, l.Env.Nodes[0], l.Name, l.Token, next, ttl)
		if err == nil {
			l.Token = next
		}
		if errors.Is(err, clients.ErrNotHeld) {
			return l.Extended(false, nil, until)
		}
		return l.Extended(true, err, until)
	}),
}

var replaceScript = redis.NewScript(`
	if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
	redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
	return 1`)

// replace sets another value and a new TTL if the key has the old value.
func replace(ctx context.Context, node *redis.Client, name, old, next string, ttl time.Duration) error {
	return parts.Held(replaceScript.Run(ctx, node, []string{name}, old, next, ttl.Milliseconds()).Int())
}

// extendVersionedOnMany is extendVersioned on a majority of nodes.
var extendVersionedOnMany = clients.Lock{
	Name:  "redlock-extend-versioned",
	About: "redlock-extend, whose extension writes a new token, but keeps the old one unless a majority replies",
	Like:  []string{"redlock-extend"},
	New: extendableOnMany(func(l *parts.RedlockLease) extension {
		return func(ctx context.Context, start time.Time, ttl time.Duration) error {
			r := l.Redlock
			next := parts.Token(r.Env.Rand)
			extended := replaceOnMany(ctx, l, l.Token, next, ttl)
			until, left := r.Validity(start, ttl)
			if extended < r.Quorum() || !left {
				return fmt.Errorf("%w: %d nodes extended it", clients.ErrNotExtended, extended)
			}
			l.Token, l.End = next, until
			return nil
		}
	}),
}

// replaceOnMany replaces the value on all nodes, and returns how many did so.
func replaceOnMany(ctx context.Context, l *parts.RedlockLease, old, next string, ttl time.Duration) int {
	replaced, _ := parts.Count(l.Redlock.Ask(ctx, func(ctx context.Context, _ int, node *redis.Client) error {
		return replace(ctx, node, l.Name, old, next, ttl)
	}))
	return replaced
}
