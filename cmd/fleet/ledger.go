package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockstep/cmd/fleet/ledger"
	"lockstep/reports"
	"lockstep/reports/sites"
	"lockstep/scenarios/files"
)

// ledgerFlags are the options that several commands of the ledger have.
type ledgerFlags struct {
	file           string
	night, version string
}

func newLedger() *cobra.Command {
	f := &ledgerFlags{}
	c := &cobra.Command{
		Use:   "ledger",
		Short: "Remember what was found, from one night to the next",
		Long: `Ledger keeps the findings of searches in a file. After each night a finding has one of these states:

  new        found for the first time
  regressed  found again after it was resolved
  ongoing    found again
  resolved   looked for in the same way, and not found; or replayed, and passed
  closed     closed by a person with a reason; it stays closed, even if it is found again

Two findings are the same if the lock, the property, the assumption and the steps that prove the
violation are the same: names, times and magnitudes do not count. Nor do the version of the lock
and the build of Lockstep, which are recorded with each night. So after an upgrade the ledger says
which findings are still there.

A night resolves a finding only if it could have found it again. It must have finished a search of
the same calm run with the same seed, and that search must have tried the kinds of perturbation that
the finding needs, or made the same draws. A search reports one story for each property and
assumption. If it reports another story, it says nothing about this finding. A replay decides
without a search, unless it proves nothing, or a search of that night has found the finding.

Nights are in the order in which they were first added.`,
		Example: `  lockstep explore --lock redislock --workload all --json | lockstep ledger add -
  (lockstep version --json; lockstep explore --lock redsync --json) | lockstep ledger add -
  lockstep ledger replay
  lockstep ledger page --out site`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(c, args[0])
			}
			return c.Help()
		},
	}
	c.PersistentFlags().StringVar(&f.file, "ledger", "lockstep-ledger.db", "keep the ledger in `FILE`")
	c.AddCommand(f.add(), f.replay(), f.list(), f.show(), f.close(), f.reopen(), f.page())
	return c
}

// ofNight adds the flags of commands that add to a night.
func (f *ledgerFlags) ofNight(c *cobra.Command) {
	c.Flags().StringVar(&f.night, "night", "", "add to the night `LABEL` (default today's date, in UTC)")
	c.Flags().StringVar(&f.version, "version", "", "the locks are of the version `LABEL` (default what lockstep version --json says)")
}

// tonight is the label of the night.
func (f *ledgerFlags) tonight(c *cobra.Command) string {
	if c.Flags().Changed("night") {
		return f.night
	}
	return time.Now().UTC().Format(time.DateOnly)
}

// checkVersion refuses a version that was given and is empty, such as a shell variable that is not set.
func (f *ledgerFlags) checkVersion(c *cobra.Command) error {
	if c.Flags().Changed("version") && f.version == "" {
		return errors.New("--version is empty; it must be a label, or be left out")
	}
	return nil
}

// with opens the ledger and does something with it.
func (f *ledgerFlags) with(ctx context.Context, create bool, do func(*ledger.Ledger) error) error {
	l, err := ledger.Open(ctx, f.file, create)
	if err != nil {
		return visible(err)
	}
	err = do(l)
	return visible(errors.Join(err, l.Close()))
}

// visible makes an error safe to print: it may quote anything from a file.
func visible(err error) error {
	var code status
	if err == nil || errors.As(err, &code) {
		return err
	}
	return errors.New(reports.Shorten(reports.VisibleLines(err.Error()), 2000))
}

// out is where a command prints. On GitHub, where a line may be a command to the runner, such lines are changed: the text comes from locks
// and files.
func out(c *cobra.Command) io.Writer {
	if os.Getenv("GITHUB_ACTIONS") == "true" {
		return plain{c.OutOrStdout()}
	}
	return c.OutOrStdout()
}

// plain writes whole lines that the runner of GitHub Actions does not take for commands: it looks for two colons at the beginning of a
// line, and for ##[ anywhere.
type plain struct{ w io.Writer }

