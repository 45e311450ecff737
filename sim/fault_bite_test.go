package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lockstep/sim/history"
)

const ms = time.Millisecond

// inject injects the faults of a script, with lines such as "100ms cut c1-n1".
func inject(w *World, script string) {
	for line := range strings.Lines(script) {
		at, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		d, err := history.ParseDuration(at)
		if err != nil {
			panic(err)
		}
		f, err := history.ParseFault(rest)
		if err != nil {
			panic(err)
		}
		w.At(d, func() { w.Inject(f) })
	}
}

// bites lists the faults that had an effect.
func bites(h *history.History) []string {
	var bs []string
	for _, e := range h.Events {
		if e.Kind == history.Bite {
			bs = append(bs, e.Value)
		}
	}
	return bs
}

// A trip is one request with its reply or its error.
type trip struct {
	start, end time.Duration // in true time
	err        error
}

func (t trip) String() string { return fmt.Sprintf("%v to %v: %v", t.start, t.end, t.err) }

// traffic has a client that asks n1 every 10ms for half a second and reads its clocks, and another that asks n2. If idle is set,
// both only wait.
func traffic(t *testing.T, script string, idle bool) (*history.History, []trip) {
	t.Helper()
	var trips []trip
	h := inWorld(t, Config{Seed: 3}, func(w *World) {
		for _, pair := range [][2]string{{"c1", "n1"}, {"c2", "n2"}} {
			n, c := w.Serve(pair[1], &echo{}), w.Process(pair[0])
			c.Go(func(ctx context.Context) {
				if idle {
					c.Until(600 * ms)
					return
				}
				var conn net.Conn
				for w.Now() < 500*ms {
					tr := trip{start: w.Now()}
					conn, tr.err = visit(ctx, c, n, conn)
					tr.end = w.Now()
					if c.Name == "c1" {
						trips = append(trips, tr)
					}
					c.Wall().Now()
					c.Clock().Sleep(10 * ms)
				}
			})
		}
		inject(w, script)
	})
	return h, trips
}

