//go:build !wasm

package clients

import "github.com/redis/go-redis/v9"

// watchful makes a client that does not use dead idle connections. Here go-redis itself checks.
func watchful(o *redis.Options) *redis.Client { return redis.NewClient(o) }
