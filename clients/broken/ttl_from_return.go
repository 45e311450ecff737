package broken

import (
	"lockstep/clients"
	"lockstep/clients/internal/redlock"
)

// ttlFromReturn is Redlock that counts the TTL from when it has the lock; the nodes have counted since they set their keys.
// Caught by redlock-slow-acquire: lease exclusion.
var ttlFromReturn = clients.Lock{
	Name:  "redlock-ttl-from-return",
	About: "Redlock whose lease begins when it is granted, not when it is asked for",
	Like:  []string{"redlock"},
	New:   clients.RedlockWith(redlock.Options{FromReturn: true}),
}
