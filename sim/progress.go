package sim

import "sync/atomic"

// Progress is how far a world has come, for those outside of its bubble.
type Progress struct{ Events, Now atomic.Int64 }

// Latest belongs to the world that this process made last: a worker has one at a time.
var Latest atomic.Pointer[Progress]
