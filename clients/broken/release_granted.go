package broken

import (
	"lockstep/clients"
	"lockstep/clients/internal/redlock"
)

// releaseGranted is Redlock that releases only where it knows that it has set a key. Where the reply was lost, the key keeps
// others out until it expires. Caught by redlock-reply-lost: fault tolerance.
var releaseGranted = clients.Lock{
	Name:  "redlock-release-granted",
	About: "Redlock that releases only on the nodes that said they granted it",
	Like:  []string{"redlock"},
	New:   clients.RedlockWith(redlock.Options{ReleaseGranted: true}),
}
