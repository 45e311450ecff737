package sound

import (
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewedRedlock is Redlock that renews itself. Each renewal sets the TTL on all nodes. The lock relies on it once a majority has
// confirmed it, and allows for drift as when it acquires.
var renewedRedlock = clients.Lock{
	Name:  "redlock-renewed",
	About: "redlock, renewed every third of a TTL",
	Like:  []string{"redlock", "watchdog"},
	New:   parts.RenewingRedlock(func(*parts.Renewed, time.Duration) {}),
}
