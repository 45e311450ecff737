package clients

import "github.com/redis/go-redis/v9"

// NewSingleRetries is single over a go-redis client as it comes: a command that fails for want of an answer is repeated up
// to three times (go-redis, Options.MaxRetries), and a SET NX that is repeated after it was carried out is refused, since
// the key is there.
func NewSingleRetries(env Env) Locker {
	env.Nodes = []*redis.Client{env.Client(env.Addrs[0], func(o *redis.Options) { o.MaxRetries = 0 })}
	return NewSingle(env)
}
