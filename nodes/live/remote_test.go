package live

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
	"github.com/redis/go-redis/v9"

	"lockstep/nodes/internal/redistest"
	"lockstep/nodes/redisserver"
	"lockstep/sim/history"
)

func TestParseRemotes(t *testing.T) {
	for _, test := range []struct{ text, password, urls, shown string }{
		{"redis://h1:7001", "", "redis://h1:7001", "redis://h1:7001"},
		{"redis://h1,h2:7002", "", "redis://h1,redis://h2:7002", "redis://h1:6379,h2:7002"},
		{"redis://ann:s3cret@h1,h2/2", "", "redis://ann:s3cret@h1/2,redis://ann:s3cret@h2/2", "redis://h1:6379,h2:6379/2"},
		{"redis://:s3c%40ret@h1", "", "redis://:s3c%40ret@h1", "redis://h1:6379"},
		{"redis://ann@h1", "s3 c/r@t", "redis://ann:s3%20c%2Fr%40t@h1", "redis://h1:6379"},
		{"redis://h1", "s3cret", "redis://:s3cret@h1", "redis://h1:6379"},
		{"redis://:own@h1", "s3cret", "redis://:own@h1", "redis://h1:6379"},
		{"redis://a:b@h1/1,rediss://c:d@h2?skip_verify=true", "", "redis://a:b@h1/1,rediss://c:d@h2?skip_verify=true", "redis://h1:6379/1,rediss://h2:6379"},
		{"rediss://h1,h2?skip_verify=true", "", "rediss://h1?skip_verify=true,rediss://h2?skip_verify=true", "rediss://h1:6379,h2:6379"},
		{"redis://[::1]:7001,h2", "", "redis://[::1]:7001,redis://h2", "redis://[::1]:7001,h2:6379"},
	} {
		rs, err := ParseRemotes(test.text, test.password)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if rs.URLs() != test.urls || rs.String() != test.shown {
			t.Errorf("%s: %s, shown as %s; want %s, %s", test.text, rs.URLs(), rs, test.urls, test.shown)
		}
		again, err := ParseRemotes(rs.URLs(), "")
		if err != nil || again.URLs() != rs.URLs() {
			t.Errorf("%s: again it is %s, %v", test.text, again.URLs(), err)
		}
		for _, r := range rs {
			if r.options.Password == "" && (test.password != "" || strings.Contains(test.text, "@")) {
				t.Errorf("%s: %s has no password", test.text, r)
			}
		}
	}
}

