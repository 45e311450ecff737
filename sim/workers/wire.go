//go:build !wasip1

package workers

import (
	"encoding/gob"
	"io"
)

// Requests and answers are sent as gobs: JSON took a third of the time of a suite. A client that runs as WebAssembly has no such wire, and so
// does not link package gob, whose initialization took a quarter of the time that such a client needs to start.
type (
	encoder = *gob.Encoder
	decoder = *gob.Decoder
)

func newEncoder(w io.Writer) encoder { return gob.NewEncoder(w) }
func newDecoder(r io.Reader) decoder { return gob.NewDecoder(r) }

// Register makes it possible to send results of the type of v, which must not be a basic one. Both processes must call it.
func Register(v any) { gob.Register(v) }
