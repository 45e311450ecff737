//go:build !wasm

package foreign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockstep/clients"
	"lockstep/clients/foreign/fromc"
	"lockstep/sim"
	"lockstep/sim/history"
)

// on runs f as the lane of client c1, whose lock is a program, in a world with faults. The first fault comes after 100 ms, and
// each further one 100 ms later.
func on(t *testing.T, module string, seed uint64, faults []history.Fault, f func(ctx context.Context, w *sim.World, p *sim.Process, l clients.Locker)) {
	t.Helper()
	build, err := Find(clients.WasmPrefix + module)
	if err != nil {
		t.Fatal(err)
	}
	err = sim.Bubble(func() {
		w := sim.NewWorld(sim.Config{Seed: seed})
		defer w.Close()
		addrs := []string{w.Serve("n1", echo{}).Addr(), "10.0.0.9:1"} // nothing listens on the second
		p := w.Process("c1")
		for i, f := range faults {
			w.Plan(time.Duration(i+1)*100*time.Millisecond, f)
		}
		p.Go(func(ctx context.Context) {
			env := clients.NewEnv(p.Clock(), p.Wall(), w.Rand(seed, "client", "c1"), p.DialContext, addrs)
			l := build(env)
			f(ctx, w, p, l)
			l.(*lock).Close()
			env.Close()
		})
		w.Run()
	})
	if err != nil {
		t.Error(err)
	}
}

// said is what the parrot says when it is asked for a lock with a name.
func said(ctx context.Context, l clients.Locker, name string) string {
	_, err := l.Acquire(ctx, name, 10*time.Second)
	return fmt.Sprint(err)
}

// Each answer means what docs/other-languages.md says.
func TestAnswers(t *testing.T) {
	parrot := fromc.Compile(t, "parrot.wasm", "testdata/parrot.c")
	for _, c := range []struct {
		name string
		want string // of the first operation that fails, or of the release
		is   error
	}{
		{"refused", "lock not acquired", clients.ErrNotAcquired},
		{"refused_it_was_too_late", "lock not acquired: it was too late", clients.ErrNotAcquired},
		{"error", "the lock gives no reason", nil},
		{"error_no_reply", "no reply", nil},
		{"echo", "acquire echo 10000", nil},
		{"arguments", "parrot.wasm 10.0.0.1:6379 10.0.0.9:1", nil},
		{"granted", `it answered "acquire granted 10000" with "granted": the first word must be ok, refused or error`, nil},
		{"unsupported", `with "unsupported": the first word must be ok, refused or error`, nil},
		{"ok_9990", `with "ok 9990": the end of the lease must be a reading of CLOCK_MONOTONIC in nanoseconds, which shows 3600000000000 now`, nil},
		{"ok_1764000000000000000", "the end of the lease must be a reading of CLOCK_MONOTONIC in nanoseconds", nil},
		{"ok_99999999999999999999", "the end of the lease must be a reading of CLOCK_MONOTONIC in nanoseconds", nil},
		{"ok_-1", "the end of the lease must be a reading of CLOCK_MONOTONIC in nanoseconds", nil},
		{"ok_soon", "the end of the lease must be a reading of CLOCK_MONOTONIC in nanoseconds", nil},
		{"ok_0_x", `the fencing token must be a number of at most 63 bits, not "x"`, nil},
		{"ok_0_1_2", "ok is followed by at most two numbers", nil},
		{"ok", "", nil},
		{"ok_0|refused", "lock not held", clients.ErrNotHeld},
		{"ok_0|error_no_reply", "no reply", nil},
		{"ok_0|echo", "release ok 0|echo", nil},
		{"ok_0|unsupported", "the first word must be ok, refused or error", nil},
	} {
		on(t, parrot, 1, nil, func(ctx context.Context, _ *sim.World, p *sim.Process, l clients.Locker) {
			lease, err := l.Acquire(ctx, c.name, 10*time.Second)
			if err == nil {
				err = lease.Release(ctx)
			}
			if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.Contains(strings.ReplaceAll(got, "_", " "), strings.ReplaceAll(c.want, "_", " ")) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
			if broken := l.(clients.Program).Err() != nil; broken != strings.Contains(c.want, "must be") && broken != strings.Contains(c.want, "at most two") {
				t.Errorf("%s: %v", c.name, l.(clients.Program).Err())
			}
		})
	}
}

