package sim

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// echo is a service that answers each line with the line.
type echo struct{ opened, closed int }

func (e *echo) Open(*Conn) { e.opened++ }
func (e *echo) Receive(c *Conn, data []byte) {
	c.Write(data)
}
func (e *echo) Closed(*Conn) { e.closed++ }
func (e *echo) Describe(data []byte, reply bool, name func(string) string) string {
	return strings.TrimSpace(string(data))
}

// inWorld runs f in a world of its own, in a bubble.
func inWorld(t *testing.T, cfg Config, f func(*World)) *History {
	t.Helper()
	var h *History
	err := Bubble(func() {
		w := NewWorld(cfg)
		f(w)
		w.Run()
		if w.Cap() != "" {
			panic("hit " + w.Cap())
		}
		w.Close()
		h = w.History()
		h.Meta.Checksum = w.Checksum()
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestEcho(t *testing.T) {
	h := inWorld(t, Config{Seed: 1}, func(w *World) {
		s := w.Serve("n1", &echo{})
		c := w.Process("c1")
		c.Go(func(ctx context.Context) {
			conn, err := c.DialContext(ctx, "tcp", s.Addr())
			if err != nil {
				t.Error(err)
				return
			}
			fmt.Fprintf(conn, "hello\n")
			line, err := bufio.NewReader(conn).ReadString('\n')
			if err != nil || line != "hello\n" {
				t.Errorf("read %q, %v", line, err)
			}
			conn.Close()
			c.Clock().Sleep(time.Second)
			c.Pause(time.Second)
			c.Until(5 * time.Second)
		})
	})
	for _, e := range h.Events {
		t.Logf("%+v", e)
	}
	t.Log(h.Meta.Checksum)
}
