package clients_test

import (
	"errors"
	"testing"

	"lockstep/clients"
	"lockstep/sim/history"
)

// incrementer returns a lock that increments by itself.
func incrementer(t *testing.T, c *client, name string) clients.Incrementer {
	i, ok := find(t, name)(c.env).(clients.Incrementer)
	if !ok {
		t.Fatalf("%s cannot increment", name)
	}
	return i
}

// increment has a client increment the counter on n1.
func (c *client) increment(t *testing.T, name string) (int64, error) {
	return incrementer(t, c, name).Increment(c.ctx, c.env.Nodes[0], "counter")
}

// Some locks increment by themselves. The others have an increment between acquire and release.
func TestIncrementers(t *testing.T) {
	play(t, 1, func(s *stage) {
		s.client("c1", func(c *client) {
			for _, lock := range clients.Locks() {
				want := lock.Name == "nolock" || lock.Name == "watch" || lock.Name == "watch-retry" || lock.Name == "watch-in-multi"
				if _, got := lock.New(c.env).(clients.Incrementer); got != want {
					t.Errorf("%s: %v", lock.Name, got)
				}
			}
		})
	})
}

// Only watch-in-multi fails even if one client increments alone. It uses the reply to a GET that has not been carried out: PHP
// turns this into 1, so that it writes 2, whatever the number was.
func TestIncrementAlone(t *testing.T) {
	for _, c := range []struct {
		lock     string
		from     string
		want     []int64
		commands []string // those of the first increment
	}{
		{"nolock", "10", []int64{11, 12}, []string{"GET counter", "SET counter 11"}},
		{"nolock", "", []int64{1, 2}, []string{"GET counter", "SET counter 1"}},
		{"watch", "10", []int64{11, 12}, []string{"WATCH counter", "GET counter", "MULTI; SET counter 11; EXEC"}},
		{"watch", "", []int64{1, 2}, []string{"WATCH counter", "GET counter", "MULTI; SET counter 1; EXEC"}},
		{"watch-retry", "10", []int64{11, 12}, []string{"WATCH counter", "GET counter", "MULTI; SET counter 11; EXEC"}},
		{"watch-in-multi", "10", []int64{2, 2}, []string{"WATCH counter", "MULTI; GET counter; SET counter 2; EXEC"}},
	} {
		r := play(t, 1, func(s *stage) {
			s.client("c1", func(c1 *client) {
				if c.from != "" {
					c1.env.Nodes[0].Set(c1.ctx, "counter", c.from, 0)
				}
				for _, want := range c.want {
					if n, err := c1.increment(t, c.lock); n != want || err != nil {
						t.Errorf("%s: %d, %v, want %d", c.lock, n, err, want)
					}
				}
			})
		})
		got := r.commands("n1")
		if c.from != "" {
			got = got[1:]
		}
		same(t, c.lock, got[:len(got)/len(c.want)], c.commands)
	}
}

// If two clients increment in step, one increment is lost, skipped or repeated.
func TestIncrementRace(t *testing.T) {
	for _, c := range []struct {
		lock    string
		skipped int
		final   string
	}{
		{"nolock", 0, "11"},
		{"watch", 1, "11"},
		{"watch-retry", 0, "12"},
		{"watch-in-multi", 1, "2"},
	} {
		skipped, final := 0, ""
		play(t, 1, func(s *stage) {
			for _, name := range []string{"c1", "c2"} {
				s.client(name, func(c1 *client) {
					if name == "c1" {
						c1.env.Nodes[0].Set(c1.ctx, "counter", 10, 0)
					}
					c1.env.Nodes[0].Ping(c1.ctx)
					c1.Until(second)
					switch _, err := c1.increment(t, c.lock); {
					case errors.Is(err, clients.ErrSkipped):
						if clients.Outcome(err) != history.Fail {
							t.Errorf("%s: %v is %s", c.lock, err, clients.Outcome(err))
						}
						skipped++
					case err != nil:
						t.Errorf("%s: %v", c.lock, err)
					}
					c1.Until(2 * second)
					final = c1.env.Nodes[0].Get(c1.ctx, "counter").Val()
				})
			}
		})
		if skipped != c.skipped || final != c.final {
			t.Errorf("%s: %d skipped, final %s; want %d, %s", c.lock, skipped, final, c.skipped, c.final)
		}
	}
}

// Before the last request, an error means that nothing was written; after it, the outcome is unknown.
func TestIncrementErrors(t *testing.T) {
	for _, c := range []struct {
		lock, fault string
		want        history.Kind
	}{
		{"nolock", "on request GET c1->n1 reset", history.Fail},
		{"nolock", "on reply GET n1->c1 reset", history.Fail},
		{"nolock", "on request SET c1->n1 reset", history.Info},
		{"nolock", "on reply SET n1->c1 reset", history.Info},
		{"watch", "crash n1", history.Fail},
		{"watch", "on reply WATCH n1->c1 reset", history.Fail},
		{"watch", "on reply GET n1->c1 reset", history.Fail},
		{"watch", "on request MULTI c1->n1 reset", history.Info},
		{"watch", "on reply MULTI n1->c1 reset", history.Info},
		{"watch-retry", "on reply GET n1->c1 reset", history.Fail},
		{"watch-retry", "on reply MULTI n1->c1 reset", history.Info},
		{"watch-in-multi", "on reply WATCH n1->c1 reset", history.Fail},
		{"watch-in-multi", "on reply MULTI n1->c1 reset", history.Info},
	} {
		play(t, 1, func(s *stage) {
			s.faults(c.fault)
			s.client("c1", func(c1 *client) {
				_, err := c1.increment(t, c.lock)
				if got := clients.Outcome(err); err == nil || got != c.want || errors.Is(err, clients.ErrSkipped) != (got == history.Fail) {
					t.Errorf("%s, %s: %v: %s, want %s", c.lock, c.fault, err, got, c.want)
				}
			})
		})
	}
}

// A value that is not a number is left alone.
func TestIncrementNoNumber(t *testing.T) {
	for _, name := range []string{"nolock", "watch", "watch-retry"} {
		play(t, 1, func(s *stage) {
			s.client("c1", func(c *client) {
				c.env.Nodes[0].Set(c.ctx, "counter", "many", 0)
				if _, err := c.increment(t, name); !errors.Is(err, clients.ErrSkipped) {
					t.Errorf("%s: %v", name, err)
				}
				if got := c.env.Nodes[0].Get(c.ctx, "counter").Val(); got != "many" {
					t.Errorf("%s: the counter is %q", name, got)
				}
			})
		})
	}
}
