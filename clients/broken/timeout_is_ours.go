package broken

import (
	"context"
	"errors"
	"net"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// timeoutIsOurs takes a SET that times out for one that was carried out, with a reply that was lost. It may as well have been
// refused, or never have arrived: then two clients hold the lock, or a second one can get it. It needs a reply that does not come
// within the 5 s for which go-redis waits.
var timeoutIsOurs = clients.Lock{
	Name:  "single-timeout-is-ours",
	About: "single, which has the lock if SET times out",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			token := parts.Token(env.Rand)
			start := env.Clock.Now()
			lease, err := parts.Take(ctx, env, name, token, ttl)
			if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
				return parts.Granted((&parts.Lease{Env: env, Name: name, Token: token, End: start.Add(ttl)}).Arrived(ctx))
			}
			return parts.Granted(lease, err)
		})
	},
}
