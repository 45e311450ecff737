// Package given has the parts that the exercises of the course give: in an exercise about one part of a lock, the others are right. The
// course is lockstep/scenarios/course.
package given

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// ErrUnsolved is what a function of an exercise returns until the student has written it.
var ErrUnsolved = errors.New("this exercise is not solved yet")

// Token draws the random value that marks the owner of a lock.
func Token(r *rand.Rand) string { return parts.Token(r) }

// Acquire sets the key on the first node to a fresh token, with a TTL, unless the key exists. It returns the token, and the end of the
// lease by env.Clock.
func Acquire(ctx context.Context, env clients.Env, name string, ttl time.Duration) (token string, until time.Time, err error) {
	lease, err := parts.Take(ctx, env, name, parts.Token(env.Rand), ttl)
	if err != nil {
		return "", time.Time{}, err
	}
	return lease.Token, lease.End, nil
}

// End returns the end of a lease whose key was asked for at a time by env.Clock. If it is over already, End gives it back, and the error
// wraps [clients.ErrNotAcquired].
func End(ctx context.Context, env clients.Env, name, token string, asked time.Time, ttl time.Duration) (time.Time, error) {
	lease, err := (&parts.Lease{Env: env, Name: name, Token: token, End: asked.Add(ttl)}).Arrived(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return lease.End, nil
}

// Release deletes the key on a node if it still has the token. Otherwise the error wraps [clients.ErrNotHeld].
func Release(ctx context.Context, node *redis.Client, name, token string) error {
	return parts.Held(parts.ReleaseOn(ctx, node, name, token))
}

// SetOn sets the key on a node, with a TTL, unless the key exists: then the error wraps [clients.ErrNotAcquired]. Other errors are those
// of go-redis.
func SetOn(ctx context.Context, node *redis.Client, name, token string, ttl time.Duration) error {
	err := parts.Set(name, token, ttl)(ctx, 0, node)
	if errors.Is(err, ErrTaken) {
		return fmt.Errorf("%w: %w", clients.ErrNotAcquired, err)
	}
	return err
}

// ErrTaken is the answer of a node that has the key of another client.
var ErrTaken = parts.ErrTaken

// Nodes are the nodes of Redlock.
type Nodes struct{ redlock *parts.Redlock }

// NewNodes returns the nodes of a client. A lock needs them once.
func NewNodes(env clients.Env) *Nodes { return &Nodes{parts.NewRedlock(env)} }

// Ask sends a request to all nodes at once, and returns the error of each. A node that does not answer in time is an error, too.
func (n *Nodes) Ask(ctx context.Context, request func(ctx context.Context, node *redis.Client) error) []error {
	return n.redlock.Ask(ctx, func(ctx context.Context, _ int, node *redis.Client) error { return request(ctx, node) })
}

// Set is a request for [Nodes.Ask] that sets the key unless it exists. A node that has the key of another client answers with
// [ErrTaken].
func Set(name, token string, ttl time.Duration) func(context.Context, *redis.Client) error {
	set := parts.Set(name, token, ttl)
	return func(ctx context.Context, node *redis.Client) error { return set(ctx, 0, node) }
}

// Delete is a request for [Nodes.Ask] that deletes the key if it has the token. It is an error if it has not.
func Delete(name, token string) func(context.Context, *redis.Client) error {
	remove := parts.Delete(name, token)
	return func(ctx context.Context, node *redis.Client) error { return remove(ctx, 0, node) }
}

// Retry calls attempt until it succeeds, three times at most, with a random delay in between. An attempt must return a lease, or an error
// that wraps [clients.ErrNotAcquired]; if one returns another error, or a lease together with an error, and no attempt succeeds, the error of Retry says so, and wraps nothing.
func (n *Nodes) Retry(ctx context.Context, attempt func() (clients.Lease, error)) (clients.Lease, error) {
	var wrong error
	lease, err := n.redlock.Retry(ctx, func() (clients.Lease, error) {
		lease, err := attempt()
		switch {
		case err != nil && !errors.Is(err, clients.ErrNotAcquired):
			wrong = fmt.Errorf("attempt returned an error that is not clients.ErrNotAcquired: %v", err)
		case err != nil && lease != nil:
			wrong = fmt.Errorf("attempt returned a lease with the error %v", err)
		}
		return lease, err
	})
	if err != nil && wrong != nil {
		return nil, wrong
	}
	return lease, err
}

// Released judges the answers to [Delete]: it is an error if a majority has not answered, or if no node had the key.
func (n *Nodes) Released(errs []error) error { return n.redlock.Released(errs) }