// A lease ends when the program says, by the clock of the process, and has the fencing token that it says.
func TestLease(t *testing.T) {
	parrot := fromc.Compile(t, "parrot.wasm", "testdata/parrot.c")
	on(t, parrot, 1, nil, func(ctx context.Context, _ *sim.World, p *sim.Process, l clients.Locker) {
		p.Until(300 * time.Millisecond)
		lease, err := l.Acquire(ctx, "minute|error_lost", 10*time.Second)
		if err != nil {
			t.Error(err)
			return
		}
		asked := p.Clock().Now()
		if got := lease.Until().Sub(asked); got != time.Minute {
			t.Errorf("until %v from now, want a minute", got)
		}
		if _, ok := lease.(clients.Fenced); ok {
			t.Error("a token that nobody gave")
		}
		// An extension of which nobody knows the outcome: the earlier of the two ends counts.
		if err := lease.(clients.Extender).Extend(ctx, 5*time.Second); fmt.Sprint(err) != "lost" || lease.Until().Sub(asked) != 5*time.Second {
			t.Errorf("%v, until %v from now", err, lease.Until().Sub(asked))
		}
		if err := lease.(clients.Extender).Extend(ctx, time.Hour); fmt.Sprint(err) != "lost" || lease.Until().Sub(asked) != 5*time.Second {
			t.Errorf("%v, until %v from now", err, lease.Until().Sub(asked))
		}
		lease, err = l.Acquire(ctx, "ok_0_42|minute", 10*time.Second)
		if err != nil || !lease.Until().IsZero() || lease.(clients.Fenced).Fence() != 42 {
			t.Errorf("%v %v", lease, err)
		}
		if err := lease.(clients.Extender).Extend(ctx, time.Second); err != nil || lease.Until().Sub(asked) != time.Minute {
			t.Errorf("%v, until %v from now", err, lease.Until().Sub(asked))
		}
		for answer, want := range map[string]error{"refused": clients.ErrNotHeld, "unsupported": clients.ErrNotExtender} {
			if lease, err = l.Acquire(ctx, "ok|"+answer, 10*time.Second); err != nil {
				t.Error(err)
			} else if err := lease.(clients.Extender).Extend(ctx, time.Second); !errors.Is(err, want) {
				t.Errorf("%s: %v", answer, err)
			}
		}
	})
}

