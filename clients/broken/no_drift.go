package broken

import (
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/redlock"
)

// noDrift is Redlock without the allowance for drift: a lease is valid until its keys expire by the client's own clock, when
// they have expired by a node's that is a little faster. Caught by clock-drift inside the allowance: lease exclusion.
var noDrift = clients.Lock{
	Name:  "redlock-no-drift",
	About: "Redlock that takes all clocks to run at one rate",
	Like:  []string{"redlock"},
	New:   clients.RedlockWith(redlock.Options{Drift: func(time.Duration) time.Duration { return 0 }}),
}
