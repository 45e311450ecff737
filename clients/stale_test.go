package clients_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A connection that died while it was idle costs no command: go-redis notices and dials again.
func TestDeadIdleConnection(t *testing.T) {
	t.Run("client", func(t *testing.T) { deadIdleConnection(t, func(c *redis.Client) *redis.Client { return c }) })
	t.Run("WithTimeout", func(t *testing.T) {
		deadIdleConnection(t, func(c *redis.Client) *redis.Client { return c.WithTimeout(50 * time.Millisecond) })
	})
}

func deadIdleConnection(t *testing.T, of func(*redis.Client) *redis.Client) {
	r := play(t, 1, func(s *stage) {
		s.faultsAt(2*time.Second, "crash n1")
		s.faultsAt(3*time.Second, "restart n1")
		s.faultsAt(6*time.Second, "reset c1-n1")
		s.client("c1", func(c *client) {
			for _, at := range []time.Duration{time.Second, 5 * time.Second, 7 * time.Second} {
				c.Until(at)
				if err := of(c.env.Nodes[0]).Ping(c.ctx).Err(); err != nil {
					t.Errorf("at %v: %v", at, err)
				}
			}
		})
	})
	same(t, "requests", r.texts("n1"), []string{"HELLO 2", "PING", "HELLO 2", "PING", "HELLO 2", "PING"})
}
