package clients

import "github.com/redis/go-redis/v9"

// NewSingleRetries is single with the default options of go-redis: a command without a reply is retried up to three times
// (go-redis, Options.MaxRetries), and a SET NX that is retried after it was carried out is refused, because the key is there.
func NewSingleRetries(env Env) Locker {
	env.Nodes = []*redis.Client{env.Client(env.Addrs[0], func(o *redis.Options) { o.MaxRetries = 0 })}
	return NewSingle(env)
}
