package nodes

import (
	"bufio"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
)

// conn sends one command and returns its reply as it came.
type conn interface {
	do(args ...string) string
}

// realServer is a redis-server process that lives as long as a test.
type realServer struct {
	t      testing.TB
	socket string
}

// startRedis starts redis-server, configured as a node is. Where there is none, the test is skipped; in CI it fails,
// because a test that never runs proves nothing.
func startRedis(t testing.TB) *realServer {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no redis-server to compare with: ", err)
		}
		t.Skip("no redis-server to compare with: ", err)
	}
	// A socket in a directory of its own needs no port that another process might take first. The path of a socket must
	// be short, which t.TempDir does not promise.
	dir, err := os.MkdirTemp("", "lockstep")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &realServer{t: t, socket: filepath.Join(dir, "redis.sock")}
	process := exec.Command(path, "--port", "0", "--unixsocket", s.socket, "--dir", dir,
		"--save", "", "--appendonly", "no", "--databases", "1")
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		process.Process.Kill()
		process.Wait()
	})
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial("unix", s.socket)
		if err == nil {
			c.Close()
			return s
		}
		if time.Now().After(deadline) {
			t.Fatal("redis-server does not listen: ", err)
		}
	}
}

func (s *realServer) connect() *realConn {
	c, err := net.Dial("unix", s.socket)
	if err != nil {
		s.t.Fatal(err)
	}
	return &realConn{t: s.t, conn: c, replies: bufio.NewReader(c)}
}

type realConn struct {
	t       testing.TB
	conn    net.Conn
	replies *bufio.Reader
}

func (c *realConn) do(args ...string) string {
	c.t.Helper()
	if _, err := c.conn.Write(appendCommand(nil, args...)); err != nil {
		c.t.Fatal(err)
	}
	reply, err := proto.Read(c.replies)
	if err != nil {
		c.t.Fatalf("%q: %v", args, err)
	}
	return reply
}

// raw sends bytes and returns whatever comes back until the server closes the connection or is silent.
func (c *realConn) raw(data []byte) string {
	c.t.Helper()
	if _, err := c.conn.Write(data); err != nil {
		c.t.Fatal(err)
	}
	var got []byte
	buf := make([]byte, 4096)
	for {
		c.conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		n, err := c.replies.Read(buf)
		got = append(got, buf[:n]...)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return string(got)
		}
		if err != nil {
			return string(got) + closedMark
		}
	}
}

// closedMark stands for the end of a connection in what raw returns.
const closedMark = "<closed>"

func (c *realConn) close() { c.conn.Close() }

// jump is a jump of the server's clock, seen from its keys: all their deadlines come nearer by so much.
func (c *realConn) jump(d time.Duration) {
	c.t.Helper()
	const script = `
		for _, key in ipairs(redis.call('KEYS', '*')) do
			local deadline = redis.call('PEXPIRETIME', key)
			if deadline > 0 then redis.call('PEXPIREAT', key, deadline - ARGV[1]) end
		end
		return 'jumped'`
	if got := c.do("EVAL", script, "0", formatDeadline(d.Milliseconds())); got != "$6\r\njumped\r\n" {
		c.t.Fatalf("jump: %q", got)
	}
}
