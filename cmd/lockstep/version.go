package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of Lockstep and of the libraries that decide what it measures",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			v := versions()
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(v)
			}
			for _, m := range v {
				fmt.Fprintf(c.OutOrStdout(), "%-10s %s\n", m.Name, m.Version)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

type module struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// versions lists what a run depends on: Go, whose scheduler and virtual time it uses, and the libraries on both ends of
// the wire.
func versions() []module {
	v := []module{{"lockstep", "(devel)"}, {"go", runtime.Version()}}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v[0].Version = info.Main.Version
	}
	short := map[string]string{
		"github.com/redis/go-redis/v9":     "go-redis",
		"github.com/alicebob/miniredis/v2": "miniredis",
		"github.com/jonboulle/clockwork":   "clockwork",
	}
	for _, dep := range info.Deps {
		if name := short[dep.Path]; name != "" {
			v = append(v, module{name, dep.Version})
		}
	}
	return v
}
