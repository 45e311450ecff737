// Package redistest helps tests that compare with real servers. It has redis-server processes that live as long as a
// test, connections to them, and a way to repeat a test during which the machine stalled.
package redistest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/proto"

	"lockstep/nodes/redisserver"
)

// A Conn sends one command and returns its raw reply.
type Conn interface {
	Do(args ...string) string
}

// A Waiter is a [Conn] that can wait for replies and other messages.
type Waiter interface {
	Conn
	Send(args ...string)
	Hear() string
}

// On returns a connection to something that replies at once to the bytes it is fed, such as a session of a node.
func On(node interface{ Feed(data []byte) []byte }) Conn { return fed{node} }

type fed struct {
	node interface{ Feed(data []byte) []byte }
}

func (f fed) Do(args ...string) string { return string(f.node.Feed(AppendCommand(nil, args...))) }

// Server is a redis-server process that lives as long as a test.
type Server struct {
	t      testing.TB
	socket string
}

// Start starts redis-server, configured like a simulated node. If there is none, the test is skipped; in CI it fails, because a
// test that never runs proves nothing.
func Start(t testing.TB) *Server {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no redis-server to compare with: ", err)
		}
		t.Skip("no redis-server to compare with: ", err)
	}
	// A socket in a new directory needs no port, which another process might take first. The path of a socket must be short, which
	// t.TempDir does not guarantee.
	dir, err := os.MkdirTemp("", "lockstep")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &Server{t: t, socket: filepath.Join(dir, "redis.sock")}
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

// Connect opens a connection, which the test closes.
func (s *Server) Connect() *Client {
	c, err := net.Dial("unix", s.socket)
	if err != nil {
		s.t.Fatal(err)
	}
	return &Client{T: s.t, Conn: c, Replies: bufio.NewReader(c)}
}

// Client is a connection to a server. Errors on it fail the test.
type Client struct {
	T       testing.TB
	Conn    net.Conn
	Replies *bufio.Reader
}

// Do sends a command and returns its raw reply.
func (c *Client) Do(args ...string) string {
	c.T.Helper()
	c.Send(args...)
	return c.Hear()
}

// Send sends a command. [Client.Hear] returns the reply.
func (c *Client) Send(args ...string) {
	c.T.Helper()
	if _, err := c.Conn.Write(AppendCommand(nil, args...)); err != nil {
		c.T.Fatal(err)
	}
}

// Hear waits for a reply or another message, and returns it.
func (c *Client) Hear() string {
	c.T.Helper()
	c.Conn.SetReadDeadline(time.Now().Add(time.Minute))
	reply, err := proto.Read(c.Replies)
	if err != nil {
		c.T.Fatal(err)
	}
	return reply
}

// Raw sends bytes and returns everything that comes back until the server closes the connection or is silent.
func (c *Client) Raw(data []byte) string {
	c.T.Helper()
	if _, err := c.Conn.Write(data); err != nil {
		c.T.Fatal(err)
	}
	var got []byte
	buf := make([]byte, 4096)
	for {
		c.Conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		n, err := c.Replies.Read(buf)
		got = append(got, buf[:n]...)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return string(got)
		}
		if err != nil {
			return string(got) + ClosedMark
		}
	}
}

// ClosedMark stands for the end of a connection in what [Client.Raw] returns.
const ClosedMark = "<closed>"

// Close ends the connection.
func (c *Client) Close() { c.Conn.Close() }

// Jump imitates a jump of the server's clock by moving the deadlines of all its keys.
func (c *Client) Jump(d time.Duration) {
	c.T.Helper()
	const script = `
		for _, key in ipairs(redis.call('KEYS', '*')) do
			local deadline = redis.call('PEXPIRETIME', key)
			if deadline > 0 then redis.call('PEXPIREAT', key, deadline - ARGV[1]) end
		end
		return 'jumped'`
	if got := c.Do("EVAL", script, "0", strconv.FormatInt(d.Milliseconds(), 10)); got != "$6\r\njumped\r\n" {
		c.T.Fatalf("jump: %q", got)
	}
}

// NeedServer skips a test if there is no redis-server, and fails it in CI, where a test that never runs proves nothing.
func NeedServer(t testing.TB) {
	t.Helper()
	if err := redisserver.Find(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// StartServer starts a server with its own port and directory, which a test may crash and restart. See [NeedServer] and
// [redisserver.Start].
func StartServer(t testing.TB, ctx context.Context, extra ...string) *redisserver.Server {
	t.Helper()
	NeedServer(t)
	s, err := redisserver.Start(ctx, extra...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// Dial opens a connection to a server. It is closed when the test ends.
func Dial(t testing.TB, addr string) *Client {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &Client{T: t, Conn: c, Replies: bufio.NewReader(c)}
}

// Gone checks that nothing is left of a server: no process, no listener, no directory. It does not look for a pid of 0 or an empty
// dir.
func Gone(t testing.TB, pid int, addr, dir string) {
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

// Expect runs a command and checks its reply, in which a space stands for each end of a line.
func Expect(t testing.TB, c Conn, command, want string) {
	t.Helper()
	got := strings.TrimSuffix(strings.ReplaceAll(c.Do(strings.Fields(command)...), "\r\n", " "), " ")
	if got != want {
		t.Errorf("%s: got %q, want %q", command, got, want)
	}
}

// AppendCommand appends a command to dst, encoded as clients do.
func AppendCommand(dst []byte, args ...string) []byte {
	dst = append(strconv.AppendInt(append(dst, '*'), int64(len(args)), 10), "\r\n"...)
	for _, a := range args {
		dst = append(strconv.AppendInt(append(dst, '$'), int64(len(a)), 10), "\r\n"...)
		dst = append(append(dst, a...), "\r\n"...)
	}
	return dst
}
