package workers

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// tail keeps the beginning and the end of a worker's output: the runtime first says why it ends a process, and then what each
// goroutine did, and there may be very many.
type tail struct {
	mu   *sync.Mutex
	also io.Writer
	sent int // bytes that were passed to also
	head []byte
	buf  []byte
	cut  bool // the beginning is no longer in buf

	recent []byte // the end of what was passed on
	dead   bool   // the process prints the stacks of all goroutines
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := keptHead - len(t.head); room > 0 {
		t.head = append(t.head, b[:min(room, len(b))]...)
	}
	t.buf = append(t.buf, b...)
	if cut := len(t.buf) - keptOutput; cut > keptOutput { // not at each write, because it copies
		t.buf, t.cut = append(t.buf[:0], t.buf[cut:]...), true
	}
	t.passOn(b)
	return len(b), nil
}

// lastStacks matches the beginning of the stacks that the Go runtime prints after it has said why it ends a process.
var lastStacks = regexp.MustCompile(`(?s)(?:^|\n)(?:panic: |fatal error: ).*?\n\n(goroutine \d+ [^\n]*\[)`)

// keptRecent is how much of what was passed on is searched for the reason why a process ends.
const keptRecent = 4 << 10

// passOn passes output to also, up to a limit. The stacks of a process that ends are not passed on: its report has them.
func (t *tail) passOn(b []byte) {
	if t.also == nil || t.sent > passedOn || t.dead {
		return
	}
	before := len(t.recent)
	t.recent = append(t.recent, b...)
	if m := lastStacks.FindSubmatchIndex(t.recent); m != nil {
		t.dead = true
		b = b[:max(0, m[2]-before)]
	}
	t.recent = slices.Clone(t.recent[max(0, len(t.recent)-keptRecent):])
	room := passedOn - t.sent
	t.sent += len(b)
	if len(b) <= room {
		t.also.Write(b)
		return
	}
	t.also.Write(b[:room])
	io.WriteString(t.also, leftOut)
}

func (t *tail) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.head, t.buf, t.cut, t.sent = t.head[:0], t.buf[:0], false, 0
	t.recent, t.dead = nil, false
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	cut := len(t.buf) - keptOutput
	if cut <= 0 && !t.cut {
		return string(t.buf)
	}
	return string(t.head) + leftOut + string(t.buf[max(0, cut):])
}

// leftOut stands for text that was left out.
const leftOut = "\n\n(...)\n\n"

// lastLines returns the last n lines of s.
func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
