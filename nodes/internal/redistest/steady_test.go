package redistest

import (
	"fmt"
	"testing"
)

// TestSteady: a failure counts unless the machine stalled, and what an attempt has opened is closed before the next one.
func TestSteady(t *testing.T) {
	var got []string
	a := &attempt{TB: t}
	a.take(func(t testing.TB) {
		t.Cleanup(func() { got = append(got, "first") })
		t.Cleanup(func() { got = append(got, "last") })
		t.Errorf("%d", 1)
		t.Fatal("two")
		got = append(got, "never")
	})
	if got := fmt.Sprint(got, a.said, a.Failed()); got != "[last first] [1\n two\n] true" {
		t.Error(got)
	}
	a = &attempt{TB: t}
	if late := a.take(func(testing.TB) {}); a.Failed() || late < 0 {
		t.Errorf("nothing was done, and it took %v: %v", late, a.said)
	}
}
