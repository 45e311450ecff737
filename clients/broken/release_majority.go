package broken

import (
	"context"
	"errors"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// releaseMajority releases one node after the other until a majority has done so, since a majority makes the lock. The keys on the
// others stay until they expire. The next client can do without those nodes only if it has all the others: it needs one of these
// to be down.
var releaseMajority = clients.Lock{
	Name:  "redlock-release-majority",
	About: "Redlock that releases only a majority of the nodes",
	Like:  []string{"redlock"},
	New: func(env clients.Env) clients.Locker {
		r := parts.NewRedlock(env)
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return r.Take(ctx, name, ttl, func(l *parts.RedlockLease) clients.Lease { return &majorityLease{l} })
		})
	},
}

type majorityLease struct{ *parts.RedlockLease }

func (l *majorityLease) Release(ctx context.Context) error {
	errs := make([]error, len(l.Redlock.Env.Nodes))
	for i := range errs {
		errs[i] = errors.New("not asked")
	}
	for i := range errs {
		errs[i] = l.Redlock.AskOne(ctx, i, parts.Delete(l.Name, l.Token))
		if deleted, _ := parts.Count(errs); deleted >= l.Redlock.Quorum() {
			break
		}
	}
	return l.Redlock.Released(errs)
}
