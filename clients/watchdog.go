package clients

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// NewWatchdog is the lock of [NewSingle] that renews itself while its holder lives: a third of the TTL after it was granted,
// and after each renewal, it sets the TTL anew if the key still has our token. It is Redisson's, without being reentrant, as
// that was up to 3.8.0 and 2.13.0 (2018); there only locks are renewed for which no TTL was given, and that is 30 s
// (https://github.com/redisson/redisson, RedissonLock.java).
//
// Two things are as they were there, and are what can be shown with it:
//
//   - It renews until a node has answered the release. A release that is lost leaves a lock that nobody holds, and that is
//     renewed for as long as the process lives, because the process outlives the work for which it took the lock
//     (https://github.com/redisson/redisson/issues/1602). From 3.8.1 and 2.13.1 on renewal ends with a release, whatever
//     came of it (its CHANGELOG.md, 18 September 2018).
//   - A renewal of which nobody knows what became of it is the last (https://github.com/redisson/redisson/issues/775). The
//     lease then ends when it ends.
//
// Redisson tells nobody of a renewal that was refused (https://github.com/redisson/redisson/issues/4698); this lock does.
func NewWatchdog(env Env) Locker { return &watchdog{env} }

type watchdog struct{ env Env }

func (l *watchdog) Acquire(ctx context.Context, name string, ttl time.Duration) (Lease, error) {
	lease, err := l.env.take(ctx, name, newToken(l.env.Rand), ttl)
	if err != nil {
		return nil, err
	}
	w := &watchdogLease{singleLease: lease, ctx: ctx, ttl: ttl, lost: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.schedule()
	return w, nil
}

type watchdogLease struct {
	*singleLease
	ctx  context.Context // that it was acquired with
	ttl  time.Duration
	lost chan struct{}

	// mu guards what follows, and singleLease.until.
	mu       sync.Mutex
	timer    clockwork.Timer
	released bool
	notify   func(until time.Time)
}

// schedule has the lease renewed in time. The caller holds mu.
func (l *watchdogLease) schedule() { l.timer = l.env.Clock.AfterFunc(l.ttl/3, l.renew) }

func (l *watchdogLease) renew() {
	start := l.env.Clock.Now()
	n, err := extendScript.Run(l.ctx, l.env.Nodes[0], []string{l.name}, l.token, l.ttl.Milliseconds()).Int()
	l.mu.Lock()
	if l.released || err != nil {
		l.mu.Unlock()
		return
	}
	if n == 0 {
		l.mu.Unlock()
		close(l.lost)
		return
	}
	until, notify := start.Add(l.ttl), l.notify
	l.until = until
	l.schedule()
	l.mu.Unlock()
	if notify != nil {
		notify(until)
	}
}

func (l *watchdogLease) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.singleLease.until
}

func (l *watchdogLease) Lost() <-chan struct{} { return l.lost }

func (l *watchdogLease) Notify(f func(until time.Time)) {
	l.mu.Lock()
	l.notify = f
	l.mu.Unlock()
}

// Release stops the renewal once it has an answer.
func (l *watchdogLease) Release(ctx context.Context) error {
	err := l.singleLease.Release(ctx)
	if err == nil || errors.Is(err, ErrNotHeld) {
		l.mu.Lock()
		l.released = true
		l.timer.Stop()
		l.mu.Unlock()
	}
	return err
}
