package workers

import (
	"bytes"
	"strings"
	"sync"
	"testing"
)

func TestTailIsBounded(t *testing.T) {
	var passed bytes.Buffer
	tail := tail{mu: new(sync.Mutex), also: &passed}
	line := strings.Repeat("x", 999) + "\n"
	for range 5 * keptOutput / len(line) {
		tail.Write([]byte(line))
	}
	tail.Write([]byte("the end"))
	if s := tail.String(); len(s) != keptHead+len(leftOut)+keptOutput || !strings.HasSuffix(s, "x\nthe end") {
		t.Errorf("kept %d bytes, ending in %q", len(s), s[len(s)-10:])
	}
	if cap(tail.buf) > 4*keptOutput {
		t.Errorf("the buffer has grown to %d bytes", cap(tail.buf))
	}
	if passed.Len() != passedOn+len(leftOut) || !strings.HasSuffix(passed.String(), leftOut) {
		t.Errorf("passed on %d bytes", passed.Len())
	}
	tail.reset()
	if s := tail.String(); s != "" {
		t.Errorf("%d bytes after a reset", len(s))
	}
	passed.Reset()
	tail.Write([]byte("the next job"))
	if passed.String() != "the next job" {
		t.Errorf("passed on %q after a reset", passed.String())
	}
}

func TestTailWithoutStacks(t *testing.T) {
	var passed bytes.Buffer
	tail := tail{mu: new(sync.Mutex), also: &passed}
	for _, s := range []string{"hello\npan", "ic: nothing works\n[signal 11]\n", "\ngoroutine 7 [running]:\nmain.f()\n", "\ngoroutine 8 [running]:\n"} {
		tail.Write([]byte(s))
	}
	if got := passed.String(); got != "hello\npanic: nothing works\n[signal 11]\n\n" {
		t.Errorf("passed on %q", got)
	}
	if s := tail.String(); !strings.HasSuffix(s, "goroutine 8 [running]:\n") {
		t.Errorf("kept %q", s)
	}
}
