package main

import (
	"io"
	"os"
	"runtime"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// newApp builds the command line.
func newApp(k known) *cobra.Command {
	root := &cobra.Command{
		Use:   "lockstep",
		Short: "Find out what breaks a distributed lock on Redis",
		Long: `Lockstep replays the failures that distributed locks on Redis are known for, in simulation or on
real Redis servers, and says what each of them breaks: pauses, clock jumps, crashes, late
messages.

Exit status: 0 all as expected, 1 a violation or verdict that was not expected, 2 a run proved
nothing, 3 it could not be run, or was interrupted.`,
		Example: `  lockstep run                                       the whole catalogue, in simulation
  lockstep run --lock redsync                        a library, in the runs of the locks that it is like
  lockstep matrix                                    what each library survives
  lockstep show pause-after-acquire                  one scenario: its story and its timeline
  lockstep run pause-after-acquire --on redis --speed 20
  lockstep run my-scenario.txtar --out results`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.AddCommand(newList(k), newRun(k), newShow(k), newMatrix(k), newVersion(k))
	return root
}

// paint colours text for a terminal, and leaves it alone for anything else. NO_COLOR switches colour off (no-color.org).
func paint(w io.Writer, colours ...text.Color) func(string) string {
	if !isTerminal(w) {
		return func(s string) string { return s }
	}
	return func(s string) string { return text.Colors(colours).Sprint(s) }
}

func isTerminal(w io.Writer) bool {
	if out, ok := w.(*output); ok {
		w = out.File
	}
	f, ok := w.(*os.File)
	return ok && runtime.GOOS != "js" && term.IsTerminal(int(f.Fd()))
}

// output is standard output, which remembers if it could not be written.
type output struct {
	*os.File
	err error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.File.Write(b)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}
