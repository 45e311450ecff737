package packagetime

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"lockstep/sim/overlay"
)

// Tag is the build tag of programs that [Build] makes.
const Tag = "lockstep_packagetime"

//go:embed added.go.txt
var added []byte

// changes puts the clocks of the process between package time and the runtime.
var changes = []overlay.Change{
	{File: "time/time.go", Old: ":= runtimeNow()", New: ":= ownNow()", N: 1},
	{File: "time/time.go", Old: "runtimeNano()-startNano", New: "ownNano()-startNano", N: 2},
	{File: "time/sleep.go", Old: "func Sleep(d Duration)\n", New: "func Sleep(d Duration) { machineSleep(Duration(ownWait(int64(d)))) }\n", N: 1},
	{File: "time/sleep.go", Old: "runtimeNano() + int64(d)\n", New: "runtimeNano() + ownWait(int64(d))\n", N: 1},
	{File: "time/tick.go", Old: "when(d), int64(d)", New: "when(d), ownWait(int64(d))", N: 2},
	{File: "runtime/time.go", Old: "//go:linkname timeSleep time.Sleep\n", New: "//go:linkname timeSleep time.machineSleep\n", N: 1},
	{File: "internal/poll/fd_poll_runtime.go", Old: "d = int64(time.Until(t))\n", New: "d = ownWait(int64(time.Until(t)))\n", N: 1},
	{File: "internal/poll/fd_poll_runtime.go", Old: "func setDeadlineImpl(", New: "//go:linkname ownWait time.lockstepWait\nfunc ownWait(d int64) int64\n\nfunc setDeadlineImpl(", N: 1},
}

// Supported says why programs cannot be built with another package time on this machine; nil if they can.
func Supported() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("the package time of a client can be set only on Linux, not on %s", runtime.GOOS)
	}
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("there is no go command")
	}
	return nil
}

// Build compiles the package in the directory src, or its test, into the file target, with the given options of the go command.
// The first call compiles the standard library, which takes up to two minutes.
func Build(ctx context.Context, src string, test bool, options []string, target string) error {
	if err := Supported(); err != nil {
		return err
	}
	changed, err := overlay.Write(ctx, src, filepath.Dir(target), "packagetime", changes, map[string][]byte{"time/lockstep.go": added})
	if err != nil {
		return err
	}
	args := []string{"build"}
	if test {
		args = []string{"test", "-c", "-vet=off"}
	}
	args = append(args, "-overlay", changed, "-ldflags=-s -w", "-o", target)
	if _, said, err := overlay.Go(ctx, src, []string{"GOOS=", "GOARCH="}, append(append(args, withTag(options)...), ".")...); err != nil {
		lines := strings.SplitN(strings.TrimSpace(string(said)), "\n", 4)
		return fmt.Errorf("go %s -overlay: %w: %s", args[0], err, strings.Join(lines[:min(3, len(lines))], "; "))
	}
	return nil
}

// withTag adds the tag to options that may have tags.
func withTag(options []string) []string {
	if len(options) == 2 && options[0] == "-tags" {
		return []string{"-tags", options[1] + "," + Tag}
	}
	return append([]string{"-tags", Tag}, options...)
}
