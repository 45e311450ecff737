package broken

import (
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/redlock"
)

// driftAdded adds the allowance for drift instead of subtracting it: a lease outlives its keys by one per cent and 2 ms, with all
// clocks right. It needs a contender in that time.
var driftAdded = clients.Lock{
	Name:  "redlock-drift-added",
	About: "Redlock that adds the allowance for drift",
	Like:  []string{"redlock"},
	New: clients.RedlockWith(redlock.Options{Drift: func(ttl time.Duration) time.Duration {
		return -(ttl/100 + 2*time.Millisecond)
	}}),
}