// Reads and writes block, also until the connection is open, unless the program asks for something else.
func TestConnections(t *testing.T) {
	parrot := fromc.Compile(t, "parrot.wasm", "testdata/parrot.c")
	on(t, parrot, 1, nil, func(ctx context.Context, w *sim.World, _ *sim.Process, l clients.Locker) {
		if got, want := said(ctx, l, "dial1"), "hello, Resource temporarily unavailable"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if w.Now() < time.Millisecond {
			t.Errorf("that took %v", w.Now())
		}
		if got, want := said(ctx, l, "dial2"), "write: Host is unreachable"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// echo is a server that sends back what it receives.
type echo struct{}

func (echo) Open(*sim.Conn)                                             {}
func (echo) Closed(*sim.Conn)                                           {}
func (echo) Receive(c *sim.Conn, data []byte)                           { c.Write(data) }
func (echo) Describe(data []byte, _ bool, _ func(string) string) string { return string(data) }

// The clocks of a program are those of its process, and a pause stops it. It sleeps for a second.
func TestClocks(t *testing.T) {
	parrot := fromc.Compile(t, "parrot.wasm", "testdata/parrot.c")
	for name, c := range map[string]struct {
		faults []history.Fault
		want   string // how long that took by its wall clock, by its steady clock, and in true time
	}{
		"right":       {nil, "1s 1s 1s"},
		"ahead":       {[]history.Fault{history.Jump{Process: "c1", By: 20 * time.Second}}, "21s 1s 1s"},
		"behind":      {[]history.Fault{history.Jump{Process: "c1", By: -time.Minute}}, "-59s 1s 1s"},
		"fast":        {[]history.Fault{history.Drift{Process: "c1", PPM: 100_000}}, "1s 1s 918.181819ms"},
		"paused":      {[]history.Fault{history.Pause{Process: "c1", For: 3 * time.Second}}, "3.1s 3.1s 3.1s"},
		"paused once": {[]history.Fault{history.Pause{Process: "c1", For: 300 * time.Millisecond}}, "1s 1s 1s"},
	} {
		var got string
		on(t, parrot, 1, c.faults, func(ctx context.Context, w *sim.World, _ *sim.Process, l clients.Locker) {
			ns := func(name string) (d time.Duration) {
				if _, err := fmt.Sscan(said(ctx, l, name), (*int64)(&d)); err != nil {
					t.Error(err)
				}
				return d
			}
			wall := ns("wall")
			steady := ns("sleep")
			took := w.Now()
			got = fmt.Sprint(ns("wall")-wall, steady, took)
		})
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// With the same seed a program draws the same, and with another it does not.
func TestRandom(t *testing.T) {
	parrot := fromc.Compile(t, "parrot.wasm", "testdata/parrot.c")
	draws := func(seed uint64) (all string) {
		on(t, parrot, seed, nil, func(ctx context.Context, _ *sim.World, _ *sim.Process, l clients.Locker) {
			all = said(ctx, l, "random") + said(ctx, l, "random")
		})
		return all
	}
	if a, b, other := draws(1), draws(1), draws(2); a != b || a == other || a == "" {
		t.Errorf("%s, %s, %s", a, b, other)
	}
}

// If its process crashes, a program ends in the middle of what it does, which is not its fault.
func TestCrash(t *testing.T) {
	parrot := fromc.Compile(t, "parrot.wasm", "testdata/parrot.c")
	on(t, parrot, 1, []history.Fault{history.Crash{Process: "c1"}}, func(ctx context.Context, _ *sim.World, _ *sim.Process, l clients.Locker) {
		if got := said(ctx, l, "sleep"); got != context.Canceled.Error() || l.(clients.Program).Err() != nil {
			t.Errorf("%s %v", got, l.(clients.Program).Err())
		}
	})
}

// If the caller of an acquire waits no longer, the program goes on, its answer counts, and it answers the next request.
func TestCallerGone(t *testing.T) {
	parrot := fromc.Compile(t, "parrot.wasm", "testdata/parrot.c")
	on(t, parrot, 1, nil, func(ctx context.Context, _ *sim.World, p *sim.Process, l clients.Locker) {
		gone, cancel := context.WithCancelCause(ctx)
		p.Clock().AfterFunc(time.Millisecond, func() { cancel(clients.ErrCallerGone) })
		first := said(gone, l, "sleep")
		if next := said(ctx, l, "sleep"); first != next || first == context.Canceled.Error() || gone.Err() == nil {
			t.Errorf("%q, then %q", first, next)
		}
	})
}

// module is a WebAssembly module with these sections.
func module(sections string) string { return "\x00asm\x01\x00\x00\x00" + sections }

// A file that the host cannot run is refused before anything runs, and the error says why.
func TestFind(t *testing.T) {
	const (
		nothing   = "\x01\x04\x01\x60\x00\x00"                         // type 0: () -> ()
		oneInt    = "\x01\x05\x01\x60\x01\x7f\x00"                     // type 0: (i32) -> ()
		twoInts   = "\x01\x06\x01\x60\x02\x7f\x7f\x00"                 // type 0: (i32 i32) -> ()
		toInt     = "\x01\x06\x01\x60\x01\x7f\x01\x7f"                 // type 0: (i32) -> (i32)
		function  = "\x03\x02\x01\x00"                                 // function 0 of type 0
		memory    = "\x05\x03\x01\x00\x01"                             // of one page
		start     = "\x07\x0a\x01\x06_start\x00\x00"                   // function 0 is exported as _start
		both      = "\x07\x13\x02\x06_start\x00\x00\x06memory\x02\x00" // and the memory
		body      = "\x0a\x04\x01\x02\x00\x0b"                         // that does nothing
		connect   = "\x02\x0f\x01\x03env\x07connect\x00\x00"           // imports env.connect, of type 0
		dial      = "\x02\x11\x01\x08lockstep\x04dial\x00\x00"         // imports lockstep.dial, of type 0
		ask       = "\x02\x10\x01\x08lockstep\x03ask\x00\x00"          // imports lockstep.ask, of type 0
		itsMemory = "\x02\x0f\x01\x03env\x06memory\x02\x00\x01"        // imports a memory
		tooMuch   = "\x05\x05\x01\x00\x81\x80\x01"                     // a memory of 16385 pages
	)
	dir := t.TempDir()
	for i, c := range []struct{ code, want string }{
		{"", "it is not a WebAssembly module"},
		{"#!/bin/sh", "it is not a WebAssembly module"},
		{"\x00asm\x0d\x00\x01\x00", "it is a WebAssembly component; it must be a module for WASI preview 1"},
		{"\x00asm\x02\x00\x00\x00", "invalid version header"},
		{module("\x01\x02"), "EOF"},
		{module(""), "it exports no function _start: it must be a program with a main function, and not a library"},
		{module(nothing + function + memory + "\x07\x0b\x01\x07acquire\x00\x00" + body), "it exports no function _start, only acquire"},
		{module(oneInt + function + memory + both + body), "its _start is a function of (i32) -> (), but must be one of () -> ()"},
		{module(nothing + function + memory + start + body), "it exports no memory with the name memory"},
		{module(nothing + connect), "it imports env.connect, but may import only functions of wasi_snapshot_preview1, and lockstep.dial"},
		{module(nothing + ask), "it imports lockstep.ask, but may import only"},
		{module(nothing + dial), "it imports lockstep.dial as a function of () -> (), but that is one of (i32 i32) -> (i32)"},
		{module(twoInts + dial), "it imports lockstep.dial as a function of (i32 i32) -> (), but that is one of (i32 i32) -> (i32)"},
		{module(toInt + dial), "it imports lockstep.dial as a function of (i32) -> (i32), but that is one of (i32 i32) -> (i32)"},
		{module(itsMemory), "it imports its memory; it must have its own"},
		{module(nothing + function + tooMuch + both + body), "over limit of 8192"},
		{module(nothing + function + memory + both + body), ""},
	} {
		file := filepath.Join(dir, fmt.Sprintf("%d.wasm", i))
		if err := os.WriteFile(file, []byte(c.code), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Find(clients.WasmPrefix + file)
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q: %v, want %q", c.code, err, c.want)
		case err != nil && (!strings.HasPrefix(err.Error(), clients.WasmPrefix+file+": ") || strings.Contains(err.Error(), "\n")):
			t.Errorf("%q: %v: not one line with the file", c.code, err)
		}
	}
	for name, want := range map[string]string{
		"":                         "wasm: must be followed by the path of a file",
		filepath.Join(dir, "none"): "there is no such file",
		dir:                        "it is not a regular file",
		"my lock.wasm":             "must not contain spaces",
		"lock\x1b.wasm":            "must not contain spaces or control characters",
		strings.Repeat("x", 151):   "may have at most 150 bytes",
	} {
		if _, err := Find(clients.WasmPrefix + name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
}

// If the file of a module changes, it is loaded again.
func TestFindAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock.wasm")
	good := module("\x01\x04\x01\x60\x00\x00" + "\x03\x02\x01\x00" + "\x05\x03\x01\x00\x01" + "\x07\x13\x02\x06_start\x00\x00\x06memory\x02\x00" + "\x0a\x04\x01\x02\x00\x0b")
	for code, ok := range map[string]bool{good: true, "": false} {
		if err := os.WriteFile(name, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Find(clients.WasmPrefix + name); (err == nil) != ok {
			t.Errorf("%q: %v", code, err)
		}
	}
}
