package main

import (
	"os"
	"os/exec"
	"syscall"
)

// tether makes the kernel kill the process when the thread that starts it ends, and therefore when this process ends. A group of its
// own keeps Ctrl-C from it: this process decides what becomes of the shard.
func tether(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

func interrupt(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// killGroup kills what a child has left.
func killGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }
