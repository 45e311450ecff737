package broken

import (
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/redlock"
)

// driftSeconds computes the allowance for drift from the whole seconds of the TTL. It needs a TTL of less than a second, or one that is a
// good deal longer than its whole seconds, and nodes whose clocks are fast, though by no more than one per cent.
var driftSeconds = clients.Lock{
	Name:  "redlock-drift-seconds",
	About: "redlock, which allows only for the drift of the whole seconds of the TTL",
	Like:  []string{"redlock"},
	New: clients.RedlockWith(redlock.Options{Drift: func(ttl time.Duration) time.Duration {
		return ttl.Truncate(time.Second)/100 + 2*time.Millisecond
	}}),
}
