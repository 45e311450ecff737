//go:build linux

package live

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"lockstep/nodes/internal/redistest"
	"lockstep/nodes/redisserver"
	"lockstep/sim/history"
)

// needClocks skips a test if no redis-server can have its own clock; in CI it fails.
func needClocks(t testing.TB) {
	t.Helper()
	redistest.NeedServer(t)
	if err := redisserver.CanSetClocks(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// ownClocks starts n1 with its own clock, and a client.
func ownClocks(t testing.TB) (*Cluster, *Client) {
	t.Helper()
	c, err := StartClusterWithClocks(t.Context(), []string{"n1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c1, err := c.Client("c1")
	if err != nil {
		t.Fatal(err)
	}
	return c, c1
}

// The clock of a server shows the same as that of a simulated node, whatever faults it has, even if the server was down.
func TestOwnClock(t *testing.T) {
	t.Parallel()
	needClocks(t)
	redistest.Steady(t, func(t testing.TB) {
		c, _ := ownClocks(t)
		if err := c.Begin(); err != nil {
			t.Fatal(err)
		}
		var want history.Clock
		for i, fault := range []string{
			"", "jump n1 +1h", "jump n1 -3h", "drift n1 +300000ppm", "slew n1 +150ms over 200ms", "slew n1 -50ms over 100ms", "drift n1 -500000ppm",
			"crash n1", "jump n1 +1m", "restart n1 empty", "drift n1 +0ppm",
		} {
			if fault != "" {
				f, err := history.ParseFault(fault)
				if err != nil {
					t.Fatal(err)
				}
				want = want.After(f, c.Now())
				c.Inject(f)
				c.Run()
			}
			if fault == "crash n1" || fault == "jump n1 +1m" {
				continue
			}
			for range 3 {
				before := c.Now()
				shown, err := c.process("n1").node().server.Client().Time(t.Context()).Result()
				after := c.Now()
				if err != nil {
					t.Fatal(err)
				}
				const near = 5 * time.Millisecond // between the fault and the reading of the clock
				least, most := want.Wall(before)-near, want.Wall(after)+near
				if at := shown.Sub(c.start); at < min(least, most) || at > max(least, most) {
					t.Errorf("%d, after %q: it is %v by the clock of n1, want %v to %v", i, fault, at, least, most)
				}
				time.Sleep(60 * time.Millisecond)
			}
		}
	})
}

// The server's clock decides when a deadline given as a point in time has passed, and answers TIME. The recorded expiry of a key
// follows it too, so that the checker sees the fault.
func TestEndsByOwnClock(t *testing.T) {
	t.Parallel()
	needClocks(t)
	redistest.Steady(t, func(t testing.TB) {
		c, c1 := ownClocks(t)
		if err := c.Begin(); err != nil {
			t.Fatal(err)
		}
		conn := realConnTo(t, c1, "n1")
		inject(t, c, "jump n1 +1000s")
		if count(c, history.Bite, "jump n1 +1000s") != 0 {
			t.Error("the jump bit, and no key has an end")
		}
		at := func(d time.Duration) string { return fmt.Sprint(c.start.Add(c.Now() + d).UnixMilli()) }
		redistest.Expect(t, conn, "SET over t PXAT "+at(990*time.Second), "+OK")
		redistest.Expect(t, conn, "EXISTS over", ":0")
		redistest.Expect(t, conn, "SET lock t NX PXAT "+at(1002*time.Second), "+OK")
		if count(c, history.Bite, "jump n1 +1000s") != 1 {
			t.Error("the jump did not bite when a key got an end")
		}
		inject(t, c, "drift n1 +500000ppm")
		set := c.Now()
		var end history.Event
		for end.Op == "" && c.Now() < set+5*time.Second {
			time.Sleep(time.Millisecond)
			for _, e := range c.Events() {
				if e.Op == history.Expire && e.Key == "lock" {
					end = e
				}
			}
		}
		redistest.Expect(t, conn, "EXISTS lock", ":0")
		if took := end.At - set; (took - 1333*time.Millisecond).Abs() > 20*time.Millisecond { // 2 s at 1.5 times the rate
			t.Errorf("the key lived for %v: %+v", took, end)
		}
		if late := end.At + end.Wall - end.Until; late.Abs() > 20*time.Millisecond || end.Clock-end.At < 600*time.Millisecond {
			t.Errorf("%v after its time: %+v", late, end)
		}
	})
}

// A jump of the clock has the same effect on keys as a jump of the keys in TestCrashRestartAndJump.
func TestCrashRestartAndJumpOfClock(t *testing.T) {
	t.Parallel()
	needClocks(t)
	redistest.Steady(t, func(t testing.TB) {
		c, c1 := ownClocks(t)
		crashRestartAndJump(t, c, c1)
	})
}

// A server with replicas cannot have its own clock, and an error says why there is none.
func TestCanSetClocks(t *testing.T) {
	needClocks(t)
	c, err := StartClusterWithClocks(t.Context(), []string{"n1", "r1"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Group(RealGroup{Primary: "n1", Replicas: []string{"r1"}}); !errors.Is(err, redisserver.ErrNoClocks) {
		t.Errorf("replicas: %v", err)
	}

	t.Setenv("CC", "false") // it is on the PATH, and compiles nothing
	if _, err := StartClusterWithClocks(t.Context(), []string{"n1"}); !errors.Is(err, redisserver.ErrNoClocks) {
		t.Errorf("a compiler that fails: %v", err)
	}
	t.Setenv("CC", "no-compiler")
	if _, err := StartClusterWithClocks(t.Context(), []string{"n1"}); !errors.Is(err, redisserver.ErrNoClocks) {
		t.Errorf("no compiler: %v", err)
	}
}

// compiles names the variable with the file that the compiler of TestCompilerLeavesNothing creates when it runs.
const compiles = "LOCKSTEP_TEST_COMPILES"

// If this process is killed while the compiler runs, no temporary file remains.
func TestCompilerLeavesNothing(t *testing.T) {
	needClocks(t)
	if os.Getenv(compiles) != "" {
		StartClusterWithClocks(t.Context(), []string{"n1"})
		return
	}
	dir, tmp := t.TempDir(), t.TempDir()
	compiler, ready := filepath.Join(dir, "cc"), filepath.Join(dir, "ready")
	script := "#!/bin/sh\nmktemp >/dev/null && echo > \"$" + compiles + "\"\nexec sleep 60\n"
	if err := os.WriteFile(compiler, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	c.Env = append(os.Environ(), compiles+"="+ready, "TMPDIR="+tmp, "CC="+compiler)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	wait := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				left, _ := filepath.Glob(filepath.Join(tmp, "*"))
				t.Fatalf("%s: %q is left", what, left)
			}
		}
	}
	wait("the compiler does not start", func() bool { _, err := os.Stat(ready); return err == nil })
	c.Process.Kill()
	c.Wait()
	wait("after the kill", func() bool { left, _ := os.ReadDir(tmp); return len(left) == 0 })
}
