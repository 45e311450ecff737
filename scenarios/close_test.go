package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
)

// closing is a lock that is to be closed.
type closing struct {
	clients.Locker
	env    clients.Env
	closed func(env clients.Env)
}

func (l closing) Close() error {
	l.closed(l.env)
	return nil
}

func newClosing(closed func(clients.Env)) clients.New {
	return func(env clients.Env) clients.Locker { return closing{clients.NewSingle(env), env, closed} }
}

// One client comes to the end of its lane, one stays, one crashes. The probe is the fourth.
const leavers = `# Three ways to leave.

ttl 1s
client c1
  acquire
  sleep 100ms
  release
client c2
  until 200ms
  acquire
  sleep 100ms
  release
  stay
client c3
  until 400ms
  acquire
  sleep 20s
nemesis
  at 500ms crash c3

-- single nodes=1 --
`

func leaving(t *testing.T) (*script.Scenario, script.Section) {
	t.Helper()
	s, err := script.Parse("leavers.txtar", []byte(leavers))
	if err != nil {
		t.Fatal(err)
	}
	return s, s.Runs[0]
}

// A lock is closed when its client comes to the end of its lane, and then it can still use the network; or, if the client
// stays or has crashed, with the run.
func TestLocksAreClosed(t *testing.T) {
	s, r := leaving(t)
	var mu sync.Mutex
	var closed []string
	build := newClosing(func(env clients.Env) {
		at := env.Clock.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
		err := env.Nodes[0].Ping(context.Background()).Err()
		mu.Lock()
		defer mu.Unlock()
		closed = append(closed, fmt.Sprintf("%v %t", at.Round(100*time.Millisecond), err == nil))
	})
	o, err := play.Simulate(s, r, build, 1)
	if err != nil {
		t.Fatal(err)
	}
	end := o.History.Events[len(o.History.Events)-1].At.Round(100 * time.Millisecond).String()
	want := []string{"100ms true", end + " true", end + " false", end + " false"}
	slices.Sort(want)
	slices.Sort(closed)
	if !slices.Equal(closed, want) {
		t.Errorf("closed at %q, want %q", closed, want)
	}
}

// A lock that never comes to an end is told of.
func TestLockThatDoesNotClose(t *testing.T) {
	s, r := leaving(t)
	var n atomic.Int64
	_, err := play.Simulate(s, r, newClosing(func(clients.Env) {
		if n.Add(1) > 2 { // with the run
			select {}
		}
	}), 1)
	if err == nil || !strings.Contains(err.Error(), "closing.Close") && !strings.Contains(fmt.Sprintf("%+v", err), "left behind") {
		t.Errorf("%v, want a report of the goroutines that are left", err)
	}
}
