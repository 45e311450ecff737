package broken

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// avoidsNode does not ask the node for ten minutes after it has refused to write, with NOREPLICAS or READONLY. It needs such a refusal: the
// client does not get the lock even when the node writes again.
var avoidsNode = clients.Lock{
	Name:  "single-avoids-node",
	About: "single, which does not ask its node for ten minutes after NOREPLICAS or READONLY",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		single, after := clients.NewSingle(env), time.Time{}
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			if env.Clock.Now().Before(after) {
				return nil, fmt.Errorf("%w: the node has refused to write", clients.ErrNotAcquired)
			}
			lease, err := single.Acquire(ctx, name, ttl)
			if redis.HasErrorPrefix(err, "NOREPLICAS") || redis.HasErrorPrefix(err, "READONLY") {
				after = env.Clock.Now().Add(10 * time.Minute)
			}
			return lease, err
		})
	},
}
