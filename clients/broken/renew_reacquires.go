package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewReacquires renews by taking the lock again if the key is gone, and goes on as if it had never lost it, though another client may
// have had the lock in between. It needs a pause beyond the TTL, after which the lock is free, and a client that asks its lock before it
// goes on.
var renewReacquires = clients.Lock{
	Name:  "watchdog-reacquires",
	About: "watchdog whose renewal takes the lock again by SET NX if the key is gone",
	Like:  []string{"watchdog"},
	New: parts.Watchdog(func(l *parts.Renewed, ttl time.Duration) {
		renew := l.Renew
		l.Renew = func(ctx context.Context) (bool, error) {
			if ours, err := renew(ctx); ours || err != nil {
				return ours, err
			}
			return l.Env.Nodes[0].SetNX(ctx, l.Name, l.Token, ttl).Result()
		}
	}),
}
