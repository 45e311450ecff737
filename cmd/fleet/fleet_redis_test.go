//go:build unix

package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A redisServer is a redis-server process on a port that stays the same.
type redisServer struct {
	t      testing.TB
	path   string
	dir    string
	port   int
	extra  []string
	cmd    *exec.Cmd
	exited chan struct{}
}

// startRedis starts a server, which ends with the test. Without redis-server the test is skipped; in CI it fails, because a test that
// never runs proves nothing.
func startRedis(t testing.TB, extra ...string) *redisServer {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no redis-server: ", err)
		}
		t.Skip("no redis-server: ", err)
	}
	r := &redisServer{t: t, path: path, dir: t.TempDir(), port: freePort(t), extra: extra}
	r.start()
	t.Cleanup(r.kill)
	return r
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// start starts the process, with the data that it had.
func (r *redisServer) start() {
	r.t.Helper()
	args := append([]string{"--bind", "127.0.0.1", "--port", strconv.Itoa(r.port), "--dir", r.dir, "--save", "",
		"--appendonly", "yes", "--appendfsync", "always", "--logfile", filepath.Join(r.dir, "log")}, r.extra...)
	r.cmd, r.exited = exec.Command(r.path, args...), make(chan struct{})
	tether(r.cmd)
	started := make(chan error)
	go func(cmd *exec.Cmd, exited chan struct{}) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
		}
		close(exited)
	}(r.cmd, r.exited)
	if err := <-started; err != nil {
		r.t.Fatal(err)
	}
	for range 1000 {
		if log, _ := os.ReadFile(filepath.Join(r.dir, "log")); bytes.Contains(log, fmt.Appendf(nil, "%d:M", r.cmd.Process.Pid)) || bytes.Contains(log, fmt.Appendf(nil, "%d:S", r.cmd.Process.Pid)) {
			if c, err := net.Dial("tcp", r.addr()); err == nil {
				c.Close()
				return
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	log, _ := os.ReadFile(filepath.Join(r.dir, "log"))
	r.t.Fatalf("redis-server does not start:\n%s", log)
}

func (r *redisServer) kill() {
	r.cmd.Process.Kill()
	<-r.exited
}

// failToSave makes the server find out that it cannot write its data. It must have been started with --save.
func (r *redisServer) failToSave() {
	r.t.Helper()
	if err := os.Mkdir(filepath.Join(r.dir, "dump.rdb"), 0o700); err != nil {
		r.t.Fatal(err)
	}
	c := r.client()
	if err := c.BgSave(r.t.Context()).Err(); err != nil {
		r.t.Fatal(err)
	}
	info := ""
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(5 * time.Millisecond) {
		if info = c.Info(r.t.Context(), "persistence").Val(); strings.Contains(info, "rdb_last_bgsave_status:err") {
			return
		}
	}
	r.t.Fatalf("redis-server reported no failed save within a minute:\n%s", info)
}

// clear removes the data of a server that is down.
func (r *redisServer) clear() {
	os.RemoveAll(filepath.Join(r.dir, "appendonlydir"))
}

func (r *redisServer) addr() string { return fmt.Sprintf("127.0.0.1:%d", r.port) }
func (r *redisServer) url() string  { return "redis://" + r.addr() }

func (r *redisServer) client() *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: r.addr(), Protocol: 2})
	r.t.Cleanup(func() { c.Close() })
	return c
}
