package broken

import (
	"context"
	"fmt"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendRotates writes a new token with each extension, and forgets the old one, whatever the nodes say. It needs an extension that does not
// reach a majority, and then a release: nodes that did not get the new token keep the key.
var extendRotates = clients.Lock{
	Name:  "redlock-extend-rotates",
	About: "redlock-extend, whose extension takes a new token, even if too few nodes have it",
	Like:  []string{"redlock-extend"},
	New: extendableOnMany(func(l *parts.RedlockLease) extension {
		return func(ctx context.Context, start time.Time, ttl time.Duration) error {
			r, old := l.Redlock, l.Token
			l.Token = parts.Token(r.Env.Rand)
			extended := replaceOnMany(ctx, l, old, l.Token, ttl)
			until, left := r.Validity(start, ttl)
			if extended < r.Quorum() || !left {
				return fmt.Errorf("%w: %d nodes extended it", clients.ErrNotExtended, extended)
			}
			l.End = until
			return nil
		}
	}),
}
