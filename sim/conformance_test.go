package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"lockstep/sim/history"
)

// The table in this file says what happens to a process, its clock and its connections when they are paused, killed or cut off.
// Each row runs twice: here in a world, and in conformance_linux_test.go on a real process that uses TCP over loopback and is
// really stopped, continued and killed. The notes of the programs must be the same.
//
// Two things are tested in simulation only. A test cannot set the clock of its machine; package time promises, for its monotonic
// readings, that a step of the wall clock moves no timer (TestTimersUnderFaults). And a test cannot make the clock of its machine
// drift (TestTimersUnderFaults, TestConnDeadlinesUnderDrift).

// A scene is what a client's program can use.
type scene struct {
	dial   func() (net.Conn, error)
	nobody func() (net.Conn, error) // dials an address at which nobody listens
	clock  clockwork.Clock
	until  func(time.Duration) // waits until a time since the start
	note   func(what string)
}

type behaviour struct {
	name   string
	stands string // the situation that it stands for
	client func(s scene)
	faults string // with times: what happens to the subject (pause, resume, kill) or to the network (cut, heal)
	// subject is the process that is paused and killed: "client", or "server", which understands the lines in [server.line].
	subject string
	want    []string // notes of the client
	serves  []string // notes of the server
	// unordered: the notes of a real process may come in another order.
	unordered bool
}

