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

// ErrNoClocks says that a redis-server process can only have the clock of the machine.
var ErrNoClocks = errors.New("redis-server cannot be given a clock of its own")

// A Clock is the wall clock of one redis-server process. It can be set, and its rate can be changed. A library that is
// loaded into the process before any other gives it the time; see preload/clock.c. The clock goes on while the process
// is down.
type Clock struct {
	library, file string
	mapped        []byte // the file
	start         time.Time
	now           history.Clock
}

// reading is the file, as preload/clock.c has it: how far the clock is ahead of that of the machine.
type reading struct {
	seq   atomic.Uint64
	since atomic.Int64
	ahead atomic.Int64
	drift atomic.Uint64 // the bits of a float64, as is slew
	slew  atomic.Uint64
	until atomic.Int64
}

const readingSize = int(unsafe.Sizeof(reading{}))

// NewClock returns a clock that agrees with the clock of the machine until it is set. It needs the library that
// [CompileClock] made, and creates file, which must not exist yet. The caller must close the clock.
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

// env is what the process needs in its environment.
func (k *Clock) env() []string {
	return []string{"LD_PRELOAD=" + k.library, "LOCKSTEP_CLOCK=" + k.file}
}

// Set has the clock show what the clocks of a run do that has begun at start.
func (k *Clock) Set(now history.Clock, start time.Time) {
	k.now, k.start = now, start
	if k.mapped == nil {
		return
	}
	since := max(now.Since, now.Set) // the last fault: drift and slew are told from there on
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

// Lead is how far the clock is ahead of that of the machine.
func (k *Clock) Lead(at time.Time) time.Duration {
	if k.start.IsZero() {
		return 0
	}
	t := at.Sub(k.start)
	return k.now.Wall(t) - t
}

// AtLeast is how long it takes, by the machine's clock, until this one has gone on by d; if it is slewed, perhaps longer.
func (k *Clock) AtLeast(d time.Duration) time.Duration {
	rate := 1 + float64(k.now.PPM)/1e6
	if k.now.Over > 0 {
		rate += max(0, float64(k.now.Slew)/float64(k.now.Over))
	}
	return time.Duration(float64(d) / rate)
}

// Close frees the file, which goes with its directory.
func (k *Clock) Close() {
	if k != nil && k.mapped != nil {
		unmap(k.mapped)
		k.mapped = nil
	}
}

// compiler is what starts the C compiler: "cc", or what CC says, which may be "ccache gcc".
func compiler() []string {
	if cc := strings.Fields(os.Getenv("CC")); len(cc) > 0 {
		return cc
	}
	return []string{"cc"}
}

// CanSetClocks says why the redis-server processes of this machine cannot have clocks of their own ([ErrNoClocks]); nil if they can.
// It takes linux, a C compiler, and a redis-server that loads the C library when it starts.
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
