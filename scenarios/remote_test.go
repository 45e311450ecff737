package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/nodes/live"
	"lockstep/nodes/redisserver"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

const ownSecret = "s3cret-of-mine"

// own starts servers as somebody has them, with a password and keys of his own.
func own(t *testing.T, n int) (servers live.Remotes, mine []*redis.Client, processes []*redisserver.Server) {
	t.Helper()
	var urls []string
	for range n {
		s, err := redisserver.Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Stop)
		c := redis.NewClient(&redis.Options{Addr: s.Addr(), Password: ownSecret})
		t.Cleanup(func() { c.Close() })
		open := redis.NewClient(&redis.Options{Addr: s.Addr()})
		defer open.Close()
		if err := open.ConfigSet(t.Context(), "requirepass", ownSecret).Err(); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{play.LockName, clients.CounterKey} {
			if err := c.Set(t.Context(), key, "mine", 0).Err(); err != nil {
				t.Fatal(err)
			}
		}
		mine, processes = append(mine, c), append(processes, s)
		urls = append(urls, "redis://:"+ownSecret+"@"+s.Addr())
	}
	servers, err := live.ParseRemotes(strings.Join(urls, ","), "")
	if err != nil {
		t.Fatal(err)
	}
	return servers, mine, processes
}

// onlyMine checks that servers have what they had before.
func onlyMine(t *testing.T, mine ...*redis.Client) {
	t.Helper()
	for _, c := range mine {
		keys, err := c.Keys(t.Context(), "*").Result()
		slices.Sort(keys)
		if err != nil || !slices.Equal(keys, []string{clients.CounterKey, play.LockName}) {
			t.Errorf("%s has the keys %q, %v", c, keys, err)
		}
		if values := c.MGet(t.Context(), play.LockName, clients.CounterKey).Val(); !slices.Equal(values, []any{"mine", "mine"}) {
			t.Errorf("%s has the values %q", c, values)
		}
	}
}

// onItsOwn are runs of the catalogue that do nothing to the servers.
var onItsOwn = map[string]float64{
	"pause-after-acquire/single": fast,
	"pause-fenced/fenced":        fast,
	"delay-to-resource/fenced":   fast,
	"redlock-calm/redlock":       fast,
	"pause-after-check/redlock":  fast,
}

