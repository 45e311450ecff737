//go:build unix

package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"lockstep/cmd/fleet/queue"
	"lockstep/scenarios/shards"
)

const secret = "s3cr:t/pass@word"

// Each queue that cannot be used is refused in one line, which never contains the password.
func TestBadQueues(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	plain := startRedis(t)
	locked := startRedis(t, "--requirepass", secret)
	cluster := startRedis(t, "--cluster-enabled", "yes")
	full := startRedis(t, "--maxmemory", "1")
	primary := startRedis(t)
	replica := startRedis(t, "--replicaof", "127.0.0.1 "+fmt.Sprint(primary.port))
	limited := startRedis(t)
	limited.client().ACLSetUser(t.Context(), "limited", "on", ">s3cr", "~*", "+@all", "-@scripting")
	diskless := startRedis(t, "--appendonly", "no", "--save", "1 1")
	diskless.failToSave()
	loading := resp(t, "-LOADING Redis is loading the dataset in memory", "")
	sentinel := resp(t, "+PONG", "redis_version:7.2.4\r\nredis_mode:sentinel\r\n")
	old := resp(t, "+PONG", "redis_version:4.0.14\r\nredis_mode:standalone\r\nrole:master\r\n")
	site := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(site.Close)
	web := strings.TrimPrefix(site.URL, "http://")
	dumb := listen(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	hasty := listen(t, func(c net.Conn) {})
	garbled := listen(t, func(c net.Conn) {
		bufio.NewReader(c).ReadString('\n')
		io.WriteString(c, "what?\r\n")
		io.Copy(io.Discard, c)
	})
	for _, c := range []struct{ name, url, want string }{
		{"no scheme", plain.addr(), "--queue: the queue must be named as redis://HOST:PORT, or rediss://HOST:PORT for TLS"},
		{"other scheme", "http://" + plain.addr(), "--queue: the queue must be named as redis://HOST:PORT"},
		{"no host", "redis://", "redis://: the host is missing"},
		{"password as port", "redis://user:" + "s3cr", "the port must be a number; a user and a password go before an @"},
		{"two servers", "redis://a:1,b:2", "the queue must be one server; the URL must not have a comma"},
		{"raw password", "redis://:" + secret + "@" + plain.addr(), "the user or the password cannot be read; in a URL, write @ as %40"},
		{"bad escape", "redis://:s3cr%zz@" + plain.addr(), "the user or the password cannot be read"},
		{"no database", plain.url() + "/x?password=s3cr", "after the host there can only be the number of a database"},
		{"absent database", plain.url() + "/99", "has no database with that number; use a lower one"},
		{"nobody there", fmt.Sprintf("redis://127.0.0.1:%d", freePort(t)), "cannot be reached: connection refused"},
		{"unknown host", "redis://no-such-host.invalid", "no-such-host.invalid:6379 cannot be reached: no such host"},
		{"password missing", locked.url(), "requires a password: put it in the URL (redis://USER:PASSWORD@HOST:PORT), or set REDISCLI_AUTH"},
		{"password wrong", "redis://:s3cr@" + locked.addr(), "refuses the user or the password"},
		{"cluster", cluster.url(), "is part of a Redis Cluster; the queue needs a single server"},
		{"replica", replica.url(), "is a read-only replica; name its primary"},
		{"full", full.url(), "is full: give it more memory (maxmemory), or forget a search"},
		{"not allowed", "redis://limited:s3cr@" + limited.addr(), "does not let this user run a command that the queue needs; allow all commands on the keys lockstep:* and asynq:*: NOPERM"},
		{"broken disk", diskless.url(), "cannot write to its disk, and accepts no writes"},
		{"loading", "redis://" + loading, "is still loading its data"},
		{"Sentinel", "redis://" + sentinel, "is a Sentinel; name the primary that it watches"},
		{"old", "redis://" + old, "is version 4.0.14; the queue needs Redis 5 or newer"},
		{"web server", "redis://" + web, "is not Redis"},
		{"garbled", "redis://" + garbled, "is not Redis"},
		{"silent", "redis://" + dumb, "does not answer within 5s"},
		{"closes", "redis://" + hasty, "closes the connection; it must be a Redis server; if it requires TLS, use rediss://; or it has no password and is in protected mode: set requirepass"},
		{"no TLS", "rediss://" + plain.addr(), "if it does not speak TLS, name it with redis:// instead of rediss://"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := &bench{t, b.dir, nil}
			for _, args := range [][]string{{"explore"}, {"work"}, {"status"}} {
				if c.name == "full" && args[0] == "status" { // that still works
					continue
				}
				stdout, stderr, code := b.wait(b.fleet(append(args, "--queue", c.url)...), limit)
				if code != exitInput || stdout != "" || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
					t.Errorf("%v: exit status %d\n%s%swant %s", args, code, stdout, stderr, c.want)
				}
				if strings.Contains(stderr, "s3cr") {
					t.Errorf("%v: the password is printed: %s", args, stderr)
				}
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		if _, stderr, code := b.wait(b.fleet("explore"), limit); code != exitInput || !strings.Contains(stderr, "--queue is missing: name a Redis server") {
			t.Errorf("exit status %d\n%s", code, stderr)
		}
	})
}

// resp is a server that knows only PING and INFO, and what to answer.
func resp(t *testing.T, pong, info string) (addr string) {
	return listen(t, func(c net.Conn) {
		in := bufio.NewScanner(c)
		for in.Scan() { // *1, and then $4 and INFO
			words, _ := strconv.Atoi(strings.TrimPrefix(in.Text(), "*"))
			var command string
			for n := range words {
				in.Scan()
				if in.Scan() && n == 0 {
					command = in.Text()
				}
			}
			switch strings.ToUpper(command) {
			case "PING":
				fmt.Fprintf(c, "%s\r\n", pong)
			case "INFO":
				fmt.Fprintf(c, "$%d\r\n%s\r\n", len(info), info)
			default:
				io.WriteString(c, "-ERR unknown command\r\n")
			}
		}
	})
}

func listen(t *testing.T, f func(net.Conn)) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); f(c) }()
		}
	}()
	return l.Addr().String()
}

