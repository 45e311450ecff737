package workers

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A saved report shows the goroutine that failed, even if the only information about it is the line that says so.
func TestReportShowsWhatFailed(t *testing.T) {
	dump := strings.ReplaceAll(`goroutine 7 [select]:
strings.Repeat(...)
	GOROOTstrings/strings.go:600 +0x1

goroutine 8 [running, synctest bubble 1]:
main.spin(...)
	/src/main.go:1 +0x1

`, "GOROOT", goroot())
	r := &Report{Reason: "panic: out of range", Blocked: []string{"goroutine 7 failed in strings.Repeat (strings.go:600)"}, Stacks: dump}
	if s := r.String(); !strings.Contains(s, "    goroutine 7 [") {
		t.Errorf("the goroutine that failed is not shown:\n%s", s)
	}
}

func TestObituary(t *testing.T) {
	for _, test := range []struct{ printed, reason string }{
		{"", ""},
		{"connection lost\n", ""},
		{"panic: a\n\ngoroutine 1 [running]:\n", "panic: a"},
		{"log: panic: not this\npanic: a [recovered, repanicked]\n\ngoroutine 1 [running]:\n", "panic: a"},
		{"panic: a\n\tpanic: b\n\ngoroutine 1 [running]:\n", "panic: a"},
		{"half a linefatal error: concurrent map writes\n", "fatal error: concurrent map writes"},
		{"runtime: goroutine stack exceeds 1000000000-byte limit\nfatal error: stack overflow\n", "fatal error: stack overflow"},
		{"SIGQUIT: quit\nPC=0x408e8c m=0 sigcode=0\n", "SIGQUIT: quit"},
	} {
		if reason, _ := obituary(test.printed); reason != test.reason {
			t.Errorf("%q: reason %q, want %q", test.printed, reason, test.reason)
		}
	}
}

func TestReportIsShort(t *testing.T) {
	r := &Report{Reason: "the worker exited: exit status 3", Stacks: strings.Repeat("a line\n", 5000)}
	if n := strings.Count(r.String(), "\n"); n > 30 {
		t.Errorf("%d lines for what a worker printed", n)
	}
	var dump strings.Builder
	for i := range 200 {
		fmt.Fprintf(&dump, "goroutine %d [sync.Mutex.Lock, synctest bubble 1]:\n", i+1)
		for f := range 60 {
			fmt.Fprintf(&dump, "main.f%d(0x%x)\n\t/src/main.go:%d +0x1\n", f, i, i)
		}
		dump.WriteByte('\n')
	}
	r = Overdue(time.Second, dump.String())
	if n := strings.Count(r.String(), "\n"); n > 130 || len(r.Blocked) != 200 {
		t.Errorf("%d lines for %d goroutines", n, len(r.Blocked))
	}
	if !strings.Contains(r.String(), "(188 more lines)") || !strings.Contains(r.String(), "(196 more goroutines)") {
		t.Errorf("the report does not say what it leaves out:\n%s", r)
	}
}
