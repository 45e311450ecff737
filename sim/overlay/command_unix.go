//go:build unix

package overlay

import (
	"os/exec"
	"syscall"
)

// interruptible makes a process and those that it starts a group, which is interrupted together.
func interruptible(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
}
