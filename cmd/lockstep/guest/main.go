// This program is what runs in the guests of lockstep: it is compiled to WebAssembly, and carries out the lane of one client.
package main

import (
	"fmt"
	"os"

	"lockstep/clients"
	"lockstep/clients/libraries"
	"lockstep/scenarios/play"
)

func main() {
	all := clients.Locks()
	for _, l := range libraries.Locks() {
		all = append(all, l.Lock)
	}
	if err := play.Serve(func(name string) (clients.New, error) { return clients.FindIn(all, name) }, nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}
