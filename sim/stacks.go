package sim

import (
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
)

func stack() string { return string(debug.Stack()) }

// Stacks returns the stacks of all goroutines.
func Stacks() string {
	for size := 1 << 20; ; size *= 2 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size {
			return string(buf[:n])
		}
	}
}

// bubbleStacks returns the stacks of those goroutines that belong to a bubble.
func bubbleStacks() string {
	var in []string
	for _, g := range strings.Split(Stacks(), "\n\n") {
		if head, _, _ := strings.Cut(g, "\n"); strings.Contains(head, "synctest bubble") {
			in = append(in, g)
		}
	}
	return strings.Join(in, "\n\n")
}

var goroutineHead = regexp.MustCompile(`^goroutine (\d+)[^\[]*\[([^\]]+)\]:`)

// Blocked sums up a dump of stacks: one line per goroutine that is inside a bubble, saying what it waits for and where.
// It is what a reader wants to know first about a run that never went quiet.
func Blocked(stacks string) []string {
	var lines []string
	for _, g := range strings.Split(stacks, "\n\n") {
		m := goroutineHead.FindStringSubmatch(g)
		if m == nil || !strings.Contains(m[2], "synctest bubble") {
			continue
		}
		wait, _, _ := strings.Cut(m[2], ",")
		lines = append(lines, "goroutine "+m[1]+" "+meaning(wait)+" in "+where(g))
	}
	return lines
}

// meaning puts the runtime's wait reasons into words.
func meaning(reason string) string {
	switch {
	case strings.HasPrefix(reason, "sync.Mutex") || strings.HasPrefix(reason, "sync.RWMutex"):
		return "waits for a mutex (" + reason + ": not durably blocked, so virtual time stands still)"
	case reason == "running" || reason == "runnable":
		return "is " + reason
	case strings.HasPrefix(reason, "synctest"):
		return "is the scheduler, waiting for the world to go quiet,"
	}
	return "waits (" + strings.TrimSuffix(reason, " (durable)") + ")"
}

// where names the frames that matter: the innermost one, and the first that is neither the runtime's, the standard
// library's nor the kernel's.
func where(g string) string {
	var frames []string
	lines := strings.Split(g, "\n")
	for i := 1; i+1 < len(lines); i += 2 {
		f, _, _ := strings.Cut(lines[i], "(0x")
		f = strings.TrimSuffix(f, "(...)")
		f = strings.TrimSuffix(f, "()")
		if strings.HasPrefix(f, "created by") {
			break
		}
		at := strings.TrimSpace(lines[i+1])
		at, _, _ = strings.Cut(at, " +0x")
		if std := !strings.Contains(strings.SplitN(f, "/", 2)[0], ".") && !strings.HasPrefix(f, "lockstep/"); std && !strings.HasPrefix(f, "main.") {
			continue
		}
		frames = append(frames, f+" ("+at+")")
		if !strings.HasPrefix(f, "lockstep/sim.") {
			break
		}
	}
	if len(frames) == 0 {
		return "the runtime"
	}
	return strings.Join(frames, " < ")
}
