package scenarios

import "lockstep/checker"

// A Finding is something that an unmodified library does worse than the lock of the literature in whose place it was put, or
// otherwise than its documentation says.
type Finding struct {
	Title   string   // one sentence
	Library string   // the path of its module
	Locks   []string // the configurations that have it, which are names of package lockstep/clients/libraries
	Runs    []string // of the catalogue, each of which shows it for each of Locks in the place of the lock that it names
	// Property is what is violated. It is empty where nothing is, and a Quantity tells.
	Property   checker.Property
	Assumption checker.Assumption // which broke with it; None says that it is the library's own fault
	Quantity   checker.Quantity
	Takes      string   // what has to come together
	Promise    string   // what the documentation says, in our words, and where
	Repair     string   // what helps
	Repaired   []string // configurations for which the same runs do not show it
}

const (
	redsync     = "github.com/go-redsync/redsync/v4"
	rueidislock = "github.com/redis/rueidis"
)

var (
	redsyncs     = []string{"redsync", "redsync-fail-fast", "redsync-setnx-extend", "redsync-timeout", "redsync-no-retries"}
	rueidislocks = []string{"rueidislock", "rueidislock-one", "rueidislock-setpx", "rueidislock-nocache"}
)

// Findings lists what the runs of the catalogue have shown of unmodified libraries, at the versions that go.mod names.
func Findings() []Finding {
	return []Finding{
		{
			Title:    "One hung node of three keeps everybody from the lock.",
			Library:  redsync,
			Locks:    []string{"redsync", "redsync-setnx-extend", "redsync-no-retries"},
			Runs:     []string{"hung-node-of-three/redlock/short"},
			Property: checker.FaultTolerance, Assumption: checker.None,
			Takes: "A node that accepts connections and does not answer, go-redis with its default options, and a TTL that is no longer than " +
				"its ReadTimeout, which is 5 s (and was 3 s before go-redis 9.22). Lock asks all nodes and waits for all of them. The context that it gives them ends after 5 % of the " +
				"TTL, but go-redis does not heed the deadline of a context while it waits for a reply on a connection that it has, unless told to. " +
				"So every attempt takes 5 s, after which its validity is over. With a longer TTL the lock is had, 5 s late.",
			Promise: "\"Redis-based distributed mutual exclusion lock implementation for Go as described in\" redis.io's page (README), " +
				"which asks for a timeout for one node that is small compared with the TTL, so that a client does not stay blocked by a node that is down " +
				"(redis.io, Distributed Locks, \"The Redlock Algorithm\", step 2). WithFailFast is documented for Redis servers that block.",
			Repair: "ContextTimeoutEnabled in the options of go-redis, so that the deadline counts; or a ReadTimeout well below the TTL. " +
				"WithFailFast(true), which goes on when a majority has answered, helps nearly always. With 4 of 200 seeds this run shows it all the same: a client asks while " +
				"another releases, one node has deleted the key and grants, one still has it and refuses, and the client waits for the hung node, here for ten seconds. " +
				"Unlock sets no deadline, and waits for the hung node all the same.",
			Repaired: []string{"redsync-timeout"},
		},
		{
			Title:    "An extension that most nodes do not answer returns when the lease is over.",
			Library:  redsync,
			Locks:    redsyncs,
			Runs:     []string{"extend-minority/redlock-extend"},
			Property: checker.ResourceExclusion, Assumption: checker.BoundedDelay,
			Takes: "A holder that is cut off from a majority and asks for an extension with 3.9 s left. Extend sets no timeout of its own, unlike Lock, " +
				"and waits for the replies that do not come: 5 s, and 20 s where go-redis repeats the commands, as it does by default. It reports the failure, rightly, " +
				"when the lease has been over for long and another client has it. Until says so, too. A caller who does not look, and goes on with what it was about to write " +
				"because a failed extension leaves the lease as it was, writes under a lease that is over.",
			Promise: "ExtendContext \"resets the mutex's expiry and returns the status of expiry extension\" (package documentation). It does not say how long that takes.",
			Repair: "Look at Until after Extend, whatever it returned: in the run extend-minority/redlock-extend/checked, which does, nothing is violated. " +
				"A ReadTimeout in go-redis that is small compared with the TTL should help as well; a deadline of one's own for the context counts with ContextTimeoutEnabled only.",
		},
		{
			Title:    "With a timeout that is a fraction of a short TTL, nobody gets the lock.",
			Library:  redsync,
			Locks:    []string{"redsync-timeout"},
			Runs:     []string{"redlock-slow-acquire/redlock/replies"},
			Property: checker.FaultTolerance, Assumption: checker.None,
			Takes: "WithTimeoutFactor(0.02), go-redis with ContextTimeoutEnabled, and a TTL of 42 ms: 0.84 ms for a round trip that takes 1 to 3. It needs no " +
				"fault: when everything has healed, a fresh client does not get the lock either. A request that is given up costs its connection, so that the next one has to dial first and is given up as well.",
			Promise: "WithTimeoutFactor \"can be used to set the timeout factor\" (package documentation). That it is a factor of the TTL, and what it must not fall below, is left to the reader.",
			Repair:  "Choose the factor so that the TTL times the factor is several round trips, and a dial.",
		},
		{
			Title:    "A node whose clock is ahead grants the lock to everybody.",
			Library:  rueidislock,
			Locks:    []string{"rueidislock", "rueidislock-one", "rueidislock-nocache"},
			Runs:     []string{"clock-offset/single"},
			Property: checker.LeaseExclusion, Assumption: checker.BoundedClockError,
			Takes: "A Redis whose clock is further ahead of a client's than the TTL, from the start and without a jump. The lock is taken with SET NX PXAT and an instant by the " +
				"client's clock. On that node the instant has passed: the answer is OK, and there is no key. A smaller offset shortens or prolongs the life of the key by as much.",
			Promise: "\"uses SET PXAT by default; set to true for Redis versions < 6.2\" (README, FallbackSETPX): an option for old servers, with no word about clocks.",
			Repair: "No option repairs all of it. With FallbackSETPX the lock is taken with a duration, and this run finds nothing wrong with it; but extensions send an instant all the same " +
				"(PEXPIREAT), and the first one deletes the key, so that the lock is lost after half its validity. Keep the clocks together.",
			Repaired: []string{"rueidislock-setpx"},
		},
		{
			Title:    "A holder that is cut off is told that the lock is lost long after it was.",
			Library:  rueidislock,
			Locks:    rueidislocks,
			Runs:     []string{"holder-cut-off/single", "holder-cut-off/watchdog"},
			Property: checker.LeaseExclusion, Assumption: checker.BoundedDelay,
			Takes: "A holder whose link to Redis is cut. Its key ends a TTL after the last renewal, and another client gets the lock. The context of the first " +
				"lives until the renewal in progress is given up, whose deadline is a TTL after it began: in this run the key ends at 10 s, and at 14 s the holder is still told that it holds.",
			Promise: "\"The returned ctx will be canceled automatically and immediately once the KeyMajority is not held anymore, for example: Redis are down\" (README).",
			Repair: "A deadline of the library's own at the end of the last renewal that was confirmed. A caller can keep one: note the time before each operation that was confirmed, and stop a TTL later. " +
				"No option changes it.",
		},
		{
			Title:    "A holder that slept believes that it holds, until somebody tells it otherwise.",
			Library:  rueidislock,
			Locks:    rueidislocks,
			Runs:     []string{"pause-after-acquire/single", "pause-after-check/single", "pause-fenced/single", "read-modify-write/single", "efficiency/single", "fixed-value/single"},
			Property: checker.LeaseExclusion, Assumption: checker.BoundedPause,
			Takes: "A pause that outlives the lease. With a lock that knows its end by a clock, the pause breaks exclusion at the resource only: by its own clock the holder " +
				"holds nothing any more. Here nothing in the holder's hands is over, since its context has no deadline: the news has to come by the network. " +
				"It does, some milliseconds after the holder wakes; until then it holds the lock together with another.",
			Promise: "The same sentence of the README. It names no pause.",
			Repair:  "As above: a deadline that is kept by a clock. At the resource nothing but a fencing token helps, and the library has none.",
		},
		{
			Title:    "With a round trip of 30 ms nobody gets the lock.",
			Library:  rueidislock,
			Locks:    rueidislocks,
			Runs:     []string{"slow-link/single"},
			Property: checker.FaultTolerance, Assumption: checker.None,
			Takes: "A link on which a request and its reply take longer than TryNextAfter, 20 ms by default. Every key is granted, given up and released again, without end.",
			Promise: "\"TryNextAfter is the timeout duration before trying the next redis key for locks. The default value is 20ms\" (package documentation). " +
				"That it also bounds what the network may take is not said.",
			Repair: "TryNextAfter well above the longest round trip.",
		},
		{
			Title:    "A holder renews its lock without a break, as fast as the network lets it.",
			Library:  rueidislock,
			Locks:    []string{"rueidislock", "rueidislock-setpx"},
			Runs:     []string{"held-quietly/watchdog"},
			Quantity: checker.RoundTrips,
			Takes: "Client-side caching without NoLoopTracking, which is the default. From the first renewal on, each changes the key, Redis tells the client that the key has changed, and " +
				"the client renews it once more to see whether it still holds it.",
			Promise:  "NoLoopTracking is there \"to avoid unnecessary notifications and thus have better performance\" (package documentation).",
			Repair:   "NoLoopTracking, for Redis from 7.0.5 on.",
			Repaired: []string{"rueidislock-one", "rueidislock-nocache"},
		},
	}
}
