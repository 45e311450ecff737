package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"lockstep/reports"
	"lockstep/scenarios/search"
	"lockstep/sim/history"
)

// newApp builds the command line.
func newApp(k known) *cobra.Command {
	root := &cobra.Command{
		Use:   "lockstep",
		Short: "Find out what breaks a distributed lock on Redis",
		Long: `Lockstep replays the failures that are known to break distributed locks on Redis: pauses, clock
jumps, crashes, failovers, late messages. It runs in simulation or on real Redis servers, and says
which property each failure violates, and which assumption was broken.

Exit status: 0 all as expected; 1 a violation or a verdict was not expected; 2 a run proved
nothing; 3 something could not be run, or was interrupted; 4 a shard cannot be played on this
machine, but perhaps on another.`,
		Example: `  lockstep run                                       the whole catalogue, in simulation
  lockstep run --lock redsync                        a library, in the runs of similar locks
  lockstep matrix                                    what each library survives
  lockstep show pause-after-acquire                  one scenario: its story and its timeline
  lockstep show crash-restart-5/redlock --html run.html
                                                     a run to step through, in a browser
  lockstep run pause-after-acquire --on redis        on redis-server processes, with real faults
  lockstep debate --out debate                       the debate about Redlock, as a web site
  lockstep run my-scenario.txtar --out results`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newList(k), newRun(k), newShow(k), newMatrix(k), newPlot(k), newExplore(k), newMerge(k), newReplay(k), newWhy(k), newLimits(k), newCheck(k), newServe(k), newDebate(k), newCourse(k), newVersion(k),
		newCompanion("fleet", "Search on many machines, with a queue in Redis", "lockstep fleet --queue redis://HOST:6379 explore --lock redsync --runs 1000000"),
		newCompanion("ledger", "Remember what searches found, from night to night", "lockstep explore --lock redsync --json | lockstep ledger add -"))
	root.SetHelpCommand(newHelp(root))
	addCompletion(root)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", reports.Width)))
	fit(root)
	k.complete(root)
	return root
}

// noArgs refuses arguments.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, but got %q", c.Name(), args[0])
	}
	return nil
}

// newHelp replaces cobra's help command, which does not fail for an unknown command.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:               "help [command]",
		Short:             "Help about any command",
		ValidArgsFunction: commands(root),
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 && c.DisableFlagParsing { // the program that carries it out knows its commands
				return c.RunE(c, append(rest, "--help"))
			}
			if len(rest) > 0 {
				return unknownCommand(rest[0], c)
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}

func unknownCommand(word string, of *cobra.Command) error {
	return fmt.Errorf("unknown command %q for %q", word, of.CommandPath())
}

// noWord returns an error if the word that is to name a command is empty, as a shell variable that is not set. Cobra would ignore it.
func noWord(root *cobra.Command, args []string) error {
	c, rest, err := root.Find(args)
	if err == nil && len(rest) > 0 && rest[0] == "" && c.HasSubCommands() {
		return unknownCommand("", c)
	}
	return nil
}

// fit breaks the long texts of a command and its subcommands into lines of at most reports.Width columns. Indented lines stay as they
// are.
func fit(c *cobra.Command) {
	var lines, paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			lines = append(lines, wrap(strings.Join(paragraph, " "), reports.Width))
		}
		paragraph = nil
	}
	for line := range strings.SplitSeq(c.Long, "\n") {
		if line != "" && line[0] != ' ' {
			paragraph = append(paragraph, line)
			continue
		}
		end()
		lines = append(lines, line)
	}
	end()
	c.Long = strings.Join(lines, "\n")
	for _, sub := range c.Commands() {
		fit(sub)
	}
}

// flagError says what is wrong with a flag, in terms of what was typed.
func flagError(c *cobra.Command, err error) error {
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if e.GetFlag().Value.Type() == "duration" {
			if _, err := history.ParseSpan(e.GetValue()); err != nil && strings.Contains(err.Error(), "is too long") {
				return fmt.Errorf("--%s: %w", e.GetFlag().Name, err)
			}
		}
		if _, err := search.ParseShard(e.GetValue()); err != nil && e.GetFlag().Value.Type() == "shard" {
			return fmt.Errorf("--%s: %w", e.GetFlag().Name, err)
		}
		return fmt.Errorf("--%s: %q must be %s", e.GetFlag().Name, e.GetValue(), required(e.GetFlag().Value))
	}
	e, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	dash, word := "--", e.GetSpecifiedName()
	if rest := e.GetSpecifiedShortnames(); rest != "" {
		dash, word = "-", rest
	}
	if _, no := os.Stat(dash + word); no == nil || strings.ContainsAny(word, "./") {
		return fmt.Errorf("%w; a file whose name begins with a dash is named with ./ before it, or after --", err)
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := history.Nearest(e.GetSpecifiedName(), names); near != "" {
		return fmt.Errorf("%w (did you mean --%s?)", err, near)
	}
	return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
}

// required describes the values that a flag accepts.
func required(v pflag.Value) string {
	switch v.Type() {
	case "file":
		return "the name of a file or a directory"
	case "uint64":
		return "a whole number, 0 or greater"
	case "int":
		return "a whole number"
	case "seed":
		return fmt.Sprintf("a whole number from 1 to %d", uint64(math.MaxUint64))
	case "step":
		return "a whole number, 1 or greater, or all"
	case "speed":
		return fmt.Sprintf("a number from 1 to %d", mostSpeed)
	case "durationSlice":
		return "durations separated by commas, such as 10s,2s"
	case "duration":
		return "a duration such as 500ms or 20s"
	case "guests":
		return strings.Join(guestModes(), " or ")
	case "memory":
		return "an amount of memory with its unit, such as 500MB or 2GB, and at least 100MB"
	case "bool":
		return "true or false"
	}
	return "a list of words separated by commas"
}

// paint colours text for a terminal, and for nothing else. NO_COLOR switches colours off (no-color.org).
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
