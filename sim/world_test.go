package sim

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockstep/sim/history"
)

// echo is a service that answers each line with the line itself. The first word of a line names the request; "token t" is shown
// with the name of the token.
type echo struct {
	opened, closed int
	lines          []string
}

func (e *echo) Open(*Conn)   { e.opened++ }
func (e *echo) Closed(*Conn) { e.closed++ }
func (e *echo) Receive(c *Conn, data []byte) {
	e.lines = append(e.lines, strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")...)
	c.Write(data)
}

func (e *echo) Describe(data []byte, reply bool, name func(string) string) string {
	words := strings.Fields(string(data))
	for i := 1; i < len(words); i++ {
		if words[i-1] == "token" {
			words[i] = name(words[i])
		}
	}
	return strings.Join(words, " ")
}

// inWorld calls f with a new world in a bubble, and then runs the world.
func inWorld(t testing.TB, cfg Config, f func(*World)) *history.History {
	t.Helper()
	var h *history.History
	err := Bubble(func() {
		w := NewWorld(cfg)
		f(w)
		w.Run()
		if w.Cap() != "" {
			panic("hit " + w.Cap())
		}
		h = w.History()
		h.Meta.Checksum = w.Checksum()
		w.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func dial(ctx context.Context, p, to *Process) net.Conn {
	c, err := p.DialContext(ctx, "tcp", to.Addr())
	if err != nil {
		panic(err)
	}
	return c
}

// ask sends a line and waits for the reply.
func ask(c net.Conn, line string) (string, error) {
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		return "", err
	}
	return bufio.NewReader(c).ReadString('\n')
}

// texts lists the messages that were delivered to a process, or lost on their way to it.
func texts(h *history.History, to string) []string {
	var ts []string
	for _, e := range h.Events {
		if e.Kind == history.Message && e.Process == to {
			ts = append(ts, e.Value)
		}
	}
	return ts
}

func TestEcho(t *testing.T) {
	h := inWorld(t, Config{Seed: 1}, func(w *World) {
		s := w.Serve("n1", &echo{})
		c := w.Process("c1")
		c.Go(func(ctx context.Context) {
			conn := dial(ctx, c, s)
			if line, err := ask(conn, "hello"); err != nil || line != "hello\n" {
				t.Errorf("read %q, %v", line, err)
			}
			conn.Close()
			c.Clock().Sleep(time.Second)
			c.Pause(time.Second)
			c.Until(5 * time.Second)
		})
	})
	var got []string
	for _, e := range h.Events {
		got = append(got, fmt.Sprint(e.Process, " ", e.Kind, " ", e.Value))
	}
	want := []string{"n1 message hello", "c1 message hello", "c1 fault pause c1 1s", "c1 bite pause c1 1s", "c1 fault resume c1"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// crowd runs a world that contains everything that the Go scheduler could reorder: goroutines of one process that dial, write,
// sleep and record in parallel, over several connections to each server, with timers that coincide; and every kind of fault.
func crowd(seed uint64, faults []history.Fault) (checksum string, events []history.Event, err error) {
	err = Bubble(func() {
		w := NewWorld(Config{Seed: seed, MaxTime: time.Minute})
		defer func() { checksum, events = w.Checksum(), w.History().Events }()
		defer w.Close()
		var servers []*Process
		for i := range 3 {
			servers = append(servers, w.Serve(fmt.Sprintf("n%d", i+1), &echo{}))
		}
		for i, f := range faults {
			w.At(time.Duration(i+1)*20*time.Millisecond, func() { w.Inject(f) })
		}
		for i := range 3 {
			c := w.Process(fmt.Sprintf("c%d", i+1))
			c.Go(func(ctx context.Context) { mill(ctx, c, servers) })
		}
		w.Run()
		w.Restore()
		w.RunFor(time.Second)
	})
	return checksum, events, err
}

// mill is the lane of one client of a crowd.
func mill(ctx context.Context, c *Process, servers []*Process) {
	c.Clock().Now() // otherwise the faults of its clocks would not bite
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for round := range 40 {
				id := round*4 + g + 1
				c.Record(history.Event{Kind: history.Invoke, Op: history.Write, ID: id})
				err := dialAndAsk(ctx, c, servers[g%3], fmt.Sprintf("SET k%d token t%s%d.%d", g/3, c.Name, g, round))
				e := history.Event{Kind: history.OK, Op: history.Write, ID: id}
				if err != nil {
					e.Kind = history.Fail
				}
				c.Record(e)
				c.Clock().Sleep(10 * time.Millisecond)
			}
		})
	}
	all.Wait()
	c.Record(history.Event{Kind: history.Info, Op: history.Exit})
}

// dialAndAsk opens a connection, sends a line that others send too and then its own, and closes the connection.
func dialAndAsk(ctx context.Context, c, server *Process, line string) error {
	ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	conn, err := c.DialContext(ctx, "tcp", server.Addr())
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(60 * time.Millisecond))
	if _, err := ask(conn, "PING"); err != nil {
		return err
	}
	_, err = ask(conn, line)
	return err
}

// trouble returns one fault of every kind, in an order in which each of them affects traffic.
func trouble() []history.Fault {
	l := func(s string) history.Link {
		if from, to, ok := strings.Cut(s, "->"); ok {
			return history.Link{From: from, To: to}
		}
		from, to, _ := strings.Cut(s, "-")
		return history.Link{From: from, To: to, Both: true}
	}
	return []history.Fault{
		history.Pause{Process: "c1", For: 30 * time.Millisecond}, history.Drift{Process: "c2", PPM: 200_000}, history.Cut{Link: l("c1-n1")}, history.Jump{Process: "n1", By: time.Hour}, history.Heal{Link: l("c1-n1")},
		history.Delay{Link: l("c2-n2"), By: 5 * time.Millisecond}, history.Hold{Link: l("n3->c3")}, history.Crash{Process: "n2"}, history.ReleaseLink{Link: l("n3->c3")}, history.Restart{Process: "n2", Empty: false},
		history.Chosen{Reply: true, What: "SET", Nth: 0, Link: l("n1->c3"), Action: history.HoldMessage, By: 0}, history.Reset{Link: l("c1-n2")}, history.Chosen{Reply: false, What: "SET", Nth: 0, Link: l("c2->n2"), Action: history.ResetMessage, By: 0},
		history.Pause{Process: "n3", For: 0}, history.Slew{Process: "c1", By: 5 * time.Millisecond, Over: 50 * time.Millisecond}, history.Chosen{Reply: false, What: "PING", Nth: 2, Link: l("c1->n1"), Action: history.DelayMessage, By: time.Millisecond},
		history.Drift{Process: "c2", PPM: -300_000}, history.Resume{Process: "n3"}, history.Cut{Link: l("c1->n2")}, history.Crash{Process: "c3"}, history.Delay{Link: l("c2-n2"), By: 0}, history.Heal{},
	}
}

// TestSameSeedSameRun tests the central promise of the kernel. The repetitions run at several settings of GOMAXPROCS, and under
// -race in CI; TestWASM makes the same comparison with another machine.
func TestSameSeedSameRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	sums := map[string]int{}
	for seed, n := range []int{100, 10, 10} {
		if testing.Short() {
			n = 10
		}
		var want string
		var first []history.Event
		for i := range n {
			runtime.GOMAXPROCS([]int{1, 2, 8}[i%3])
			got, events, err := crowd(uint64(seed), trouble())
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				want, first = got, events
			}
			if got != want {
				t.Fatalf("seed %d, repetition %d: checksum %s, at first %s\n%s", seed, i, got, want, firstDifference(first, events))
			}
		}
		if other, ok := sums[want]; ok {
			t.Errorf("seeds %d and %d have one checksum", seed, other)
		}
		sums[want] = seed
	}
}

