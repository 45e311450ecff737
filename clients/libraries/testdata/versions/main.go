// Versions prints the versions of the libraries that it was built with. A test cannot: it is not told.
package main

import (
	"fmt"

	"lockstep/clients/libraries"
)

func main() {
	for _, l := range libraries.Locks() {
		fmt.Println(l.Module, libraries.Version(l))
	}
}
