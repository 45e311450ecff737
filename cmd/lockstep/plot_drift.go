package main

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockstep/checker"
	"lockstep/reports/pictures"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/scenarios/search"
	"lockstep/sim/history"
)

// A driftQuestion asks how often two clients hold the lock when the clock of one node is fast.
type driftQuestion struct {
	ttls     []time.Duration
	from, to int64 // ppm
	steps    int
}

// The limits of a question.
const (
	mostDrift     = 500_000
	mostDriftTTLs = 4
	leastDriftTTL = 200 * time.Millisecond // a client must have released the lock before another asks
	mostDriftTTL  = time.Hour
	mostDriftStep = 200
	mostDriftRuns = 200_000
)

func newPlotDrift(k known) *cobra.Command {
	f := &plotFlags{runFlags: runFlags{known: k, on: play.OnSim, tries: 1}}
	q := driftQuestion{}
	c := &cobra.Command{
		Use:   "drift --out DIR",
		Short: "Draw at which drift of a clock Redlock becomes unsafe",
		Long: `Drift draws the share of runs in which two clients hold Redlock at once, as a function of how fast
the clock of one of the five nodes is. The runs are like those of clock-drift: c1 holds the lock on n1, n2 and n3,
n3 is fast, and around the end of the lease six clients ask for it, one every 10 ms. The exact times
differ from seed to seed. A line marks the allowance for drift that Redlock subtracts from its
validity: 1 % of the TTL, and 2 ms.`,
		Example: `  lockstep plot drift --out plots
  lockstep plot drift --ttl 30s,10s,2s --seeds 100 --out plots
  lockstep plot drift --ttl 10s --from 10000 --to 12000 --steps 41 --out plots`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%s: plot drift makes its runs itself, from --ttl, --from, --to and --steps", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if err := q.check(f.seeds); err != nil {
				return err
			}
			if err := f.checkPlot(); err != nil {
				return err
			}
			return f.plotDrift(c, q)
		},
	}
	f.where(c)
	c.Flags().DurationSliceVar(&q.ttls, "ttl", []time.Duration{10 * time.Second, 2 * time.Second}, "a curve for each of `DURATION,...`")
	c.Flags().Int64Var(&q.from, "from", 8000, "the least drift, in ppm")
	c.Flags().Int64Var(&q.to, "to", 20000, "the greatest drift, in ppm")
	c.Flags().IntVar(&q.steps, "steps", 49, "number of drifts from the least to the greatest")
	c.Flags().Var((*seedValue)(&f.seed), "seed", "derive all random draws from `N` (default 1)")
	c.Flags().IntVar(&f.seeds, "seeds", 50, "number of runs with each drift, with one seed each")
	c.Flags().IntVar(&f.workers, "workers", 0, "number of processes (default one per core)")
	f.bounds(c, "")
	return c
}

func (q *driftQuestion) check(seeds int) error {
	switch {
	case len(q.ttls) < 1 || len(q.ttls) > mostDriftTTLs:
		return fmt.Errorf("--ttl: %d values; name 1 to %d", len(q.ttls), mostDriftTTLs)
	case q.from < 0 || q.from > mostDrift:
		return fmt.Errorf("--from %d: it must be between 0 and %d ppm", q.from, mostDrift)
	case q.to <= q.from || q.to > mostDrift:
		return fmt.Errorf("--to %d: it must be above --from, which is %d, and at most %d ppm", q.to, q.from, mostDrift)
	case q.steps < 2 || q.steps > mostDriftStep || int64(q.steps) > q.to-q.from+1:
		return fmt.Errorf("--steps %d: it must be between 2 and %d, and at most the number of whole ppm from --from to --to", q.steps, mostDriftStep)
	case len(q.ttls)*q.steps*seeds > mostDriftRuns:
		return fmt.Errorf("--ttl, --steps and --seeds make %s runs; a plot may have at most %s", search.Grouped(len(q.ttls)*q.steps*seeds), search.Grouped(mostDriftRuns))
	}
	for i, ttl := range q.ttls {
		if ttl < leastDriftTTL || ttl > mostDriftTTL {
			return fmt.Errorf("--ttl %v: it must be between %v and %v", ttl, leastDriftTTL, mostDriftTTL)
		}
		for _, other := range q.ttls[:i] {
			if other == ttl {
				return fmt.Errorf("--ttl %v: it must occur only once", ttl)
			}
		}
	}
	return nil
}

