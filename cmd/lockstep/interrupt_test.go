package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// unread starts the program with a pipe that is soon full, and waits until it is.
func unread(t *testing.T, args ...string) (c *exec.Cmd, said *strings.Builder) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("processes cannot be interrupted on this system")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	said = &strings.Builder{}
	c = exec.Command(os.Args[0], args...)
	c.Env = append(c.Environ(), asProgram+"=1")
	c.Stdout, c.Stderr = w, said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() { c.Process.Kill() })
	if _, err := io.ReadFull(r, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	return c, said
}

// A signal ends the program even if nobody reads what it prints.
func TestSignalWhileNobodyReads(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		c, said := unread(t, "list", "--json")
		start := time.Now()
		c.Process.Signal(signal)
		c.Wait()
		if code, took := c.ProcessState.ExitCode(), time.Since(start); code != exitInput || said.String() != "lockstep: interrupted\n" || took > 10*stopGrace {
			t.Errorf("%v: exit status %d after %v\n%s", signal, code, took, said)
		}
	}
}

// A second signal kills, but not the same signal sent twice, as timeout(1) does.
func TestSecondSignalKills(t *testing.T) {
	t.Parallel()
	c, said := unread(t, "list", "--json")
	c.Process.Signal(os.Interrupt)
	c.Process.Signal(os.Interrupt)
	ended := make(chan error)
	go func() { ended <- c.Wait() }()
	for {
		select {
		case <-ended:
			if how := c.ProcessState.String(); how != "signal: terminated" || said.Len() > 0 {
				t.Errorf("%s\n%s", how, said)
			}
			return
		case <-time.After(stopPoll): // it may come too early, and then it is no second signal
			c.Process.Signal(syscall.SIGTERM)
		}
	}
}

// What must be put in order delays the end.
func TestHold(t *testing.T) {
	first, second := hold(), hold()
	first()
	first()
	if n := holds.Load(); n != 1 {
		t.Errorf("%d are held, want 1", n)
	}
	second()
	o := &output{File: os.NewFile(^uintptr(0), "closed")}
	if _, err := o.Write(nil); err == nil || !errors.Is(o.err, err) || o.writes.Load() != 2 {
		t.Errorf("%v, %v, %d", err, o.err, o.writes.Load())
	}
}