// On somebody's own servers the verdicts are those of simulation, the history knows neither prefix nor password, and the servers
// have what they had before.
func TestOnOwnServers(t *testing.T) {
	workers := reality(t)
	if testing.Short() {
		t.Skip("takes seconds on real servers")
	}
	servers, mine, _ := own(t, 5)
	var cases []play.Case
	for name, speed := range onItsOwn {
		s, r := find(t, name)
		cases = append(cases, play.Case{Scenario: s, Run: r, Seed: 1, On: play.OnReal, Servers: servers, Speed: speed, Tries: tries})
	}
	s, r := find(t, "pause-after-acquire/single")
	cases = append(cases, play.Case{Scenario: s, Run: r.With("kept-in-hash"), Seed: 1, On: play.OnReal, Servers: servers, Speed: fast, Tries: tries})
	err := play.RunAll(t.Context(), workers, cases, func(_ int, o *play.Outcome) {
		t.Run(o.Name(), func(t *testing.T) {
			if o.Report != nil {
				t.Fatal(o.Report)
			}
			if diffs := append(o.Unexpected(), o.Result.Unmet...); len(diffs) > 0 {
				t.Errorf("%s\n%s", strings.Join(diffs, "; "), o.Timeline())
			}
			if o.History.Meta.On != servers.String() {
				t.Errorf("it says that it was on %s, not %s", o.History.Meta.On, servers)
			}
			data, err := json.Marshal(o.History)
			if err != nil {
				t.Fatal(err)
			}
			for _, no := range []string{ownSecret, "lockstep:"} {
				if strings.Contains(string(data), no) {
					t.Errorf("the history contains %s", no)
				}
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	onlyMine(t, mine...)
}

// A counter shares the last server with a lock node if there is no other.
func TestOnOwnServersCounter(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for real servers")
	}
	workers := reality(t)
	const counting = `# Two clients count.

ttl 5s
client c1
  repeat 20 increment
client c2
  repeat 20 increment

-- single nodes=1 resource=counter --
`
	s, err := script.Parse("counting.txtar", []byte(counting))
	if err != nil {
		t.Fatal(err)
	}
	servers, mine, _ := own(t, 2)
	for n := 1; n <= 2; n++ {
		o := really(t, workers, play.Case{Scenario: s, Run: s.Runs[0], Servers: servers[:n], Speed: calm})
		if o.Report != nil {
			t.Fatal(o.Report)
		}
		last := ""
		for _, e := range o.History.Events {
			if e.Process == script.ResourceName && e.Kind == history.State && e.Key == clients.CounterKey {
				last = e.Value
			}
		}
		if diffs := append(o.Unexpected(), o.Result.Unmet...); len(diffs) > 0 || last != "40" {
			t.Errorf("with %d servers: %s; the counter is %q, want 40\n%s", n, strings.Join(diffs, "; "), last, o.Timeline())
		}
	}
	onlyMine(t, mine...)
}

// inUse returns when a run has keys on a server.
func inUse(t *testing.T, c *redis.Client) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if keys := c.Keys(t.Context(), "lockstep:*").Val(); len(keys) > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the run has no keys")
		}
	}
}

// However a run ends, its keys are gone; nobody sees the password.
func TestOnOwnServersLeavesNothing(t *testing.T) {
	workers := reality(t)
	if testing.Short() {
		t.Skip("takes ten seconds on real servers")
	}
	s, r := find(t, "pause-after-acquire/single")
	tmp, _ := strings.CutPrefix(workers.Command().Env[len(workers.Command().Env)-1], "TMPDIR=")
	servers, mine, processes := own(t, 1)
	c := play.Case{Scenario: s, Run: r, Seed: 1, On: play.OnReal, Servers: servers, Speed: 1}
	t.Run("after the end of its context", func(t *testing.T) { // which is what Ctrl-C does to the program
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- play.RunAll(ctx, workers, []play.Case{c}, func(int, *play.Outcome) {}) }()
		inUse(t, mine[0])
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		environs, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, file := range append(files, environs...) {
			if data, _ := os.ReadFile(file); strings.Contains(string(data), ownSecret) {
				t.Errorf("%s contains the password: %q", file, data)
			}
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		nothingLeft(t, tmp)
		onlyMine(t, mine...)
	})
	t.Run("after a client has panicked", func(t *testing.T) {
		c := c
		c.Run = r.With("panics")
		o := really(t, workers, c)
		if o.Report == nil || !strings.Contains(o.Report.Reason, "panic: as ordered") {
			t.Errorf("%s: %v", o.Result.Verdict, o.Report)
		}
		onlyMine(t, mine...)
	})
	t.Run("after the server has died", func(t *testing.T) {
		var o *play.Outcome
		ended := make(chan error)
		go func() {
			ended <- play.RunAll(t.Context(), workers, []play.Case{c}, func(_ int, out *play.Outcome) { o = out })
		}()
		inUse(t, mine[0])
		processes[0].Crash()
		err := <-ended
		if o == nil || o.Result.Verdict != checker.Inconclusive || o.Report == nil || !strings.HasPrefix(o.Report.Reason, "n1: "+servers.String()+": ") {
			t.Errorf("the outcome is %v", o)
		}
		left, ok := errors.AsType[*live.LeftKeysError](err)
		if !ok || !strings.Contains(left.Error(), "redis-cli -u "+servers.String()+" --scan --pattern 'lockstep:") || strings.Contains(err.Error(), ownSecret) {
			t.Errorf("the keys are left with %v", err)
		}
	})
}

// What would be done to the servers themselves is refused, and what does not fit on them.
func TestOnOwnServersRefuses(t *testing.T) {
	servers, err := live.ParseRemotes("redis://h1,h2", "")
	if err != nil {
		t.Fatal(err)
	}
	const instead = "; --on redis does it to servers that Lockstep starts"
	for _, c := range []struct{ nemesis, header, want string }{
		{"pause c1 1s", "nodes=1", ""},
		{"crash c1", "nodes=2", ""},
		{"cut c1->n1", "nodes=1", ""},
		{"reset c1-n1", "nodes=1", ""},
		{"hold n1->c1", "nodes=1", ""},
		{"crash c1", "nodes=2 resource=counter", ""},
		{"cut c1-resource", "nodes=1 resource=counter", ""},
		{"crash n1", "nodes=1", "crash n1" + instead},
		{"pause n1 1s", "nodes=1", "pause n1 1s" + instead},
		{"jump n1 +1s", "nodes=1", "jump n1 +1s" + instead},
		{"crash n1\n  at 1s restart n1", "nodes=1", "crash n1" + instead},
		{"crash resource", "nodes=1 resource=counter", "crash resource" + instead},
		{"pause c1 1s", "nodes=1 persistence=none", "persistence=none" + instead},
		{"pause c1 1s", "nodes=3", "too few servers: the run has 3 lock nodes, and --on names 2 servers"},
		{"drift n1 +5ppm", "nodes=1", "drift n1 +5ppm" + instead},
		{"jump resource +1s", "nodes=1", "sim only: jump resource +1s"},
	} {
		s, err := script.Parse("x.txtar", []byte("# A title.\n\nclient c1\n  acquire\nnemesis\n  "+c.nemesis+"\n\n-- single "+c.header+" --\n"))
		if err != nil {
			t.Errorf("%s: %v", c.nemesis, err)
			continue
		}
		err = play.CheckRemote(s, s.Runs[0], 1, servers)
		if (err == nil) != (c.want == "") || err != nil && (!play.LeftOut(err) || !strings.HasSuffix(err.Error(), ": "+c.want)) {
			t.Errorf("%s, %s: %v, want %q", c.nemesis, c.header, err, c.want)
		}
	}
}
