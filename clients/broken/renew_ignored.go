package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewIgnored compares when it renews, but ignores the result: any reply prolongs its lease, and it never learns that it has lost
// the lock. It needs a pause beyond the TTL, or a node that loses the key.
var renewIgnored = clients.Lock{
	Name:  "watchdog-reply-ignored",
	About: "watchdog that takes every reply for a renewal",
	Like:  []string{"watchdog"},
	New: parts.Watchdog(func(l *parts.Renewed, ttl time.Duration) {
		l.Renew = func(ctx context.Context) (bool, error) {
			_, err := parts.ExtendOn(ctx, l.Env.Nodes[0], l.Name, l.Token, ttl)
			return true, err
		}
	}),
}
