// This program is what runs in the guests of the tests of this package: it knows the locks that tests play as WebAssembly.
package main

import (
	"fmt"
	"os"

	"lockstep/clients"
	"lockstep/clients/libraries"
	"lockstep/clients/planted"
	"lockstep/clients/sound"
	"lockstep/scenarios/play"
)

func main() {
	all := append(clients.Locks(), clients.Lock{Name: "toy", New: planted.ByPackageTime(planted.NewToy)}, clients.Lock{Name: "dated", New: planted.ByPackageTime(planted.NewDated)}, clients.Lock{Name: "exits", New: planted.NewExiting}, clients.Lock{Name: "everything", New: planted.NewEverything})
	for _, l := range planted.Timed() {
		all = append(all, clients.Lock{Name: l.Name, New: planted.ByPackageTime(l.New)})
	}
	for _, l := range libraries.Locks() {
		all = append(all, l.Lock)
	}
	find := func(name string) (clients.New, error) {
		if name == "TestMine" || name == "TestExplored" { // the lock of that test
			return clients.FindIn(sound.Waiting(), os.Getenv("LOCKSTEP_TEST_LOCK"))
		}
		return clients.FindIn(all, name)
	}
	if err := play.Serve(find, nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}