func firstDifference(a, b []history.Event) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("event %d of %d\n%+v\n%+v", i, len(a), a[i], b[i])
		}
	}
	return fmt.Sprintf("equal histories of %d and %d events", len(a), len(b))
}

// TestTroubleBites makes sure that the faults of that test have an effect.
func TestTroubleBites(t *testing.T) {
	_, events, err := crowd(1, trouble())
	if err != nil {
		t.Fatal(err)
	}
	bitten := map[int]bool{}
	for _, e := range events {
		if e.Kind == history.Bite {
			bitten[e.ID] = true
		}
	}
	for i, f := range trouble() {
		switch f.(type) {
		case history.Jump, history.Slew: // nobody in the crowd reads a wall clock
			continue
		}
		if !bitten[i+1] {
			t.Errorf("%v did not bite", f)
		}
	}
}

// TestContentBeatsArrival: the order in which simultaneous writes arrive depends on the seed and on their content, not on which
// goroutine ran first or which connection it used.
func TestContentBeatsArrival(t *testing.T) {
	run := func(order []int) []string {
		h := inWorld(t, Config{Seed: 4}, func(w *World) {
			s, c := w.Serve("n1", &echo{}), w.Process("c1")
			c.Go(func(ctx context.Context) {
				var conns []net.Conn
				for range order {
					conns = append(conns, dial(ctx, c, s))
				}
				for i, said := range order {
					fmt.Fprintf(conns[i], "say %d token x%d\n", said, said)
				}
				c.Clock().Sleep(time.Second)
				for _, conn := range conns {
					conn.Close()
				}
			})
		})
		return texts(h, "n1")
	}
	want := run([]int{0, 1, 2, 3, 4})
	for _, order := range [][]int{{4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}} {
		if got := run(order); !slices.Equal(got, want) {
			t.Errorf("written in order %v: arrived %q; want %q", order, got, want)
		}
	}
	if !strings.Contains(strings.Join(want, "\n"), "say 0 token c1#1") {
		t.Errorf("the first token in the order of content is not the first that is named: %q", want)
	}
}

