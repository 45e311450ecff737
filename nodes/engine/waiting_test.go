//go:build unix

package engine

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockstep/nodes/internal/redistest"
	"lockstep/nodes/redisserver"
	"lockstep/sim/history"
)

// A crowd is four connections each to a node and to a real server. All are read after each step, since what one client sends may
// end the wait of another, or reach a subscriber.
type crowd struct {
	t     testing.TB
	node  *Redis
	clock time.Time
	told  []string // by connection: what the node has sent since it was last looked at
	ours  []*Session
	real  []*redistest.Client
	fence *redistest.Client
}

func newCrowd(t testing.TB, server *redistest.Server) *crowd {
	c := &crowd{t: t, clock: time.Now(), fence: server.Connect()}
	c.fence.Do("FLUSHALL")
	c.node = NewRedis(func() time.Time { return c.clock })
	tell := func(s *Session, data []byte) { c.told[s.State.(int)] += string(data) }
	c.node.OnPush(tell)
	c.node.OnReply(func(s *Session, reply []byte) {
		tell(s, reply)
		tell(s, s.Feed(nil))
	})
	for i := range 4 {
		s := c.node.Connect(fmt.Sprint("c", i+1))
		s.State = i
		c.ours, c.real, c.told = append(c.ours, s), append(c.real, server.Connect()), append(c.told, "")
	}
	return c
}

func (c *crowd) close() {
	for _, r := range append(c.real, c.fence) {
		r.Close()
	}
	c.node.Close()
}

// send sends commands at once, and returns for each connection what node and server have sent since.
func (c *crowd) send(i int, commands ...string) (node, redis []string) {
	var data []byte
	for _, command := range commands {
		args := strings.Fields(command)
		for j := range args {
			args[j] = strings.ReplaceAll(args[j], "@", " ")
		}
		data = redistest.AppendCommand(data, args...)
	}
	c.told[i] += string(c.ours[i].Feed(data))
	if _, err := c.real[i].Conn.Write(data); err != nil {
		c.t.Fatal(err)
	}
	// By the time the server answers the last of these, it has answered everything that it read before or with them.
	for range 3 {
		c.fence.Do("PING")
	}
	node = slices.Clone(c.told)
	for j := range c.told {
		c.told[j] = ""
		redis = append(redis, c.arrived(j))
	}
	return node, redis
}

// arrived returns what the server has sent on a connection, without waiting.
func (c *crowd) arrived(i int) (got string) {
	raw, err := c.real[i].Conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		c.t.Fatal(err)
	}
	buf := make([]byte, 1<<16)
	raw.Read(func(fd uintptr) bool {
		n, _ := syscall.Read(int(fd), buf)
		got = string(buf[:max(0, n)])
		return true
	})
	return got
}

var (
	patternMessage = regexp.MustCompile(`[*>]4\r\n\$8\r\npmessage\r\n(?:\$\d+\r\n[^\r]*\r\n){3}`)
	unsubscription = regexp.MustCompile(`[*>]3\r\n\$\d+\r\n(?:p?unsubscribe)\r\n(\$\d+\r\n[^\r]*\r\n):\d+\r\n`)
	runOfMessages  = regexp.MustCompile("(?:" + patternMessage.String() + ")+")
)

// orderless sorts what redis-server sends in the order of its hash tables: messages by several patterns, and the names in replies
// about all subscriptions.
func orderless(data string) string {
	data = runOfMessages.ReplaceAllStringFunc(data, func(run string) string {
		messages := patternMessage.FindAllString(run, -1)
		slices.Sort(messages)
		return strings.Join(messages, "")
	})
	var names []string
	for _, match := range unsubscription.FindAllStringSubmatch(data, -1) {
		names = append(names, match[1])
	}
	slices.Sort(names)
	return unsubscription.ReplaceAllStringFunc(data, func(frame string) string {
		name := names[0]
		names = names[1:]
		return strings.Replace(frame, unsubscription.FindStringSubmatch(frame)[1], name, 1)
	})
}

