package broken

import (
	"context"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// errorEndsAll renews all leases of a process in one loop. When the renewal of one lease fails with an error, the loop ends, and none of these
// leases is renewed again. It needs a client that has two locks, and an error for the one that is renewed first.
var errorEndsAll = clients.Lock{
	Name:  "watchdog-error-ends-all",
	About: "watchdog, which renews no lease any more after an error in the renewal of one",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		abandoned := map[*parts.Renewed]bool{}
		return newTogether(env, shortest, func(leases []*parts.Renewed) {
			for _, l := range leases {
				if abandoned[l] {
					continue
				}
				start := env.Clock.Now()
				ours, err := l.Renew(context.Background())
				l.Settle(start, ours, err)
				if err != nil {
					for _, each := range leases {
						abandoned[each] = true
					}
					return
				}
			}
		})
	},
}
