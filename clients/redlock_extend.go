package clients

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients/internal/redlock"
)

//go:embed lua/extend.lua
var extendLua string

var extendScript = redis.NewScript(extendLua)

//go:embed lua/recreate.lua
var recreateLua string

var recreateScript = redis.NewScript(recreateLua)

// NewRedlockExtend is the lock of [NewRedlock] with extension: the TTL of the key is set again wherever the key still has our
// token, and the lease is extended if a majority of nodes did so within the validity
// (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/, "Making the algorithm more reliable: Extending the
// lock"; anon2023, part 2, section 3 A). An extension is tried once, and never changes the token.
func NewRedlockExtend(env Env) Locker { return newRedlock(env, redlock.Options{Extendable: true}) }

type redlockExtendLease struct{ *redlockLease }

// Extend counts time as acquiring does: from before the first request, less drift. A longer TTL on only a minority of nodes does
// no harm: the keys are released with the others, or expire. A shorter one may be on any node that has not refused it, so the lease
// then ends at the earlier of the two ends.
//
// Once the validity is over, it does not ask the nodes. Some of them may still have the key, because the allowance for drift was
// not needed, but according to the page only a valid lease can be extended.
func (l *redlockExtendLease) Extend(ctx context.Context, ttl time.Duration) error {
	lock := l.lock
	script := extendScript
	if lock.Recreate {
		script = recreateScript
	} else if over := lock.env.Clock.Since(l.until); over >= 0 {
		return fmt.Errorf("%w: the lease ended %v ago", ErrNotHeld, over.Round(time.Millisecond))
	}
	start := lock.clock.Now()
	asked, _ := lock.validity(start, ttl)
	l.until = earlier(l.until, asked)
	errs := lock.ask(ctx, lock.nodes, func(ctx context.Context, node *redis.Client) error {
		n, err := script.Run(ctx, node, []string{l.name}, l.token, ttl.Milliseconds()).Int()
		if err == nil && n == 0 {
			err = errGone
		}
		return err
	})
	extended, gone := count(errs, nil), count(errs, errGone)
	quorum := lock.Quorum(len(errs), extended+gone)
	until, left := lock.validity(start, ttl)
	if extended >= quorum && left > 0 {
		l.until = until
		return nil
	}
	err := ErrNotExtended
	if len(errs)-gone < quorum {
		err = ErrNotHeld // even if all other nodes have the key
	}
	return fmt.Errorf("%w: %d of %d nodes extended it, on %d it is gone, validity would be %v",
		err, extended, len(errs), gone, left.Round(time.Millisecond))
}
