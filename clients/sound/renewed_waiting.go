package sound

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewedWaiting is single-wait that renews itself. It relies on a renewal only after a replica has acknowledged the renewal.
var renewedWaiting = clients.Lock{
	Name:  "single-wait-renewed",
	About: "single-wait, renewed every quarter of a TTL",
	Like:  []string{"single-wait", "watchdog"},
	New: parts.Renewing(parts.TakeWaiting, func(l *parts.Renewed, ttl time.Duration) {
		l.Every, l.Persist = ttl/4, true
		l.Renew = func(ctx context.Context) (bool, error) {
			conn := l.Env.Nodes[0].Conn()
			defer conn.Close()
			n, err := parts.ExtendOn(ctx, conn, l.Name, l.Token, ttl)
			if err != nil || n == 0 {
				return false, err
			}
			return true, parts.Acknowledged(ctx, conn)
		}
	}),
}
