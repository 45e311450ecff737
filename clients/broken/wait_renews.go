package broken

import (
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// waitRenews is single-wait that renews itself, and waits for a replica only when it acquires. It needs a failover after a renewal that the
// replica has not received.
var waitRenews = clients.Lock{
	Name:  "single-wait-renews",
	About: "single-wait, renewed every third of a TTL without waiting for a replica",
	Like:  []string{"single-wait"},
	New:   parts.Renewing(parts.TakeWaiting, func(*parts.Renewed, time.Duration) {}),
}
