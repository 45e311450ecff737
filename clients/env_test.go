package clients_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"lockstep/clients"
	"lockstep/sim/history"
)

func TestOutcome(t *testing.T) {
	for _, c := range []struct {
		err  error
		want history.Kind
	}{
		{nil, history.OK},
		{clients.ErrNotAcquired, history.Fail},
		{clients.ErrNotHeld, history.Fail},
		{clients.ErrRejected, history.Fail},
		{fmt.Errorf("2 of 5: %w", clients.ErrNotAcquired), history.Fail},
		{fmt.Errorf("%w: fence 1 < 2", clients.ErrRejected), history.Fail},
		{errors.Join(io.EOF, clients.ErrNotHeld), history.Fail},
		// An error that certainly means failure decides, whatever other errors there are.
		{fmt.Errorf("%w: %w", clients.ErrNotAcquired, context.Canceled), history.Fail},
		{io.EOF, history.Info},
		{context.Canceled, history.Info},
		{context.DeadlineExceeded, history.Info},
		{redis.Nil, history.Info},
		{redis.ErrClosed, history.Info},
		{net.ErrClosed, history.Info},
		// An error that only resembles one does not.
		{errors.New(clients.ErrNotAcquired.Error()), history.Info},
	} {
		if got := clients.Outcome(c.err); got != c.want {
			t.Errorf("Outcome(%v) = %s, want %s", c.err, got, c.want)
		}
	}
}

// A SET NX whose reply is lost is not repeated: the second would find the key of the first, and be refused.
func TestNoRetries(t *testing.T) {
	for _, fault := range []string{
		"on reply SET n1->c1 reset",
		"on request SET c1->n1 reset",
		"on reply SET n1->c1 hold", // longer than the client's read timeout
		"on reply SET n1->c1 delay 1m",
	} {
		r := play(t, 1, func(s *stage) {
			s.faults(fault)
			s.client("c1", func(c *client) {
				_, err := c.env.Nodes[0].SetNX(c.ctx, "lock", "a value longer than sixteen", time.Hour).Result()
				if err == nil {
					t.Errorf("%s: no error", fault)
				}
			})
		})
		requests := 0 // that arrived, or were lost on the way
		for _, e := range r.events {
			if e.Kind == history.Message && e.Process == "n1" && leaseName.MatchString(e.Value) {
				requests++
			}
		}
		if requests != 1 {
			t.Errorf("%s: SET was sent %d times", fault, requests)
		}
	}
}

// A client dials once. Further attempts would follow after pauses on a clock that is not the client's.
func TestOneDial(t *testing.T) {
	dials := 0
	play(t, 1, func(s *stage) {
		s.faults("crash n1")
		s.client("c1", func(c *client) {
			var err error
			took := c.took(func() { err = c.env.Nodes[0].Ping(c.ctx).Err() })
			if err == nil || dials != 1 || took > 2*hop {
				t.Errorf("%v after %d dials and %v", err, dials, took)
			}
		}, func(dial clients.Dialer) clients.Dialer {
			return func(ctx context.Context, network, addr string) (net.Conn, error) {
				dials++
				return dial(ctx, network, addr)
			}
		})
	})
}

// A connection begins with HELLO and nothing else.
func TestHandshake(t *testing.T) {
	r := play(t, 1, func(s *stage) {
		s.client("c1", func(c *client) {
			if err := c.env.Nodes[0].Ping(c.ctx).Err(); err != nil {
				t.Error(err)
			}
			c.env.Clock.Sleep(30 * time.Minute) // idle connections are kept, and nothing checks them
			if err := c.env.Nodes[0].Ping(c.ctx).Err(); err != nil {
				t.Error(err)
			}
		})
	})
	same(t, "requests", r.texts("n1"), []string{"HELLO 2", "PING", "PING"})
}

