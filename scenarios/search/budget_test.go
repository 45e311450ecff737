package search

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// What does not count extends the budget by exactly the time that it took, even if it began before the end and went on after it.
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

// A search that ends early leaves no goroutine behind. Without a budget there is no limit.
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
