package nodes

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/nodes/engine"
	"lockstep/nodes/internal/redistest"
	"lockstep/sim"
	"lockstep/sim/history"
)

// TestNodePushes: a node sends an invalidation to a client that has its keys tracked.
func TestNodePushes(t *testing.T) {
	var heard string
	err := sim.Bubble(func() {
		w := sim.NewWorld(sim.Config{Seed: 1})
		defer w.Close()
		n := Serve(w, "n1")
		defer n.Redis.Close()
		talk := func(p *sim.Process, at time.Duration, requests ...string) {
			p.Go(func(ctx context.Context) {
				conn, err := p.DialContext(ctx, "tcp", n.Process.Addr())
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				p.Until(at)
				for _, request := range requests {
					conn.Write(engine.Request(strings.Fields(request)...))
				}
				p.Until(2 * time.Second)
				conn.SetReadDeadline(time.Now().Add(time.Second))
				for buf := make([]byte, 1000); ; {
					n, err := conn.Read(buf)
					if err != nil {
						return
					}
					if p.Name == "c1" {
						heard += string(buf[:n])
					}
				}
			})
		}
		talk(w.Process("c1"), 100*time.Millisecond, "HELLO 3", "CLIENT TRACKING ON", "GET lock")
		talk(w.Process("c2"), time.Second, "SET lock 1")
		w.Run()
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(heard, ">2\r\n$10\r\ninvalidate\r\n*1\r\n$4\r\nlock\r\n") {
		t.Errorf("c1 heard %q", heard)
	}
}

// TestRestartedNodeExpiresKeys: a key that came back from the disk expires at its deadline, without a request.
func TestRestartedNodeExpiresKeys(t *testing.T) {
	var got []string
	err := sim.Bubble(func() {
		w := sim.NewWorld(sim.Config{Seed: 1})
		defer w.Close()
		n := Serve(w, "n1")
		defer n.Redis.Close()
		c1, c2 := w.Process("c1"), w.Process("c2")
		w.Plan(200*time.Millisecond, history.Crash{Process: "n1"})
		w.Plan(300*time.Millisecond, history.Restart{Process: "n1"})
		addrs := map[redistest.Host]string{c1: n.Process.Addr(), c2: n.Process.Addr()}
		redistest.Talk(c1, c2, addrs, w.Run, "c1 a SET lock token-of-c1-number-1 NX PX 1000\nc1 2s")
		for _, e := range w.History().Events {
			if e.Kind == history.State {
				got = append(got, e.Op+" "+e.At.Round(100*time.Millisecond).String())
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"set 0s", "expire 1s"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
