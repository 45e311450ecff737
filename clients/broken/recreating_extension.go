package broken

import (
	"lockstep/clients"
	"lockstep/clients/internal/redlock"
)

// recreatingExtension is Redlock with an extension that asks neither the clock nor the nodes whether there is anything left to
// extend: it sets the key wherever it has lost it, though another client may have the lock by now. Caught by extend-late:
// lease exclusion.
var recreatingExtension = clients.Lock{
	Name:  "redlock-recreating-extension",
	About: "Redlock with an extension that takes back what is lost",
	Like:  []string{"redlock-extend"},
	New:   clients.RedlockWith(redlock.Options{Extendable: true, Recreate: true}),
}
