package foreign

import (
	"errors"

	"lockstep/clients"
)

// Find refuses: a program that is compiled to WebAssembly runs no other.
func Find(string) (clients.New, error) {
	return nil, errors.New("a program that is compiled to WebAssembly cannot run a lock in a WebAssembly file")
}
