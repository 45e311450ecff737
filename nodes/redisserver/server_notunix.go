//go:build !unix

package redisserver

import "os"

// StopSignal, ContSignal and TermSignal are nil: there are no signals here that stop a process from running, or ask it to end.
var StopSignal, ContSignal, TermSignal os.Signal
