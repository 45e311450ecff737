//go:build unix

package live

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockstep/nodes/engine"
	"lockstep/nodes/internal/redistest"
	"lockstep/nodes/redisserver"
	"lockstep/sim/history"
)

// realConnTo opens a connection of a client to a server of its cluster.
func realConnTo(t testing.TB, p *Client, server string) *redistest.Client {
	t.Helper()
	return redistest.Dial(t, p.Addr(server))
}

// After a crash, the disk of a real server has what the disk of a simulated one has.
func TestRealDisk(t *testing.T) {
	t.Parallel()
	redistest.NeedServer(t)
	faults := map[engine.Exit]history.Fault{engine.Killed: history.Crash{Process: "n1"}, engine.PowerLost: history.Crash{Process: "n1", Power: true}, engine.Stopped: history.Stop{Process: "n1"}}
	for _, kind := range engine.Persistences {
		for how, fault := range faults {
			t.Run(fmt.Sprintf("%s, %s", kind, fault), func(t *testing.T) {
				t.Parallel()
				// a is the first write of a second, b is in the same second.
				at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
				r := engine.NewRedis(func() time.Time { return at })
				defer r.Close()
				r.Persist(kind)
				at = at.Add(time.Second)
				n := r.Connect("c1")
				n.Feed(redistest.AppendCommand(nil, "SET", "a", "1", "PX", "60000"))
				at = at.Add(100 * time.Millisecond)
				n.Feed(redistest.AppendCommand(nil, "SET", "b", "2", "PX", "60000"))
				r.Crash(how)
				r.Restart(false)
				var want []string
				for _, key := range r.Keys() {
					want = append(want, key.Name)
				}

				// On a busy machine this may take longer than half a second, and then other writes have been synced.
				for try := 1; ; try++ {
					late, got := crashed(t, kind, fault)
					if slices.Equal(got.left, want) && slices.Equal(got.lost, without([]string{"a", "b"}, want)) {
						return
					}
					if !late || try == 5 {
						t.Fatalf("try %d: %q is left on the real one and %q was lost, %q is left on the simulated one", try, got.left, got.lost, want)
					}
				}
			})
		}
	}
}

// The log is not read when an fsync is due, but when the next command arrives. What that command wrote was not synced then.
func TestLateLookAtLog(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	d := realDisk{Disk: engine.NewDisk(engine.AOFEverysec), file: file}
	d.Begin(nil, 0)
	for _, w := range []struct {
		at   int64
		text string
	}{{2000, "at once,"}, {2001, "at three,"}, {3500, "at four"}} {
		if _, err := file.WriteString(w.text); err != nil {
			t.Fatal(err)
		}
		if err := d.look(w.at); err != nil {
			t.Fatal(err)
		}
	}
	if left, everything := d.End(engine.PowerLost); everything || string(left) != "at once,at three," {
		t.Errorf("what was synced is %q, everything: %v", left, everything)
	}
}

func keysSeen(n *realNode) func(yield func(string) bool) {
	n.proxy.serving.Lock()
	defer n.proxy.serving.Unlock()
	var all []string
	for name := range n.observer.keys {
		all = append(all, name)
	}
	return slices.Values(all)
}

// Losses are recorded at the instant of the restart, as in simulation.
func TestRestartIsOneInstant(t *testing.T) {
	t.Parallel()
	redistest.NeedServer(t)
	c, err := StartCluster(t.Context(), []string{"n1"}, engine.NoPersistence)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p, err := c.Client("c1")
	if err != nil {
		t.Fatal(err)
	}
	redistest.Expect(t, realConnTo(t, p, "n1"), "SET a 1", "+OK")
	c.Inject(history.Crash{Process: "n1"})
	c.Inject(history.Restart{Process: "n1"})
	c.Run() // waits until the restart is complete
	var back, lost time.Duration
	for _, e := range c.Events() {
		switch {
		case e.Kind == history.Injected && e.Op == "restart":
			back = e.At
		case e.Op == history.Lose:
			lost = e.At
		}
	}
	if back == 0 || lost != back {
		t.Errorf("it was back at %v, and had lost its key at %v", back, lost)
	}
}

