package libraries_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/clients/libraries"
	"lockstep/nodes"
	"lockstep/sim"
	"lockstep/sim/history"
)

const ttl = 10 * time.Second

// A client is what a lane uses.
type client struct {
	*sim.Process
	t    *testing.T
	ctx  context.Context
	env  clients.Env
	lock clients.Locker
}

// play runs a library on n nodes with clients that act one after the other. It returns what happened.
func play(t *testing.T, l libraries.Lock, n int, lanes ...func(*client)) []history.Event {
	t.Helper()
	return playWith(t, l, n, nil, lanes...)
}

// playWith is play with faults that are injected first.
func playWith(t *testing.T, l libraries.Lock, n int, faults []string, lanes ...func(*client)) []history.Event {
	t.Helper()
	var events []history.Event
	err := sim.Bubble(func() {
		w := sim.NewWorld(sim.Config{Seed: 1})
		defer w.Close()
		var addrs []string
		for i := range n {
			node := nodes.Serve(w, fmt.Sprintf("n%d", i+1))
			defer node.Redis.Close()
			addrs = append(addrs, node.Process.Addr())
		}
		for _, text := range faults {
			f, err := history.ParseFault(text)
			if err != nil {
				panic(err)
			}
			w.Plan(0, f)
		}
		var mu sync.Mutex
		var envs []clients.Env // clients may use what others have
		turn := make(chan int, 1)
		turn <- 0
		for i, lane := range lanes {
			p := w.Process(fmt.Sprintf("c%d", i+1))
			p.Go(func(ctx context.Context) {
				env := clients.NewEnv(p.Clock(), p.Wall(), sim.Rand(1, "client", p.Name), p.DialContext, addrs)
				mu.Lock()
				envs = append(envs, env)
				mu.Unlock()
				c := &client{p, t, ctx, env, l.New(env)}
				for whose := range turn {
					if turn <- whose; whose == i {
						break
					}
					env.Clock.Sleep(time.Millisecond)
				}
				lane(c)
				<-turn
				turn <- i + 1
			})
		}
		w.Run()
		for _, env := range envs {
			env.Close()
		}
		events = w.History().Events
	})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// acquire calls Acquire, as a worker does.
func (c *client) acquire() (clients.Lease, error) {
	c.Doing(history.Acquire, 1, "")
	defer c.Doing("", 0, "")
	return c.lock.Acquire(c.ctx, "lock", ttl)
}

func (c *client) must(lease clients.Lease, err error) clients.Lease {
	if err != nil {
		c.t.Fatalf("%s: %v", c.Name, err)
	}
	return lease
}

// left returns how long the key on a node will last, or a negative time if it is not there.
func (c *client) left(node int) time.Duration {
	return c.env.Nodes[node].PTTL(c.ctx, "lock").Val()
}

// sizes are the numbers of nodes on which a library runs.
func sizes(l libraries.Lock) []int {
	if slices.Contains(l.Like, "redlock") {
		return []int{1, 3, 5}
	}
	return []int{1}
}

// each calls f with every lock of the libraries that are tested here, on every number of nodes on which it runs.
func each(t *testing.T, f func(t *testing.T, l libraries.Lock, n int)) {
	t.Helper()
	for _, l := range libraries.Locks() {
		if !strings.HasPrefix(l.Name, "redsync") && !strings.HasPrefix(l.Name, "redislock") {
			continue
		}
		for _, n := range sizes(l) {
			t.Run(fmt.Sprintf("%s/%d", l.Name, n), func(t *testing.T) { f(t, l, n) })
		}
	}
}

// Without faults, a lease is granted for the TTL, refused to another client, extended, and given back once, not twice.
func TestCalm(t *testing.T) {
	each(t, func(t *testing.T, l libraries.Lock, n int) {
		var held clients.Lease
		play(t, l, n,
			func(c *client) {
				before := c.env.Clock.Now()
				held = c.must(c.acquire())
				took := c.env.Clock.Since(before)
				for i := range n {
					if left := c.left(i); left <= ttl-100*time.Millisecond || left > ttl {
						t.Errorf("the key on n%d lasts for %v", i+1, left)
					}
				}
				checkUntil(t, l, held, before, took)
				c.env.Clock.Sleep(ttl / 2)
				before = c.env.Clock.Now()
				if err := held.(clients.Extender).Extend(c.ctx, ttl); err != nil {
					t.Errorf("Extend: %v", err)
				}
				checkUntil(t, l, held, before, c.env.Clock.Since(before))
				checkOtherTTL(t, l, held.(clients.Extender), c)
				for i := range n {
					if left := c.left(i); left <= ttl-100*time.Millisecond || left > ttl {
						t.Errorf("after Extend the key on n%d lasts for %v", i+1, left)
					}
				}
			},
			func(c *client) {
				if lease, err := c.acquire(); clients.Outcome(err) != history.Fail || !errors.Is(err, clients.ErrNotAcquired) {
					t.Errorf("Acquire while another holds it: %v, %v", lease, err)
				}
			},
			func(c *client) {
				if err := held.Release(c.ctx); err != nil {
					t.Errorf("Release: %v", err)
				}
				for i := range n {
					if left := c.left(i); left >= 0 {
						t.Errorf("after Release the key on n%d lasts for %v", i+1, left)
					}
				}
				if err := held.Release(c.ctx); !errors.Is(err, clients.ErrNotHeld) {
					t.Errorf("Release again: %v", err)
				}
				mine := c.must(c.acquire())
				if err := held.Release(c.ctx); !errors.Is(err, clients.ErrNotHeld) {
					t.Errorf("Release of a lease whose lock another holds: %v", err)
				}
				if err := held.(clients.Extender).Extend(c.ctx, ttl); !errors.Is(err, clients.ErrNotHeld) {
					t.Errorf("Extend of a lease whose lock another holds: %v", err)
				}
				if err := mine.Release(c.ctx); err != nil {
					t.Errorf("Release: %v", err)
				}
			},
		)
	})
}

// redislock extends a lease by any TTL. redsync has only one.
func checkOtherTTL(t *testing.T, l libraries.Lock, held clients.Extender, c *client) {
	t.Helper()
	err := held.Extend(c.ctx, 3*ttl)
	if strings.HasPrefix(l.Name, "redsync") {
		if !errors.Is(err, clients.ErrFixedTTL) {
			t.Errorf("Extend by three TTLs: %v", err)
		}
		return
	}
	if left := c.left(0); err != nil || left <= 2*ttl {
		t.Errorf("after Extend by three TTLs the key lasts for %v, %v", left, err)
	}
	if err := held.Extend(c.ctx, ttl); err != nil {
		t.Errorf("Extend by one TTL: %v", err)
	}
}

// redsync says how long its lease is valid, by a clock with the same start as the clock of the process. redislock does not.
func checkUntil(t *testing.T, l libraries.Lock, lease clients.Lease, before time.Time, took time.Duration) {
	t.Helper()
	until := lease.Until()
	if strings.HasPrefix(l.Name, "redislock") {
		if !until.IsZero() {
			t.Errorf("Until is %v, and redislock says nothing", until)
		}
		return
	}
	if valid := until.Sub(before); valid > ttl-ttl/100 || valid < ttl-ttl/100-took {
		t.Errorf("valid for %v after a request that took %v", valid, took)
	}
}

// An extension of a key that is gone is refused, unless redsync is told to set the key again.
func TestExtendWhatIsGone(t *testing.T) {
	each(t, func(t *testing.T, l libraries.Lock, n int) {
		play(t, l, n, func(c *client) {
			lease := c.must(c.acquire())
			c.env.Clock.Sleep(2 * ttl)
			err := lease.(clients.Extender).Extend(c.ctx, ttl)
			if l.Name == "redsync-setnx-extend" {
				if err != nil || c.left(0) <= 0 {
					t.Errorf("%v, and the key lasts for %v", err, c.left(0))
				}
			} else if !errors.Is(err, clients.ErrNotHeld) {
				t.Errorf("%v, want one that says that the lease is over", err)
			}
		})
	})
}

// If a node does not answer, the outcome of a release is unknown. redsync still refuses the acquire: it deletes what it may have
// set, and returns no lease. redislock cannot say.
func TestUnknown(t *testing.T) {
	each(t, func(t *testing.T, l libraries.Lock, n int) {
		play(t, l, n, func(c *client) {
			lease := c.must(c.acquire())
			c.env.Close()
			if err := lease.Release(c.ctx); clients.Outcome(err) != history.Info {
				t.Errorf("Release: %s, %v", clients.Outcome(err), err)
			}
			want := history.Fail
			if strings.HasPrefix(l.Name, "redislock") {
				want = history.Info
			}
			if _, err := c.acquire(); clients.Outcome(err) != want {
				t.Errorf("Acquire: %s, %v; want %s", clients.Outcome(err), err, want)
			}
		})
	})
}

// If go-redis repeats commands, it asks again after a lost reply, before the library notices. Otherwise the library gives back what
// it may have got, or says that the outcome is unknown.
func TestRetries(t *testing.T) {
	each(t, func(t *testing.T, l libraries.Lock, n int) {
		if n > 1 {
			return
		}
		faults := []string{"on reply SET n1->c1 reset", "on reply EVAL n1->c1 reset"} // redsync's and redislock's
		events := playWith(t, l, n, faults[:1], func(c *client) { c.acquire() })
		if strings.HasPrefix(l.Name, "redislock") {
			events = playWith(t, l, n, faults[1:], func(c *client) { c.acquire() })
		}
		asked := 0
		for _, e := range events {
			if e.Process != "n1" || e.Kind != history.Message || e.Op != history.Deliver {
				continue
			}
			if strings.HasPrefix(e.Value, "EVALSHA e95083") { // redsync gives it back
				break
			}
			if strings.HasPrefix(e.Value, "SET ") || strings.HasPrefix(e.Value, "EVAL ") {
				asked++
			}
		}
		want := 2
		if strings.HasSuffix(l.Name, "-no-retries") {
			want = 1
		}
		if asked != want {
			t.Errorf("asked %d times, want %d", asked, want)
		}
	})
}

// random matches what looks like a token: sixteen random bytes in one of the alphabets of base64.
var random = regexp.MustCompile(`[A-Za-z0-9+/_-]{22}`)

// Tokens are drawn from crypto/rand, so a history that contained one would differ each time.
func TestTokensAreNamed(t *testing.T) {
	each(t, func(t *testing.T, l libraries.Lock, n int) {
		var tokens []string
		events := play(t, l, n,
			func(c *client) {
				lease := c.must(c.acquire())
				token, err := c.env.Nodes[0].Get(c.ctx, "lock").Result()
				if err != nil || !random.MatchString(token) {
					t.Errorf("the key is %q, %v: that is no token", token, err)
				}
				tokens = append(tokens, token)
				lease.(clients.Extender).Extend(c.ctx, ttl)
			},
			func(c *client) {
				c.acquire()
				c.env.Clock.Sleep(2 * ttl)
				c.must(c.acquire()).Release(c.ctx)
			},
		)
		named := false
		for _, e := range events {
			text := fmt.Sprintf("%+v", e)
			for _, token := range tokens {
				if strings.Contains(text, token) {
					t.Errorf("the token %s is in %s", token, text)
				}
			}
			if found := random.FindString(text); found != "" {
				t.Errorf("%s is in %s", found, text)
			}
			named = named || strings.Contains(text, "c1#1")
		}
		if !named {
			t.Error("no event has the lease of c1")
		}
	})
}

// The version is that in go.mod.
func TestVersion(t *testing.T) {
	required, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "run", "./testdata/versions").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(libraries.Locks()) {
		t.Errorf("%d versions of %d libraries", len(lines), len(libraries.Locks()))
	}
	for _, line := range lines {
		if !regexp.MustCompile(`\s` + regexp.QuoteMeta(line) + `\s`).Match(required) {
			t.Errorf("%s is not what go.mod requires", line)
		}
	}
}

// Names are valid in documents and commands, and none is that of a lock of the literature.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range libraries.Locks() {
		if _, err := clients.Find(l.Name); err == nil || seen[l.Name] {
			t.Errorf("there are two locks called %s", l.Name)
		}
		seen[l.Name] = true
		if found, err := libraries.Find(l.Name); err != nil || found.About != l.About || l.About == "" {
			t.Errorf("Find(%q) is %q, %v", l.Name, found.About, err)
		}
		for _, like := range l.Like {
			if _, err := clients.Find(like); err != nil {
				t.Errorf("%s takes the place of %v", l.Name, err)
			}
		}
	}
	if _, err := libraries.Find("redsyn"); err == nil || !strings.Contains(err.Error(), "redsync") {
		t.Errorf("%v, want the nearest name", err)
	}
}
