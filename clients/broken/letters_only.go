package broken

import (
	"context"
	"strings"
	"time"
	"unicode"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// lettersOnly keeps only the letters of a name in its key. It needs two names that differ in a digit.
var lettersOnly = clients.Lock{
	Name:  "single-letters-only",
	About: "single, whose key has only the letters of the name",
	Like:  []string{"single"},
	New: func(env clients.Env) clients.Locker {
		letters := func(r rune) rune {
			if unicode.IsLetter(r) {
				return r
			}
			return -1
		}
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return parts.Granted(parts.Take(ctx, env, strings.Map(letters, name), parts.Token(env.Rand), ttl))
		})
	},
}
