package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// pipelinedExpire sends SETNX and PEXPIRE together, to save a round trip. PEXPIRE is carried out although SETNX was refused: who is
// refused prolongs the lock of the holder. If the holder is gone, clients that go on trying keep its lock for ever.
var pipelinedExpire = clients.Lock{
	Name:  "single-pipelined-expire",
	About: "single, by SETNX and PEXPIRE in one pipeline",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			token := parts.Token(env.Rand)
			start := env.Clock.Now()
			pipe := env.Nodes[0].Pipeline()
			set := pipe.Do(ctx, "SETNX", name, token) // SetNX of go-redis sends SET with NX
			pipe.PExpire(ctx, name, ttl)
			if _, err := pipe.Exec(ctx); err != nil {
				return nil, parts.NotRun(err)
			}
			if ok, err := set.Bool(); err != nil || !ok {
				return nil, clients.ErrNotAcquired
			}
			return parts.Granted((&parts.Lease{Env: env, Name: name, Token: token, End: start.Add(ttl)}).Arrived(ctx))
		})
	},
}
