//go:build !linux

package workers

import (
	"os"
	"os/exec"
	"syscall"
)

// tether does nothing: here only the end of its job pipe tells a worker that its supervisor is gone.
func tether(*exec.Cmd) {}

// quit asks the Go runtime of a process for its stacks, if the system has such a signal.
func quit(p *os.Process) { p.Signal(syscall.SIGQUIT) }
