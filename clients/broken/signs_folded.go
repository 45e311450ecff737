package broken

import (
	"context"
	"strings"
	"time"
	"unicode"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// signsFolded replaces each punctuation character of the name by a dash in its key. It needs two names that differ only in punctuation.
var signsFolded = clients.Lock{
	Name:  "single-signs-folded",
	About: "single, whose key has a dash for each punctuation character of the name",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		dash := func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return r
			}
			return '-'
		}
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return parts.Granted(parts.Take(ctx, env, strings.Map(dash, name), parts.Token(env.Rand), ttl))
		})
	},
}