// A password with any characters is taken from the URL or the environment, and does not reach the children.
func TestQueueWithPassword(t *testing.T) {
	t.Parallel()
	r := startRedis(t, "--requirepass", secret)
	for _, b := range []*bench{newBench(t), newBench(t)} {
		url := "redis://:s3cr%3At%2Fpass%40word@" + r.addr() + "/1"
		worker := b.fleet("work", "--queue", url)
		b.env = []string{queue.PasswordEnv + "=" + secret, queueEnv + "=" + r.url() + "/1"}
		p := b.fleet("explore", "--shards", "3")
		if stdout, stderr, code := b.wait(p, limit); stdout != b.alone("explore") || code != 1 || strings.Contains(stderr, "s3cr") {
			t.Errorf("exit status %d\n%s", code, stderr)
		}
		if text := worker.stderr.String(); strings.Contains(text, "s3cr") {
			t.Errorf("the password is printed: %s", text)
		}
	}
}

func TestQueueWithTLS(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "queue"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	authority := filepath.Join(b.dir, "authority.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: key}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				to, err := net.Dial("tcp", r.addr())
				if err != nil {
					return
				}
				defer to.Close()
				go io.Copy(to, c)
				io.Copy(c, to)
			}()
		}
	}()
	url := "rediss://" + l.Addr().String()
	if _, stderr, code := b.wait(b.fleet("status", "--queue", url), limit); code != exitInput || !strings.Contains(stderr, "has a certificate that cannot be verified") {
		t.Errorf("exit status %d\n%s", code, stderr)
	}
	b.env = []string{"SSL_CERT_FILE=" + authority}
	b.fleet("work", "--queue", url)
	if stdout, stderr, code := b.wait(b.fleet("explore", "--queue", url, "--shards", "3"), limit); stdout != b.alone("explore") || code != 1 {
		t.Errorf("exit status %d\n%s", code, stderr)
	}
}

// Keys of somebody else that have our names are not touched, and the error names them.
func TestForeignKeys(t *testing.T) {
	t.Parallel()
	b, r := newBench(t), startRedis(t)
	c := r.client()
	command := []string{"explore", "--queue", r.url(), "--shards", "3"}
	s := queue.Search{Build: stubBuild, Command: []string{"explore"}, Of: 3}
	for _, key := range []string{"lockstep:fleet:searches", "lockstep:fleet:workers", "asynq:queues",
		"lockstep:fleet:search:" + s.ID(), "lockstep:fleet:search:" + s.ID() + ":done", "asynq:{" + queue.QueueOf(stubBuild) + "}:pending"} {
		c.FlushAll(t.Context())
		c.XAdd(t.Context(), &redis.XAddArgs{Stream: key, Values: []string{"a", "b"}})
		_, stderr, code := b.wait(b.fleet(command...), limit)
		if want := "has a key " + key + " that does not belong to Lockstep; use another database"; code != exitInput || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit status %d\n%s", key, code, stderr)
		}
		if n := c.XLen(t.Context(), key).Val(); n != 1 {
			t.Errorf("%s has changed", key)
		}
	}
}