// ppm is drift number i.
func (q *driftQuestion) ppm(i int) int64 {
	return q.from + int64(i)*(q.to-q.from)/int64(q.steps-1)
}

// validity is how long Redlock trusts a lease if acquiring it takes no time: see the scenario clock-drift.
func validity(ttl time.Duration) time.Duration { return ttl - ttl/100 - 2*time.Millisecond }

// allowance is the drift, in ppm, at which a key ends together with the validity of its lease, if messages take no time.
func allowance(ttl time.Duration) float64 { return 1e6 * (float64(ttl)/float64(validity(ttl)) - 1) }

const (
	driftAsking = 6                     // clients that ask, one after the other
	driftEvery  = 10 * time.Millisecond // the time between them
)

// page is the scenario clock-drift with another TTL, another drift and other times. Phase is how much later all clients ask, and is less
// than driftEvery.
func (q *driftQuestion) page(ttl time.Duration, ppm int64, phase time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The clock of a node is fast.\n\nttl %s\nclient c1\n  acquire\n  stay\n", history.FormatDuration(ttl))
	first := validity(ttl) - (driftAsking-3)*driftEvery + phase
	for i := range driftAsking {
		fmt.Fprintf(&b, "client c%d\n  until %s\n  acquire\n  sleep 3ms\n  release\n  stay\n", i+2, history.FormatDuration(first+time.Duration(i)*driftEvery))
	}
	b.WriteString("nemesis\n  cut c1-n4\n  cut c1-n5\n")
	if ppm != 0 {
		fmt.Fprintf(&b, "  drift n3 %+dppm\n", ppm)
	}
	b.WriteString("must c1 holds exactly n1 n2 n3\n\n-- redlock nodes=5 --\n")
	return b.String()
}

// phase spreads the times of some runs evenly over the interval between two requests.
func phase(run, runs int) time.Duration {
	return (driftEvery * time.Duration(run) / time.Duration(runs)).Truncate(time.Microsecond)
}

func (f *plotFlags) plotDrift(c *cobra.Command, q driftQuestion) error {
	build, err := f.known.find("redlock")
	if err != nil {
		return err
	}
	var cases []play.Case
	for _, ttl := range q.ttls {
		for i := range q.steps {
			for n := range f.seeds {
				s, err := script.Parse("drift.txtar", []byte(q.page(ttl, q.ppm(i), phase(n, f.seeds))))
				if err != nil {
					return fmt.Errorf("TTL %v, %d ppm: %w", ttl, q.ppm(i), err)
				}
				cases = append(cases, play.Case{Scenario: s, Run: s.Runs[0], Seed: cmp.Or(f.seed, 1) + uint64(n), On: play.OnSim, Limit: f.limit, New: build})
			}
		}
	}
	tallies := make([]search.Tally, len(q.ttls)*q.steps)
	var gone unended
	err = f.play(c, cases, func(i int, o *play.Outcome) {
		t := &tallies[i/f.seeds]
		if o.Report != nil {
			gone.count(o)
			return
		}
		switch t.Runs++; {
		case o.Result.Status(checker.LeaseExclusion) == checker.Violated:
			t.Unsafe++
		case o.Result.Verdict == checker.Inconclusive:
			t.Unproved++
		}
	})
	if err != nil {
		return err
	}
	var curves []pictures.EdgeCurve
	for k, ttl := range q.ttls {
		curve := pictures.EdgeCurve{TTL: ttl, Allowance: math.Round(allowance(ttl))}
		for i := range q.steps {
			t := tallies[k*q.steps+i]
			low, high := t.Interval()
			curve.Points = append(curve.Points, pictures.EdgePoint{PPM: float64(q.ppm(i)), Runs: t.Runs, Unsafe: t.Unsafe, Unproved: t.Unproved, Low: low, High: high})
		}
		curves = append(curves, curve)
	}
	what := fmt.Sprintf("c1 holds on 3 of 5 nodes, of which one is fast; another client asks every 10 ms; %s with each drift, %s", many(f.seeds, "run"), f.seedsInWords())
	p, err := pictures.NewDriftPlot("Redlock", curves, what)
	if err != nil {
		return err
	}
	if err := f.save(c, "drift", p); err != nil {
		return err
	}
	return gone.tell(c.ErrOrStderr(), len(cases))
}
