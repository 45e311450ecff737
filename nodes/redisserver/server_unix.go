//go:build unix

package redisserver

import (
	"os"
	"syscall"
)

// StopSignal, ContSignal and TermSignal pause a process, resume it, and ask it to end. They are nil where the system has
// no such signals.
var StopSignal, ContSignal, TermSignal os.Signal = syscall.SIGSTOP, syscall.SIGCONT, syscall.SIGTERM
