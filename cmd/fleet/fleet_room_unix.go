//go:build unix

package main

import (
	"os"
	"syscall"
)

// lock locks a file for this process, and says whether nobody else has locked it. The kernel unlocks it when the process ends.
func lock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
