//go:build !unix

package redisserver

import "os"

// StopSignal, ContSignal and TermSignal are nil: this system has no signals that pause a process or ask it to end.
var StopSignal, ContSignal, TermSignal os.Signal
