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
				Run:     "Two clients read a counter, and each writes one more than it has read. Between the read and the write of the first, the second reads the same number. A client that uses `WATCH` is told that it was overtaken and tries again; one that takes a lock keeps the other out until it has written. The gap is the same between `SETNX` and `EXPIRE`, where it leaves a lock without an end.",
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
				Claim: "4", Heading: "A signature that nobody else can have",
				Run:     "All clients write the same value. The first is paused past the end of its lease, wakes, and deletes the key, as it thinks its own; it is that of the second, and a third client enters. With a random value the deletion finds something else and leaves it alone. A value from a clock that shows microseconds is not random: two machines whose clocks differ draw the same one.",
				Runs:    []string{"fixed-value/fixed", "fixed-value/single"},
				Decides: "Nothing about the environment. The pause only brings the mistake to light: with a value of its own, the same client sleeps as long and deletes nothing.",
				Sides: [2]debateSide{
					{"To draw it from a clock", "that no two requests, on any two machines, ever see the same microsecond."},
					{"To draw it at random", "that twenty random bytes do not come twice, which is as good a bet as there is."},
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
				Decides: "That the server is up. What is lost while it is not is the lock, and with it time; nobody holds it twice.",
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
			"Redlock asks five servers that know nothing of each other. A client sets the key on all of them, each with the same random value and expiry. It notes the time before and after. If at least three have said yes, and if less time has passed than the key lives, the client holds the lock, for what is then left of the TTL, less an allowance for clocks that do not run alike. Otherwise it deletes the key everywhere and tries again later.",
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
				Run:     "The first client holds the lock on three of five nodes. One of the three crashes and comes back empty, and the second client finds a majority in it and the two that were left. On nodes with an append-only file it depends on what has happened to the machine. A process that is killed loses nothing, since the operating system has the bytes; a loss of power takes what was not yet synchronized; and a disk that only says that it has written is no better.",
				Runs:    []string{"crash-restart-5/redlock"},
				Decides: "That a node which has granted a lock still knows of it, for as long as the lease lasts.",
				Sides: [2]debateSide{
					{"The default will do", "that machines lose their power seldom, and hardly ever in the second that matters."},
					{"Every write to the disk", "that the disk tells the truth, and that the lock may be as slow as the disk. Or else the node has to wait: {18}."},
				},
			},
			{
				Claim: "9", Heading: "A lease is shorter than its TTL",
				Run:     "The first client trusts its lease for the TTL, less what acquiring took, less one per cent and 2 ms for drift. Six others knock every 10 ms around the end of it. When one node gains one per cent, the first to get in does so after the holder has let go; when it gains 1.3, before. A client for whom acquiring took longer than the TTL refuses what it was granted, and one whose nodes are far away may be left with a lease of milliseconds.",
				Runs:    []string{"clock-drift/redlock/above", "clock-drift/redlock/below"},
				Decides: "That clocks do not differ in their rate by more than the allowance. The one per cent comes from the first implementation; no source derives it.",
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
			"What follows asks the same question at each place where time can be lost: while the lock is acquired, while it is held, before the write, and on the way to the resource. In only one of these does the lock have a chance to look at its clock.",
		},
		Entries: []debateEntry{
			{
				Claim: "10", Heading: "The sleeper who writes",
				Run:     "The first client is granted the lock and stops. Its lease runs out while it sleeps. The second is granted the lock in good faith, and writes. The first wakes, knows nothing of this, and writes too. The runs ask two things: whether at any moment two clients held the lock, each by its own clock, and whether the resource took a write out of turn. A watchdog that renews the lease is asleep as well.",
				Runs:    []string{"pause-after-acquire/redlock", "pause-after-acquire/single"},
				Decides: "That no process stands still for longer than its lease. No operating system promises that, and none says so afterwards.",
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
				Claim: "16", Heading: "What comes late to the client does no harm",
				Run:     "All five nodes have granted the lock, and their replies wait in the client's socket while it sleeps for longer than the TTL. It wakes, reads five times that it holds the lock, and refuses, because it has measured how long that took. In the other runs it is the requests or the replies that are late. Kleppmann's article has such a pause as its second example; antirez pointed to the measurement, and in a short exchange afterwards Kleppmann agreed that delay between client and lock does no harm.",
				Runs:    []string{"pause-in-acquire/redlock"},
				Decides: "That the client measures how long acquiring took, and on a clock that goes on while it sleeps. Neither pause nor delay has to be bounded for that.",
				Sides: [2]debateSide{
					{"Both", "that a client which compares the time that has passed can refuse what has become worthless on the way."},
					{"To doubt it still", "that the clock on which it measures can be set back: see {14a}."},
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
			"Of the answers that antirez gives, two carry the argument. Redlock has a token, too, a random one, and that will do. And a resource that can do this, does it need a strong lock at all? To that question the last chapter comes back.",
		},
		Entries: []debateEntry{
			{
				Claim: "12", Heading: "The resource keeps the sleeper out",
				Run:     "The pause is that of {10}. The resource has seen the number of the second client when the first wakes and writes with a smaller one. In the run that is labelled `unchecked` the numbers are the same, and the resource does not look at them. Two runs show where fences end: when the sleeper writes before the new holder has written anything, and when the counter itself was lost in a failover.",
				Runs:    []string{"pause-fenced/fenced", "pause-fenced/fenced/unchecked"},
				Decides: "Whether the resource checks. If it does, the length of a pause no longer matters to whoever has written first; what remains to be assumed is that the counter survives.",
				Sides: [2]debateSide{
					{"With Kleppmann", "that the resource can be made to compare numbers, and that the last word belongs where the write lands."},
					{"To do without", "that most resources cannot compare anything, and that this is why somebody wanted a lock."},
				},
			},
			{
				Claim: "13a", Heading: "Redlock has no number to give",
				Run:     "The resource compares numbers, as before, but Redlock has none: its random value says who, and not when. The resource has nothing to compare, and the sleeper's write is like any other. Beside it is the run of a lock that counts.",
				Runs:    []string{"pause-fenced/redlock", "pause-fenced/fenced"},
				Decides: "That a token has an order. A counter on each node would not do, since nodes that are down fall behind; one counter for all of them is a single point of failure again.",
				Sides: [2]debateSide{
					{"It is a defect", "that to hand out numbers in order takes agreement among the nodes, which Redlock was built to do without."},
					{"It is none", "that another token will do as well ({13b}), or that a store which can compare numbers can hand them out, too."},
				},
			},
			{
				Claim: "13b", Heading: "A random token instead",
				Run:     "On entry a client writes its random token into the resource; what it writes later counts only while the token is still there. In the run `update` the first client enters, reads and sleeps, and the second enters: the tokens differ when the first comes to write. In the run `entry` it sleeps *before* it has entered. It wakes and enters over the second, as nothing says which of two random tokens is the newer one. (The scenario has a third run, `blind`, in which a write compares nothing. That is not what antirez proposes, and so it is no evidence here.)",
				Runs:    []string{"token-check-and-set/redlock/entry", "token-check-and-set/redlock/update"},
				Decides: "What the token is to protect: one change of the file against being mixed with another, or the turn of the newer holder. For the second, again, pauses would have to be bounded.",
				Sides: [2]debateSide{
					{"With antirez", "that what matters is that two changes do not mix, and not whose comes first: after a pause, who got the lock first says little about who works first."},
					{"With Kleppmann", "that a lock says whose turn it is, and that only an order of tokens lets the resource know."},
				},
			},
		},
	},
	{
		File: "clocks.html", Short: "Clocks", Title: "What time is it, and where?",
		Opening: []string{
			"Kleppmann's second objection is to Redlock itself. Each node ends a key by its own clock, the client ends its lease by another, and the lock is safe only if they agree on how long a TTL is. What must never be wrong, he holds, must not depend on time.",
			"The answer of antirez is that the algorithm does not need clocks that show the same time, only clocks that run at nearly the same rate, which they do. What is left of the objection, by his own account, are clocks that are set.",
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
				Claim: "14b", Heading: "The rate is all that counts, or is it?",
				Run:     "A client that measures on a clock which only goes forward does not notice that its wall clock is set back by seconds while it acquires. Drift within the allowance does no harm, at a node or at the holder. The last run is that of {14a}: a node keeps the end of a key as a point in time on its wall clock, and if that is set, then no rate, however exact, is of help.",
				Runs:    []string{"client-clock-jump/redlock"},
				Decides: "Whether the servers count on a steady clock. Clients can, and the lock of these runs does; Redis ends keys by the clock on the wall to this day.",
				Sides: [2]debateSide{
					{"With antirez", "that the algorithm is to be judged with the clocks that it could have. He wrote that Redis should move to a monotonic one."},
					{"With Kleppmann", "that it is to be judged with those that it has."},
				},
			},
			{
				Claim: "15", Heading: "Who sets the clock",
				Run:     "A time service puts the wall clock of a node forward by eleven seconds; whether it is right before or afterwards, makes no difference to a key. In one step that ends the holder's key on the spot. Slewed at 500 ppm, which is the most that ntpd does, the same correction takes hours, and takes five milliseconds off a key of ten seconds. A leap second that is smeared over a day does not even trouble a client that measures on the wall clock.",
				Runs:    []string{"clock-step-vs-slew/redlock/step", "clock-step-vs-slew/redlock/slew"},
				Decides: "That nobody and nothing ever sets the clock of a server by a step. Neither author disputes that a step breaks Redlock. A simulation can show what it does, and not how often it happens.",
				Sides: [2]debateSide{
					{"With antirez", "that operations can see to it: administrators who leave the clock alone, and a time service that is told to spread its corrections."},
					{"With Kleppmann", "that clocks of servers do jump, by a time server that is wrong or by an administrator's hand, and that safety should not be a matter of configuration."},
				},
			},
			{
				Claim: "18", Heading: "To wait before coming back",
				Run:     "It is the crash of {8}, but the node stays away until every lock that it may have granted is over; its empty memory is then the truth. In the run `too-short` it comes back sooner. In the run that is drawn, what counts the wait counts it on a wall clock that is set forward meanwhile. And when three nodes wait at the same time, there is no majority, and no lock for anybody.",
				Runs:    []string{"delayed-restart-clock/redlock"},
				Decides: "That the wait is one TTL long in true time. It replaces the assumption about disks with one more about clocks.",
				Sides: [2]debateSide{
					{"With antirez", "that a wait of one TTL is easily made, and that whoever will not rely on it can have every write go to the disk instead."},
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
					{"With Kleppmann", "that there is nothing between the two: where a failure is cheap one node will do, and where it is dear five are not enough."},
					{"Against him", "that there is a broad middle: work for which one server is too fragile, an agreement protocol too much, and a failure in bad weather tolerable."},
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
				Decides: "Whether time may be part of a proof. Agreement protocols such as Raft use it to make progress, and not to be right.",
				Sides: [2]debateSide{
					{"With Kleppmann", "that timing cannot be trusted, and that an algorithm should answer late, or not at all, rather than wrongly."},
					{"With antirez", "that computers count seconds well enough, and that an algorithm may say so among its assumptions, and be used where they hold."},
				},
			},
		},
	},
}
