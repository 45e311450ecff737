// Lockstep-fleet distributes searches over many machines, and remembers what they found from one night to the next. It is a module
// of its own, so that nobody else links the queue and the database that it uses.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"lockstep/sim/history"
)

// Exit statuses, as those of lockstep.
const (
	exitUnexpected = 1 // a violation, or a verdict, that was not expected
	exitUnknown    = 2 // something proved nothing
	exitInput      = 3 // something could not be run: bad input, something missing, an interruption
)

// status is an error that only sets the exit status: all messages have been printed.
type status int

func (s status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var code status
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "lockstep: interrupted")
	default:
		fmt.Fprintln(os.Stderr, "lockstep:", err)
	}
	return exitInput
}

// noArgs refuses arguments.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return visible(fmt.Errorf("%s takes no arguments, but got %q", c.Name(), args[0]))
	}
	return nil
}

// unknownCommand says which command of c was perhaps meant.
func unknownCommand(c *cobra.Command, name string) error {
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	hint := ""
	if near := history.Nearest(name, names); near != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", near)
	}
	return visible(fmt.Errorf("unknown command %q%s; %s --help lists the commands", name, hint, c.CommandPath()))
}

// newRoot builds the command line. "lockstep fleet" and "lockstep ledger" start this program with their arguments.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:               "lockstep",
		Short:             "Search on many machines, and remember what was found",
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.AddCommand(newFleet(), newLedger())
	return root
}
