package scenarios

import "lockstep/checker"

// A Claim is a statement that the sources make about locks on Redis, with the runs that bear on it.
type Claim struct {
	ID       string // in the order of the argument; 13a and 13b answer each other
	Text     string
	By       []Voice
	Kind     ClaimKind
	Evidence []Evidence
	So       string // what the evidence shows, in a sentence or a few
}

// A Voice says who makes a claim, and where.
type Voice struct{ Who, Where string }

// ClaimKind says what the runs show about a claim.
type ClaimKind string

const (
	Shown     ClaimKind = "shown"     // the runs show that it is true
	Refuted   ClaimKind = "refuted"   // the runs show that it is false
	Depends   ClaimKind = "depends"   // the runs show that it is true for one goal, and not for another
	Agreed    ClaimKind = "agreed"    // both sides make it, and the runs show that it is true
	Judgement ClaimKind = "judgement" // no run can settle it; figures bear on it
)

// Evidence is one run, and what it must show about one property for the claim's kind to be right. A figure that bears on a
// judgement names a quantity instead.
type Evidence struct {
	Run        string // SCENARIO/LOCK, and /LABEL if there is one
	Property   checker.Property
	Status     checker.Status
	Assumption checker.Assumption // that each violation must break; empty if that does not matter
	Quantity   checker.Quantity
}

// The voices that the claims quote. The documents are those of docs/sources.md.
var (
	kleppmann = func(where string) Voice {
		return Voice{"Kleppmann", `"How to do distributed locking" (2016), ` + where}
	}
	antirez = func(where string) Voice { return Voice{"antirez", `"Is Redlock safe?" (2016), ` + where} }
	ddia    = func(where string) Voice {
		return Voice{"Kleppmann and Riccomini", `"Designing Data-Intensive Applications" (2nd edition, 2026), ` + where}
	}
	redisIO = func(where string) Voice { return Voice{"redis.io", `"Distributed Locks with Redis", ` + where} }
	reader  = func(document string) Voice { return Voice{"the documents", document} }
)

func breaks(run string, p checker.Property, a checker.Assumption) Evidence {
	return Evidence{Run: run, Property: p, Status: checker.Violated, Assumption: a}
}

func keeps(run string, p checker.Property) Evidence {
	return Evidence{Run: run, Property: p, Status: checker.OK}
}

func measures(run string, q checker.Quantity) Evidence { return Evidence{Run: run, Quantity: q} }

