package search

import (
	"testing"
	"time"

	"lockstep/scenarios/play"
)

// sheetOf finds the limits of a lock in this process.
func sheetOf(t testing.TB, shape Shape) *Sheet {
	t.Helper()
	play.QuietRedis()
	s := &Search{Lock: shape.Lock, New: findLock(t, shape.Lock)}
	sheet, err := s.Limits(t.Context(), shape.Each(shape.Lock))
	if err != nil {
		t.Fatal(err)
	}
	return sheet
}

func TestLimitsTry(t *testing.T) {
	start := time.Now()
	s := sheetOf(t, Shape{Lock: "single", TTL: 10 * time.Second})
	t.Log(time.Since(start), s.Runs, s.Unproved, s.Calm)
	for _, r := range s.Rows {
		t.Log(r.Name(), "sites", r.Sites, "runs", r.Runs, "unproved", r.Unproved, "idle", r.Idle, "harmless", r.Text(r.Harmless), "top", r.Text(r.Top))
		for _, e := range r.Limits {
			t.Log("    ", e.Harm, e.Assumption, r.Text(e.Harmless), r.Text(e.Harmful), e.Workload, e.Where)
		}
	}
}
