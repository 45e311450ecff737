package live

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/nodes"
	"lockstep/nodes/internal/redistest"
	"lockstep/nodes/redisserver"
	"lockstep/sim"
	"lockstep/sim/history"
)

// startCluster starts n1 and the clients c1 and c2, which end with the test.
func startCluster(t testing.TB) (c *Cluster, c1, c2 *Client) {
	t.Helper()
	redistest.NeedServer(t)
	c, err := StartCluster(t.Context(), []string{"n1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for name, p := range map[string]**Client{"c1": &c1, "c2": &c2} {
		if *p, err = c.Client(name); err != nil {
			t.Fatal(err)
		}
	}
	return c, c1, c2
}

// inProcess is a client of a cluster whose lane the test itself plays.
type inProcess struct{ *Client }

func (p inProcess) Go(f func(ctx context.Context)) {
	p.c.agenda.begin()
	go func() {
		defer p.c.agenda.end()
		f(p.ctx)
	}()
}

func (p inProcess) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, addr)
}

func (p inProcess) Until(t time.Duration) { time.Sleep(t - p.c.Now()) }

const dialogue = `
c1 a    SET lock token-of-c1-number-1 NX PX 300
c2 a    SET lock token-of-c2-number-1 NX PX 300
c1 a    PEXPIRE lock 400
c2 a    EVAL if_redis.call('GET',KEYS[1])==ARGV[1]_then_return_redis.call('DEL',KEYS[1])_end_return_0 1 lock token-of-c2-number-1
c1 a    EVAL if_redis.call('GET',KEYS[1])==ARGV[1]_then_return_redis.call('DEL',KEYS[1])_end_return_0 1 lock token-of-c1-number-1
c1 a    SET short token-of-c1-number-2 PX 100
c2 a    SET fixed 1 NX PX 5000
c1 a    SETNX plain locked
c1 a    INCR counter
c1 a    INCR counter
c1 200ms
c2 a    GETSET plain token-of-c2-number-2
c1 a    PERSIST fixed
c1 a    DEL fixed
c2 a    MULTI
c2 a    SET b token-of-c2-number-3 PX 5000
c2 a    INCR counter
c2 a    EXEC
c1 a    RENAME b c
c1 a    HSET h f 1
c2 aa   SETNX other 1
c1 a    APPEND counter 0
c2 a    MSET counter 5 x 6
c2 a    GET
c2 a    FLUSHALL
`

// otherTypes is a dialogue about locks whose key is not a string. A key stands for the lease whose token is in it. If there are
// several, it stands for the one that was there first, until that is gone.
const otherTypes = `
c1 a    HSETNX lock owner token-of-c1-number-1
c1 a    HSET lock count 1
c1 a    PEXPIRE lock 5000
c2 a    HSETNX lock owner token-of-c2-number-1
c2 a    HINCRBY lock waiting 1
c2 a    PEXPIRE lock 6000
c1 a    EVAL if_redis.call('HGET',KEYS[1],'owner')==ARGV[1]_then_return_redis.call('DEL',KEYS[1])_end_return_0 1 lock token-of-c1-number-1
c2 a    HINCRBY lock token-of-c2-number-1 1
c2 a    HDEL lock token-of-c2-number-1
c1 aa   HSETNX short owner 7
c1 aa   HSET short count 1
c2 aa   HSETNX short owner 8
c1 aa   DEL short
c1 aaa  RPUSH queue token-of-c1-number-2
c2 aaa  RPUSH queue token-of-c2-number-2
c1 aaa  LPOP queue
c2 aaa  SET queue 1
c1 aaaa ZADD ranks 5 token-of-c1-number-3
c2 aaaa ZADD ranks 1 token-of-c2-number-3
c1 aaaa ZADD ranks 6 token-of-c1-number-3
c1 aaaa ZREM ranks token-of-c1-number-3
c2 aaaa PEXPIRE ranks 100
c1 200ms
c1 b    SADD members token-of-c1-number-4
c2 b    SADD members token-of-c2-number-4 x
c2 b    SREM members token-of-c1-number-4
c1 b    HSET plain f 1
c1 b    HSET plain f 2
c1 b    RENAME plain other
c1 b    DEL other
`

// On a real server, an observer sees the changes that a simulated node reports, and the proxy sees the same messages.
func TestObserverSeesWhatTheNodeKnows(t *testing.T) {
	t.Parallel()
	observesAlike(t, dialogue)
}

