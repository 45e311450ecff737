package broken

import (
	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/redlock"
)

// Twins lists locks that are wrong in more than one way, or only under faults that few pages have. Each is there to fail in a
// story in which a proper lock is SAFE and none of [Locks] fails.
func Twins() []clients.Lock {
	return []clients.Lock{noClock, allNodes, instants, minorityExtends, uncomparedRetries}
}

// noClock is what one writes who has not read on after "a majority of the nodes": it asks one node after the other, waits for
// each answer, and never looks at a clock.
var noClock = clients.Lock{
	Name:  "redlock-no-clock",
	About: "Redlock without timeouts and without a check of what is left of the lease",
	Like:  []string{"redlock-sequential"},
	New:   clients.RedlockWith(redlock.Options{Sequential: true, Timeout: -1, AnyElapsed: true}),
}

// allNodes is Redlock that needs every node, so that one key that stays keeps everybody out.
var allNodes = clients.Lock{
	Name:  "redlock-all-nodes",
	About: "Redlock that needs all nodes",
	Like:  []string{"redlock"},
	New:   clients.RedlockWith(redlock.Options{Quorum: func(nodes, _ int) int { return nodes }}),
}

// instants is Redlock whose keys end at an instant by the client's wall clock. A node whose clock is ahead answers OK, and has
// no key.
var instants = clients.Lock{
	Name:  "redlock-instants",
	About: "Redlock that sets its keys with PXAT",
	Like:  []string{"redlock"},
	New:   clients.RedlockWith(redlock.Options{Instants: true}),
}

// minorityExtends is Redlock that counts an extension among the nodes that answered.
var minorityExtends = clients.Lock{
	Name:  "redlock-minority-extends",
	About: "Redlock with extension, of which a majority of those nodes that answer is enough",
	Like:  []string{"redlock-extend"},
	New:   clients.RedlockWith(redlock.Options{Extendable: true, Quorum: func(_, answered int) int { return answered/2 + 1 }}),
}

// uncomparedRetries is single-uncompared over a go-redis client as it comes, which repeats a DEL whose answer is lost: by then
// the key may be that of the next holder.
var uncomparedRetries = clients.Lock{
	Name:  "single-uncompared-retries",
	About: "single-uncompared, whose commands are repeated",
	Like:  []string{"single-retries"},
	New: func(env clients.Env) clients.Locker {
		env.Nodes = []*redis.Client{env.Client(env.Addrs[0], func(o *redis.Options) { o.MaxRetries = 0 })}
		return &uncompared{clients.NewSingle(env), env}
	},
}