func visit(ctx context.Context, c, n *Process, conn net.Conn) (net.Conn, error) {
	if conn == nil {
		var err error
		if conn, err = c.DialContext(ctx, "tcp", n.Addr()); err != nil {
			return nil, err
		}
	}
	c.Doing(history.Acquire, 1, "")
	_, err := ask(conn, "PING "+c.Name)
	c.Doing("", 0, "")
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// TestBite: a fault bites if, and only if, it has an effect. Each script comes with what must be recorded of each fault: with
// traffic, and in an idle world.
func TestBite(t *testing.T) {
	tests := []struct {
		script string // at 100ms, 200ms, ...
		busy   string // one letter per fault: + for those that bite
		idle   string
	}{
		{"pause c1 50ms", "+", "-"},
		{"pause n1 50ms", "+", "-"},
		{"pause c1|resume c1", "++", "-+"},
		{"pause n1|resume n1", "++", "-+"},
		{"pause c1 150ms|pause c1 10ms", "+-", "--"},
		{"resume c1", "-", "-"},
		{"crash n1|restart n1", "++", "++"},
		{"crash n1|restart n1 empty", "++", "++"},
		{"crash n1 power|restart n1", "++", "++"},
		{"stop n1|restart n1", "++", "++"},
		{"stop n1|crash n1|restart n1", "+-+", "+-+"},
		{"crash n1|crash n1|restart n1|restart n1", "+-+-", "+-+-"},
		{"crash n1|pause n1 50ms|restart n1", "+-+", "+-+"},
		{"restart n1", "-", "-"},
		{"crash c1", "+", "+"},
		{"crash c1|restart c1", "+-", "+-"},
		{"jump c1 +1s|jump c1 -1s", "++", "--"},
		{"jump n1 +1s", "-", "-"}, // n1 never reads its clock
		{"drift c1 +1000ppm|drift c1 +0ppm", "++", "--"},
		{"slew c1 +1s over 10s|slew c1 -1s over 10s", "++", "--"},
		{"cut c1-n1|heal c1-n1", "++", "-+"},
		{"cut c1->n1|heal c1->n1", "++", "-+"},
		{"cut n1->c1|heal", "++", "-+"},
		{"cut c1-n2|heal", "-+", "-+"}, // nobody uses this link
		{"cut c1-n1|heal n1->c1", "+-", "-+"},
		{"heal|heal c1-n1", "--", "--"},
		{"hold c1-n1|release c1-n1", "++", "-+"},
		{"hold n1->c1|heal", "++", "-+"},
		{"cut c1->n1|release c1->n1|heal", "+-+", "--+"},
		{"release c1-n1", "-", "-"},
		{"delay c1-n1 5ms|delay c1-n1 0s", "++", "-+"},
		{"delay c1->n1 5ms|heal c1-n1", "++", "-+"},
		{"delay c1-n1 0s", "-", "-"},
		{"reset c1-n1", "+", "-"},
		{"reset c1-n2", "-", "-"},
		{"on request PING c1->n1 hold|release c1->n1", "++", "--"},
		{"on reply PING n1->c1 hold|heal", "++", "--"},
		{"on request acquire c1->n1 delay 5ms", "+", "-"},
		{"on reply acquire n1->c1 delay 5ms", "+", "-"},
		{"on request PING c1->n1 reset", "+", "-"},
		{"on reply PING n1->c1 reset", "+", "-"},
		{"on request PING #3 c1->n1 delay 5ms", "+", "-"},
		{"on reply PING #300 n1->c1 reset", "-", "-"},
		{"on request SET c1->n1 hold|release c1->n1", "--", "--"},
		{"on request PING c1->n2 hold", "-", "-"},
	}
	for _, tt := range tests {
		faults := strings.Split(tt.script, "|")
		var script strings.Builder
		for i, f := range faults {
			// Faults come half a period later, when no message is on its way, and the last ones while there is still traffic.
			fmt.Fprintf(&script, "%dms %s\n", 100*(i+1)+5, f)
		}
		for _, idle := range []bool{false, true} {
			if tt.script == "cut c1-n1|heal n1->c1" && !idle {
				continue // the other direction stays cut: see TestHealOneWay
			}
			want := tt.busy
			if idle {
				want = tt.idle
			}
			h, _ := traffic(t, script.String(), idle)
			bitten := map[int]bool{}
			for _, e := range h.Events {
				if e.Kind == history.Bite {
					bitten[e.ID] = true
				}
			}
			got := ""
			for i := range faults {
				if bitten[i+1] {
					got += "+"
				} else {
					got += "-"
				}
			}
			if got != want {
				t.Errorf("%s (idle %v): %s, want %s", tt.script, idle, got, want)
			}
		}
	}
}

// TestStall: each of these faults holds back one request, or its reply, while it is in force, and nothing else. Its counterpart
// ends it at once.
func TestStall(t *testing.T) {
	for _, script := range []string{
		"100ms pause c1 200ms",
		"100ms pause c1\n300ms resume c1",
		"100ms pause n1 200ms",
		"100ms pause n1\n300ms resume n1",
		"100ms pause n1 200ms\n200ms pause n1 10ms", // the end of one pause does not end the other
		"100ms cut c1-n1\n300ms heal c1-n1",
		"100ms cut c1->n1\n300ms heal c1->n1",
		"100ms cut n1->c1\n300ms heal n1->c1",
		"100ms cut c1-n1\n300ms heal",
		"100ms hold c1-n1\n300ms release c1-n1",
		"100ms hold c1->n1\n300ms release c1-n1",
		"100ms hold n1->c1\n300ms heal",
		"100ms on request PING c1->n1 hold\n300ms release c1->n1",
		"100ms on request acquire c1->n1 hold\n300ms heal",
		"100ms on reply PING n1->c1 hold\n300ms release n1->c1",
		"100ms on reply acquire n1->c1 hold\n300ms heal c1-n1",
		"100ms hold c1->n1\n110ms cut c1->n1\n300ms heal",
		"100ms on request PING c1->n1 delay 200ms",
		"100ms on reply PING n1->c1 delay 200ms",
	} {
		_, trips := traffic(t, script, false)
		stalled := 0
		for _, tr := range trips {
			if tr.end-tr.start < 5*ms && tr.err == nil {
				if tr.start > 115*ms && tr.start < 300*ms {
					t.Errorf("%q: came through: %v", script, tr)
				}
				continue
			}
			stalled++
			if tr.err != nil || tr.start < 80*ms || tr.start > 115*ms || tr.end < 300*ms || tr.end > 320*ms {
				t.Errorf("%q: %v", script, tr)
			}
		}
		// A pause of the client may fall between two requests; then its sleep lasts longer instead.
		if stalled != 1 && !(stalled == 0 && strings.Contains(script, "pause c1")) {
			t.Errorf("%q: %d trips took long", script, stalled)
		}
	}
}

func TestHealOneWay(t *testing.T) {
	_, trips := traffic(t, "100ms cut c1-n1\n200ms heal n1->c1\n300ms heal c1->n1", false)
	for _, tr := range trips {
		if tr.end > 115*ms && tr.end < 300*ms {
			t.Errorf("came through: %v", tr)
		}
	}
}

func TestDelay(t *testing.T) {
	for script, by := range map[string]time.Duration{
		"100ms delay c1-n1 5ms\n300ms delay c1-n1 0s":               10 * ms,
		"100ms delay c1->n1 5ms\n300ms heal":                        5 * ms,
		"100ms delay n1->c1 5ms\n300ms delay n1->c1 0s":             5 * ms,
		"100ms delay c1-n1 50ms\n101ms delay c1-n1 5ms\n300ms heal": 10 * ms,
	} {
		_, trips := traffic(t, script, false)
		for _, tr := range trips {
			took := tr.end - tr.start
			late := tr.start > 101*ms && tr.start < 300*ms
			if tr.start > 90*ms && tr.start < 101*ms || tr.start > 280*ms && tr.start < 300*ms {
				continue // it was on its way when the delay changed
			}
			if late && (took < by || took > by+3*ms) || !late && took > 5*ms {
				t.Errorf("%q: %v", script, tr)
			}
		}
	}
}

func TestCrashOfServer(t *testing.T) {
	h, trips := traffic(t, "100ms crash n1\n300ms restart n1", false)
	var eof, refused int
	for _, tr := range trips {
		switch {
		case tr.err == nil && tr.end > 105*ms && tr.start < 299*ms:
			t.Errorf("came through: %v", tr)
		case tr.err == nil:
		case tr.start < 98*ms || tr.start > 300*ms:
			t.Errorf("failed: %v", tr)
		case tr.err == io.EOF:
			eof++
		case errors.Is(tr.err, syscall.ECONNREFUSED):
			refused++
		default:
			t.Errorf("failed otherwise: %v", tr)
		}
	}
	if eof != 1 || refused < 10 {
		t.Errorf("%d times EOF, %d times refused", eof, refused)
	}
	if want := []string{"crash n1", "restart n1"}; !slices.Equal(bites(h), want) {
		t.Errorf("bites %q", bites(h))
	}
}

func TestReset(t *testing.T) {
	for _, script := range []string{"100ms reset c1-n1", "100ms on request PING c1->n1 reset", "100ms on reply acquire n1->c1 reset"} {
		h, trips := traffic(t, script, false)
		broken := 0
		for _, tr := range trips {
			if tr.err != nil {
				broken++
				if !errors.Is(tr.err, syscall.ECONNRESET) || tr.start > 115*ms {
					t.Errorf("%q: %v", script, tr)
				}
			}
		}
		if broken != 1 {
			t.Errorf("%q: %d trips failed", script, broken)
		}
		lost := slices.ContainsFunc(h.Events, func(e history.Event) bool { return e.Kind == history.Message && e.Op == history.Drop })
		if !lost {
			t.Errorf("%q: no message was lost", script)
		}
	}
}

// TestResetLosesWhatIsHeld: a reset also loses what a client sent on a connection that it has closed since.
func TestResetLosesWhatIsHeld(t *testing.T) {
	s := &echo{}
	inWorld(t, Config{Seed: 1}, func(w *World) {
		n, c := w.Serve("n1", s), w.Process("c1")
		c.Go(func(ctx context.Context) {
			conn := dial(ctx, c, n)
			c.Until(100 * ms)
			io.WriteString(conn, "late\n")
			conn.Close()
			c.Until(500 * ms)
		})
		inject(w, "50ms cut c1->n1\n200ms reset c1-n1\n300ms heal")
	})
	if len(s.lines) != 0 || s.closed != 1 {
		t.Errorf("got %q, closed %d", s.lines, s.closed)
	}
}

// TestReleaseUnderWay: a message that was chosen to be held can be released before it would have arrived.
func TestReleaseUnderWay(t *testing.T) {
	s := &echo{}
	h := inWorld(t, Config{Seed: 1}, func(w *World) {
		n, c := w.Serve("n1", s), w.Process("c1")
		c.Go(func(ctx context.Context) {
			conn := dial(ctx, c, n)
			defer conn.Close()
			c.Until(100 * ms)
			if _, err := ask(conn, "PING"); err != nil {
				t.Error(err)
			}
		})
		inject(w, "50ms on request PING c1->n1 hold\n100100µs release c1->n1")
	})
	if len(s.lines) != 1 || h.Events[len(h.Events)-1].At > 110*ms {
		t.Errorf("%q, and the last event at %v", s.lines, h.Events[len(h.Events)-1].At)
	}
	if want := []string{"release c1->n1"}; !slices.Equal(bites(h), want) {
		t.Errorf("bites %q", bites(h)) // the hold had not delayed anything
	}
}

// TestStay: a process that stays can be paused and can crash after the end of its lane; another has exited then.
func TestStay(t *testing.T) {
	for _, stays := range []bool{false, true} {
		var want []string
		if stays {
			want = []string{"pause c1 1s", "crash c1"}
		}
		h := inWorld(t, Config{Seed: 1}, func(w *World) {
			c := w.Process("c1")
			if stays {
				c.Stay()
			}
			c.Go(func(context.Context) { go c.Clock().Sleep(1500 * time.Millisecond) })
			other := w.Process("c2")
			other.Go(func(context.Context) { other.Until(10 * time.Second) })
			inject(w, "1s pause c1 1s\n3s crash c1")
		})
		if got := bites(h); !slices.Equal(got, want) {
			t.Errorf("stays %v: bites %q, want %q", stays, got, want)
		}
	}
}

// TestCrashOfClient: I/O fails, the context is cancelled, nothing more is recorded, sleeps end, and lanes are over. What the client
// had sent arrives.
func TestCrashOfClient(t *testing.T) {
	s := &echo{}
	ended := map[string]bool{}
	var mu sync.Mutex
	h := inWorld(t, Config{Seed: 1}, func(w *World) {
		n, c := w.Serve("n1", s), w.Process("c1")
		end := func(what string) {
			mu.Lock()
			ended[what] = true
			mu.Unlock()
			c.Record(history.Event{Kind: history.Info, Value: "a dead process said " + what})
		}
		// Each of these goroutines is in the middle of something when its process dies.
		lives := map[string]func(ctx context.Context, conn net.Conn){
			"context": func(ctx context.Context, _ net.Conn) { <-ctx.Done() },
			"read": func(_ context.Context, conn net.Conn) {
				if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
					t.Error("read:", err)
				}
				if _, err := conn.Write([]byte("a dead process wrote\n")); !errors.Is(err, net.ErrClosed) {
					t.Error("write:", err)
				}
			},
			"dial": func(ctx context.Context, _ net.Conn) {
				c.Until(100 * ms)
				if _, err := c.DialContext(context.Background(), "tcp", n.Addr()); !errors.Is(err, net.ErrClosed) {
					t.Error("dial:", err)
				}
				if _, err := c.DialContext(context.Background(), "tcp", n.Addr()); !errors.Is(err, net.ErrClosed) {
					t.Error("dial after death:", err)
				}
			},
			"sleep": func(context.Context, net.Conn) { c.Clock().Sleep(time.Hour) },
			"until": func(context.Context, net.Conn) { c.Until(time.Hour) },
			"timer": func(context.Context, net.Conn) { <-c.Clock().After(time.Hour) },
			"wall":  func(context.Context, net.Conn) { <-c.Wall().After(time.Hour) },
			"renews": func(_ context.Context, conn net.Conn) {
				for range c.Clock().NewTicker(time.Minute).Chan() {
					io.WriteString(conn, "x\n")
				}
			},
			"renews by package time": func(_ context.Context, conn net.Conn) {
				for {
					time.Sleep(5 * time.Second)
					io.WriteString(conn, "x\n")
				}
			},
		}
		for what, live := range lives {
			c.Go(func(ctx context.Context) {
				conn := dial(ctx, c, n)
				defer end(what)
				live(ctx, conn)
			})
		}
		c.Go(func(ctx context.Context) {
			conn := dial(ctx, c, n)
			c.Until(100*ms - 1)
			io.WriteString(conn, "last words\n")
		})
		c.Clock().AfterFunc(time.Second, func() { t.Error("a dead process called a function") })
		inject(w, "100100µs crash c1")
		w.Process("c2").Go(func(context.Context) { time.Sleep(time.Minute) })
		t.Cleanup(func() {
			for what := range lives {
				if !ended[what] {
					t.Errorf("%s: never ended", what)
				}
			}
		})
	})
	for _, e := range h.Events {
		if e.Kind == history.Info {
			t.Error(e.Value)
		}
	}
	if want := []string{"last words"}; !slices.Equal(s.lines, want) {
		t.Errorf("the server got %q, want %q", s.lines, want)
	}
	if want := []string{"crash c1"}; !slices.Equal(bites(h), want) {
		t.Errorf("bites %q", bites(h))
	}
}

