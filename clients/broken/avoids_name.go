package broken

import (
	"context"
	"fmt"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// avoidsName does not ask for a name again after the node has replied with an error, as if the name were to blame. It needs a node that
// refuses to write for a while, as one does that writes only with a replica: the client never gets that lock again.
var avoidsName = clients.Lock{
	Name:  "single-avoids-name",
	About: "single, which never asks for a name again after an error of the node",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		single, failed := clients.NewSingle(env), map[string]error{}
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			if err := failed[name]; err != nil {
				return nil, fmt.Errorf("%w: it failed before: %w", clients.ErrNotAcquired, err)
			}
			lease, err := single.Acquire(ctx, name, ttl)
			if replied(err) {
				failed[name] = err
			}
			return lease, err
		})
	},
}
