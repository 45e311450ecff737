package redisserver_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"lockstep/nodes/internal/redistest"
	"lockstep/nodes/redisserver"
)

func TestServerRemembersWhatItIsToldTo(t *testing.T) {
	t.Parallel()
	s := redistest.StartServer(t, t.Context())
	c := redistest.Dial(t, s.Addr())
	redistest.Expect(t, c, "SET a 1", "+OK")
	redistest.Expect(t, c, "SET b 2 PX 60000", "+OK")
	redistest.Expect(t, c, "SET c 3 PX 20", "+OK")

	s.Crash()
	if _, err := net.Dial("tcp", s.Addr()); err == nil {
		t.Error("a crashed server listens")
	}
	time.Sleep(30 * time.Millisecond)
	if err := s.Restart(false); err != nil {
		t.Fatal(err)
	}
	c = redistest.Dial(t, s.Addr())
	redistest.Expect(t, c, "GET a", "$1 1")
	redistest.Expect(t, c, "GET b", "$1 2")
	redistest.Expect(t, c, "PERSIST b", ":1")
	redistest.Expect(t, c, "EXISTS c", ":0") // time passes while the server is down

	if err := s.Restart(true); err != nil {
		t.Fatal(err)
	}
	c = redistest.Dial(t, s.Addr())
	redistest.Expect(t, c, "DBSIZE", ":0")
	redistest.Expect(t, c, "SET a 4", "+OK")
	if err := s.Restart(false); err != nil {
		t.Fatal(err)
	}
	redistest.Expect(t, redistest.Dial(t, s.Addr()), "GET a", "$1 4")
}

func TestServerJumps(t *testing.T) {
	t.Parallel()
	s := redistest.StartServer(t, t.Context())
	c := redistest.Dial(t, s.Addr())
	redistest.Expect(t, c, "SET a 1 PX 5000", "+OK")
	redistest.Expect(t, c, "SET b 2 PX 60000", "+OK")
	redistest.Expect(t, c, "SET c 3", "+OK")
	moved, err := s.Jump(10 * time.Second)
	if moved != 2 || err != nil {
		t.Errorf("a jump moved %d keys, %v; want 2", moved, err)
	}
	redistest.Expect(t, c, "EXISTS a b c", ":2")
	if _, err := s.Jump(-30 * time.Second); err != nil {
		t.Fatal(err)
	}
	var left int
	if fmt.Sscanf(c.Do("PTTL", "b"), ":%d", &left); left < 75_000 || left > 80_000 {
		t.Errorf("after 10s forward and 30s back a key of 60s has %d ms left", left)
	}
}

func TestServerPauses(t *testing.T) {
	t.Parallel()
	if redisserver.StopSignal == nil {
		t.Skip("no process can be paused here")
	}
	s := redistest.StartServer(t, t.Context())
	c := redistest.Dial(t, s.Addr())
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	if got := c.Raw([]byte("PING\r\n")); got != "" {
		t.Errorf("a paused server answered %q", got)
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	c.Conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	if line, err := c.Replies.ReadString('\n'); line != "+PONG\r\n" {
		t.Errorf("a resumed server answered %q, %v", line, err)
	}
	s.Pause()
	s.Stop() // a stopped process can still be killed
}

func TestServerLeavesNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stopped, cancelled := redistest.StartServer(t, ctx), redistest.StartServer(t, ctx)
	if stopped.Addr() == cancelled.Addr() {
		t.Fatal("two servers share an address")
	}
	stopped.Stop()
	redistest.Gone(t, stopped.Process().Pid, stopped.Addr(), stopped.Dir())
	cancel()
	redistest.Gone(t, cancelled.Process().Pid, cancelled.Addr(), cancelled.Dir())
	if cancelled.Restart(false) == nil {
		t.Error("a server came back after the end of its context")
	}
	redistest.Gone(t, cancelled.Process().Pid, cancelled.Addr(), cancelled.Dir())
}

// dies names the variable that tells this test binary to start a server and to end without stopping it.
const dies = "LOCKSTEP_TEST_DIES"

func TestServerDiesWithItsParent(t *testing.T) {
	if how := os.Getenv(dies); how != "" {
		s, err := redisserver.Start(context.Background())
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
		select {} // until the parent kills it
	}
	if runtime.GOOS != "linux" {
		t.Skip("only linux can tie the life of a process to that of its parent")
	}
	redistest.NeedServer(t)
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
			redistest.Gone(t, 0, addr, "") // its process may remain as a zombie until its new parent waits for it
		})
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
	_, err := redisserver.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "it is all too much") {
		t.Errorf("the error does not say what the server said: %v", err)
	}
	if left, _ := os.ReadDir(tmp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Signals would reach a script that starts redis-server and waits for it, and not the server.
func TestServerBehindAScript(t *testing.T) {
	redistest.NeedServer(t)
	path, err := redisserver.Path()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for script, want := range map[string]string{path + ` "$@"; true`: "write exec before the command", "exec " + path + ` "$@"`: ""} {
		if err := os.WriteFile(filepath.Join(dir, "redis-server"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		s, err := redisserver.Start(t.Context())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
		if err == nil {
			s.Stop()
		}
	}
}
