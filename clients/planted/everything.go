package planted

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"lockstep/clients"
)

// NewEverything makes a lock that does all that a native run cannot control: it reads dates, waits by timers, tickers and
// contexts of package time, draws from math/rand/v2, and takes either of two cases of a select that are ready.
func NewEverything(env clients.Env) clients.Locker {
	return everything{ByPackageTime(NewToy)(env).(*toy)}
}

type everything struct{ *toy }

func (l everything) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, ttl)
	defer cancel()
	for {
		start := time.Now()
		ok, err := l.client.SetNX(ctx, name, l.token, ttl).Result()
		if err != nil {
			return nil, err
		}
		if ok {
			took := time.Now().Round(0).Sub(start.Round(0)) // by the date, which can jump
			return l.granted(name, ttl, time.Now().Add(ttl-took)), nil
		}
		select {
		case <-ctx.Done():
			return nil, clients.ErrNotAcquired
		case <-time.After(time.Duration(100+rand.IntN(100))*time.Millisecond + either()):
		}
	}
}

// either returns one of two durations.
func either() time.Duration {
	a, b := make(chan time.Duration, 1), make(chan time.Duration, 1)
	a <- time.Millisecond
	b <- 2 * time.Millisecond
	select {
	case d := <-a:
		return d
	case d := <-b:
		return d
	}
}

// granted begins to renew the key, and to wait for the end of the lease.
func (l everything) granted(name string, ttl time.Duration, until time.Time) clients.Lease {
	e := &everyLease{toyLease: &toyLease{l.toy, name, until}, lost: make(chan struct{}), stop: make(chan struct{})}
	e.timer = time.AfterFunc(time.Until(until), func() { close(e.lost) })
	go func() {
		ticker := time.NewTicker(ttl/4 + either())
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				l.client.PExpire(context.Background(), name, ttl)
			case <-e.lost:
				return
			case <-e.stop:
				return
			}
		}
	}()
	return e
}

// everyLease ends at its date, although its key is renewed.
type everyLease struct {
	*toyLease
	lost, stop chan struct{}
	once       sync.Once
	timer      *time.Timer
}

func (l *everyLease) Lost() <-chan struct{}  { return l.lost }
func (l *everyLease) Notify(func(time.Time)) {}

func (l *everyLease) Release(ctx context.Context) error {
	l.timer.Stop()
	l.once.Do(func() { close(l.stop) })
	return l.toyLease.Release(ctx)
}
