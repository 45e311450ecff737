package broken

import (
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// oldestPeriod has one timer for all leases of a process, whose period is a third of the oldest lease's TTL. It needs a client that has two
// locks, the newer one with a TTL that is less than a third of the other. That one then expires between two renewals.
var oldestPeriod = clients.Lock{
	Name:  "watchdog-oldest-period",
	About: "watchdog, which renews all leases with the period of the oldest",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		return newTogether(env, func(leases []*parts.Renewed) time.Duration { return leases[0].Every }, eachOnce)
	},
}
