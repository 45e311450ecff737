package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// finallyDeletes acquires inside of try and deletes in finally: it releases by DEL even if SET was refused, and so takes the lock
// from its holder. It needs nothing but two clients that want the lock at the same time.
var finallyDeletes = clients.Lock{
	Name:  "single-finally",
	About: "single, which deletes the key when it was refused",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				env.Nodes[0].Del(context.WithoutCancel(ctx), name)
			}
			return parts.Granted(lease, err)
		})
	},
}
