package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"lockstep/cmd/fleet/queue"
	"lockstep/reports"
)

// searchStatus is a search as lockstep fleet status shows it.
type searchStatus struct {
	ID       string        `json:"id"`
	Command  []string      `json:"command"`
	Build    string        `json:"build"`
	Seconds  int           `json:"seconds"` // since it began, by the clock of the server
	Shards   int           `json:"shards"`
	Done     int           `json:"done"`
	UnderWay int           `json:"under_way"`
	Waiting  int           `json:"waiting"`
	Aside    []asideStatus `json:"set_aside"`
}

// asideStatus is a shard that is set aside.
type asideStatus struct {
	Shard int `json:"shard"`
	queue.Aside
}

type fleetStatus struct {
	Queue    string         `json:"queue"`
	Searches []searchStatus `json:"searches"`
	Workers  []queue.Worker `json:"workers"`
}

func newStatus(f *fleetFlags) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the searches in the queue, and the workers",
		Example: `  lockstep fleet status --queue redis://queue.example:6379
  lockstep fleet status --queue redis://queue.example:6379 --json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			q, err := f.open(c)
			if err != nil {
				return err
			}
			defer q.Close()
			all, err := overview(c, q)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(all)
			}
			all.print(c.OutOrStdout())
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func overview(c *cobra.Command, q *queue.Queue) (fleetStatus, error) {
	all := fleetStatus{Queue: q.String(), Searches: []searchStatus{}}
	var err error
	if all.Workers, err = q.Workers(c.Context()); err != nil {
		return all, err
	}
	searches, err := q.Searches(c.Context())
	if err != nil {
		return all, err
	}
	for _, s := range searches {
		state, err := q.Look(c.Context(), s.Search)
		if err != nil {
			return all, err
		}
		asides, err := q.Asides(c.Context(), s.Search)
		if err != nil {
			return all, err
		}
		one := searchStatus{ID: s.ID(), Command: s.Command, Build: s.Build, Seconds: int(s.Age / time.Second), Shards: s.Of, Done: len(state.Done), Aside: []asideStatus{}}
		for n := range state.Claim {
			if state.UnderWay(n) {
				one.UnderWay++
			}
		}
		for _, n := range slices.Sorted(maps.Keys(asides)) {
			one.Aside = append(one.Aside, asideStatus{n, asides[n]})
		}
		one.Waiting = one.Shards - one.Done - one.UnderWay - len(one.Aside)
		all.Searches = append(all.Searches, one)
	}
	return all, nil
}

func (all fleetStatus) print(w io.Writer) {
	if len(all.Searches) == 0 {
		fmt.Fprintf(w, "no searches in %s\n", all.Queue)
	}
	for _, s := range all.Searches {
		fmt.Fprintf(w, "search %s, build %s, began %v ago\n  lockstep %s\n", s.ID, reports.Visible(queue.ShortBuild(s.Build)), time.Duration(s.Seconds)*time.Second, reports.Visible(strings.Join(s.Command, " ")))
		fmt.Fprintf(w, "  %d of %d shards done, %d under way, %d waiting, %d set aside\n", s.Done, s.Shards, s.UnderWay, s.Waiting, len(s.Aside))
		for _, a := range s.Aside {
			on := ""
			if a.Worker != "" {
				on = " on " + reports.Visible(a.Worker)
			}
			fmt.Fprintf(w, "  shard %d is set aside%s: %s\n", a.Shard, on, reports.Visible(a.Why))
			if text := indented(a.Output, showLines); text != "" {
				fmt.Fprintln(w, "  "+strings.ReplaceAll(text, "\n", "\n  "))
			}
		}
	}
	if len(all.Workers) == 0 {
		fmt.Fprintln(w, "no workers are alive")
	}
	for _, one := range all.Workers {
		fmt.Fprintf(w, "worker %s on %s, process %d, build %s, %s at once\n", reports.Visible(one.ID), reports.Visible(one.Host), one.PID,
			reports.Visible(queue.ShortBuild(one.Build)), many(one.Slots, "shard"))
	}
}

func newForget(f *fleetFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "forget ID",
		Short: "Remove a search from the queue, with all that its shards found",
		Long: `Forget removes a search from the queue, with all that its shards found. Other keys in the server
are not touched. Commands that wait for the search end with an error, and workers stop its shards
within ten seconds.`,
		Example: "  lockstep fleet forget 3f2a90b1c77d --queue redis://queue.example:6379",
		Args:    oneID("lockstep fleet status"),
		RunE: func(c *cobra.Command, args []string) error {
			q, err := f.open(c)
			if err != nil {
				return err
			}
			defer q.Close()
			all, err := q.Searches(c.Context())
			if err != nil {
				return err
			}
			i := slices.IndexFunc(all, func(s queue.Known) bool { return s.ID() == args[0] })
			if i < 0 {
				return fmt.Errorf("there is no search %q in %s; see lockstep fleet status", args[0], q)
			}
			if err := q.Forget(c.Context(), all[i].Search); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "search %s is forgotten\n", args[0])
			return nil
		},
	}
}