var waitingOps = []string{
	"SUBSCRIBE C", "SUBSCRIBE C C", "UNSUBSCRIBE C", "UNSUBSCRIBE", "PSUBSCRIBE P", "PSUBSCRIBE P P", "PUNSUBSCRIBE P", "PUNSUBSCRIBE",
	"PUBLISH C x", "PUBLISH C x", "PUBLISH C y", "publish C z", "PUBLISH C", "SUBSCRIBE", "PING", "PING x", "PING x y", "NOSUCH", "CLIENT GETNAME",
	"EVAL return@redis.call('PUBLISH','one','s') 0", "EVAL redis.call('PUBLISH','one','s');return@redis.call('PUBLISH','two','t') 0",
	"EVAL redis.call('PUBLISH','one','s');return@redis.call('GET','s') 0", "EVAL redis.call('PUBLISH','one','s');error('x') 0",
	"EVAL_RO return@redis.pcall('PUBLISH','one','s') 0", "EVAL return@redis.pcall('SUBSCRIBE','one') 0",
	"EVAL return@redis.pcall('BLPOP','l1',0) 0",
	"HELLO 2", "HELLO 3", "HELLO 3",
	"BLPOP L 0", "BLPOP L 0", "BLPOP L L 0", "BRPOP L 0", "BRPOP L L 1000", "blpop L L 1e3", "BLPOP L x", "BLPOP L -1", "BLPOP L inf", "BLPOP L nan",
	"BLPOP L", "BLPOP s 0", "BLPOP L .5x",
	"RPUSH L a", "RPUSH L a b", "RPUSH L a b c", "LPUSH L d", "LPUSH L d e", "LPOP L", "RPOP L", "DEL L", "DEL L L", "RENAME L L", "RENAMENX L L",
	"SET L str", "SET s str", "GET L", "LLEN L", "LRANGE L 0 -1", "LREM L 0 a", "SADD L m", "EXPIRE L 0", "FLUSHALL",
	"EVAL redis.call('RPUSH','l1','s');return@redis.call('LPOP','l1') 0", "EVAL redis.call('RPUSH','l1','s','t');redis.call('RPUSH','l2','u') 0",
	"EVAL redis.call('DEL','l2');redis.call('LPUSH','l2','1');redis.call('PEXPIRE','l2',100000) 0", // as python-redis-lock signals
	"MULTI", "EXEC", "EXEC", "DISCARD", "WATCH L", "CLIENT TRACKING ON", "CLIENT TRACKING ON NOLOOP", "CLIENT TRACKING OFF", "TYPE L",
}

// TestWaitingIsLikeRedis has four clients, some of which wait or listen, do the same on a node and on redis-server. It compares
// byte by byte what each receives after each step. A step is up to three commands of one client that arrive at once.
func TestWaitingIsLikeRedis(t *testing.T) {
	server := redistest.Start(t)
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		c := newCrowd(t, server)
		defer c.close()
		if rapid.Bool().Draw(rt, "tracking") {
			c.send(0, "HELLO 3", "CLIENT TRACKING ON")
			c.send(1, "HELLO 3", "CLIENT TRACKING ON NOLOOP")
		}
		if rapid.Bool().Draw(rt, "waiting") {
			c.send(2, "PSUBSCRIBE o*")
			c.send(3, "BLPOP l1 l2 0")
		}
		for range rapid.IntRange(1, 50).Draw(rt, "steps") {
			i := rapid.IntRange(0, 3).Draw(rt, "client")
			var commands []string
			for range rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(rt, "commands") {
				text := rapid.SampledFrom(waitingOps).Draw(rt, "command")
				for letter, names := range map[string][]string{" C": {"one", "two"}, " P": {"*", "o*"}, " L": {"l1", "l2"}} {
					for strings.Contains(text, letter) && !strings.HasPrefix(text, "EVAL") {
						text = strings.Replace(text, letter, " "+rapid.SampledFrom(names).Draw(rt, "name"), 1)
					}
				}
				commands = append(commands, text)
				// What a client sends while it waits runs before the reply to the command that ends the wait; in redis-server,
				// after it.
				if strings.HasPrefix(strings.ToUpper(text), "B") {
					break
				}
			}
			if c.ours[i].waiting {
				continue
			}
			waited := len(c.node.waiters)
			node, redis := c.send(i, commands...)
			rt.Logf("c%d %s: %q", i+1, strings.Join(commands, "; "), redis)
			for j := range node {
				if got, want := orderless(node[j]), orderless(redis[j]); got != want && !strings.Contains(want, "\r\nmodules\r\n") &&
					!strings.Contains(want, "user_script") {
					rt.Fatalf("c%d %s: c%d gets\nfrom the node         %q\nfrom redis-server %q", i+1, strings.Join(commands, "; "), j+1, got, want)
				}
				for _, word := range []string{"message", "pmessage", "invalidate"} {
					seen[word] += strings.Count(redis[j], "\r\n"+word+"\r\n")
				}
			}
			seen["wait"] += max(0, len(c.node.waiters)-waited)
			seen["served"] += max(0, waited-len(c.node.waiters))
		}
	})
	for _, word := range []string{"message", "pmessage", "invalidate", "wait", "served"} {
		if seen[word] == 0 && !testing.Short() {
			t.Errorf("there was no %s: %v", word, seen)
		}
	}
}

