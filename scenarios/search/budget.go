package search

import (
	"context"
	"time"
)

// A budget is the time for which a random search makes runs. Comparisons with the reference do not count: a single survey of it
// may take longer than the whole budget.
type budget struct {
	end chan time.Time // empty while time does not count
}

// newBudget calls over once span has passed, unless ctx ends before.
func newBudget(ctx context.Context, span time.Duration, over func()) *budget {
	b := &budget{make(chan time.Time, 1)}
	b.end <- time.Now().Add(span)
	go func() {
		for left := span; left > 0; left = b.left() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(left):
			}
		}
		over()
	}()
	return b
}

func (b *budget) left() time.Duration {
	end := <-b.end
	b.end <- end
	return time.Until(end)
}

// except calls f, and does not count the time that it takes. A nil budget has no end.
func (b *budget) except(f func() error) error {
	if b == nil {
		return f()
	}
	end, from := <-b.end, time.Now()
	err := f()
	b.end <- end.Add(time.Since(from))
	return err
}
