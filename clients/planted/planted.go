// Package planted has locks that break the process which they run in. They stand for the bugs that a virtual clock cannot
// contain, and prove that such a lock is reported while the other runs go on. It is for tests only.
package planted

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"

	"lockstep/clients"
)

// Locks lists the planted locks.
func Locks() []clients.Lock {
	return []clients.Lock{
		{Name: "panics", About: "panics in a goroutine of its own", New: plant(panics)},
		{Name: "deadlocks", About: "locks a mutex that it already holds", New: plant(deadlocks)},
		{Name: "spins", About: "never gives up the processor", New: plant(spins)},
		{Name: "races", About: "writes a map from two goroutines", New: plant(races)},
		{Name: "is never made", About: "waits for ever where it is made", New: func(clients.Env) clients.Locker { select {} }},
		{Name: "is never closed", About: "waits for ever where it is closed", New: func(e clients.Env) clients.Locker { return unclosable{clients.NewSingle(e)} }},
		{Name: "leaks", About: "leaves a goroutine behind", New: plant(leaks)},
		{Name: "exits", About: "ends its goroutine as t.FailNow does", New: plant(exits)},
		{Name: "spawns", About: "leaves a process behind", New: plant(spawns)},
		{Name: "hoards", About: "allocates more and more", New: plant(hoards)},
		{Name: "throngs", About: "starts more and more goroutines", New: plant(throngs)},
		{Name: "tabulates", About: "has a Lua table grow", New: plant(tabulates)},
		{Name: "stores", About: "stores a huge value", New: plant(stores)},
		{Name: "dials", About: "dials by package net", New: dialling},
		{Name: "redials", About: "dials by package net after an error", New: redialling},
		{Name: "panics later", About: "panics in a goroutine of its own after a release that failed", New: panickingLater},
		{Name: "reads its own clock", About: "ends its leases by time.Now", New: ownClock},
		{Name: "connects", About: "makes a client of go-redis without Env", New: connecting},
		{Name: "grants nothing", About: "returns neither a lease nor an error", New: granting},
		{Name: "grumbles", About: "does not mark its refusals", New: grumbling},
		{Name: "hurries", About: "returns leases that are over", New: hurrying},
		{Name: "keeps connections", About: "does not give back the connections that it takes", New: keeping},
		{Name: "is not made", About: "there is no lock", New: func(clients.Env) clients.Locker { return nil }},
		{Name: "babbles", About: "fails with a huge text", New: babbling},
	}
}

// lock is the lock on one node, with a flaw in Acquire.
type lock struct {
	clients.Locker
	env  clients.Env
	flaw func(*lock)
	mu   sync.Mutex
}

func plant(flaw func(*lock)) clients.New {
	return func(env clients.Env) clients.Locker {
		return &lock{Locker: clients.NewSingle(env), env: env, flaw: flaw}
	}
}

func (l *lock) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	l.flaw(l)
	return l.Locker.Acquire(ctx, name, ttl)
}

type unclosable struct{ clients.Locker }

func (unclosable) Close() error { select {} }

func panics(*lock) {
	go func() {
		var counts map[string]int
		counts["acquired"]++ //lint:ignore SA5000 this is the flaw
	}()
	runtime.Gosched()
}

func deadlocks(l *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ping()
}

func (l *lock) ping() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.env.Nodes[0].Ping(context.Background())
}

func spins(*lock) {
	for {
		runtime.Gosched()
	}
}

func races(*lock) {
	// The runtime detects only writes at the same time, which need two processors.
	runtime.GOMAXPROCS(2)
	shared := map[int]int{}
	go write(shared)
	write(shared)
}

func write(m map[int]int) {
	for i := 0; ; i++ {
		m[i%64] = i
	}
}

func leaks(*lock) {
	go func() { <-make(chan struct{}) }()
}

func exits(*lock) { runtime.Goexit() }

// Spawned is part of the command line of the process that spawns starts, so that tests can find it.
const Spawned = "lockstep-planted"

func spawns(*lock) { exec.Command("sh", "-c", "sleep 300; : "+Spawned).Start() }

// The following locks use up to this much memory. They stop there, so that a test fails instead of the machine.
const ceiling = 1200 << 20

func hoards(*lock) {
	var all [][]byte
	for range ceiling >> 20 {
		all = append(all, bytes.Repeat([]byte{1}, 1<<20))
	}
	runtime.KeepAlive(all)
}

func throngs(*lock) {
	over := make(chan struct{})
	for range 300_000 {
		go func() { <-over }()
	}
	close(over)
}

