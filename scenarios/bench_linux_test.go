package scenarios

import (
	"context"
	"net"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"

	"lockstep/clients"
	"lockstep/nodes"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim"
)

// commands is what the costs are measured for. Each round leaves the node as it found it.
var commands = []struct {
	name string
	do   func(ctx context.Context, c *redis.Client) error
}{
	{"SETNX", func(ctx context.Context, c *redis.Client) error {
		return c.SetNX(ctx, "lock", "0123456789abcdef0123456789abcdef01234567", 10*time.Second).Err()
	}},
	{"LuaRelease", func(ctx context.Context, c *redis.Client) error {
		return release.Run(ctx, c, []string{"lock"}, "none").Err()
	}},
}

var release = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)

const perRound = 2000

// BenchmarkCommand gives the cost of one command in simulation (go-redis, the kernel, a simulated node) as a ratio to the
// cost of the same command over a bare net.Pipe to miniredis. The two take turns within one run, and the medians count, so
// that a busy machine slows both.
func BenchmarkCommand(b *testing.B) {
	play.QuietRedis()
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // as where many commands are simulated
	for _, command := range commands {
		b.Run(command.name, func(b *testing.B) {
			var piped, simulated []time.Duration
			for b.Loop() {
				piped = append(piped, onPipe(b, command.do))
				simulated = append(simulated, onSim(b, command.do))
			}
			p, s := median(piped), median(simulated)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(s)/float64(p), "ratio")
			b.ReportMetric(float64(s)/perRound, "sim-ns")
			b.ReportMetric(float64(p)/perRound, "pipe-ns")
		})
	}
}

// BenchmarkRedlockRuns gives how many runs of two clients on five nodes, each of which acquires, writes and releases, one
// core does in a second, in a series, with the final probe, the verdict, and everything that a run needs from its beginning:
// with connections that are open when it begins, and with clients that connect first.
func BenchmarkRedlockRuns(b *testing.B) {
	b.Run("warm", func(b *testing.B) { redlockRuns(b, strings.Replace(twoClients, "nodes=5", "nodes=5 pool=warm", 1)) })
	b.Run("cold", func(b *testing.B) { redlockRuns(b, twoClients) })
}

func redlockRuns(b *testing.B, page string) {
	b.Helper()
	play.QuietRedis()
	s, err := script.Parse("bench.txtar", []byte(page))
	if err != nil {
		b.Fatal(err)
	}
	err = play.Series(func(play play.Player) {
		for b.Loop() {
			play(s, s.Runs[0], clients.NewRedlock, 1)
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}

// BenchmarkRedlockRunsAlone is BenchmarkRedlockRuns without a series.
func BenchmarkRedlockRunsAlone(b *testing.B) {
	play.QuietRedis()
	s, err := script.Parse("bench.txtar", []byte(twoClients))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := play.Simulate(s, s.Runs[0], clients.NewRedlock, 1); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
}

func onPipe(b *testing.B, do func(context.Context, *redis.Client) error) time.Duration {
	b.Helper()
	m := miniredis.NewMiniRedis()
	if err := m.Start(); err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	dial := func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go m.Server().ServeConn(server)
		return client, nil
	}
	env := clients.NewEnv(clockwork.NewRealClock(), clockwork.NewRealClock(), nil, dial, []string{"10.0.0.1:6379"})
	defer env.Close()
	return rounds(b, do, env.Nodes[0])
}

func onSim(b *testing.B, do func(context.Context, *redis.Client) error) (took time.Duration) {
	b.Helper()
	err := sim.Bubble(func() {
		w := sim.NewWorld(sim.Config{})
		defer w.Close()
		n := nodes.Serve(w, "n1")
		defer n.Redis.Close()
		p := w.Process("c1")
		p.Go(func(ctx context.Context) {
			env := clients.NewEnv(p.Clock(), p.Wall(), sim.Rand(1, "client", "c1"), p.DialContext, []string{n.Process.Addr()})
			defer env.Close()
			took = rounds(b, do, env.Nodes[0])
		})
		w.Run()
	})
	if err != nil {
		b.Fatal(err)
	}
	return took
}

// rounds returns how long perRound commands take, by the machine's clock: the one of the time package stands still in a
// bubble.
func rounds(b *testing.B, do func(context.Context, *redis.Client) error, c *redis.Client) time.Duration {
	for range 10 { // open the connection, load the script
		if err := do(context.Background(), c); err != nil {
			b.Error(err)
		}
	}
	start := machineTime()
	for range perRound {
		if err := do(context.Background(), c); err != nil {
			b.Error(err)
			break
		}
	}
	return machineTime() - start
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// machineTime reads the monotonic clock of the machine, also inside a bubble.
func machineTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}
