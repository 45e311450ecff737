package scenarios

import (
	"time"

	"golang.org/x/sys/unix"
)

// machineTime reads the monotonic clock of the machine, also inside a bubble.
func machineTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}
