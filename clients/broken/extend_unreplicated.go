package broken

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendUnreplicated takes NOREPLICAS in reply to an extension to mean that the node has written, and only its replicas have not. But the
// node has written nothing. It needs a node that writes only with a replica, and an extension while the replica is away.
var extendUnreplicated = clients.Lock{
	Name:  "single-extend-unreplicated",
	About: "single-extend, which counts an extension as granted although the node refused it for want of replicas",
	Like:  []string{"single-extend"},
	New: extendableOnOne(func(l *parts.Lease) extension {
		return func(ctx context.Context, start time.Time, ttl time.Duration) error {
			n, err := parts.ExtendOn(ctx, l.Env.Nodes[0], l.Name, l.Token, ttl)
			if redis.HasErrorPrefix(err, "NOREPLICAS") {
				n, err = 1, nil
			}
			return l.Extended(n != 0, err, start.Add(ttl))
		}
	}),
}
