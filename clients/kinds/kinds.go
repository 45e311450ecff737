// Package kinds has the lock of [clients.NewSingle] with keys of different Redis types: a string, a hash as Redisson uses it, a
// list, a set and a sorted set. The locks differ only in that. They show that Lockstep recognises a lock whatever the type of its
// key. The package is for tests only.
package kinds

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
)

// Locks lists the locks, the one with a string first.
func Locks() []clients.Lock {
	return []clients.Lock{
		kind("string", "SET KEYS[1] ARGV[1]", "GET KEYS[1]"),
		// https://github.com/redisson/redisson, RedissonLock.java: the field is the owner, and the value counts how often it has
		// taken the lock.
		kind("hash", "HINCRBY KEYS[1] ARGV[1] 1", "HEXISTS KEYS[1] ARGV[1]"),
		kind("owner", "HSET KEYS[1] owner ARGV[1] count 1", "HGET KEYS[1] owner"),
		kind("list", "RPUSH KEYS[1] ARGV[1]", "LINDEX KEYS[1] 0"),
		kind("set", "SADD KEYS[1] ARGV[1]", "SISMEMBER KEYS[1] ARGV[1]"),
		kind("zset", "ZADD KEYS[1] 1 ARGV[1]", "ZRANK KEYS[1] ARGV[1]"),
	}
}

// kind returns a lock whose key one command sets and another compares. The second command returns the token or a number.
func kind(name, put, compare string) clients.Lock {
	call := func(command string) string {
		words := strings.Fields(command)
		for i, w := range words {
			if !strings.Contains(w, "[") {
				words[i] = "'" + w + "'"
			}
		}
		return "redis.call(" + strings.Join(words, ", ") + ")"
	}
	take := redis.NewScript(`
		if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
		` + call(put) + `
		redis.call('PEXPIRE', KEYS[1], ARGV[2])
		return 1`)
	want := "ARGV[1]"
	switch strings.Fields(compare)[0] {
	case "HEXISTS", "SISMEMBER":
		want = "1"
	case "ZRANK":
		want = "0"
	}
	remove := redis.NewScript(`
		if ` + call(compare) + ` ~= ` + want + ` then return 0 end
		return redis.call('DEL', KEYS[1])`)
	return clients.Lock{
		Name: "kept-in-" + name, About: "single with a " + name,
		New: func(env clients.Env) clients.Locker { return &lock{env, take, remove} },
	}
}

type lock struct {
	env          clients.Env
	take, remove *redis.Script
}

func (l *lock) Acquire(ctx context.Context, name string, ttl time.Duration) (clients.Lease, error) {
	start := l.env.Clock.Now()
	token := random(l.env)
	taken, err := l.take.Run(ctx, l.env.Nodes[0], []string{name}, token, ttl.Milliseconds()).Int()
	if err != nil {
		return nil, err
	}
	if taken == 0 {
		return nil, clients.ErrNotAcquired
	}
	lease := &lease{l, name, token, start.Add(ttl)}
	if l.env.Clock.Now().Before(lease.until) {
		return lease, nil
	}
	lease.Release(context.WithoutCancel(ctx)) // the lease is over, so the outcome does not matter
	return nil, clients.ErrNotAcquired
}

// random draws a token.
func random(env clients.Env) string {
	const digits = "0123456789abcdef"
	token := make([]byte, 40)
	for i := range token {
		token[i] = digits[env.Rand.IntN(len(digits))]
	}
	return string(token)
}

type lease struct {
	lock        *lock
	name, token string
	until       time.Time
}

func (l *lease) Until() time.Time { return l.until }

func (l *lease) Release(ctx context.Context) error {
	n, err := l.lock.remove.Run(ctx, l.lock.env.Nodes[0], []string{l.name}, l.token).Int()
	if err == nil && n == 0 {
		return clients.ErrNotHeld
	}
	return err
}
