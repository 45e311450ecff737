//go:build unix

package nodes

import (
	"os"
	"syscall"
)

// The signals that stop a process from running, let it go on, and ask it to end.
var stopSignal, contSignal, termSignal os.Signal = syscall.SIGSTOP, syscall.SIGCONT, syscall.SIGTERM
