package broken

import (
	"context"
	"strings"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// nameCut truncates the name to 32 bytes, as a column of a table might. It needs two locks whose names have the same first 32 bytes.
var nameCut = clients.Lock{
	Name:  "single-name-cut",
	About: "single, which cuts names to 32 bytes",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return parts.Granted(parts.Take(ctx, env, name[:min(32, len(name))], parts.Token(env.Rand), ttl))
		})
	},
}

// nameFolded ignores the case of a name. It needs two locks whose names differ only in case, as IDs in base64 may.
var nameFolded = clients.Lock{
	Name:  "single-name-folded",
	About: "single, which ignores the case of names",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return parts.Granted(parts.Take(ctx, env, strings.ToLower(name), parts.Token(env.Rand), ttl))
		})
	},
}