// As many requests as the pool has connections can be in progress at once; none waits for another by a clock of its own.
func TestPoolIsNotWaitedFor(t *testing.T) {
	r := play(t, 1, func(s *stage) {
		s.client("c1", func(c *client) {
			var all sync.WaitGroup
			for range 64 {
				all.Go(func() {
					if err := c.env.Nodes[0].Ping(c.ctx).Err(); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		})
	})
	var sent []time.Duration
	for _, e := range r.requests("n1") {
		if e.Value == "PING" {
			sent = append(sent, e.Sent)
		}
	}
	if len(sent) != 64 || len(slices.Compact(sent)) != 1 {
		t.Errorf("PINGs were sent at %v, want 64 at one instant", sent)
	}
}

// An Env has the addresses that it was given, makes one client for each, and closes them.
func TestEnv(t *testing.T) {
	play(t, 3, func(s *stage) {
		s.client("c1", func(c *client) {
			if len(c.env.Nodes) != 3 || c.env.Clock != c.Clock() || c.env.Wall != c.Wall() || c.env.Rand == nil || c.env.Dial == nil {
				t.Errorf("%+v", c.env)
			}
			for i, n := range c.env.Nodes {
				if n.Options().Addr != c.env.Addrs[i] {
					t.Errorf("node %d is %s, want %s", i, n.Options().Addr, c.env.Addrs[i])
				}
			}
			if err := c.env.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			for _, n := range c.env.Nodes {
				if err := n.Ping(c.ctx).Err(); !errors.Is(err, redis.ErrClosed) {
					t.Errorf("a closed client: %v", err)
				}
			}
			if err := c.env.Close(); !errors.Is(err, redis.ErrClosed) {
				t.Errorf("Close again: %v", err)
			}
		})
	})
}

// A client made with other options has them, except those on which simulation depends. It is closed with the others.
func TestClient(t *testing.T) {
	play(t, 2, func(s *stage) {
		s.client("c1", func(c *client) {
			same := c.env.Client(c.env.Addrs[1], nil)
			if o := same.Options(); o.MaxRetries != 0 || o.Addr != c.env.Addrs[1] || o.PoolSize != c.env.Nodes[0].Options().PoolSize {
				t.Errorf("without a change the options are not those of Nodes: %+v", o)
			}
			other := c.env.Client(c.env.Addrs[0], func(o *redis.Options) {
				o.Addr, o.PoolSize, o.MaintNotificationsConfig = "localhost:6379", 1, nil
				o.Dialer = func(context.Context, string, string) (net.Conn, error) { return nil, io.EOF }
				o.MaxRetries, o.ContextTimeoutEnabled, o.ReadTimeout = 0, true, 7*time.Second
			})
			o := other.Options()
			if o.MaxRetries != 3 || !o.ContextTimeoutEnabled || o.ReadTimeout != 7*time.Second {
				t.Errorf("the change was not made: %+v", o)
			}
			if o.Addr != c.env.Addrs[0] || o.PoolSize == 1 || o.MaintNotificationsConfig == nil || o.MaintNotificationsConfig.Mode != maintnotifications.ModeDisabled {
				t.Errorf("the change went too far: %+v", o)
			}
			for _, n := range []*redis.Client{same, other} {
				if err := n.Ping(c.ctx).Err(); err != nil {
					t.Error(err)
				}
			}
			copied := c.env
			if err := copied.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			for _, n := range append(c.env.Nodes, same, other) {
				if err := n.Ping(c.ctx).Err(); !errors.Is(err, redis.ErrClosed) {
					t.Errorf("a closed client: %v", err)
				}
			}
		})
	})
}

// A client whose dials fail dials the network each time, for longer than a run with a node that is down takes.
func TestDialsThatFail(t *testing.T) {
	const tries = 1000
	dials := 0
	env := clients.NewEnv(nil, nil, nil, func(context.Context, string, string) (net.Conn, error) {
		dials++
		return nil, errors.New("refused")
	}, []string{"10.0.0.1:6379"})
	defer env.Close()
	for range tries {
		env.Nodes[0].Ping(t.Context())
	}
	if dials != tries {
		t.Errorf("%d dials for %d commands", dials, tries)
	}
}

// A lock that cannot be made before the run fails in its lane, where the failure is reported.
func TestMadeFailsLater(t *testing.T) {
	env := clients.NewEnv(nil, nil, nil, nil, nil)
	for how, fail := range map[string]func(){"panics": func() { panic("no such node") }, "exits": runtime.Goexit} {
		calls := 0
		made := env.Made(func(clients.Env) clients.Locker {
			if calls++; calls == 1 {
				fail()
			}
			return nil
		})
		made(env)
		if calls != 2 {
			t.Errorf("a lock that %s is made %d times, want again in its lane", how, calls)
		}
	}
}
