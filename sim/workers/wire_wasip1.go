package workers

import "io"

type wire struct{}

type (
	encoder = wire
	decoder = wire
)

func newEncoder(io.Writer) encoder { return wire{} }
func newDecoder(io.Reader) decoder { return wire{} }

// Encode must not be called.
func (wire) Encode(any) error { panic("workers: a client that runs as WebAssembly is no worker") }

// Decode must not be called.
func (wire) Decode(any) error { panic("workers: a client that runs as WebAssembly is no worker") }

// Register does nothing.
func Register(any) {}
