package sim

import (
	"context"
	"io"
	"slices"
	"testing"
	"time"

	"lockstep/sim/history"
)

// TestEitherOrder: after a pause, a client finds a reply before its timers; with TimersFirst it finds its timers first. EitherOrder is true
// only if both were waiting.
func TestEitherOrder(t *testing.T) {
	const inTime, late = 100 * time.Millisecond, 199*time.Millisecond + 500*time.Microsecond
	for _, test := range []struct {
		name        string
		timersFirst bool
		asked       time.Duration // when the client sends its request: the reply then comes before or during the pause, which begins at 200 ms
		stopped     bool          // whether the timers are stopped during the pause
		want        []string
		either      bool
	}{
		{"messages first", false, late, false, []string{"reply", "timer 1", "timer 2", "timer 2 again"}, true},
		{"timers first", true, late, false, []string{"timer 1", "timer 2", "reply", "timer 2 again"}, true},
		{"no timer waits", true, late, true, []string{"reply"}, false},
		{"no reply waits", true, inTime, false, []string{"reply", "timer 1", "timer 2", "timer 2 again"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got notes
			var w *World
			inWorld(t, Config{Seed: 1, TimersFirst: test.timersFirst}, func(in *World) {
				w = in
				n, c := w.Serve("n1", &echo{}), w.Process("c1")
				first := c.Clock().AfterFunc(400*time.Millisecond, func() { got.add("timer 1") })
				again := false
				var second interface {
					Stop() bool
					Reset(time.Duration) bool
				}
				second = c.Clock().AfterFunc(500*time.Millisecond, func() {
					if again {
						got.add("timer 2 again")
						return
					}
					got.add("timer 2")
					again = true
					second.Reset(time.Millisecond)
				})
				c.Go(func(ctx context.Context) {
					conn := dial(ctx, c, n)
					c.Until(test.asked)
					io.WriteString(conn, "hello")
					io.ReadFull(conn, make([]byte, 5))
					got.add("reply")
					c.Until(2 * time.Second)
				})
				w.At(200*time.Millisecond, func() { w.Inject(history.Pause{Process: "c1", For: time.Second}) })
				if test.stopped {
					w.At(900*time.Millisecond, func() { first.Stop(); second.Stop() })
				}
			})
			if !slices.Equal(got.list(), test.want) || w.EitherOrder() != test.either {
				t.Errorf("%q, a choice: %t; want %q, %t", got.list(), w.EitherOrder(), test.want, test.either)
			}
		})
	}
}

// TestPushAgain: a timer that was due in a pause counts as any other when it is set again.
func TestPushAgain(t *testing.T) {
	inWorld(t, Config{Seed: 1}, func(w *World) {
		it := &item{class: classOverdue, index: -1, act: actionFunc(func() {})}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.push(it); it.class != classTimer {
			t.Errorf("class %d", it.class)
		}
	})
}
