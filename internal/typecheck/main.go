// Typecheck reports type errors in the packages that it is given, tests included, for the system that GOOS and GOARCH name. It reads all
// source, so unlike go vet it need not compile the dependencies for that system first, which takes minutes.
package main

import (
	"fmt"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	all, err := packages.Load(&packages.Config{
		Mode:  packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedModule,
		Tests: true,
	}, os.Args[1:]...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if packages.PrintErrors(all) > 0 {
		os.Exit(1)
	}
}
