//go:build !wasm

package wasm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/api"

	"lockstep/sim"
	"lockstep/sim/history"
	"lockstep/sim/overlay"
)

// toyCode returns the program in testdata/toy as WebAssembly.
var toyCode = sync.OnceValues(func() ([]byte, error) {
	return buildToy()
})

func buildToy(options ...string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "lockstep")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "toy.wasm")
	c := exec.Command("go", append(append([]string{"build", "-o", path}, options...), "./testdata/toy")...)
	c.Env = append(c.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return os.ReadFile(path)
}

// toy returns the program, compiled to machine code.
var toy = sync.OnceValues(func() (*Module, error) {
	code, err := toyCode()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "lockstep")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	return Compile(context.Background(), code, dir)
})

// run is what the toy did in one world.
type run struct {
	said  []string // each with the true time
	sum   string
	err   error
	bites []string      // the faults that had an effect
	took  time.Duration // true time
}

// play runs the toy in a world with faults. The first comes after half a second, and each further one half a second later.
func play(t *testing.T, seed uint64, faults []history.Fault, args ...string) (r run) {
	t.Helper()
	m, err := toy()
	if err != nil {
		t.Fatal(err)
	}
	return playWith(t, m, seed, faults, args...)
}

func playWith(t *testing.T, m *Module, seed uint64, faults []history.Fault, args ...string) (r run) {
	t.Helper()
	var in *Instance
	err := sim.Bubble(func() {
		w := sim.NewWorld(sim.Config{Seed: seed})
		defer w.Close()
		n1 := w.Serve("n1", echo{})
		p := w.Process("c1")
		for i, f := range faults {
			w.Plan(time.Duration(i+1)*500*time.Millisecond, f)
		}
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "n1", n1.Addr())
		}
		p.Go(func(context.Context) {
			in = m.Start(Config{
				Process: p, Random: w.Rand(seed, "guest", "c1"), Args: append([]string{"toy"}, args...),
				Ask: func(in *Instance, q []byte) []byte {
					r.said = append(r.said, fmt.Sprintf("%v %s", w.Now(), q))
					p.Record(history.Event{Kind: history.Info, Op: "said", Value: string(q)})
					in.Yield()
					return nil
				},
			})
			select {
			case <-in.Ended():
			case <-in.Dead():
			}
		})
		w.Run()
		r.took, r.sum = w.Now(), w.Checksum()
		for _, e := range w.History().Events {
			if e.Kind == history.Bite {
				r.bites = append(r.bites, e.Value)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	r.err = in.Err()
	return r
}

// echo sends back what it receives.
type echo struct{}

func (echo) Open(*sim.Conn)                   {}
func (echo) Closed(*sim.Conn)                 {}
func (echo) Receive(c *sim.Conn, data []byte) { c.Write(data) }
func (echo) Describe(data []byte, _ bool, _ func(string) string) string {
	return string(data)
}

// Package time is the clock of the process.
func TestClock(t *testing.T) {
	for name, c := range map[string]struct {
		faults []history.Fault
		want   []string // how each line begins, with the true time first
	}{
		"right": {nil, []string{
			"1s WithTimeout: 1s after the start, by the date 1s", "2s AfterFunc: 2s after the start, by the date 2s",
			"3s Ticker: 3s after the start, by the date 3s", "4s Ticker: 4s after the start, by the date 4s", "5s Ticker: 5s after the start, by the date 5s",
		}},
		"a jump moves the date, and no timer": {[]history.Fault{history.Jump{Process: "c1", By: 20 * time.Second}}, []string{
			"1s WithTimeout: 1s after the start, by the date 21s", "2s AfterFunc: 2s after the start, by the date 22s",
		}},
		"a fast clock has its timers fire early": {[]history.Fault{history.Drift{Process: "c1", PPM: 100_000}}, []string{
			"954.545455ms WithTimeout: 1s after the start, by the date 1s", "1.863636364s AfterFunc: 2s after the start, by the date 2s",
		}},
		"a pause stops timers, and ticks that were missed are dropped": {[]history.Fault{history.Pause{Process: "c1", For: 3200 * time.Millisecond}}, []string{
			"3.7s WithTimeout: 3.7s after the start, by the date 3.7s", "4.7s AfterFunc: 4.7s after the start, by the date 4.7s", "5.7s Ticker: 5.7s after",
		}},
	} {
		r := play(t, 1, c.faults, "time")
		for i, want := range c.want {
			if len(r.said) <= i || !strings.HasPrefix(r.said[i], want) {
				t.Errorf("%s: %q, want %q", name, r.said, c.want)
				break
			}
		}
		if r.err != nil || len(r.said) != 6 {
			t.Errorf("%s: %v %q", name, r.err, r.said)
		}
	}
}

// With the same seed everything is the same again, even which of two ready cases a select takes. With another seed it is not.
func TestRepeats(t *testing.T) {
	n := 100
	if testing.Short() {
		n = 5
	}
	faults := []history.Fault{history.Drift{Process: "c1", PPM: -10_000}, history.Jump{Process: "c1", By: -time.Minute}, history.Pause{Process: "c1", For: 1200 * time.Millisecond}}
	first := play(t, 1, faults, "time")
	for range n {
		if again := play(t, 1, faults, "time"); !slices.Equal(again.said, first.said) || again.sum != first.sum {
			t.Fatalf("%+v\n%+v", first, again)
		}
	}
	if other := play(t, 2, faults, "time"); slices.Equal(other.said, first.said) {
		t.Errorf("the same with another seed: %q", other.said)
	}
}

// What a guest draws after a restart does not depend on what else its program contains. Without the restart it does.
func TestRestart(t *testing.T) {
	file, err := overlay.Write(t.Context(), ".", t.TempDir(), "guest", nil, map[string][]byte{"runtime/lockstep.go": runtimeAdded})
	if err != nil {
		t.Fatal(err)
	}
	drawn := map[string][]string{}
	for _, tags := range []string{"", "more"} {
		code, err := buildToy("-overlay", file, "-tags", tags)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Compile(t.Context(), code, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		for _, how := range []string{"anew", "on"} {
			r := playWith(t, m, 1, nil, "draw", how)
			if r.err != nil || len(r.said) != 1 {
				t.Fatalf("%q %v", r.said, r.err)
			}
			drawn[how] = append(drawn[how], r.said[0])
		}
	}
	if two := drawn["anew"]; two[0] != two[1] {
		t.Errorf("after a restart, another program draws\n%s, not\n%s", two[1], two[0])
	}
	if two := drawn["on"]; two[0] == two[1] {
		t.Errorf("without a restart both programs draw the same; the test cannot fail: %s", two[0])
	}
}

// A jump bites a guest that reads the date. That its runtime reads the steady clock does not count.
func TestJumpBites(t *testing.T) {
	jump := history.Jump{Process: "c1", By: time.Hour}
	if r := play(t, 1, []history.Fault{jump}, "sleep"); len(r.bites) > 0 || r.err != nil {
		t.Errorf("nobody read the date: %q %v", r.bites, r.err)
	}
	if r := play(t, 1, []history.Fault{jump}, "time"); len(r.bites) != 1 || r.err != nil {
		t.Errorf("the date was read: %q %v", r.bites, r.err)
	}
}

// A crash ends the program wherever it is.
func TestCrash(t *testing.T) {
	r := play(t, 1, []history.Fault{history.Crash{Process: "c1"}}, "time")
	if len(r.said) != 0 || r.err != nil || r.took != 500*time.Millisecond {
		t.Errorf("%+v", r)
	}
}

// A guest reads what a server sends back. If it dials an address that no process has, it gets an error.
func TestConnection(t *testing.T) {
	if r := play(t, 1, nil, "echo", "n1"); len(r.said) != 3 || !strings.HasSuffix(r.said[2], `"hello 2" <nil>`) {
		t.Errorf("%q %v", r.said, r.err)
	}
	if r := play(t, 1, nil, "echo", "10.9.9.9:1"); len(r.said) != 1 || !strings.Contains(r.said[0], "dial tcp 10.9.9.9:1: ") {
		t.Errorf("%q %v", r.said, r.err)
	}
}

// After a pause, all bytes that arrived in it come first, though the deadlines of the reads have passed too.
func TestBytesFirst(t *testing.T) {
	r := play(t, 1, []history.Fault{history.Pause{Process: "c1", For: 5 * time.Second}}, "wait", "n1")
	slices.Sort(r.said)
	if want := []string{`5.5s 0 "0" <nil>`, `5.5s 1 "1" <nil>`, `5.5s 2 "2" <nil>`}; !slices.Equal(r.said, want) || r.err != nil {
		t.Errorf("%q %v", r.said, r.err)
	}
}

// If a program fails, does not end by itself, or takes too much, the error gives the reason.
func TestEnds(t *testing.T) {
	for how, want := range map[string]string{
		"panic":    "panic: boom\n",
		"deadlock": "fatal error: all goroutines are asleep - deadlock!\n",
		"spin":     "the code reads its clock again and again without waiting",
		"exit":     "the process of the client exited with status 7\n",
		"refuse":   "the process of the client exited with status 3, after it had printed \"no such lock\"\n",
		"print":    "the process of the client exited with status 1, after it had printed \"",
		"grow":     "fatal error: out of memory",
	} {
		r := play(t, 1, nil, how)
		switch {
		case r.err == nil || !strings.Contains(r.err.Error(), want):
			t.Errorf("%s: %.300v, want %q", how, r.err, want)
		case len(r.err.Error()) > 4*mostOutput:
			t.Errorf("%s: %d bytes of output are kept", how, len(r.err.Error()))
		}
	}
}

// A file that is not WebAssembly is refused, and the error gives the reason.
func TestCompile(t *testing.T) {
	for code, want := range map[string]string{
		"":                        "invalid magic number",
		"#!/bin/sh":               "invalid magic number",
		"\x00asm\x01\x00\x00\x00": "", // an empty module
	} {
		m, err := Compile(t.Context(), []byte(code), t.TempDir())
		if want == "" {
			if err != nil {
				t.Error(err)
				continue
			}
			m.Close()
		} else if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", code, err, want)
		}
	}
}

// late is a machine and its only connection, which is open when the process has waited twice.
type late struct {
	Machine
	Conn
	failed error // why there will be no connection
	waits  []time.Duration
	got    string
}

func (l *late) Alive() bool                 { return true }
func (l *late) Wait(due time.Duration)      { l.waits = append(l.waits, due) }
func (l *late) Write(b []byte) (int, error) { l.got += string(b); return len(b), nil }
func (l *late) Connected() error {
	if len(l.waits) < 2 {
		return sim.ErrWouldBlock
	}
	return l.failed
}

// TestWriteWaits: what a descriptor that blocks writes waits for the connection, for as long as it takes.
func TestWriteWaits(t *testing.T) {
	for _, test := range []struct {
		name   string
		blocks bool
		failed error
		waits  []time.Duration
		want   string
	}{
		{"it waits", true, nil, []time.Duration{-1, -1}, "hello"},
		{"there is no connection", true, syscall.ECONNREFUSED, []time.Duration{-1, -1}, ""},
		{"it does not block", false, nil, nil, "hello"},
	} {
		l := &late{failed: test.failed}
		n, err := (&Instance{machine: l}).write(descriptor{conn: l, blocks: test.blocks}, []byte("hello"))
		if n != len(test.want) || err != test.failed || l.got != test.want || !slices.Equal(l.waits, test.waits) {
			t.Errorf("%s: wrote %q, %v, after the waits %v", test.name, l.got, err, l.waits)
		}
	}
}

// TestNonblock: a guest may change whether a descriptor blocks, if its descriptors do at all.
func TestNonblock(t *testing.T) {
	for _, test := range []struct {
		blocking, before bool
		flags            uint64
		want             bool
	}{
		{true, true, flagNonblock, false},
		{true, false, 0, true},
		{false, false, 0, false},
	} {
		in := &Instance{Config: Config{Blocking: test.blocking}, fds: map[int32]descriptor{firstFD: {conn: &late{}, blocks: test.before}}}
		if errno := fdSetFlags(in, nil, []uint64{firstFD, test.flags}); errno != errnoSuccess || in.fds[firstFD].blocks != test.want {
			t.Errorf("%+v: error %d, %v", test, errno, in.fds[firstFD].blocks)
		}
		if errno := fdSetFlags(in, nil, []uint64{firstFD + 1, test.flags}); errno != errnoBadf || len(in.fds) != 1 {
			t.Errorf("%+v: error %d for a descriptor that does not exist", test, errno)
		}
	}
}

// nowhere is a memory in which no address is valid.
type nowhere struct{ api.Memory }

func (nowhere) Read(uint32, uint32) ([]byte, bool) { return nil, false }

// TestFault: a guest that asks for random bytes at an address outside its memory gets an error.
func TestFault(t *testing.T) {
	if errno := randomGet(&Instance{}, nowhere{}, []uint64{1 << 31, 8}); errno != errnoFault {
		t.Errorf("error %d, want %d", errno, errnoFault)
	}
}
