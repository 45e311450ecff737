package broken

import (
	"context"
	"fmt"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// keyWindow has the time in the name of its key: in the next window of one TTL it is another key. It needs a lease that reaches into the
// next window.
var keyWindow = clients.Lock{
	Name:  "single-key-window",
	About: "single, whose key has another name every TTL",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			key := fmt.Sprintf("{%s}:%d", name, env.Wall.Now().UnixNano()/int64(ttl))
			return parts.Granted(parts.Take(ctx, env, key, parts.Token(env.Rand), ttl))
		})
	},
}
