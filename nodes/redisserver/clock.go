package redisserver

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"lockstep/sim/history"
)

// ErrNoClocks says that redis-server processes can only use the clock of the machine.
var ErrNoClocks = errors.New("redis-server cannot be given a clock of its own")

// A Clock is the wall clock of one redis-server process. It can be set, and its rate can be changed. A library that is loaded into
// the process before any other gives it the time; see preload/clock.c. The clock goes on while the process is down.
type Clock struct {
	library, file string
	mapped        []byte // the mapped file
	start         time.Time
	now           history.Clock
}

// reading is the content of the file, as in preload/clock.c: how far the clock is ahead of the machine's.
type reading struct {
	seq   atomic.Uint64
	since atomic.Int64
	ahead atomic.Int64
	drift atomic.Uint64 // the bits of a float64, like slew
	slew  atomic.Uint64
	until atomic.Int64
}

const readingSize = int(unsafe.Sizeof(reading{}))

// NewClock returns a clock that agrees with the clock of the machine until it is set. It needs the library that [CompileClock]
// makes, and creates file, which must not exist yet. The caller must close the clock.
func NewClock(library, file string) (*Clock, error) {
	if err := os.WriteFile(file, make([]byte, readingSize), 0o600); err != nil {
		return nil, err
	}
	mapped, err := mapFile(file, readingSize)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &Clock{library: library, file: file, mapped: mapped}, nil
}

// env returns the environment variables that the process needs.
func (k *Clock) env() []string {
	return []string{"LD_PRELOAD=" + k.library, "LOCKSTEP_CLOCK=" + k.file}
}

// Set makes the clock show what c shows, in a run that began at start.
func (k *Clock) Set(now history.Clock, start time.Time) {
	k.now, k.start = now, start
	if k.mapped == nil {
		return
	}
	since := max(now.Since, now.Set) // drift and slew are relative to the last fault
	slew, until := 0.0, since
	if now.Over > 0 {
		slew, until = float64(now.Slew)/float64(now.Over), max(since, now.Set+now.Over)
	}
	r := (*reading)(unsafe.Pointer(&k.mapped[0]))
	r.seq.Add(1)
	r.since.Store(start.Add(since).UnixNano())
	r.ahead.Store(int64(now.Wall(since) - since))
	r.drift.Store(math.Float64bits(float64(now.PPM) / 1e6))
	r.slew.Store(math.Float64bits(slew))
	r.until.Store(start.Add(until).UnixNano())
	r.seq.Add(1)
}

// Lead returns how far the clock is ahead of the machine's.
func (k *Clock) Lead(at time.Time) time.Duration {
	if k.start.IsZero() {
		return 0
	}
	t := at.Sub(k.start)
	return k.now.Wall(t) - t
}

// AtLeast returns a duration by the machine's clock after which this clock has advanced by d. During a slew it may be longer than
// necessary.
func (k *Clock) AtLeast(d time.Duration) time.Duration {
	rate := 1 + float64(k.now.PPM)/1e6
	if k.now.Over > 0 {
		rate += max(0, float64(k.now.Slew)/float64(k.now.Over))
	}
	return time.Duration(float64(d) / rate)
}

// Close frees the file, which is removed with its directory.
func (k *Clock) Close() {
	if k != nil && k.mapped != nil {
		unmap(k.mapped)
		k.mapped = nil
	}
}

// compiler returns the command of the C compiler: "cc", or the value of CC, which may be "ccache gcc".
func compiler() []string {
	if cc := strings.Fields(os.Getenv("CC")); len(cc) > 0 {
		return cc
	}
	return []string{"cc"}
}

// CanSetClocks returns nil if the redis-server processes of this machine can have their own clocks. Otherwise the error wraps
// [ErrNoClocks] and says why not. They need Linux, a C compiler, and a redis-server that is linked dynamically with the C library.
func CanSetClocks() error {
	path, err := Path()
	if err != nil {
		return err
	}
	if cc := compiler()[0]; exec.Command(cc).Err != nil {
		return fmt.Errorf("%w without a C compiler: %s is not on the PATH", ErrNoClocks, cc)
	}
	return preloads(path)
}