// Claims returns what the sources claim, in the order of the argument.
func Claims() []Claim {
	return []Claim{
		{
			"1", "Every Redis command is atomic; a sequence of commands is not.",
			[]Voice{reader("nemo2018, examples 1 to 3"), reader("anon2023, part 1, section 3")}, Shown,
			[]Evidence{
				breaks("lost-update/nolock", checker.NoLostUpdate, checker.None),
				keeps("lost-update/watch-retry", checker.NoLostUpdate),
				keeps("lost-update/single", checker.NoLostUpdate),
				breaks("crash-before-expire/setnx-expire", checker.DeadlockFreedom, checker.None),
			},
			"Two commands leave a gap. Whatever falls into it is lost: an increment, or the expiry of a lock.",
		},
		{
			"2", "A release must compare and delete in one step.",
			[]Voice{reader("anon2023, part 1, section 5"), redisIO("Correct Implementation with a Single Instance")}, Shown,
			[]Evidence{
				breaks("release-race/getdel", checker.OwnerOnly, checker.None),
				breaks("release-race/multidel", checker.OwnerOnly, checker.None),
				keeps("release-race/single", checker.OwnerOnly),
			},
			"A client that compares first and deletes afterwards can delete another client's lock. MULTI around the DEL alone does not help.",
		},
		{
			"3", "A lock needs an expiry, set in the command that takes it.",
			[]Voice{reader("anon2023, part 1, sections 2 to 4"), redisIO("Safety and Liveness Guarantees")}, Shown,
			[]Evidence{
				breaks("crash-no-ttl/setnx", checker.DeadlockFreedom, checker.None),
				breaks("partition-no-ttl/setnx", checker.DeadlockFreedom, checker.None),
				breaks("crash-before-expire/setnx-expire", checker.DeadlockFreedom, checker.None),
				keeps("crash-no-ttl/single", checker.DeadlockFreedom),
				keeps("crash-before-expire/single", checker.DeadlockFreedom),
			},
			"Without an expiry, a holder that dies keeps the lock for ever. If a second command sets the expiry, the holder can die between the two.",
		},
		{
			"4", "The value must be unique across all clients and all requests, as a random value is.",
			[]Voice{reader("anon2023, part 1, section 4"), reader("anon-setnx"), redisIO("Correct Implementation with a Single Instance")}, Shown,
			[]Evidence{
				breaks("fixed-value/fixed", checker.OwnerOnly, checker.None),
				keeps("fixed-value/single", checker.OwnerOnly),
				breaks("token-collision/single-usec", checker.OwnerOnly, checker.None),
				keeps("token-collision/single", checker.OwnerOnly),
			},
			"If two requests share a value, one releases the lock of the other. The time in microseconds, as PHP's uniqid returns it, can be the same on two machines. The Redis documentation appends a client ID to the time; no run here contradicts that.",
		},
		{
			"5", "A single Redis is enough, but only while it is up.",
			[]Voice{redisIO("Why Failover-based Implementations Are Not Enough"), redisIO("Correct Implementation with a Single Instance"), reader("why2020"), reader("anon-setnx")}, Shown,
			[]Evidence{
				breaks("single-node-down/single", checker.FaultTolerance, ""),
				keeps("redlock-minority-down/redlock", checker.FaultTolerance),
				measures("single-node-down/single", checker.Unavailability),
			},
			"With one node, everything stops while it is down. Redlock's clients go on with two of five nodes down.",
		},
		{
			"6", "A lock on a primary with replicas can be handed out twice.",
			[]Voice{redisIO("Why Failover-based Implementations Are Not Enough"), antirez("the introduction"), kleppmann("What are you using that lock for?"), reader("anon2023, part 1, section 6"), reader("why2020")}, Shown,
			[]Evidence{
				breaks("failover-lag/single", checker.LeaseExclusion, checker.DurableNodes),
				keeps("failover-lag/single/replicated", checker.LeaseExclusion),
				breaks("failover-sentinel/single", checker.LeaseExclusion, checker.DurableNodes),
				breaks("failover-cluster/single", checker.LeaseExclusion, checker.DurableNodes),
				breaks("failover-clock/single-wait", checker.LeaseExclusion, checker.BoundedClockError),
				breaks("failover-wait-minority/single-wait", checker.LeaseExclusion, checker.DurableNodes),
			},
			"Replication is asynchronous, so the lock can be lost when a replica is promoted. WAIT narrows the gap but does not close it.",
		},
		{
			"7", "Redlock works as long as a majority of its nodes does.",
			[]Voice{redisIO("Safety and Liveness Guarantees, Liveness property B"), reader("why2020")}, Shown,
			[]Evidence{
				keeps("redlock-minority-down/redlock", checker.FaultTolerance),
				keeps("redlock-majority-down/redlock", checker.LeaseExclusion),
				keeps("redlock-partition-halves/redlock", checker.LeaseExclusion),
				measures("redlock-majority-down/redlock", checker.Unavailability),
			},
			"A minority that is down changes nothing. Without a majority nobody acquires the lock, and no two clients hold it.",
		},
		{
			"8", "Whether a restarted node breaks Redlock depends on its persistence.",
			[]Voice{redisIO("Performance, Crash Recovery and fsync"), reader("anon2023, part 2, section 2"), reader("why2020")}, Shown,
			[]Evidence{
				breaks("crash-restart-5/redlock", checker.LeaseExclusion, checker.DurableNodes),
				breaks("crash-restart-3/redlock", checker.LeaseExclusion, checker.DurableNodes),
				breaks("crash-restart-aof/redlock/rdb-kill", checker.LeaseExclusion, checker.DurableNodes),
				breaks("crash-restart-aof/redlock/everysec-power", checker.LeaseExclusion, checker.DurableNodes),
				keeps("crash-restart-aof/redlock/everysec-kill", checker.LeaseExclusion),
				keeps("crash-restart-aof/redlock/always-power", checker.LeaseExclusion),
				breaks("crash-restart-aof/redlock/lying-power", checker.LeaseExclusion, checker.DurableNodes),
			},
			"With Redis's default, snapshots and no append-only file, a process that is killed forgets the lock. What is in the append-only file survives the process. It survives a power loss only if every write is synchronized and the disk is honest about it.",
		},
		{
			"9", "Exclusion holds within the validity: the TTL less the time that acquiring took, less the drift of the clocks.",
			[]Voice{redisIO("Is the Algorithm Asynchronous?"), redisIO("Safety Arguments"), reader("anon2023, part 2, section 3")}, Shown,
			[]Evidence{
				keeps("clock-drift/redlock/below", checker.LeaseExclusion),
				breaks("clock-drift/redlock/above", checker.LeaseExclusion, checker.BoundedClockError),
				keeps("redlock-slow-acquire/redlock/replies", checker.ExpiredOnReturn),
				measures("born-expired/redlock", checker.Validity),
			},
			"While the drift is within the allowance, exclusion holds. Beyond the allowance, two clients hold the lock.",
		},
		{
			"10", "A paused client is a danger under any lock that expires.",
			[]Voice{kleppmann("Protecting a resource with a lock, first figure"), antirez("Distributed locks, auto release, and tokens"), reader("why2020")}, Agreed,
			[]Evidence{
				breaks("pause-after-acquire/single", checker.ResourceExclusion, checker.BoundedPause),
				breaks("pause-after-acquire/redlock", checker.ResourceExclusion, checker.BoundedPause),
				breaks("watchdog-pause/watchdog", checker.ResourceExclusion, checker.BoundedPause),
				keeps("pause-after-acquire/redlock", checker.LeaseExclusion),
			},
			"The leases never overlap, and yet the paused client writes. Five nodes do not help: a quorum protects what the nodes remember, and nobody asks the nodes when the write arrives. Nor does a watchdog help, because it is paused together with its process.",
		},
		{
			"11", "Checking the lease before the write does not help.",
			[]Voice{kleppmann("Protecting a resource with a lock")}, Shown,
			[]Evidence{
				breaks("pause-after-check/single", checker.ResourceExclusion, checker.BoundedPause),
				breaks("pause-after-check/redlock", checker.ResourceExclusion, checker.BoundedPause),
			},
			"The client is paused after the check.",
		},
		{
			"12", "Fencing tokens keep a paused client out, once the resource has seen a newer token.",
			[]Voice{kleppmann("Making the lock safe with fencing, second figure"), reader("anon2023, part 2, section 3"), reader("why2020")}, Shown,
			[]Evidence{
				keeps("pause-fenced/fenced", checker.ResourceExclusion),
				breaks("pause-fenced/fenced/unchecked", checker.ResourceExclusion, checker.BoundedPause),
				keeps("crash-with-write-in-flight/fenced", checker.ResourceExclusion),
				breaks("fence-zombie-first/fenced", checker.ResourceExclusion, checker.BoundedPause),
				keeps("fence-zombie-first/fenced/write-at-once", checker.ResourceExclusion),
				breaks("fence-or-check-and-set/fenced/read-first", checker.NoLostUpdate, checker.BoundedPause),
				keeps("token-in-name/fenced", checker.ResourceExclusion),
				breaks("token-after-failover/fenced", checker.Tokens, checker.DurableNodes),
			},
			"The resource must check the tokens, and the counter must survive. A zombie that writes before the new holder has written is let in; if the new holder has read by then, an update is lost.",
		},
		{
			"13a", "Redlock has no token that grows with each grant.",
			[]Voice{kleppmann("Making the lock safe with fencing"), antirez("Distributed locks, auto release, and tokens")}, Agreed,
			[]Evidence{
				breaks("pause-fenced/redlock", checker.ResourceExclusion, checker.BoundedPause),
				keeps("pause-fenced/fenced", checker.ResourceExclusion),
			},
			"A resource that compares tokens has nothing to compare. With a lock that has a counter, it refuses the zombie.",
		},
		{
			"13b", "A random token serves the same purpose, if the resource compares it and writes in one step.",
			[]Voice{antirez("Distributed locks, auto release, and tokens, point 3"), ddia("Fencing off zombies and delayed requests")}, Depends,
			[]Evidence{
				breaks("fence-or-check-and-set/fenced/read-first", checker.NoLostUpdate, checker.BoundedPause),
				keeps("fence-or-check-and-set/redlock/read-first", checker.NoLostUpdate),
				keeps("fence-or-check-and-set/fenced/written-first", checker.ResourceExclusion),
				breaks("fence-or-check-and-set/redlock/written-first", checker.ResourceExclusion, checker.BoundedPause),
				keeps("token-check-and-set/redlock/update", checker.NoLostUpdate),
				keeps("token-check-and-set/redlock/entry", checker.NoLostUpdate),
			},
			"For updates it does, and better than fencing: in one schedule the compare-and-set keeps an update that fencing loses. For the order of the clients it does not: in another schedule fencing refuses the client whose lease has ended, and the compare-and-set lets it in.",
		},
		{
			"14a", "Redlock depends on clocks.",
			[]Voice{kleppmann("Breaking Redlock with bad timings"), reader("why2020")}, Shown,
			[]Evidence{
				breaks("clock-jump/redlock", checker.LeaseExclusion, checker.BoundedClockError),
				breaks("clock-drift/redlock/above", checker.LeaseExclusion, checker.BoundedClockError),
				breaks("client-clock-drift/redlock/beyond", checker.LeaseExclusion, checker.BoundedClockError),
				breaks("client-clock-jump/redlock-wall", checker.LeaseExclusion, checker.BoundedClockError),
			},
			"It depends on the clocks of its nodes and on the holder's clock.",
		},
		{
			"14b", "The clocks need not show the same time; they only have to run at nearly the same rate.",
			[]Voice{antirez("Let's talk about system models"), redisIO("Is the Algorithm Asynchronous?")}, Shown,
			[]Evidence{
				keeps("clock-offset/redlock", checker.LeaseExclusion),
				keeps("clock-drift/redlock/below", checker.LeaseExclusion),
				keeps("client-clock-drift/redlock/within", checker.LeaseExclusion),
				keeps("client-clock-jump/redlock", checker.LeaseExclusion),
				breaks("clock-drift/redlock/far", checker.LeaseExclusion, checker.BoundedClockError),
				breaks("clock-drift/redlock/tenth", checker.LeaseExclusion, checker.BoundedClockError),
				breaks("clock-jump/redlock", checker.LeaseExclusion, checker.BoundedClockError),
			},
			"This holds for the algorithm as long as the error is within its allowance. The usual allowance is one per cent; errors of 5 and 10 % (antirez's example) break it. Redis does not give the algorithm the clock that it assumes: Redis expires keys by the wall clock, which can be set.",
		},
		{
			"15", "Setting a node's clock forward in one step breaks Redlock.",
			[]Voice{kleppmann("Breaking Redlock with bad timings"), antirez("Let's talk about system models")}, Agreed,
			[]Evidence{
				breaks("clock-jump/redlock", checker.LeaseExclusion, checker.BoundedClockError),
				breaks("clock-step-vs-slew/redlock/step", checker.LeaseExclusion, checker.BoundedClockError),
				keeps("clock-jump-back/redlock", checker.LeaseExclusion),
				keeps("clock-step-vs-slew/redlock/slew", checker.LeaseExclusion),
				breaks("clock-step-vs-slew/redlock/fast-slew", checker.LeaseExclusion, checker.BoundedClockError),
				keeps("leap-second/redlock-wall/smear", checker.LeaseExclusion),
			},
			"A step back only makes clients wait. Spreading the correction, as antirez advises, helps if its rate is within the allowance: at ntpd's 500 ppm the same correction does no harm; at the 83,333 ppm that chrony may use by default, it does. Whether operations can see to that is where the two differ, and no run can tell.",
		},
		{
			"16a", "Late messages between a client and the lock's servers do not harm safety.",
			[]Voice{antirez("Network delays & co"), {"Kleppmann", "as quoted in why2020, the last exchange of the two"}}, Agreed,
			[]Evidence{
				keeps("delay-to-lock-server/redlock", checker.LeaseExclusion),
				keeps("delay-to-lock-server/redlock/replies", checker.LeaseExclusion),
				keeps("redlock-slow-acquire/redlock/replies", checker.ExpiredOnReturn),
				measures("delay-to-lock-server/redlock/replies", checker.Wait),
			},
			"A client refuses a lease whose grant comes too late. Late messages do harm liveness: keys that were set for a client that has given up keep the others out for up to one TTL.",
		},
		{
			"16b", "A client that is paused while the replies wait for it resumes and believes that it holds a lock that another client holds.",
			[]Voice{kleppmann("Breaking Redlock with bad timings, second example")}, Refuted,
			[]Evidence{
				keeps("pause-in-acquire/redlock", checker.LeaseExclusion),
				keeps("pause-in-acquire/redlock-sequential", checker.LeaseExclusion),
			},
			"A client of Redlock as specified measures how long acquiring took, and refuses the lock, as antirez answered. A pause after that measurement is another matter: it is Kleppmann's first example, and it affects every lock that expires.",
		},
		{
			"17", "Delay on the way to the resource does harm (Kleppmann), and it does so under every lock that expires (antirez).",
			[]Voice{kleppmann("Protecting a resource with a lock"), antirez("Network delays & co")}, Agreed,
			[]Evidence{
				breaks("delay-to-resource/single", checker.ResourceExclusion, checker.BoundedDelay),
				breaks("delay-to-resource/redlock", checker.ResourceExclusion, checker.BoundedDelay),
				keeps("delay-to-resource/fenced", checker.ResourceExclusion),
				breaks("crash-with-write-in-flight/redlock", checker.ResourceExclusion, checker.BoundedDelay),
			},
			"No pause is needed: a late packet has the same effect.",
		},
		{
			"18", "Delayed restarts make up for crashes (antirez); they depend on clocks, too (Kleppmann).",
			[]Voice{antirez("Fsync or not?"), redisIO("Performance, Crash Recovery and fsync"), kleppmann("Breaking Redlock with bad timings"), reader("why2020")}, Shown,
			[]Evidence{
				keeps("delayed-restart/redlock", checker.LeaseExclusion),
				breaks("delayed-restart/redlock/too-short", checker.LeaseExclusion, checker.DurableNodes),
				breaks("delayed-restart-clock/redlock", checker.LeaseExclusion, checker.BoundedClockError),
				measures("delayed-restart-majority/redlock", checker.Unavailability),
			},
			"A wait slightly longer than the largest TTL is enough, if it is measured correctly. While a majority of the nodes waits, nobody can acquire.",
		},
		{
			"19", "For efficiency one node is enough; for correctness five nodes are not.",
			[]Voice{kleppmann("What are you using that lock for?")}, Judgement,
			[]Evidence{
				measures("efficiency/single", checker.RoundTrips),
				measures("efficiency/redlock", checker.RoundTrips),
				measures("efficiency/single", checker.DuplicateWork),
				measures("efficiency/redlock", checker.DuplicateWork),
				breaks("pause-after-acquire/redlock", checker.ResourceExclusion, checker.BoundedPause),
			},
			"Five nodes cost five times the messages. With either number, a pause leads to the same work being done twice.",
		},
		{
			"20", "With fencing, so strong a lock is not needed.",
			[]Voice{antirez("Distributed locks, auto release, and tokens")}, Judgement,
			[]Evidence{
				keeps("pause-fenced/fenced", checker.ResourceExclusion),
				keeps("read-modify-write/fenced", checker.NoLostUpdate),
				breaks("token-after-failover/fenced", checker.Tokens, checker.DurableNodes),
				measures("efficiency/single", checker.RoundTrips),
			},
			"With a resource that checks tokens, one node with a counter is enough. Then the counter must not be lost.",
		},
		{
			"21", "In a good algorithm, bad timing can cost liveness, but never safety.",
			[]Voice{kleppmann("Using time to solve consensus")}, Judgement,
			[]Evidence{
				breaks("pause-after-acquire/redlock", checker.ResourceExclusion, checker.BoundedPause),
				breaks("clock-jump/redlock", checker.LeaseExclusion, checker.BoundedClockError),
				breaks("delay-to-resource/redlock", checker.ResourceExclusion, checker.BoundedDelay),
				keeps("pause-fenced/fenced", checker.ResourceExclusion),
				keeps("delay-to-resource/fenced", checker.ResourceExclusion),
				breaks("fence-zombie-first/fenced", checker.ResourceExclusion, checker.BoundedPause),
			},
			"None of the locks in these runs is such an algorithm. With tokens and a resource that checks them, one danger remains: a late write that arrives before the new holder has written.",
		},
	}
}