// The same is true of keys of every type, and of the leases that they stand for.
func TestObserverSeesKeysOfEveryType(t *testing.T) {
	t.Parallel()
	states := observesAlike(t, otherTypes)
	want := []string{
		"set lock for c1#1", "retime lock for c1#1, of c1#1", "retime lock for c1#1, of c1#1, by c2", "delete lock of c1#1",
		"set lock for c2#1", "delete lock of c2#1",
		"set short for c1#2", "delete short of c1#2",
		"set queue for c1#3", "over queue for c2#2, of c1#3", "over queue of c2#2",
		"set ranks for c1#4", "over ranks for c2#3, of c1#4", "retime ranks for c2#3, of c2#3", "expire ranks of c2#3",
		"set members for c1#5", "over members for c2#4, of c1#5",
	}
	if !slices.Equal(states, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(states, "\n"), strings.Join(want, "\n"))
	}
}

// observesAlike runs a dialogue on a real server and in simulation, compares them, and returns what happened to the keys.
func observesAlike(t *testing.T, dialogue string) (states []string) {
	redistest.Steady(t, func(t testing.TB) {
		states = nil
		c, c1, c2 := startCluster(t)
		h1, h2 := inProcess{c1}, inProcess{c2}
		redistest.Talk(h1, h2, map[redistest.Host]string{h1: c1.Addr("n1"), h2: c2.Addr("n1")}, c.Run, dialogue)
		got := normal(c.Events())

		var want []string
		err := sim.Bubble(func() {
			w := sim.NewWorld(sim.Config{Seed: 1})
			defer w.Close()
			n := nodes.Serve(w, "n1")
			defer n.Redis.Close()
			c1, c2 := w.Process("c1"), w.Process("c2")
			redistest.Talk(c1, c2, map[redistest.Host]string{c1: n.Process.Addr(), c2: n.Process.Addr()}, w.Run, dialogue)
			want = normal(w.History().Events)
			states = fates(w.History().Events)
		})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("on a real server:\n%s\nin simulation:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if len(want) < 60 {
			t.Errorf("only %d events", len(want))
		}
	})
	return states
}

// fates returns the events of keys in short: the lease that a key stands for, the lease that it stood for, and the client if it is
// another.
func fates(events []history.Event) (lines []string) {
	for _, e := range events {
		if e.Kind != history.State {
			continue
		}
		line := e.Op + " " + e.Key
		if e.Lease != "" {
			line += " for " + e.Lease + ","
		}
		if e.Owner != "" {
			line += " of " + e.Owner + ","
		}
		if e.Op == history.Retime && e.By != history.Client(e.Owner) {
			line += " by " + e.By
		}
		lines = append(lines, strings.TrimSuffix(line, ","))
	}
	return lines
}

// normal returns what two histories of one dialogue have in common: everything except times, with the lifetimes of keys instead.
func normal(events []history.Event) []string {
	var lines []string
	for _, e := range events {
		life := "for ever"
		switch {
		case e.Kind != history.State && e.Kind != history.Message:
			continue
		case e.Kind == history.Message:
			life = ""
		case e.Until != history.NoEnd && e.Until < 0:
			life = "over"
		case e.Until != history.NoEnd:
			life = fmt.Sprint(max(0, e.Until-e.At).Round(100 * time.Millisecond))
		}
		sent := ""
		if e.Kind == history.State && e.Sent > 0 {
			sent = "sent"
		}
		lines = append(lines, fmt.Sprintf("%s %s %s by=%s %s key=%s lease=%s owner=%s value=%s %s", e.Process, e.Kind, e.Op, e.By, sent, e.Key, e.Lease, e.Owner, e.Value, life))
	}
	return lines
}

// asker sends commands and reads their replies.
type asker struct {
	t       testing.TB
	conn    net.Conn
	replies *bufio.Reader
}

func ask(t testing.TB, p *Client) *asker {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr("n1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &asker{t, conn, bufio.NewReader(conn)}
}

func (a *asker) send(args ...string) {
	a.t.Helper()
	if _, err := a.conn.Write(redistest.AppendCommand(nil, args...)); err != nil {
		a.t.Fatal(err)
	}
}

// reply returns the next reply, or why there is none.
func (a *asker) reply(within time.Duration) string {
	a.conn.SetReadDeadline(time.Now().Add(within))
	line, err := a.replies.ReadString('\n')
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "nothing"
	case err != nil:
		return "broken"
	}
	return strings.TrimSpace(line)
}