var behaviours = []behaviour{
	{
		name:    "a reply that arrived in a pause beats the deadline that passed in it",
		stands:  "garbage collection while a lock's reply is on its way: the client gets the lock, late",
		subject: "client",
		client: func(s scene) {
			c := s.connect()
			c.SetReadDeadline(time.Now().Add(600 * ms))
			io.WriteString(c, "after 350ms hello\n")
			s.read(c)
			s.read(c)
		},
		faults: "200ms pause\n900ms resume",
		// A real process nearly always finds the bytes first, but on a busy machine the deadline may come first.
		want: []string{"connected", "read hello", "timeout"},
	},
	{
		name:    "without a reply the deadline is met right after the pause",
		stands:  "garbage collection while a node is silent: the client gives up when it can",
		subject: "client",
		client: func(s scene) {
			c := s.connect()
			start := s.clock.Now()
			c.SetReadDeadline(time.Now().Add(400 * ms))
			io.WriteString(c, "quiet\n")
			s.read(c)
			s.noteIf(s.clock.Since(start) > 700*ms, "after the pause")
			c.Close()
		},
		faults: "200ms pause\n900ms resume\n1200ms nothing",
		want:   []string{"connected", "timeout", "after the pause"},
		serves: []string{"quiet", "closed"},
	},
	{
		name:    "what came due in a pause happens after it: bytes first, then by deadline",
		stands:  "a backlog of timeouts and renewals after a virtual machine was moved",
		subject: "client",
		client: func(s scene) {
			var all sync.WaitGroup
			for i, due := range []time.Duration{600, 400, 700} {
				c := s.connect()
				c.SetReadDeadline(time.Now().Add(due * ms))
				all.Go(func() {
					_, err := c.Read(make([]byte, 1))
					s.noteIf(errors.Is(err, os.ErrDeadlineExceeded), fmt.Sprintf("deadline %d", i))
				})
			}
			for i, due := range []time.Duration{650, 350, 500} {
				all.Add(1)
				s.clock.AfterFunc(due*ms, func() {
					s.note(fmt.Sprintf("timer %d", i))
					all.Done()
				})
			}
			c := s.connect()
			c.SetReadDeadline(time.Now().Add(time.Minute))
			io.WriteString(c, "after 400ms hello\n")
			s.read(c)
			all.Wait()
		},
		faults: "200ms pause\n1s resume",
		want: []string{"connected", "connected", "connected", "connected", "read hello", "timer 1", "deadline 1", "timer 2",
			"deadline 0", "timer 0", "deadline 2"},
		// The Go runtime finds the deadlines in their order, but several processors run the goroutines that wake. The simulation
		// has to choose, and takes the order of the deadlines.
		unordered: true,
	},
	{
		name:    "the clock counts a pause, and timers wait for its end",
		stands:  "a lease that runs out while its holder sleeps",
		subject: "client",
		client: func(s scene) {
			start := s.clock.Now()
			s.clock.Sleep(400 * ms)
			s.noteIf(s.clock.Since(start) > 800*ms, "woke after the pause, and knows how long it was")
			start = s.clock.Now()
			s.clock.Sleep(100 * ms)
			s.noteIf(s.clock.Since(start) < 600*ms, "and then as always")
		},
		faults: "200ms pause\n1s resume",
		want:   []string{"woke after the pause, and knows how long it was", "and then as always"},
	},
	{
		name:    "a paused server accepts connections and serves them when it resumes",
		stands:  "a Redis that stalls: its kernel still answers, and queued commands run",
		subject: "server",
		client: func(s scene) {
			s.until(400 * ms)
			start := s.clock.Now()
			c := s.connect()
			s.noteIf(s.clock.Since(start) < 400*ms, "at once")
			io.WriteString(c, "echo hello\n")
			s.read(c)
			s.noteIf(s.clock.Since(start) > 400*ms, "after the pause")
			c.Close()
			s.until(1500 * ms)
		},
		faults: "200ms pause\n1s resume",
		want:   []string{"connected", "at once", "read hello", "after the pause"},
		serves: []string{"echo hello", "closed"},
	},
	{
		name:    "bytes sent before a close arrive before it",
		stands:  "an unlock that is sent as the client exits",
		subject: "client",
		client: func(s scene) {
			c := s.connect()
			io.WriteString(c, "quiet 1\n")
			io.WriteString(c, "quiet 0\n")
			c.Close()
			_, err := c.Write([]byte("quiet 2\n"))
			s.noteIf(errors.Is(err, net.ErrClosed), "closed")
			s.noteIf(errors.Is(c.SetDeadline(time.Now()), net.ErrClosed), "closed")
			s.noteIf(errors.Is(c.Close(), net.ErrClosed), "closed")
			s.until(300 * ms)
		},
		want:   []string{"connected", "closed", "closed", "closed"},
		serves: []string{"quiet 1", "quiet 0", "closed"},
	},
	{
		name:    "bytes sent into a cut arrive when it heals, though the client has given up",
		stands:  "a write that TCP retransmits after its client has timed out: the delayed packet of the debate",
		subject: "client",
		client: func(s scene) {
			c := s.connect()
			s.until(400 * ms)
			c.SetReadDeadline(time.Now().Add(150 * ms))
			io.WriteString(c, "echo late\n")
			s.read(c)
			c.Close()
		},
		faults: "200ms cut\n1s heal\n1300ms nothing",
		want:   []string{"connected", "timeout"},
		serves: []string{"echo late", "closed"},
	},
	{
		name:    "a reply waits for a cut to heal",
		stands:  "a switch that reboots: slow, but nothing is lost",
		subject: "client",
		client: func(s scene) {
			c := s.connect()
			start := s.clock.Now()
			c.SetReadDeadline(time.Now().Add(time.Minute))
			io.WriteString(c, "after 400ms hello\n")
			s.read(c)
			s.noteIf(s.clock.Since(start) > 800*ms, "after the cut")
		},
		faults: "200ms cut\n1s heal",
		want:   []string{"connected", "read hello", "after the cut"},
	},
	{
		name:    "dialling where nobody listens is refused",
		stands:  "a Redis that is down, on a machine that is up",
		subject: "client",
		client: func(s scene) {
			_, err := s.nobody()
			s.noteError(err)
		},
		want: []string{"refused"},
	},
	{
		name:    "a server that is killed closes its connections",
		stands:  "kill -9, or the kernel's out-of-memory killer",
		subject: "server",
		client: func(s scene) {
			c := s.connect()
			io.WriteString(c, "quiet\n")
			s.read(c)
			s.until(600 * ms) // a dying process closes its files in an order of its own
			_, err := s.dial()
			s.noteError(err)
		},
		faults: "300ms kill",
		want:   []string{"connected", "EOF", "refused"},
	},
	{
		name:    "a server that is killed before it read everything resets the connection",
		stands:  "the same, while commands wait",
		subject: "server",
		client: func(s scene) {
			c := s.connect()
			s.until(400 * ms)
			io.WriteString(c, "echo never\n")
			s.read(c)
		},
		faults: "200ms pause\n600ms kill",
		want:   []string{"connected", "reset"},
	},
	{
		name:    "bytes that a killed server had sent still arrive",
		stands:  "a node that grants the lock and dies",
		subject: "server",
		client: func(s scene) {
			c := s.connect()
			io.WriteString(c, "echo hello\n")
			s.until(600 * ms)
			s.read(c)
			s.read(c)
		},
		faults: "300ms kill",
		want:   []string{"connected", "read hello", "EOF"},
	},
	{
		name:    "a connection to a killed server takes one more write",
		stands:  "a pooled connection that is used again after its node restarted",
		subject: "server",
		client: func(s scene) {
			c := s.connect()
			s.until(500 * ms)
			_, err := c.Write([]byte("echo 1\n"))
			s.noteError(err)
			s.until(700 * ms)
			_, err = c.Write([]byte("echo 2\n"))
			s.noteError(err)
			s.read(c)
		},
		faults: "300ms kill",
		want:   []string{"connected", "no error", "broken pipe", "EOF"},
	},
	{
		name:    "bytes that a killed client had sent still arrive",
		stands:  "a client that dies right after it asked for the lock",
		subject: "client",
		client: func(s scene) {
			c := s.connect()
			io.WriteString(c, "quiet last words\n")
			s.read(c)
			s.note("outlived its death")
		},
		faults: "300ms kill\n500ms nothing",
		want:   []string{"connected"},
		serves: []string{"quiet last words", "closed"},
	},
	{
		name:    "a client that is killed in a pause did not read what waited for it",
		stands:  "an out-of-memory kill in the middle of thrashing",
		subject: "client",
		client: func(s scene) {
			c := s.connect()
			io.WriteString(c, "after 350ms hello\n")
			s.read(c)
			s.note("outlived its death")
		},
		faults: "200ms pause\n600ms kill\n900ms nothing",
		want:   []string{"connected"},
		serves: []string{"after 350ms hello", "closed"},
	},
	{
		name:    "bytes that arrived before a reset in a pause are read before it",
		stands:  "a load balancer that restarts while the client collects garbage",
		subject: "client",
		client: func(s scene) {
			c := s.connect()
			io.WriteString(c, "after 350ms hello and reset\n")
			s.read(c)
			s.read(c)
		},
		faults: "200ms pause\n900ms resume",
		want:   []string{"connected", "read hello", "reset"},
	},
	{
		name:    "an expired deadline wins over bytes that wait, and can be taken back",
		stands:  "a client that looks too late",
		subject: "client",
		client: func(s scene) {
			c := s.connect()
			io.WriteString(c, "echo hello\n")
			s.until(300 * ms)
			c.SetReadDeadline(time.Now().Add(-time.Second))
			s.read(c)
			c.SetReadDeadline(time.Time{})
			s.read(c)
		},
		want: []string{"connected", "timeout", "read hello"},
	},
	{
		name:    "a write after its deadline is not sent",
		stands:  "a client whose context ended while it waited for a connection of the pool",
		subject: "client",
		client: func(s scene) {
			c := s.connect()
			c.SetWriteDeadline(time.Now().Add(100 * ms))
			s.until(300 * ms)
			_, err := c.Write([]byte("quiet\n"))
			s.noteError(err)
			c.SetWriteDeadline(time.Time{})
			_, err = c.Write([]byte("quiet now\n"))
			s.noteError(err)
			c.Close()
			s.until(500 * ms)
		},
		want:   []string{"connected", "timeout", "no error"},
		serves: []string{"quiet now", "closed"},
	},
}

