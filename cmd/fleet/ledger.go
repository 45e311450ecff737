package main

import "github.com/spf13/cobra"

func newLedger() *cobra.Command {
	return &cobra.Command{Use: "ledger", Short: "What was found, from one night to the next"}
}
