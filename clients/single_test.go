package clients_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/nodes"
)

// If a node says why it refuses a write, it has written nothing, and the lock was certainly not acquired. After any other error
// this is unknown.
func TestRefusalIsDefinite(t *testing.T) {
	for _, test := range []struct {
		why     string
		set     func(n *nodes.Node)
		faults  []string
		refused bool
	}{
		{"NOREPLICAS ", func(n *nodes.Node) { n.MinReplicas(1, 10*time.Second) }, nil, true},
		{"READONLY ", func(n *nodes.Node) { n.Redis.Follow("n2") }, nil, true},
		{"reset", func(*nodes.Node) {}, []string{"on reply SET n1->c1 reset"}, false},
	} {
		playOn(t, 1, func(s *stage) (end func()) {
			n := nodes.Serve(s.World, "n1")
			s.addrs = []string{n.Process.Addr()}
			test.set(n)
			s.faults(test.faults...)
			s.client("c1", func(c *client) {
				_, err := clients.NewSingle(c.env).Acquire(c.ctx, "lock", 10*time.Second)
				if err == nil || errors.Is(err, clients.ErrNotAcquired) != test.refused || !strings.Contains(err.Error(), test.why) {
					t.Errorf("%s: %v", test.why, err)
				}
			})
			return n.Redis.Close
		})
	}
}