// TestCrashEndsPause: a lane that is in a pause of its own does not continue after a crash.
func TestCrashEndsPause(t *testing.T) {
	inWorld(t, Config{Seed: 1}, func(w *World) {
		c := w.Process("c1")
		c.Go(func(ctx context.Context) {
			c.Pause(time.Second)
			t.Error("woke up")
		})
		inject(w, "500ms crash c1")
		w.Process("c2").Go(func(context.Context) { time.Sleep(2 * time.Second) })
	})
}

// TestPauseFromTheStart: a process that is paused before its lane begins does nothing until it resumes.
func TestPauseFromTheStart(t *testing.T) {
	h := inWorld(t, Config{Seed: 1}, func(w *World) {
		inject(w, "0s pause c1 15s")
		c := w.Process("c1")
		c.Go(func(context.Context) {
			c.Note(history.Event{Kind: history.Invoke, Op: history.Acquire, ID: 1})
			if now := w.Now(); now != 15*time.Second {
				t.Errorf("it begins at %v", now)
			}
		})
	})
	for _, e := range h.Events {
		if e.Op == history.Unpaused {
			t.Error("it ran on while it was paused")
		}
	}
	if want := []string{"pause c1 15s"}; !slices.Equal(bites(h), want) {
		t.Errorf("bites %q, want %q", bites(h), want)
	}
}

