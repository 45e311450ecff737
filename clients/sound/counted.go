package sound

import (
	"context"
	"fmt"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// counted makes its tokens of the name of the client, which is random, and a counter: no two clients have the same name, and no
// two attempts of one client the same number.
var counted = clients.Lock{
	Name:  "single-counted",
	About: "single, whose token is a random name of the client and a counter",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		client, attempts := parts.Token(env.Rand), 0
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			attempts++
			return parts.Granted(parts.Take(ctx, env, name, fmt.Sprintf("%s:%d", client, attempts), ttl))
		})
	},
}
