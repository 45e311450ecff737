package main

import "github.com/spf13/cobra"

func newFleet() *cobra.Command {
	return &cobra.Command{Use: "fleet", Short: "Search on many machines, with a queue in Redis"}
}