// TestCrashInPause: a process that crashes while it is paused never does what was waiting for its resume.
func TestCrashInPause(t *testing.T) {
	s := &echo{}
	h := inWorld(t, Config{Seed: 1}, func(w *World) {
		n, c1, c2 := w.Serve("n1", s), w.Process("c1"), w.Process("c2")
		c1.Go(func(ctx context.Context) {
			conn := dial(ctx, c1, n)
			c1.Until(100 * ms)
			if _, err := ask(conn, "unread"); !errors.Is(err, syscall.ECONNRESET) {
				t.Error("unread bytes:", err)
			}
			conn.Close()
		})
		c2.Go(func(ctx context.Context) {
			c2.Until(100 * ms)
			conn := dial(ctx, c2, n) // the operating system accepts
			if _, err := conn.Read(make([]byte, 1)); err != io.EOF {
				t.Error("never served:", err)
			}
			conn.Close()
			c2.Until(400 * ms)
		})
		inject(w, "50ms pause n1\n200ms crash n1\n300ms restart n1\n301ms resume n1")
	})
	if len(s.lines) != 0 || s.opened != 1 || s.closed != 1 {
		t.Errorf("got %q, opened %d, closed %d", s.lines, s.opened, s.closed)
	}
	if want := []string{"pause n1", "crash n1", "restart n1"}; !slices.Equal(bites(h), want) {
		t.Errorf("bites %q", bites(h))
	}
}