const (
	soon  = 60 * time.Millisecond
	later = 5 * time.Second
)

// Every fault on a link affects a message in its own way, is undone by its counterpart, and bites.
func TestLinkFaultsBite(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault, undo string
		while       string // the reply to a PING while the fault is in force
		arrives     bool   // whether the node has received it by then
		after       string // the reply after the fault was undone
	}{
		{"cut c1-n1", "heal c1-n1", "nothing", false, "+PONG"},
		{"cut c1->n1", "heal", "nothing", false, "+PONG"},
		{"cut n1->c1", "heal", "nothing", true, "+PONG"},
		{"hold c1->n1", "release c1->n1", "nothing", false, "+PONG"},
		{"hold n1->c1", "release n1->c1", "nothing", true, "+PONG"},
		{"delay c1->n1 200ms", "", "nothing", false, "+PONG"},
		{"delay n1->c1 200ms", "", "nothing", true, "+PONG"},
		{"delay n1->c1 200ms", "heal", "nothing", true, "+PONG"},
		{"on request PING c1->n1 hold", "release c1->n1", "nothing", false, "+PONG"},
		{"on request PING c1->n1 hold", "heal", "nothing", false, "+PONG"},
		{"on request acquire c1->n1 delay 200ms", "", "nothing", false, "+PONG"},
		{"on reply PING n1->c1 hold", "release n1->c1", "nothing", true, "+PONG"},
		{"on reply acquire n1->c1 delay 200ms", "", "nothing", true, "+PONG"},
		{"on request PING c1->n1 reset", "", "broken", false, "broken"},
		{"on reply PING n1->c1 reset", "", "broken", true, "broken"},
		{"pause n1", "resume n1", "nothing", false, "+PONG"},
		{"pause n1 200ms", "", "nothing", false, "+PONG"},
	} {
		t.Run(test.fault+", "+test.undo, func(t *testing.T) {
			t.Parallel()
			redistest.Steady(t, func(t testing.TB) {
				c, c1, c2 := startCluster(t)
				a := ask(t, c1)
				c1.Doing("acquire", 1, "")
				inject(t, c, test.fault)
				a.send("PING")
				if got := a.reply(soon); got != test.while {
					t.Errorf("meanwhile: %s, want %s", got, test.while)
				}
				arrived := slices.ContainsFunc(c.Events(), func(e history.Event) bool { return e.Op == history.Deliver && e.Value == "PING" })
				if arrived != test.arrives {
					t.Errorf("meanwhile the request has arrived: %v, want %v", arrived, test.arrives)
				}
				if b := ask(t, c2); !strings.HasPrefix(test.fault, "pause") {
					if b.send("ECHO", "x"); b.reply(later) != "$1" {
						t.Error("the fault is felt on another link")
					}
				}
				if test.undo != "" {
					inject(t, c, test.undo)
				}
				if got := a.reply(later); got != test.after {
					t.Errorf("afterwards: %s, want %s", got, test.after)
				}
				for i, e := range c.Events() {
					if e.Kind == history.Injected && e.ID != 0 && !slices.ContainsFunc(c.Events()[i:], func(b history.Event) bool { return b.Kind == history.Bite && b.ID == e.ID }) {
						t.Errorf("the fault %s never bit", e.Value)
					}
				}
			})
		})
	}
}

func inject(t testing.TB, c *Cluster, fault string) {
	t.Helper()
	f, err := history.ParseFault(fault)
	if err != nil {
		t.Fatal(err)
	}
	c.Inject(f)
}

// count returns how many events of a kind have a value, a process or an operation of that name.
func count(c *Cluster, kind history.Kind, what string) (n int) {
	for _, e := range c.Events() {
		if e.Kind == kind && (e.Value == what || e.Op == what || e.Process == what) {
			n++
		}
	}
	return n
}

