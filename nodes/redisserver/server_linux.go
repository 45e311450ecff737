package redisserver

import (
	"os/exec"
	"syscall"
)

// tether has the kernel kill the process when the thread that starts it ends, and so also when this process does.
func tether(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
