package clients

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"

	"lockstep/clients/internal/redlock"
)

// NewRedlock is Redlock as redis.io describes it since 2025. All nodes are asked at once, each with its own timeouts. A majority
// grants the lease, whose validity is the TTL less the time that acquiring took and an allowance for drift. After an attempt that
// fails the lock is released on all nodes, and the next attempt follows with a fresh token after a random delay
// (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/, "The Redlock Algorithm").
func NewRedlock(env Env) Locker { return newRedlock(env, redlock.Options{}) }

// NewRedlockSequential is Redlock that asks the nodes in turn: the five steps as the page had them until 2025, and as all of
// anon2023, why2020 and anon-redlock describe them.
func NewRedlockSequential(env Env) Locker { return newRedlock(env, redlock.Options{Sequential: true}) }

// RedlockWith is for packages below clients: others cannot import the options.
func RedlockWith(o redlock.Options) New { return func(env Env) Locker { return newRedlock(env, o) } }

// What Redlock leaves to implementers. The sources give no formula for drift; one per cent plus 2 ms is redlock-rb's, as are
// three tries. Between tries, antirez's code waits a random time of up to 200 ms, and this one at least that long. The sources
// give a timeout of 5 to 50 ms for a TTL of 10 s. It applies to connecting and again to each reply, so that a slow node on a new
// connection can cost several timeouts.
const (
	redlockNodeTimeout = 50 * time.Millisecond
	redlockTries       = 3
	redlockRetryDelay  = 200 * time.Millisecond // plus a random time of at most as much
)

func redlockDrift(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }

// The delay is random, so that clients that each got some of the nodes do not retry at the same time.
func redlockDelay(r *rand.Rand) time.Duration {
	return redlockRetryDelay + time.Duration(r.Int64N(int64(redlockRetryDelay)))
}

func majority(nodes, _ int) int { return nodes/2 + 1 }

type redlocker struct {
	redlock.Options
	env   Env
	clock clockwork.Clock // measures the time that acquiring takes
	nodes []*redis.Client // with the timeout for one node
}

func newRedlock(env Env, o redlock.Options) Locker {
	l := &redlocker{Options: o, env: env, clock: env.Clock}
	if l.Wall {
		l.clock = env.Wall
	}
	if l.Timeout == 0 {
		l.Timeout = redlockNodeTimeout
	}
	if l.Delay == nil {
		l.Delay = redlockDelay
	}
	if l.Drift == nil {
		l.Drift = redlockDrift
	}
	if l.Quorum == nil {
		l.Quorum = majority
	}
	for _, n := range env.Nodes {
		l.nodes = append(l.nodes, n.WithTimeout(max(0, l.Timeout)))
	}
	return l
}

func (l *redlocker) Acquire(ctx context.Context, name string, ttl time.Duration) (Lease, error) {
	var why []error
	for try := 1; ; try++ {
		if err := ctx.Err(); err != nil {
			return nil, errors.Join(append(why, err)...)
		}
		lease, err := l.attempt(ctx, name, ttl)
		switch {
		case err == nil && l.Extendable:
			return &redlockExtendLease{lease}, nil
		case err == nil:
			return lease, nil
		}
		why = append(why, fmt.Errorf("try %d: %w", try, err))
		if try == redlockTries {
			return nil, fmt.Errorf("%w: %w", ErrNotAcquired, errors.Join(why...))
		}
		if ctx.Err() != nil {
			continue // this was the last try
		}
		l.env.Clock.Sleep(l.Delay(l.env.Rand))
	}
}

// attempt is one round of the algorithm. Step 1 is start, step 2 ask, steps 3 and 4 are the comparison of validity, step 5 is
// Release.
func (l *redlocker) attempt(ctx context.Context, name string, ttl time.Duration) (*redlockLease, error) {
	lease := &redlockLease{lock: l, name: name, token: newToken(l.env.Rand), nodes: l.nodes}
	start := l.clock.Now()
	errs := l.ask(ctx, l.nodes, func(ctx context.Context, node *redis.Client) error {
		ok, err := l.set(ctx, node, name, lease.token, ttl)
		if err == nil && !ok {
			err = errHeld
		}
		return err
	})
	if l.ReleaseGranted {
		lease.nodes = nil
		for i, err := range errs {
			if err == nil {
				lease.nodes = append(lease.nodes, l.nodes[i])
			}
		}
	}
	granted, held := count(errs, nil), count(errs, errHeld)
	until, left := l.validity(start, ttl)
	if granted >= l.Quorum(len(l.nodes), granted+held) && (left > 0 || l.AnyElapsed) {
		lease.until = until
		return lease, nil
	}
	// On all nodes, even those that seem to have refused: the reply may have been lost after the key was set. And even if the
	// caller no longer waits.
	lease.Release(context.WithoutCancel(ctx))
	return nil, fmt.Errorf("%d of %d nodes granted it, %d hold it for another, validity left %v",
		granted, len(l.nodes), held, left.Round(time.Millisecond))
}

