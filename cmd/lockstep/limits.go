package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"lockstep/clients"
	"lockstep/scenarios/files"
	"lockstep/scenarios/script"
	"lockstep/scenarios/search"
)

// limitsFlags are the options of lockstep limits.
type limitsFlags struct {
	exploreFlags
	have     []string
	haves    []search.Have
	svg, png string
}

func newLimits(k known) *cobra.Command {
	f := &limitsFlags{exploreFlags: exploreFlags{known: k, seed: 1}}
	c := &cobra.Command{
		Use:   "limits LOCK",
		Short: "Find out how long a pause, how late a message, how wrong a clock a lock tolerates",
		Long: `Limits finds out how large a fault may be before a lock, as you configure it, violates a property:
how long a pause, a delay or an outage, how large a jump or a drift of a clock, and so on. Compare
the sheet that it prints with the longest pauses and the worst clock errors that you measure.

Limits perturbs the calm runs of lockstep explore, in which clients contend, write, work and release.
Each run has one perturbation. It comes at every injection point in turn, first with about a dozen
magnitudes, up to three TTLs or a drift of 10 %. For each property, bisection then narrows down the
smallest magnitude that violates it, to 1 % or 1 ms. If a larger fault is not always worse, harm
between two of the magnitudes that were tried can be missed.

How large a fault is harmless depends on how long your clients work: state that with --work. --have
compares the sheet with the values in your environment, and says which of them are within the
limits. A jump or a drift without a sign has to be within in both directions.

The quantities:
` + limitsHelp() + `

Exit status: 0 each value of --have is within the limits; 1 one is not; 2 all runs prove nothing, or
a run was different the second time; 3 something could not be run, or was interrupted.`,
		Example: `  lockstep limits single
  lockstep limits redlock --nodes 5 --ttl 30s --work 5s --png limits.png
  lockstep limits redsync --nodes 3 --have pause=1.2s,drift=200ppm,jump=-300ms
  lockstep limits single --replicas 1 --out limits
  lockstep limits fenced --resource fenced --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("limits takes one LOCK, as in lockstep limits redlock, but got %d; see lockstep list", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			f.shape.Lock = args[0]
			if err := f.checkLimits(c); err != nil {
				return err
			}
			return f.runLimits(c)
		},
	}
	fl := c.Flags()
	fl.IntVar(&f.shape.Nodes, "nodes", 0, "lock nodes (default 3 for a lock that asks a majority, otherwise 1)")
	fl.IntVar(&f.shape.Replicas, "replicas", 0, "replicas of n1")
	fl.IntVar(&f.shape.Clients, "clients", 2, "clients that contend")
	fl.StringVar(&f.shape.Pool, "pool", "", "\"warm\": clients are already connected when a run begins")
	fl.StringVar(&f.shape.Resource, "resource", script.Plain, "the `KIND` of resource: "+strings.Join(clients.Resources(), ", "))
	fl.DurationVar(&f.shape.TTL, "ttl", script.DefaultTTL, "how long a node keeps the key of a lock")
	fl.DurationVar(&f.shape.Work, "work", 0, "how long a client works under its lease (default 0.3 TTL, and 1.2 TTL where leases are extended or renewed)")
	fl.Var((*seedValue)(&f.seed), "seed", "derive all random draws from `N`")
	fl.StringSliceVar(&f.have, "have", nil, "compare the sheet with `NAME=VALUE,...`, such as pause=1.2s,drift=200ppm,jump=-300ms,lost-nodes=1")
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	fl.Var((*fileValue)(&f.svg), "svg", "draw the sheet to `FILE` as SVG")
	fl.Var((*fileValue)(&f.png), "png", "draw the sheet to `FILE` as PNG")
	fl.Var((*fileValue)(&f.out), "out", "save to `DIR`, as scenario files, one run below each limit and one above")
	fl.IntVar(&f.workers, "workers", 0, "number of processes (default one per core)")
	memoryFlag(c, &f.memory)
	return c
}

// limitsHelp lists the quantities.
func limitsHelp() string {
	var b strings.Builder
	for _, name := range search.LimitNames() {
		fmt.Fprintf(&b, "  %-12s %s\n", name, search.LimitAbout(name))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (f *limitsFlags) checkLimits(c *cobra.Command) error {
	if c.Flags().Changed("work") && f.shape.Work <= 0 {
		return fmt.Errorf("--work %v: it must be longer than 0s", f.shape.Work)
	}
	if err := f.checkShape(c); err != nil {
		return err
	}
	if err := f.known.check(f.shape.Lock); err != nil {
		return err
	}
	if c.Flags().Changed("have") && len(f.have) == 0 {
		return errors.New("--have is empty; say what you have, such as pause=1.2s")
	}
	if len(f.have) > 0 {
		var err error
		if f.haves, err = search.ParseHaves(strings.Join(f.have, ","), f.shape.Replicas); err != nil {
			return fmt.Errorf("--have: %w", err)
		}
	}
	if f.shape.Nodes == 0 {
		f.shape.Nodes = f.known.nodes(f.shape.Lock)
	}
	if err := checkRoom(nil, f.out, target{"svg", f.svg}, target{"png", f.png}); err != nil {
		return err
	}
	return makeOut(f.out)
}

// runLimits makes the sheet, prints it, and saves what was asked for.
func (f *limitsFlags) runLimits(c *cobra.Command) error {
	build, err := f.known.find(f.shape.Lock)
	if err != nil {
		return err
	}
	lib, _ := f.known.library(f.shape.Lock)
	s := &search.Search{Lock: f.shape.Lock, Seed: f.seed, Restless: lib.Restless, Workers: f.workers, New: build}
	stop, err := f.start(s)
	if err != nil {
		return err
	}
	defer stop()
	sheet, err := withProgress(c, s, func() (*search.Sheet, error) {
		return s.Limits(c.Context(), f.shape.Each(f.known.kinds(f.shape.Lock)...))
	})
	if err != nil {
		return err
	}
	y := &limitsText{w: c.OutOrStdout(), flags: f, Sheet: sheet, restless: lib.Restless}
	if f.out != "" {
		if err := y.save(c); err != nil {
			return err
		}
	}
	if f.json {
		err = y.json()
	} else {
		y.print()
	}
	if err == nil && f.svg+f.png != "" {
		if len(sheet.Rows) == 0 {
			return errors.New("no run could be perturbed, so there is nothing to draw")
		}
		w := y.w
		if f.json {
			w = io.Discard
		}
		plot := y.plot()
		err = draw(c.Context(), w, drawing{f.svg, plot.WriteSVG}, drawing{f.png, plot.WritePNG})
	}
	return cmp.Or(err, y.status())
}

// save writes the runs on either side of each limit.
func (y *limitsText) save(c *cobra.Command) error {
	y.files = map[*search.Side]string{}
	for i := range y.Rows {
		t := &y.Rows[i]
		for _, e := range t.Limits {
			for _, side := range []struct {
				*search.Side
				word string
			}{{e.Below, "below"}, {e.Above, "above"}} {
				if side.Side == nil {
					continue
				}
				name := strings.ReplaceAll(fmt.Sprintf("limit-%s-%s-%s-%s.txtar", clients.FileWord(y.flags.shape.Lock), t.Name(), e.Harm, side.word), " ", "-")
				file := filepath.Join(y.flags.out, name)
				if err := files.Write(c.Context(), file, []byte(side.Page.String())); err != nil {
					return err
				}
				y.files[side.Side] = file
			}
		}
	}
	return nil
}
