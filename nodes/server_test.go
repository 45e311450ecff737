package nodes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// needServer skips a test where there is no redis-server, and fails it in CI, where a test that never runs proves nothing.
func needServer(t testing.TB) {
	t.Helper()
	if err := FindServer(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func serverFor(t testing.TB, ctx context.Context, extra ...string) *Server {
	t.Helper()
	needServer(t)
	s, err := StartServer(ctx, extra...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// dial opens a connection to s that lasts as long as the test.
func (s *Server) dial(t testing.TB) *realConn {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &realConn{t: t, conn: c, replies: bufio.NewReader(c)}
}

// gone checks that nothing is left of a server: no process, no listener, no directory. A pid of 0 and an empty dir are not
// looked for.
func gone(t testing.TB, pid int, addr, dir string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var left []string
		if p, err := os.FindProcess(pid); pid != 0 && err == nil && p.Signal(syscall.Signal(0)) == nil {
			left = append(left, fmt.Sprintf("process %d", pid))
		}
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			left = append(left, "a listener at "+addr)
		}
		if _, err := os.Stat(dir); dir != "" && err == nil {
			left = append(left, dir)
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left behind: %s", strings.Join(left, ", "))
		}
	}
}

func TestServerRemembersWhatItIsToldTo(t *testing.T) {
	t.Parallel()
	s := serverFor(t, t.Context())
	c := s.dial(t)
	expect(t, c, "SET a 1", "+OK")
	expect(t, c, "SET b 2 PX 60000", "+OK")
	expect(t, c, "SET c 3 PX 20", "+OK")

	s.Crash()
	if _, err := net.Dial("tcp", s.Addr()); err == nil {
		t.Error("a crashed server listens")
	}
	time.Sleep(30 * time.Millisecond)
	if err := s.Restart(false); err != nil {
		t.Fatal(err)
	}
	c = s.dial(t)
	expect(t, c, "GET a", "$1 1")
	expect(t, c, "GET b", "$1 2")
	expect(t, c, "PERSIST b", ":1")
	expect(t, c, "EXISTS c", ":0") // time passes while a server is down

	if err := s.Restart(true); err != nil {
		t.Fatal(err)
	}
	c = s.dial(t)
	expect(t, c, "DBSIZE", ":0")
	expect(t, c, "SET a 4", "+OK")
	if err := s.Restart(false); err != nil {
		t.Fatal(err)
	}
	expect(t, s.dial(t), "GET a", "$1 4")
}

func TestServerJumps(t *testing.T) {
	t.Parallel()
	s := serverFor(t, t.Context())
	c := s.dial(t)
	expect(t, c, "SET a 1 PX 5000", "+OK")
	expect(t, c, "SET b 2 PX 60000", "+OK")
	expect(t, c, "SET c 3", "+OK")
	moved, err := s.Jump(10 * time.Second)
	if moved != 2 || err != nil {
		t.Errorf("a jump moved %d keys, %v; want 2", moved, err)
	}
	expect(t, c, "EXISTS a b c", ":2")
	if _, err := s.Jump(-30 * time.Second); err != nil {
		t.Fatal(err)
	}
	var left int
	if fmt.Sscanf(c.do("PTTL", "b"), ":%d", &left); left < 75_000 || left > 80_000 {
		t.Errorf("after 10s forward and 30s back a key of 60s has %d ms left", left)
	}
}

func TestServerPauses(t *testing.T) {
	t.Parallel()
	if stopSignal == nil {
		t.Skip("no process can be paused here")
	}
	s := serverFor(t, t.Context())
	c := s.dial(t)
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	if got := c.raw([]byte("PING\r\n")); got != "" {
		t.Errorf("a paused server answered %q", got)
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	c.conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	if line, err := c.replies.ReadString('\n'); line != "+PONG\r\n" {
		t.Errorf("a resumed server answered %q, %v", line, err)
	}
	s.Pause()
	s.Stop() // a stopped process can be killed all the same
}

func TestServerLeavesNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stopped, cancelled := serverFor(t, ctx), serverFor(t, ctx)
	if stopped.Addr() == cancelled.Addr() {
		t.Fatal("two servers share an address")
	}
	stopped.Stop()
	gone(t, stopped.cmd.Process.Pid, stopped.Addr(), stopped.dir)
	cancel()
	gone(t, cancelled.cmd.Process.Pid, cancelled.Addr(), cancelled.dir)
	if cancelled.Restart(false) == nil {
		t.Error("a server came back after the end of its context")
	}
	gone(t, cancelled.cmd.Process.Pid, cancelled.Addr(), cancelled.dir)
}

// dies tells this test binary to start a server and to end in some way without stopping it.
const dies = "LOCKSTEP_TEST_DIES"

func TestServerDiesWithItsParent(t *testing.T) {
	if how := os.Getenv(dies); how != "" {
		s, err := StartServer(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(s.Addr())
		switch how {
		case "panic":
			go panic("as ordered")
			select {}
		case "exit":
			os.Exit(0)
		}
		select {} // until it is killed
	}
	if runtime.GOOS != "linux" {
		t.Skip("only linux can tie the life of a process to that of its parent")
	}
	needServer(t)
	for _, how := range []string{"panic", "exit", "kill"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c := exec.Command(os.Args[0], "-test.run=^TestServerDiesWithItsParent$")
			c.Env = append(os.Environ(), dies+"="+how, "TMPDIR="+t.TempDir())
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			var addr string
			_, err = fmt.Fscanln(out, &addr)
			c.Process.Kill()
			c.Wait()
			if err != nil {
				t.Fatal("it did not say what it started: ", err)
			}
			gone(t, 0, addr, "") // its process may stay as a zombie until whoever inherits it looks
		})
	}
}

func TestServerTakesAnotherPort(t *testing.T) {
	t.Parallel()
	s := serverFor(t, t.Context())
	rival := &Server{ctx: t.Context(), path: s.path, dir: t.TempDir(), addr: s.Addr()}
	if err := rival.launch(); !errors.Is(err, errTaken) {
		t.Errorf("on a port that is taken: %v, want errTaken", err)
	} else if !strings.Contains(err.Error(), "bind") {
		t.Errorf("the error does not say what redis-server said: %v", err)
	}
	if err := rival.start(); err != nil {
		t.Errorf("on another port: %v", err)
	}
	rival.kill()
}

func TestFindServer(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if err := FindServer(); !errors.Is(err, ErrNoServer) {
		t.Errorf("with an empty PATH: %v, want ErrNoServer", err)
	}
	if _, err := StartServer(t.Context()); !errors.Is(err, ErrNoServer) {
		t.Errorf("StartServer with an empty PATH: %v, want ErrNoServer", err)
	}
	for said, want := range map[string]string{
		"Redis server v=6.2.14 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64": "is version 6.2.14; Lockstep needs 7 or newer",
		"what?":                                 "does not say its version",
		"Redis server v=10.0.1 sha=00000000:0":  "",
		"Valkey server v=8.1.0 sha=00000000:0 ": "",
	} {
		script := "#!/bin/sh\necho '" + said + "'\n"
		if err := os.WriteFile(filepath.Join(dir, "redis-server"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		err := FindServer()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", said, err, want)
		}
	}
}

func TestServerThatDoesNotStart(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\nif [ \"$1\" = --version ]; then echo v=7.0.0; else echo it is all too much; fi\n"
	if err := os.WriteFile(filepath.Join(dir, "redis-server"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	_, err := StartServer(t.Context())
	if err == nil || !strings.Contains(err.Error(), "it is all too much") {
		t.Errorf("the error does not say what the server said: %v", err)
	}
	if left, _ := os.ReadDir(tmp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	s := serverFor(t, t.Context())
	c := s.dial(t)
	expect(t, c, "HSET h f 1", ":1")
	expect(t, c, "SET a 1", "+OK")
	expect(t, c, "SET b 2 PXAT 4102444800000", "+OK")
	c.do("SET", "odd\r\nkey", string([]byte{0, 255}))
	at, keys, err := s.keys()
	if err != nil {
		t.Fatal(err)
	}
	if d := time.Since(time.UnixMilli(at)).Abs(); d > 5*time.Second {
		t.Errorf("its clock is %v off", d)
	}
	want := map[string]entry{
		"a": {"1", true, 0}, "b": {"2", true, 4102444800000}, "odd\r\nkey": {"\x00\xff", true, 0},
		"h": collection([]string{"HSET", "h", "f", "1"}),
	}
	if !maps.Equal(keys, want) {
		t.Errorf("got %+v, want %+v", keys, want)
	}
}

// A script that starts redis-server and waits for it would be killed, stopped and resumed in its place.
func TestServerBehindAScript(t *testing.T) {
	needServer(t)
	path, err := findServer()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for script, want := range map[string]string{path + ` "$@"; true`: "write exec before the command", "exec " + path + ` "$@"`: ""} {
		if err := os.WriteFile(filepath.Join(dir, "redis-server"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		s, err := StartServer(t.Context())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
		if err == nil {
			s.Stop()
		}
	}
}
