package broken

import (
	"lockstep/clients"
)

// firstThree uses only the first three nodes, as if two nodes had been added, and the lock not reconfigured. It needs two of the
// first three to be down.
var firstThree = clients.Lock{
	Name:  "redlock-first-three",
	About: "Redlock on the first three of the nodes",
	Like:  []string{"redlock"},
	New: func(env clients.Env) clients.Locker {
		env.Nodes = env.Nodes[:min(3, len(env.Nodes))]
		return clients.NewRedlock(env)
	},
}
