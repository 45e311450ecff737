package parts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
)

// Redlock is what Redlock needs. Its numbers are those of [clients.NewRedlock].
type Redlock struct {
	Env   clients.Env
	nodes []*redis.Client // with the timeout for one node
}

const (
	nodeTimeout = 50 * time.Millisecond
	tries       = 3
	retryDelay  = 200 * time.Millisecond // plus a random time of at most as much
)

// NewRedlock makes the clients with the timeout for one node.
func NewRedlock(env clients.Env) *Redlock {
	r := &Redlock{Env: env}
	for _, n := range env.Nodes {
		r.nodes = append(r.nodes, n.WithTimeout(nodeTimeout))
	}
	return r
}

// Quorum is a majority of the nodes.
func (r *Redlock) Quorum() int { return len(r.nodes)/2 + 1 }

// Retry calls attempt until it succeeds, three times at most, with a random delay in between.
func (r *Redlock) Retry(ctx context.Context, attempt func() (clients.Lease, error)) (clients.Lease, error) {
	var why []error
	for try := 1; ; try++ {
		if err := ctx.Err(); err != nil {
			return nil, errors.Join(append(why, err)...)
		}
		lease, err := attempt()
		if err == nil {
			return lease, nil
		}
		why = append(why, fmt.Errorf("try %d: %w", try, err))
		if try == tries {
			return nil, fmt.Errorf("%w: %w", clients.ErrNotAcquired, errors.Join(why...))
		}
		if ctx.Err() == nil {
			r.Env.Clock.Sleep(retryDelay + time.Duration(r.Env.Rand.Int64N(int64(retryDelay))))
		}
	}
}

// Take acquires the lock without a mistake. What it returns is made from the lease.
func (r *Redlock) Take(ctx context.Context, name string, ttl time.Duration, made func(*RedlockLease) clients.Lease) (clients.Lease, error) {
	return r.Retry(ctx, func() (clients.Lease, error) {
		token := Token(r.Env.Rand)
		start := r.Env.Clock.Now()
		granted, _ := Count(r.Ask(ctx, Set(name, token, ttl)))
		until, left := r.Validity(start, ttl)
		lease := &RedlockLease{Redlock: r, Name: name, Token: token, End: until, Granted: granted}
		if granted >= r.Quorum() && left {
			return made(lease), nil
		}
		lease.Release(context.WithoutCancel(ctx))
		return nil, r.Few(granted)
	})
}

// Ask sends a request to all nodes at once, and returns the outcomes in the order of the nodes.
func (r *Redlock) Ask(ctx context.Context, request func(ctx context.Context, i int, node *redis.Client) error) []error {
	errs := make([]error, len(r.nodes))
	done := make(chan struct{})
	for i := range r.nodes {
		go func() {
			errs[i] = r.AskOne(ctx, i, request)
			done <- struct{}{}
		}()
	}
	for range r.nodes {
		<-done
	}
	return errs
}

// AskOne sends a request to one node.
func (r *Redlock) AskOne(ctx context.Context, i int, request func(ctx context.Context, i int, node *redis.Client) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer r.Env.Clock.AfterFunc(nodeTimeout, func() { cancel(context.DeadlineExceeded) }).Stop()
	return request(ctx, i, r.nodes[i])
}

// ErrTaken is the reply of a node that has the key of another client.
var ErrTaken = errors.New("held by another")

// Set is the request that sets the key.
func Set(name, token string, ttl time.Duration) func(context.Context, int, *redis.Client) error {
	return func(ctx context.Context, _ int, node *redis.Client) error {
		ok, err := node.SetNX(ctx, name, token, ttl).Result()
		if err == nil && !ok {
			return ErrTaken
		}
		return err
	}
}

// Delete is the request that deletes the key if it has our token.
func Delete(name, token string) func(context.Context, int, *redis.Client) error {
	return func(ctx context.Context, _ int, node *redis.Client) error {
		return Held(ReleaseOn(ctx, node, name, token))
	}
}

// Extend is the request that sets the TTL if the key has our token.
func Extend(name, token string, ttl time.Duration) func(context.Context, int, *redis.Client) error {
	return func(ctx context.Context, _ int, node *redis.Client) error {
		return Held(ExtendOn(ctx, node, name, token, ttl))
	}
}

// Count returns how many nodes said yes, and how many said no.
func Count(errs []error) (yes, no int) {
	for _, err := range errs {
		switch {
		case err == nil:
			yes++
		case errors.Is(err, ErrTaken) || errors.Is(err, clients.ErrNotHeld):
			no++
		}
	}
	return yes, no
}

// Validity returns when a lease ends whose keys were asked for from start on, and whether any of it is left.
func (r *Redlock) Validity(start time.Time, ttl time.Duration) (until time.Time, left bool) {
	until = start.Add(valid(ttl))
	return until, r.Env.Clock.Now().Before(until)
}

// valid is the part of a TTL that is left after the allowance for drift.
func valid(ttl time.Duration) time.Duration { return ttl - ttl/100 - 2*time.Millisecond }

// Few is the error of a try that too few nodes have granted, or too late.
func (r *Redlock) Few(granted int) error {
	return fmt.Errorf("%d of %d nodes granted it", granted, len(r.nodes))
}

// RedlockLease is a lock on all nodes.
type RedlockLease struct {
	Redlock     *Redlock
	Name, Token string
	End         time.Time
	Granted     int // how many nodes granted it
}

func (l *RedlockLease) Until() time.Time { return l.End }

// Release deletes the key on every node that has our token. A majority must answer.
func (l *RedlockLease) Release(ctx context.Context) error {
	return l.Redlock.Released(l.Redlock.Ask(ctx, Delete(l.Name, l.Token)))
}

// Released judges the replies to [Delete].
func (r *Redlock) Released(errs []error) error {
	deleted, gone := Count(errs)
	switch {
	case deleted+gone <= len(errs)/2:
		return fmt.Errorf("%d of %d nodes answered the release: %w", deleted+gone, len(errs), errors.Join(errs...))
	case deleted == 0:
		return clients.ErrNotHeld
	}
	return nil
}
