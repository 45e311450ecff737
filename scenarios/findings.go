package scenarios

import "lockstep/checker"

// A Finding is something that an unmodified library does worse than the reference lock in whose place it was put, or that
// contradicts the library's documentation.
type Finding struct {
	Title   string   // one sentence
	Library string   // the path of its module
	Locks   []string // the configurations affected, by their names in package lockstep/clients/libraries
	Runs    []string // runs of the catalogue, each of which shows it for each of Locks in the place of the lock that the run names
	// Property is the property that is violated. It is empty if none is and a Quantity shows the finding.
	Property   checker.Property
	Assumption checker.Assumption // the assumption that broke with it; None means that the library itself is at fault
	Quantity   checker.Quantity
	Takes      string   // the conditions that have to come together
	Promise    string   // what the documentation says, and where
	Repair     string   // what helps
	Repaired   []string // configurations in which the same runs do not show it
}

const (
	redsync     = "github.com/go-redsync/redsync/v4"
	rueidislock = "github.com/redis/rueidis"
)

var (
	redsyncs     = []string{"redsync", "redsync-fail-fast", "redsync-setnx-extend", "redsync-timeout", "redsync-no-retries"}
	rueidislocks = []string{"rueidislock", "rueidislock-one", "rueidislock-setpx", "rueidislock-nocache"}
)

