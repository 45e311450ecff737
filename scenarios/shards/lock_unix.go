//go:build unix

package shards

import (
	"errors"
	"os"
	"syscall"
)

// lock makes a file that of this process, until the process closes it or ends. It reports whether no other process has it.
func lock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
