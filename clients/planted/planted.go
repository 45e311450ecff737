// Package planted has locks that break the process which they run in. They stand for the bugs that a virtual clock cannot
// contain, and prove that such a lock is reported while the other runs go on. It is for tests only.
package planted

import (
	"context"
	"runtime"
	"sync"
	"time"

	"lockstep/clients"
)

// Locks lists the planted locks.
func Locks() []clients.Lock {
	return []clients.Lock{
		{Name: "panics", About: "panics in a goroutine of its own", New: plant(panics)},
		{Name: "deadlocks", About: "holds a mutex while it waits for the network", New: plant(deadlocks)},
		{Name: "spins", About: "never gives up the processor", New: plant(spins)},
		{Name: "races", About: "writes a map from two goroutines", New: plant(races)},
		{Name: "leaks", About: "leaves a goroutine behind", New: plant(leaks)},
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

func panics(*lock) {
	go func() {
		var counts map[string]int
		counts["acquired"]++ //lint:ignore SA5000 this is the flaw
	}()
	runtime.Gosched()
}

func deadlocks(l *lock) {
	var both sync.WaitGroup
	for range 2 {
		both.Go(l.ping)
	}
	both.Wait()
}

// ping is the flaw: whoever waits for the mutex is not quiet, so that the reply which its holder waits for never comes.
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
	// The runtime notices only writes that are in progress at once, for which there have to be two processors.
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
