package sim

import "sync/atomic"

// Progress is how far a world has come, for code outside its bubble.
type Progress struct{ Events, Now atomic.Int64 }

// Latest is the progress of the world that this process made last. A worker has one world at a time.
var Latest atomic.Pointer[Progress]