// A pattern matches as in redis-server.
func TestPatternsAreLikeRedis(t *testing.T) {
	server := redistest.Start(t)
	listener, publisher := realListener{server.Connect()}, server.Connect()
	listener.Client.Do("HELLO", "3")
	rapid.Check(t, func(rt *rapid.T) {
		part := rapid.SampledFrom([]string{"a", "b", "-", "*", "?", "[", "]", "^", "\\", "[a-c]", "[^a]", "[c-a]"})
		pattern := strings.Join(rapid.SliceOfN(part, 1, 6).Draw(rt, "pattern"), "")
		channel := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "-", "c", "]", "^", "\\", "[", "*"}), 1, 5).Draw(rt, "channel"), "")
		listen := func(command string) {
			listener.read(redistest.AppendCommand(redistest.AppendCommand(nil, command, pattern), "PING"), 1)
		}
		listen("PSUBSCRIBE")
		want := publisher.Do("PUBLISH", channel, "x")
		listen("PUNSUBSCRIBE")
		if got := matches(pattern, channel); got != (want == ":1\r\n") {
			rt.Fatalf("%q matches %q: %v, redis-server says %q", pattern, channel, got, want)
		}
	})
}

// Timeouts are parsed as redis-server does.
func TestTimeoutsAreLikeRedis(t *testing.T) {
	server := redistest.Start(t)
	for _, timeout := range []string{
		"0", "1", "0.1", "1.", ".5", "+1", "1e2", "-0", "-0.0001", "-0.001", "-1", "x", "", "1s", "nan", "inf", "-inf", "1e400", "9223372036854775",
		"9223372036854776", "99999999999999999999",
	} {
		c := newCrowd(t, server)
		args := redistest.AppendCommand(nil, "BLPOP", "none", timeout)
		c.told[0] += string(c.ours[0].Feed(args))
		c.real[0].Conn.Write(args)
		if node, redis := c.send(1, "PING"); node[0] != redis[0] {
			t.Errorf("%q: the node answers %q, redis-server %q", timeout, node[0], cmp.Or(redis[0], "nothing"))
		}
		c.close()
	}
}

