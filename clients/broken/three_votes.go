package broken

import (
	"lockstep/clients"
	"lockstep/clients/internal/redlock"
)

// threeVotes is content with three nodes, as if there were never more than five. It needs seven nodes, and clients that reach only some of
// them.
var threeVotes = clients.Lock{
	Name:  "redlock-three-votes",
	About: "Redlock that needs three nodes at most, even of seven",
	Like:  []string{"redlock"},
	New:   clients.RedlockWith(redlock.Options{Quorum: func(nodes, _ int) int { return min(nodes/2+1, 3) }}),
}
