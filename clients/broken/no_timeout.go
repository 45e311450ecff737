package broken

import (
	"lockstep/clients"
	"lockstep/clients/internal/redlock"
)

// noTimeout is Redlock that waits for each node until it answers, when acquiring as when releasing: one node that hangs stops
// it. (To connect it waits 5 s, as go-redis does by itself.) Caught by redlock-hung-node: fault tolerance.
var noTimeout = clients.Lock{
	Name:  "redlock-no-timeout",
	About: "Redlock that waits for every node, however long that takes",
	Like:  []string{"redlock"},
	New:   clients.RedlockWith(redlock.Options{Timeout: -1}),
}