// The error for a URL that cannot be read does not contain what may be a password.
func TestParseRemotesRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"http://ann:s3cret@h1":              "servers are named as redis://HOST:PORT",
		"ann:s3cret@h1":                     "servers are named as redis://HOST:PORT",
		"redis://":                          "a host must not be empty",
		"redis://ann:s3cret@":               "a host must not be empty",
		"redis://ann:s3cret@h1,":            "a host must not be empty",
		"redis://ann:s3cret@h1:port":        "the port of a server must be a number",
		"redis://ann:s3cret":                "the port of a server must be a number",
		"redis://h1?password=s3cret":        "redis://h1: redis: unexpected option: password",
		"redis://,h1?password=s3cret":       "redis://,h1: a host must not be empty",
		"redis://ann:s3cret@h1/x":           "invalid database number",
		"redis://ann:s3cret@h1?pol_size=3":  "pol_size",
		"redis://ann:s3/cret@h1":            "write @ as %40",
		"redis://ann:s3,cret@h1":            "write @ as %40",
		"redis://ann:s3%cret@h1":            "write @ as %40",
		"redis://a:s3cret@h1,b:s3cret@h2":   "write @ as %40",
		"redis://ann:s3cret@h1,h2,h1":       "h1:6379 is named twice",
		"redis://:s3cret@h1,http://:x@h2:1": "write @ as %40",
	} {
		rs, err := ParseRemotes(text, "")
		if err == nil {
			t.Errorf("%s: %s", text, rs)
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "cret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// Keys of a lock get the prefix in commands and lose it in replies, wherever they occur. Commands that affect more than their keys
// are refused.
func TestKeyPrefix(t *testing.T) {
	land := keyPrefix{"P:", 3}
	for cmd, want := range map[string]string{
		"set lock A NX PX 500":                "set P:lock A NX PX 500",
		"DEL a b":                             "DEL P:a P:b",
		"MSET a 1 b 2":                        "MSET P:a 1 P:b 2",
		"RENAME a b":                          "RENAME P:a P:b",
		"EVAL x 2 a b c":                      "EVAL x 2 P:a P:b c",
		"EVALSHA x 1 a c":                     "EVALSHA x 1 P:a c",
		"EVAL x 3 a":                          "EVAL x 3 a",
		"EVAL x 0 a":                          "-ERR a script that names no keys",
		"WATCH a":                             "WATCH P:a",
		"MULTI":                               "MULTI",
		"SELECT 0":                            "SELECT 3",
		"SELECT 1":                            "-ERR DB index",
		"HELLO 3":                             "HELLO 3",
		"HELLO 3 AUTH default x SETNAME auth": "HELLO 3 SETNAME auth",
		"HELLO 3 SETNAME auth":                "HELLO 3 SETNAME auth",
		"HELLO 3 AUTH ann x":                  "-WRONGPASS",
		"AUTH x":                              "-ERR AUTH <password> called without any password",
		"CLIENT TRACKING ON":                  "CLIENT TRACKING ON",
		"client tracking on bcast":            "client tracking on bcast PREFIX P:",
		"CLIENT TRACKING ON BCAST PREFIX a:":  "CLIENT TRACKING ON BCAST PREFIX P:a:",
		"CLIENT SETINFO LIB-NAME x":           "CLIENT SETINFO LIB-NAME x",
		"CLIENT KILL ID 3":                    "-ERR CLIENT KILL is not sent",
		"CLIENT PAUSE 100":                    "-ERR CLIENT PAUSE is not sent",
		"KEYS *":                              "-ERR KEYS is not sent",
		"SCAN 0":                              "-ERR SCAN is not sent",
		"FLUSHALL":                            "-ERR FLUSHALL is not sent",
		"CONFIG GET *":                        "-ERR CONFIG is not sent",
		"SCRIPT FLUSH":                        "-ERR SCRIPT FLUSH is not sent",
		"SHUTDOWN":                            "-ERR SHUTDOWN is not sent",
		"PUBLISH a b":                         "-ERR PUBLISH is not sent",
		"SUBSCRIBE a":                         "-ERR SUBSCRIBE is not sent",
		"BLPOP a 0":                           "-ERR BLPOP is not sent",
		"NOSUCH a":                            "-ERR NOSUCH is not sent",
	} {
		theirs, _, refusal := land.add(strings.Fields(cmd))
		got := strings.Join(theirs, " ")
		if refusal != "" {
			got = "-" + refusal
		}
		if got != want && !(strings.HasPrefix(want, "-") && strings.HasPrefix(got, want)) {
			t.Errorf("%s: %s, want %s", cmd, got, want)
		}
	}
	for value, want := range map[string]string{
		"+OK\r\n":                   "+OK\r\n",
		"$6\r\nP:lock\r\n":          "$4\r\nlock\r\n",
		"$-1\r\n":                   "$-1\r\n",
		"-ERR no P:lock here\r\n":   "-ERR no lock here\r\n",
		"$7\r\n$6\r\nP:x\r\n":       "$5\r\n$6\r\nx\r\n",
		"*2\r\n$3\r\nP:a\r\n:1\r\n": "*2\r\n$1\r\na\r\n:1\r\n",
		">2\r\n$10\r\ninvalidate\r\n*1\r\n$3\r\nP:a\r\n": ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n",
	} {
		if got := land.strip(value); got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}

const secret = "s3cret-of-somebody"

// theirs starts a server that belongs to somebody: it has a password, and keys that must not be touched.
func theirs(t *testing.T) (url string, theirs *redis.Client, s *redisserver.Server) {
	t.Helper()
	redistest.NeedServer(t)
	s, err := redisserver.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	theirs = s.Client()
	ctx := t.Context()
	for _, cmd := range [][]any{{"CONFIG", "SET", "requirepass", secret}, {"SET", "lock", "foreign"}, {"SET", "lockstepping", "foreign"}} {
		if err := theirs.Do(ctx, cmd...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	return "redis://:" + secret + "@" + s.Addr(), theirs, s
}

// remotes reads URLs that are valid.
func remotes(t *testing.T, urls ...string) Remotes {
	t.Helper()
	rs, err := ParseRemotes(strings.Join(urls, ","), "")
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

// allKeys lists the keys of a server.
func allKeys(t *testing.T, c *redis.Client) []string {
	t.Helper()
	keys, err := c.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	return keys
}

// onlyForeign checks that a server has the keys that it had before, and no others.
func onlyForeign(t *testing.T, c *redis.Client) {
	t.Helper()
	if keys := allKeys(t, c); !slices.Equal(keys, []string{"lock", "lockstepping"}) {
		t.Errorf("its keys are now %q", keys)
	}
	if v := c.Get(t.Context(), "lock").Val(); v != "foreign" {
		t.Errorf("its lock is now %q", v)
	}
}

const testPrefix = "lockstep:test:0:"

// openRemote begins a run with the client c1, which sends commands to n1 as a lock would.
func openRemote(t *testing.T, ctx context.Context, urls ...string) (l *RemoteCluster, c1 *redis.Client) {
	t.Helper()
	l, err := OpenRemote(ctx, []string{"n1"}, remotes(t, urls...), testPrefix)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.End() })
	p, err := l.Client("c1")
	if err != nil {
		t.Fatal(err)
	}
	c1 = redis.NewClient(&redis.Options{Addr: p.Addr("n1"), MaxRetries: -1, DialerRetries: 1, DisableIdentity: true})
	t.Cleanup(func() { c1.Close() })
	return l, c1
}

// A lock on somebody's server finds its own key and leaves the others alone. The history has its keys under the names that it uses,
// and at the end they are gone.
func TestRemote(t *testing.T) {
	url, foreign, _ := theirs(t)
	l, c1 := openRemote(t, t.Context(), url)
	ctx := t.Context()
	if ok := c1.SetNX(ctx, "lock", "0123456789abcdef", time.Minute).Val(); !ok {
		t.Error("the lock is taken by the foreign key of that name")
	}
	if err := c1.Set(ctx, "short", "1", 20*time.Millisecond).Err(); err != nil {
		t.Error(err)
	}
	if n, err := c1.Eval(ctx, "return redis.call('INCR', KEYS[1])", []string{"lock:fence"}).Int(); n != 1 || err != nil {
		t.Error(n, err)
	}
	if name, err := c1.Eval(ctx, "return KEYS[1]", []string{"lock"}).Text(); name != "lock" || err != nil {
		t.Errorf("the script sees the key as %q, %v", name, err)
	}
	if want := []string{"lock", testPrefix + "n1:lock", testPrefix + "n1:lock:fence"}; !slices.Equal(intersect(allKeys(t, foreign), want), want) {
		t.Errorf("the keys are %q", allKeys(t, foreign))
	}
	if err := c1.FlushAll(ctx).Err(); err == nil || !strings.Contains(err.Error(), "FLUSHALL is not sent to a server that is not Lockstep's") {
		t.Errorf("FLUSHALL: %v", err)
	}
	expired := func(e history.Event) bool { return e.Op == history.Expire && e.Key == "short" }
	for !slices.ContainsFunc(l.Events(), expired) {
		time.Sleep(time.Millisecond)
	}
	for _, e := range l.Events() {
		if e.Op == history.Set && e.Key == "lock" && (e.Until-e.At-time.Minute).Abs() > time.Second {
			t.Errorf("the key set at %v ends at %v", e.At, e.Until)
		}
		if text := fmt.Sprintf("%+v", e); strings.Contains(text, "lockstep:") || strings.Contains(text, secret) {
			t.Errorf("the history has %s", text)
		}
	}
	if err := l.End(); err != nil {
		t.Error(err)
	}
	onlyForeign(t, foreign)
	if err := l.End(); err != nil { // there are no processes any more
		t.Log("a second time:", err)
	}
}

func intersect(a, b []string) (both []string) {
	for _, s := range a {
		if slices.Contains(b, s) {
			both = append(both, s)
		}
	}
	return both
}

// Keys are removed even if the context of the run is over, and everything that was started ends.
func TestRemoteEnds(t *testing.T) {
	url, foreign, _ := theirs(t)
	ctx, cancel := context.WithCancel(t.Context())
	l, c1 := openRemote(t, ctx, url)
	if err := c1.Set(t.Context(), "lock", "A", 0).Err(); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := l.End(); err != nil {
		t.Error(err)
	}
	onlyForeign(t, foreign)
}

// A run ends if somebody else changes its keys, or if a script makes up the name of a key.
func TestRemoteIsDisturbed(t *testing.T) {
	url, foreign, _ := theirs(t)
	t.Run("somebody deletes a key", func(t *testing.T) {
		l, c1 := openRemote(t, t.Context(), url)
		ctx := t.Context()
		c1.Set(ctx, "lock", "A", time.Minute)
		foreign.Del(ctx, testPrefix+"n1:lock")
		if err := c1.Get(ctx, "lock").Err(); err == nil {
			t.Error("the run goes on")
		}
		<-l.ctx.Done()
		if err := l.Err(); err == nil || !strings.Contains(err.Error(), "n1:lock was changed, and not by a command of this run") {
			t.Errorf("it ended with %v", err)
		}
		if err := l.End(); err != nil {
			t.Error(err)
		}
		onlyForeign(t, foreign)
	})
	t.Run("a script makes up a key", func(t *testing.T) {
		l, c1 := openRemote(t, t.Context(), url)
		if err := c1.Eval(t.Context(), "return redis.call('SET', KEYS[1] .. ':more', 1)", []string{"lock"}).Err(); err != nil {
			t.Error(err)
		}
		if err := l.End(); err == nil || !strings.Contains(err.Error(), `made a key "lock:more" that no command names`) {
			t.Errorf("returned with %v", err)
		}
		onlyForeign(t, foreign)
	})
}

// A server that dies ends the run with a line that names it. If keys cannot be removed, an error has the command that removes them.
func TestRemoteServerDies(t *testing.T) {
	url, _, s := theirs(t)
	l, c1 := openRemote(t, t.Context(), url)
	c1.Set(t.Context(), "lock", "A", time.Minute)
	s.Crash()
	c1.Get(t.Context(), "lock")
	<-l.ctx.Done()
	err := l.Err()
	if err == nil || !strings.HasPrefix(err.Error(), "n1: redis://"+s.Addr()+": ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("it ended with %v", err)
	}
	left := l.End()
	if e, ok := errors.AsType[*LeftKeysError](left); !ok || !strings.Contains(e.Error(), "redis-cli -u redis://"+s.Addr()+" --scan --pattern 'lockstep:test:0:n1:*' | grep '^lockstep:test:0:n1:' | tr ") {
		t.Errorf("returned with %v", left)
	}
	if text := fmt.Sprint(err, left); strings.Contains(text, secret) {
		t.Error(text)
	}
}

// A server on which the prefix is in use is not touched.
func TestRemoteRefusesPrefix(t *testing.T) {
	url, foreign, _ := theirs(t)
	foreign.Set(t.Context(), testPrefix+"n1:x", "1", 0)
	_, err := OpenRemote(t.Context(), []string{"n1"}, remotes(t, url), testPrefix)
	if err == nil || !strings.Contains(err.Error(), `has a key "lockstep:test:0:n1:x" already, so the prefix of this run is in use`) {
		t.Errorf("borrowed with %v", err)
	}
	if keys := allKeys(t, foreign); len(keys) != 3 {
		t.Errorf("its keys are now %q", keys)
	}
	if err := remotes(t, url).Sweep(t.Context(), SessionPrefix("test")); err != nil {
		t.Error(err)
	}
	onlyForeign(t, foreign)
}

// pretender is a server that gives the replies that a test sets.
func pretender(t *testing.T, info string) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for r := bufio.NewReader(conn); ; {
					cmd, err := proto.Read(r)
					if err != nil {
						return
					}
					switch {
					case strings.Contains(strings.ToUpper(cmd), "\r\nINFO\r\n"):
						io.WriteString(conn, proto.String(info))
					case strings.Contains(strings.ToUpper(cmd), "\r\nSCAN\r\n"):
						io.WriteString(conn, proto.Array(proto.String("0"), proto.Strings()))
					case strings.Contains(strings.ToUpper(cmd), "\r\nAUTH\r\n") && !strings.Contains(strings.ToUpper(cmd), "\r\nHELLO\r\n"):
						io.WriteString(conn, proto.Inline("OK"))
					default:
						io.WriteString(conn, "-ERR unknown command\r\n")
					}
				}
			}()
		}
	}()
	return "redis://:" + secret + "@" + l.Addr().String()
}

