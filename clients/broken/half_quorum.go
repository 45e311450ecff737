package broken

import (
	"lockstep/clients"
	"lockstep/clients/internal/redlock"
)

// halfQuorum is Redlock without a majority: half of the nodes is enough for it, so that there can be two such halves. Caught by
// redlock-contended on an even split: lease exclusion.
var halfQuorum = clients.Lock{
	Name:  "redlock-half-quorum",
	About: "Redlock that needs N/2 nodes, of four or five thus two",
	Like:  []string{"redlock"},
	New:   clients.RedlockWith(redlock.Options{Quorum: func(nodes, _ int) int { return nodes / 2 }}),
}
