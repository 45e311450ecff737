package sim

import "sync/atomic"

// Progress says how far a world has come. It can be read outside the bubble.
type Progress struct {
	Events, Now atomic.Int64
	Over        atomic.Bool // it has been closed
}

// Latest is the progress of the newest world of this process. A worker has one world at a time.
var Latest atomic.Pointer[Progress]
