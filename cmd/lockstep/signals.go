//go:build !js

package main

import (
	"os"
	"syscall"
)

// endings lists the signals that end a run, and after which everything that it started must be gone.
func endings() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} }