func tabulates(l *lock) {
	const script = `local t = {} for i = 1, tonumber(ARGV[1]) do t[i] = string.rep('x', 1000) .. i end return #t`
	l.env.Nodes[0].Eval(context.Background(), script, nil, ceiling/1000)
}

func stores(l *lock) {
	l.env.Nodes[0].Set(context.Background(), "huge", strings.Repeat("x", 150<<20), 0)
}

// babble is a lock that nobody gets, with a long error.
type babble struct{ clients.Locker }

func babbling(env clients.Env) clients.Locker { return babble{clients.NewSingle(env)} }

func (babble) Acquire(context.Context, string, time.Duration) (clients.Lease, error) {
	return nil, fmt.Errorf("%w: %s", clients.ErrNotAcquired, strings.Repeat("because ", 4<<20))
}

// nowhere is an address at which no Redis server listens.
const nowhere = "127.0.0.1:1"

type dials struct{ clients.Locker }

func dialling(env clients.Env) clients.Locker { return dials{clients.NewSingle(env)} }

func (dials) Acquire(context.Context, string, time.Duration) (clients.Lease, error) {
	_, err := net.Dial("tcp", nowhere)
	return nil, err
}

// redials is a lock that dials without its Env, but only after an error. No calm run has an error.
type redials struct{ clients.Locker }

func redialling(env clients.Env) clients.Locker { return redials{clients.NewSingle(env)} }

func (r redials) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	lease, err := r.Locker.Acquire(ctx, name, ttl)
	if err != nil && !errors.Is(err, clients.ErrNotAcquired) {
		_, err = net.Dial("tcp", nowhere)
	}
	return lease, err
}

// later is a lock that panics in a goroutine of its own, but only after a release that failed. No calm run has one.
type later struct{ clients.Locker }

func panickingLater(env clients.Env) clients.Locker { return later{clients.NewSingle(env)} }

func (l later) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	lease, err := l.Locker.Acquire(ctx, name, ttl)
	if err != nil {
		return nil, err
	}
	return laterLease{lease}, nil
}

type laterLease struct{ clients.Lease }

func (l laterLease) Release(ctx context.Context) error {
	err := l.Lease.Release(ctx)
	if err != nil && !errors.Is(err, clients.ErrNotHeld) {
		panics(nil)
	}
	return err
}

// connects is a lock that talks to a server of its own.
type connects struct {
	clients.Locker
	rdb *redis.Client
}

func connecting(env clients.Env) clients.Locker {
	return connects{clients.NewSingle(env), redis.NewClient(&redis.Options{Addr: nowhere})}
}

func (c connects) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	return nil, c.rdb.SetNX(ctx, name, "mine", ttl).Err()
}

type grants struct{ clients.Locker }

func granting(env clients.Env) clients.Locker { return grants{clients.NewSingle(env)} }

func (grants) Acquire(context.Context, string, time.Duration) (clients.Lease, error) { return nil, nil }

// keeps takes a connection for each of many tries, and gives none back.
type keeps struct {
	clients.Locker
	env clients.Env
}

func keeping(env clients.Env) clients.Locker { return keeps{clients.NewSingle(env), env} }

func (k keeps) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	for range 40 {
		k.env.Nodes[0].Conn().Get(ctx, name)
	}
	return k.Locker.Acquire(ctx, name, ttl)
}

// grumble is a lock that forgets clients.ErrNotAcquired.
type grumble struct{ clients.Locker }

func grumbling(env clients.Env) clients.Locker { return grumble{clients.NewSingle(env)} }

func (g grumble) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	lease, err := g.Locker.Acquire(ctx, name, ttl)
	if err != nil {
		return nil, errors.New("somebody else has it")
	}
	return lease, nil
}

// hurry is a lock whose leases end when they begin.
type hurry struct {
	clients.Locker
	env clients.Env
}

type over struct {
	clients.Lease
	until time.Time
}

func (o over) Until() time.Time { return o.until }

// ownClock is a lock that takes the time from package time.
func ownClock(env clients.Env) clients.Locker {
	env.Clock, env.Wall = clockwork.NewRealClock(), clockwork.NewRealClock()
	return clients.NewSingle(env)
}

func hurrying(env clients.Env) clients.Locker { return hurry{clients.NewSingle(env), env} }

func (h hurry) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	lease, err := h.Locker.Acquire(ctx, name, ttl)
	if err != nil {
		return nil, err
	}
	return over{lease, h.env.Clock.Now()}, nil
}
