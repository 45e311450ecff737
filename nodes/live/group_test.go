package live

import (
	"bufio"
	"context"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/nodes/internal/redistest"
	"lockstep/sim/history"
)

// startGroup starts n1 and its replicas, and the clients c1 and c2.
func startGroup(t testing.TB, cfg RealGroup) (c *Cluster, c1, c2 *Client) {
	t.Helper()
	redistest.NeedServer(t)
	if err := GroupPossible(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	cfg.Primary = "n1"
	c, err := StartCluster(t.Context(), append([]string{"n1"}, cfg.Replicas...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Group(cfg); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]**Client{"c1": &c1, "c2": &c2} {
		if *p, err = c.Client(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Begin(); err != nil {
		t.Fatal(err)
	}
	return c, c1, c2
}

// askAt opens a connection to a server or, with the name "group", to the primary.
func askAt(t testing.TB, p *Client, server string) *asker {
	t.Helper()
	addr := p.Addr(server)
	if server == "group" {
		addr = p.GroupAddr()
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return askOn(t, conn)
}

func askOn(t testing.TB, conn net.Conn) *asker { return &asker{t, conn, bufio.NewReader(conn)} }

// statesOf lists the changes of keys and roles, such as "n1 set lock by c1" or "r1 follow r2".
func statesOf(c *Cluster) (lines []string) {
	for _, e := range c.Events() {
		if e.Kind == history.State {
			line := e.Process + " " + e.Op + " " + e.Key + e.Value
			if e.By != "" {
				line += " by " + e.By
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// happens waits for a change of a key or a role.
func happens(t testing.TB, c *Cluster, line string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !slices.Contains(statesOf(c), line); time.Sleep(time.Millisecond) {
		if err := c.Err(); err != nil || time.Now().After(deadline) {
			t.Fatalf("%q does not happen: %v, %v", line, statesOf(c), err)
		}
	}
}

// Every fault on a link between servers delays replication or acknowledgements, and its counterpart undoes it.
func TestReplicationLinkFaultsBite(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault, undo string
		copied      bool   // whether the replica has the key while the fault is in force
		acked       string // what WAIT returns while the fault is in force
	}{
		{"cut n1-r1", "heal n1-r1", false, ":0"},
		{"cut n1->r1", "heal", false, ":0"},
		{"cut r1->n1", "heal", true, ":0"},
		{"hold n1->r1", "release n1->r1", false, ":0"},
		{"hold r1->n1", "release r1->n1", true, ":0"},
		{"delay n1->r1 2s", "heal", false, ":0"},
		{"delay r1->n1 2s", "", true, ":0"},
		{"pause r1", "resume r1", false, ":0"},
	} {
		t.Run(test.fault, func(t *testing.T) {
			t.Parallel()
			redistest.Steady(t, func(t testing.TB) {
				c, c1, _ := startGroup(t, RealGroup{Replicas: []string{"r1"}})
				a := askAt(t, c1, "group")
				inject(t, c, test.fault)
				if a.send("SET", "lock", "x"); a.reply(later) != "+OK" {
					t.Fatal("n1 takes no write")
				}
				const copied = "r1 set lockx by n1"
				if test.copied {
					happens(t, c, copied)
				}
				if a.send("WAIT", "1", "100"); a.reply(later) != test.acked {
					t.Errorf("WAIT says something else than %s", test.acked)
				}
				if !test.copied && slices.Contains(statesOf(c), copied) {
					t.Error("the key is there meanwhile")
				}
				if test.undo != "" {
					inject(t, c, test.undo)
				}
				happens(t, c, copied)
				if a.send("WAIT", "1", "0"); a.reply(later) != ":1" {
					t.Error("the replica does not acknowledge afterwards")
				}
				bites := func(e history.Event) bool { return e.Kind == history.Bite && e.ID == 1 }
				if !slices.ContainsFunc(c.Events(), bites) {
					t.Error("the fault never bit")
				}
			})
		})
	}
}

// A replica whose connection is reset is soon in sync again, and nothing is set twice.
func TestReplicationReset(t *testing.T) {
	t.Parallel()
	c, c1, _ := startGroup(t, RealGroup{Replicas: []string{"r1"}})
	a := askAt(t, c1, "group")
	inject(t, c, "cut n1->r1")
	a.send("SET", "lock", "x")
	if a.send("WAIT", "1", "50"); a.reply(later) != "+OK" || a.reply(later) != ":0" {
		t.Error("the cut is not felt")
	}
	inject(t, c, "heal n1->r1")
	happens(t, c, "r1 set lockx by n1")
	inject(t, c, "reset n1-r1")
	if a.send("SET", "lock", "y"); a.reply(later) != "+OK" {
		t.Error("n1 takes no write")
	}
	happens(t, c, "r1 over locky by n1")
	if n := count(c, history.Bite, "reset n1-r1"); n != 1 {
		t.Errorf("the reset bit %d times", n)
	}
	if got := statesOf(c); len(got) != 4 {
		t.Errorf("%q", got)
	}
}

// A promotion leads clients to the replica, and makes the other replicas follow it. The old primary goes on by itself until it is
// told. A server that is down has its new role when it comes back.
func TestPromoteAndFollow(t *testing.T) {
	t.Parallel()
	c, c1, c2 := startGroup(t, RealGroup{Replicas: []string{"r1", "r2", "r3"}})
	a := askAt(t, c1, "group")
	a.send("SET", "lock", "x")
	if a.send("WAIT", "3", "0"); a.reply(later) != "+OK" || a.reply(later) != ":3" {
		t.Fatal("not all replicas have acknowledged")
	}
	if b := askAt(t, c1, "r1"); true {
		if b.send("SET", "lock", "y"); !strings.HasPrefix(b.reply(later), "-READONLY") {
			t.Error("a replica takes a write")
		}
	}
	for _, fault := range []string{"crash r2", "promote n1", "promote r2", "promote r1"} {
		inject(t, c, fault)
	}
	b := askAt(t, c2, "group")
	if b.send("SET", "lock", "z"); b.reply(later) != "+OK" {
		t.Error("r1 takes no write")
	}
	happens(t, c, "r3 over lockz by r1")
	if a.send("DEL", "lock"); a.reply(later) != ":1" {
		t.Error("n1 does not go on")
	}
	inject(t, c, "restart r2")
	happens(t, c, "r2 over lockz by r1")
	inject(t, c, "follow n1 r1")
	happens(t, c, "n1 set lockz by r1")
	c.Run()
	inject(t, c, "crash n1")
	inject(t, c, "restart n1")
	c.Run()
	if a := askAt(t, c1, "n1"); true {
		if a.send("SET", "lock", "y"); !strings.HasPrefix(a.reply(later), "-READONLY") {
			t.Error("the old primary does not follow when it is back")
		}
	}
	got := slices.DeleteFunc(statesOf(c), func(s string) bool { return strings.Contains(s, "lock") })
	want := []string{"r1 promote ", "r2 follow r1", "r3 follow r1", "n1 follow r1"}
	if !slices.Equal(got, want) {
		t.Errorf("roles: %q, want %q", got, want)
	}
	for _, e := range c.Events() {
		if e.Kind == history.Bite && slices.Contains([]string{"promote n1", "promote r2"}, e.Value) {
			t.Errorf("%s bit", e.Value)
		}
	}
	if err := c.Err(); err != nil {
		t.Error(err)
	}
}

// A replica keeps a key whose deadline has passed until its primary deletes it. Once it is a primary, it expires keys by its own
// clock.
func TestReplicasLetNothingExpire(t *testing.T) {
	t.Parallel()
	redistest.Steady(t, func(t testing.TB) {
		c, c1, _ := startGroup(t, RealGroup{Replicas: []string{"r1", "r2"}})
		a := askAt(t, c1, "group")
		a.send("SET", "lock", "x", "PX", "300")
		if a.send("WAIT", "2", "0"); a.reply(later) != "+OK" || a.reply(later) != ":2" {
			t.Fatal("not all replicas have acknowledged")
		}
		inject(t, c, "cut n1-r2")
		happens(t, c, "n1 expire lock")
		happens(t, c, "r1 delete lock by n1")
		inject(t, c, "promote r2")
		want := []string{"r2 promote ", "r2 expire lock"}
		if got := statesOf(c); len(got) < 3 || !slices.Contains(got, want[1]) || slices.Index(got, want[0])+1 != slices.Index(got, want[1]) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// A replica whose clock is ahead expires keys by that clock once it is a primary. Its old primary does not notice the clock.
func TestJumpOfReplica(t *testing.T) {
	t.Parallel()
	c, c1, _ := startGroup(t, RealGroup{Replicas: []string{"r1", "r2"}})
	a := askAt(t, c1, "group")
	inject(t, c, "jump r1 +1000s")
	a.send("SET", "lock", "x", "PX", "900000")
	if a.send("WAIT", "2", "0"); a.reply(later) != "+OK" || a.reply(later) != ":2" {
		t.Fatal("not all replicas have acknowledged")
	}
	if n := count(c, history.Bite, "jump r1 +1000s"); n != 0 {
		t.Error("the jump bit while r1 was a replica")
	}
	inject(t, c, "promote r1")
	happens(t, c, "r1 expire lock")
	happens(t, c, "r2 delete lock by r1")
	if n := count(c, history.Bite, "jump r1 +1000s"); n != 1 {
		t.Errorf("the jump bit %d times", n)
	}
	if got := len(statesOf(c)); got != 7 {
		t.Errorf("%q", statesOf(c))
	}
}

// A client in WAIT does not make other clients wait.
func TestWaitKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	c, c1, c2 := startGroup(t, RealGroup{Replicas: []string{"r1"}})
	inject(t, c, "cut n1-r1")
	a, b := askAt(t, c1, "group"), askAt(t, c2, "group")
	a.send("SET", "lock", "x")
	if a.send("WAIT", "1", "0"); a.reply(later) != "+OK" {
		t.Fatal("n1 takes no write")
	}
	for c.Now(); count(c, history.Message, "WAIT 1 0") == 0; time.Sleep(time.Millisecond) {
	}
	if b.send("SET", "other", "y"); b.reply(later) != "+OK" {
		t.Error("another client waits, too")
	}
	inject(t, c, "heal")
	if a.reply(later) != ":1" {
		t.Error("WAIT has no end")
	}
}

// A primary with too few replicas refuses writes. A replica behind a cut counts as missing, although its close does not get
// through.
func TestRealMinReplicas(t *testing.T) {
	t.Parallel()
	c, c1, _ := startGroup(t, RealGroup{Replicas: []string{"r1"}, MinReplicas: 1, MaxLag: 2 * time.Second})
	a := askAt(t, c1, "group")
	inject(t, c, "cut n1-r1")
	inject(t, c, "promote r1")
	if a.send("SET", "lock", "x"); a.reply(later) != "+OK" {
		t.Error("n1 takes no write though it has heard from r1 just now")
	}
	n := askAt(t, c1, "n1") // the address of the group leads to r1
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		n.send("SET", "lock", "x")
		if reply := n.reply(later); strings.HasPrefix(reply, "-NOREPLICAS") {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(reply)
		}
	}
}

// A process that is not of the group cannot connect to its servers.
func TestPeerProxyRefusesStrangers(t *testing.T) {
	t.Parallel()
	c, _, _ := startGroup(t, RealGroup{Replicas: []string{"r1"}})
	conn, err := net.Dial("tcp", c.group.peerProxies["n1"].listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	conn.Write([]byte("PING\r\n"))
	if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("answered: %d bytes, %v", n, err)
	}
}

// Sentinels that agree that the primary is down promote its replica, and clients that ask them find it.
func TestRealSentinels(t *testing.T) {
	t.Parallel()
	redistest.Steady(t, func(t testing.TB) {
		c, c1, _ := startGroup(t, RealGroup{Replicas: []string{"r1"}, Sentinels: []string{"s1", "s2", "s3"}, DownAfter: 500 * time.Millisecond})
		guide := c1.Guide()
		set := func() string {
			conn, err := guide.Dial(t.Context(), "tcp", guide.Addrs()[0])
			if err != nil {
				return err.Error()
			}
			defer conn.Close()
			conn.Write(redistest.AppendCommand(nil, "SET", "lock", "x")) // the connection may have been reset
			return askOn(t, conn).reply(later)
		}
		if got := set(); got != "+OK" {
			t.Fatal(got)
		}
		happens(t, c, "r1 set lockx by n1")
		inject(t, c, "crash s1")
		inject(t, c, "restart s1")
		c.Run()
		inject(t, c, "pause s1")
		inject(t, c, "cut s2-n1")
		happens(t, c, "s2 sdown n1")
		if got := statesOf(c); slices.Contains(got, "s2 odown n1") {
			t.Error("one is enough")
		}
		inject(t, c, "crash n1")
		happens(t, c, "r1 promote ")
		for deadline := time.Now().Add(20 * time.Second); set() != "+OK"; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("nobody takes a write: %s, %q", set(), statesOf(c))
			}
		}
		got := statesOf(c)
		leaders := 0
		for _, line := range got {
			if strings.Contains(line, " leader n1") {
				leaders++
			}
		}
		if leaders == 0 || !slices.Contains(got, "s2 odown n1") && !slices.Contains(got, "s3 odown n1") {
			t.Errorf("%q", got)
		}
		if err := c.Err(); err != nil {
			t.Error(err)
		}
	})
}

// If the servers of a group are gone, starting the group is an error.
func TestGroupOfNobody(t *testing.T) {
	t.Parallel()
	redistest.NeedServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	c, err := StartCluster(ctx, []string{"n1", "r1"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cancel()
	if err := c.Group(RealGroup{Primary: "n1", Replicas: []string{"r1"}}); err == nil {
		t.Error("a group of servers that are gone")
	}
}

// A server of a group that ends by itself ends the run, whatever its role.
func TestServerOfGroupEnds(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"n1", "r1", "s1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _, _ := startGroup(t, RealGroup{Replicas: []string{"r1"}, Sentinels: []string{"s1", "s2", "s3"}, DownAfter: time.Second})
			s := c.process(name).node().server
			s.Process().Kill()
			<-c.ctx.Done()
			if err := c.Err(); err == nil || !strings.Contains(err.Error(), name+": redis-server ended by itself") {
				t.Errorf("%v", err)
			}
		})
	}
}
