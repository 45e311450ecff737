//go:build !linux && !wasm

package wasm

import (
	"errors"

	"github.com/tetratelabs/wazero/experimental"
)

// memories would be mapped memories, as on Linux. Here wazero copies the data of a module into each instance.
type memories struct{}

func newMemories([]byte) (*memories, error) { return nil, errors.ErrUnsupported }

func (*memories) close() {}

func (*memories) next() (experimental.LinearMemory, error) { return nil, errors.ErrUnsupported }
