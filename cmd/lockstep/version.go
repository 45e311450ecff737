package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"lockstep/scenarios/shards"
)

func newVersion(k known) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of Lockstep and of the libraries that affect its results",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			v := k.versions()
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(v)
			}
			for _, m := range v {
				fmt.Fprintf(c.OutOrStdout(), "%-12s %s\n", m.Name, m.Version)
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

// versions lists what a run depends on: Go, whose scheduler and virtual time it uses, the libraries at both ends of the connections, and
// those under test. The build is a checksum of this program.
func (k known) versions() []module {
	v := []module{{"lockstep", "(devel)"}, {"go", runtime.Version()}}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v[0].Version = info.Main.Version
	}
	versions := built()
	for _, m := range []module{
		{"go-redis", versions["github.com/redis/go-redis/v9"]},
		{"miniredis", versions["github.com/alicebob/miniredis/v2"]},
		{"clockwork", versions["github.com/jonboulle/clockwork"]},
	} {
		if m.Version != "" {
			v = append(v, m)
		}
	}
	for _, l := range k.base() {
		v = append(v, module{l.Name, versions[l.Module]})
	}
	if build, err := shards.Build(); err == nil {
		v = append(v, module{"build", build})
	}
	return v
}
