package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/sim/history"
)

// mirror is a service that asks another one for a word every 100ms, as a replica does, and opens a new connection when it has none.
// It notes what it receives.
type mirror struct {
	echo
	p, primary *Process
	conn       *Conn
	open       bool
	role       string
}

func (m *mirror) start() { m.p.After(100*ms, m.beat) }

func (m *mirror) beat() {
	switch {
	case m.conn == nil:
		m.conn = m.p.Connect(m.primary)
	case m.open:
		fmt.Fprintf(m.conn, "BEAT\n")
	}
	m.start()
}

func (m *mirror) hear(what string) { m.p.Note(history.Event{Kind: history.State, Op: what}) }

func (m *mirror) Open(c *Conn) {
	if !c.Dialled() || c != m.conn {
		panic("a connection that it did not open")
	}
	m.open = true
	m.hear("open")
}

func (m *mirror) Closed(*Conn) {
	m.conn, m.open = nil, false
	m.hear("closed")
}

func (m *mirror) Receive(c *Conn, data []byte) { m.hear("heard " + string(data[:len(data)-1])) }

func (m *mirror) Crash(history.Fault) { m.conn, m.open = nil, false }
func (m *mirror) Restart(bool)        { m.start() }

func (m *mirror) Promote() bool {
	was := m.role
	m.role = "primary"
	return was != m.role
}

func (m *mirror) Follow(primary *Process) bool {
	was := m.role
	m.role = primary.Name
	return was != m.role
}

// mirrored runs a mirror for half a second with a script of faults, and returns its notes, with times in tenths of a second.
func mirrored(t *testing.T, script string) (heard []string, h *history.History) {
	t.Helper()
	h = inWorld(t, Config{Seed: 1}, func(w *World) {
		n1 := w.Serve("n1", &echo{})
		m := &mirror{primary: n1, role: "n1"}
		m.p = w.Serve("r1", m)
		m.start()
		w.Process("c1").Go(func(context.Context) { w.procs["c1"].Until(545 * ms) })
		inject(w, script)
	})
	for _, e := range h.Events {
		if e.Kind == history.State {
			heard = append(heard, fmt.Sprintf("%d %s", e.At/(100*ms), e.Op))
		}
	}
	return heard, h
}

// TestServicesTalk: a service opens its own connections, whose messages are requests, and has timers on its clock.
func TestServicesTalk(t *testing.T) {
	for _, tt := range []struct {
		script string
		want   []string
	}{
		{"", []string{"1 open", "2 heard BEAT", "3 heard BEAT", "4 heard BEAT", "5 heard BEAT"}},
		// The timer is due during the pause, and the next one counts from its end.
		{"210ms pause r1 150ms", []string{"1 open", "2 heard BEAT", "3 heard BEAT", "4 heard BEAT"}},
		{"150ms cut r1->n1\n450ms heal", []string{"1 open", "4 heard BEAT", "4 heard BEAT", "4 heard BEAT", "5 heard BEAT"}},
		{"150ms crash n1\n350ms restart n1", []string{"1 open", "1 closed", "2 closed", "3 closed", "4 open", "5 heard BEAT"}},
		// A crash ends the timers of the process.
		{"250ms crash r1\n260ms restart r1", []string{"1 open", "2 heard BEAT", "2 closed", "3 open", "4 heard BEAT"}},
		{"250ms reset n1-r1", []string{"1 open", "2 heard BEAT", "2 closed", "3 open", "4 heard BEAT", "5 heard BEAT"}},
		{"150ms on request BEAT r1->n1 delay 120ms", []string{"1 open", "3 heard BEAT", "3 heard BEAT", "4 heard BEAT", "5 heard BEAT"}},
		{"150ms on reply BEAT n1->r1 delay 20ms", []string{"1 open", "2 heard BEAT", "3 heard BEAT", "4 heard BEAT", "5 heard BEAT"}},
		{"50ms drift r1 +500000ppm", []string{"0 open", "1 heard BEAT", "2 heard BEAT", "2 heard BEAT", "3 heard BEAT", "4 heard BEAT", "4 heard BEAT"}},
	} {
		got, h := mirrored(t, tt.script)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q:\n got %q\nwant %q", tt.script, got, tt.want)
		}
		_, again := mirrored(t, tt.script)
		if h.Meta.Checksum != again.Meta.Checksum {
			t.Errorf("%q: checksums %s and %s", tt.script, h.Meta.Checksum, again.Meta.Checksum)
		}
	}
}

// TestRoles: a promotion bites if it changes the role of a replica.
func TestRoles(t *testing.T) {
	_, h := mirrored(t, "100ms promote r1\n200ms promote r1\n300ms follow r1 n1\n400ms follow r1 n1")
	if got, want := bites(h), []string{"promote r1", "follow r1 n1"}; !slices.Equal(got, want) {
		t.Errorf("bites %q, want %q", got, want)
	}
	err := Bubble(func() {
		w := NewWorld(Config{})
		defer w.Close()
		w.Serve("n1", &echo{})
		w.Inject(history.Promote{Process: "n1"})
	})
	if want := "sim: n1 cannot be a replica"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// TestStoppedTimer: a timer of a service that was stopped does not fire.
func TestStoppedTimer(t *testing.T) {
	fired := 0
	inWorld(t, Config{}, func(w *World) {
		p := w.Serve("n1", &echo{})
		stop := p.After(100*ms, func() { fired++ })
		p.After(50*ms, func() { fired += 10; stop() })
		w.Process("c1").Go(func(context.Context) { w.procs["c1"].Until(time.Second) })
	})
	if fired != 10 {
		t.Errorf("fired %d", fired)
	}
}
