package scenarios

import "lockstep/checker"

// A Claim is something that the sources say about locks on Redis, with the runs that bear on it.
type Claim struct {
	ID       string // as the argument goes: 13a and 13b answer each other
	Text     string
	By       []Voice
	Kind     ClaimKind
	Evidence []Evidence
	So       string // what the evidence comes to, in a sentence
}

// A Voice is who makes a claim, and where.
type Voice struct{ Who, Where string }

// ClaimKind says what the runs do to a claim.
type ClaimKind string

const (
	Shown     ClaimKind = "shown"     // they show that it is so
	Refuted   ClaimKind = "refuted"   // they show that it is not
	Agreed    ClaimKind = "agreed"    // both sides say so, and the runs show it
	Judgement ClaimKind = "judgement" // no run can settle it; the figures bear on it
)

// Evidence is one run, and what it must say about one property for the claim to stand as its kind has it. A figure that
// bears on a judgement names a quantity instead.
type Evidence struct {
	Run        string // SCENARIO/LOCK, and /LABEL if there is one
	Property   checker.Property
	Status     checker.Status
	Assumption checker.Assumption // that each violation breaks; empty if that does not matter
	Quantity   checker.Quantity
}

// What the claims quote. The documents are those of docs/sources.md.
var (
	kleppmann = func(where string) Voice {
		return Voice{"Kleppmann", `"How to do distributed locking" (2016), ` + where}
	}
	antirez = Voice{"antirez", `"Is Redlock safe?" (2016)`}
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
			[]Voice{reader("001_b66eeaed0a01f22e.txt, examples 1 to 3"), reader("000_d5a3169f29a5fb5d.txt, section 3")}, Shown,
			[]Evidence{
				breaks("lost-update/nolock", checker.NoLostUpdate, checker.None),
				keeps("lost-update/watch-retry", checker.NoLostUpdate),
				keeps("lost-update/single", checker.NoLostUpdate),
				breaks("crash-before-expire/setnx-expire", checker.DeadlockFreedom, checker.None),
			},
			"Two commands leave a gap, and whatever falls into it is lost: an increment, or the expiry of a lock.",
		},
		{
			"2", "A release must compare and delete in one step.",
			[]Voice{reader("000_d5a3169f29a5fb5d.txt, section 5"), redisIO("Correct Implementation with a Single Instance")}, Shown,
			[]Evidence{
				breaks("release-race/getdel", checker.OwnerOnly, checker.None),
				breaks("release-race/multidel", checker.OwnerOnly, checker.None),
				keeps("release-race/single", checker.OwnerOnly),
			},
			"A client that compares first and deletes afterwards deletes the lock of another. MULTI around the DEL alone does not help.",
		},
		{
			"3", "A lock needs an expiry, set in the command that takes it.",
			[]Voice{reader("000_d5a3169f29a5fb5d.txt, sections 2 to 4"), redisIO("Safety and Liveness Guarantees")}, Shown,
			[]Evidence{
				breaks("crash-no-ttl/setnx", checker.DeadlockFreedom, checker.None),
				breaks("partition-no-ttl/setnx", checker.DeadlockFreedom, checker.None),
				breaks("crash-before-expire/setnx-expire", checker.DeadlockFreedom, checker.None),
				keeps("crash-no-ttl/single", checker.DeadlockFreedom),
				keeps("crash-before-expire/single", checker.DeadlockFreedom),
			},
			"Without one a dead holder holds for ever; with a second command for it there is a moment in which it can die without one.",
		},
		{
			"4", "The value must be random and unique over all requests.",
			[]Voice{reader("000_d5a3169f29a5fb5d.txt, section 4"), reader("003_9f8f117e5abbaff8.txt"), redisIO("Correct Implementation with a Single Instance")}, Shown,
			[]Evidence{
				breaks("fixed-value/fixed", checker.OwnerOnly, checker.None),
				keeps("fixed-value/single", checker.OwnerOnly),
				breaks("token-collision/single-usec", checker.OwnerOnly, checker.None),
				keeps("token-collision/single", checker.OwnerOnly),
			},
			"A value that two requests share makes one release the lock of the other. A clock of microseconds is no random number.",
		},
		{
			"5", "A single Redis is enough, but only while it is up.",
			[]Voice{reader("000_d5a3169f29a5fb5d.txt"), redisIO("Why Failover-based Implementations Are Not Enough")}, Shown,
			[]Evidence{
				breaks("single-node-down/single", checker.FaultTolerance, ""),
				keeps("redlock-minority-down/redlock", checker.FaultTolerance),
				measures("single-node-down/single", checker.Unavailability),
			},
			"With the one node everything stops; Redlock does not notice that two of five are gone.",
		},
		{
			"6", "A lock on a primary with replicas can be handed out twice.",
			[]Voice{redisIO("Why Failover-based Implementations Are Not Enough"), antirez, kleppmann("What are you using that lock for?"), reader("000_d5a3169f29a5fb5d.txt, section 6"), reader("002_f1b5c80bdb6cfae4.txt")}, Shown,
			[]Evidence{
				breaks("failover-lag/single", checker.LeaseExclusion, checker.DurableNodes),
				keeps("failover-lag/single/replicated", checker.LeaseExclusion),
				breaks("failover-sentinel/single", checker.LeaseExclusion, checker.DurableNodes),
				breaks("failover-cluster/single", checker.LeaseExclusion, checker.DurableNodes),
				breaks("failover-clock/single-wait", checker.LeaseExclusion, checker.BoundedClockError),
				breaks("failover-wait-minority/single-wait", checker.LeaseExclusion, checker.DurableNodes),
			},
			"Replication is asynchronous, so a promotion can forget the lock. WAIT narrows the gap, and does not close it.",
		},
		{
			"7", "Redlock works as long as a majority of its nodes does.",
			[]Voice{redisIO("The Redlock Algorithm"), reader("004_751156ed7355e17b.txt")}, Shown,
			[]Evidence{
				keeps("redlock-minority-down/redlock", checker.FaultTolerance),
				keeps("redlock-majority-down/redlock", checker.LeaseExclusion),
				keeps("redlock-partition-halves/redlock", checker.LeaseExclusion),
				measures("redlock-majority-down/redlock", checker.Unavailability),
			},
			"A minority that is down changes nothing; without a majority nobody acquires, and nobody comes to harm.",
		},
		{
			"8", "What a restarted node does to Redlock depends on its persistence.",
			[]Voice{redisIO("Performance, Crash Recovery and fsync"), reader("000_d5a3169f29a5fb5d.txt"), reader("002_f1b5c80bdb6cfae4.txt")}, Shown,
			[]Evidence{
				breaks("crash-restart-5/redlock", checker.LeaseExclusion, checker.DurableNodes),
				breaks("crash-restart-3/redlock", checker.LeaseExclusion, checker.DurableNodes),
				breaks("crash-restart-aof/redlock/everysec-power", checker.LeaseExclusion, checker.DurableNodes),
				keeps("crash-restart-aof/redlock/everysec-kill", checker.LeaseExclusion),
				keeps("crash-restart-aof/redlock/always-power", checker.LeaseExclusion),
				breaks("crash-restart-aof/redlock/lying-power", checker.LeaseExclusion, checker.DurableNodes),
			},
			"A process that dies loses nothing that is in the append-only file; a machine that loses its power can, unless every write is on a disk that tells the truth.",
		},
		{
			"9", "Exclusion holds within the validity: the TTL less what acquiring took, less the drift of the clocks.",
			[]Voice{redisIO("The Redlock Algorithm"), reader("002_f1b5c80bdb6cfae4.txt"), reader("004_751156ed7355e17b.txt")}, Shown,
			[]Evidence{
				keeps("clock-drift/redlock/below", checker.LeaseExclusion),
				breaks("clock-drift/redlock/above", checker.LeaseExclusion, checker.BoundedClockError),
				keeps("redlock-slow-acquire/redlock/replies", checker.ExpiredOnReturn),
				measures("born-expired/redlock", checker.Validity),
			},
			"Inside the allowance nothing happens, outside it two clients hold.",
		},
		{
			"10", "A client that is paused is a danger under any lock that expires.",
			[]Voice{kleppmann("Protecting a resource with a lock, first figure"), antirez, reader("002_f1b5c80bdb6cfae4.txt")}, Agreed,
			[]Evidence{
				breaks("pause-after-acquire/single", checker.ResourceExclusion, checker.BoundedPause),
				breaks("pause-after-acquire/redlock", checker.ResourceExclusion, checker.BoundedPause),
				breaks("watchdog-pause/watchdog", checker.ResourceExclusion, checker.BoundedPause),
				keeps("pause-after-acquire/redlock", checker.LeaseExclusion),
			},
			"The leases never overlap, and yet the zombie writes. Five nodes do not help, and neither does a watchdog that sleeps with its master.",
		},
		{
			"11", "To check the lease before the write does not help.",
			[]Voice{kleppmann("Protecting a resource with a lock")}, Shown,
			[]Evidence{
				breaks("pause-after-check/single", checker.ResourceExclusion, checker.BoundedPause),
				breaks("pause-after-check/redlock", checker.ResourceExclusion, checker.BoundedPause),
			},
			"The pause comes after the check.",
		},
		{
			"12", "Fencing tokens keep a paused client out, once the resource has seen a newer one.",
			[]Voice{kleppmann("Making the lock safe with fencing, second figure"), reader("000_d5a3169f29a5fb5d.txt"), reader("002_f1b5c80bdb6cfae4.txt")}, Shown,
			[]Evidence{
				keeps("pause-fenced/fenced", checker.ResourceExclusion),
				breaks("pause-fenced/fenced/unchecked", checker.ResourceExclusion, checker.BoundedPause),
				keeps("crash-with-write-in-flight/fenced", checker.ResourceExclusion),
				breaks("fence-zombie-first/fenced", checker.ResourceExclusion, checker.BoundedPause),
				keeps("fence-zombie-first/fenced/write-at-once", checker.ResourceExclusion),
				keeps("token-in-name/fenced", checker.ResourceExclusion),
				breaks("token-after-failover/fenced", checker.Tokens, checker.DurableNodes),
			},
			"The resource must check them, and the counter must survive. A zombie that comes before the new holder has written is let in.",
		},
		{
			"13a", "Redlock has no token that grows with each grant.",
			[]Voice{kleppmann("Making the lock safe with fencing"), antirez}, Agreed,
			[]Evidence{
				breaks("pause-fenced/redlock", checker.ResourceExclusion, checker.BoundedPause),
				keeps("pause-fenced/fenced", checker.ResourceExclusion),
			},
			"A resource that compares tokens has nothing to compare; with a counter it refuses the zombie.",
		},
		{
			"13b", "A random token, compared before each write, does as well.",
			[]Voice{antirez}, Refuted,
			[]Evidence{
				keeps("token-check-and-set/redlock/update", checker.NoLostUpdate),
				breaks("token-check-and-set/redlock/entry", checker.ResourceExclusion, checker.BoundedPause),
			},
			"Compare-and-set protects a read-modify-write. It does not order two clients: a zombie that enters late takes the resource from its rightful holder.",
		},
		{
			"14a", "Redlock depends on clocks.",
			[]Voice{kleppmann("Breaking Redlock with bad timings"), reader("002_f1b5c80bdb6cfae4.txt")}, Shown,
			[]Evidence{
				breaks("clock-jump/redlock", checker.LeaseExclusion, checker.BoundedClockError),
				breaks("clock-drift/redlock/above", checker.LeaseExclusion, checker.BoundedClockError),
				breaks("client-clock-drift/redlock/beyond", checker.LeaseExclusion, checker.BoundedClockError),
				breaks("client-clock-jump/redlock-wall", checker.LeaseExclusion, checker.BoundedClockError),
			},
			"On those of its nodes, and on that of its holder.",
		},
		{
			"14b", "It depends only on a bounded error of their rates.",
			[]Voice{antirez}, Refuted,
			[]Evidence{
				keeps("clock-drift/redlock/below", checker.LeaseExclusion),
				keeps("client-clock-drift/redlock/within", checker.LeaseExclusion),
				keeps("client-clock-jump/redlock", checker.LeaseExclusion),
				breaks("clock-jump/redlock", checker.LeaseExclusion, checker.BoundedClockError),
			},
			"It is so of clients that use a steady clock. Nodes keep deadlines by the clock on the wall, which is not only a rate; antirez grants that, and wants it kept from being set.",
		},
		{
			"15", "A clock that is set in one step breaks it.",
			[]Voice{kleppmann("Breaking Redlock with bad timings"), antirez}, Agreed,
			[]Evidence{
				breaks("clock-jump/redlock", checker.LeaseExclusion, checker.BoundedClockError),
				breaks("clock-step-vs-slew/redlock/step", checker.LeaseExclusion, checker.BoundedClockError),
				keeps("clock-step-vs-slew/redlock/slew", checker.LeaseExclusion),
				keeps("leap-second/redlock-wall/smear", checker.LeaseExclusion),
			},
			"The same correction does harm as one step and none when it is spread. Whether operations can see to that is where the two differ, and no run can tell.",
		},
		{
			"16", "Delay before the client compares the time that has passed is harmless.",
			[]Voice{antirez, {"Kleppmann", "as quoted in 002_f1b5c80bdb6cfae4.txt, the last exchange of the two"}}, Agreed,
			[]Evidence{
				keeps("pause-in-acquire/redlock", checker.ExpiredOnReturn),
				keeps("delay-to-lock-server/redlock", checker.LeaseExclusion),
				keeps("redlock-slow-acquire/redlock/replies", checker.ExpiredOnReturn),
			},
			"What comes too late is refused, whether a reply has waited in a socket or has not come at all.",
		},
		{
			"17", "Delay on the way to the resource is harmful (Kleppmann), and that under every lock that expires (antirez).",
			[]Voice{kleppmann("Protecting a resource with a lock"), antirez}, Agreed,
			[]Evidence{
				breaks("delay-to-resource/single", checker.ResourceExclusion, checker.BoundedDelay),
				breaks("delay-to-resource/redlock", checker.ResourceExclusion, checker.BoundedDelay),
				keeps("delay-to-resource/fenced", checker.ResourceExclusion),
				breaks("crash-with-write-in-flight/redlock", checker.ResourceExclusion, checker.BoundedDelay),
			},
			"No pause is needed: a packet that is late does the same.",
		},
		{
			"18", "Delayed restarts repair crashes (antirez); they depend on clocks, too (Kleppmann).",
			[]Voice{antirez, redisIO("Performance, Crash Recovery and fsync"), kleppmann("Breaking Redlock with bad timings"), reader("002_f1b5c80bdb6cfae4.txt")}, Shown,
			[]Evidence{
				keeps("delayed-restart/redlock", checker.LeaseExclusion),
				breaks("delayed-restart/redlock/too-short", checker.LeaseExclusion, checker.DurableNodes),
				breaks("delayed-restart-clock/redlock", checker.LeaseExclusion, checker.BoundedClockError),
				measures("delayed-restart-majority/redlock", checker.Unavailability),
			},
			"A wait of one TTL is enough if it is one TTL; when a majority waits, everybody does.",
		},
		{
			"19", "For efficiency one node is enough; for correctness five are not.",
			[]Voice{kleppmann("What are you using that lock for?")}, Judgement,
			[]Evidence{
				measures("efficiency/single", checker.RoundTrips),
				measures("efficiency/redlock", checker.RoundTrips),
				measures("efficiency/single", checker.DuplicateWork),
				measures("efficiency/redlock", checker.DuplicateWork),
				breaks("pause-after-acquire/redlock", checker.ResourceExclusion, checker.BoundedPause),
			},
			"Five nodes cost five times the messages, and a pause does the same work twice with either.",
		},
		{
			"20", "Who has fencing does not need so strong a lock.",
			[]Voice{antirez}, Judgement,
			[]Evidence{
				keeps("pause-fenced/fenced", checker.ResourceExclusion),
				keeps("read-modify-write/fenced", checker.NoLostUpdate),
				breaks("token-after-failover/fenced", checker.Tokens, checker.DurableNodes),
				measures("efficiency/single", checker.RoundTrips),
			},
			"With a resource that checks, one node with a counter does; then the counter is what must not be lost.",
		},
		{
			"21", "A good algorithm loses only liveness to bad timing, never safety.",
			[]Voice{kleppmann("Using time to solve consensus")}, Judgement,
			[]Evidence{
				breaks("pause-after-acquire/redlock", checker.ResourceExclusion, checker.BoundedPause),
				breaks("clock-jump/redlock", checker.LeaseExclusion, checker.BoundedClockError),
				breaks("delay-to-resource/redlock", checker.ResourceExclusion, checker.BoundedDelay),
				keeps("pause-fenced/fenced", checker.ResourceExclusion),
				keeps("delay-to-resource/fenced", checker.ResourceExclusion),
				breaks("fence-zombie-first/fenced", checker.ResourceExclusion, checker.BoundedPause),
			},
			"No lock here does. With tokens and a resource that checks them, what is left is the write that comes before the new token.",
		},
	}
}
