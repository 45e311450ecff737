//go:build !linux

package redisserver

import (
	"context"
	"fmt"
	"runtime"
)

// CompileClock returns [ErrNoClocks]: the library can be loaded into a server on Linux only.
func CompileClock(context.Context, string) (string, error) { return "", preloads("") }

func mapFile(string, int) ([]byte, error) { return nil, preloads("") }
func (*Clock) loaded(int) error           { return preloads("") }
func unmap([]byte)                        {}
func preloads(string) error {
	return fmt.Errorf("%w on %s", ErrNoClocks, runtime.GOOS)
}
