package parts

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"

	"lockstep/clients"
)

// Renewed is a lease that renews itself as [clients.NewWatchdog] does, by its own rules: Every and Renew.
type Renewed struct {
	*Lease
	Every time.Duration // from one renewal to the next
	// Due, if it is not nil, puts a renewal off until Every later if it returns false.
	Due func() bool
	// Renew renews the lease once. It reports whether the lock was still ours.
	Renew func(ctx context.Context) (bool, error)
	// Persist makes it renew again after an error, while the lease lasts, and makes a release end renewal whatever its outcome.
	Persist bool
	// FromReply makes the new end count from the reply, which is wrong.
	FromReply bool
	// TTL is how long a renewed lease lasts, counted from the request for the renewal.
	TTL time.Duration
	// Shared leaves renewal to others, who call Once or Settle as long as it is not Over.
	Shared bool

	ctx  context.Context // with which it was acquired
	lost chan struct{}

	mu     sync.Mutex // guards End and the fields below
	timer  clockwork.Timer
	over   bool
	notify func(time.Time)
}

// Watchdog makes locks like [clients.NewWatchdog], each lease of which renews itself by [ExtendOn] every third of the TTL, unless change
// changes that.
func Watchdog(change func(l *Renewed, ttl time.Duration)) clients.New { return Renewing(Take, change) }

// Renewing makes locks like those of [Watchdog], but they are acquired by take instead of [Take].
func Renewing(take func(ctx context.Context, env clients.Env, name, token string, ttl time.Duration) (*Lease, error), change func(l *Renewed, ttl time.Duration)) clients.New {
	return func(env clients.Env) clients.Locker {
		return Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			lease, err := take(ctx, env, name, Token(env.Rand), ttl)
			if err != nil {
				return nil, err
			}
			return renewed(ctx, lease, ttl, change), nil
		})
	}
}

func renewed(ctx context.Context, lease *Lease, ttl time.Duration, change func(l *Renewed, ttl time.Duration)) *Renewed {
	l := &Renewed{Lease: lease, Every: ttl / 3, TTL: ttl, ctx: ctx, lost: make(chan struct{})}
	l.Renew = func(ctx context.Context) (bool, error) {
		n, err := ExtendOn(ctx, lease.Env.Nodes[0], lease.Name, lease.Token, ttl)
		return n != 0, err
	}
	change(l, ttl)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.schedule(l.Every)
	return l
}

// RenewingRedlock makes a Redlock whose leases renew themselves every third of the TTL, on a majority of nodes. After an error a lease is
// renewed again while it lasts. Each new end allows for drift, unless change sets another TTL.
func RenewingRedlock(change func(l *Renewed, ttl time.Duration)) clients.New {
	return func(env clients.Env) clients.Locker {
		r := NewRedlock(env)
		return Acquire(func(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
			return r.Take(ctx, name, ttl, func(held *RedlockLease) clients.Lease {
				lease := &Lease{Env: env, Name: name, Token: held.Token, End: held.End}
				return &renewedRedlock{renewed(ctx, lease, ttl, func(l *Renewed, ttl time.Duration) {
					l.TTL, l.Persist = valid(ttl), true
					l.Renew = func(ctx context.Context) (bool, error) {
						extended, gone := Count(r.Ask(ctx, Extend(name, held.Token, ttl)))
						if extended < r.Quorum() && len(r.nodes)-gone >= r.Quorum() {
							return false, r.Few(extended)
						}
						return extended >= r.Quorum(), nil
					}
					change(l, ttl)
				}), held}
			})
		})
	}
}

type renewedRedlock struct {
	*Renewed
	held *RedlockLease
}

func (l *renewedRedlock) Release(ctx context.Context) error {
	l.stop()
	return l.held.Release(ctx)
}

// schedule schedules the next renewal, unless others do that. The caller holds mu.
func (l *Renewed) schedule(after time.Duration) {
	if !l.Shared {
		l.timer = l.Env.Clock.AfterFunc(after, l.Once)
	}
}

// Over reports whether the lease is not to be renewed any more.
func (l *Renewed) Over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over || l.ctx.Err() != nil
}

// Once renews the lease, if that is due.
func (l *Renewed) Once() {
	if l.Due != nil && !l.Due() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.over && l.ctx.Err() == nil && l.Env.Clock.Now().Before(l.End) {
			l.schedule(l.Every)
		}
		return
	}
	start := l.Env.Clock.Now()
	ours, err := l.Renew(l.ctx)
	l.Settle(start, ours, err)
}

// Settle judges the outcome of a renewal that began at start.
func (l *Renewed) Settle(start time.Time, ours bool, err error) {
	l.mu.Lock()
	switch {
	case l.over || err != nil:
		if !l.over && l.Persist && l.ctx.Err() == nil && l.Env.Clock.Now().Before(l.End) {
			l.schedule(l.TTL / 10)
		} else {
			l.over = true
		}
		l.mu.Unlock()
		return
	case !ours:
		l.over = true
		l.mu.Unlock()
		close(l.lost)
		return
	}
	if l.FromReply {
		start = l.Env.Clock.Now()
	}
	until, notify := start.Add(l.TTL), l.notify
	l.End = until
	l.schedule(l.Every)
	l.mu.Unlock()
	if notify != nil {
		notify(until)
	}
}

// Prolong moves the end of the lease, and tells it.
func (l *Renewed) Prolong(until time.Time) {
	l.mu.Lock()
	notify := l.notify
	l.End = until
	l.mu.Unlock()
	if notify != nil {
		notify(until)
	}
}

func (l *Renewed) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.End
}

func (l *Renewed) Lost() <-chan struct{} { return l.lost }

func (l *Renewed) Notify(f func(time.Time)) {
	l.mu.Lock()
	l.notify = f
	l.mu.Unlock()
}

// Release ends renewal once it has a reply.
func (l *Renewed) Release(ctx context.Context) error {
	if l.Persist {
		l.stop()
	}
	return l.Ended(l.Lease.Release(ctx))
}

// Ended ends renewal after a release, if that has a reply, and returns the result of the release.
func (l *Renewed) Ended(err error) error {
	if err == nil || errors.Is(err, clients.ErrNotHeld) {
		l.stop()
	}
	return err
}

func (l *Renewed) stop() {
	l.mu.Lock()
	l.over = true
	if l.timer != nil {
		l.timer.Stop()
	}
	l.mu.Unlock()
}
