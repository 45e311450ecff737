package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewLastTTL renews each lease with the TTL of the newest. It needs a client that has two locks, the newer one with the shorter TTL. The
// key of the older one then expires before its lease ends.
var renewLastTTL = clients.Lock{
	Name:  "watchdog-last-ttl",
	About: "watchdog, which renews all leases with the TTL of the newest",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		var last time.Duration
		return parts.Watchdog(func(l *parts.Renewed, ttl time.Duration) {
			last = ttl
			l.Renew = func(ctx context.Context) (bool, error) {
				n, err := parts.ExtendOn(ctx, env.Nodes[0], l.Name, l.Token, last)
				return n != 0, err
			}
		})(env)
	},
}
