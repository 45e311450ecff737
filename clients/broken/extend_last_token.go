package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendLastToken keeps the token that it acquired last, whatever the name, and compares with it when it extends. It needs a client that has
// got another lock since: its extension is refused, and it takes its lease for lost. The key stays.
var extendLastToken = clients.Lock{
	Name:  "single-extend-last-token",
	About: "single-extend, whose extension compares with the token that it acquired last",
	Like:  []string{"single-extend"},
	New: func(env clients.Env) clients.Locker {
		var last string
		return extendableOnOne(func(l *parts.Lease) extension {
			last = l.Token
			return func(ctx context.Context, start time.Time, ttl time.Duration) error {
				n, err := parts.ExtendOn(ctx, env.Nodes[0], l.Name, last, ttl)
				return l.Extended(n != 0, err, start.Add(ttl))
			}
		})(env)
	},
}
