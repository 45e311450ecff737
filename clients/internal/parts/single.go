// Package parts has the parts of correct locks, for locks that replace one of them: those of clients/broken and clients/sound.
package parts

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
)

// Acquire is a [clients.Locker] that consists of a function.
type Acquire func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error)

func (f Acquire) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	return f(ctx, name, ttl)
}

var (
	releaseScript = redis.NewScript(`
		if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
		return 0`)
	extendScript = redis.NewScript(`
		if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
		return 0`)
)

// Token draws the random value of a lock: 20 bytes in hexadecimal.
func Token(r *rand.Rand) string {
	var b [20]byte
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return hex.EncodeToString(b[:])
}

// Lease is a lock on the first node, which holds a token.
type Lease struct {
	Env         clients.Env
	Name, Token string
	End         time.Time
}

// Take takes a lock by SET with NX and PX. It tries once.
func Take(ctx context.Context, env clients.Env, name, token string, ttl time.Duration) (*Lease, error) {
	start := env.Clock.Now()
	ok, err := env.Nodes[0].SetNX(ctx, name, token, ttl).Result()
	if err != nil {
		return nil, NotRun(err)
	}
	if !ok {
		return nil, clients.ErrNotAcquired
	}
	return (&Lease{env, name, token, start.Add(ttl)}).Arrived(ctx)
}

// TakeWaiting takes a lock as [clients.NewSingleWait] does: it waits until a replica has acknowledged the key.
func TakeWaiting(ctx context.Context, env clients.Env, name, token string, ttl time.Duration) (*Lease, error) {
	conn := env.Nodes[0].Conn()
	defer conn.Close()
	l := &Lease{env, name, token, env.Clock.Now().Add(ttl)}
	ok, err := conn.SetNX(ctx, name, token, ttl).Result()
	if err != nil {
		return nil, NotRun(err)
	}
	if !ok {
		return nil, clients.ErrNotAcquired
	}
	if err := Acknowledged(ctx, conn); err != nil {
		return nil, errors.Join(clients.ErrNotAcquired, err, l.Release(context.WithoutCancel(ctx)))
	}
	return l.Arrived(ctx)
}

// Acknowledged returns an error unless a replica acknowledges, within a second, what the connection has written.
func Acknowledged(ctx context.Context, conn *redis.Conn) error {
	n, err := conn.Wait(ctx, 1, time.Second).Result()
	if err == nil && n < 1 {
		err = errors.New("no replica acknowledged it")
	}
	return err
}

// Arrived returns the lease unless acquiring took so long that it is over. Then it is given back.
func (l *Lease) Arrived(ctx context.Context) (*Lease, error) {
	if l.Env.Clock.Now().Before(l.End) {
		return l, nil
	}
	err := fmt.Errorf("%w: it was over when it arrived", clients.ErrNotAcquired)
	if left := l.Release(context.WithoutCancel(ctx)); left != nil && !errors.Is(left, clients.ErrNotHeld) {
		err = fmt.Errorf("%w, and could not be released: %w", err, left)
	}
	return nil, err
}

// Granted makes the result of [Acquire] of a lease or an error. A nil *Lease would be a lease that is not nil.
func Granted(lease *Lease, err error) (clients.Lease, error) {
	if err != nil {
		return nil, err
	}
	return lease, nil
}

// NotRun adds [clients.ErrNotAcquired] to an error that says that a node has not run the command.
func NotRun(err error) error {
	if redis.HasErrorPrefix(err, "NOREPLICAS") || redis.HasErrorPrefix(err, "READONLY") {
		return fmt.Errorf("%w: %w", clients.ErrNotAcquired, err)
	}
	return err
}

func (l *Lease) Until() time.Time { return l.End }

// Release deletes the key if it has our token.
func (l *Lease) Release(ctx context.Context) error {
	return Held(ReleaseOn(ctx, l.Env.Nodes[0], l.Name, l.Token))
}

// Held makes [clients.ErrNotHeld] of a reply of 0.
func Held(n int, err error) error {
	if err == nil && n == 0 {
		return clients.ErrNotHeld
	}
	return err
}

// ReleaseOn deletes the key on a node if it has the token. It returns how many keys were deleted.
func ReleaseOn(ctx context.Context, node *redis.Client, name, token string) (int, error) {
	return releaseScript.Run(ctx, node, []string{name}, token).Int()
}

// ExtendOn sets the TTL of the key on a node if it has the token. It returns how many TTLs were set.
func ExtendOn(ctx context.Context, node redis.Scripter, name, token string, ttl time.Duration) (int, error) {
	return extendScript.Run(ctx, node, []string{name}, token, ttl.Milliseconds()).Int()
}

// Extended judges the reply to an extension, after which the lease ends at until. Unless the reply says so, it ends no later than
// it did before.
func (l *Lease) Extended(ok bool, err error, until time.Time) error {
	if until.Before(l.End) {
		l.End = until
	}
	switch {
	case err != nil:
		return err
	case !ok:
		return clients.ErrNotHeld
	case !l.Env.Clock.Now().Before(until):
		return clients.ErrNotExtended
	}
	l.End = until
	return nil
}
