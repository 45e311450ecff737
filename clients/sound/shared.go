package sound

import (
	"context"
	"sync"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// shared lets one goroutine of its process at a time ask for a lock, by a mutex that outlives the Locker. Native clients are goroutines of one
// process, so that they wait for each other, and for clients of earlier runs that have crashed. Guests have a process each.
var shared = clients.Lock{
	Name:  "single-shared",
	About: "single, with one mutex for all that ask in its process",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			turn.Lock()
			defer turn.Unlock()
			return parts.Granted(parts.Take(ctx, env, name, parts.Token(env.Rand), ttl))
		})
	},
}

var turn sync.Mutex