func TestFaultsThatHitNothingDoNotBite(t *testing.T) {
	t.Parallel()
	c, c1, _ := startCluster(t)
	for _, fault := range []string{"cut c1->n1", "heal c2-n1", "resume c1", "reset c1-n1", "on reply GET n1->c1 hold", "jump n1 +1s", "restart n1", "release c2->n1"} {
		inject(t, c, fault)
	}
	inject(t, c, "heal c1->n1") // it undoes the cut, so it bites
	a := ask(t, c1)
	if a.send("PING"); a.reply(later) != "+PONG" {
		t.Error("no answer")
	}
	if n := count(c, history.Bite, "heal c1->n1"); n != 1 {
		t.Errorf("heal bit %d times", n)
	}
	for _, e := range c.Events() {
		if e.Kind == history.Bite && e.Value != "heal c1->n1" {
			t.Errorf("%s bit", e.Value)
		}
	}
}

// A late request is carried out even if its client has closed the connection. Its reply is then late.
func TestRequestOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	redistest.Steady(t, func(t testing.TB) {
		c, c1, c2 := startCluster(t)
		inject(t, c, "delay c1->n1 100ms")
		a := ask(t, c1)
		a.send("SET", "lock", "a-token-of-client-1", "PX", "60000")
		a.conn.Close()
		time.Sleep(300 * time.Millisecond)
		b := ask(t, c2)
		if b.send("EXISTS", "lock"); b.reply(later) != ":1" {
			t.Error("the request is lost")
		}
		if count(c, history.Message, history.Late) != 1 {
			t.Error("nobody was there for the reply, and it was delivered")
		}
	})
}

func TestReset(t *testing.T) {
	t.Parallel()
	redistest.Steady(t, func(t testing.TB) {
		c, c1, c2 := startCluster(t)
		a, b := ask(t, c1), ask(t, c2)
		inject(t, c, "hold c1->n1")
		a.send("PING")
		time.Sleep(20 * time.Millisecond)
		inject(t, c, "reset c1-n1")
		inject(t, c, "heal")
		if got := a.reply(later); got != "broken" {
			t.Errorf("on a reset connection: %s", got)
		}
		if b.send("PING"); b.reply(later) != "+PONG" {
			t.Error("the connection of another client is broken, too")
		}
		if a = ask(t, c1); count(c, history.Message, history.Drop) != 1 {
			t.Error("the message on its way was not lost")
		}
		if a.send("PING"); a.reply(later) != "+PONG" {
			t.Error("a new connection does not work")
		}
	})
}

// What happens to keys while their node is down, or when its clock jumps, is recorded as in simulation.
func TestCrashRestartAndJump(t *testing.T) {
	t.Parallel()
	redistest.Steady(t, func(t testing.TB) {
		c, c1, _ := startCluster(t)
		crashRestartAndJump(t, c, c1)
	})
}

