//go:build !js

package main

import (
	"os"
	"syscall"
)

// endings lists the signals that end the program. Everything that it started must end with it.
func endings() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} }
