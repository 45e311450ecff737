// Package script is the language of scenario files.
//
// A scenario is a page of text: what the clients do, what goes wrong meanwhile, which dangerous state must be reached, and
// the expected result for each lock. The text and the Go values ([Scenario], [Lane], [Step], [Section]) use the same words:
// [Parse] parses a page, [Scenario.String] prints it, and each is the inverse of the other.
//
//	# A node that restarts empty lets a second client in.
//	#
//	# c1 obtains the lock on a majority. One of its nodes crashes, and comes back without the key. c2 finds a majority too.
//	#
//	# redis.io, "Distributed Locks", Performance, crash recovery and fsync.
//
//	ttl 10s
//	client c1
//	  acquire
//	  sleep 3s
//	  write A
//	  release
//	client c2
//	  until 1500ms
//	  acquire within 5s
//	  write B
//	  release
//	nemesis
//	  cut c1-n4
//	  cut c1-n5
//	  when c1 acquired crash n3
//	  when c1 acquired +1s restart n3 empty
//	must n3 restarts before the lease of c1 ended
//
//	-- redlock nodes=5 --
//	expect lease exclusion violated: durable nodes
//	expect resource exclusion violated
//	-- redlock nodes=5 resource=fenced label=late-restart ttl=2s --
//	nemesis
//	  cut c1-n4
//	  cut c1-n5
//	  when c1 acquired crash n3
//	  when c1 acquired +3s restart n3 empty
//	must n3 restarts after the lease of c1 ended
//
// # The page
//
// A file is a txtar archive. It begins with prose, each line of which begins with a #: a title of one sentence, then the story
// and its source. Settings, lanes, musts and reports follow, which apply to every run; then there is one section for each run.
//
// Comments are possible nowhere else: a line that begins with a # below the prose, or after a gap in it, is an error.
//
//	ttl DURATION     how long a node keeps the key of the lock; the default is 10s
//	speed NUMBER     the most by which durations may be divided on real servers; from 1 to 100
//	sim only: WHY    why the scenario is not possible on real servers; below a section line, why that run is not
//	sweep KIND...    play a run for each place at which a perturbation of one of these kinds is possible; see below
//	client NAME      the lane of a client; its steps follow, one to a line, indented by two spaces
//	nemesis          the lane that injects faults
//	must STATE       a state without which the run proves nothing; see below for the forms
//	report QUANTITY  a figure that is shown beside the verdict and does not affect it; see [checker.Quantities]
//
// A section line names the lock and has the settings of this run; all except nodes are optional:
//
//	-- LOCK nodes=N replicas=N sentinels=N shards=N down-after=DURATION min-replicas=N \
//	   persistence=KIND pool=warm guests=yes resource=KIND label=NAME ttl=DURATION speed=N seed=N checksum=HEX --
//
// (on one line). A label distinguishes several runs of one lock, such as a control. The servers are:
//
//	nodes         the lock nodes, n1 to n9 at most; a majority of them grants a lease
//	replicas      copies of n1: r1 to r9; they, and all below, require nodes=1
//	sentinels     Sentinels that watch n1: s1 to s9; they need a replica to promote
//	shards        the shards of a Redis Cluster, 3 at least, of which n1 is the first: p2 to p9 are the primaries of the
//	              others, and watch n1; they need a replica to promote
//	down-after    after how long without a reply a server that watches n1 takes it to be down; the default is 30s for
//	              Sentinels and 15s in a cluster, as in their configuration files
//	min-replicas  how many replicas n1 needs to accept a write; the default is none
//
// With pool=warm each client has an open connection to each lock node when its lane begins, like a client that has been up for a
// while. Otherwise it connects when it first needs to, which takes as many messages as acquiring the lock. The lock is made
// before the run begins; clients of other libraries than go-redis, and those that a lock makes only when it is used, still
// connect in the run. The setting requires nodes without replicas.
//
// With guests=yes the clients run as WebAssembly, in simulation. Code that calls package time then has the clocks of its client: a
// pause stops its timers, and its clock can be wrong. On real servers each client is a process anyway.
//
// Simulated time costs nothing; real time does. On real servers durations are divided by the speed of the scenario. At a greater
// speed the scenario would not be valid: delays and timeouts inside a lock do not scale, EXPIRE takes whole seconds, a server
// takes some milliseconds to restart, and a busy machine adds small delays everywhere.
//
// The seed is the default seed of the run, or 1 if it is left out. The checksum is that of the trace that the run had with this
// seed when it was saved: lockstep replay compares them.
//
// The persistence of the lock nodes determines what is left after a crash and a restart:
//
//	none               nothing
//	rdb                what was last saved: at a save point of Redis, or at an orderly stop
//	aof-everysec       everything; after a power loss, the state at the last fsync, about a second before
//	aof-everysec-slow  the same, but an fsync takes half a second, and a crash loses what clients write during an fsync
//	aof-always         everything; this is the default
//	aof-lying          everything; after a power loss, the state when the machine was last powered on
//
// "restart n3 empty" is always a restart with an empty disk. Of the resources only a counter can lose what it has accepted. The
// kinds of the resource are:
//
//	plain          accepts every write; this is the default
//	fenced         refuses a write under a fencing token lower than the highest that it has seen
//	check-and-set  accepts a write only while its mark is the token of the lease; "enter" sets the mark
//	versioned      stores a separate version for each token
//	counter        a number on a separate Redis server, for increments
//
// Below the section line a run may have lanes, each of which replaces the lane of the same process (a lane without steps
// removes it), musts, which replace all of those above, and reports, which do so too. Then come the expectations:
//
//	expect PROPERTY violated
//
// or ok, or unknown. A property that is not named is expected to be ok. An expected violation may name the assumption that must be
// to blame for it:
//
//	expect PROPERTY violated: ASSUMPTION
//
// The assumption is bounded pause, bounded clock error, bounded delay, durable nodes, or none; with none the lock itself is at
// fault. It must be to blame for every violation of the property. If a verdict depends on chance, the page says for how many of
// the seeds from 0 to 199 the property is violated, and why; with the other seeds it is ok:
//
//	expect PROPERTY violated for N of 200 seeds
//	expect PROPERTY violated for N of 200 seeds: ASSUMPTION
//
// A test counts them. Only an author changes expectations. After them comes the last timeline, whose first line begins with a
// time, or in a sweep with the number of positions. It is verbatim, and the program may rewrite it.
//
// Blank lines between lanes, musts and expectations are allowed. Comments are not; use the prose.
//
// # The steps of a client
//
//	acquire               ask for the lock, once; a client that releases it at the instant at which it was obtained has held
//	                      it at no instant, so let the client sleep or write in between
//	acquire for D         ask for it with a TTL of D, which must not be longer than the TTL of the run
//	acquire within D      retry until the lock is obtained or D has passed
//	acquire within D every D  the same, with the second D between the beginnings of tries
//	acquire ... cancelled after D  the context of the acquire ends D after it began, if it has not returned by then
//	extend                ask for the newest lease to end one TTL from now
//	extend D              ask for it to end D from now, which may be sooner or later than its present end; the run does not
//	                      apply to a lock that extends only by the TTL with which it acquired (clients.ErrFixedTTL)
//	release               give the newest lease back, whether or not it still holds
//	release cancelled     the same, with a context that is cancelled already
//	release oldest        give the oldest lease back that the client has neither released nor dropped, even if it is over,
//	                      or if the client has got another one of the same lock since
//	release again         give back once more the lease that the client gave back last
//	write VALUE           write one word to the resource, under the newest lease
//	write VALUE blind     the same, regardless of the mark of a check-and-set resource
//	read                  read the resource
//	update WORD           write back what was read last, with one more word, under the newest lease
//	enter                 set the mark of a check-and-set resource to the token of the newest lease
//	increment             acquire, read the counter, write one more, release; a lock with its own way to increment uses that
//	                      instead; waits for the lock for one TTL at most, and then skips the increment
//	increment within D    the same, but waits for D at most
//	check                 compare the end of the newest lease with the client's own clock, and drop it if it is over
//	pause D               pause the whole process
//	sleep D               wait by the client's own clock
//	until D               wait until an instant of true time since the start; does nothing if it has passed
//	lock NAME             from here on ask for the lock with this name, not for the one named lock; a lease stays as it is,
//	                      and steps are about it again when the one with this name has been released
//	repeat N STEP         carry out a step N times, 100000 at most; not until, stay, or another repeat
//	stay                  at the end of a lane: the process does nothing more, but keeps running until the run is over
//
// A client that does not stay exits at the end of its lane, and no longer holds its lease.
//
// A step that fails does not end a lane. A client that has a lease and acquires another one does not release the first, and its later steps
// use the second. If both are of the same lock, the context of the first acquire is cancelled; if not, the client still holds both. If the
// acquire is refused, it keeps the lease that it has. While it has none, write, update, enter, extend and check are recorded as fail
// with "no lease", and nothing is sent; release does nothing and is not recorded; read, pause, sleep and until are as ever. An extend
// that fails leaves the client its lease with the end that the lock then gives, which is the earlier one if nodes may have set another,
// unless it says that the lease is over (clients.ErrNotHeld): then the client goes on without one, and so it does after a check that fails
// and after any release.
//
// # The steps of the nemesis
//
// A step is a moment followed by a fault. See [history.Fault] and the types beside it for the faults, for what each stands for,
// and for what undoes it.
//
//	FAULT                        at the start, before any lane runs
//	at D FAULT                   at an instant of true time since the start
//	when PROCESS EVENT FAULT     right after the first such event
//	when PROCESS EVENT +D FAULT  that long after it
//	when PROCESS EVENT #N FAULT  right after the Nth such event; also with +D
//
// An event of a client is the invocation of an operation, or its outcome, or something that happens to the client:
//
//	acquires     acquired     refused
//	extends      extended
//	releases     released
//	increments   incremented
//	enters       entered
//	writes V     wrote V
//	updates W    updated W
//	renewed      lost         the lock renewed its lease by itself; it said that the lease is lost
//	paused       resumed
//
// and an event of a server is one of these:
//
//	sets C       it sets a key of the lock for the client C; a key that was there already does not count
//	deletes C    a command deletes a key there that stood for a lease of the client C
//	receives C   a request of the client C arrives; a fault then comes before the reply
//	promoted     it becomes a primary
//	follows N    it becomes a replica of N
//	sdown N      it believes by itself that N is down
//	odown N      it knows that enough servers believe so
//	elected      it was elected to find a successor
//
// These are the faults:
//
//	pause PROCESS [DURATION]    the process stands still for that long, or until resume; its connections stay open
//	resume PROCESS              ends a pause
//	crash PROCESS [power]       the process ends at once; with power, its machine loses power, and what was not on its disk
//	                            is lost
//	stop PROCESS                the server ends in an orderly way
//	restart PROCESS [empty]     starts a server again after crash or stop; with empty, without its data
//	promote PROCESS             makes a replica of n1 the primary; clients then find it instead of n1
//	follow PROCESS PRIMARY      makes n1 or a replica of it a replica of another server; it loses its own keys
//	jump PROCESS +DURATION or -DURATION
//	                            sets the wall clock forward or back; the steady clock does not notice
//	drift PROCESS +NUMBERppm or -NUMBERppm
//	                            the wall clock and the steady clock run fast or slow from now on, by so many millionths
//	slew PROCESS +DURATION or -DURATION over DURATION
//	                            corrects the wall clock little by little
//	cut LINK                    no message arrives any more; the connections stay open
//	heal [LINK]                 ends cut, hold and delay on a link, or on every link
//	hold LINK                   keeps messages from arriving until release
//	release LINK                delivers the messages that hold has kept back
//	delay LINK DURATION         each message takes that much longer from now on; 0s ends it
//	reset LINK                  breaks the connections, and drops the messages on them; clients may connect again at once
//	on request|reply COMMAND|OPERATION [#NUMBER] FROM->TO (hold|delay DURATION|reset)
//	                            holds or delays one message, or drops it and breaks its connection (reset): the next that
//	                            belongs to this command or operation, or the one with this number
//
// A link is c1-n4 (both directions) or c1->n4 (one direction). It joins a client and a server, or two Redis servers that
// communicate, such as n1-r1, s1-n1 and s1-s2. The last form is a fault of one message: the next request or reply
// in that direction, or the Nth, that belongs to a command (SET) or to an operation of the client (write).
//
// # Sweeps
//
// With "sweep KIND..." each run of the page becomes a series of runs: the lanes of the page as they are, in which no property may be
// violated, with one perturbation in each. There is one run for each position: each moment of the run without a perturbation at which
// one of these kinds is possible, with each magnitude. The page does not name the moments, so it fits any lock, whatever commands
// it sends. The kinds are those of [Kind]; the magnitudes derive from the TTL, from how long the lock waits for a node, and from how
// long it waits between tries. An expectation of a sweep is about all positions together. The timeline is that of the worst
// position: it breaks what is claimed of the lock, or else proves nothing, or else violates something.
//
// # The states of a must
//
// A must names a dangerous state that the run has to reach for its outcome to mean something. It never names what a good
// lock would do: otherwise a bad lock would be UNKNOWN where it is UNSAFE.
//
//	CLIENT acquires
//	CLIENT is refused
//	CLIENT is cancelled                            the context of its acquire ends before the acquire returns
//	CLIENT acquires on NODE                        with a key on it; NODE may be a replica that was promoted
//	CLIENT acquires with NODES down
//	CLIENT acquires with under LIMIT left          of the lease, when its acquire returns
//	CLIENT tries with NODES down
//	CLIENT tries with NODES paused
//	CLIENT reaches only NODES                      during one acquire or extend, its messages arrive at these nodes only
//	CLIENT holds exactly NODES                     when its acquire returns, the key is on these nodes only
//	CLIENT is first at NODES                       the first key that is set on each of them is its own
//	CLIENT waits for RIVAL                         its acquire is in progress while the other client holds
//	some client waits for another
//	COUNT clients wait at once                     for a lock that is held; tries in a row are one wait
//	CLIENT and RIVAL acquire at once               the two operations are in progress at the same time
//	CLIENT and RIVAL increment at once             a lock prevents this; with a lock, use CLIENT waits for RIVAL
//	CLIENT and RIVAL draw the same token           both send a SET, or SETNX, with the same value
//	CLIENT acquires while RIVAL releases           its acquire returns while the release of the other is in progress
//	CLIENT acquires while its wall clock jumps     or is slewed
//	CLIENT sees no TTL                             TTL or PTTL of a key is -1
//	CLIENT crashes while it holds
//	CLIENT crashes while it acquires               and a key of that acquire exists
//	CLIENT is cut off while it holds               no majority of the nodes is in reach
//	CLIENT pauses after a passed check
//	CLIENT resumes after its lease ended
//	CLIENT resumes after its keys ended            the keys of an acquire still in progress, on a majority
//	CLIENT resumes after RIVAL acquired            while it slept
//	CLIENT releases after its lease ended
//	CLIENT extends before its lease ended
//	CLIENT extends after its lease ended
//	CLIENT extends with NODES down
//	CLIENT renews
//	CLIENT writes what it read before RIVAL wrote  its write arrives after that of the other, and it has not read again
//	CLIENT enters after RIVAL                      it sets the mark of the resource after the other has set one
//	write WRITE arrives after its lease ended      WRITE may also be the word of an update
//	write WRITE arrives before write NEXT
//	NODE drops the key of CLIENT early             it expires, or is lost, before its TTL has passed
//	NODE keeps the key of CLIENT late              by more than 1% of its TTL plus 10ms
//	NODE restarts before the lease of CLIENT ended
//	NODE restarts after the lease of CLIENT ended
//	NODE restarts after the lease of CLIENT ended by its wall clock
//	NODE restarts with the key of CLIENT           it had the key when it went down, and still has it
//	NODE restarts without the key of CLIENT        it had the key when it went down
//	NODE is promoted with the key of CLIENT        a copy had arrived, even if its own clock has ended it
//	NODE is promoted without the key of CLIENT     no copy had arrived of a key that should still exist
//	NODE never has the key of CLIENT               though another copy of the same node has it
//	NODE is promoted without the last fence        it does not know the last fencing token that was drawn
//	NODE does not answer while CLIENT tries        it is running, but no reply arrives during one acquire, or for half a TTL
//	a request from CLIENT to SERVER takes over LIMIT
//	a reply from SERVER to CLIENT takes over LIMIT
//	a request from CLIENT to SERVER is lost        with its connection
//	a reply from SERVER to CLIENT is lost
//	the wall clock of PROCESS is off by over LIMIT
//	the steady clock of PROCESS is off by over LIMIT
//
// # Names and durations
//
// Processes are the clients that have a lane, the servers and the resource; a must can also name the probe, the fresh client
// that must acquire after the end. Names are lower-case letters and digits. Durations have the form of Go (1500ms,
// 15s, 2m), and are printed as a whole number of one unit.
//
// The only loop is repeat, and there are no conditions: for those use Go.
package script