func (p plain) Write(b []byte) (int, error) {
	lines := strings.Split(strings.ReplaceAll(string(b), "##[", `##\[`), "\n")
	for i, line := range lines {
		if rest := strings.TrimLeft(line, " \t"); strings.HasPrefix(rest, "::") {
			lines[i] = `\` + rest
		}
	}
	if _, err := io.WriteString(p.w, strings.Join(lines, "\n")); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (f *ledgerFlags) add() *cobra.Command {
	c := &cobra.Command{
		Use:   "add FILE|- ...",
		Short: "Add what searches found on one night, and say what is new",
		Long: `Add adds what lockstep explore --json has printed. Adding the same again changes nothing. If a file
begins with what lockstep version --json prints, its searches are recorded with these versions, and
with this build of Lockstep.

If GITHUB_STEP_SUMMARY is set, add writes its table there as well.

The table is that of the night, with what was added to it before.

Exit status: 0 if this addition has made no finding new or regressed; 1 if it has made one so; 3 if
the input is bad, and nothing is added.`,
		Example: `  lockstep explore --lock redislock --json | lockstep ledger add -
  lockstep ledger add --night 2026-11-27 --version v0.9.4 redislock.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("add takes at least one FILE, or - for standard input")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.checkVersion(c); err != nil {
				return err
			}
			if err := ledger.CheckLabels(f.tonight(c), f.version); err != nil {
				return visible(err)
			}
			if info, err := os.Stat(f.file); err == nil && info.Size() > 0 { // what is wrong with it is said before the searches have ended
				if err := f.with(c.Context(), false, func(*ledger.Ledger) error { return nil }); err != nil {
					return err
				}
			}
			batch, err := read(c, args)
			if err != nil {
				return visible(err)
			}
			return f.with(c.Context(), true, func(l *ledger.Ledger) error {
				n, err := l.Add(c.Context(), f.tonight(c), f.version, batch)
				if err != nil {
					return err
				}
				return tell(c, n)
			})
		},
	}
	f.ofNight(c)
	return c
}

// read reads the inputs, before anything is changed. It gives up when the command is interrupted, also where it waits for somebody to write.
func read(c *cobra.Command, args []string) (batch ledger.Batch, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		inputs, shut, e := open(c, args)
		defer shut()
		if err = e; err == nil {
			batch, err = ledger.Read(inputs)
		}
	}()
	select {
	case <-done:
		return batch, err
	case <-c.Context().Done():
		return nil, c.Context().Err()
	}
}

// open opens the inputs.
func open(c *cobra.Command, args []string) (all []ledger.Input, done func(), err error) {
	var opened []*os.File
	done = func() {
		for _, f := range opened {
			f.Close()
		}
	}
	for i, name := range args {
		if name == "-" {
			if slices.Contains(args[:i], "-") {
				return nil, done, errors.New("- (standard input) may be given only once")
			}
			all = append(all, ledger.Input{Name: "standard input", Reader: c.InOrStdin()})
			continue
		}
		file, err := os.Open(name)
		if err != nil {
			return nil, done, err
		}
		opened = append(opened, file)
		all = append(all, ledger.Input{Name: name, Reader: file})
	}
	return all, done, nil
}

// tell prints the summary of a night, also for GitHub, and returns its exit status.
func tell(c *cobra.Command, n *ledger.Night) error {
	n.WriteText(out(c))
	if err := files.Append(os.Getenv("GITHUB_STEP_SUMMARY"), n.Markdown); err != nil {
		fmt.Fprintln(c.ErrOrStderr(), "lockstep: the summary of the step was not written:", visible(err)) // not a failure: the table has been printed
	}
	if n.Bad() {
		return status(exitUnexpected)
	}
	return nil
}

func (f *ledgerFlags) replay() *cobra.Command {
	var program string
	var limit time.Duration
	c := &cobra.Command{
		Use:   "replay",
		Short: "Replay the findings: those that still fail first, then those that are resolved",
		Long: `Replay plays the smallest scenario of each finding, and records what came of it as part of the
night. First come the findings that are still there: the shortest first, and of these the oldest.
Then come the resolved ones, which stay in every later replay as regression tests. Closed ones are
left out.

It uses the program lockstep: the one beside this program, or else on PATH. A lock that lockstep
does not know cannot be replayed, and the night then says nothing about its findings.

Exit status: 0 if no finding has regressed or is new on this night; 1 if one has regressed or is
new; 2 if none has or is, but a replay proved nothing; 3 if the input is bad or the command was
interrupted (finished replays are recorded).`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.checkVersion(c); err != nil {
				return err
			}
			if c.Flags().Changed("time") && limit <= 0 {
				return fmt.Errorf("--time %v: it must be longer than 0s, such as 60s", limit)
			}
			return f.with(c.Context(), false, func(l *ledger.Ledger) error {
				return f.replayAll(c, l, program, limit)
			})
		},
	}
	f.ofNight(c)
	c.Flags().StringVar(&program, "lockstep", "", "run the lockstep program at `PATH`")
	c.Flags().DurationVar(&limit, "time", 0, "begin no replay after this time (default no limit)")
	return c
}

