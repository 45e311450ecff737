//go:build wasm

package play

import (
	"context"
	"errors"

	"lockstep/scenarios/script"
	"lockstep/sim"
)

// guests do not exist here: a program that is compiled to WebAssembly has none.
type guests struct{}

func newGuests(*script.Scenario, script.Section, uint64) (*guests, error) {
	return nil, errNested
}

func (*guests) start(*sim.World, *sim.Process, script.Section, servers, string) {}
func (*guests) err() error                                                      { return nil }
func useProgram(program)                                                        {}
func self(context.Context) (program, error)                                     { return program{}, errNested }

// MayCallPackageTime returns nothing: only locks of this project are tested here.
func MayCallPackageTime() string { return "" }

// Shared returns nothing, for the same reason.
func Shared() (string, error) { return "", nil }

var errNested = errors.New("a program that is compiled to WebAssembly cannot play runs with guests=yes")
