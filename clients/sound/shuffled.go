package sound

import (
	"context"
	"slices"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
	"lockstep/clients/internal/redlock"
)

// shuffled is Redlock that asks the nodes in an order of its own, which each client draws anew for each attempt. Majorities
// intersect in whatever order they come about.
var shuffled = clients.Lock{
	Name:  "redlock-shuffled",
	About: "Redlock with the nodes asked in turn, in random order",
	Like:  []string{"redlock-sequential"},
	New: func(env clients.Env) clients.Locker {
		l := clients.RedlockWith(redlock.Options{Sequential: true})
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			mixed := env
			mixed.Nodes = slices.Clone(env.Nodes)
			env.Rand.Shuffle(len(mixed.Nodes), func(i, j int) {
				mixed.Nodes[i], mixed.Nodes[j] = mixed.Nodes[j], mixed.Nodes[i]
			})
			return l(mixed).Acquire(ctx, name, ttl)
		})
	},
}
