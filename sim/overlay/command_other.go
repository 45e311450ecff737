//go:build !unix

package overlay

import "os/exec"

// interruptible leaves a process as it is: there are no process groups here, and it is killed.
func interruptible(*exec.Cmd) {}