// set sets the key on a node unless it exists, and reports whether it did.
func (l *redlocker) set(ctx context.Context, node *redis.Client, name, token string, ttl time.Duration) (bool, error) {
	if !l.Instants {
		return node.SetNX(ctx, name, token, ttl).Result()
	}
	err := node.Do(ctx, "SET", name, token, "NX", "PXAT", l.env.Wall.Now().Add(ttl).UnixMilli()).Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, err
}

// validity returns what is left of a TTL that was requested from start on, and its end by the steady clock.
func (l *redlocker) validity(start time.Time, ttl time.Duration) (until time.Time, left time.Duration) {
	now := l.env.Clock.Now() // read first, so that a pause between the two readings shortens the lease instead of prolonging it
	elapsed := l.clock.Since(start)
	if l.FromReturn {
		elapsed = 0
	}
	left = ttl - l.Drift(ttl) - elapsed
	return now.Add(left), left
}

// Replies of a node other than OK. They never leave this file, because a single node decides nothing.
var (
	errHeld = errors.New("held by another")
	errGone = errors.New("not ours")
)

// ask sends a request to each of the nodes, with clients that have the short timeout.
func (l *redlocker) ask(ctx context.Context, nodes []*redis.Client, request func(context.Context, *redis.Client) error) []error {
	each := parallel
	if l.Sequential {
		each = sequential
	}
	return each(len(nodes), func(i int) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		if l.Timeout > 0 {
			// The client's own timeout covers replies. Opening a connection needs this one.
			defer l.env.Clock.AfterFunc(l.Timeout, func() { cancel(context.DeadlineExceeded) }).Stop()
		}
		return request(ctx, nodes[i])
	})
}

func parallel(n int, do func(i int) error) []error {
	errs := make([]error, n)
	done := make(chan struct{})
	for i := range n {
		go func() {
			makeRoom(i)
			errs[i] = do(i)
			done <- struct{}{}
		}()
	}
	for range n {
		<-done
	}
	return errs
}

// makeRoom makes the stack of a new goroutine grow at once to the size that a command of go-redis needs, while it is empty. It
// would grow in steps otherwise, and moving it each time takes a tenth of a simulation.
//
//go:noinline
func makeRoom(i int) byte {
	var room [6 << 10]byte
	return room[i%len(room)]
}

func sequential(n int, do func(i int) error) []error {
	errs := make([]error, n)
	for i := range n {
		errs[i] = do(i)
	}
	return errs
}

// count returns how many of errs match what, by [errors.Is].
func count(errs []error, what error) (n int) {
	for _, err := range errs {
		if errors.Is(err, what) {
			n++
		}
	}
	return n
}

type redlockLease struct {
	lock        *redlocker
	name, token string
	nodes       []*redis.Client // on which it will be released
	until       time.Time
}

func (l *redlockLease) Until() time.Time { return l.until }

// Release deletes the lock on every node that still has our token. Once a majority has answered, no key of ours can prevent
// another client from getting a quorum. If at least one key was there to delete, the lock was still held.
func (l *redlockLease) Release(ctx context.Context) error {
	errs := l.lock.ask(ctx, l.nodes, func(ctx context.Context, node *redis.Client) error {
		n, err := releaseScript.Run(ctx, node, []string{l.name}, l.token).Int()
		if err == nil && n == 0 {
			err = errGone
		}
		return err
	})
	deleted, gone := count(errs, nil), count(errs, errGone)
	switch {
	case deleted+gone <= len(errs)/2:
		return fmt.Errorf("%d of %d nodes answered the release: %w", deleted+gone, len(errs), errors.Join(errs...))
	case deleted == 0:
		return ErrNotHeld
	}
	return nil
}