// Servers that do not fit are refused, each with one line that names the server and no password.
func TestCheckRemotes(t *testing.T) {
	url, _, s := theirs(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	fit := "redis_version:7.0.15\r\nredis_mode:standalone\r\nrole:master\r\nmaxmemory:0\r\n"
	for name, test := range map[string]struct {
		url, want string
	}{
		"fits":           {url, ""},
		"is down":        {"redis://:" + secret + "@" + closed.Addr().String(), ": it cannot be reached: connect: connection refused"},
		"other password": {"redis://:wr0ng@" + s.Addr(), "WRONGPASS"},
		"no password":    {"redis://" + s.Addr(), "it requires a password: put it in the URL (redis://USER:PASSWORD@HOST:PORT), or set REDISCLI_AUTH"},
		"only a user":    {"redis://ann@" + s.Addr(), "AUTH: WRONGPASS"},
		"no TLS":         {"rediss://:" + secret + "@" + s.Addr() + "?dial_timeout=100ms", ": it "},
		"two names":      {url + "," + strings.Replace(url, "127.0.0.1", "localhost", 1), "are one server"},
		"too old":        {pretender(t, strings.Replace(fit, "7.0.15", "6.2.14", 1)), "is version 6.2.14; Lockstep needs 7 or newer"},
		"a replica":      {pretender(t, strings.Replace(fit, "master", "slave", 1)), "is a replica (role:slave)"},
		"a cluster":      {pretender(t, strings.Replace(fit, "standalone", "cluster", 1)), "is part of a Redis Cluster"},
		"a Sentinel":     {pretender(t, strings.Replace(fit, "standalone", "sentinel", 1)), "is a Sentinel"},
		"no Redis":       {pretender(t, "hello"), "does not say which version"},
		"a web server":   {"redis://" + web.Listener.Addr().String(), ": its answer is not that of a Redis server: redis: "},
	} {
		warnings, err := remotes(t, test.url).Check(t.Context())
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) || len(warnings) > 0 {
			t.Errorf("%s: %v, %q; want %s", name, err, warnings, test.want)
		}
		if text := fmt.Sprint(err); strings.Contains(text, secret) || strings.Contains(text, "wr0ng") || strings.Contains(text, "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	evicts := strings.Replace(fit, "maxmemory:0", "maxmemory:1000000\r\nmaxmemory_policy:allkeys-lru", 1)
	if warnings, err := remotes(t, pretender(t, evicts)).Check(t.Context()); err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "may evict keys (maxmemory-policy allkeys-lru)") {
		t.Errorf("one that evicts: %q, %v", warnings, err)
	}
}

// Keys of a killed session are reported, with a command that removes these keys only.
func TestCheckNamesWhatWasLeft(t *testing.T) {
	url, foreign, _ := theirs(t)
	const killed = "lockstep:abcdefghijklmnopqrstuvwxyz:"
	before := len(allKeys(t, foreign))
	theirs := []string{"lockstep:config", "lockstep:", "b", "c"}
	for _, key := range append(theirs, killed+"0:n1:lock", killed+"0:n1:a b", killed+"0:n1:it's\nc") {
		foreign.Set(t.Context(), key, "1", 0)
	}
	warnings, err := remotes(t, url).Check(t.Context())
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "holds keys of Lockstep under "+killed+": a run is in progress") {
		t.Fatalf("%q, %v", warnings, err)
	}
	if _, err := exec.LookPath("redis-cli"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	_, command, _ := strings.Cut(warnings[0], "remove the keys: ")
	sh := exec.Command("sh", "-c", command)
	sh.Env = append(sh.Environ(), "REDISCLI_AUTH="+secret) // it is in no message
	if out, err := sh.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", command, err, out)
	}
	left := allKeys(t, foreign)
	if want := before + len(theirs) + 1; len(left) != want { // a key with a line break in it remains
		t.Errorf("%d keys are left, want %d: %q", len(left), want, left)
	}
	for _, key := range append(theirs, killed+"0:n1:it's\nc") {
		if !slices.Contains(left, key) {
			t.Errorf("%q is gone", key)
		}
	}
}