// A wait ends when the wall clock of the server says so: a jump forward ends it, and a jump back prolongs it.
func TestTimeoutsFollowTheWallClock(t *testing.T) {
	show := func(t testing.TB, c redistest.Waiter, pass, jump func(time.Duration), waits func() bool) {
		c.Send("BLPOP", "none", "100")
		pass(300 * time.Millisecond)
		if !waits() {
			t.Error("it did not wait")
		}
		jump(200 * time.Second)
		expectMessage(t, c, "*-1")
		c.Send("BLPOP", "none", "0.3")
		pass(50 * time.Millisecond) // until the server has read it
		jump(-200 * time.Second)
		pass(time.Second)
		if !waits() {
			t.Error("a jump back did not prolong the wait")
		}
	}
	t.Run("node", func(t *testing.T) {
		two := newNodes(t)
		c := twoConn{two, two.n.Connect("c1")}
		show(t, c, two.pass, func(d time.Duration) { two.clock.advance(d); two.n.Tick() }, func() bool { return c.s.waiting })
	})
	t.Run("redis-server", func(t *testing.T) {
		redistest.NeedServer(t)
		if err := redisserver.CanSetClocks(); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
		dir := t.TempDir()
		library, err := redisserver.CompileClock(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		clock, err := redisserver.NewClock(library, filepath.Join(dir, "clock"))
		if err != nil {
			t.Fatal(err)
		}
		defer clock.Close()
		path, err := exec.LookPath("redis-server")
		if err != nil {
			t.Fatal(err)
		}
		server, err := redisserver.StartIn(t.Context(), path, dir, clock)
		if err != nil {
			t.Fatal(err)
		}
		defer server.Stop()
		begin, ahead := time.Now(), time.Duration(0)
		c, control := redistest.Dial(t, server.Addr()), redistest.Dial(t, server.Addr())
		show(t, c, time.Sleep, func(d time.Duration) {
			ahead += d
			clock.Set(history.Clock{Ahead: ahead}, begin)
		}, func() bool { return strings.Contains(control.Do("INFO", "clients"), "blocked_clients:1\r\n") })
	})
}

// A waiter is served by the command of another client, but in its own name.
func TestWhoWasServed(t *testing.T) {
	r, _ := newNode(t)
	var got []string
	r.Observe(func(c Change) {
		by := c.By
		if c.Waiter != nil {
			by += " (waited)"
		}
		got = append(got, fmt.Sprint(c.Op, " ", c.Key, " by ", by, " ", c.Command))
	})
	told := map[string]string{}
	r.OnReply(func(s *Session, reply []byte) { told[s.client] += string(reply) + string(s.Feed(nil)) })
	a, b, pusher := r.Connect("a"), r.Connect("b"), r.Connect("pusher")
	a.Feed(redistest.AppendCommand(redistest.AppendCommand(nil, "BLPOP", "l", "0"), "LLEN", "l")) // LLEN waits, too
	b.Do("BRPOP", "l", "0")
	redistest.Expect(t, pusher, "RPUSH l x y z", ":3")
	if want := []string{"set l by pusher RPUSH", "over l by a (waited) BLPOP", "over l by b (waited) BRPOP"}; !slices.Equal(got, want) {
		t.Errorf("changes %q, want %q", got, want)
	}
	if a, b := told["a"], told["b"]; a != "*2\r\n$1\r\nl\r\n$1\r\nx\r\n:1\r\n" || b != "*2\r\n$1\r\nl\r\n$1\r\nz\r\n" {
		t.Errorf("a is told %q, b %q", a, b)
	}
}

// The first wait that times out is that with the least limit, not that which began first or last.
func TestFirstTimeout(t *testing.T) {
	for _, c := range []struct {
		until []int64
		want  int64
	}{
		{nil, 0}, {[]int64{0}, 0}, {[]int64{5}, 6}, {[]int64{5, 9}, 6}, {[]int64{9, 0, 5}, 6},
	} {
		var r Redis
		for _, until := range c.until {
			r.waiters = append(r.waiters, waiter{until: until})
		}
		if got := r.timeout(); got != c.want {
			t.Errorf("waits until %d: %d, want %d", c.until, got, c.want)
		}
	}
}

// A client that has gone is neither served nor told anything. After a restart, nobody is.
func TestWaitingEnds(t *testing.T) {
	r, _ := newNode(t)
	told := map[string]string{}
	tell := func(s *Session, data []byte) { told[s.client] += string(data) }
	r.OnReply(tell)
	r.OnPush(tell)
	for _, how := range []string{"close", "QUIT", "restart"} {
		s, listener := r.Connect("waits "+how), r.Connect("listens "+how)
		s.Do("BLPOP", "l", "0")
		redistest.Expect(t, listener, "SUBSCRIBE free", "*3 $9 subscribe $4 free :1")
		redistest.Expect(t, listener, "PSUBSCRIBE f*", "*3 $10 psubscribe $2 f* :2")
		switch how {
		case "close":
			s.Close()
			listener.Close()
		case "QUIT":
			s.Close() // one that waits cannot send QUIT
			listener.Do("QUIT")
		case "restart":
			r.Crash(Killed)
			r.Restart(false)
		}
		c := r.Connect("c")
		redistest.Expect(t, c, "PUBLISH free x", ":0")
		redistest.Expect(t, c, "RPUSH l x", ":1")
		redistest.Expect(t, c, "LPOP l", "$1 x")
	}
	if len(told) > 0 {
		t.Errorf("told %q", told)
	}
}

// PUBLISH alone is not written to disk.
func TestPublishIsNotLogged(t *testing.T) {
	r, _ := newNode(t)
	r.Persist(AOFEverysec)
	var sent []string
	r.Stream(func(unit []byte) { sent = append(sent, string(unit)) })
	s := r.Connect("c1")
	redistest.Expect(t, s, "PUBLISH free x", ":0")
	if len(r.disk.log) > 0 || len(sent) != 1 || !strings.Contains(sent[0], "PUBLISH") {
		t.Errorf("logged %q, sent %q", r.disk.log, sent)
	}
	redistest.Expect(t, s, "SET k v", "+OK")
	if len(r.disk.log) == 0 {
		t.Error("SET was not logged")
	}
}