// Findings lists what the runs of the catalogue have shown about unmodified libraries, at the versions that go.mod names.
func Findings() []Finding {
	return []Finding{
		{
			Title:    "One hung node of three keeps everybody from the lock.",
			Library:  redsync,
			Locks:    []string{"redsync", "redsync-setnx-extend", "redsync-no-retries"},
			Runs:     []string{"hung-node-of-three/redlock/short"},
			Property: checker.FaultTolerance, Assumption: checker.None,
			Takes: "A node that accepts connections and does not answer, go-redis with its default options, and a TTL that is no longer than " +
				"go-redis's ReadTimeout, which is 5 s (and was 3 s before go-redis 9.22). Lock asks all nodes and waits for all of them. The context that it gives them ends after 5 % of the " +
				"TTL, but by default go-redis ignores the deadline of a context while it waits for a reply on an established connection. " +
				"So every attempt takes 5 s, and by then its validity is over. With a longer TTL the client gets the lock, 5 s late.",
			Promise: "\"Redis-based distributed mutual exclusion lock implementation for Go as described in\" redis.io's page (README), " +
				"which asks for a timeout for one node that is small compared with the TTL, so that a client does not stay blocked by a node that is down " +
				"(redis.io, Distributed Locks, \"The Redlock Algorithm\", step 2). WithFailFast is documented for Redis servers that block.",
			Repair: "Set ContextTimeoutEnabled in the options of go-redis, so that the deadline counts, or a ReadTimeout well below the TTL. " +
				"WithFailFast(true), which goes on when a majority has answered, helps nearly always. With 4 of 200 seeds this run still shows it: a client asks while " +
				"another releases; one node has deleted the key and grants the lock, one still has the key and refuses, and the client waits for the hung node, here for ten seconds. " +
				"Unlock sets no deadline, so it waits for the hung node in any case.",
			Repaired: []string{"redsync-timeout"},
		},
		{
			Title:    "An extension that most nodes do not answer returns only after the lease has ended.",
			Library:  redsync,
			Locks:    redsyncs,
			Runs:     []string{"extend-minority/redlock-extend"},
			Property: checker.ResourceExclusion, Assumption: checker.BoundedDelay,
			Takes: "A holder that is cut off from a majority and asks for an extension with 3.9 s left. Extend, unlike Lock, sets no timeout of its own, " +
				"and waits for replies that do not come: 5 s, or 20 s where go-redis repeats the commands, as it does by default. Extend rightly reports the failure, but " +
				"by then the lease has long ended and another client has the lock. Until says so, too. A caller may assume that a failed extension leaves the lease as it was. " +
				"If it does not check Until before it writes, it writes under a lease that has ended.",
			Promise: "ExtendContext \"resets the mutex's expiry and returns the status of expiry extension\" (package documentation). The documentation does not say how long that takes.",
			Repair: "Check Until after Extend, whatever Extend returned. The run extend-minority/redlock-extend/checked does, and nothing is violated. " +
				"A ReadTimeout in go-redis that is small compared with the TTL should help as well. A deadline that the caller puts into the context counts only with ContextTimeoutEnabled.",
		},
		{
			Title:    "With a timeout that is a fraction of a short TTL, nobody gets the lock.",
			Library:  redsync,
			Locks:    []string{"redsync-timeout"},
			Runs:     []string{"redlock-slow-acquire/redlock/replies"},
			Property: checker.FaultTolerance, Assumption: checker.None,
			Takes: "WithTimeoutFactor(0.02), go-redis with ContextTimeoutEnabled, and a TTL of 42 ms: 0.84 ms for a round trip that takes 1 to 3. It needs no " +
				"fault: when everything has healed, a fresh client does not get the lock either. A request that is given up costs its connection, so the next request has to dial first and is given up as well.",
			Promise: "WithTimeoutFactor \"can be used to set the timeout factor\" (package documentation). The documentation does not say that it is a factor of the TTL, nor how small it may be.",
			Repair:  "Choose the factor so that the TTL times the factor allows for several round trips and a dial.",
		},
		{
			Title:    "A node whose clock is ahead grants the lock to everybody.",
			Library:  rueidislock,
			Locks:    []string{"rueidislock", "rueidislock-one", "rueidislock-nocache"},
			Runs:     []string{"clock-offset/single"},
			Property: checker.LeaseExclusion, Assumption: checker.BoundedClockError,
			Takes: "A Redis whose clock is further ahead of a client's than the TTL, from the start and without a jump. The lock is taken with SET NX PXAT and a point in time by the " +
				"client's clock. On that node this time has passed: the reply is OK, and there is no key. A smaller offset shortens or prolongs the life of the key by as much.",
			Promise: "\"uses SET PXAT by default; set to true for Redis versions < 6.2\" (README, FallbackSETPX): an option for old servers, with no word about clocks.",
			Repair: "No option repairs all of it. With FallbackSETPX the lock is taken with a duration, and this run finds nothing wrong with it. But extensions still send a point in time " +
				"(PEXPIREAT), and the first extension deletes the key, so the lock is lost after half its validity. Keep the clocks synchronized.",
			Repaired: []string{"rueidislock-setpx"},
		},
		{
			Title:    "A holder that is cut off learns that the lock is lost long after it was lost.",
			Library:  rueidislock,
			Locks:    rueidislocks,
			Runs:     []string{"holder-cut-off/single", "holder-cut-off/watchdog"},
			Property: checker.LeaseExclusion, Assumption: checker.BoundedDelay,
			Takes: "A holder whose link to Redis is cut. Its key expires one TTL after the last renewal, and another client gets the lock. The first client's context " +
				"lives until the library gives up the renewal in progress, whose deadline is one TTL after it began. In this run the key expires at 10 s, and at 14 s the holder is still told that it holds the lock.",
			Promise: "\"The returned ctx will be canceled automatically and immediately once the KeyMajority is not held anymore, for example: Redis are down\" (README).",
			Repair: "The library would need a deadline of its own, at the end of the last confirmed renewal. A caller can keep one: note the time before each operation that was confirmed, and stop one TTL later. " +
				"No option changes this.",
		},
		{
			Title:    "A paused holder believes that it still holds the lock until the network tells it otherwise.",
			Library:  rueidislock,
			Locks:    rueidislocks,
			Runs:     []string{"pause-after-acquire/single", "pause-after-check/single", "pause-fenced/single", "read-modify-write/single", "efficiency/single", "fixed-value/single"},
			Property: checker.LeaseExclusion, Assumption: checker.BoundedPause,
			Takes: "A pause that outlives the lease. With a lock whose lease ends by a clock, the pause breaks exclusion at the resource only: by its own clock the holder " +
				"no longer holds the lock. Here the holder's context has no deadline, so the news has to come by the network. " +
				"It comes some milliseconds after the holder resumes; until then it and another client hold the lock together.",
			Promise: "The same sentence of the README. It does not mention pauses.",
			Repair:  "As above, a deadline that is kept by a clock. At the resource only a fencing token helps, and the library has none.",
		},
		{
			Title:    "With a round trip of 30 ms, nobody gets the lock.",
			Library:  rueidislock,
			Locks:    rueidislocks,
			Runs:     []string{"slow-link/single"},
			Property: checker.FaultTolerance, Assumption: checker.None,
			Takes: "A link on which a request and its reply take longer than TryNextAfter, 20 ms by default. Every key is set, given up and deleted again, without end.",
			Promise: "\"TryNextAfter is the timeout duration before trying the next redis key for locks. The default value is 20ms\" (package documentation). " +
				"The documentation does not say that it also bounds the time that the network may take.",
			Repair: "Set TryNextAfter well above the longest round trip.",
		},
		{
			Title:    "A holder renews its lock continuously, as fast as the network allows.",
			Library:  rueidislock,
			Locks:    []string{"rueidislock", "rueidislock-setpx"},
			Runs:     []string{"held-quietly/watchdog"},
			Quantity: checker.RoundTrips,
			Takes: "Client-side caching without NoLoopTracking, which is the default. From the first renewal on, each renewal changes the key, Redis notifies the client that the key has changed, and " +
				"the client renews the key once more to see whether it still holds the lock.",
			Promise:  "NoLoopTracking is there \"to avoid unnecessary notifications and thus have better performance\" (package documentation).",
			Repair:   "Set NoLoopTracking, for Redis from 7.0.5 on.",
			Repaired: []string{"rueidislock-one", "rueidislock-nocache"},
		},
	}
}
