package workers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// killMarked kills the processes that have a variable in their environment: whatever a worker has started inherits its mark, also in a
// session of its own. It looks again after a kill, since a process may have started another meanwhile.
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
		env, err := os.ReadFile(file) // empty for a process that is dead
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