func (f *ledgerFlags) replayAll(c *cobra.Command, l *ledger.Ledger, program string, limit time.Duration) error {
	p, err := ledger.FindProgram(c.Context(), program)
	if err != nil {
		return err
	}
	all, err := l.ToReplay(c.Context())
	if err != nil {
		return err
	}
	w, unclear, played, start := out(c), 0, 0, time.Now()
	more := func() bool { return limit == 0 || time.Since(start) < limit }
	n, err := l.Replay(c.Context(), f.tonight(c), f.version, p, all, more, func(r ledger.Replayed) {
		played++
		if r.Outcome == ledger.Unclear {
			unclear++
		}
		fmt.Fprintln(w, r)
	})
	if err != nil {
		return err
	}
	if played > 0 {
		fmt.Fprintln(w)
	}
	if played < len(all) {
		fmt.Fprintf(w, "%d of %d findings were replayed\n", played, len(all))
	}
	err = tell(c, n)
	switch {
	case c.Context().Err() != nil:
		return c.Context().Err()
	case err == nil && unclear > 0:
		return status(exitUnknown)
	}
	return err
}

func (f *ledgerFlags) list() *cobra.Command {
	var state string
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the findings",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			states := append([]string{"open"}, words(ledger.States())...)
			if c.Flags().Changed("state") && !slices.Contains(states, state) {
				return fmt.Errorf("--state %q: it must be one of: %s", state, strings.Join(states, ", "))
			}
			return f.with(c.Context(), false, func(l *ledger.Ledger) error {
				all, err := l.List(c.Context())
				if err != nil {
					return err
				}
				all = slices.DeleteFunc(all, func(g *ledger.Finding) bool {
					return state == "open" && !g.State.Open() || state != "" && state != "open" && string(g.State) != state
				})
				if asJSON {
					return ledger.WriteJSON(c.OutOrStdout(), all)
				}
				ledger.WriteList(out(c), all)
				return nil
			})
		},
	}
	c.Flags().StringVar(&state, "state", "", "list those in this `STATE`: open (new, regressed or ongoing), "+strings.Join(words(ledger.States()), ", "))
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, with the scenarios")
	return c
}

func words[S ~string](list []S) []string {
	var all []string
	for _, s := range list {
		all = append(all, string(s))
	}
	return all
}

// oneID checks that there is one argument. The command that shows the IDs is named for the error.
func oneID(shown string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s takes one ID, but got %d; %s shows the IDs", c.Name(), len(args), shown)
		}
		return nil
	}
}

func (f *ledgerFlags) show() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "show ID",
		Short: "Show the story of a finding, its scenario, and what each night said about it",
		Args:  oneID("lockstep ledger list"),
		RunE: func(c *cobra.Command, args []string) error {
			return f.with(c.Context(), false, func(l *ledger.Ledger) error {
				g, history, err := l.Show(c.Context(), args[0])
				switch {
				case err != nil:
				case asJSON:
					err = g.WriteJSON(c.OutOrStdout(), history)
				default:
					g.WriteText(out(c), history)
				}
				return err
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (f *ledgerFlags) close() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "close ID --reason TEXT",
		Short: "Accept a finding, so that it no longer counts as new or regressed",
		Args:  oneID("lockstep ledger list"),
		RunE: func(c *cobra.Command, args []string) error {
			return f.with(c.Context(), false, func(l *ledger.Ledger) error {
				g, err := l.CloseFinding(c.Context(), args[0], reason)
				if err == nil {
					ledger.WriteList(out(c), []*ledger.Finding{g})
				}
				return err
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why the finding is accepted: `TEXT`")
	return c
}

func (f *ledgerFlags) reopen() *cobra.Command {
	return &cobra.Command{
		Use:   "reopen ID",
		Short: "Undo close",
		Args:  oneID("lockstep ledger list"),
		RunE: func(c *cobra.Command, args []string) error {
			return f.with(c.Context(), false, func(l *ledger.Ledger) error {
				g, err := l.Reopen(c.Context(), args[0])
				if err == nil {
					ledger.WriteList(out(c), []*ledger.Finding{g})
				}
				return err
			})
		},
	}
}

func (f *ledgerFlags) page() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "page --out DIR",
		Short: "Write a page about all findings, and a scenario file for each",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if dir == "" {
				return errors.New("--out: it must name the directory into which the page is written")
			}
			return f.with(c.Context(), false, func(l *ledger.Ledger) error {
				p, err := l.Page(c.Context())
				if err != nil {
					return err
				}
				site, err := sites.Open(dir, "lockstep ledger page", ledger.Mark)
				if err != nil {
					return err
				}
				defer site.Close()
				if err := site.Write(c.Context(), p.Files()); err != nil {
					return err
				}
				fmt.Fprintf(out(c), "%s\n", reports.Visible(site.Index()))
				return nil
			})
		},
	}
	c.Flags().StringVar(&dir, "out", "", "write into `DIR`")
	return c
}