// behindTLS is a port at which a server is reached with TLS, with a certificate of an unknown authority.
func behindTLS(t *testing.T, addr string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	self := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, self, self, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", addr)
			if err != nil {
				conn.Close()
				continue
			}
			go func() { io.Copy(up, conn); up.Close() }()
			go func() { io.Copy(conn, up); conn.Close() }()
		}
	}()
	return l.Addr().String()
}

// Servers are reached over TLS, in a given database. An unknown certificate is refused unless the URL says otherwise.
func TestRemoteOverTLS(t *testing.T) {
	redistest.NeedServer(t)
	s, err := redisserver.Start(t.Context(), "--databases", "4")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	if err := s.Client().Do(t.Context(), "ACL", "SETUSER", "ann", "on", ">"+secret, "~lockstep:*", "&*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	addr := behindTLS(t, s.Addr())
	url := "rediss://ann:" + secret + "@" + addr + "/3"
	if _, err := remotes(t, url).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate: %v", err)
	}
	l, c1 := openRemote(t, t.Context(), url+"?skip_verify=true")
	ctx := t.Context()
	if err := c1.Set(ctx, "lock", "A", 0).Err(); err != nil {
		t.Error(err)
	}
	space := s.Client().Info(ctx, "keyspace").Val()
	if !strings.Contains(space, "db3:keys=1,") || strings.Contains(space, "db0:") {
		t.Errorf("the keys are in %q", space)
	}
	if err := l.End(); err != nil {
		t.Error(err)
	}
	if space := s.Client().Info(ctx, "keyspace").Val(); strings.Contains(space, "db3:") {
		t.Errorf("left: %q", space)
	}
}
