package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"lockstep/checker"
	"lockstep/reports"
	"lockstep/scenarios/script"
)

func newList(k known) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the scenarios of the catalogue, the locks, and the libraries",
		Example: `  lockstep list
  lockstep list --json | jq -r '.scenarios[].name'`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			all, err := script.Catalogue()
			if err != nil {
				return err
			}
			l := listing{Libraries: []listedLibrary{}}
			for _, s := range all {
				l.Scenarios = append(l.Scenarios, describe(s))
			}
			for _, lock := range k.locks {
				l.Locks = append(l.Locks, listedLock{lock.Name, lock.About})
			}
			versions := built()
			for _, lib := range k.libraries {
				l.Libraries = append(l.Libraries, listedLibrary{
					Name: lib.Name, About: lib.About, Module: lib.Module, Version: versions[lib.Module], Like: lib.Like, Restless: lib.Restless,
				})
			}
			if asJSON {
				enc := json.NewEncoder(c.OutOrStdout())
				enc.SetIndent("", "  ")
				return enc.Encode(l)
			}
			l.print(c)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

type listing struct {
	Scenarios []listedScenario `json:"scenarios"`
	Locks     []listedLock     `json:"locks"`
	Libraries []listedLibrary  `json:"libraries"`
}

type listedScenario struct {
	Name  string      `json:"name"`
	Title string      `json:"title"`
	Runs  []listedRun `json:"runs"`
}

type listedRun struct {
	ID          string             `json:"id"`
	Lock        string             `json:"lock"`
	Nodes       int                `json:"nodes"`
	Replicas    int                `json:"replicas,omitempty"`
	Sentinels   int                `json:"sentinels,omitempty"`
	Shards      int                `json:"shards,omitempty"`
	Persistence string             `json:"persistence,omitempty"`
	Resource    string             `json:"resource"`
	Violated    []checker.Property `json:"violated"` // what is expected to be
	Reports     []checker.Quantity `json:"reports,omitempty"`
}

type listedLock struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

type listedLibrary struct {
	Name     string   `json:"name"`
	About    string   `json:"about"`
	Module   string   `json:"module"`
	Version  string   `json:"version,omitempty"`
	Like     []string `json:"like"`                       // the locks in whose runs it takes their place
	Restless bool     `json:"nondeterministic,omitempty"` // its native runs may not repeat to the byte
}

func describe(s *script.Scenario) listedScenario {
	l := listedScenario{Name: s.Name, Title: s.Title}
	for _, r := range s.Runs {
		r = s.Resolve(r)
		run := listedRun{
			ID: r.ID(), Lock: r.Lock, Nodes: r.Nodes, Replicas: r.Replicas, Sentinels: r.Sentinels, Shards: r.Shards,
			Persistence: r.Persistence, Resource: r.Resource, Violated: []checker.Property{}, Reports: r.Reports,
		}
		for _, p := range checker.Properties() {
			if r.Expected(p) == checker.Violated {
				run.Violated = append(run.Violated, p)
			}
		}
		l.Runs = append(l.Runs, run)
	}
	return l
}

func (l listing) print(c *cobra.Command) {
	w := c.OutOrStdout()
	bold, wide := paint(w, text.Bold), min(columns(w), reports.Width)
	fmt.Fprintln(w, bold("scenarios"))
	for _, s := range l.Scenarios {
		printListed(w, wide, s.Name, s.Title)
	}
	fmt.Fprintln(w, bold("\nlocks"))
	for _, k := range l.Locks {
		printListed(w, wide, k.Name, k.About)
	}
	if len(l.Libraries) > 0 {
		fmt.Fprintln(w, bold("\nlibraries"))
		last := ""
		for _, k := range l.Libraries {
			if k.Module != last {
				fmt.Fprintf(w, "  %s\n", strings.TrimSpace(k.Module+" "+k.Version))
			}
			last = k.Module
			printListed(w, wide, k.Name, k.About)
		}
	}
	fmt.Fprintln(w, "\nlockstep show SCENARIO explains a scenario, and runs it;\nlockstep run --lock LIBRARY tests a library.")
}

// printListed prints a name and its explanation, in lines of the given width if possible.
func printListed(w io.Writer, wide int, name, about string) {
	const names, least = 30, 20 // columns
	fmt.Fprintf(w, "  %-*s %s\n", names-3, name, strings.ReplaceAll(wrap(about, max(least, wide-names)), "\n", "\n"+strings.Repeat(" ", names)))
}