// What the message about missing rights asks for is enough.
func TestQueueWithRights(t *testing.T) {
	t.Parallel()
	b, r := newBench(t), startRedis(t)
	r.client().ACLSetUser(t.Context(), "fleet", "on", ">p", "~lockstep:*", "~asynq:*", "+@all")
	url := "redis://fleet:p@" + r.addr()
	b.fleet("work", "--queue", url)
	if stdout, stderr, code := b.wait(b.fleet("explore", "--queue", url, "--shards", "3"), limit); stdout != b.alone("explore") || code != 1 {
		t.Errorf("exit status %d\n%s", code, stderr)
	}
}

// A server that may lose keys is used, with a warning.
func TestQueueThatEvicts(t *testing.T) {
	t.Parallel()
	b, r := newBench(t), startRedis(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
	want := "lockstep: " + r.url() + " may evict keys when it is full (maxmemory-policy allkeys-lru): lost shards are played again; set maxmemory-policy to noeviction\n"
	if _, stderr, code := b.wait(b.fleet("status", "--queue", r.url()), limit); code != 0 || stderr != want {
		t.Errorf("exit status %d\n%s", code, stderr)
	}
}

// A server that gets full while a search is under way stops it only until there is memory.
func TestQueueGetsFull(t *testing.T) {
	t.Parallel()
	b, r := newBench(t), startRedis(t)
	c := r.client()
	worker := b.fleet("work", "--queue", r.url(), "--workers", "2")
	p := b.fleet("explore", "--sleep", "300ms", "--queue", r.url(), "--shards", "20")
	b.until(p, "is submitted", limit)
	b.until(worker, ": done in", limit)
	c.ConfigSet(t.Context(), "maxmemory", "1")
	b.until(p, "is full: give it more memory (maxmemory), or forget a search (lockstep fleet forget ID); trying again", limit)
	b.until(worker, "forget a search (lockstep fleet forget ID); shards under way continue, and the worker keeps trying", limit)
	time.Sleep(time.Second)
	c.ConfigSet(t.Context(), "maxmemory", "0")
	if stdout, stderr, code := b.wait(p, limit); stdout != b.alone("explore") || code != 1 {
		t.Errorf("exit status %d\n%s", code, stderr)
	}
	b.until(worker, "works again, and the worker goes on", limit)
	if text := worker.stderr.String(); strings.Count(text, "is full") != 1 || strings.Count(text, "works again") != 1 {
		t.Errorf("the worker says more than once that the queue is full, or works again:\n%s", text)
	}
}

func TestBadOut(t *testing.T) {
	t.Parallel()
	b, r := newBench(t), startRedis(t)
	b.fleet("work", "--queue", r.url())
	out := filepath.Join(b.dir, "out")
	command := []string{"explore", "--queue", r.url(), "--out", out, "--shards"}
	if _, stderr, code := b.wait(b.fleet(append(command, "3")...), limit); code != 1 {
		t.Fatalf("exit status %d\n%s", code, stderr)
	}
	if _, stderr, code := b.wait(b.fleet(append(command, "4")...), limit); code != exitInput || !strings.Contains(stderr, "has the shards of another search, or of another build") {
		t.Errorf("another search: exit status %d\n%s", code, stderr)
	}
	// A shard that was damaged here is fetched again.
	if err := os.WriteFile(filepath.Join(out, "shard-2", shards.AnswersFile), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, code := b.wait(b.fleet(append(command, "3")...), limit); stdout != b.alone("explore") || code != 1 {
		t.Errorf("damaged: exit status %d\n%s", code, stderr)
	}
	os.Remove(filepath.Join(out, searchFile))
	if _, stderr, code := b.wait(b.fleet(append(command, "3")...), limit); code != exitInput || !strings.Contains(stderr, "is not empty, and has no search.json") {
		t.Errorf("not ours: exit status %d\n%s", code, stderr)
	}
}

// Without the program lockstep, or with one that is too old, nothing begins.
func TestBadProgram(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for script, want := range map[string]string{
		"":                                    "--lockstep: ",
		"#!/bin/sh\necho oh no >&2\nexit 1\n": "version --json: oh no",
		"#!/bin/sh\necho hello\n":             "does not print what lockstep prints",
		"#!/bin/sh\necho '[{\"name\":\"go\",\"version\":\"1\"}]'": "does not name its build: a newer lockstep is needed",
	} {
		path := filepath.Join(t.TempDir(), "program")
		if script != "" {
			if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if _, stderr, code := b.wait(b.fleet("work", "--queue", "redis://localhost", "--lockstep", path), limit); code != exitInput || !strings.Contains(stderr, want) {
			t.Errorf("exit status %d\n%swant %s", code, stderr, want)
		}
	}
}
