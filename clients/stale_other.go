//go:build !js

package clients

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// watchful makes a client that does not use idle connections that are dead, which go-redis sees to by itself here.
func watchful(o *redis.Options) *redis.Client { return redis.NewClient(o) }

// withTimeout makes a client that shares the connections of another, with another timeout.
func withTimeout(c *redis.Client, d time.Duration) *redis.Client { return c.WithTimeout(d) }
