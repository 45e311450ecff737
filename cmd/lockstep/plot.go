package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"lockstep/reports"
	"lockstep/reports/pictures"
	"lockstep/scenarios/files"
	"lockstep/scenarios/play"
	"lockstep/sim/history"
	"lockstep/sim/workers"
)

// plotFlags are the options of lockstep plot.
type plotFlags struct {
	runFlags
	seeds int
}

func newPlot(k known) *cobra.Command {
	c := &cobra.Command{
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}, // unknown flags may be those of a kind: the error should be about the unknown kind
		Use:                "plot KIND [SCENARIO[/RUN] | FILE | HISTORY.jsonl]... --out DIR",
		Short:              "Draw clocks, waits, validities, round trips, the drift edge, or increments",
		Long: `Plot draws a picture of runs, or of histories (.jsonl) that lockstep run --out has written, even on
real servers. It writes three files: KIND.svg and KIND.png, and KIND.csv with the numbers. The same
runs give the same bytes. If runs are not reproducible, as those of some libraries, plot says so.

lockstep plot KIND --help has more about each kind.

Exit status: 0 the plot was drawn; 2 some runs did not end; 3 it could not be drawn, or was
interrupted.`,
		Example: `  lockstep plot clocks clock-step-vs-slew --out plots
  lockstep plot wait --seeds 50 --lock single,redislock,redlock,redsync --out plots
  lockstep plot drift --ttl 10s,2s --out plots
  lockstep plot increments counter/*.jsonl --out plots`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("plot takes the kind of plot first: %s", strings.Join(plotKinds, ", "))
			}
			return history.Unknown("plot", args[0], plotKinds)
		},
		RunE: func(*cobra.Command, []string) error { return nil }, // not reached: Args returns an error
	}
	c.AddCommand(newPlotClocks(k), newPlotDrift(k))
	for _, kind := range rowKinds {
		c.AddCommand(newPlotRows(k, kind))
	}
	return c
}

var plotKinds = []string{"clocks", "wait", "validity", "roundtrips", "drift", "increments"}

// where adds the options that all kinds of plots have.
func (f *plotFlags) where(c *cobra.Command) {
	c.Flags().Var((*fileValue)(&f.out), "out", "write the picture and the figures to `DIR`")
	c.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// mostPlotSeeds is the most seeds that a plot may have.
const mostPlotSeeds = 10_000

func (f *plotFlags) checkPlot() error {
	switch {
	case f.out == "":
		return errors.New("plot needs --out DIR: it writes a picture (SVG, PNG) and its figures (CSV)")
	case f.seeds < 1 || f.seeds > mostPlotSeeds:
		return fmt.Errorf("--seeds %d: it must be between 1 and %d", f.seeds, mostPlotSeeds)
	}
	if err := tooManySeeds(f.seed, f.seeds); err != nil {
		return err
	}
	return f.check()
}

// play runs the cases in worker processes, shows their progress, and calls each with the outcomes in order of the cases.
// It keeps none of them, because there may be many.
func (f *plotFlags) play(c *cobra.Command, cases []play.Case, each func(i int, o *play.Outcome)) error {
	if err := files.CheckDir(f.out); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	self, err := os.Executable()
	if err != nil && runtime.GOOS != "js" {
		return err
	}
	s := &workers.Supervisor{Command: func() *exec.Cmd { return exec.Command(self) }, Workers: f.atOnce(), Limit: f.limit, Memory: f.memory}
	defer hold()()
	bar := progress(c.ErrOrStderr(), len(cases))
	bar.describe("runs")
	early, next := map[int]*play.Outcome{}, 0
	err = play.RunAll(c.Context(), s, cases, func(i int, o *play.Outcome) {
		bar.add(1)
		early[i] = o
		for o := early[next]; o != nil; o = early[next] {
			delete(early, next)
			each(next, o)
			next++
		}
	})
	bar.finish()
	return err
}

// save writes a plot and its figures, and says where they are.
func (f *plotFlags) save(c *cobra.Command, kind string, p *pictures.Plot) error {
	if err := makeOut(f.out); err != nil {
		return err
	}
	var written []string
	for _, file := range []struct {
		ending string
		write  func(io.Writer) error
	}{{".png", p.WritePNG}, {".svg", p.WriteSVG}, {".csv", p.WriteCSV}} {
		name := filepath.Join(f.out, kind+file.ending)
		if err := writeFile(c.Context(), name, file.write); err != nil {
			return err
		}
		written = append(written, name)
	}
	w := c.OutOrStdout()
	if f.json {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return enc.Encode(struct {
			Kind  string   `json:"kind"`
			Title string   `json:"title"`
			Files []string `json:"files"`
		}{kind, p.Title, written})
	}
	printWrapped(w, p.Title)
	for _, name := range written {
		fmt.Fprintf(w, "  %s\n", reports.Visible(name))
	}
	return nil
}

// seedsInWords says with which seeds runs were made.
func (f *plotFlags) seedsInWords() string {
	if f.seeds == 1 {
		return fmt.Sprintf("seed %d", cmp.Or(f.seed, 1))
	}
	return fmt.Sprintf("seeds %d to %d", cmp.Or(f.seed, 1), cmp.Or(f.seed, 1)+uint64(f.seeds)-1)
}

// unended counts runs that did not end, with the reason of the first.
type unended struct {
	runs  int
	first string
}

func (b *unended) count(o *play.Outcome) {
	if b.runs++; b.first == "" {
		b.first = fmt.Sprintf("%s, seed %d: %s", called(o), o.History.Meta.Seed, o.Report.Reason)
	}
}

// tell says what is missing from a plot.
func (b *unended) tell(w io.Writer, of int) error {
	if b.runs == 0 {
		return nil
	}
	fmt.Fprintf(w, "runs that did not end, and are not in the plot: %d of %d. The first of them: %s\n", b.runs, of, reports.Visible(b.first))
	return status(exitUnknown)
}