// TestLostStaysLost: a message that a reset has lost does not arrive when the connection has something else under way: the client crashes
// before it has learnt of the reset, and its operating system hangs up.
func TestLostStaysLost(t *testing.T) {
	s := &echo{}
	h := inWorld(t, Config{Seed: 1}, func(w *World) {
		n, c := w.Serve("n1", s), w.Process("c1")
		c.Go(func(ctx context.Context) {
			conn := dial(ctx, c, n)
			c.Until(100 * ms)
			io.WriteString(conn, "hello\n")
			conn.Read(make([]byte, 1))
		})
		inject(w, "50ms delay c1->n1 1s\n150ms pause c1\n200ms reset c1-n1\n300ms crash c1")
		w.Process("c2").Go(func(context.Context) { time.Sleep(3 * time.Second) })
	})
	var got []string
	for _, e := range h.Events {
		if e.Kind == history.Message {
			got = append(got, fmt.Sprint(e.At.Round(ms), " ", e.Op, " ", e.Value))
		}
	}
	if want := []string{"200ms drop hello"}; !slices.Equal(got, want) || len(s.lines) > 0 {
		t.Errorf("%q, and the server got %q", got, s.lines)
	}
}

// TestCrashWhileItConnects: a server hears that a client has crashed even if the client was paused when its connection was accepted.
func TestCrashWhileItConnects(t *testing.T) {
	s := &echo{}
	inWorld(t, Config{Seed: 1}, func(w *World) {
		n, c := w.Serve("n1", s), w.Process("c1")
		c.Go(func(ctx context.Context) {
			c.Until(100 * ms)
			if _, err := c.DialContext(ctx, "tcp", n.Addr()); err == nil {
				t.Error("a paused client has connected")
			}
		})
		inject(w, "100100µs pause c1\n200ms crash c1")
		w.Process("c2").Go(func(context.Context) { time.Sleep(time.Second) })
	})
	if s.opened != 1 || s.closed != 1 {
		t.Errorf("opened %d, closed %d", s.opened, s.closed)
	}
}

