package broken

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// recount asks the nodes in turn, and again until it has enough, so that one that did not answer gets another chance. It accepts a
// node that has its token already, but forgets that it has counted it: two nodes of five, counted twice, are a majority. It needs
// contenders that split the nodes, or nodes that cannot be reached.
var recount = clients.Lock{
	Name:  "redlock-recount",
	About: "Redlock that asks the nodes again until it has enough, and counts some twice",
	Like:  []string{"redlock-sequential"},
	New: func(env clients.Env) clients.Locker {
		r := parts.NewRedlock(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return r.Retry(ctx, func() (clients.Lease, error) {
				token := parts.Token(env.Rand)
				start := env.Clock.Now()
				granted := 0
				for i := 0; i < len(env.Nodes) || i < 2*len(env.Nodes) && granted < r.Quorum(); i++ {
					if r.AskOne(ctx, i%len(env.Nodes), setOrOurs(name, token, ttl)) == nil {
						granted++
					}
				}
				until, left := r.Validity(start, ttl)
				lease := &parts.RedlockLease{Redlock: r, Name: name, Token: token, End: until}
				if granted >= r.Quorum() && left {
					return lease, nil
				}
				lease.Release(context.WithoutCancel(ctx))
				return nil, r.Few(granted)
			})
		})
	},
}

var setOrOursScript = redis.NewScript(`
	if redis.call('GET', KEYS[1]) == ARGV[1] then return 1 end
	if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
	return 0`)

// setOrOurs is the request that sets the key, unless it has our token.
func setOrOurs(name, token string, ttl time.Duration) func(context.Context, int, *redis.Client) error {
	return func(ctx context.Context, _ int, node *redis.Client) error {
		n, err := setOrOursScript.Run(ctx, node, []string{name}, token, ttl.Milliseconds()).Int()
		return parts.Held(n, err)
	}
}
