//go:build !lockstep_packagetime || !linux

package packagetime

import (
	"time"

	"lockstep/sim/history"
)

// Own reports whether this program was made by [Build], so that its package time can be set.
func Own() bool { return false }

// Set makes package time show what c shows, in a run that began when [Machine] returned start. Timers that are already running
// keep their rate.
func Set(history.Clock, int64) { panic("packagetime: the package time of this program cannot be set") }

// ReadSoFar returns how often package time was asked.
func ReadSoFar() Reads { return Reads{} }

var began = time.Now()

// Machine returns the monotonic clock of the machine in nanoseconds, which [Set] does not change.
func Machine() int64 { return int64(time.Since(began)) }