// TestTokensAreNamedByWhatIsShown: of two tokens that leave at the same instant, the one whose message comes first as it is shown gets the
// first name. The bytes of the messages, in which a random token may come first, do not decide.
func TestTokensAreNamedByWhatIsShown(t *testing.T) {
	for _, lines := range [][]string{{"token x say 1", "token y say 2"}, {"token y say 1", "token x say 2"}} {
		h := inWorld(t, Config{Seed: 1}, func(w *World) {
			s, c := w.Serve("n1", &echo{}), w.Process("c1")
			c.Go(func(ctx context.Context) {
				a, b := dial(ctx, c, s), dial(ctx, c, s)
				c.Doing(history.Acquire, 1, "lock")
				io.WriteString(a, lines[0])
				io.WriteString(b, lines[1])
				c.Clock().Sleep(time.Second)
				a.Close()
				b.Close()
			})
		})
		got := texts(h, "n1")
		slices.Sort(got)
		if want := []string{"token c1#1 say 1", "token c1#2 say 2"}; !slices.Equal(got, want) {
			t.Errorf("%q arrived as %q; want %q", lines, got, want)
		}
	}
}

// TestBytesKeepTheirOrder: sorting by content must not reorder what was written to one connection.
func TestBytesKeepTheirOrder(t *testing.T) {
	s := &echo{}
	inWorld(t, Config{Seed: 1}, func(w *World) {
		n, c := w.Serve("n1", s), w.Process("c1")
		c.Go(func(ctx context.Context) {
			conn := dial(ctx, c, n)
			for _, line := range []string{"z\n", "y\n", "a\n"} {
				io.WriteString(conn, line)
			}
			conn.Close()
			c.Clock().Sleep(time.Second)
		})
	})
	if want := []string{"z", "y", "a"}; !slices.Equal(s.lines, want) {
		t.Errorf("arrived as %q, written as %q", s.lines, want)
	}
	if s.opened != 1 || s.closed != 1 {
		t.Errorf("opened %d, closed %d", s.opened, s.closed)
	}
}

// TestConnectionsMayOvertake: order is guaranteed only within a connection.
func TestConnectionsMayOvertake(t *testing.T) {
	overtaken := false
	for seed := range uint64(20) {
		s := &echo{}
		inWorld(t, Config{Seed: seed}, func(w *World) {
			n, c := w.Serve("n1", s), w.Process("c1")
			c.Go(func(ctx context.Context) {
				a, b := dial(ctx, c, n), dial(ctx, c, n)
				io.WriteString(a, "1\n")
				c.Clock().Sleep(100 * time.Microsecond)
				io.WriteString(b, "2\n")
				io.WriteString(a, "3\n")
				c.Clock().Sleep(time.Second)
				a.Close()
				b.Close()
			})
		})
		if slices.Index(s.lines, "3") < slices.Index(s.lines, "1") {
			t.Errorf("seed %d: one connection arrived as %q", seed, s.lines)
		}
		overtaken = overtaken || s.lines[0] == "2"
	}
	if !overtaken {
		t.Error("under no seed did a connection overtake another")
	}
}

