package workers

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// tether makes the kernel kill the process when the thread that starts it ends. A worker in a busy loop may never notice the end
// of its job pipe.
func tether(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

// quit asks the Go runtime of a process for its stacks. The runtime cannot print the stack of another running thread, and the
// kernel would give the signal to any thread, so it is sent to the busiest one.
func quit(p *os.Process) {
	if tid := busiest(p.Pid); tid == 0 || syscall.Tgkill(p.Pid, tid, syscall.SIGQUIT) != nil {
		p.Signal(syscall.SIGQUIT)
	}
}

// busiest returns the thread of a process that is running and has used the most processor time; 0 if none is running. The time
// distinguishes a busy loop from the runtime's own threads, which wake often but briefly.
func busiest(pid int) (tid int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*", pid))
	most := -1
	for _, dir := range tasks {
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue
		}
		// The second field is the name in parentheses, which may contain anything. See proc_pid_stat(5).
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 13 || fields[0] != "R" {
			continue
		}
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		if user+system > most {
			most = user + system
			tid, _ = strconv.Atoi(filepath.Base(dir))
		}
	}
	return tid
}
