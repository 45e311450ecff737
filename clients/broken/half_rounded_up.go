package broken

import (
	"lockstep/clients"
	"lockstep/clients/internal/redlock"
)

// halfRoundedUp divides by two and rounds up, which is a majority only of an odd number of nodes. To be caught, it needs four nodes, of which
// each client reaches another two.
var halfRoundedUp = clients.Lock{
	Name:  "redlock-half-rounded-up",
	About: "redlock that needs N/2 nodes, rounded up: of four thus two",
	Like:  []string{"redlock"},
	New:   clients.RedlockWith(redlock.Options{Quorum: func(nodes, _ int) int { return (nodes + 1) / 2 }}),
}
