//go:build unix

package live

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockstep/nodes/internal/redistest"
	"lockstep/nodes/redisserver"
	"lockstep/sim/history"
	"lockstep/sim/workers"
)

// task is the job of a client process in these tests.
type task struct {
	Contact Contact
	Do      string
	Addr    string // n1's address
}

// tasks are the lanes of these tests.
var tasks = map[string]func(*Host, task) error{
	// ticks runs a timer on package time, and records the longest time between two ticks: that of its pause.
	"ticks": func(h *Host, _ task) error {
		gap, stop := make(chan time.Duration), make(chan struct{})
		most, last := time.Duration(0), time.Now()
		go func() {
			for ticking := true; ticking; {
				select {
				case <-time.After(time.Millisecond):
				case <-stop: // stop may be chosen before the first tick after the pause
					ticking = false
				}
				now := time.Now()
				most, last = max(most, now.Sub(last)), now
			}
			gap <- most
		}()
		h.Record(history.Event{Kind: history.Info, Op: "before"})
		h.Pause(300 * time.Millisecond)
		h.Record(history.Event{Kind: history.Info, Op: "after"})
		stop <- struct{}{}
		h.Record(history.Event{Kind: history.Info, Op: "gap", Value: fmt.Sprint((<-gap).Milliseconds())})
		return nil
	},
	// reads waits for a reply that arrives during its pause, with a deadline that also falls into the pause.
	"reads": func(h *Host, e task) error {
		for range 10 {
			conn, err := net.Dial("tcp", e.Addr)
			if err != nil {
				return err
			}
			h.Record(history.Event{Kind: history.Invoke, Op: history.Read})
			conn.SetReadDeadline(time.Now().Add(150 * time.Millisecond)) // in the pause, and long after the reply, even on a busy machine
			conn.Write([]byte("*1\r\n$4\r\nPING\r\n"))
			line, err := bufio.NewReader(conn).ReadString('\n')
			if errors.Is(err, os.ErrDeadlineExceeded) { // the runtime may fire timers first, but the bytes have arrived
				raw, _ := conn.(*net.TCPConn).SyscallConn()
				buf := make([]byte, 16)
				raw.Control(func(fd uintptr) {
					n, _, _ := syscall.Recvfrom(int(fd), buf, syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
					line, err = string(buf[:max(0, n)]), nil
				})
			}
			h.Record(history.Event{Kind: history.Info, Op: history.Read, Value: fmt.Sprint(strings.TrimSpace(line), err)})
			conn.Close()
		}
		return nil
	},
	"naps": func(h *Host, _ task) error {
		for range 100 {
			h.Pause(time.Nanosecond)
		}
		return nil
	},
	"sleeps": func(h *Host, e task) error {
		conn, err := net.Dial("tcp", e.Addr)
		if err != nil {
			return err
		}
		h.Record(history.Event{Kind: history.Info, Op: history.Wait, Value: conn.LocalAddr().String()})
		time.Sleep(time.Hour)
		return nil
	},
	"exits": func(*Host, task) error { os.Exit(3); return nil },
	"records": func(h *Host, _ task) error {
		const many = 2000
		start := time.Now()
		for range many {
			h.Record(history.Event{Kind: history.Info, Op: history.Wait, Lock: "lock", Lease: "c1#1", Value: "a value that is not short"})
		}
		h.Record(history.Event{Kind: history.Info, Op: "took", Value: (time.Since(start) / many).String()})
		return nil
	},
}

// launch starts c1 as a process that runs a task, in a cluster with n1. In that process, it runs the task and does not return.
func launch(t testing.TB, do string, before func(*Cluster)) (*Cluster, *Client) {
	t.Helper()
	if workers.IsWorker() {
		err := workers.Work(func(_ context.Context, data json.RawMessage) (any, error) {
			var e task
			if err := json.Unmarshal(data, &e); err != nil {
				return nil, err
			}

			h, err := Join(e.Contact)
			if err != nil {
				return nil, err
			}
			defer h.End()
			return "", tasks[e.Do](h, e)
		})
		if err != nil {
			t.Fatal(err)
		}
		os.Exit(0)
	}
	c, c1, _ := startCluster(t)
	test := func() *exec.Cmd { return exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$") }
	err := c1.Start(test, 30*time.Second, func(contact Contact) (json.RawMessage, error) {
		return json.Marshal(task{contact, do, c1.Addr("n1")})
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Begin(); err != nil {
		t.Fatal(err)
	}
	if before != nil {
		before(c)
	}
	c1.Go()
	return c, c1
}

// told returns the values of the events of one operation that c1 recorded.
func told(c *Cluster, op string) (values []string) {
	for _, e := range c.Events() {
		if e.Process == "c1" && e.Op == op && e.Kind == history.Info {
			values = append(values, e.Value)
		}
	}
	return values
}

// A pause stops the whole process, between one step and the next.
func TestClientPause(t *testing.T) {
	redistest.Steady(t, func(t testing.TB) {
		c, _ := launch(t, "ticks", nil)
		c.Run()
		if err := c.Err(); err != nil {
			t.Fatal(err)
		}
		at := map[string]time.Duration{}
		for _, e := range c.Events() {
			if e.Process == "c1" {
				at[e.Op+string(e.Kind)] = e.At
			}
		}
		if d := at["after"+string(history.Info)] - at["before"+string(history.Info)]; d < 300*time.Millisecond || d > 400*time.Millisecond {
			t.Errorf("a pause of 300ms took %v: %v", d, at)
		}
		var gap int
		if _, err := fmt.Sscan(strings.Join(told(c, "gap"), " "), &gap); err != nil || gap < 200 { // a busy machine makes the time between two ticks longer by itself
			t.Errorf("during a pause of 300ms the process did not run for %d ms", gap)
		}
		if n := count(c, history.Bite, "pause c1 300ms"); n != 1 {
			t.Errorf("the pause bit %d times", n)
		}
	})
}

// A process that resumes finds the bytes that have arrived in the meantime.
func TestClientFindsBytesAfterPause(t *testing.T) {
	redistest.Steady(t, func(t testing.TB) {
		c, c1 := launch(t, "reads", func(c *Cluster) {
			inject(t, c, "delay n1->c1 20ms")
			c.Watch(func(e history.Event) {
				if e.Kind == history.Message && e.Op == history.Deliver && e.Process == "n1" { // earlier, the request may not have left yet
					c.Plan(c.Now()+10*time.Millisecond, history.Pause{Process: "c1", For: 300 * time.Millisecond})
				}
			})
		})
		c.Run()
		if err := c.Err(); err != nil {
			t.Fatal(err)
		}
		want := slices.Repeat([]string{"+PONG<nil>"}, 10)
		if got := told(c, history.Read); !slices.Equal(got, want) {
			t.Errorf("%s read %q", c1.name, got)
		}
	})
}

// A pause ends even if it is very short.
func TestClientNaps(t *testing.T) {
	c, _ := launch(t, "naps", nil)
	c.Run()
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	if n := count(c, history.Bite, "pause c1 1ns"); n != 100 {
		t.Errorf("%d pauses of 100 bit", n)
	}
}

// A crash kills the process and breaks its connections, even while it is paused.
func TestClientCrash(t *testing.T) {
	c, c1 := launch(t, "sleeps", func(c *Cluster) {
		c.Watch(func(e history.Event) {
			if e.Process == "c1" && e.Op == history.Wait {
				c.Plan(c.Now()+20*time.Millisecond, history.Pause{Process: "c1"})
				c.Plan(c.Now()+40*time.Millisecond, history.Crash{Process: "c1"})
			}
		})
	})
	c.Run() // without the crash it would last an hour
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c1.gone:
	default:
		t.Error("the lane has ended, and the process is there")
	}
	c.mu.Lock()
	signalled := c1.signal(redisserver.ContSignal)
	c.mu.Unlock()
	if signalled {
		t.Error("a process that was killed took a signal")
	}
	if n := count(c, history.Bite, "crash c1") + count(c, history.Bite, "pause c1"); n != 2 {
		t.Errorf("%d faults of 2 bit", n)
	}
}

// A process that ends by itself ends the run, with a reason.
func TestClientExits(t *testing.T) {
	c, _ := launch(t, "exits", nil)
	c.Run()
	var e *ClientError
	if err := c.Err(); !errors.As(err, &e) || e.Client != "c1" || !strings.Contains(e.Reason, "exit status 3") {
		t.Errorf("got %v", err)
	}
}

// A process that does not know the key is not accepted as a client.
func TestClientStranger(t *testing.T) {
	c, c1, _ := startCluster(t)
	var at Contact
	err := c1.Start(func() *exec.Cmd { return exec.Command("sleep", "0.3") }, time.Second, func(contact Contact) (json.RawMessage, error) {
		at = contact
		return json.RawMessage("0"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", at.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintln(conn, `{"id":1,"hello":{"key":"guessed","pid":1}}`)
	if n, err := conn.Read(make([]byte, 1)); n > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a stranger was answered: %v", err)
	}
	// The run does not wait for ever for a process that never calls.
	if err := c.Begin(); err == nil || !strings.Contains(err.Error(), "ended before it took a job") {
		t.Errorf("got %v", err)
	}
}

// Recording an event costs little compared with a message.
func TestRecordCost(t *testing.T) {
	c, _ := launch(t, "records", nil)
	c.Run()
	took := strings.Join(told(c, "took"), "")
	if d, err := time.ParseDuration(took); err != nil || d > 5*time.Millisecond {
		t.Errorf("an event takes %s: %v", took, c.Err())
	}
	t.Logf("an event takes %s", took)
}
