//go:build lockstep_packagetime && linux

package packagetime

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"lockstep/sim/history"
)

//go:linkname timeError time.lockstepError
var timeError atomic.Pointer[clockError]

//go:linkname timeReads time.lockstepReads
var timeReads [2]atomic.Int64

// Own reports whether this program was made by [Build], so that its package time can be set.
func Own() bool { return true }

// Set makes package time show what c shows, in a run that began when [Machine] returned start. Timers that are already running
// keep their rate.
func Set(c history.Clock, start int64) { timeError.Store(errorOf(c, start)) }

// ReadSoFar returns how often package time was asked.
func ReadSoFar() Reads { return Reads{timeReads[0].Load(), timeReads[1].Load()} }

// Machine returns the monotonic clock of the machine in nanoseconds, which [Set] does not change.
func Machine() int64 {
	var t syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}
