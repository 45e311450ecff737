package sound

import (
	"context"
	"sync"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// shared has one mutex for the whole process, so that only one goroutine at a time asks for a lock. The mutex outlives the Locker. Native
// clients share a process, so they wait for each other, and even for a client of an earlier run that crashed while it held the mutex.
// Guests have a process each.
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
