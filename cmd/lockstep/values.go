package main

import (
	"fmt"
	"math"
	"strconv"

	"lockstep/sim/workers"
)

// largestFile is the largest size, in bytes, of an input file that is not a scenario: a history, an earlier run --json, a map.
const largestFile = 256 << 20

// speedValue is the value of --speed. It is checked when it is set; 0 means that it is not set.
type speedValue float64

const mostSpeed = 1000

func (v *speedValue) Set(s string) error {
	speed, err := strconv.ParseFloat(s, 64)
	if err == nil && !(speed >= 1 && speed <= mostSpeed) { // also refuses NaN
		err = strconv.ErrRange
	}
	*v = speedValue(speed)
	return err
}

func (v *speedValue) String() string { return strconv.FormatFloat(float64(*v), 'g', -1, 64) }
func (*speedValue) Type() string     { return "speed" }

// seedValue is the value of --seed; 0 means that it is not set.
type seedValue uint64

func (v *seedValue) Set(s string) error {
	seed, err := strconv.ParseUint(s, 10, 64)
	if err == nil && seed == 0 {
		err = strconv.ErrRange
	}
	*v = seedValue(seed)
	return err
}

func (v *seedValue) String() string { return strconv.FormatUint(uint64(*v), 10) }
func (*seedValue) Type() string     { return "seed" }

// tooManySeeds returns an error if there are not so many seeds from the first on.
func tooManySeeds(first uint64, seeds int) error {
	if last := uint64(math.MaxUint64) - uint64(seeds-1); first > last {
		return fmt.Errorf("--seed %d: with --seeds %d it must be at most %d", first, seeds, last)
	}
	return nil
}

// fileValue is the value of an option that names a file or a directory. It must not be empty: an empty name is mostly a shell variable
// that is not set.
type fileValue string

func (v *fileValue) Set(s string) error {
	if s == "" {
		return strconv.ErrSyntax
	}
	*v = fileValue(s)
	return nil
}

func (v *fileValue) String() string { return string(*v) }
func (*fileValue) Type() string     { return "file" }

// memoryValue is the value of --memory; 0 means the default.
type memoryValue workers.Memory

func (v *memoryValue) Set(s string) error {
	m, err := workers.ParseMemory(s)
	*v = memoryValue(m)
	return err
}

func (v *memoryValue) String() string {
	if *v == 0 {
		return ""
	}
	return workers.Memory(*v).String()
}
func (*memoryValue) Type() string { return "memory" }
