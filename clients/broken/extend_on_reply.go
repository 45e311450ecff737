package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendOnReply moves the end of its lease when the reply to an extension comes, and so keeps the old end if none comes. But the node
// may have set the new end. It needs an extension by less than what is left whose reply is lost or late.
var extendOnReply = clients.Lock{
	Name:  "single-extend-on-reply",
	About: "single, which keeps the later end if an extension by less than what is left is not answered",
	Like:  []string{"single"},
	New: extendable(func(l *parts.Lease, ctx context.Context, ttl time.Duration) error {
		until := l.Env.Clock.Now().Add(ttl)
		n, err := parts.ExtendOn(ctx, l.Env.Nodes[0], l.Name, l.Token, ttl)
		if err != nil {
			return err
		}
		return l.Extended(n != 0, nil, until)
	}),
}
