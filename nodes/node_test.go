package nodes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/nodes/engine"
	"lockstep/nodes/internal/redistest"
	"lockstep/sim"
	"lockstep/sim/history"
)

// A request is what a client sends at one time, over a connection of its own.
type request struct {
	client   string
	at       time.Duration
	commands []string
}

// conversation lets clients send requests to servers for three seconds, and returns what each of them hears. Serve returns the
// address for each client.
func conversation(t *testing.T, serve func(w *sim.World) (addr map[string]string, end func()), faults string, requests ...request) (heard map[string]string, h *history.History) {
	t.Helper()
	heard = map[string]string{}
	err := sim.Bubble(func() {
		w := sim.NewWorld(sim.Config{Seed: 1})
		defer w.Close()
		addr, end := serve(w)
		defer end()
		if faults != "" {
			f, err := history.ParseFault(faults)
			if err != nil {
				t.Fatal(err)
			}
			w.Plan(1500*time.Millisecond, f)
		}
		for _, r := range requests {
			p := w.Process(r.client)
			p.Go(func(ctx context.Context) {
				conn, err := p.DialContext(ctx, "tcp", addr[r.client])
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				p.Until(r.at)
				p.Doing("acquire", 1, "")
				for _, command := range r.commands {
					conn.Write(engine.Request(strings.Fields(command)...))
				}
				conn.SetReadDeadline(time.Now().Add(3*time.Second - r.at))
				for buf := make([]byte, 1000); ; {
					n, err := conn.Read(buf)
					if err != nil {
						return
					}
					heard[r.client] += strings.ReplaceAll(string(buf[:n]), "\r\n", " ")
				}
			})
		}
		w.Run()
		h = w.History()
	})
	if err != nil {
		t.Fatal(err)
	}
	return heard, h
}

// alone serves one node to c1, c2 and c3.
func alone(w *sim.World) (addr map[string]string, end func()) {
	n := Serve(w, "n1")
	return map[string]string{"c1": n.Process.Addr(), "c2": n.Process.Addr(), "c3": n.Process.Addr()}, n.Redis.Close
}

// TestNodePushes: a node sends an invalidation to a client that has its keys tracked, and a message to one that is subscribed.
func TestNodePushes(t *testing.T) {
	heard, _ := conversation(t, alone, "",
		request{"c1", 100 * time.Millisecond, []string{"HELLO 3", "CLIENT TRACKING ON", "GET lock"}},
		request{"c2", time.Second, []string{"SET lock 1", "PUBLISH free x"}},
		request{"c3", 100 * time.Millisecond, []string{"SUBSCRIBE free"}})
	if !strings.HasSuffix(heard["c1"], ">2 $10 invalidate *1 $4 lock ") {
		t.Errorf("c1 heard %q", heard["c1"])
	}
	if heard["c3"] != "*3 $9 subscribe $4 free :1 *3 $7 message $4 free $1 x " || heard["c2"] != "+OK :1 " {
		t.Errorf("c3 heard %q, c2 %q", heard["c3"], heard["c2"])
	}
}

// TestNodeServesWaiters: an element goes to the client that waits, and is popped in its name. The list that is left belongs to
// the lease whose token it holds.
func TestNodeServesWaiters(t *testing.T) {
	heard, h := conversation(t, alone, "",
		request{"c1", 100 * time.Millisecond, []string{"BLPOP none queue 0"}},
		request{"c2", time.Second, []string{"RPUSH queue a token-of-c2-number-1"}},
		request{"c3", 200 * time.Millisecond, []string{"BLPOP none 0.5"}})
	if heard["c1"] != "*2 $5 queue $1 a " || heard["c2"] != ":2 " || heard["c3"] != "*-1 " {
		t.Errorf("heard %q", heard)
	}
	var got []string
	for _, e := range h.Events {
		if e.Kind == history.State {
			got = append(got, fmt.Sprint(e.Op, " ", e.Key, " ", e.Lease, " by ", e.By, " sent ", e.Sent.Round(100*time.Millisecond)))
		}
	}
	if want := []string{"set queue c2#1 by c2 sent 1s"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	_, h = conversation(t, alone, "",
		request{"c1", 100 * time.Millisecond, []string{"BLPOP queue 0"}},
		request{"c2", time.Second, []string{"RPUSH queue token-of-c2-number-1"}})
	last := h.Events[slices.IndexFunc(h.Events, func(e history.Event) bool { return e.Op == history.Delete })]
	if last.By != "c1" || last.Owner != "c2#1" || last.Sent.Round(100*time.Millisecond) != 100*time.Millisecond {
		t.Errorf("the element is popped by %s, sent %v: %+v", last.By, last.Sent, last)
	}
}

// TestCutOffWaiterIsServed: a node does not know that the network to a client is cut, so the element is lost.
func TestCutOffWaiterIsServed(t *testing.T) {
	heard, _ := conversation(t, alone, "cut c1-n1",
		request{"c1", 100 * time.Millisecond, []string{"BLPOP queue 0"}},
		request{"c2", 2 * time.Second, []string{"RPUSH queue a", "LLEN queue"}})
	if heard["c1"] != "" || heard["c2"] != ":1 :0 " {
		t.Errorf("heard %q", heard)
	}
}

// TestClusterPublishes: what is published on one node of a cluster reaches the subscribers of all, even if it owns no slot of it.
func TestClusterPublishes(t *testing.T) {
	heard, _ := conversation(t, func(w *sim.World) (addr map[string]string, end func()) {
		g := ServeGroup(w, shards(3, 1))
		return map[string]string{"c1": g.nodes[1].Process.Addr(), "c2": g.nodes[2].Process.Addr(), "c3": g.nodes[0].Process.Addr()}, g.Close
	}, "",
		request{"c1", 1100 * time.Millisecond, []string{"SUBSCRIBE free"}},
		request{"c2", 2 * time.Second, []string{"PUBLISH free x"}},
		request{"c3", 1100 * time.Millisecond, []string{"PSUBSCRIBE f*"}})
	if heard["c1"] != "*3 $9 subscribe $4 free :1 *3 $7 message $4 free $1 x " || heard["c2"] != ":0 " ||
		heard["c3"] != "*3 $10 psubscribe $2 f* :1 *4 $8 pmessage $2 f* $4 free $1 x " {
		t.Errorf("heard %q", heard)
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
