package broken

import (
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// newestPeriod has one timer for all leases of a process, whose period is a third of the newest lease's TTL. It needs a client that has two
// locks, the newer one with a TTL that is more than three times as long. The older one then expires between two renewals.
var newestPeriod = clients.Lock{
	Name:  "watchdog-newest-period",
	About: "watchdog, which renews all leases with the period of the newest",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		return newTogether(env, func(leases []*parts.Renewed) time.Duration { return leases[len(leases)-1].Every }, eachOnce)
	},
}
