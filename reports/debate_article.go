package reports

// What follows is the text of the debate. It says what happens in a run, and never what came of it: that is read from the run
// when the site is written. {10} stands for a link to claim 10.

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
	Decides        string   // which assumption decides, and how
	Sides          [2]debateSide
}

// A debateSide is a side that one can take, and what one has to believe for it.
type debateSide struct{ Who, Believes string }

var debateChapters = []debateChapter{
	{
		File: "basics.html", Short: "Basics", Title: "What a lock on Redis is made of",
		Opening: []string{
			"Before the two authors part ways there is a good deal on which everybody agrees. A lock on Redis is a key. Whoever creates it holds the lock, whoever deletes it gives the lock back. Four things have been learnt about that key, each from a lock that went wrong without it, and what came of them is one command to acquire, `SET` with `NX`, an expiry and a random value, and one script to release.",
			"The third of them, the expiry, is the one that the rest of the argument is about.",
		},
		Entries: []debateEntry{
			{
				Claim: "1", Heading: "One command is one step, two are not",
				Run:     "Two clients read a counter, and each writes one more than it has read. Between the read and the write of the first, the second reads the same number. A client that uses `WATCH` is told that it was overtaken and tries again; one that takes a lock keeps the other out until it has written. (In nemo20's experiment with `WATCH` two clients try 100,000 increments each, and do not try again: 33,043 and 63,228 are refused, which leaves 200,000 − 33,043 − 63,228 = 103,729. None of these is lost.) The gap is the same between `SETNX` and `EXPIRE`, where it leaves a lock without an end.",
				Runs:    []string{"lost-update/nolock", "lost-update/single"},
				Decides: "Nothing about the environment. No clock is wrong and no server fails: two clients at the same time are enough.",
				Sides: [2]debateSide{
					{"To write two commands", "that nobody else ever comes between them, or that what is lost then will not be missed."},
					{"To insist on one", "that whatever can come between two commands will, some day."},
				},
			},
			{
				Claim: "2", Heading: "Give back only what is yours",
				Run:     "The first client asks for the value of the key, and it is its own. While the answer is on its way the lease ends, and a second client takes the lock. The first goes on to delete the key, which by now is another's, and a third walks in beside the second. To put the `DEL` into `MULTI` changes nothing, since the comparison stays outside. One script that compares and deletes leaves no gap.",
				Runs:    []string{"release-race/getdel", "release-race/single"},
				Decides: "Nothing about the environment. An answer that takes seconds makes the gap wide enough to see; it is there however narrow.",
				Sides: [2]debateSide{
					{"To compare in the client", "that what is left of a lease is always longer than the way there and back."},
					{"To use a script", "only what Redis promises: that nothing else happens while a script runs."},
				},
			},
			{
				Claim: "3", Heading: "A lock has to end by itself",
				Run:     "A client sets the key and dies before a second command has given it an expiry. Nobody may delete a key that is not his, and so nobody ever does. The same comes of a lock that has no expiry at all, when its holder dies or is cut off for good. With the expiry in the command that takes the lock, the others wait for one TTL, the time for which the key lives. (The *probe* in the picture is a client that asks for the lock when all faults have healed, so that a lock which is stuck is noticed.)",
				Runs:    []string{"crash-before-expire/setnx-expire", "crash-before-expire/single"},
				Decides: "Nothing about the environment. That a client can die at any moment is no broken promise, but what a lock is there to survive.",
				Sides: [2]debateSide{
					{"To do without an expiry", "that holders do not die, or that somebody is awake to delete what they leave behind."},
					{"To want one", "that a lock which is held for ever is worse than one that may end too early. The price of that is what {10} and all after it are about."},
				},
			},
			{
				Claim: "4", Heading: "A value that nobody else has",
				Run:     "All clients write the same value. The first is paused past the end of its lease, wakes, and deletes the key. It takes the key for its own, but by then the key belongs to the second client, and a third one enters. With a random value the script finds another value, and leaves the key alone. A value that is nothing but the time in microseconds, as PHP's `uniqid` makes it, is not unique: on two machines whose clocks differ it can come out the same.",
				Runs:    []string{"fixed-value/fixed", "fixed-value/single"},
				Decides: "Nothing about the environment. The pause only brings the mistake to light: with a value of its own, the same client sleeps as long and deletes nothing.",
				Sides: [2]debateSide{
					{"To take the time", "that no two requests, on any two machines, ever see the same microsecond; or, with the Redis documentation, that the time with the client's ID appended is probably sufficient in most environments."},
					{"To draw it at random", "that twenty random bytes never come twice."},
				},
			},
		},
	},
	{
		File: "one-redis.html", Short: "One Redis", Title: "One Redis, and copies of it",
		Opening: []string{
			"With those four rules a single Redis makes a usable lock. It is a single point of failure as well. The obvious remedy is a replica that takes over. To replace that was what antirez designed Redlock for; and Kleppmann would have such a pair only for locks that may fail now and then.",
		},
		Entries: []debateEntry{
			{
				Claim: "5", Heading: "One node is one point of failure",
				Run:     "The only Redis goes down, and comes back some seconds later. Meanwhile the lock is free, a client wants it, and cannot have it. In the other run two of the five nodes of Redlock are down for good, and its clients acquire and release as if nothing were wrong.",
				Runs:    []string{"single-node-down/single"},
				Decides: "Nothing about the environment, as the checker sees it: that a server goes down is what fault tolerance is about, and with one node there is none. While it is down nobody can take the lock, and nobody holds it twice. Whether that is acceptable is for you to say.",
				Sides: [2]debateSide{
					{"One node is enough", "that the work can wait for as long as a restart takes."},
					{"It is not", "that to wait costs more than to run five servers, and to care for them."},
				},
			},
			{
				Claim: "6", Heading: "A copy that has not heard of it",
				Run:     "The primary grants the lock and answers at once, with the copy still on its way. It dies, the replica is promoted without the key, and grants the lock to somebody else. It makes no difference whether a person, Sentinel or Redis Cluster does the promoting. A client that uses `WAIT` has its key on a replica before it relies on it, but another replica may be promoted; or the right one, with a clock that is ahead.",
				Runs:    []string{"failover-lag/single", "failover-lag/single/replicated"},
				Decides: "That what a server has acknowledged survives this server. Replication in Redis is asynchronous, and does not promise it. In one run it is the clock of the replica instead.",
				Sides: [2]debateSide{
					{"To rely on a replica", "that failovers are rare, and that a lock which is held twice after one does little harm."},
					{"To want more", "that a failover will come when it matters, and that acknowledgements which do not bind the failover are not agreement."},
				},
			},
		},
	},
	{
		File: "redlock.html", Short: "Redlock", Title: "Redlock, as it is meant to work",
		Opening: []string{
			"Redlock asks five servers that know nothing of each other. A client sets the key on all of them, each with the same random value and expiry. It notes the time before and after. If at least three have said yes, and if less time has passed than the key lives, the client holds the lock, for what is then left of the TTL, less an allowance for clocks that do not run alike. Otherwise it deletes the key on all nodes, also on those that seem to have refused, and tries again after a random delay. It waits for each node for a few milliseconds only (the documentation has 5 to 50 ms for a TTL of 10 s), and goes on to the next after any failure.",
			"There is no replication, so nothing can be behind; and two majorities of five have a node in common, which has one key, and so one holder. The three claims of this chapter say what that rests on.",
		},
		Entries: []debateEntry{
			{
				Claim: "7", Heading: "A majority is enough",
				Run:     "With two of five nodes down, clients acquire and release as on any other day. With three down nobody acquires, until the first of them is back. When the network splits, the side with three nodes has the lock, and the side with two is refused.",
				Runs:    []string{"redlock-partition-halves/redlock"},
				Decides: "That a majority can be reached, and nothing else: in these runs no clock is wrong, nobody sleeps, and no node forgets.",
				Sides: [2]debateSide{
					{"This is worth five servers", "that servers fail more often than everything that the later claims are about."},
					{"It is not", "that a lock which survives two dead servers, and not one sleeping client, guards the wrong door."},
				},
			},
			{
				Claim: "8", Heading: "What a node remembers when it comes back",
				Run:     "The first client holds the lock on three of five nodes. One of the three crashes and comes back empty, and the second client finds a majority in it and the two that were left. So it is with the default of Redis, which saves snapshots now and then. On nodes with an append-only file it depends on what has happened to the machine. A process that is killed loses nothing, since the operating system has the bytes; a loss of power takes what was not yet synchronized; and a disk that only says that it has written is no better.",
				Runs:    []string{"crash-restart-5/redlock"},
				Decides: "That a node which has granted a lock still knows of it, for as long as the lease lasts.",
				Sides: [2]debateSide{
					{"An append-only file that is synchronized every second", "that machines seldom lose their power, and hardly ever in the second that matters."},
					{"Every write to the disk", "that the disk tells the truth, and that the lock may be as slow as the disk. Or else the node has to wait: {18}."},
				},
			},
			{
				Claim: "9", Heading: "A lease is shorter than its TTL",
				Run:     "The first client trusts its lease for the TTL, less what acquiring took, less one per cent and 2 ms for drift. Six others knock every 10 ms around the end of it. When one node gains one per cent, the first to get in does so after the holder has let go; when it gains 1.3, before. A client for whom acquiring took longer than the TTL refuses what it was granted, and one whose nodes are far away may be left with a lease of milliseconds.",
				Runs:    []string{"clock-drift/redlock/above", "clock-drift/redlock/below"},
				Decides: "That clocks do not differ in their rate by more than the allowance. The one per cent comes from the first implementation; no source derives it. antirez's example of an error that does no harm is 10 %; the allowance would have to be as large: see {14b}.",
				Sides: [2]debateSide{
					{"The allowance is enough", "that no clock in use gains one part in a hundred. A quartz gains some parts in a million."},
					{"It is not", "that the rate is not what goes wrong with clocks: see {14a}."},
				},
			},
		},
	},
	{
		File: "pauses.html", Short: "Pauses", Title: "Asleep with the lock in hand",
		Opening: []string{
			"Kleppmann's first objection is not to Redlock, but to any lock that ends by itself. A client may stop at any point: a garbage collection, a page that has to come from the disk, a virtual machine that is moved, a terminal from which somebody has sent `SIGSTOP`. It does not notice. When it goes on, the world has gone on without it.",
			"What follows asks the same question at each place where time can be lost: while the lock is acquired, while it is held, before the write, and on the way to the resource. Only while it acquires the lock does the client still compare the time that has passed with the TTL.",
		},
		Entries: []debateEntry{
			{
				Claim: "10", Heading: "The sleeper who writes",
				Run:     "The first client is granted the lock and stops. Its lease runs out while it sleeps. The second is granted the lock in good faith, and writes. The first wakes, knows nothing of this, and writes too. The runs ask two things: whether at any moment two clients held the lock, each by its own clock, and whether the resource took a write out of turn. A watchdog that renews the lease is paused with its process. Kleppmann says that this happens \"even if you have a perfect lock service\": the sessions of ZooKeeper and the leases of etcd end by themselves, too.",
				Runs:    []string{"pause-after-acquire/redlock", "pause-after-acquire/single"},
				Decides: "That no process stands still for longer than its lease. No operating system promises that, and none says so afterwards. A quorum of nodes does not change it: it guards what the nodes remember, and nobody asks them when the write lands.",
				Sides: [2]debateSide{
					{"With Kleppmann", "that a lock on which correctness depends must not depend on how long somebody sleeps."},
					{"With antirez", "that this is so of every lock which ends by itself, and therefore says nothing against Redlock in particular."},
				},
			},
			{
				Claim: "11", Heading: "To look before the leap",
				Run:     "The same again, and this time the client is careful: immediately before it writes it compares its clock with the end of its lease. The lease is valid. Then the client stops, after the look and before the write.",
				Runs:    []string{"pause-after-check/redlock", "pause-after-check/single"},
				Decides: "The same as before. The check makes the gap smaller, from the length of the work to that of one step; it does not close it.",
				Sides: [2]debateSide{
					{"To rely on the check", "that nothing ever takes longer, between the look and the arrival of the write, than what is left of the lease."},
					{"Not to", "that there is room for a pause between any two instructions, and on the wire as well."},
				},
			},
			{
				Claim: "16a", Heading: "What comes late to the client does no harm to safety",
				Run:     "Requests or replies between the client and the nodes take longer than the TTL. The client measures how long acquiring took, and does not rely on a lease that is over. What it costs is time: where the replies are late, the keys of a client that has given up keep the next one waiting, though nobody holds the lock. Kleppmann wrote in his article that a long network delay can do the same as a pause; in a short exchange afterwards, which is known to us at second hand, he agreed with antirez that delay of messages between client and lock server does no harm.",
				Runs:    []string{"delay-to-lock-server/redlock/replies", "delay-to-lock-server/redlock"},
				Decides: "That the client measures how long acquiring took. For safety no delay has to be bounded; for the lock to be had at all, delays must be short beside the TTL.",
				Sides: [2]debateSide{
					{"Both", "that a client which compares the time that has passed can refuse what has become worthless on the way."},
					{"To doubt it still", "that the clock on which it measures can be set back: see {14a}."},
				},
			},
			{
				Claim: "16b", Heading: "A pause while the replies wait",
				Run:     "This is the second example in Kleppmann's article. All five nodes have granted the lock, and their replies wait in the client's socket while it is paused for longer than the TTL. The second client is granted the lock. The first goes on, and reads five times that it holds the lock. Then it compares how long that took with the TTL, and refuses. antirez pointed to this step of the algorithm in his answer.",
				Runs:    []string{"pause-in-acquire/redlock"},
				Decides: "That the client measures how long acquiring took, on a clock that goes on while it is paused. The pause need not be bounded for that.",
				Sides: [2]debateSide{
					{"With antirez", "that an algorithm is to be judged with all its steps, and that a pause after the last of them is the problem of every lock that expires: {10}."},
					{"With Kleppmann", "that the example stands for a client which has stopped at the wrong moment, that there is always such a moment after the last check ({11}), and that only the resource can help then."},
				},
			},
			{
				Claim: "17", Heading: "What comes late to the resource does",
				Run:     "Nobody sleeps. The first client holds the lock when it sends its write, and the network delivers it a minute and a half later. By then the second has had the lock, and has written. In another run the first client has died in the meantime, and its write still lands. Where the write carries a number that grows with each grant, the resource can tell.",
				Runs:    []string{"delay-to-resource/redlock", "delay-to-resource/fenced"},
				Decides: "That what is sent under a lease arrives under it. A lock sees nothing of the way from its holder to the resource.",
				Sides: [2]debateSide{
					{"With Kleppmann", "that a lock is there for the sake of the resource, and that the way to it counts."},
					{"With antirez", "that this is outside of what a lock can know, Redlock or any other that ends by itself."},
				},
			},
		},
	},
	{
		File: "tokens.html", Short: "Tokens", Title: "A number that grows",
		Opening: []string{
			"If the lock cannot keep a sleeper from writing, perhaps the resource can. Kleppmann proposes that each grant come with a *fencing token*, a number greater than all before. The client sends it with each write, and the resource refuses a number that is lower than one it has seen.",
			"antirez answers in five points. Locks are needed most where nothing else controls access to the resource (his first point), and what they protect is often not transactional: physical objects, say, or the API of somebody else (his fifth); there, nothing can compare a token. Where something can, the random token of Redlock serves as well (his third). And if the resource can resolve such races by itself, he asks, why would anybody need a lock with strong guarantees? The last chapter comes back to that question.",
		},
		Entries: []debateEntry{
			{
				Claim: "12", Heading: "The resource keeps the sleeper out",
				Run:     "The pause is that of {10}. The resource has seen the number of the second client when the first wakes and writes with a smaller one. (With ZooKeeper, Kleppmann says, the transaction ID `zxid` or the version of the node can be that number.) In the run that is labelled `unchecked` the numbers are the same, and the resource does not look at them. Three runs show where fences end: when the first client writes before the new holder has written anything, where an update can be lost as well, and when the counter itself was lost in a failover. A new holder that writes at once closes the first two gaps.",
				Runs:    []string{"pause-fenced/fenced", "pause-fenced/fenced/unchecked"},
				Decides: "Whether the resource checks. If it does, the length of a pause no longer matters to whoever has written first; what remains to be assumed is that the counter survives.",
				Sides: [2]debateSide{
					{"With Kleppmann", "that the resource can be made to compare numbers, and that a server should not trust its clients to know when their time is over."},
					{"With antirez", "that most resources cannot compare anything, and that this is why somebody wanted a lock."},
				},
			},
			{
				Claim: "13a", Heading: "Redlock has no number to give",
				Run:     "The resource compares numbers, as before, but Redlock has none: its random value says who, and not when. The resource has nothing to compare, and the sleeper's write is like any other. Beside it is the run of a lock that counts.",
				Runs:    []string{"pause-fenced/redlock", "pause-fenced/fenced"},
				Decides: "That a token has an order. A counter on each node would not do, since nodes that are down fall behind; one counter for all of them is a single point of failure again.",
				Sides: [2]debateSide{
					{"It is a defect", "that to hand out numbers in order takes agreement among the nodes, which Redlock was built to do without."},
					{"It is none", "that another token will do as well ({13b}); or, with antirez's second point, that a store which takes only rising tokens is linearizable, and can hand out the numbers for each Redlock itself."},
				},
			},
			{
				Claim: "13b", Heading: "A random token instead",
				Run:     "When a client begins to work, it writes its random token into the resource; its update is taken only if the token is still the same at that moment, in one step of the resource. Two schedules are run with this compare-and-set and with a fencing token. In `read-first` both clients have read, and the first one, whose lease has ended, writes before the second. The fence has seen no newer token, takes both updates, and the second overwrites the first; the compare-and-set refuses the first. In `written-first` the second client has written before the first begins. The fence refuses the first; the compare-and-set lets it enter and write, as nothing says which of two random tokens is newer. Its update is added to that of the second, so nothing is lost. (Beside these, token-check-and-set has a run `blind`, in which a write compares nothing. That is not what antirez proposes, and so it is no evidence here.)",
				Runs:    []string{"fence-or-check-and-set/fenced/read-first", "fence-or-check-and-set/redlock/read-first"},
				Decides: "What the token is for: that no update is lost, or that the newer holder has its turn. Where only one of the two can be had, pauses must be bounded for the other.",
				Sides: [2]debateSide{
					{"With antirez", "that what matters is that no update is lost, and not who was first to get the lock: after a pause, that says little about who works first (his fourth point). *Designing Data-Intensive Applications* (2nd edition) accepts such a conditional write, and finds that the lock service is \"somewhat redundant\" then."},
					{"With Kleppmann", "that a lock says whose turn it is, that only an order of tokens lets the resource know, and that a new holder can close the gap of the fence by writing at once."},
				},
			},
		},
	},
	{
		File: "clocks.html", Short: "Clocks", Title: "What time is it, and where?",
		Opening: []string{
			"Kleppmann's second objection is to Redlock itself. Each node ends a key by its own clock, the client ends its lease by another, and the lock is safe only if they agree on how long a TTL is. He concludes that Redlock is safe in a *synchronous* system only, where delays, pauses and clock errors have known bounds, and asks for algorithms that are safe in an *asynchronous* or a *partially synchronous* one, where they have none, or not always.",
			"antirez answers that Redlock needs no clocks that show the same time, only clocks that run at nearly the same rate; he calls that a *semi synchronous* model. He agrees with Kleppmann that Redis should use a monotonic clock. The objection that remains, by his own account, is about clocks that are set, and those can be left alone.",
			"Some words first. A *wall clock* shows the time of day, and can be set. A *steady* or monotonic clock only measures how much time has passed. A clock that is set makes a *step*; one that runs faster or slower for a while, until it is right, is *slewed*; a leap second that is spread over hours is *smeared*. Rates are given in *ppm*, parts per million: 10,000 ppm are one per cent.",
		},
		Entries: []debateEntry{
			{
				Claim: "14a", Heading: "A key that ends too early",
				Run:     "The first client holds the lock on three of five nodes; it cannot reach the others. The wall clock of one of the three is set forward, and the key on it is over at once. The second client finds a majority in this node and the other two. In further runs the node's clock runs too fast, or the holder's too slow, or the holder measures on a wall clock that is set back, as the first implementations for Ruby and JavaScript do.",
				Runs:    []string{"clock-jump/redlock"},
				Decides: "That clocks neither jump nor err by more than the allowance, on any of the nodes that make the majority, and at the holder.",
				Sides: [2]debateSide{
					{"With Kleppmann", "that in the algorithm's own terms this is a wrong answer, not a slow one, and that time must not decide who holds a lock."},
					{"With antirez", "that clocks which are looked after do not behave like this: see {15}."},
				},
			},
			{
				Claim: "14b", Heading: "The rate is what counts",
				Run:     "Nodes whose clocks show quite different times grant the lock as always. A client that measures on a steady clock does not notice that its wall clock is set back by seconds while it acquires. Drift within the allowance does no harm, at a node or at the holder. antirez asks for an error of 10 % at most, as an example; with the allowance of 1 % that implementations have, a node that is fast by 5 or by 10 % lets in the second client before the first has let go. The last run is that of {14a}, in which the assumption itself is broken: a node keeps the end of a key as a point in time on its wall clock, and that clock is set.",
				Runs:    []string{"clock-drift/redlock/tenth", "clock-offset/redlock"},
				Decides: "That rates differ by less than the allowance, whatever that is, and that durations are measured on a steady clock. Clients can do so, and the lock of these runs does; Redis ends keys by the wall clock to this day, though both authors wanted that changed.",
				Sides: [2]debateSide{
					{"With antirez", "that the algorithm is to be judged with the clocks that it asks for. He wrote in 2016 that Redis would move to a monotonic one within weeks."},
					{"With Kleppmann", "that it is to be judged with the clocks that it has. (Julia Evans asked in 2016 whether clocks that run at a wrong rate exist. People who operate many machines told her that they do: \"TIL: clock skew exists\".)"},
				},
			},
			{
				Claim: "15", Heading: "Who sets the clock",
				Run:     "A time service puts the wall clock of a node forward by eleven seconds; whether it is right before or afterwards makes no difference to a key. In one step that ends the holder's key on the spot. antirez's remedy is to spread the correction. Slewed at 500 ppm, which is the most that ntpd does, the same correction takes six hours, and takes five milliseconds off a key of ten seconds. chronyd slews at up to 83,333 ppm unless it is told otherwise (`maxslewrate`): then it takes 132 seconds, and 0.8 seconds off the key, which is more than any allowance here. A clock that is set back makes others wait, and no more. A leap second that is smeared over a day does not even trouble a client that measures on the wall clock.",
				Runs:    []string{"clock-step-vs-slew/redlock/fast-slew", "clock-step-vs-slew/redlock/slew"},
				Decides: "That nobody and nothing ever sets the clock of a server forward in one step, or corrects it faster than the allowance. Neither author disputes that a step breaks Redlock. A simulation can show what it does, and not how often it happens.",
				Sides: [2]debateSide{
					{"With antirez", "that operations can see to it: administrators who leave the clock alone, and a time service that is told to spread its corrections, and how thinly."},
					{"With Kleppmann", "that clocks of servers do jump, by a time server that is wrong or by an administrator's hand, and that safety should not be a matter of configuration."},
				},
			},
			{
				Claim: "18", Heading: "To wait before coming back",
				Run:     "It is the crash of {8}, but the node stays away until every lock that it may have granted is over; its empty memory is then the truth. In the run `too-short` it comes back sooner. In the run that is drawn, what counts the wait counts it on a wall clock that is set forward meanwhile. And when three nodes wait at the same time, there is no majority, and no lock for anybody.",
				Runs:    []string{"delayed-restart-clock/redlock"},
				Decides: "That the wait is longer than the largest TTL, in true time. It replaces the assumption about disks with one more about clocks.",
				Sides: [2]debateSide{
					{"With antirez", "that to wait for about the right time is easy, and that whoever will not rely on it can have every write go to the disk instead."},
					{"With Kleppmann", "that whatever counts the wait counts on a clock, and that the repair has the weakness of what it repairs."},
				},
			},
		},
	},
	{
		File: "judgement.html", Short: "Judgement", Title: "What no run can settle",
		Opening: []string{
			"The three claims of this chapter are about what a lock should be. Runs bear on them, and do not decide them: whoever has read this far knows what can happen, and has to say what it would cost.",
		},
		Entries: []debateEntry{
			{
				Claim: "19", Heading: "Five cents, or the wrong dose",
				Run:     "Two clients want to do the same job: to send a mail. The first is paused, and the mail goes out twice, from one node as from five. What differs is how many requests a lease costs. No figure here says what a second mail costs, or a second dose of a medicine, which is what Kleppmann sets against the five cents that doubled work would add to a bill.",
				Runs:    []string{"efficiency/redlock", "efficiency/single"},
				Decides: "What it costs when the lock fails. If little, it is a lock for efficiency; if much, for correctness.",
				Sides: [2]debateSide{
					{"With Kleppmann", "that Redlock is \"neither fish nor fowl\": where a failure is cheap one node will do, and where it is costly five are not enough, but a consensus system such as ZooKeeper, or at least a transactional database."},
					{"With antirez", "that Redlock is much more reliable and safe than one server or a pair with failover, at a very low complexity: there is work for which one server is too fragile and a consensus system too much."},
				},
			},
			{
				Claim: "20", Heading: "If there is a fence, why a wall?",
				Run:     "With a resource that compares numbers, a lock on a single node that counts keeps the sleeper out and loses no update, at the price of one node. But now it is the counter that must not be lost. In the run that is drawn the primary dies with the last number, its replica hands out the same one again, and a late write passes for a new one.",
				Runs:    []string{"token-after-failover/fenced"},
				Decides: "That the counter survives. Whoever moves the burden from the lock to the tokens has to keep the tokens as carefully.",
				Sides: [2]debateSide{
					{"With antirez", "that a store which refuses old tokens puts writes in order by itself, and that what is left for the lock is efficiency."},
					{"With Kleppmann", "that somebody has to hand out those tokens, each once and in order, and that this is what one should ask of a lock service."},
				},
			},
			{
				Claim: "21", Heading: "Late is tolerable, wrong is not",
				Run:     "Here are the runs once more in which nothing but timing goes wrong: a pause, a clock that is set, a delay. Redlock stands beside a lock that counts, with a resource that checks. In the last run the sleeper writes before the new holder has written at all, so that the resource has not yet seen the higher number. A new holder that writes at once, as *Designing Data-Intensive Applications* advises, leaves no room for that: {12}.",
				Runs:    []string{"fence-zombie-first/fenced"},
				Decides: "Whether time may be part of a proof. Consensus algorithms such as Paxos and Raft use it to make progress, and not to be right.",
				Sides: [2]debateSide{
					{"With Kleppmann", "that timing cannot be trusted, and that an algorithm should answer late, or not at all, rather than wrongly."},
					{"With antirez", "that computers count seconds well enough, and that an algorithm may say so among its assumptions, and be used where they hold."},
				},
			},
		},
	},
}
