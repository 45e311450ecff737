package broken

import (
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewNoDrift is Redlock that renews itself, and allows for drift only when it acquires. It needs a renewed lease, nodes whose clocks are fast by
// less than the allowance, and another client that asks when the keys have expired.
var renewNoDrift = clients.Lock{
	Name:  "redlock-renew-no-drift",
	About: "redlock, renewed every third of a TTL without the allowance for drift",
	Like:  []string{"redlock"},
	New:   parts.RenewingRedlock(func(l *parts.Renewed, ttl time.Duration) { l.TTL = ttl }),
}
