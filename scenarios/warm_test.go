package scenarios

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"lockstep/checker"
	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim"
	"lockstep/sim/history"
)

// twoClients take turns.
const twoClients = `# Two clients take turns.

client c1
  acquire
  write A
  release
client c2
  until 1s
  acquire
  write B
  release
must c2 acquires

-- redlock nodes=5 --
`

// A client with a warm pool neither connects nor says hello in the run; the probe does not, either. Its first request leaves at the
// instant of its first operation, and everything else is as in any run.
func TestWarmPool(t *testing.T) {
	for _, pool := range []string{"", " pool=warm"} {
		s, err := script.Parse("warm.txtar", []byte(strings.Replace(twoClients, "nodes=5", "nodes=5"+pool, 1)))
		if err != nil {
			t.Fatal(err)
		}
		o, err := play.Simulate(s, s.Runs[0], clients.NewRedlock, 1)
		if err != nil {
			t.Fatal(err)
		}
		hellos, first := 0, history.NoEnd
		for _, e := range o.History.Events {
			if e.Kind == history.Message && e.Word == "HELLO" && e.Process[0] == 'n' {
				hellos++
			}
			if e.Kind == history.State && first == history.NoEnd {
				first = e.At
			}
		}
		want, limit := 15, 10*sim.MaxLatency
		if pool != "" {
			want, limit = 0, sim.MaxLatency
		}
		if hellos != want {
			t.Errorf("%q: %d connections were greeted in the run, want %d", pool, hellos, want)
		}
		if first > limit {
			t.Errorf("%q: the first key was set at %v", pool, first)
		}
		if o.Result.Verdict != checker.Safe {
			t.Errorf("%q:\n%s", pool, o.Timeline())
		}
	}
}

// A client that the lock makes with [clients.Env.Client] is warm, too, in a series and alone.
func TestWarmPoolOfOwnClients(t *testing.T) {
	s, err := script.Parse("warm.txtar", []byte(strings.Replace(twoClients, "redlock nodes=5", "single nodes=1 pool=warm", 1)))
	if err != nil {
		t.Fatal(err)
	}
	own := func(env clients.Env) clients.Locker {
		env.Nodes = []*redis.Client{env.Client(env.Addrs[0], func(o *redis.Options) { o.MaxRetries = 0 })}
		return clients.NewSingle(env)
	}
	greeted := func(o *play.Outcome) bool {
		return slices.ContainsFunc(o.History.Events, func(e history.Event) bool { return e.Kind == history.Message && e.Word == "HELLO" })
	}
	alone, err := play.Simulate(s, s.Runs[0], own, 1)
	if err != nil || greeted(alone) || alone.Result.Verdict != checker.Safe {
		t.Errorf("%v\n%s", err, alone.Timeline())
	}
	err = play.Series(func(play play.Player) {
		for range 2 {
			if o := play(s, s.Runs[0], own, 1); o.History.Meta.Checksum != alone.History.Meta.Checksum {
				t.Errorf("in a series:\n%s", o.Timeline())
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// What leaves at the very beginning has left, as far as the checker is concerned: here a SET to a node that is cut off, which arrives
// long after its client has given up on it, and whose key nobody removes.
func TestWarmRequestAtTheBeginning(t *testing.T) {
	s, err := script.Parse("beginning.txtar", []byte(`# A link is cut before anything was sent.

client c1
  acquire within 20s
nemesis
  cut c1-n2
  cut c1-n3
  when c1 acquires +10s heal c1-n3

-- redlock nodes=3 pool=warm --
`))
	if err != nil {
		t.Fatal(err)
	}
	o, err := play.Simulate(s, s.Runs[0], clients.NewRedlock, 1)
	if err != nil || o.Result.Status(checker.FaultTolerance) != checker.OK {
		t.Errorf("%v\n%s", err, o.Timeline())
	}
}

// A lock that has the name of another is not given what a series keeps of that one's clients: a hook would stay on them.
func TestSeriesKeepsNoHooks(t *testing.T) {
	s, err := script.Parse("hooks.txtar", []byte(strings.Replace(twoClients, "redlock nodes=5", "single nodes=1 pool=warm", 1)))
	if err != nil {
		t.Fatal(err)
	}
	heard := 0
	hooked := func(env clients.Env) clients.Locker {
		env.Nodes[0].AddHook(hook{&heard})
		return clients.NewSingle(env)
	}
	err = play.Series(func(play play.Player) {
		for range 2 { // so that the series has something to keep
			play(s, s.Runs[0], clients.NewSingle, 1)
		}
		var first int
		for i := range 4 {
			heard = 0
			play(s, s.Runs[0], hooked, 1)
			if i == 0 {
				first = heard
			}
			if heard != first || heard == 0 {
				t.Errorf("run %d: the hooks heard %d commands, in the first run %d", i, heard, first)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// hook counts commands.
type hook struct{ heard *int }

func (h hook) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		*h.heard++
		return next(ctx, cmd)
	}
}
func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
