package sound

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// newToken writes a new token with each extension. Until an extension has been answered, it does not know which of the two tokens the key has.
// So the next extension, which writes the same new token, and the release accept both.
var newToken = clients.Lock{
	Name:  "single-new-token",
	About: "single-extend, whose extensions write a new token; the old one counts, too, until an extension has been answered",
	Like:  []string{"single-extend", "single"},
	New: func(env clients.Env) clients.Locker {
		return parts.Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return &newTokenLease{Lease: lease, next: lease.Token}, nil
		})
	},
}

// newTokenLease has, besides the token that its key had, the one that its key may have.
type newTokenLease struct {
	*parts.Lease
	next string
}

var (
	setNewToken = redis.NewScript(`
		local token = redis.call('GET', KEYS[1])
		if token ~= ARGV[1] and token ~= ARGV[2] then return 0 end
		redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
		return 1`)
	deleteEither = redis.NewScript(`
		local token = redis.call('GET', KEYS[1])
		if token ~= ARGV[1] and token ~= ARGV[2] then return 0 end
		return redis.call('DEL', KEYS[1])`)
)

func (l *newTokenLease) Extend(ctx context.Context, ttl time.Duration) error {
	if l.next == l.Token {
		l.next = parts.Token(l.Env.Rand)
	}
	until := l.Env.Clock.Now().Add(ttl)
	n, err := setNewToken.Run(ctx, l.Env.Nodes[0], []string{l.Name}, l.Token, l.next, ttl.Milliseconds()).Int()
	if err == nil && n == 1 {
		l.Token = l.next
	}
	return l.Extended(n == 1, err, until)
}

func (l *newTokenLease) Release(ctx context.Context) error {
	return parts.Held(deleteEither.Run(ctx, l.Env.Nodes[0], []string{l.Name}, l.Token, l.next).Int())
}