func crashRestartAndJump(t testing.TB, c *Cluster, c1 *Client) {
	a := ask(t, c1)
	set := func(key, ms string) {
		t.Helper()
		if a.send("SET", key, "token-of-"+key+"-and-more", "PX", ms); a.reply(later) != "+OK" {
			t.Fatal("not set")
		}
	}
	set("long", "60000")
	set("short", "100")
	inject(t, c, "crash n1")
	if got := a.reply(later); got != "broken" {
		t.Errorf("the connection to a crashed node: %s", got)
	}
	// The proxy resets the connection at once. Either the dial or the first read notices.
	if conn, err := net.Dial("tcp", c1.Addr("n1")); err == nil {
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a new connection to a crashed node: %v", err)
		}
		conn.Close()
	}
	time.Sleep(150 * time.Millisecond)
	inject(t, c, "restart n1")
	c.Run()
	a = ask(t, c1)
	inject(t, c, "jump n1 +30s")
	set("fresh", "60000")
	inject(t, c, "jump n1 +31s")
	inject(t, c, "jump n1 -20s")
	inject(t, c, "crash n1")
	inject(t, c, "restart n1 empty")
	c.Run()

	var got []string
	for _, e := range c.Events() {
		switch {
		case e.Kind == history.State:
			got = append(got, fmt.Sprintf("%s %s %s%s %v %v", e.Op, e.Key, e.Lease, e.Owner, (e.Until-e.At).Round(10*time.Second), e.Wall))
		case e.Kind == history.Injected:
			got = append(got, e.Value)
		}
	}
	want := []string{
		"set long c1#1 1m0s 0s", "set short c1#2 0s 0s", "crash n1", "restart n1", "expire short c1#2 0s 0s",
		"jump n1 +30s", "set fresh c1#3 1m30s 30s",
		"jump n1 +31s", "expire long c1#1 1m0s 1m1s",
		"jump n1 -20s", "crash n1", "restart n1 empty", "lose fresh c1#3 1m30s 41s",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A restart while another is in progress has no effect: it does not bite, and takes no data.
func TestTwoRestartsAtOnce(t *testing.T) {
	t.Parallel()
	c, c1, _ := startCluster(t)
	a := ask(t, c1)
	if a.send("SET", "lock", "a-token-of-client-1"); a.reply(later) != "+OK" {
		t.Fatal("not set")
	}
	inject(t, c, "crash n1")
	inject(t, c, "restart n1")
	inject(t, c, "restart n1 empty")
	c.Run()
	a = ask(t, c1)
	if a.send("EXISTS", "lock"); a.reply(later) != ":1" {
		t.Error("the second restart emptied the node")
	}
	if n := count(c, history.Bite, "restart n1 empty"); n != 0 {
		t.Errorf("the second restart bit %d times", n)
	}
}

// Commands with replies that nobody asked for are refused, since requests and replies would get out of step.
func TestCommandsThatCannotBeFollowed(t *testing.T) {
	t.Parallel()
	c, c1, _ := startCluster(t)
	a := ask(t, c1)
	a.send("SUBSCRIBE", "x")
	a.reply(later)
	if a.send("SUBSCRIBE", "x"); !strings.Contains(a.reply(later), "Lockstep cannot follow") {
		t.Error("SUBSCRIBE is let through")
	}
	var noted []string
	for _, e := range c.Events() {
		if e.Op == history.Refuse {
			noted = append(noted, e.By+" "+e.Value+" "+e.Process)
		}
	}
	if want := []string{"c1 SUBSCRIBE n1"}; !slices.Equal(noted, want) {
		t.Errorf("noted %q, want %q", noted, want)
	}
	if a.send("CLIENT", "REPLY", "OFF"); !strings.Contains(a.reply(later), "Lockstep cannot follow") { // nobody would get replies any more
		t.Error("CLIENT REPLY is let through")
	}
	if a.send("PING"); a.reply(later) != "+PONG" {
		t.Error("the connection is of no use any more")
	}
	a.conn.Write([]byte("*1\r\n+oops\r\n"))
	if got := a.reply(later); !strings.HasPrefix(got, "-ERR Protocol error") {
		t.Errorf("bytes that break the protocol: %s", got)
	}
	if got := a.reply(later); got != "broken" {
		t.Errorf("after them: %s", got)
	}
}

// Faults that are due at the same time are injected in the order in which they were planned.
func TestPlansKeepTheirOrder(t *testing.T) {
	t.Parallel()
	c, _, _ := startCluster(t)
	var want []string
	for i := range 50 {
		f := history.Delay{Link: history.Link{From: "c1", To: "n1"}, By: time.Duration(i) * time.Millisecond}
		want = append(want, f.String())
		c.Plan(100*time.Millisecond, f)
	}
	c.Run()
	var got []string
	for _, e := range c.Events() {
		if e.Kind == history.Injected {
			got = append(got, e.Value)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestClusterWithoutServer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := StartCluster(t.Context(), []string{"n1", "n2"}); !errors.Is(err, redisserver.ErrNoServer) {
		t.Errorf("got %v, want ErrNoServer", err)
	}
}

func TestInjectable(t *testing.T) {
	node := func(name string) bool { return name == "n1" }
	client := func(name string) bool { return name == "c1" }
	for fault, ok := range map[string]bool{
		"pause c1": true, "crash n1": true, "jump n1 +1s": true, "on reply SET n1->c1 hold": true,
		"jump c1 +1s": true, "drift c1 +5ppm": true, "slew c1 +1s over 1m": true, "stop n1": true, "crash n1 power": true,
		"drift n1 +5ppm": false, "slew n1 +1s over 1m": false, "jump resource +1s": false, "drift resource +5ppm": false,
	} {
		f, err := history.ParseFault(fault)
		if err != nil {
			t.Fatal(err)
		}
		err = Injectable(f, node, client, false)
		if (err == nil) != ok {
			t.Errorf("%s: %v", fault, err)
		}
		if !ok && (!errors.Is(err, ErrSimOnly) || err.Error() != "sim only: "+f.String()) {
			t.Errorf("%s: the error is %q", fault, err)
		}
	}
}
