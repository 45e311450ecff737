package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// fenceHour lets the counter of its fencing tokens expire an hour after the last token. It needs a lock that nobody takes for an hour.
var fenceHour = clients.Lock{
	Name:  "fenced-hour",
	About: "fenced, whose counter expires after an hour",
	Like:  []string{"fenced"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return takeCounted(ctx, env, name, ttl, time.Hour)
		})
	},
}
