//go:build unix

package nodes

import (
	"os"
	"syscall"
)

// The signals that stop a process from running and let it go on.
var stopSignal, contSignal os.Signal = syscall.SIGSTOP, syscall.SIGCONT
