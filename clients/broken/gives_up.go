package broken

import (
	"context"
	"fmt"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// givesUp waits a second for the reply to its SET. After that it says that it was refused, but the SET may have been carried out, or
// may be later: nobody holds the lock, and its key stays for a TTL. It needs a reply that takes more than a second.
var givesUp = clients.Lock{
	Name:  "single-gives-up",
	About: "single, which says after a second that it was refused, while its SET is under way",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			type outcome struct {
				lease *parts.Lease
				err   error
			}
			done := make(chan outcome, 1)
			go func() {
				lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
				done <- outcome{lease, err}
			}()
			select {
			case o := <-done:
				return parts.Granted(o.lease, o.err)
			case <-env.Clock.After(time.Second):
				return nil, fmt.Errorf("%w: no reply", clients.ErrNotAcquired)
			}
		})
	},
}
