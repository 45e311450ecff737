package search

import (
	"strings"
	"testing"
	"time"
)

// A shape that no calm run can have is refused, and the error says what is possible.
func TestImpossibleShapes(t *testing.T) {
	for _, test := range []struct {
		shape Shape
		want  string
	}{
		{Shape{Lock: "single", Workload: "twice"}, `unknown workload "twice"; the workloads are once, again, short, late, beyond`},
		{Shape{Lock: "single", Clients: 1}, "an exploration must have 2 to 9 clients, not 1"},
		{Shape{Lock: "single", Nodes: 20}, "nodes=20: write a number from 1 to 9"},
		{Shape{Lock: "single", TTL: time.Millisecond}, "a TTL of 1ms is too short: it must be at least 100ms"},
		{Shape{Lock: "single", Resource: "fence"}, `unknown resource "fence"`},
	} {
		if _, err := test.shape.Calm(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, want %q", test.shape, err, test.want)
		}
	}
}
