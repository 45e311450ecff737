package redisserver

import (
	"os/exec"
	"syscall"
)

// tether makes the kernel kill the process when the thread that starts it ends, and therefore when this process ends.
func tether(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
