//go:build wasm

package wasm

import (
	"context"
	"errors"
)

// SetSource does nothing: a program that is compiled to WebAssembly has no guests.
func SetSource(string, bool) {}

// SourceUnderTest reports false, for the same reason.
func SourceUnderTest() (dir string, options []string, ok bool) { return "", nil, false }

// Native returns an error: a program that is compiled to WebAssembly starts no processes.
func Native(context.Context, func(context.Context, string, bool, []string, string) error) (string, error) {
	return "", errors.New("wasm: there are no processes here")
}
