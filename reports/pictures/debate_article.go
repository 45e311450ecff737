package pictures

// This file has the text of the debate. The text says what happens in a run, but never how the run came out: that is read from
// the run when the site is written. {10} stands for a link to claim 10.

const debateTitle = "Is Redlock safe? The argument as runs"

// A debateChapter is a page of the debate.
type debateChapter struct {
	File, Short, Title string
	Opening            []string
	Entries            []debateEntry
}

// A debateEntry is what is said of one claim.
type debateEntry struct {
	Claim, Heading string
	Run            string   // what happens in the runs
	Runs           []string // the run that is drawn, and one to compare it with
	Decides        string   // which assumption the outcome depends on, and how
	Sides          [2]debateSide
}

// A debateSide is a side that one can take, and what one has to believe for it.
type debateSide struct{ Who, Believes string }

var debateChapters = []debateChapter{
	{
		File: "basics.html", Short: "Basics", Title: "What a lock on Redis is made of",
		Opening: []string{
			"Both authors agree on the basics, and so does everybody else. A lock on Redis is a key. The client that creates the key holds the lock, and the client that deletes the key gives the lock back. Four rules about that key were each learnt from a lock that went wrong without them. They amount to one command to acquire, `SET` with `NX`, an expiry and a random value, and one script to release.",
			"The third rule, the expiry, is the one that the rest of the argument is about.",
		},
		Entries: []debateEntry{
			{
				Claim: "1", Heading: "One command is atomic, two are not",
				Run:     "Two clients read a counter, and each writes back one more than it has read. Between the first client's read and its write, the second client reads the same number. A client that uses `WATCH` is told that the key has changed, and tries again. A client that takes a lock keeps the other out until it has written. (In nemo20's experiment with `WATCH`, two clients try 100,000 increments each and do not try again: 33,043 and 63,228 are refused, which leaves 200,000 − 33,043 − 63,228 = 103,729. None of these is lost.) The same gap exists between `SETNX` and `EXPIRE`, where it leaves a lock that never ends.",
				Runs:    []string{"lost-update/nolock", "lost-update/single"},
				Decides: "Nothing about the environment. No clock is wrong and no server fails: two clients at the same time are enough.",
				Sides: [2]debateSide{
					{"Using two commands", "that no other client ever comes between them, or that nobody will miss what is lost then."},
					{"Insisting on one", "that whatever can come between two commands will do so some day."},
				},
			},
			{
				Claim: "2", Heading: "Release only your own lock",
				Run:     "The first client reads the key and finds its own value. While the reply is on its way, the lease ends and a second client takes the lock. The first client goes on to delete the key, which now belongs to the second, and a third client gets the lock while the second still holds it. Wrapping the `DEL` in `MULTI` changes nothing, since the comparison stays outside. One script that compares and deletes leaves no gap.",
				Runs:    []string{"release-race/getdel", "release-race/single"},
				Decides: "Nothing about the environment. A reply that takes seconds makes the gap wide enough to see; it is there however narrow.",
				Sides: [2]debateSide{
					{"Comparing in the client", "that what is left of a lease is always longer than a round trip."},
					{"Using a script", "only what Redis promises: that nothing else happens while a script runs."},
				},
			},
			{
				Claim: "3", Heading: "A lock has to expire by itself",
				Run:     "A client sets the key and dies before a second command has given it an expiry. Nobody may delete another client's key, so nobody ever does. A lock without any expiry gets stuck in the same way when its holder dies or is cut off for good. With the expiry in the command that takes the lock, the others wait for one TTL, the time for which the key lives. (The *probe* in the picture is a client that asks for the lock when all faults have healed, so that a stuck lock is noticed.)",
				Runs:    []string{"crash-before-expire/setnx-expire", "crash-before-expire/single"},
				Decides: "Nothing about the environment. That a client can die at any moment breaks no promise; a lock must survive it.",
				Sides: [2]debateSide{
					{"Doing without an expiry", "that holders do not die, or that somebody is awake to delete what they leave behind."},
					{"Having one", "that a lock held for ever is worse than one that may end too early. {10} and the claims after it are about the price of that."},
				},
			},
			{
				Claim: "4", Heading: "A value that nobody else has",
				Run:     "All clients write the same value. The first client is paused past the end of its lease, resumes, and deletes the key. It takes the key for its own, but by then the key belongs to the second client, and a third client gets the lock. With a random value, the script finds a different value and leaves the key alone. A value that is nothing but the time in microseconds, such as that of PHP's `uniqid`, is not unique: two machines whose clocks differ can produce the same one.",
				Runs:    []string{"fixed-value/fixed", "fixed-value/single"},
				Decides: "Nothing about the environment. The pause only brings the mistake to light: with a unique value, the same client is paused for as long and deletes nothing.",
				Sides: [2]debateSide{
					{"Using the time", "that no two requests, on any two machines, ever see the same microsecond; or, with the Redis documentation, that the time with the client's ID appended is probably sufficient in most environments."},
					{"Drawing it at random", "that twenty random bytes never come twice."},
				},
			},
		},
	},
	{
		File: "one-redis.html", Short: "One Redis", Title: "One Redis, and replicas of it",
		Opening: []string{
			"With those four rules a single Redis makes a usable lock. It is also a single point of failure. The obvious remedy is a replica that takes over. antirez designed Redlock to replace that remedy; Kleppmann would use such a pair only for locks that may fail now and then.",
		},
		Entries: []debateEntry{
			{
				Claim: "5", Heading: "One node is a single point of failure",
				Run:     "The only Redis goes down, and comes back some seconds later. Meanwhile the lock is free, and a client that wants it cannot have it. In the other run, two of Redlock's five nodes are down for good, and its clients acquire and release as if nothing were wrong.",
				Runs:    []string{"single-node-down/single"},
				Decides: "Nothing about the environment, as the checker sees it. Fault tolerance means surviving a server that goes down, and one node has none. While the node is down nobody can take the lock, and no two clients hold it. Whether that is acceptable is for you to say.",
				Sides: [2]debateSide{
					{"One node is enough", "that the work can wait for as long as a restart takes."},
					{"It is not", "that waiting costs more than running five servers and looking after them."},
				},
			},
			{
				Claim: "6", Heading: "A replica without the key",
				Run:     "The primary grants the lock and replies at once, while the key is still on its way to the replica. The primary dies, the replica is promoted without the key, and it grants the lock to another client. It makes no difference whether a person, Sentinel or Redis Cluster promotes it. A client that uses `WAIT` has its key on a replica before it relies on the lock, but another replica may be promoted, or the right one may have a clock that is ahead.",
				Runs:    []string{"failover-lag/single", "failover-lag/single/replicated"},
				Decides: "Whether what a server has acknowledged survives the loss of that server. Replication in Redis is asynchronous, and does not promise it. In one run the replica's clock decides instead.",
				Sides: [2]debateSide{
					{"Relying on a replica", "that failovers are rare, and that a lock that is held twice after one does little harm."},
					{"Wanting more", "that a failover will come when it matters, and that acknowledgements that do not bind the failover are not agreement."},
				},
			},
		},
	},
	{
		File: "redlock.html", Short: "Redlock", Title: "How Redlock is meant to work",
		Opening: []string{
			"Redlock asks five servers that know nothing of each other. A client sets the key on all of them, each with the same random value and expiry. It notes the time before and after. The client holds the lock if at least three servers have said yes and less time has passed than the key lives. It then holds the lock for what is left of the TTL, less an allowance for clocks that run at different rates. Otherwise it deletes the key on all nodes, including those that seem to have refused, and tries again after a random delay. It waits for each node only a few milliseconds (the documentation has 5 to 50 ms for a TTL of 10 s), and goes on to the next after any failure.",
			"There is no replication, so no node can lag behind another. Any two majorities of five have a node in common. That node has one key, and so there is one holder. The three claims of this chapter say what that rests on.",
		},
		Entries: []debateEntry{
			{
				Claim: "7", Heading: "A majority is enough",
				Run:     "With two of five nodes down, clients acquire and release as usual. With three down, nobody acquires until the first of them is back. When the network splits, the side with three nodes has the lock, and the side with two is refused.",
				Runs:    []string{"redlock-partition-halves/redlock"},
				Decides: "Whether a majority can be reached, and nothing else: in these runs no clock is wrong, no client is paused, and no node forgets.",
				Sides: [2]debateSide{
					{"This is worth five servers", "that servers fail more often than anything that the later claims are about."},
					{"It is not", "that a lock that survives two dead servers, but not one paused client, protects against the wrong thing."},
				},
			},
			{
				Claim: "8", Heading: "What a node remembers after a restart",
				Run:     "The first client holds the lock on three of five nodes. One of the three crashes and comes back empty. Together with the two nodes that were left, it gives the second client a majority. This happens with Redis's default, which saves snapshots now and then. With an append-only file it depends on what happened to the machine. A killed process loses nothing, since the operating system has the bytes. A power loss takes what was not yet synchronized, and a disk that only claims to have written is no better.",
				Runs:    []string{"crash-restart-5/redlock"},
				Decides: "Whether a node that has granted a lock still knows of it for as long as the lease lasts.",
				Sides: [2]debateSide{
					{"Synchronizing the append-only file every second", "that machines seldom lose power, and hardly ever in the second that matters."},
					{"Synchronizing every write", "that the disk tells the truth, and that the lock may be as slow as the disk. Otherwise the node has to wait before it comes back: {18}."},
				},
			},
			{
				Claim: "9", Heading: "A lease is shorter than its TTL",
				Run:     "The first client relies on its lease for the TTL, less the time that acquiring took, less one per cent and 2 ms for drift. Around its end, six other clients try to acquire every 10 ms. When one node's clock gains one per cent, the first of them gets in after the holder has let go; when it gains 1.3 per cent, before. A client for which acquiring took longer than the TTL refuses what it was granted. A client whose nodes are far away may be left with a lease of milliseconds.",
				Runs:    []string{"clock-drift/redlock/above", "clock-drift/redlock/below"},
				Decides: "Whether clock rates differ by no more than the allowance. The one per cent comes from the first implementation; no source derives it. antirez's example of a harmless error is 10 %; the allowance would have to be as large: see {14b}.",
				Sides: [2]debateSide{
					{"The allowance is enough", "that no clock in use gains one part in a hundred. A quartz clock gains a few parts in a million."},
					{"It is not", "that the rate is not what goes wrong with clocks: see {14a}."},
				},
			},
		},
	},
	{
		File: "pauses.html", Short: "Pauses", Title: "Pauses and delays",
		Opening: []string{
			"Kleppmann's first objection is not to Redlock, but to any lock that expires. A client may stop at any point: for a garbage collection, for a page that has to come from the disk, while its virtual machine is moved, or because somebody has sent `SIGSTOP` from a terminal. It does not notice. By the time it resumes, another client may hold the lock.",
			"This chapter asks the same question wherever time can be lost: while the lock is acquired, while it is held, before the write, and on the way to the resource. The client compares the time that has passed with the TTL only while it acquires the lock.",
		},
		Entries: []debateEntry{
			{
				Claim: "10", Heading: "A paused client writes",
				Run:     "The first client is granted the lock and is paused. Its lease ends during the pause. The second client is granted the lock in good faith, and writes. The first client resumes, does not know what has happened, and writes too. The runs ask two things: whether two clients ever held the lock at the same moment, each by its own clock, and whether the resource accepted a write out of turn. A watchdog that renews the lease is paused with its process. Kleppmann says that this happens \"even if you have a perfect lock service\": ZooKeeper's sessions and etcd's leases expire, too.",
				Runs:    []string{"pause-after-acquire/redlock", "pause-after-acquire/single"},
				Decides: "Whether a process is paused for longer than its lease lasts. No operating system rules that out, and none reports it afterwards. A quorum of nodes does not change this: it protects what the nodes remember, and nobody asks the nodes when the write arrives.",
				Sides: [2]debateSide{
					{"With Kleppmann", "that a lock on which correctness depends must not depend on how long a client may be paused."},
					{"With antirez", "that this is true of every lock that expires, and is therefore no argument against Redlock in particular."},
				},
			},
			{
				Claim: "11", Heading: "Checking the lease before the write",
				Run:     "The pause is that of {10}, but this time the client is careful: immediately before it writes, it compares its clock with the end of its lease. The lease is valid. Then the client is paused, after the check and before the write.",
				Runs:    []string{"pause-after-check/redlock", "pause-after-check/single"},
				Decides: "The same as for {10}. The check narrows the gap from the length of the work to that of one step; it does not close it.",
				Sides: [2]debateSide{
					{"Relying on the check", "that the time from the check to the arrival of the write is always shorter than what is left of the lease."},
					{"Not relying on it", "that there is room for a pause between any two instructions, and on the wire as well."},
				},
			},
			{
				Claim: "16a", Heading: "Delays on the way to the lock do not harm safety",
				Run:     "Requests or replies between the client and the nodes take longer than the TTL. The client measures how long acquiring took, and does not rely on a lease that is over. The cost is time: where the replies are late, the keys of a client that has given up keep the next client waiting, though nobody holds the lock. Kleppmann wrote in his article that a long network delay can have the same effect as a pause. In a short exchange afterwards, which we know only at second hand, he agreed with antirez that delayed messages between client and lock server do no harm.",
				Runs:    []string{"delay-to-lock-server/redlock/replies", "delay-to-lock-server/redlock"},
				Decides: "Whether the client measures how long acquiring took. Safety needs no bound on delays. For anybody to get the lock at all, delays must be short compared with the TTL.",
				Sides: [2]debateSide{
					{"Both", "that a client that compares the time that has passed with the TTL can refuse a lease that ended on the way."},
					{"Still doubting it", "that the clock used for this can be set back: see {14a}."},
				},
			},
			{
				Claim: "16b", Heading: "A pause while the replies wait",
				Run:     "This is the second example in Kleppmann's article. All five nodes have granted the lock, and their replies wait in the client's socket while the client is paused for longer than the TTL. The second client is granted the lock. The first client resumes, and reads five replies that say that it holds the lock. Then it compares how long that took with the TTL, and refuses the lock. antirez pointed to this step of the algorithm in his answer.",
				Runs:    []string{"pause-in-acquire/redlock"},
				Decides: "Whether the client measures how long acquiring took, on a clock that keeps running while the client is paused. The pause itself need not be bounded.",
				Sides: [2]debateSide{
					{"With antirez", "that an algorithm should be judged with all its steps, and that a pause after the last of them is a problem of every lock that expires: {10}."},
					{"With Kleppmann", "that the example stands for any client that is paused at the wrong moment, that there is always such a moment after the last check ({11}), and that only the resource can help then."},
				},
			},
			{
				Claim: "17", Heading: "Delays on the way to the resource do harm",
				Run:     "Nobody is paused. The first client holds the lock when it sends its write, and the network delivers the write a minute and a half later. By then the second client has had the lock, and has written. In another run the first client has died in the meantime, and its write still arrives. If the write carries a number that grows with each grant, the resource can tell.",
				Runs:    []string{"delay-to-resource/redlock", "delay-to-resource/fenced"},
				Decides: "Whether what is sent under a lease arrives under it. A lock sees nothing of the way from its holder to the resource.",
				Sides: [2]debateSide{
					{"With Kleppmann", "that a lock is there for the sake of the resource, and that the way to the resource counts."},
					{"With antirez", "that no lock that expires can know about this, neither Redlock nor any other."},
				},
			},
		},
	},
	{
		File: "tokens.html", Short: "Tokens", Title: "Fencing tokens",
		Opening: []string{
			"If the lock cannot keep a paused client from writing, perhaps the resource can. Kleppmann proposes that each grant come with a *fencing token*, a number greater than all before. The client sends the token with each write, and the resource refuses a number that is lower than one it has seen.",
			"antirez answers in five points. Locks are needed most where nothing else controls access to the resource (his first point). What they protect is often not transactional: physical objects, say, or somebody else's API (his fifth); there, nothing can compare a token. Where something can, the random token of Redlock serves as well (his third). And if the resource can resolve such races by itself, he asks, why would anybody need a lock with strong guarantees? The last chapter comes back to that question.",
		},
		Entries: []debateEntry{
			{
				Claim: "12", Heading: "The resource refuses the paused client",
				Run:     "The pause is that of {10}. When the first client resumes and writes with its number, the resource has already seen the larger number of the second. (With ZooKeeper, Kleppmann says, the transaction ID `zxid` or the version of the node can be that number.) In the run labelled `unchecked` the numbers are the same, and the resource does not look at them. Three runs show the limits of fencing. In two of them, the first client writes before the new holder has written anything, and in one of these an update is lost. In the third, the counter itself is lost in a failover. A new holder that writes at once closes the first two gaps.",
				Runs:    []string{"pause-fenced/fenced", "pause-fenced/fenced/unchecked"},
				Decides: "Whether the resource checks. If it does, the length of a pause no longer matters to a holder that has already written; what remains to be assumed is that the counter survives.",
				Sides: [2]debateSide{
					{"With Kleppmann", "that the resource can be made to compare numbers, and that a server should not trust its clients to know when their lease is over."},
					{"With antirez", "that most resources cannot compare anything, and that this is why somebody wanted a lock."},
				},
			},
			{
				Claim: "13a", Heading: "Redlock has no number to give",
				Run:     "The resource compares numbers, as before, but Redlock has none: its random value says who holds the lock, not in which order. The resource has nothing to compare, and accepts the paused client's write like any other. For comparison, there is a run of a lock with a counter.",
				Runs:    []string{"pause-fenced/redlock", "pause-fenced/fenced"},
				Decides: "Whether tokens have an order. A counter on each node would not do, since nodes that are down fall behind; one counter for all nodes is a single point of failure again.",
				Sides: [2]debateSide{
					{"It is a defect", "that handing out numbers in order takes agreement among the nodes, which Redlock was built to do without."},
					{"It is none", "that another token will do as well ({13b}); or, with antirez's second point, that a store that accepts only growing tokens is linearizable, and can itself hand out the numbers for each Redlock."},
				},
			},
			{
				Claim: "13b", Heading: "A random token instead",
				Run:     "When a client begins to work, it writes its random token into the resource. Its update is accepted only if the token is still the same at that moment; the resource compares and writes in one step. Two schedules are run, each with this compare-and-set and with a fencing token. In `read-first` both clients have read, and the first one, whose lease has ended, writes before the second. The fence has seen no newer token and accepts both updates, so the second overwrites the first; the compare-and-set refuses the first. In `written-first` the second client has written before the first begins. The fence refuses the first. The compare-and-set lets it enter and write, because nothing says which of two random tokens is newer. Its update is added to that of the second, so nothing is lost. (The scenario token-check-and-set also has a run `blind`, in which a write compares nothing. That is not what antirez proposes, and so it is no evidence here.)",
				Runs:    []string{"fence-or-check-and-set/fenced/read-first", "fence-or-check-and-set/redlock/read-first"},
				Decides: "What the token is for: that no update is lost, or that the newer holder has its turn. Where a token gives only one of the two, the other needs bounded pauses.",
				Sides: [2]debateSide{
					{"With antirez", "that what matters is that no update is lost, and not who got the lock first: after a pause, that says little about who works first (his fourth point). *Designing Data-Intensive Applications* (2nd edition) accepts such a conditional write, and finds that the lock service is then \"somewhat redundant\"."},
					{"With Kleppmann", "that a lock says whose turn it is, that only the order of tokens lets the resource know, and that a new holder can close the gap in fencing by writing at once."},
				},
			},
		},
	},
	{
		File: "clocks.html", Short: "Clocks", Title: "The clocks that Redlock depends on",
		Opening: []string{
			"Kleppmann's second objection is to Redlock itself. Each node ends a key by its own clock, the client ends its lease by another, and the lock is safe only if these clocks agree on how long a TTL is. He concludes that Redlock is safe only in a *synchronous* system, where delays, pauses and clock errors have known bounds. He asks for algorithms that are safe in an *asynchronous* or a *partially synchronous* system, where there are no such bounds, or where they do not always hold.",
			"antirez answers that Redlock does not need clocks that show the same time, only clocks that run at nearly the same rate; he calls that a *semi synchronous* model. He agrees with Kleppmann that Redis should use a monotonic clock. By his own account, the objection that remains is about clocks that are set, and administrators can leave clocks alone.",
			"Some terms first. A *wall clock* shows the time of day, and can be set. A *steady* or monotonic clock only measures how much time has passed. Setting a clock makes a *step*. A clock that runs faster or slower for a while, until it is right, is *slewed*. A leap second that is spread over hours is *smeared*. Rates are given in *ppm*, parts per million: 10,000 ppm are one per cent.",
		},
		Entries: []debateEntry{
			{
				Claim: "14a", Heading: "A key that expires too early",
				Run:     "The first client holds the lock on three of five nodes; it cannot reach the others. The wall clock of one of the three is set forward, and the key on it expires at once. The second client gets a majority from this node and the other two. In further runs the node's clock runs too fast, or the holder's runs too slow, or the holder measures with a wall clock that is set back, as the first implementations for Ruby and JavaScript do.",
				Runs:    []string{"clock-jump/redlock"},
				Decides: "Whether a clock jumps, or errs by more than the allowance, on any node of the majority or at the holder.",
				Sides: [2]debateSide{
					{"With Kleppmann", "that in the algorithm's own terms this is a wrong answer, not a slow one, and that time must not decide who holds a lock."},
					{"With antirez", "that clocks that are looked after do not behave like this: see {15}."},
				},
			},
			{
				Claim: "14b", Heading: "The rate is what counts",
				Run:     "Nodes whose clocks show quite different times grant the lock as always. A client that measures with a steady clock does not notice that its wall clock is set back by seconds while it acquires. Drift within the allowance does no harm, on a node or at the holder. antirez asks for an error of 10 % at most, as an example. Implementations have an allowance of 1 %; with that, a node that is 5 or 10 % fast lets the second client in before the first has let go. The last run is that of {14a}, in which the assumption itself is broken: a node keeps the end of a key as a point in time on its wall clock, and that clock is set.",
				Runs:    []string{"clock-drift/redlock/tenth", "clock-offset/redlock"},
				Decides: "Whether rates differ by less than the allowance, whatever that is, and whether durations are measured with a steady clock. Clients can do so, and the lock of these runs does. Redis expires keys by the wall clock to this day, though both authors wanted that changed.",
				Sides: [2]debateSide{
					{"With antirez", "that the algorithm should be judged with the clocks that it asks for. He wrote in 2016 that Redis would move to a monotonic clock within weeks."},
					{"With Kleppmann", "that it should be judged with the clocks that it has. (Julia Evans asked in 2016 whether clocks that run at a wrong rate exist. People who operate many machines told her that they do: \"TIL: clock skew exists\".)"},
				},
			},
			{
				Claim: "15", Heading: "Setting a node's clock",
				Run:     "A time service sets the wall clock of a node forward by eleven seconds. Whether the clock is right before or afterwards makes no difference to a key. If the clock is set in one step, the holder's key expires on the spot. antirez's remedy is to spread the correction. Slewed at 500 ppm, which is the most that ntpd does, the same correction takes six hours, and takes five milliseconds off a key of ten seconds. chronyd slews at up to 83,333 ppm unless it is told otherwise (`maxslewrate`). The correction then takes 132 seconds, and takes 0.8 seconds off the key, which is more than any allowance here. A clock that is set back makes others wait, and does no other harm. A leap second that is smeared over a day does not trouble even a client that measures with the wall clock.",
				Runs:    []string{"clock-step-vs-slew/redlock/fast-slew", "clock-step-vs-slew/redlock/slew"},
				Decides: "Whether anybody or anything sets the clock of a server forward in one step, or corrects it faster than the allowance. Neither author disputes that a step breaks Redlock. A simulation can show what a step does, but not how often one happens.",
				Sides: [2]debateSide{
					{"With antirez", "that operations can see to it: administrators leave the clock alone, and the time service is told to spread its corrections thinly enough."},
					{"With Kleppmann", "that server clocks do jump, because a time server is wrong or an administrator sets them, and that safety should not be a matter of configuration."},
				},
			},
			{
				Claim: "18", Heading: "Waiting before coming back",
				Run:     "The crash is that of {8}, but the node stays away until every lock that it may have granted has ended. Its empty memory is then correct. In the run `too-short` it comes back sooner. In the run that is drawn, the wait is measured on a wall clock that is set forward meanwhile. And when three nodes wait at the same time, there is no majority, and nobody can get the lock.",
				Runs:    []string{"delayed-restart-clock/redlock"},
				Decides: "Whether the wait is longer than the largest TTL, in true time. It replaces the assumption about disks with another one about clocks.",
				Sides: [2]debateSide{
					{"With antirez", "that waiting for about the right time is easy, and that whoever does not want to rely on it can synchronize every write to the disk instead."},
					{"With Kleppmann", "that whatever measures the wait uses a clock, so the repair has the weakness of what it repairs."},
				},
			},
		},
	},
	{
		File: "judgement.html", Short: "Judgement", Title: "What no run can settle",
		Opening: []string{
			"The three claims of this chapter are about what a lock should be. Runs bear on them but do not decide them. If you have read this far, you know what can happen; what it would cost is for you to say.",
		},
		Entries: []debateEntry{
			{
				Claim: "19", Heading: "Efficiency or correctness",
				Run:     "Two clients want to do the same job: send a mail. The first is paused, and the mail is sent twice, with one node as with five. What differs is how many requests a lease costs. No figure here says what a second mail costs, or a second dose of a medicine. Kleppmann contrasts that dose with the five cents that doing work twice would add to a bill.",
				Runs:    []string{"efficiency/redlock", "efficiency/single"},
				Decides: "What it costs when the lock fails. If it costs little, the lock is for efficiency; if it costs much, for correctness.",
				Sides: [2]debateSide{
					{"With Kleppmann", "that Redlock is \"neither fish nor fowl\": where a failure is cheap, one node will do; where it is costly, five are not enough, and the answer is a consensus system such as ZooKeeper, or at least a transactional database."},
					{"With antirez", "that Redlock is much more reliable and safe than one server or a pair with failover, at a very low complexity: for some work one server is too fragile and a consensus system too much."},
				},
			},
			{
				Claim: "20", Heading: "With fencing, is a strong lock still needed?",
				Run:     "With a resource that compares numbers, a lock with a counter on a single node keeps the paused client out and loses no update, at the price of one node. But now the counter must not be lost. In the run that is drawn, the primary dies with the last number, its replica hands out the same number again, and a late write passes for a new one.",
				Runs:    []string{"token-after-failover/fenced"},
				Decides: "Whether the counter survives. If the tokens carry the burden instead of the lock, they have to be kept as carefully.",
				Sides: [2]debateSide{
					{"With antirez", "that a store that refuses old tokens puts writes in order by itself, and that the lock is then needed only for efficiency."},
					{"With Kleppmann", "that somebody has to hand out those tokens, each once and in order, and that this is what one should ask of a lock service."},
				},
			},
			{
				Claim: "21", Heading: "Bad timing should not cost safety",
				Run:     "These are the runs in which nothing but timing goes wrong: a pause, a clock that is set, a delay. Redlock is compared with a lock that has a counter and a resource that checks it. In the last run the paused client writes before the new holder has written at all, so the resource has not yet seen the higher number. A new holder that writes at once, as *Designing Data-Intensive Applications* advises, leaves no room for that: {12}.",
				Runs:    []string{"fence-zombie-first/fenced"},
				Decides: "Whether time may be part of a proof of safety. Consensus algorithms such as Paxos and Raft use time to make progress, not to be right.",
				Sides: [2]debateSide{
					{"With Kleppmann", "that timing cannot be trusted, and that an algorithm should answer late, or not at all, rather than wrongly."},
					{"With antirez", "that computers count seconds well enough, and that an algorithm may state this among its assumptions and be used where they hold."},
				},
			},
		},
	},
}