func (s scene) connect() net.Conn {
	c, err := s.dial()
	if err != nil {
		s.noteError(err)
		panic(err)
	}
	s.note("connected")
	return c
}

// read notes the result of one Read.
func (s scene) read(c net.Conn) {
	buf := make([]byte, 100)
	n, err := c.Read(buf)
	if err == nil {
		s.note("read " + strings.TrimSpace(string(buf[:n])))
		return
	}
	s.noteError(err)
}

func (s scene) noteIf(is bool, what string) {
	if !is {
		what = "not so: " + what
	}
	s.note(what)
}

func (s scene) noteError(err error) {
	var ne net.Error
	switch {
	case err == nil:
		s.note("no error")
	case err == io.EOF:
		s.note("EOF")
	case errors.Is(err, syscall.ECONNRESET):
		s.note("reset")
	case errors.Is(err, syscall.EPIPE):
		s.note("broken pipe")
	case errors.Is(err, syscall.ECONNREFUSED):
		s.note("refused")
	case errors.As(err, &ne) && ne.Timeout():
		s.note("timeout")
	default:
		s.note(err.Error())
	}
}

// command is a line that a server of this table understands: echo TEXT, quiet TEXT, after DURATION TEXT [and reset].
func command(line string) (answer string, after time.Duration, reset bool) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "echo":
		return rest + "\n", 0, false
	case "after":
		d, text, _ := strings.Cut(rest, " ")
		after, err := time.ParseDuration(d)
		if err != nil {
			panic(err)
		}
		text, reset = strings.CutSuffix(text, " and reset")
		return text + "\n", after, reset
	}
	return "", 0, false
}

