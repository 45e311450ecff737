package workers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// killMarked kills the processes that have a variable in their environment: all descendants of a worker inherit its mark, even in
// a session of their own. It repeats the search after a kill, because a process may have started another meanwhile.
func killMarked(mark string) {
	for range 10 {
		if !killOnce([]byte(mark + "=")) {
			return
		}
	}
}

func killOnce(mark []byte) (found bool) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		env, err := os.ReadFile(file) // empty for a dead process
		if err != nil || !bytes.HasPrefix(env, mark) && !bytes.Contains(env, append([]byte{0}, mark...)) {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/environ", &pid); err == nil && pid != os.Getpid() {
			found = true
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return found
}
