package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"lockstep/reports"
	"lockstep/reports/explorer"
	"lockstep/reports/pictures"
	"lockstep/scenarios/files"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

func newShow(k known) *cobra.Command {
	f := &runFlags{known: k}
	var options reports.TextOptions
	var svg, png, html, lock string
	var live bool
	var slides slideFlags
	c := &cobra.Command{
		Use:   "show SCENARIO[/RUN] | FILE",
		Short: "Tell the story of a scenario, and the timeline of one run",
		Long: `Show prints the story of a scenario and the timeline of one of its runs: the first, unless one is
named. The file may also be a history (.jsonl) that lockstep run --out has written, which is judged
again.

With --html it writes a self-contained web page instead, in which the run can be explored: play it,
step from event to event, and see why a property was violated. Two runs are drawn below each other
on one time axis. With --live as well, the page is a playground: its readers change the run and play it
again in their browsers, without a server. With --svg and --png it writes a picture.

For a talk, --wide makes that picture a slide. --step N draws the run up to its N-th step,
with a sentence that says what happened. The last step is the whole run with its verdict.
--step all writes them all, with a number in each name; nothing moves from one slide to the next.
With --animate, the SVG plays the run in a browser, in up to half a minute, and begins again. It has no
script, so it plays in an <img>. On paper, and for readers who prefer reduced motion, it stands still.

Exit status: 0 shown, whatever the verdict; 1 another verdict than the scenario expects; 2 the run
proved nothing, although it was expected to; 3 something could not be run, read or written. A
history does not say what was expected: its status is 0.`,
		Example: `  lockstep show clock-jump
  lockstep show pause-after-acquire/redlock --svg pause.svg --png pause.png
  lockstep show failover-lag/single --lock redislock
  lockstep show clock-jump --messages
  lockstep show crash-restart-5 --html run.html
  lockstep show crash-restart-5 --wide --png slide.png
  lockstep show crash-restart-5 --step all --svg slide.svg
  lockstep show crash-restart-5 --animate --svg moving.svg
  lockstep show --html both.html pause-fenced/fenced pause-fenced/fenced/unchecked
  lockstep show --html run.html --live clock-jump/redlock
  lockstep show results/clock-jump/redlock.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			if html != "" && len(args) == 2 {
				if err := onlyHTML(svg, png); err != nil {
					return err
				}
			} else if len(args) != 1 {
				return fmt.Errorf("show takes one SCENARIO, SCENARIO/RUN or FILE, as in lockstep show clock-jump, or two with --html, but got %d; see lockstep list", len(args))
			}
			return slides.check(svg, png, html)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkRoom(args, "", target{"svg", svg}, target{"png", png}, target{"html", html}); err != nil {
				return err
			}
			if live && html == "" {
				return errors.New("--live needs --html FILE, the page to write")
			}
			if lock != "" {
				f.locks = []string{lock}
			}
			outcomes, err := f.showAll(c, args, options, svg+png+html != "")
			if err != nil {
				return err
			}
			line := pictures.NewTimeline(outcomes[0].Facts, outcomes[0].Result)
			page := func(w io.Writer) error { return explorer.Page(w, explorer.Link{}, pageRuns(outcomes)...) }
			if live {
				if page, err = playgroundOf(c, outcomes); err != nil {
					return fmt.Errorf("--live: %w", err)
				}
			}
			drawn := []drawing{{svg, line.WriteSVG}, {png, line.WritePNG}, {html, page}}
			if slides.set() {
				if drawn, err = slides.drawings(args, outcomes[0], svg, png); err != nil {
					return err
				}
			}
			if err := draw(c.Context(), c.OutOrStdout(), drawn...); err != nil {
				return err
			}
			return exitStatus(slices.DeleteFunc(outcomes, func(o *play.Outcome) bool { return o.Scenario == nil }))
		},
	}
	f.common(c)
	c.Flags().StringVar(&lock, "lock", "", "show the first run of the lock or library `NAME`; if SCENARIO/RUN is named, play it with NAME")
	c.Flags().BoolVarP(&options.Verbose, "verbose", "v", false, "also show the lines that are otherwise folded into one, waits, and when faults first had an effect")
	c.Flags().BoolVar(&options.Messages, "messages", false, "also show every message")
	c.Flags().Var((*fileValue)(&svg), "svg", "draw the timeline to `FILE` as SVG")
	c.Flags().Var((*fileValue)(&png), "png", "draw the timeline to `FILE` as PNG")
	c.Flags().BoolVar(&live, "live", false, "with --html: let readers change the run and play it again in their browsers")
	c.Flags().Var((*fileValue)(&html), "html", "write a web page to explore the run, or two runs, to `FILE`")
	slides.add(c)
	return c
}

// showAll prints the story and the timeline of each run that is named, or one line if these go into a file. It stops at a run that did not
// end.
func (f *runFlags) showAll(c *cobra.Command, args []string, options reports.TextOptions, filed bool) ([]*play.Outcome, error) {
	w := c.OutOrStdout()
	var outcomes []*play.Outcome
	for i, arg := range args {
		o, err := f.show(c, arg)
		if err != nil {
			return nil, err
		}
		if i > 0 && !filed {
			fmt.Fprintln(w)
		}
		if o.Scenario != nil && !filed {
			printStory(w, o)
		}
		if o.Report != nil {
			fmt.Fprintln(w, reports.VisibleLines(o.Report.String()))
			return nil, status(exitUnknown)
		}
		outcomes = append(outcomes, o)
		if filed {
			fmt.Fprintln(w, wrap(explorer.Headline(o.Facts, o.Result), reports.Width))
			continue
		}
		if o.Sweep != nil {
			fmt.Fprintf(w, "%s\n", o.Sweep)
		}
		options.Paint, options.Measurements = roles(w), o.Measurements
		if err := reports.Text(w, o.Facts, o.WorstFirst(), options); err != nil {
			return nil, err
		}
	}
	return outcomes, nil
}

// show makes the run to show, or judges the history. The outcome of a history has no scenario: a history does not say what was expected.
func (f *runFlags) show(c *cobra.Command, arg string) (*play.Outcome, error) {
	if filepath.Ext(arg) == ".jsonl" {
		if len(f.locks) > 0 {
			return nil, fmt.Errorf("%s: a history already has a lock; --lock is for scenarios", arg)
		}
		h, err := readHistory(c.Context(), arg)
		if err != nil {
			return nil, err
		}
		return play.Judge(nil, script.Section{}, h), nil
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	chosen, err := choose(c.Context(), f.known, []string{arg}, f.locks)
	if err != nil {
		return nil, err
	}
	chosen[0].runs = chosen[0].runs[:1]
	outcomes, err := f.runAll(c, f.cases(chosen, f.seed))
	if err != nil {
		return nil, err
	}
	return outcomes[0], nil
}

// printStory prints the story of a scenario, its settings, and its steps.
func printStory(w io.Writer, o *play.Outcome) {
	bold, dim := paint(w, text.Bold), paint(w, text.Faint)
	fmt.Fprintf(w, "%s\n\n%s\n\n", bold(reports.Visible(o.Scenario.Title)), reports.VisibleLines(o.Scenario.Prose))
	for _, lane := range o.Run.Lanes {
		fmt.Fprint(w, reports.VisibleLines(lane.String()))
	}
	for _, m := range o.Run.Musts {
		fmt.Fprintln(w, "must", reports.Visible(m.String()))
	}
	m := o.History.Meta
	head := fmt.Sprintf("%s with %s and a %s resource, TTL %s, seed %d, on %s, checksum %s",
		who(o), many(len(m.Nodes), "node"), m.Resource, history.FormatDuration(m.TTL.Round(time.Millisecond)), m.Seed, m.On, m.Checksum)
	fmt.Fprintf(w, "\n%s\n", dim(head))
}

// roles maps the roles of a text timeline to colours.
func roles(w io.Writer) func(reports.Role, string) string {
	if !isTerminal(w) {
		return nil
	}
	return func(r reports.Role, s string) string {
		switch r {
		case reports.Violating:
			return text.Colors{text.FgRed, text.Bold}.Sprint(s)
		case reports.Holding:
			return text.Colors{text.FgGreen}.Sprint(s)
		case reports.Doubtful:
			return text.Colors{text.FgYellow, text.Bold}.Sprint(s)
		case reports.Faulty:
			return text.Colors{text.FgCyan}.Sprint(s)
		case pictures.Heading:
			return text.Colors{text.Bold}.Sprint(s)
		case pictures.Breaking:
			return text.Colors{text.FgRed}.Sprint(s)
		case pictures.Winning:
			return text.Colors{text.FgGreen, text.Bold}.Sprint(s)
		}
		return text.Colors{text.Faint}.Sprint(s)
	}
}

// A drawing is what an option writes into a file, whose name is empty if the option is not given.
type drawing struct {
	file  string
	write func(io.Writer) error
}

// draw writes drawings, and tells w.
func draw(ctx context.Context, w io.Writer, all ...drawing) error {
	for _, d := range all {
		if d.file == "" {
			continue
		}
		if err := writeFile(ctx, d.file, d.write); err != nil {
			return err
		}
		fmt.Fprintf(w, "written: %s\n", reports.Visible(d.file))
	}
	return nil
}

// writeFile writes a file completely or not at all.
func writeFile(ctx context.Context, name string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return files.Write(ctx, name, b.Bytes())
}
