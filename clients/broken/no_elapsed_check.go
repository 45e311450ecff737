package broken

import (
	"lockstep/clients"
	"lockstep/clients/internal/redlock"
)

// noElapsedCheck is Redlock without step 3: it does not look how long acquiring took, and hands out a lease that is over.
// Caught by pause-in-acquire: expired on return.
var noElapsedCheck = clients.Lock{
	Name:  "redlock-no-elapsed-check",
	About: "Redlock that hands out a lease although acquiring it took longer than it lasts",
	Like:  []string{"redlock"},
	New:   clients.RedlockWith(redlock.Options{AnyElapsed: true}),
}