// remains are the keys that a node has left, and those that it has lost.
type remains struct{ left, lost []string }

// crashed sets a and b on a real node, 100 ms apart, and injects a fault. It returns late if this took too long to know what had
// been synced.
func crashed(t *testing.T, kind engine.Persistence, fault history.Fault) (late bool, r remains) {
	t.Helper()
	c, p := begun(t, kind)
	defer c.Close()
	conn := realConnTo(t, p, "n1")
	redistest.Expect(t, conn, "SET a 1 PX 60000", "+OK")
	c.RunFor(100*time.Millisecond - c.Now())
	redistest.Expect(t, conn, "SET b 2 PX 60000", "+OK")
	info, err := c.process("n1").node().server.Client().Info(t.Context(), "persistence").Result()
	if err != nil {
		t.Fatal(err)
	}
	c.Inject(fault)
	late = c.Now() > 450*time.Millisecond || // the second, or the fsync, may be over
		strings.Contains(info, "aof_pending_bio_fsync:1") // an fsync is in progress, and redis-server keeps b in memory
	c.Restore()
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	for _, e := range c.Events() {
		if e.Op == history.Lose {
			r.lost = append(r.lost, e.Key)
		}
	}
	slices.Sort(r.lost)
	r.left = slices.Sorted(keysSeen(c.process("n1").node()))
	return late, r
}

// begun starts n1 and a client, and begins the run.
func begun(t *testing.T, kind engine.Persistence) (*Cluster, *Client) {
	t.Helper()
	c, err := StartCluster(t.Context(), []string{"n1"}, kind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	p, err := c.Client("c1")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Begin(); err != nil {
		t.Fatal(err)
	}
	return c, p
}

func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
}

// A jump of the clock is not a write that a power loss undoes.
func TestJumpOutlivesPowerLoss(t *testing.T) {
	t.Parallel()
	redistest.NeedServer(t)
	c, p := begun(t, engine.AOFEverysec)
	conn := realConnTo(t, p, "n1")
	redistest.Expect(t, conn, "SET a 1 PX 60000", "+OK")
	end := conn.Do("PEXPIRETIME", "a")
	var before, after int
	fmt.Sscanf(end, ":%d", &before)
	c.Inject(history.Jump{Process: "n1", By: 300 * time.Millisecond})
	c.Inject(history.Crash{Process: "n1", Power: true})
	c.Restore()
	fmt.Sscanf(realConnTo(t, p, "n1").Do("PEXPIRETIME", "a"), ":%d", &after)
	if after != before-300 {
		t.Errorf("the key ended at %d, and after 300ms forward and a loss of power at %d", before, after)
	}
}

// The clock of a node can jump while its server is down: its keys then expire earlier after the restart. The jump bites if there is
// a key with a deadline.
func TestJumpWhileDown(t *testing.T) {
	t.Parallel()
	c, p, _ := startCluster(t)
	conn := realConnTo(t, p, "n1")
	redistest.Expect(t, conn, "SET a 1 PX 60000", "+OK")
	redistest.Expect(t, conn, "SET b 2 PX 10000", "+OK")
	var before, after int
	fmt.Sscanf(conn.Do("PEXPIRETIME", "a"), ":%d", &before)
	bitten := func() (all []string) {
		for _, e := range c.Events() {
			if e.Kind == history.Bite && strings.HasPrefix(e.Value, "jump") {
				all = append(all, e.Value)
			}
		}
		return all
	}
	c.Inject(history.Crash{Process: "n1"})
	c.Inject(history.Jump{Process: "n1", By: 20 * time.Second})
	if all := bitten(); len(all) > 0 {
		t.Errorf("%q have bitten while nobody looked at the clock", all)
	}
	c.Restore()
	conn = realConnTo(t, p, "n1")
	fmt.Sscanf(conn.Do("PEXPIRETIME", "a"), ":%d", &after)
	if after != before-20_000 {
		t.Errorf("the key ended at %d, and after 20s forward at %d", before, after)
	}
	redistest.Expect(t, conn, "EXISTS b", ":0")
	if all := bitten(); len(all) != 1 {
		t.Errorf("%q have bitten", all)
	}
	c.Inject(history.Crash{Process: "n1"})
	c.Inject(history.Jump{Process: "n1", By: time.Second})
	c.Inject(history.Restart{Process: "n1", Empty: true})
	c.Run()
	if all := bitten(); len(all) != 1 {
		t.Errorf("%q have bitten, though there is no key", all)
	}
	redistest.Expect(t, realConnTo(t, p, "n1"), "SET a 1 PX 60000", "+OK")
	if all := bitten(); len(all) != 2 {
		t.Errorf("%q have bitten", all)
	}
}