// TestRestore: the faults that are in force are undone, except for the errors that clocks have accumulated.
func TestRestore(t *testing.T) {
	for _, script := range []string{
		"10ms pause c1", "10ms pause n1", "10ms crash n1", "10ms cut c1-n1", "10ms hold n1->c1", "10ms delay c1-n1 1s",
		"10ms on request PING c1->n1 hold", "10ms on reply PING n1->c1 hold",
		"10ms pause n1\n11ms cut c1-n1\n12ms pause c1\n13ms delay c1-n1 1h",
	} {
		var took time.Duration
		err := Bubble(func() {
			w := NewWorld(Config{Seed: 1})
			n, c := w.Serve("n1", &echo{}), w.Process("c1")
			inject(w, script)
			w.RunFor(20 * ms)
			before := len(w.History().Events)
			w.Restore()
			for _, e := range w.History().Events[before:] {
				if e.ID != 0 {
					t.Errorf("%q: %s has the number of a fault, %d", script, e.Value, e.ID)
				}
			}
			c.Go(func(ctx context.Context) {
				conn := dial(ctx, c, n)
				defer conn.Close()
				if _, err := ask(conn, "PING"); err != nil {
					t.Errorf("%q: %v", script, err)
				}
				took = w.Now() - 20*ms
			})
			w.Run()
			w.Close()
		})
		if err != nil || took > 10*ms {
			t.Errorf("%q: %v, took %v", script, err, took)
		}
	}
}

