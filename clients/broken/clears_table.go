package broken

import (
	"context"
	"errors"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// clearsTable keeps the tokens of its leases in a table. A release that finds its lease lost clears the table, as if the node had lost all
// keys. It needs a client that has two locks, and loses one of them: the other is not released, and nobody gets it until the key expires.
var clearsTable = clients.Lock{
	Name:  "single-clears-table",
	About: "single, which forgets the tokens of all leases when a release finds one of them lost",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		tokens := map[*parts.Lease]string{}
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			tokens[lease] = lease.Token
			return &tokenInTable{lease, tokens}, nil
		})
	},
}

type tokenInTable struct {
	*parts.Lease
	tokens map[*parts.Lease]string // of the Locker
}

func (l *tokenInTable) Release(ctx context.Context) error {
	token, ok := l.tokens[l.Lease]
	if !ok {
		return clients.ErrNotHeld
	}
	err := parts.Held(parts.ReleaseOn(ctx, l.Env.Nodes[0], l.Name, token))
	switch {
	case err == nil:
		delete(l.tokens, l.Lease)
	case errors.Is(err, clients.ErrNotHeld):
		clear(l.tokens)
	}
	return err
}
