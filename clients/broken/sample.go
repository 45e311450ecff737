package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// sample asks only three nodes, drawn anew for each attempt, to spare the others, and takes two of them for a majority. Among three
// nodes that is one; among five, two clients can have two nodes each.
var sample = clients.Lock{
	Name:  "redlock-sample",
	About: "Redlock on three of the nodes, drawn by lot",
	Like:  []string{"redlock"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			three := env
			three.Nodes = nil
			for _, i := range env.Rand.Perm(len(env.Nodes))[:min(3, len(env.Nodes))] {
				three.Nodes = append(three.Nodes, env.Nodes[i])
			}
			return clients.NewRedlock(three).Acquire(ctx, name, ttl)
		})
	},
}
