package broken

import (
	"math/rand/v2"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/redlock"
)

// fixedDelay is Redlock that tries again after the same delay each time: clients that have split the nodes between them do so
// again. Caught by redlock-contended on staggered links: fault tolerance.
var fixedDelay = clients.Lock{
	Name:  "redlock-fixed-delay",
	About: "Redlock that tries again after 200 ms sharp",
	Like:  []string{"redlock"},
	New:   clients.RedlockWith(redlock.Options{Delay: func(*rand.Rand) time.Duration { return 200 * time.Millisecond }}),
}