// simServer is the server in a world.
type simServer struct {
	echo
	w     *World
	notes *[]string
}

func (s *simServer) Closed(*Conn) { *s.notes = append(*s.notes, "closed") }
func (s *simServer) Receive(c *Conn, data []byte) {
	for line := range bytes.Lines(data) {
		text := strings.TrimSpace(string(line))
		*s.notes = append(*s.notes, text)
		answer, after, reset := command(text)
		if answer == "" {
			continue
		}
		s.w.At(s.w.Now()+after, func() {
			io.WriteString(c, answer)
			if reset {
				s.w.mu.Lock()
				c.hangUp(true, true)
				s.w.mu.Unlock()
			}
		})
	}
}

// notes are the notes of a program, from several goroutines.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) add(line string) {
	n.mu.Lock()
	n.lines = append(n.lines, line)
	n.mu.Unlock()
}

func (n *notes) list() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.lines)
}

// onWorld runs a row in simulation.
func (b behaviour) onWorld(t *testing.T) (client, server []string) {
	var notes notes
	inWorld(t, Config{Seed: 1}, func(w *World) {
		n, c := w.Serve("n1", &simServer{w: w, notes: &server}), w.Process("c1")
		nobody, nemesis := w.Process("c9"), w.Process("c8")
		subject := map[string]string{"client": "c1", "server": "n1"}[b.subject]
		c.Go(func(ctx context.Context) {
			b.client(scene{
				dial:   func() (net.Conn, error) { return c.DialContext(ctx, "tcp", n.Addr()) },
				nobody: func() (net.Conn, error) { return c.DialContext(ctx, "tcp", nobody.Addr()) },
				clock:  c.Clock(),
				until:  c.Until,
				note: func(what string) {
					if ctx.Err() == nil { // a goroutine of the dead process may run on for a moment
						notes.add(what)
					}
				},
			})
		})
		last := b.eachFault(func(at time.Duration, what string) {
			w.At(at, func() {
				switch what {
				case "pause":
					w.Inject(history.Pause{Process: subject})
				case "resume":
					w.Inject(history.Resume{Process: subject})
				case "kill":
					w.Inject(history.Crash{Process: subject})
				case "cut":
					w.Inject(history.Cut{Link: history.Link{From: "c1", To: "n1", Both: true}})
				case "heal":
					w.Inject(history.Heal{})
				}
			})
		})
		nemesis.Go(func(context.Context) { nemesis.Until(last) })
	})
	return notes.list(), server
}

// eachFault calls f for each fault of the row, in order, and returns the time of the last.
func (b behaviour) eachFault(f func(at time.Duration, what string)) (last time.Duration) {
	for line := range strings.Lines(b.faults) {
		at, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		d, err := time.ParseDuration(at)
		if err != nil {
			panic(err)
		}
		f(d, what)
		last = d
	}
	return last
}

// judge compares the notes with the row.
func (b behaviour) judge(client, server []string) error {
	want := slices.Clone(b.want)
	if b.unordered {
		client = slices.Sorted(slices.Values(client))
		slices.Sort(want)
	}
	if !slices.Equal(client, want) {
		return fmt.Errorf("the client notes\n%q, want\n%q", client, want)
	}
	if b.serves != nil && !slices.Equal(server, b.serves) {
		return fmt.Errorf("the server notes\n%q, want\n%q", server, b.serves)
	}
	return nil
}

func TestConformanceOfWorld(t *testing.T) {
	for _, b := range behaviours {
		t.Run(b.name, func(t *testing.T) {
			client, server := b.onWorld(t)
			b.unordered = false // the world keeps its order
			if err := b.judge(client, server); err != nil {
				t.Errorf("%v\nit stands for %s", err, b.stands)
			}
		})
	}
}