// TestRemovingFaultKeepsLatencies: a fault on one link does not change the random draws of other links, nor those of its own link
// for messages that are sent in the same way after it.
func TestRemovingFaultKeepsLatencies(t *testing.T) {
	run := func(faults ...history.Fault) map[string]time.Duration {
		h := inWorld(t, Config{Seed: 9}, func(w *World) {
			n1, n2, c := w.Serve("n1", &echo{}), w.Serve("n2", &echo{}), w.Process("c1")
			for i, f := range faults {
				w.At(time.Duration(100+100*i)*time.Millisecond, func() { w.Inject(f) })
			}
			c.Go(func(ctx context.Context) {
				a, b := dial(ctx, c, n1), dial(ctx, c, n2)
				for i := range 10 {
					c.Until(time.Duration(i) * 50 * time.Millisecond)
					fmt.Fprintf(a, "a%d\n", i)
					fmt.Fprintf(b, "b%d\n", i)
				}
				c.Until(time.Second)
				a.Close()
				b.Close()
			})
		})
		took := map[string]time.Duration{}
		for _, e := range h.Events {
			if e.Kind == history.Message && e.Process != "c1" {
				took[e.Value] = e.At - e.Sent
			}
		}
		return took
	}
	link := history.Link{From: "c1", To: "n1"}
	calm, cut := run(), run(history.Cut{Link: link}, history.Heal{Link: link})
	for what, took := range calm {
		held := slices.Contains([]string{"a2", "a3", "a4"}, what) // sent while the link was cut, or queued behind such a message
		if held && cut[what] <= took {
			t.Errorf("%s took %v though the link was cut", what, cut[what])
		}
		if !held && cut[what] != took {
			t.Errorf("%s took %v, and %v without the cut", what, cut[what], took)
		}
	}
}

