//go:build !wasm

package clients

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// watchful makes a client that does not use dead idle connections. Here go-redis itself checks.
func watchful(o *redis.Options) *redis.Client { return redis.NewClient(o) }

// withTimeout makes a client that shares the connections of another, with another timeout.
func withTimeout(c *redis.Client, d time.Duration) *redis.Client { return c.WithTimeout(d) }
