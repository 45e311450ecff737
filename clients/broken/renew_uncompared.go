package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewUncompared renews by PEXPIRE, whose key it takes for its own: who has lost the lock in a pause goes on renewing that of the
// next holder, for itself. It needs a pause beyond the TTL, or a node that loses the key.
var renewUncompared = clients.Lock{
	Name:  "watchdog-uncompared",
	About: "watchdog that renews by PEXPIRE",
	Like:  []string{"watchdog"},
	New: parts.Watchdog(func(l *parts.Renewed, ttl time.Duration) {
		l.Renew = func(ctx context.Context) (bool, error) { return l.Env.Nodes[0].PExpire(ctx, l.Name, ttl).Result() }
	}),
}
