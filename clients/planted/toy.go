package planted

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"

	"lockstep/clients"
)

// ByPackageTime makes a lock take its time from package time, as most locks in production do. In native code nobody can set that
// clock, and no pause stops it.
func ByPackageTime(build clients.New) clients.New {
	return func(env clients.Env) clients.Locker {
		env.Clock, env.Wall = clockwork.NewRealClock(), date{clockwork.NewRealClock()}
		return build(env)
	}
}

// date is the wall clock of package time. A [time.Time] from time.Now also has a reading of the steady clock, and time.Since uses
// that reading.
type date struct{ clockwork.Clock }

func (date) Now() time.Time                    { return time.Now().Round(0) }
func (d date) Since(t time.Time) time.Duration { return d.Now().Sub(t) }
func (d date) Until(t time.Time) time.Duration { return t.Sub(d.Now()) }

// A toy is a lock on one node, as one would write it. It tries a few times, and says when its lease ends.
type toy struct {
	client *redis.Client
	clock  clockwork.Clock // env.Clock in a test, clockwork.NewRealClock() in production
	wall   clockwork.Clock
	token  string
}

// NewToy makes a toy.
func NewToy(env clients.Env) clients.Locker {
	return &toy{client: env.Nodes[0], clock: env.Clock, wall: env.Wall, token: fmt.Sprint(env.Rand.Uint64())}
}

func (l *toy) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	for range 3 {
		start := l.wall.Now()
		ok, err := l.client.SetNX(ctx, name, l.token, ttl).Result()
		if err != nil {
			return nil, err
		}
		if ok {
			return &toyLease{l, name, l.clock.Now().Add(ttl - l.wall.Since(start))}, nil
		}
		l.clock.Sleep(200 * time.Millisecond)
	}
	return nil, clients.ErrNotAcquired
}

type toyLease struct {
	*toy
	name  string
	until time.Time
}

func (l *toyLease) Until() time.Time { return l.until }

var compareAndDelete = redis.NewScript(`return redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('DEL', KEYS[1]) or 0`)

func (l *toyLease) Release(ctx context.Context) error {
	n, err := compareAndDelete.Run(ctx, l.client, []string{l.name}, l.token).Int()
	if err == nil && n == 0 {
		return clients.ErrNotHeld
	}
	return err
}

// Timed lists locks that wait not only for replies, but also for timers. What a timer does in a pause depends on whether it is
// one of package time or of the clock of a process.
func Timed() []clients.Lock {
	return []clients.Lock{
		{Name: "a context with a timeout", New: func(env clients.Env) clients.Locker {
			return timedLock{NewToy(env).(*toy), func(ctx context.Context, l *toy, acquire func(context.Context) (clients.Lease, error)) (clients.Lease, error) {
				ctx, cancel := context.WithCancel(ctx) // not clockwork.WithTimeout, which would use package time
				defer cancel()
				defer l.clock.AfterFunc(2*time.Second, cancel).Stop()
				lease, err := acquire(ctx)
				if err == nil && ctx.Err() != nil {
					lease.Release(context.WithoutCancel(ctx))
					return nil, fmt.Errorf("%w: %w", clients.ErrNotAcquired, ctx.Err())
				}
				return lease, err
			}}
		}},
		{Name: "a wait that is given up", New: func(env clients.Env) clients.Locker {
			return timedLock{NewToy(env).(*toy), func(ctx context.Context, l *toy, acquire func(context.Context) (clients.Lease, error)) (clients.Lease, error) {
				done := make(chan clients.Lease, 1)
				go func() {
					lease, _ := acquire(ctx)
					done <- lease
				}()
				select {
				case lease := <-done:
					if lease == nil {
						return nil, clients.ErrNotAcquired
					}
					return lease, nil
				case <-l.clock.After(2 * time.Second):
					return nil, context.DeadlineExceeded
				}
			}}
		}},
		{Name: "a lease that says when it is lost", New: func(env clients.Env) clients.Locker {
			return timedLock{NewToy(env).(*toy), func(ctx context.Context, l *toy, acquire func(context.Context) (clients.Lease, error)) (clients.Lease, error) {
				lease, err := acquire(ctx)
				if err != nil {
					return nil, err
				}
				t := &telling{Lease: lease, lost: make(chan struct{})}
				t.timer = l.clock.AfterFunc(l.clock.Until(lease.Until()), func() { close(t.lost) })
				return t, nil
			}}
		}},
		{Name: "a ticker that renews", New: func(env clients.Env) clients.Locker {
			return timedLock{NewToy(env).(*toy), func(ctx context.Context, l *toy, acquire func(context.Context) (clients.Lease, error)) (clients.Lease, error) {
				lease, err := acquire(ctx)
				if err != nil {
					return nil, err
				}
				r := &ticking{toyLease: lease.(*toyLease), stop: make(chan struct{})}
				go r.renew(ctx)
				return r, nil
			}}
		}},
	}
}

// NewDated makes a toy whose keys end at a date, by the wall clock of the client.
func NewDated(env clients.Env) clients.Locker { return dated{NewToy(env).(*toy)} }

type dated struct{ *toy }

func (l dated) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	until := l.clock.Now().Add(ttl)
	switch err := l.client.Do(ctx, "SET", name, l.token, "NX", "PXAT", l.wall.Now().Add(ttl).UnixMilli()).Err(); {
	case errors.Is(err, redis.Nil):
		return nil, clients.ErrNotAcquired
	case err != nil:
		return nil, err
	}
	return &toyLease{l.toy, name, until}, nil
}

// NewExiting makes a lock that ends its process when it is asked for a lease, with the status of success.
func NewExiting(env clients.Env) clients.Locker { return exiting{clients.NewSingle(env)} }

type exiting struct{ clients.Locker }

func (exiting) Acquire(context.Context, string, time.Duration) (clients.Lease, error) {
	os.Exit(0)
	return nil, nil
}

type timedLock struct {
	*toy
	around func(ctx context.Context, l *toy, acquire func(context.Context) (clients.Lease, error)) (clients.Lease, error)
}

func (l timedLock) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	return l.around(ctx, l.toy, func(ctx context.Context) (clients.Lease, error) { return l.toy.Acquire(ctx, name, ttl) })
}

type telling struct {
	clients.Lease
	lost  chan struct{}
	timer clockwork.Timer
}

func (l *telling) Lost() <-chan struct{}  { return l.lost }
func (l *telling) Notify(func(time.Time)) {}

func (l *telling) Release(ctx context.Context) error {
	l.timer.Stop()
	return l.Lease.Release(ctx)
}

// ticking is a lease that is renewed in the background, but does not report a later end.
type ticking struct {
	*toyLease
	stop chan struct{}
	once sync.Once
}

func (l *ticking) renew(ctx context.Context) {
	ticker := l.clock.NewTicker(3 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.Chan():
			l.client.PExpire(ctx, l.name, 10*time.Second)
		case <-l.stop:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (l *ticking) Release(ctx context.Context) error {
	l.once.Do(func() { close(l.stop) })
	return l.toyLease.Release(ctx)
}
