// Package scenarios is the catalogue of what can go wrong with a lock, and the language that it is written in.
//
// A scenario is a page of text: what the clients do, what goes wrong meanwhile, which dangerous state must be reached, and
// what is expected to come of it for each lock. The text and the Go values ([Scenario], [Lane], [Step], [Run]) have one
// vocabulary: [Parse] reads a page, [Scenario.String] prints it, and each is the inverse of the other.
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
// A file is a txtar archive. First comes the prose, each line after a #: a title of one sentence, then the story and where
// it comes from. Then come a setting, the lanes and the musts, which hold for every run; then one section for each run.
//
//	ttl DURATION     how long a node keeps the key of the lock; 10s if it is not said
//	client NAME      the lane of a client; its steps follow, one to a line, indented by two spaces
//	nemesis          the lane that injects faults
//	must STATE       a state without which the run proves nothing; see below for the forms
//
// A section line names the lock, then what this run has of its own, in this order:
//
//	-- LOCK nodes=N resource=KIND label=NAME ttl=DURATION --
//
// The nodes are n1 to nN, 9 at most. The resource is plain, which is the default, or fenced. A label tells several runs of
// one lock apart, such as a control. Below it a run may have lanes, each of which replaces the lane of the same process (a
// lane without steps takes it out), and musts, which replace all of those above. Then come the expectations:
//
//	expect PROPERTY violated
//
// or ok, or unknown. A property that is not named is expected to be ok. A violation may name what must be to blame for it:
//
//	expect PROPERTY violated: ASSUMPTION
//
// which is bounded pause, bounded clock error, bounded delay, durable nodes, or none, and then the lock itself is at fault.
// Every violation of the property must break that assumption. Expectations are kept by hand. What follows is the timeline
// that came out last; its first line begins with a time. It is kept verbatim, and the machine may rewrite it.
//
// Blank lines between lanes, musts and expectations are allowed. Comments are not: there is the prose.
//
// # The steps of a client
//
//	acquire               ask for the lock, once
//	acquire within D      try again until the lock is obtained or D has passed
//	release               give the newest lease back, whether or not it still holds
//	write VALUE           write one word to the resource, under the newest lease
//	read                  read the resource
//	check                 compare the end of the newest lease with the client's own clock
//	pause D               stop the whole process
//	sleep D               wait by the client's own clock
//	until D               wait until a true time since the start; does nothing if it has passed
//
// # The steps of the nemesis
//
// A step is a fault, after its moment. See [sim.Fault] and the types beside it for the faults, for what each stands for,
// and for what undoes it.
//
//	FAULT                       at the start, before any lane runs
//	at D FAULT                  at a true time since the start
//	when CLIENT EVENT FAULT     right after the first such event
//	when CLIENT EVENT +D FAULT  that long after it
//
// An event is the outcome of an operation (acquired, refused, released, wrote VALUE), its invocation (acquires, releases,
// writes VALUE), or paused or resumed.
//
//	pause PROCESS [D]           resume PROCESS
//	crash PROCESS               restart NODE [empty]
//	jump PROCESS +D             the wall clock only; also -D
//	drift PROCESS +Nppm         both clocks; also -Nppm
//	slew PROCESS +D over D      the wall clock only; also -D
//	cut LINK                    heal LINK, or heal for everything
//	hold LINK                   release LINK
//	delay LINK D                delay LINK 0s
//	reset LINK
//	on request WHAT FROM->TO ACTION
//	on reply WHAT FROM->TO ACTION
//
// A link is c1-n4, both ways, or c1->n4, one way. The last two forms are faults on one message: the next request or reply
// in that direction that belongs to a command (SET) or to an operation of the client (write). The action is hold, delay D
// or reset.
//
// # The states of a must
//
// A must names a dangerous state: what the run has to reach so that its outcome means something. It never names what a good
// lock would answer, or a bad lock would be UNKNOWN where it is UNSAFE.
//
//	CLIENT acquires
//	CLIENT is refused
//	CLIENT pauses after a passed check
//	CLIENT resumes after its lease ended
//	CLIENT resumes after its keys ended            the keys of an acquire still in progress, on a majority
//	CLIENT holds exactly NODES                     when its acquire returns, the key is on these nodes only
//	CLIENT reaches only NODES                      during one acquire, its messages arrive at these nodes only
//	CLIENT is first at NODES                       the first key that is set on each of them is its own
//	CLIENT tries with NODES down
//	CLIENT acquires with NODES down
//	CLIENT crashes while it holds
//	CLIENT waits for RIVAL                         its acquire is in progress while the other client holds
//	some client waits for another
//	NODE drops the key of CLIENT early             it expires, or is lost, before the life that it was given has passed
//	NODE keeps the key of CLIENT late              by over 1% of that life, and 10ms
//	NODE restarts before the lease of CLIENT ended
//	NODE restarts after the lease of CLIENT ended
//	write WRITE arrives after its lease ended
//	write WRITE arrives before write NEXT
//	a request from CLIENT to SERVER takes over LIMIT
//	a reply from SERVER to CLIENT takes over LIMIT
//
// # Names and durations
//
// Processes are the clients that have a lane, the nodes and the resource; a must can also be about the probe, which is the
// fresh client that must acquire after the end. Names are lower-case letters and digits. Durations are as in Go (1500ms,
// 15s, 2m), and are printed as a whole number of one unit.
//
// There are no loops and no conditions: for those there is Go.
package scenarios
