package search

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// What does not count prolongs the time, even if it goes on when the time would have been over, and no longer than it took.
func TestBudgetWithout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		b := newBudget(ctx, time.Minute, cancel)
		for range 2 {
			time.Sleep(20 * time.Second)
			b.except(func() error {
				time.Sleep(time.Hour)
				return nil
			})
		}
		if ctx.Err() != nil {
			t.Error("over after 40s that count")
		}
		<-ctx.Done()
		if took := time.Since(start); took != time.Minute+2*time.Hour {
			t.Errorf("over after %v", took)
		}
	})
}

// A search that ends early leaves nothing behind, and without a budget everything is done.
func TestBudgetEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		newBudget(ctx, time.Minute, func() { t.Error("called, though the search had ended") })
		cancel()
		synctest.Wait()
		done := false
		(*budget)(nil).except(func() error {
			done = true
			return nil
		})
		if !done {
			t.Error("nothing is done without a budget")
		}
	})
}
