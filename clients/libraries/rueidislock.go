package libraries

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"lockstep/clients"
)

// rueidislocks lists rueidislock without options, and in the configurations that its README and the comments of
// rueidislock.LockerOption offer. It uses a single Redis, and by default several keys on it.
func rueidislocks() []Lock {
	return []Lock{
		rueidislockWith("rueidislock", "rueidislock without options: two of three keys on one Redis", 2, rueidislock.LockerOption{}),
		rueidislockWith("rueidislock-one", "rueidislock as its README has it for one Redis: one key, NOLOOP", 1,
			rueidislock.LockerOption{KeyMajority: 1, NoLoopTracking: true}),
		rueidislockWith("rueidislock-setpx", "rueidislock with one key whose TTL is a duration: SET PX, as before Redis 6.2", 1,
			rueidislock.LockerOption{KeyMajority: 1, FallbackSETPX: true}),
		rueidislockWith("rueidislock-nocache", "rueidislock with one key and without client-side caching", 1,
			rueidislock.LockerOption{KeyMajority: 1, ClientOption: rueidis.ClientOption{DisableCache: true}}),
	}
}

func rueidislockWith(name, about string, keys int, options rueidislock.LockerOption) Lock {
	return Lock{
		Lock: clients.Lock{Name: name, About: about, Like: []string{"single", "watchdog"}, New: func(env clients.Env) clients.Locker {
			return &rueidisLocker{env: env, keys: keys, options: options}
		}},
		Module: "github.com/redis/rueidis",
		// Its tokens come from math/rand/v2, which cannot be seeded, and the commands of several goroutines share one
		// connection, in the order in which they ran.
		Restless: true,
	}
}

// rueidisLocker makes the library's Locker when the lock is first acquired, because that dials, and needs the TTL.
type rueidisLocker struct {
	env     clients.Env
	keys    int
	options rueidislock.LockerOption
	locker  rueidislock.Locker
}

// Keys returns how many keys make the lock.
func (l *rueidisLocker) Keys() int { return l.keys }

func (l *rueidisLocker) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	if l.locker == nil {
		o := l.options
		o.KeyValidity = ttl
		o.ClientOption.InitAddress = l.env.Addrs[:1]
		o.ClientOption.DialCtxFn = func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return l.env.Dial(ctx, "tcp", addr)
		}
		o.ClientOption.RetryDelay = seededDelay(l.env.Rand.Uint64())
		locker, err := rueidislock.NewLocker(o)
		if err != nil {
			return nil, err
		}
		l.locker = locker
	}
	held, cancel, err := l.locker.TryWithContext(ctx, name)
	if errors.Is(err, rueidislock.ErrNotLocked) {
		return nil, fmt.Errorf("%w: %w", clients.ErrNotAcquired, err)
	}
	if err != nil {
		return nil, err
	}
	return &rueidisLease{held, cancel}, nil
}

// seededDelay is the delay of rueidis between two tries of a command: 2ⁿ µs plus a random time of at most as much, and no more
// than a second (rueidis, retry.go, defaultRetryDelayFn). The random part comes from the seed of the run, and not from the
// randomness of the process, because everything that follows depends on it when a node is down. It is drawn by the command and
// the number of the try, not by the order of requests.
func seededDelay(seed uint64) rueidis.RetryDelayFn {
	return func(attempts int, cmd rueidis.Completed, _ error) time.Duration {
		what := fnv.New64a()
		words := cmd.Commands()
		for _, word := range words[:min(len(words), 4)] { // EVALSHA, the script, the number of keys, the key
			io.WriteString(what, word)
		}
		base := int64(1) << min(20, attempts)
		jitter := rand.New(rand.NewPCG(seed+uint64(attempts), what.Sum64())).Int64N(base)
		return min(time.Second, time.Duration(base+jitter)*time.Microsecond)
	}
}

// Close ends the library's connections.
func (l *rueidisLocker) Close() error {
	if l.locker != nil {
		l.locker.Close()
	}
	return nil
}

// rueidisLease is held until its context is done. The library renews it silently.
type rueidisLease struct {
	held   context.Context
	cancel context.CancelFunc
}

func (*rueidisLease) Until() time.Time { return time.Time{} }

func (l *rueidisLease) Lost() <-chan struct{} { return l.held.Done() }

func (*rueidisLease) Notify(func(time.Time)) {}

// Release waits until each key has been deleted or given up, and does not say which.
func (l *rueidisLease) Release(context.Context) error {
	l.cancel()
	return nil
}
