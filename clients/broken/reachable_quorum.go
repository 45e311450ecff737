package broken

import (
	"lockstep/clients"
	"lockstep/clients/internal/redlock"
)

// reachableQuorum is Redlock that counts its majority among the nodes that answered, so that each side of a partition has one.
// It needs one node at least. Caught by redlock-partition-halves: lease exclusion.
var reachableQuorum = clients.Lock{
	Name:  "redlock-reachable-quorum",
	About: "Redlock that needs a majority of those nodes that answer",
	Like:  []string{"redlock"},
	New:   clients.RedlockWith(redlock.Options{Quorum: func(_, answered int) int { return answered/2 + 1 }}),
}
