package clients

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// NewWatchdog is the lock of [NewSingle] that renews itself while its holder lives: a third of the TTL after it was granted, and
// after each renewal, it sets the TTL again if the key still has our token. It is Redisson's as of 3.8.0 and 2.13.0 (2018), but
// not reentrant. Redisson renews only locks for which no TTL was given, and their TTL is 30 s
// (https://github.com/redisson/redisson, RedissonLock.java).
//
// Two things are as they were there, and can be demonstrated with it:
//
//   - It renews until a node has answered the release. If the release is lost, nobody holds the lock, but it is
//     renewed for as long as the process lives, because the process outlives the work for which it took the lock
//     (https://github.com/redisson/redisson/issues/1602). From 3.8.1 and 2.13.1 on a release ends renewal, whatever
//     its outcome (its CHANGELOG.md, 18 September 2018).
//   - After a renewal with an unknown outcome there are no more (https://github.com/redisson/redisson/issues/775). The
//     lease then ends at its present end.
//
// Redisson does not report a renewal that was refused (https://github.com/redisson/redisson/issues/4698); this lock does.
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
	ctx  context.Context // with which it was acquired
	ttl  time.Duration
	lost chan struct{}

	// mu guards the fields below, and singleLease.until.
	mu       sync.Mutex
	timer    clockwork.Timer
	released bool
	notify   func(until time.Time)
}

// schedule schedules the next renewal. The caller holds mu.
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

// Release ends renewal once it has a reply.
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
