package sim

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Messages within Warm take no time, and leave no trace. The connection is an ordinary one afterwards.
func TestWarm(t *testing.T) {
	var checksums []string
	for _, said := range []string{"", "hello"} {
		err := Bubble(func() {
			w := NewWorld(Config{Seed: 1})
			defer w.Close()
			s := &echo{}
			server := w.Serve("n1", s)
			c := w.Process("c1")
			var conn interface {
				Read([]byte) (int, error)
				Write([]byte) (int, error)
				SetDeadline(time.Time) error
			}
			w.Warm(func() {
				dialled, err := c.DialContext(context.Background(), "tcp", server.Addr())
				if err != nil {
					t.Fatal(err)
				}
				conn = dialled
				dialled.SetDeadline(time.Now().Add(time.Second)) // it would leave an alarm
				if said == "" {
					return
				}
				dialled.Write([]byte(said))
				var b [64]byte
				if n, err := dialled.Read(b[:]); err != nil || string(b[:n]) != said {
					t.Errorf("read %q, %v", b[:n], err)
				}
			})
			if w.Now() != 0 {
				t.Errorf("it took %v", w.Now())
			}
			if len(w.History().Events) > 0 {
				t.Errorf("it left %v", w.History().Events)
			}
			c.Go(func(context.Context) {
				conn.Write([]byte("later"))
				var b [64]byte
				if n, err := conn.Read(b[:]); err != nil || string(b[:n]) != "later" || w.Now() < time.Millisecond {
					t.Errorf("at %v read %q, %v", w.Now(), b[:n], err)
				}
			})
			w.Run()
			w.RunFor(time.Minute)
			checksums = append(checksums, w.Checksum())
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if checksums[0] != checksums[1] {
		t.Error("what was said has left a trace")
	}
}

// A client listens on no port, so that dialling it fails.
func TestWarmRefused(t *testing.T) {
	err := Bubble(func() {
		w := NewWorld(Config{Seed: 1})
		defer w.Close()
		c1, c2 := w.Process("c1"), w.Process("c2")
		w.Warm(func() {
			if _, err := c1.DialContext(context.Background(), "tcp", c2.Addr()); !errors.Is(err, syscall.ECONNREFUSED) || !strings.Contains(err.Error(), "refused") {
				t.Errorf("got %v", err)
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}