// TestRecordOrder: events of one instant enter the history in the order of process and operation, whichever goroutine came first.
// The events of one operation keep their order.
func TestRecordOrder(t *testing.T) {
	h := inWorld(t, Config{Seed: 1}, func(w *World) {
		for _, name := range []string{"c2", "c1"} {
			p := w.Process(name)
			p.Go(func(ctx context.Context) {
				p.Until(time.Second)
				for id := 3; id > 0; id-- {
					go func() {
						p.Record(history.Event{Kind: history.Invoke, ID: id})
						p.Record(history.Event{Kind: history.Fail, ID: id})
					}()
				}
				p.Record(history.Event{Kind: history.Info, Op: history.Exit})
			})
		}
	})
	var got []string
	for _, e := range h.Events {
		got = append(got, fmt.Sprintf("%s %d %s", e.Process, e.ID, e.Kind))
	}
	var want []string
	for _, p := range []string{"c1", "c2"} {
		for id := 1; id <= 3; id++ {
			want = append(want, fmt.Sprintf("%s %d invoke", p, id), fmt.Sprintf("%s %d fail", p, id))
		}
		want = append(want, p+" 0 info")
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestWatcherMayInject: a fault that is injected while the history is being written wakes goroutines. They block again before
// anything else happens.
func TestWatcherMayInject(t *testing.T) {
	var sums []string
	for range 50 {
		h := inWorld(t, Config{Seed: 2}, func(w *World) {
			n := w.Serve("n1", &echo{})
			for _, name := range []string{"c1", "c2"} {
				p := w.Process(name)
				p.Go(func(ctx context.Context) {
					conn := dial(ctx, p, n)
					defer conn.Close()
					p.Until(10 * time.Millisecond)
					p.Record(history.Event{Kind: history.Invoke, ID: 1})
					_, err := ask(conn, "hello "+p.Name)
					p.Record(history.Event{Kind: history.Info, ID: 1, Error: fmt.Sprint(err)})
				})
			}
			w.Watch(func(e history.Event) {
				if e.Process == "c1" && e.Kind == history.Invoke {
					w.Inject(history.Reset{Link: history.Link{From: "c1", To: "n1", Both: true}})
					w.Inject(history.Crash{Process: "c2"})
				}
			})
		})
		sums = append(sums, h.Meta.Checksum)
	}
	if slices.Sort(sums); sums[0] != sums[len(sums)-1] {
		t.Errorf("several traces: %q", slices.Compact(sums))
	}
}

// TestCaps: a run that does not end by itself ends at a limit, and names it.
func TestCaps(t *testing.T) {
	run := func(cfg Config, lane func(ctx context.Context, p, n *Process)) (cap string, at time.Duration) {
		t.Helper()
		err := Bubble(func() {
			w := NewWorld(cfg)
			n, p := w.Serve("n1", &echo{}), w.Process("c1")
			p.Go(func(ctx context.Context) { lane(ctx, p, n) })
			w.Run()
			cap, at = w.Cap(), w.Now()
			w.Run() // it returns at once, because the limit was reached
			w.RunFor(time.Second)
			if w.Now() != at {
				t.Errorf("went on to %v", w.Now())
			}
			w.Close()
		})
		if err != nil {
			t.Fatal(err)
		}
		return cap, at
	}
	cap, at := run(Config{MaxTime: 90 * time.Second}, func(ctx context.Context, p, _ *Process) { <-ctx.Done() })
	if cap != "the cap of 1m30s of virtual time" || at != 90*time.Second {
		t.Errorf("cap %q at %v", cap, at)
	}
	cap, _ = run(Config{MaxEvents: 500}, func(ctx context.Context, p, n *Process) {
		conn := dial(ctx, p, n)
		for {
			if _, err := ask(conn, "again"); err != nil {
				return
			}
		}
	})
	if cap != "the cap of 500 events" {
		t.Errorf("cap %q", cap)
	}
	cap, _ = run(Config{MaxEvents: 500}, func(ctx context.Context, p, n *Process) {
		for range p.Clock().NewTicker(time.Millisecond).Chan() {
			if ctx.Err() != nil {
				return
			}
		}
	})
	if cap != "the cap of 500 events" {
		t.Errorf("cap %q", cap)
	}
}

// TestCodeOfItsOwnTime: code that uses package time runs in true time, and what it writes is seen at once.
func TestCodeOfItsOwnTime(t *testing.T) {
	h := inWorld(t, Config{Seed: 1}, func(w *World) {
		n, c := w.Serve("n1", &echo{}), w.Process("c1")
		c.Go(func(ctx context.Context) {
			conn := dial(ctx, c, n)
			defer conn.Close()
			for range 3 {
				time.Sleep(time.Second)
				io.WriteString(conn, "tick\n")
			}
			time.Sleep(time.Second)
			conn.SetReadDeadline(time.Now().Add(time.Second))
			io.CopyN(io.Discard, conn, 15)
			if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error(err)
			}
		})
	})
	for _, e := range h.Events {
		if took := e.At - e.Sent; e.Kind == history.Message && (took <= 0 || took > 2*time.Millisecond) {
			t.Errorf("%s to %s took %v", e.Value, e.Process, took)
		}
	}
}

func TestNames(t *testing.T) {
	mustPanic := func(want string, f func(w *World)) {
		t.Helper()
		err := Bubble(func() { f(NewWorld(Config{})) })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want a panic that says %q", err, want)
		}
	}
	mustPanic("two processes named c1", func(w *World) { w.Process("c1"); w.Process("c1") })
	mustPanic("the process c9, which does not exist", func(w *World) { w.Inject(history.Pause{Process: "c9"}) })
	mustPanic("stands still", func(w *World) { w.Process("c1"); w.Inject(history.Drift{Process: "c1", PPM: -1_000_000}) })
	if c := history.Client("c1#2"); c != "c1" {
		t.Error(c)
	}
	addrs := map[string]bool{}
	inWorld(t, Config{}, func(w *World) {
		for i := range 1000 {
			addrs[w.Process(fmt.Sprint("c", i)).Addr()] = true
		}
	})
	if len(addrs) != 1000 {
		t.Errorf("%d addresses for 1000 processes", len(addrs))
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		inWorld(b, Config{Seed: 1}, func(w *World) {
			n, c := w.Serve("n1", plain{}), w.Process("c1")
			c.Go(func(ctx context.Context) {
				conn, buf, msg := dial(ctx, c, n), make([]byte, 64), []byte("hello\n")
				for range 1000 {
					conn.Write(msg)
					conn.Read(buf)
				}
				conn.Close()
			})
		})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/roundtrip")
}

// plain is a service whose Describe costs nothing.
type plain struct{}

func (plain) Open(*Conn)                                        {}
func (plain) Closed(*Conn)                                      {}
func (plain) Receive(c *Conn, data []byte)                      { c.Write(data) }
func (plain) Describe([]byte, bool, func(string) string) string { return "hello" }

// TestTimersEndInOrder: in a process that has crashed, the clock goes on, and if a goroutine waits for two timers, the one that is
// due first fires first. So code that renews every second for ten seconds always ends in the same way.
func TestTimersEndInOrder(t *testing.T) {
	for _, crash := range []bool{false, true} {
		for range 20 {
			var got []string
			inWorld(t, Config{Seed: 1}, func(w *World) {
				n, c := w.Serve("n1", &echo{}), w.Process("c1")
				c.Go(func(ctx context.Context) {
					conn := dial(ctx, c, n)
					until := c.Clock().Now().Add(10500 * time.Millisecond)
					go func() {
						for {
							over := c.Clock().NewTimer(until.Sub(c.Clock().Now()))
							renew := c.Clock().NewTimer(time.Second)
							select {
							case <-over.Chan():
								got = append(got, "over")
								return
							case <-renew.Chan():
								got = append(got, "renew")
								io.WriteString(conn, "renew\n")
							}
							over.Stop()
						}
					}()
					c.Clock().Sleep(1500 * time.Millisecond)
				})
				if crash {
					inject(w, "1200ms crash c1")
				}
			})
			if want := append(slices.Repeat([]string{"renew"}, 10), "over"); !slices.Equal(got, want) {
				t.Fatalf("crash %v: got %q", crash, got)
			}
		}
	}
}