// Once the code under test has asked for the time, a read by the code that carries out the lane counts too, even if it is the only
// one after the fault.
func TestClockFaultsBiteTheLane(t *testing.T) {
	for _, asks := range []bool{true, false} {
		h := inWorld(t, Config{Seed: 1}, func(w *World) {
			c := w.Process("c1")
			c.Go(func(ctx context.Context) {
				if asks {
					c.Clock().Now()
				}
				time.Sleep(100 * ms)
				HarnessClock(c.Clock()).Now()
			})
			inject(w, "50ms drift c1 +1000ppm")
		})
		if got := len(bites(h)); got != map[bool]int{true: 1}[asks] {
			t.Errorf("the lock has asked: %v; the fault bit %d times", asks, got)
		}
	}
}

// A fault of the clocks of a client bites once the code under test has asked them for the time. Neither the code that carries out a
// lane nor code that uses package time makes it bite.
func TestClockFaultsBiteWhoReads(t *testing.T) {
	bitten := func(script string, lane func(c *Process, other Timekeeper)) []string {
		return bites(inWorld(t, Config{Seed: 1}, func(w *World) {
			n, c := w.Serve("n1", &echo{}), w.Process("c1")
			c.Go(func(ctx context.Context) {
				conn := dial(ctx, c, n)
				lane(c, HarnessClock(c.Clock()))
				conn.SetReadDeadline(time.Now().Add(10 * ms)) // measured by the clock of the process, whoever sets it
				conn.Read(make([]byte, 1))
				HarnessClock(c.Clock()).Sleep(10 * ms)
				HarnessClock(c.Clock()).Now()
			})
			inject(w, script)
		}))
	}
	for _, c := range []struct {
		name string
		lane func(c *Process, other Timekeeper)
		want int
	}{
		{"nobody", func(*Process, Timekeeper) {}, 0},
		{"package time", func(*Process, Timekeeper) { time.Sleep(time.Until(time.Now().Add(100 * ms))) }, 0},
		{"the harness", func(_ *Process, other Timekeeper) { other.Now(); other.Sleep(100 * ms); other.Until(time.Now()) }, 0},
		{"timers alone", func(c *Process, _ Timekeeper) { c.Clock().Sleep(100 * ms); <-c.Wall().After(ms) }, 0},
		{"the steady clock", func(c *Process, _ Timekeeper) { c.Until(100 * ms); c.Clock().Since(time.Now()) }, 1},
		{"the wall clock", func(c *Process, _ Timekeeper) { c.Until(100 * ms); c.Wall().Now() }, 1},
		{"before the fault", func(c *Process, _ Timekeeper) { c.Clock().Now(); c.Until(100 * ms) }, 1},
	} {
		for _, fault := range []string{"drift c1 +1000ppm", "jump c1 -1s", "slew c1 +1s over 10s"} {
			if got := bitten("50ms "+fault, c.lane); len(got) != c.want {
				t.Errorf("read by %s: %s bit %d times, want %d", c.name, fault, len(got), c.want)
			}
		}
	}
}

// A jump of a server's wall clock bites once the server reads that clock, even if it has read its steady clock in between.
func TestClockFaultsBiteServers(t *testing.T) {
	for _, wall := range []bool{false, true} {
		h := inWorld(t, Config{Seed: 1}, func(w *World) {
			n := w.Serve("n1", &echo{})
			inject(w, "50ms jump n1 +1s")
			w.At(60*ms, func() { n.Clock().Now() })
			w.At(70*ms, func() {
				if wall {
					n.Wall().Now()
				}
			})
			w.Process("c1").Go(func(context.Context) { time.Sleep(100 * ms) })
		})
		if got := len(bites(h)); got != map[bool]int{true: 1}[wall] {
			t.Errorf("read the wall clock: %v; the jump bit %d times", wall, got)
		}
	}
}