// A server that ends by itself ends the run, whether anybody uses it or not.
func TestServerThatDies(t *testing.T) {
	t.Parallel()
	for _, busy := range []bool{false, true} {
		t.Run(fmt.Sprintf("busy %v", busy), func(t *testing.T) {
			t.Parallel()
			c, p, _ := startCluster(t)
			s := c.process("n1").node().server
			if busy {
				conn := realConnTo(t, p, "n1")
				c.Inject(history.Pause{Process: "n1"})
				if _, err := conn.Conn.Write(redistest.AppendCommand(nil, "SET", "a", "1")); err != nil {
					t.Fatal(err)
				}
			}
			s.Process().Kill()
			<-c.ctx.Done()
			const want = "n1: redis-server ended by itself: signal: killed"
			if err := c.Err(); err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
			c.Close()
			redistest.Gone(t, s.Process().Pid, s.Addr(), c.dir)
		})
	}
}

// smallFiles makes redis-server fail when it writes more than 8 KiB to a file, as on a full disk.
func smallFiles(t *testing.T) {
	t.Helper()
	redistest.NeedServer(t)
	path, err := redisserver.Path()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := "#!/bin/sh\ntrap '' XFSZ\nulimit -f 16\nexec " + path + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "redis-server"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// If the disk of a server is full, the run ends without a verdict about the lock, whatever the persistence.
func TestFullDisk(t *testing.T) {
	smallFiles(t)
	for kind, want := range map[engine.Persistence]string{
		"":                 "n1: redis-server cannot write to its disk; it has warned: ",
		engine.AOFEverysec: "n1: redis-server cannot write to its disk; it has warned: ",
		engine.AOFAlways:   "n1: redis-server ended by itself: exit status 1; it has warned: Can't recover from AOF write error",
		engine.RDB:         "n1: redis-server cannot write to its disk; it has warned: ",
	} {
		t.Run(string(kind), func(t *testing.T) {
			err := filled(t, kind)
			for try := 1; errors.Is(err, ErrStalled) && try < 5; try++ {
				err = filled(t, kind)
			}
			if !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

// filled writes to a server until its disk is full, and returns the error that ended the run.
func filled(t *testing.T, kind engine.Persistence) error {
	t.Helper()
	c, err := StartCluster(context.Background(), []string{"n1"}, kind)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p, err := c.Client("c1")
	if err != nil {
		t.Fatal(err)
	}
	conn := realConnTo(t, p, "n1")
	random := rand.NewChaCha8([32]byte{})
	for i := 0; i < 40 && c.Err() == nil; i++ {
		value := make([]byte, 3000) // it cannot be compressed
		random.Read(value)
		conn.Conn.Write(redistest.AppendCommand(nil, "SET", fmt.Sprint(i), string(value)))
		buf := make([]byte, 64)
		conn.Conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := conn.Conn.Read(buf); err != nil {
			break
		}
	}
	if kind == engine.RDB {
		c.Inject(history.Stop{Process: "n1"})
	}
	select {
	case <-c.ctx.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the run goes on")
	}
	err = c.Err()
	c.Close()
	if _, err := os.Stat(c.dir); err == nil {
		t.Errorf("%s is left", c.dir)
	}
	return err
}
