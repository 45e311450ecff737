//go:build !linux

package nodes

import (
	"context"
	"fmt"
	"runtime"
)

func buildClock(context.Context, string) (string, error) { return "", preloads("") }
func mapFile(string, int) ([]byte, error)                { return nil, preloads("") }
func (*ownClock) loaded(int) error                       { return preloads("") }
func unmap([]byte)                                       {}
func preloads(string) error {
	return fmt.Errorf("%w on %s", ErrNoClocks, runtime.GOOS)
}
