package broken

import (
	"cmp"
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// renewBatch renews the keys of all its leases by one script, which returns how many it has renewed. If there are any, it counts all
// leases as renewed. It needs a client that has two locks, and loses one of them: it goes on under both.
var renewBatch = clients.Lock{
	Name:  "watchdog-batch",
	About: "watchdog, which renews all leases by one script, and counts all as renewed if one is",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		return newTogether(env, shortest, func(leases []*parts.Renewed) {
			start := env.Clock.Now()
			keys, args := batch(leases)
			n, err := batchScript.Run(context.Background(), env.Nodes[0], keys, args...).Int()
			for _, l := range leases {
				l.Settle(start, n != 0, err)
			}
		})
	},
}

// renewSorted sorts the keys for its script, but reads the replies as if they were in the order in which it acquired the leases. It needs a
// client that has two locks, the later one with the name that sorts first, and loses one of them: the lock counts the wrong lease as lost.
var renewSorted = clients.Lock{
	Name:  "watchdog-sorted",
	About: "watchdog, which renews all leases by one script with sorted keys, and takes its replies to be in another order",
	Like:  []string{"watchdog"},
	New: func(env clients.Env) clients.Locker {
		return newTogether(env, shortest, func(leases []*parts.Renewed) {
			start := env.Clock.Now()
			keys, args := batch(slices.SortedStableFunc(slices.Values(leases), func(a, b *parts.Renewed) int { return cmp.Compare(a.Name, b.Name) }))
			replies, err := eachScript.Run(context.Background(), env.Nodes[0], keys, args...).Int64Slice()
			for i, l := range leases {
				l.Settle(start, err == nil && replies[i] != 0, err)
			}
		})
	},
}

// batch returns the keys of leases, and their tokens and TTLs, as the scripts below expect them.
func batch(leases []*parts.Renewed) (keys []string, args []any) {
	for _, l := range leases {
		keys, args = append(keys, l.Name), append(args, l.Token, l.TTL.Milliseconds())
	}
	return keys, args
}

var (
	batchScript = redis.NewScript(`
		local n = 0
		for i, key in ipairs(KEYS) do
			if redis.call('GET', key) == ARGV[2*i-1] then n = n + redis.call('PEXPIRE', key, ARGV[2*i]) end
		end
		return n`)
	eachScript = redis.NewScript(`
		local replies = {}
		for i, key in ipairs(KEYS) do
			replies[i] = 0
			if redis.call('GET', key) == ARGV[2*i-1] then replies[i] = redis.call('PEXPIRE', key, ARGV[2*i]) end
		end
		return replies`)
)
