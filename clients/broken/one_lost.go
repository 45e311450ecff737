package broken

import "lockstep/clients"

// oneLost renews all leases of a process in one loop, which ends when one of them is lost. It needs two leases, of which one is lost.
var oneLost = clients.Lock{
	Name:  "watchdog-one-lost",
	About: "watchdog that renews no lease any more once one of them is lost",
	Like:  []string{"watchdog"},
	New:   stopsAll(func(ours bool, err error) bool { return err == nil && !ours }),
}
