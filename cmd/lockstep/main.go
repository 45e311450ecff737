// Without worker processes, runs are made in this process, and libraries draw from its randomness.
//go:debug randseednop=0

// Lockstep replays what can go wrong with distributed locks on Redis, and says what breaks.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"lockstep/clients"
	"lockstep/clients/libraries"
	"lockstep/reports"
	"lockstep/scenarios/play"
	"lockstep/scenarios/search"
	"lockstep/sim/wasm"
	"lockstep/sim/workers"
)

// Exit statuses.
const (
	exitExpected   = 0 // every run came out as expected
	exitUnexpected = 1 // a violation, or a verdict, that was not expected
	exitUnknown    = 2 // a run proved nothing; this outranks exitUnexpected
	exitInput      = 3 // something could not be run: bad input, something missing, an interruption
)

// status is an error that only sets the exit status: all messages have been printed.
type status int

func (s status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// worst is the error for the greatest of several statuses; nil if everything came out as expected.
func worst(all []status) error {
	s := slices.Max(append(all, exitExpected))
	if s == exitExpected {
		return nil
	}
	return s
}

func main() { os.Exit(run(known{locks: clients.Locks(), libraries: libraries.Locks()}, os.Args[1:])) }

// longestError is the most characters that are printed of each line of an error.
const longestError = 2000

// told is an error as it is printed. It may quote anything from arguments and files.
func told(err error) string {
	lines := strings.Split(reports.VisibleLines(err.Error()), "\n")
	for i, line := range lines {
		lines[i] = reports.Shorten(line, longestError)
	}
	return strings.Join(lines, "\n")
}

// run is the program, with the locks that it knows. Workers run the same program.
func run(k known, args []string) int {
	if _, file, _, ok := runtime.Caller(0); ok {
		wasm.SetSource(filepath.Join(filepath.Dir(file), "guest"), true)
	}
	if workers.IsWorker() {
		if err := play.Serve(k.find, search.SearchTask); err != nil {
			fmt.Fprintln(os.Stderr, "lockstep:", err)
			return exitInput
		}
		return exitExpected
	}
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	defer stop()

	app := newApp(k)
	app.SetArgs(args)
	out, said := &output{File: os.Stdout}, &output{File: os.Stderr}
	app.SetOut(out)
	app.SetErr(said)
	if onGitHub() {
		app.SetOut(&guard{w: out})
		app.SetErr(&guard{w: said})
	}
	go heed(ctx, stop, out, said)
	err := noWord(app, args)
	if err == nil {
		err = app.ExecuteContext(ctx)
	}
	var code status
	if out.err != nil && (err == nil || errors.As(err, &code)) {
		err = out.err // a verdict that could not be printed does not count
	}
	switch {
	case err == nil:
		return exitExpected
	case errors.As(err, &code):
		return int(code)
	case ctx.Err() != nil:
		interrupted(os.Stderr)
	default:
		fmt.Fprintln(app.ErrOrStderr(), "lockstep:", told(err))
	}
	return exitInput
}
