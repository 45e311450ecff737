package explain

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/checker/internal/handmade"
	"lockstep/sim/history"
)

// An explainCase is a story, a violation of it, and sentences that the explanation must contain. Without events, the violation is
// the first of its property that Check finds.
type explainCase struct {
	name     string
	property checker.Property
	broken   checker.Assumption
	story    string
	change   func(*history.History) // for what a handmade story cannot say
	events   []int
	want     string
}

func fences(labels map[string]int64) func(*history.History) {
	return func(h *history.History) {
		for i := range h.Events {
			if e := &h.Events[i]; e.Kind == history.OK && e.Op == history.Acquire {
				e.Fence = labels[e.Lease]
			}
		}
	}
}

// words makes the last word of each accepted value the word that was added.
func words(h *history.History) {
	for i := range h.Events {
		if e := &h.Events[i]; e.Op == history.Accept {
			e.By = history.Client(e.Lease)
			e.Word = e.Value[strings.LastIndex(e.Value, " ")+1:]
		}
	}
}

// numbers turns the changes at the resource into changes of a counter.
func numbers(h *history.History) {
	for i := range h.Events {
		if e := &h.Events[i]; e.Process == "resource" {
			e.Key, e.Lease = "counter", ""
		}
	}
}

// retimes makes each change of a deadline name the lease of the key, as nodes do.
func retimes(h *history.History) {
	for i := range h.Events {
		if e := &h.Events[i]; e.Op == history.Retime {
			e.Lease = e.Owner
		}
	}
}

func replicas(h *history.History) { h.Meta.Replicas = map[string]string{"r1": "n1"} }

func TestExplain(t *testing.T) {
	for _, c := range []explainCase{
		{name: "a pause", property: checker.ResourceExclusion, story: `
			nodes 3
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.004   n2 set c1#1
			0.005   n3 set c1#1
			0.006   c1 ok acquire c1#1 until=9.898
			0.006   c1 invoke check c1#1
			0.006   c1 ok check c1#1
			0.007   c1 fault pause pause_c1_15s
			10.006  n2 expire c1#1
			10.007  n1 expire c1#1
			10.007  n3 expire c1#1
			12      c2 invoke acquire
			12.004  n1 set c2#1
			12.004  n2 set c2#1
			12.005  n3 set c2#1
			12.006  c2 ok acquire c2#1 until=21.898
			12.007  c2 invoke write B c2#1
			12.009  resource accept B c2#1 sent=12.007
			15.007  c1 fault resume resume_c1
			15.007  c1 invoke write A c1#1
			15.009  resource accept A c1#1 sent=15.008
			18      c2 invoke release c2#1`,
			want: `
			c1 was granted c1#1 on n1 n2 at 0.004s (and on n3 by 0.005s), valid until 9.898s by its own clock.
			c1 checked its clock at 0.006s, and c1#1 was valid.
			From 0.007s to 15.007s c1 was paused.
			Meanwhile the keys of c1#1 expired on n1 (10.007s), n2 (10.006s) and n3 (10.007s).
			c2 was granted c2#1 on n1 n2 at 12.004s (and on n3 by 12.005s), valid until 21.898s by its own clock.
			c2 wrote B under c2#1, and the resource accepted it at 12.009s.
			c1 wrote A under c1#1 at 15.007s; by its own clock the lease had ended at 9.898s.
			At 15.009s the resource accepted A under c1#1, though c2#1 was the newer lease: it overwrote B.
			The environment broke the assumption that no process is paused for longer than its lease lasts.`},

		{name: "a late write", property: checker.ResourceExclusion, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			0.006   c1->resource fault hold hold_c1->resource
			0.007   c1 invoke write A c1#1
			10.004  n1 expire c1#1
			12      c2 invoke acquire
			12.004  n1 set c2#1
			12.006  c2 ok acquire c2#1 until=22
			90      c1->resource fault release release_c1->resource
			90.001  resource accept A c1#1 sent=0.007`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			From 0.006s to 90.000s messages from c1 to resource did not get through.
			c1 wrote A under c1#1 at 0.007s, while its lease was valid by its own clock.
			The key of c1#1 expired on n1 at 10.004s.
			c2 was granted c2#1 on n1 at 12.004s, valid until 22.000s by its own clock.
			At 90.001s the resource accepted A under c1#1, which had been under way since 0.007s, though c2#1 was the newer lease.
			The environment broke the assumption that a message arrives while the lease under which it was sent still lasts.`},

		{name: "work that takes too long", property: checker.ResourceExclusion, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			10.004  n1 expire c1#1
			12      c2 invoke acquire
			12.004  n1 set c2#1
			12.006  c2 ok acquire c2#1 until=22
			13      c1 invoke write A c1#1
			13.001  resource accept A c1#1 sent=13`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			The key of c1#1 expired on n1 at 10.004s.
			c2 was granted c2#1 on n1 at 12.004s, valid until 22.000s by its own clock.
			c1 wrote A under c1#1 at 13.000s; by its own clock the lease had ended at 10.000s.
			At 13.001s the resource accepted A under c1#1, though c2#1 was the newer lease.
			No assumption was broken: c1 worked longer than its lease lasted, and nothing renewed the lease.`},

		{name: "a key that a script took for over by the clock of its node", property: checker.LeaseExclusion, broken: checker.BoundedClockError, story: `
			0       c1 invoke acquire
			0.003   n1 set c1#1 until=never
			0.004   c1 ok acquire c1#1 until=10
			1       n1 fault jump jump_n1_+20s
			2       c2 invoke acquire
			2.003   n1 delete c1#1 by=c2 wall=20
			2.003   n1 set c2#1 until=never wall=20
			2.004   c2 ok acquire c2#1 until=12
			3       c1 info exit
			3       c2 info exit`,
			want: `
			c1 was granted c1#1 on n1 at 0.003s, valid until 10.000s by its own clock.
			The wall clock of n1 jumped forward by 20s at 1.000s.
			c2 deleted the key of c1#1 on n1 at 2.003s, in an acquire.
			c2 was granted c2#1 on n1 at 2.003s, valid until 12.000s by its own clock.
			c1 did not know this: by its own clock c1#1 was valid until 10.000s.
			From 2.004s on both c1 and c2 held the lock, until c1 exited at 3.000s; c2 exited at 3.000s.
			The environment broke the assumption that clocks run at nearly the same rate and do not jump.`},

		{name: "keys that were lost as soon as they were set", property: checker.LeaseExclusion, broken: checker.DurableNodes, story: `
			nodes 3
			0       c1 invoke acquire
			0       c2 invoke acquire
			0.003   n2 set c1#1 until=10.003
			0.003   n2 fault crash crash_n2
			0.003   n2 lose c1#1
			0.004   n3 set c1#1 until=10.004
			0.004   n3 fault crash crash_n3
			0.004   n3 lose c1#1
			0.004   n1 set c1#1 until=10.004
			0.005   n2 set c2#1 until=10.005
			0.005   n3 set c2#1 until=10.005
			0.006   c2 ok acquire c2#1 until=9.9
			0.007   c1 ok acquire c1#1 until=9.9
			2       c1 info exit
			2       c2 info exit`,
			want: `
			n2 crashed at 0.003s and lost the key of c1#1.
			n3 crashed at 0.004s and lost the key of c1#1.
			c2 was granted c2#1 on n2 n3 at 0.005s, valid until 9.900s by its own clock.
			c1 was granted c1#1 on n1 (and on n2 n3, where its keys were gone by then) at 0.007s, valid until 9.900s by its own clock.
			c2 did not know this: by its own clock c2#1 was valid until 9.900s.
			From 0.007s on both c2 and c1 held the lock, until c2 exited at 2.000s; c1 exited at 2.000s.
			The environment broke the assumption that a node that has granted a lease, and any node that takes its place, remembers it while it lasts.`},

		{name: "a lease that was extended before its key was lost", property: checker.LeaseExclusion, broken: checker.DurableNodes, story: `
			0       c1 invoke acquire
			0.003   n1 set c1#1 until=10.003
			0.004   c1 ok acquire c1#1 until=10
			5       c1 invoke extend c1#1
			5.001   n1 retime c1#1 until=15.001
			5.002   c1 ok extend c1#1 until=15
			6       n1 fault crash crash_n1
			6       n1 lose c1#1
			8       c2 invoke acquire
			8.001   n1 set c2#1 until=18.001
			8.002   c2 ok acquire c2#1 until=18
			9       c1 info exit
			9       c2 info exit`,
			want: `
			c1 was granted c1#1 on n1 at 0.003s, valid until 10.000s by its own clock.
			c1 extended c1#1 at 5.002s, until 15.000s by its own clock.
			n1 crashed at 6.000s and lost the key of c1#1.
			c2 was granted c2#1 on n1 at 8.001s, valid until 18.000s by its own clock.
			c1 did not know this: by its own clock c1#1 was valid until 15.000s.
			From 8.002s on both c1 and c2 held the lock, until c1 exited at 9.000s; c2 exited at 9.000s.
			The environment broke the assumption that a node that has granted a lease, and any node that takes its place, remembers it while it lasts.`},

		{name: "keys that were gone as soon as they were set", property: checker.LeaseExclusion, broken: checker.BoundedClockError, story: `
			nodes 3
			0       c1 invoke acquire
			0       c2 invoke acquire
			0.003   n2 set c1#1 until=10.003
			0.003   n2 fault jump jump_n2_+20s
			0.003   n2 expire c1#1
			0.004   n3 set c1#1 until=10.004
			0.004   n3 fault jump jump_n3_+20s
			0.004   n3 expire c1#1
			0.004   n1 set c1#1 until=10.004
			0.005   n2 set c2#1 until=30.005 wall=20
			0.005   n3 set c2#1 until=30.005 wall=20
			0.006   c2 ok acquire c2#1 until=9.9
			0.007   c1 ok acquire c1#1 until=9.9
			2       c1 info exit
			2       c2 info exit`,
			want: `
			The wall clock of n2 jumped forward by 20s at 0.003s.
			The keys of c1#1 expired on n2 (0.003s) and n3 (0.004s), before their time.
			The wall clock of n3 jumped forward by 20s at 0.004s.
			c2 was granted c2#1 on n2 n3 at 0.005s, valid until 9.900s by its own clock.
			c1 was granted c1#1 on n1 (and on n2 n3, where its keys were gone by then) at 0.007s, valid until 9.900s by its own clock.
			c2 did not know this: by its own clock c2#1 was valid until 9.900s.
			From 0.007s on both c2 and c1 held the lock, until c2 exited at 2.000s; c1 exited at 2.000s.
			The environment broke the assumption that clocks run at nearly the same rate and do not jump.`},

		{name: "a node that lost its key before the others were asked", property: checker.LeaseExclusion, broken: checker.DurableNodes, story: `
			nodes 3
			0       c1 invoke acquire
			0.002   n2 set c1#1
			0.003   n2 fault crash crash_n2
			0.004   n2 fault restart restart_n2_empty
			0.004   n2 lose c1#1
			0.005   n3 set c1#1
			0.006   c1 ok acquire c1#1 until=9.9
			1       c2 invoke acquire
			1.002   n1 set c2#1
			1.003   n2 set c2#1
			1.004   c2 ok acquire c2#1 until=10.9
			2       c1 info exit
			2       c2 info exit`,
			want: `
			n2 crashed at 0.003s and came back at 0.004s without the key of c1#1: its disk was empty.
			c1 was granted c1#1 on n3 (and on n2, where its key was gone by then) at 0.006s, valid until 9.900s by its own clock.
			c2 was granted c2#1 on n1 n2 at 1.003s, valid until 10.900s by its own clock: n2 no longer had the key of the older lease, and n1 never had it.
			c1 did not know this: by its own clock c1#1 was valid until 9.900s.
			From 1.004s on both c1 and c2 held the lock, until c1 exited at 2.000s; c2 exited at 2.000s.
			The environment broke the assumption that a node that has granted a lease, and any node that takes its place, remembers it while it lasts.`},

		{name: "a node that stays away for long enough by a clock that jumps", property: checker.LeaseExclusion, broken: checker.BoundedClockError, story: `
			nodes 3
			0       c1 invoke acquire
			0.002   n1 set c1#1 until=10.002
			0.003   n2 set c1#1 until=10.003
			0.004   c1 ok acquire c1#1 until=9.9
			0.5     n2 fault crash crash_n2
			1       n2 fault jump jump_n2_+12s
			1.5     n2 fault restart restart_n2_empty
			1.5     n2 expire c1#1 wall=12
			3       c2 invoke acquire
			3.002   n3 set c2#1 until=13.002
			3.003   n2 set c2#1 until=25.003 wall=12
			3.004   c2 ok acquire c2#1 until=12.9
			4       c2 info exit
			5       c1 info exit`,
			want: `
			c1 was granted c1#1 on n1 n2 at 0.003s, valid until 9.900s by its own clock.
			n2 crashed at 0.500s.
			The wall clock of n2 jumped forward by 12s at 1.000s.
			n2 came back at 1.500s with an empty disk and without the key of c1#1: by its wall clock the key had expired in the meantime, before its time.
			c2 was granted c2#1 on n2 n3 at 3.003s, valid until 12.900s by its own clock: n2 no longer had the key of the older lease, and n3 never had it.
			c1 did not know this: by its own clock c1#1 was valid until 9.900s.
			From 3.004s on both c1 and c2 held the lock, until c2 exited at 4.000s; c1 exited at 5.000s.
			The environment broke the assumption that clocks run at nearly the same rate and do not jump.`},

		{name: "a node that was down while a lease ended", property: checker.ResourceExclusion, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			0.007   c1 fault pause pause_c1_15s
			1       n1 fault stop stop_n1
			11      n1 fault restart restart_n1
			11      n1 expire c1#1
			12      c2 invoke acquire
			12.004  n1 set c2#1
			12.006  c2 ok acquire c2#1 until=22
			15.007  c1 fault resume resume_c1
			15.007  c1 invoke write A c1#1
			15.009  resource accept A c1#1 sent=15.008`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			From 0.007s to 15.007s c1 was paused.
			n1 was stopped at 1.000s.
			n1 came back at 11.000s without the key of c1#1: by its wall clock the key had expired in the meantime.
			c2 was granted c2#1 on n1 at 12.004s, valid until 22.000s by its own clock.
			c1 wrote A under c1#1 at 15.007s; by its own clock the lease had ended at 10.000s.
			At 15.009s the resource accepted A under c1#1, though c2#1 was the newer lease.
			The environment broke the assumption that no process is paused for longer than its lease lasts.`},

		{name: "a failover", property: checker.LeaseExclusion, change: replicas, story: `
			0       c1 invoke acquire
			0       n1->r1 fault hold hold_n1->r1
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			1       n1 fault crash crash_n1
			2       s1 odown n1 by=nobody
			2.5     r1 promote n1 by=nobody
			3       c2 invoke acquire
			3.004   r1 set c2#1
			3.006   c2 ok acquire c2#1 until=13
			4       c2 invoke release c2#1
			5       c1 fault crash crash_c1`,
			want: `
			From 0.000s on messages from n1 to r1 did not get through.
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			n1 crashed at 1.000s.
			At 2.000s s1 learnt that a quorum considered n1 down.
			At 2.500s r1 took the place of n1; the key of c1#1 had never reached r1.
			c2 was granted c2#1 on r1 at 3.004s, valid until 13.000s by its own clock.
			c1 did not know this: by its own clock c1#1 was valid until 10.000s.
			From 3.006s on both c1 and c2 held the lock, until c2 began to release c2#1 at 4.000s; c1 crashed at 5.000s.
			The environment broke the assumption that a node that has granted a lease, and any node that takes its place, remembers it while it lasts.`},

		{name: "a failover by vote", property: checker.LeaseExclusion, change: replicas, story: `
			0       n1-r1 fault cut cut_n1-r1
			0       n1-r2 fault cut cut_n1-r2
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			1       n1 fault crash crash_n1
			2       s1 sdown n1 by=nobody
			2.1     s2 sdown n1 by=nobody
			2.2     s3 sdown n1 by=nobody
			2.3     s3 odown n1 by=nobody
			2.4     s2 odown n1 by=nobody
			2.45    s2 leader n1 by=nobody
			2.5     r1 promote
			2.6     s1 odown n1 by=nobody
			3       c2 invoke acquire
			3.004   r1 set c2#1
			3.006   c2 ok acquire c2#1 until=13
			4       c2 invoke release c2#1
			4.001   c2 ok release c2#1
			5       c1 invoke release c1#1
			5.001   c1 fail release c1#1`,
			want: `
			From 0.000s on messages between n1 and r1 r2 did not get through.
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			n1 crashed at 1.000s.
			s1 s2 s3 considered n1 down from 2.000s on; s2 learnt at 2.400s that a quorum did, and was elected at 2.450s.
			At 2.500s r1 took the place of n1; the key of c1#1 had never reached r1.
			c2 was granted c2#1 on r1 at 3.004s, valid until 13.000s by its own clock.
			c1 did not know this: by its own clock c1#1 was valid until 10.000s.
			From 3.006s on both c1 and c2 held the lock, until c2 began to release c2#1 at 4.000s; c1 asked for the release of c1#1 at 5.000s, which failed.
			The environment broke the assumption that a node that has granted a lease, and any node that takes its place, remembers it while it lasts.`},

		{name: "a power loss after an extension", property: checker.LeaseExclusion, broken: checker.DurableNodes, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=10
			0.006   c1 ok acquire c1#1 until=10
			5       c1 invoke extend c1#1
			5.004   n1 retime c1#1 until=15 by=c1
			5.006   c1 ok extend c1#1 until=15
			5.1     n1 fault crash crash_n1
			6       n1 fault restart restart_n1
			6       n1 retime c1#1 until=10 by=nobody
			10      n1 expire c1#1
			11      c2 invoke acquire
			11.004  n1 set c2#1 until=21
			11.006  c2 ok acquire c2#1 until=21
			12      c2 info exit
			13      c1 info exit`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			c1 extended c1#1 at 5.006s, until 15.000s by its own clock.
			n1 crashed at 5.100s and came back at 6.000s without the last extension of c1#1.
			The key of c1#1 expired on n1 at 10.000s.
			c2 was granted c2#1 on n1 at 11.004s, valid until 21.000s by its own clock.
			c1 did not know this: by its own clock c1#1 was valid until 15.000s.
			From 11.006s on both c1 and c2 held the lock, until c2 exited at 12.000s; c1 exited at 13.000s.
			The environment broke the assumption that a node that has granted a lease, and any node that takes its place, remembers it while it lasts.`},

		{name: "a failover after an extension", property: checker.LeaseExclusion, change: replicas, broken: checker.DurableNodes, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=10
			0.005   r1 set c1#1 by=n1 until=10
			0.006   c1 ok acquire c1#1 until=10
			4       n1-r1 fault cut cut_n1-r1
			5       c1 invoke extend c1#1
			5.004   n1 retime c1#1 until=15 by=c1
			5.006   c1 ok extend c1#1 until=15
			6       r1 promote
			10      r1 expire c1#1
			11      c2 invoke acquire
			11.004  r1 set c2#1 until=21
			11.006  c2 ok acquire c2#1 until=21
			12      c2 info exit
			13      c1 info exit`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			From 4.000s on messages between n1 and r1 did not get through.
			c1 extended c1#1 at 5.006s, until 15.000s by its own clock.
			At 6.000s r1 took the place of n1; the last extension of c1#1 had never reached r1.
			The key of c1#1 expired on r1 at 10.000s.
			c2 was granted c2#1 on r1 at 11.004s, valid until 21.000s by its own clock.
			c1 did not know this: by its own clock c1#1 was valid until 15.000s.
			From 11.006s on both c1 and c2 held the lock, until c2 exited at 12.000s; c1 exited at 13.000s.
			The environment broke the assumption that a node that has granted a lease, and any node that takes its place, remembers it while it lasts.`},

		{name: "a failover after an extension, and the old primary is a replica now", property: checker.LeaseExclusion, change: replicas, broken: checker.DurableNodes, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=10
			0.005   r1 set c1#1 by=n1 until=10
			0.006   c1 ok acquire c1#1 until=10
			4       n1-r1 fault cut cut_n1-r1
			5       c1 invoke extend c1#1
			5.004   n1 retime c1#1 until=15 by=c1
			5.006   c1 ok extend c1#1 until=15
			6       r1 promote
			7       n1 follow r1
			7.003   n1 retime c1#1 until=10 by=r1
			10      r1 expire c1#1
			10.001  n1 delete c1#1 by=r1
			11      c2 invoke acquire
			11.004  r1 set c2#1 until=21
			11.006  c2 ok acquire c2#1 until=21
			12      c2 info exit
			13      c1 info exit`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			From 4.000s on messages between n1 and r1 did not get through.
			c1 extended c1#1 at 5.006s, until 15.000s by its own clock.
			At 6.000s r1 took the place of n1; the last extension of c1#1 had never reached r1.
			The key of c1#1 expired on r1 at 10.000s.
			c2 was granted c2#1 on r1 at 11.004s, valid until 21.000s by its own clock.
			c1 did not know this: by its own clock c1#1 was valid until 15.000s.
			From 11.006s on both c1 and c2 held the lock, until c2 exited at 12.000s; c1 exited at 13.000s.
			The environment broke the assumption that a node that has granted a lease, and any node that takes its place, remembers it while it lasts.`},

		{name: "an extension after a failover, on the old primary", property: checker.LeaseExclusion, change: replicas, broken: checker.DurableNodes, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=10
			0.005   r1 set c1#1 by=n1 until=10
			0.006   c1 ok acquire c1#1 until=10
			3       n1-r1 fault cut cut_n1-r1
			4       r1 promote
			5       c1 invoke extend c1#1
			5.004   n1 retime c1#1 until=15 by=c1
			5.006   c1 ok extend c1#1 until=15
			10      r1 expire c1#1
			11      c2 invoke acquire
			11.004  r1 set c2#1 until=21
			11.006  c2 ok acquire c2#1 until=21
			12      c2 info exit
			13      c1 info exit`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			From 3.000s on messages between n1 and r1 did not get through.
			At 4.000s r1 took the place of n1, which kept running by itself.
			c1 extended c1#1 at 5.006s, until 15.000s by its own clock.
			The key of c1#1 expired on r1 at 10.000s.
			c2 was granted c2#1 on r1 at 11.004s, valid until 21.000s by its own clock.
			c1 did not know this: by its own clock c1#1 was valid until 15.000s.
			From 11.006s on both c1 and c2 held the lock, until c2 exited at 12.000s; c1 exited at 13.000s.
			The environment broke the assumption that a node that has granted a lease, and any node that takes its place, remembers it while it lasts.`},

		{name: "a failover after an extension of a time in the value", property: checker.LeaseExclusion, change: replicas, broken: checker.DurableNodes, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=never
			0.005   r1 set c1#1 by=n1 until=never
			0.006   c1 ok acquire c1#1 until=10
			4       n1-r1 fault cut cut_n1-r1
			5       c1 invoke extend c1#1
			5.006   c1 ok extend c1#1 until=15
			6       r1 promote
			11      c2 invoke acquire
			11.004  r1 over c2#1 was=c1#1 by=c2 until=never
			11.006  c2 ok acquire c2#1 until=21
			12      c2 info exit
			13      c1 info exit`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			From 4.000s on messages between n1 and r1 did not get through.
			c1 extended c1#1 at 5.006s, until 15.000s by its own clock.
			At 6.000s r1 took the place of n1; the last extension of c1#1 had never reached r1.
			c2 found the key of c1#1 on r1, and overwrote it at 11.004s, though that lease lasted until 15.000s by its owner's clock.
			c2 was granted c2#1 on r1 at 11.004s, valid until 21.000s by its own clock.
			c1 did not know this: by its own clock c1#1 was valid until 15.000s.
			From 11.006s on both c1 and c2 held the lock, until c2 exited at 12.000s; c1 exited at 13.000s.
			The environment broke the assumption that a node that has granted a lease, and any node that takes its place, remembers it while it lasts.`},

		{name: "a failover without an extension", property: checker.LeaseExclusion, change: replicas, broken: checker.None, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=never
			0.005   r1 set c1#1 by=n1 until=never
			0.006   c1 ok acquire c1#1 until=never
			6       r1 promote
			11      c2 invoke acquire
			11.004  r1 over c2#1 was=c1#1 by=c2 until=never
			11.006  c2 ok acquire c2#1 until=21
			12      c2 info exit
			13      c1 info exit`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, with no end.
			At 6.000s r1 took the place of n1.
			c2 found the key of c1#1 on r1, and overwrote it at 11.004s.
			c2 was granted c2#1 on r1 at 11.004s, valid until 21.000s by its own clock.
			c1 did not know this: c1#1 has no end.
			From 11.006s on both c1 and c2 held the lock, until c2 exited at 12.000s; c1 exited at 13.000s.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "an extension that changes the token", property: checker.LeaseExclusion, broken: checker.DurableNodes, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=10
			0.006   c1 ok acquire c1#1 until=10
			5       c1 invoke extend c1#1
			5.004   n1 over c1#1 was=c1#1 by=c1 until=15
			5.006   c1 ok extend c1#1 until=15
			6       n1 lose c1#1 until=15
			11      c2 invoke acquire
			11.004  n1 set c2#1 until=21
			11.006  c2 ok acquire c2#1 until=21
			12      c2 info exit
			13      c1 info exit`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			c1 extended c1#1 at 5.006s, until 15.000s by its own clock.
			n1 lost the key of c1#1 at 6.000s.
			c2 was granted c2#1 on n1 at 11.004s, valid until 21.000s by its own clock.
			c1 did not know this: by its own clock c1#1 was valid until 15.000s.
			From 11.006s on both c1 and c2 held the lock, until c2 exited at 12.000s; c1 exited at 13.000s.
			The environment broke the assumption that a node that has granted a lease, and any node that takes its place, remembers it while it lasts.`},

		{name: "a failover to a node whose clock is ahead", property: checker.LeaseExclusion, change: replicas, broken: checker.BoundedClockError, story: `
			0       r1 fault jump jump_r1_+40s
			0.001   c1 invoke acquire
			0.004   n1 set c1#1 until=10.004
			0.005   r1 set c1#1 until=10.004 wall=40 by=n1
			0.006   c1 ok acquire c1#1 until=10
			1       n1 fault crash crash_n1
			2.5     r1 promote n1 by=nobody
			2.5     r1 expire c1#1 wall=40
			3       c2 invoke acquire
			3.004   r1 set c2#1
			3.006   c2 ok acquire c2#1 until=13`, events: []int{2, 4, 7, 9, 10},
			want: `
			The wall clock of r1 jumped forward by 40s at 0.000s.
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			n1 crashed at 1.000s.
			At 2.500s r1 took the place of n1.
			The key of c1#1 expired on r1 at 2.500s, before its time.
			c2 was granted c2#1 on r1 at 3.004s, valid until 13.000s by its own clock.
			c1 did not know this: by its own clock c1#1 was valid until 10.000s.
			From 3.006s on both c1 and c2 held the lock, until the end of the run.
			The environment broke the assumption that clocks run at nearly the same rate and do not jump.`},

		{name: "a primary that is cut off and goes on", property: checker.LeaseExclusion, change: replicas, story: `
			0.5     n1-r1 fault cut cut_n1-r1
			1       r1 promote n1 by=nobody
			2       c1 invoke acquire
			2.004   n1 set c1#1
			2.006   c1 ok acquire c1#1 until=12
			3       c2 invoke acquire
			3.004   r1 set c2#1
			3.006   c2 ok acquire c2#1 until=13
			4       c2 invoke release c2#1`,
			want: `
			From 0.500s on messages between n1 and r1 did not get through.
			At 1.000s r1 took the place of n1, which kept running by itself.
			c1 was granted c1#1 on n1 at 2.004s, valid until 12.000s by its own clock.
			c2 was granted c2#1 on r1 at 3.004s, valid until 13.000s by its own clock.
			c1 did not know this: by its own clock c1#1 was valid until 12.000s.
			From 3.006s on both c1 and c2 held the lock, until c2 began to release c2#1 at 4.000s.
			The environment broke the assumption that a node that has granted a lease, and any node that takes its place, remembers it while it lasts.`},

		{name: "a node that comes back without its disk", property: checker.LeaseExclusion, story: `
			nodes 3
			0       c1-n3 fault cut cut_c1-n3
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.004   n2 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			1       n2 fault crash crash_n2_power
			2       n2 fault restart restart_n2_empty
			2       n2 lose c1#1
			3       c2 invoke acquire
			3.004   n2 set c2#1
			3.004   n3 set c2#1
			3.006   c2 ok acquire c2#1 until=13
			4       c1 invoke release c1#1`,
			want: `
			From 0.000s c1 could not reach n3.
			c1 was granted c1#1 on n1 n2 at 0.004s, valid until 10.000s by its own clock.
			The machine of n2 lost power at 1.000s and came back at 2.000s without the key of c1#1: its disk was empty.
			c2 was granted c2#1 on n2 n3 at 3.004s, valid until 13.000s by its own clock: n2 no longer had the key of the older lease, and n3 never had it.
			c1 did not know this: by its own clock c1#1 was valid until 10.000s.
			From 3.006s on both c1 and c2 held the lock, until c1 began to release c1#1 at 4.000s.
			The environment broke the assumption that a node that has granted a lease, and any node that takes its place, remembers it while it lasts.`},

		{name: "a node whose clock jumps", property: checker.LeaseExclusion, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=10.004
			0.006   c1 ok acquire c1#1 until=10
			1       n1 fault jump jump_n1_+11s
			1       n1 expire c1#1
			3       c2 invoke acquire
			3.004   n1 set c2#1
			3.006   c2 ok acquire c2#1 until=13
			4       c1 info lost c1#1`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			The wall clock of n1 jumped forward by 11s at 1.000s.
			The key of c1#1 expired on n1 at 1.000s, before its time.
			c2 was granted c2#1 on n1 at 3.004s, valid until 13.000s by its own clock.
			c1 did not know this: by its own clock c1#1 was valid until 10.000s.
			From 3.006s on both c1 and c2 held the lock, until c1 was told at 4.000s that c1#1 was lost.
			The environment broke the assumption that clocks run at nearly the same rate and do not jump.`},

		{name: "a client whose clock is slow", property: checker.LeaseExclusion, story: `
			0       c1 fault drift drift_c1_-50000ppm ppm=-50000
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10 clock=0.006
			10.004  n1 expire c1#1
			10.1    c2 invoke acquire
			10.104  n1 set c2#1
			10.106  c2 ok acquire c2#1 until=20
			13      resource accept B c2#1`,
			want: `
			From 0.000s on, the clocks of c1 ran slow by 50000 ppm.
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			The key of c1#1 expired on n1 at 10.004s.
			c2 was granted c2#1 on n1 at 10.104s, valid until 20.000s by its own clock.
			c1 did not know this: by its own clock c1#1 was valid until 10.000s.
			From 10.106s on both c1 and c2 held the lock, until the clock of c1 read 10.000s, the end of c1#1.
			The environment broke the assumption that clocks run at nearly the same rate and do not jump.`},

		{name: "a lock that is plainly broken", property: checker.LeaseExclusion, story: `
			nodes 3
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			1       c2 invoke acquire
			1.004   n2 set c2#1
			1.006   c2 ok acquire c2#1 until=11
			2       resource accept B c2#1
			3       c1 invoke release c1#1`,
			want: `
			c1 was granted c1#1 on n1, which is not a majority, at 0.006s, valid until 10.000s by its own clock.
			c2 was granted c2#1 on n2, which is not a majority, at 1.006s, valid until 11.000s by its own clock: no key of an older lease was there.
			c1 did not know this: by its own clock c1#1 was valid until 10.000s.
			From 1.006s on both c1 and c2 held the lock, until c1 began to release c1#1 at 3.000s.
			Meanwhile the resource accepted B under c2#1 at 2.000s.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a hold after the end", property: checker.LeaseExclusion, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			10.005  n1 expire c1#1
			11      c2 invoke acquire
			11.004  n1 set c2#1
			11.006  c2 ok acquire c2#1 until=21
			12      c1 invoke extend c1#1
			12.003  c1 ok extend c1#1 until=22`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			The key of c1#1 expired on n1 at 10.005s.
			c2 was granted c2#1 on n1 at 11.004s, valid until 21.000s by its own clock.
			c1 extended c1#1 at 12.003s, after it had ended, until 22.000s by its own clock, though no node extended its key.
			c2 did not know this: by its own clock c2#1 was valid until 21.000s.
			From 12.003s on both c2 and c1 held the lock, until the end of the run.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a release that deletes the key of another, and lets a third in", property: checker.LeaseExclusion, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			1       c1 fault pause pause_c1_11s
			10.004  n1 expire c1#1
			10.5    c2 invoke acquire
			10.504  n1 set c2#1
			10.506  c2 ok acquire c2#1 until=20.5
			12      c1 fault resume resume_c1
			12      c1 invoke release c1#1
			12.001  n1 delete c2#1 by=c1
			12.002  c1 ok release c1#1
			13      c3 invoke acquire
			13.001  n1 set c3#1
			13.002  c3 ok acquire c3#1 until=23
			14      c3 invoke release c3#1`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			From 1.000s to 12.000s c1 was paused.
			Meanwhile the key of c1#1 expired on n1 at 10.004s.
			c2 was granted c2#1 on n1 at 10.504s, valid until 20.500s by its own clock.
			c1 deleted the key of c2#1 on n1 at 12.001s, in the release of c1#1.
			c3 was granted c3#1 on n1 at 13.001s, valid until 23.000s by its own clock.
			c2 did not know this: by its own clock c2#1 was valid until 20.500s.
			From 13.002s on both c2 and c3 held the lock, until c3 began to release c3#1 at 14.000s.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a key that is overwritten", property: checker.OwnerOnly, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			1       c2 invoke acquire
			1.001   n1 over c2#1 was=c1#1`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			c2 overwrote the key of c1#1 on n1 at 1.001s, in an acquire.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a key that its owner deletes", property: checker.NoLostVote, story: `
			nodes 3
			0       c1 invoke acquire
			0.004   n1 set c1#1 sent=0.002
			0.004   n2 set c1#1 sent=0.002
			0.004   n3 set c1#1 sent=0.002
			0.006   c1 ok acquire c1#1 until=10
			1       n1 delete c1#1 sent=0.9`,
			want: `
			c1 was granted c1#1 on n1 n2 n3 at 0.004s, valid until 10.000s by its own clock.
			c1 deleted its own key of c1#1 on n1 at 1.000s.
			The lease kept the keys on n2 n3.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a late clean-up of an earlier attempt", property: checker.NoLostVote, story: `
			nodes 3
			0       c1 invoke acquire
			0.2     n1 set c1#1 sent=0.15
			0.2     n2 set c1#1 sent=0.15
			0.3     c1 ok acquire c1#1 until=10
			1       n1 delete c1#1 sent=0.1`,
			want: `
			c1 was granted c1#1 on n1 n2 at 0.200s, and learnt of it at 0.300s, valid until 10.000s by its own clock.
			c1 deleted its own key of c1#1 on n1 at 1.000s: the command had left at 0.100s, before the one that set the key, and did not notice that the key belonged to another attempt.
			The lease kept the key on n2.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a late extension, after another", property: checker.NoLostVote, change: retimes, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			3       c1 invoke extend c1#1
			3.2     c1 fail extend c1#1
			4       c1 invoke extend c1#1
			4.1     n1 retime c1#1 sent=4.05 until=20
			4.2     c1 ok extend c1#1 until=19
			5       n1 retime c1#1 sent=3.05 until=13`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			c1 extended c1#1 at 4.200s, until 19.000s by its own clock.
			c1 shortened the life of its own key of c1#1 on n1 at 5.000s: the command had left at 3.050s, before the one that set the deadline of the key.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a pause in acquire", property: checker.ExpiredOnReturn, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.005   c1 fault pause pause_c1_12s
			10.004  n1 expire c1#1
			11      c2 invoke acquire
			11.004  n1 set c2#1
			11.006  c2 ok acquire c2#1 until=21
			12.005  c1 fault resume resume_c1
			12.006  c1 ok acquire c1#1 until=10
			13      resource accept A c1#1`,
			want: `
			c1 asked for the lock at 0.000s.
			The key of c1#1 was set on n1 at 0.004s.
			From 0.005s to 12.005s c1 was paused.
			Meanwhile the key of c1#1 expired on n1 at 10.004s.
			c2 was granted c2#1 on n1 at 11.004s, valid until 21.000s by its own clock.
			Acquire handed c1#1 to c1 at 12.006s, though it had ended at 10.000s by the clock of c1, which read 12.006s.
			c1 relied on it: the resource accepted A under c1#1 at 13.000s.
			The environment broke the assumption that no process is paused for longer than its lease lasts.`},

		{name: "a late reply", property: checker.ExpiredOnReturn, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1
			10.004  n1 expire c1#1
			12.006  c1 deliver n1 sent=0.005
			12.006  c1 ok acquire c1#1 until=10`,
			want: `
			c1 asked for the lock at 0.000s.
			The key of c1#1 was set on n1 at 0.004s.
			The key of c1#1 expired on n1 at 10.004s.
			A message that n1 had sent to c1 at 0.005s arrived only at 12.006s.
			Acquire handed c1#1 to c1 at 12.006s, though it had ended at 10.000s by the clock of c1, which read 12.006s.
			The environment broke the assumption that a message arrives while the lease under which it was sent still lasts.`},

		{name: "a holder that died", property: checker.DeadlockFreedom, story: `
			probe probe
			bound 5
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=never
			0.006   c1 ok acquire c1#1 until=never
			1       c1 fault crash crash_c1
			20      probe invoke acquire
			21      probe fail acquire
			22      probe invoke acquire
			23      probe fail acquire`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, with no end.
			c1 crashed at 1.000s, and never released c1#1.
			The key of c1#1 on n1 had no expiry, and nobody else could delete it.
			probe asked for the lock at 20.000s, was refused 2 times, the last time at 23.000s, and never got it.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a value that an extension changed, and whose reply was lost", property: checker.FaultTolerance, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=10.004
			0.006   c1 ok acquire c1#1 until=10
			2       c1 invoke extend c1#1
			2.009   n1 over c1#1 was=c1#1 by=c1 until=12.009 sent=2
			2.010   c1 drop n1 sent=2.009
			2.011   c1 info extend c1#1
			3       c1 invoke release c1#1
			3.002   n1 deliver c1 sent=3.001
			3.003   c1 fail release c1#1
			4       c2 invoke acquire
			11.9    c2 fail acquire
			12.009  n1 expire c1#1
			12.1    c2 invoke acquire`,
			events: []int{10},
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			The extension of c1#1 at 2.009s gave its key on n1 a new value, and got no answer.
			c1 asked for the release of c1#1 at 3.000s, which failed; the key was not deleted.
			c2 asked for the lock at 4.000s, was refused at 11.900s, and never got it.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "an extension that says that the lease is lost, though its key is there", property: checker.FaultTolerance, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=10.004
			0.006   c1 ok acquire c1#1 until=10
			1       c1 invoke extend c1#1
			1.008   c1 fail extend c1#1 until=1.007
			2       c2 invoke acquire
			7       c1 info exit
			9.9     c2 fail acquire
			10.004  n1 expire c1#1`,
			events: []int{5},
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			The extension of c1#1 by c1 failed at 1.008s, though its key was on n1: after that c1 could not release it.
			c2 asked for the lock at 2.000s, was refused at 9.900s, and never got it.
			c1 exited at 7.000s, and never released c1#1.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a renewal that set the key again after the release", property: checker.FaultTolerance, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=10.004
			0.006   c1 ok acquire c1#1 until=10
			7       c1 invoke release c1#1
			7.01    n1 delete c1#1
			7.02    c1 ok release c1#1
			14      n1 set c1#1 until=24 sent=6
			16      c2 invoke acquire
			23      c2 fail acquire
			24      n1 expire c1#1`,
			events: []int{7},
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			c1 set the key of c1#1 on n1 again at 14.000s, by a request that had left at 6.000s, after the release that began at 7.000s.
			c2 asked for the lock at 16.000s, was refused at 23.000s, and never got it.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "nodes that a client did not ask", property: checker.FaultTolerance, story: `
			nodes 3
			0       n2 fault crash crash_n2
			0       n3 fault crash crash_n3
			0.5     c1 invoke acquire
			1       n1 deliver c1 sent=0.9
			2       n3 fault restart restart_n3
			3       n1 deliver c1 sent=2.9
			9       c1 fail acquire
			9       c1 invoke acquire
			14      n1 deliver c1 sent=13.9
			20      c1 fail acquire`,
			events: []int{2, 6},
			want: `
			n2 crashed at 0.000s.
			n3 crashed at 0.000s and came back at 2.000s.
			c1 asked for the lock at 0.500s, was refused 2 times, the last time at 20.000s, and never got it.
			From 2.000s to 20.000s c1 sent requests to n1, but none to n3, which was up and in reach.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "keys that one client left on a minority while another key stood on another", property: checker.FaultTolerance, story: `
			nodes 3
			0       c1 invoke acquire
			0.01    n1 set c1#1 until=40
			0.01    n2 set c1#1 until=9
			0.02    c1 ok acquire c1#1 until=9
			1       c2 invoke acquire
			9       n2 expire c1#1
			9.1     n2 set c2#2 until=19.1
			9.2     c2 fail acquire
			9.3     c2 invoke acquire
			19.1    n2 expire c2#2
			20      c2 fail acquire`,
			events: []int{4, 8},
			want: `
			c1 had set the key of c1#1 on n1 at 0.010s, with a TTL of 39990ms instead of 10s.
			c1 was granted c1#1 on n1 n2 at 0.010s, valid until 9.000s by its own clock.
			c2 asked for the lock at 1.000s, was refused 2 times, the last time at 20.000s, and never got it.
			c2 set the key of c2#2 on n2 at 9.100s, but did not get the lock, and left it there: nothing deleted it before 19.100s.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a node that was down for a small part of the wait", property: checker.FaultTolerance, story: `
			0       c1 invoke acquire
			1       n1 fault crash crash_n1
			3       n1 fault restart restart_n1
			9       c1 info acquire "bad conn"
			9       c1 invoke acquire
			15      c1 info acquire "bad conn"`,
			events: []int{0, 1, 3},
			want: `
			c1 asked for the lock at 0.000s, got no answer 2 times, the last time at 15.000s, and never got it.
			n1 crashed at 1.000s and came back at 3.000s.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a lease that leaves little for the drift of clocks", property: checker.LeaseExclusion, broken: checker.BoundedClockError, story: `
			nodes 3
			0       n2 fault drift drift_n2_+10000ppm
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=10.004
			0.005   n2 set c1#1 until=10.005
			0.116   c1 ok acquire c1#1 until=9.964
			9       c2 invoke acquire
			9.91    n2 expire c1#1
			9.92    n2 set c2#1 until=20.02 wall=0.1
			9.921   n3 set c2#1 until=19.921
			9.93    c2 ok acquire c2#1 until=19.8
			9.95    c2 info exit
			9.96    c1 info exit`,
			want: `
			c1 was granted c1#1 on n1 n2 at 0.005s, and learnt of it at 0.116s, valid until 9.964s by its own clock.
			By the clock of c1, c1#1 was to end only 40ms before its first key, which had been set at 0.004s with a TTL of 10s: that was all it left for the drift of clocks.
			The key of c1#1 expired on n2 at 9.910s, before its time.
			c2 was granted c2#1 on n2 n3 at 9.921s, valid until 19.800s by its own clock: n2 no longer had the key of the older lease, and n3 never had it.
			c1 did not know this: by its own clock c1#1 was valid until 9.964s.
			From 9.930s on both c1 and c2 held the lock, until c2 exited at 9.950s; c1 exited at 9.960s.
			The environment broke the assumption that clocks run at nearly the same rate and do not jump.`},

		{name: "a lease that nothing renewed, though its lock does", property: checker.LeaseExclusion, broken: checker.BoundedClockError, story: `
			0       c1 fault drift drift_c1_-100000ppm clock=0
			1       c1 invoke acquire clock=0.9
			1       n1 set c1#1 until=11
			1.001   c1 ok acquire c1#1 until=10.9 clock=0.9009 renews
			11      n1 expire c1#1
			11.1    c2 invoke acquire
			11.2    n1 set c2#1 until=21.2
			11.3    c2 ok acquire c2#1 until=21.1
			11.5    c1 info exit clock=10.35
			12      c2 info exit`, events: []int{0, 3, 7},
			want: `
			From 0.000s on, the clocks of c1 ran slow by 100000 ppm.
			c1 was granted c1#1 on n1 at 1.000s, valid until 10.900s by its own clock.
			The key of c1#1 expired on n1 at 11.000s.
			Nothing had renewed c1#1 until then, though its lock renews leases by itself.
			c2 was granted c2#1 on n1 at 11.200s, and learnt of it at 11.300s, valid until 21.100s by its own clock.
			c1 did not know this: by its own clock c1#1 was valid until 10.900s.
			From 11.300s on both c1 and c2 held the lock, until c1 exited at 11.500s; c2 exited at 12.000s.
			The environment broke the assumption that clocks run at nearly the same rate and do not jump.`},

		{name: "a client that is refused without a request", property: checker.DeadlockFreedom, story: `
			0       c1 invoke acquire
			0.002   n1 deliver c1 sent=0.001 word=SET
			0.003   c1 drop n1 sent=0.002
			0.003   c1 info acquire "EOF"
			0.1     c1 invoke acquire
			0.1     c1 fail acquire
			0.2     c1 invoke acquire
			0.2     c1 fail acquire
			0.3     c1 invoke acquire
			14      c1 fail acquire
			14.1    c1 invoke acquire
			18      c1 fail acquire`,
			want: `
			c1 asked for the lock at 0.000s, got no answer once and was refused 4 times, the last time at 18.000s, and never got it.
			From 0.001s to 18.000s c1 sent no request to a lock node: its lock refused it without asking one.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a release that hangs", property: checker.DeadlockFreedom, story: `
			cap the_cap_of_an_hour
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=10.004
			0.006   c1 ok acquire c1#1 until=10
			1       c1 invoke release c1#1
			1.1     n1 deliver c1 sent=1.095 word=EVALSHA
			1.2     c1 deliver n1 sent=1.195
			10.004  n1 expire c1#1
			90      c2 invoke read
			90.1    c2 ok read`,
			want: `
			c1 called release of c1#1 at 1.000s, and the call never returned.
			The last message to or from c1 arrived at 1.200s.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "an acquire whose context has ended", property: checker.DeadlockFreedom, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			1       c2 invoke acquire
			2       c2 info cancel
			9       c2 fail acquire`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			c2 asked for the lock at 1.000s, was refused at 9.000s, and never got it.
			The context of that acquire ended at 2.000s.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a client that gets errors without a request", property: checker.DeadlockFreedom, story: `
			0       n1 deliver c2 sent=0 word=GET
			0       n1 fault crash crash_n1
			10      n1 fault restart restart_n1
			10.1    c1 invoke acquire
			10.1    c1 info acquire
			10.2    c1 invoke acquire
			10.2    c1 info acquire
			10.3    c1 invoke acquire
			24      c1 info acquire
			24.1    c1 invoke acquire
			40      c1 info acquire`,
			want: `
			c1 asked for the lock at 10.100s, got no answer 4 times, the last time at 40.000s, and never got it.
			From 10.000s to 40.000s c1 sent no request to a lock node: its lock returned an error without asking one.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a client that is refused by the node", property: checker.DeadlockFreedom, story: `
			0       c1 invoke acquire
			0.1     c1 fail acquire
			0.2     c1 invoke acquire
			18      n1 deliver c1 sent=17.9 word=SET
			18      c1 fail acquire`,
			want: `
			c1 asked for the lock at 0.000s, was refused 2 times, the last time at 18.000s, and never got it.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a node whose clock went back", property: checker.DeadlockFreedom, broken: checker.BoundedClockError, story: `
			probe probe
			bound 10
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=10.004
			0.005   n1 fault jump jump_n1_-20s
			0.006   c1 ok acquire c1#1 until=10
			1       c1 fault crash crash_c1
			11      probe invoke acquire
			16      probe fail acquire
			17      probe invoke acquire
			21      probe fail acquire
			30.004  n1 expire c1#1`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			The wall clock of n1 jumped back by 20s at 0.005s.
			c1 crashed at 1.000s, and never released c1#1.
			probe asked for the lock at 11.000s, was refused 2 times, the last time at 21.000s, and never got it.
			The key of c1#1 had been set on n1 at 0.004s for 10s, and was gone only at 30.004s.
			The environment broke the assumption that clocks run at nearly the same rate and do not jump.`},

		{name: "a key whose end a real server has counted", property: checker.DeadlockFreedom, broken: checker.BoundedClockError, story: `
			probe probe
			bound 10
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=10.003168011
			0.005   n1 fault jump jump_n1_-20s
			0.006   c1 ok acquire c1#1 until=10
			1       c1 fault crash crash_c1
			11      probe invoke acquire
			21      probe fail acquire
			30.004  n1 expire c1#1`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			The wall clock of n1 jumped back by 20s at 0.005s.
			c1 crashed at 1.000s, and never released c1#1.
			probe asked for the lock at 11.000s, was refused at 21.000s, and never got it.
			The key of c1#1 had been set on n1 at 0.004s for 9999ms, and was gone only at 30.004s.
			The environment broke the assumption that clocks run at nearly the same rate and do not jump.`},

		{name: "a key whose end nobody recorded", property: checker.DeadlockFreedom, broken: checker.BoundedClockError, story: `
			probe probe
			bound 10
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.005   n1 fault jump jump_n1_-20s
			0.006   c1 ok acquire c1#1 until=10
			1       c1 fault crash crash_c1
			11      probe invoke acquire
			21      probe fail acquire
			30.004  n1 expire c1#1`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			The wall clock of n1 jumped back by 20s at 0.005s.
			c1 crashed at 1.000s, and never released c1#1.
			probe asked for the lock at 11.000s, was refused at 21.000s, and never got it.
			The key of c1#1 had been set on n1 at 0.004s, and was gone only at 30.004s.
			The environment broke the assumption that clocks run at nearly the same rate and do not jump.`},

		{name: "a key that got its end by a command of its own", property: checker.DeadlockFreedom, broken: checker.BoundedClockError, story: `
			probe probe
			bound 10
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=never
			0.004   n1 retime c1#1 until=10.004
			0.005   n1 fault jump jump_n1_-20s
			0.006   c1 ok acquire c1#1 until=10
			1       c1 fault crash crash_c1
			11      probe invoke acquire
			21      probe fail acquire
			30.004  n1 expire c1#1`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			The wall clock of n1 jumped back by 20s at 0.005s.
			c1 crashed at 1.000s, and never released c1#1.
			probe asked for the lock at 11.000s, was refused at 21.000s, and never got it.
			The key of c1#1 had been set on n1 at 0.004s for 10s, and was gone only at 30.004s.
			The environment broke the assumption that clocks run at nearly the same rate and do not jump.`},

		{name: "a release that only the former primary heard of", property: checker.FaultTolerance, change: replicas, broken: checker.None, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=30
			0.005   r1 set c1#1 until=30 by=n1
			0.006   c1 ok acquire c1#1 until=30
			1       n1-r1 fault cut cut_n1-r1
			1.5     r1 promote n1 by=nobody
			2       c1 invoke release c1#1
			2.001   n1 delete c1#1 by=c1
			2.002   c1 ok release c1#1
			3       c2 invoke acquire
			20      c2 fail acquire
			30      r1 expire c1#1`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 30.000s by its own clock.
			c1 began to release c1#1 at 2.000s; the key on r1 was not deleted.
			c2 asked for the lock at 3.000s, was refused at 20.000s, and never got it.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a lease that renews itself for ever", property: checker.DeadlockFreedom, story: `
			probe probe
			bound 5
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=10
			0.006   c1 ok acquire c1#1 until=10
			1       c1 invoke release c1#1
			2       c1 info release c1#1
			6       n1 retime c1#1 until=16
			12      n1 retime c1#1 until=22
			20      probe invoke acquire
			21      n1 retime c1#1 until=28
			26      probe fail acquire`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			c1 asked for the release of c1#1 at 1.000s, and got no answer; the key was not deleted.
			probe asked for the lock at 20.000s, was refused at 26.000s, and never got it.
			c1 went on renewing c1#1 on n1, the last time at 21.000s.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a node that is out of reach", property: checker.FaultTolerance, story: `
			0       c1-n1 fault cut cut_c1-n1
			1       c1 invoke acquire
			20      c1 info acquire`,
			want: `
			From 0.000s on messages between c1 and n1 did not get through.
			c1 asked for the lock at 1.000s, got no answer at 20.000s, and never got it.
			The lock is on one node, and no other node can take its place.`},

		{name: "a node that is down", property: checker.FaultTolerance, broken: checker.None, story: `
			0       n1 fault crash crash_n1
			1       c1 invoke acquire
			2       c1 fail acquire
			3       c1 invoke acquire
			4       c1 fail acquire
			8       n1 fault restart restart_n1
			9       c1 invoke acquire
			9.001   n1 set c1#1
			9.002   c1 ok acquire c1#1 until=19`, events: []int{1},
			want: `
			n1 crashed at 0.000s and came back at 8.000s.
			c1 asked for the lock at 1.000s, was refused 2 times, the last time at 4.000s, and got c1#1 only at 9.002s.
			The lock is on one node, and no other node can take its place.`},

		{name: "an answer that is waited for", property: checker.FaultTolerance, broken: checker.None, story: `
			nodes 3
			0       n3 fault pause pause_n3
			0       c1 invoke acquire
			0.003   n1 set c1#1
			0.003   n2 set c1#1
			10      n1 expire c1#1
			10      n2 expire c1#1
			10.021  c1 fail acquire
			10.03   n3 fault resume`, events: []int{0, 1, 6},
			want: `
			From 0.000s to 10.030s n3 was paused.
			c1 asked for the lock at 0.000s, was refused at 10.021s, and never got it.
			By 0.003s c1 had its keys on n1 n2, a majority, but n3 did not answer while they lasted, and its attempt returned only at 10.021s.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "an attempt that goes on with all answers", property: checker.FaultTolerance, broken: checker.None, story: `
			nodes 3
			0       n3 fault pause pause_n3
			0       c1 invoke acquire
			0.003   n1 set c1#1
			0.003   n2 set c1#1
			0.004   n3 fault resume
			0.005   c1 deliver OK by=n3 sent=0.004
			20      c2 invoke write A`, events: []int{0, 1},
			want: `
			From 0.000s to 0.004s n3 was paused.
			c1 asked for the lock at 0.000s, and never got it.
			By 0.003s c1 had its keys on n1 n2, a majority, but its attempt never returned.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "votes that split again and again", property: checker.FaultTolerance, broken: checker.None, story: `
			nodes 3
			0       c1 invoke acquire
			0       c2 invoke acquire
			0.1     n1 set c1#1
			0.1     n2 set c2#1
			0.2     c1 fail acquire
			0.2     c2 fail acquire`, events: []int{0, 1},
			want: `
			c1 asked for the lock at 0.000s, was refused at 0.200s, and never got it.
			c2 asked for the lock at 0.000s, was refused at 0.200s, and never got it.
			Nobody had a majority: at 0.100s c1#1 had n1 and c2#1 had n2.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a lost word", property: checker.NoLostUpdate, change: words, broken: checker.BoundedPause, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			1       c1 invoke read
			1.001   c1 ok read x
			2       c1 fault pause pause_c1_12s
			10.004  n1 expire c1#1
			11      c2 invoke acquire
			11.004  n1 set c2#1
			11.006  c2 ok acquire c2#1 until=21
			12      c2 invoke read
			12.001  c2 ok read x
			13      c2 invoke update B c2#1
			13.001  resource accept x_B c2#1
			13.002  c2 ok update B c2#1
			14      c1 fault resume resume_c1
			14      c1 invoke update A c1#1
			14.001  resource accept x_A c1#1
			14.002  c1 ok update A c1#1`, events: []int{13, 14, 17},
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			c1 had read ` + "`x`" + ` at 1.001s.
			From 2.000s to 14.000s c1 was paused.
			Meanwhile the key of c1#1 expired on n1 at 10.004s.
			c2 was granted c2#1 on n1 at 11.004s, valid until 21.000s by its own clock.
			c2 added B, and the value was ` + "`x B`" + ` at 13.001s.
			c1 wrote ` + "`x A`" + ` at 14.001s, without B: the update was lost.
			The environment broke the assumption that no process is paused for longer than its lease lasts.`},

		{name: "a lost number", property: checker.NoLostUpdate, change: numbers, broken: checker.None, story: `
			0       c1 invoke increment
			0       c2 invoke increment
			0.004   resource set 1 by=c1
			0.005   resource over 1 by=c2
			0.006   c1 ok increment 1
			0.007   c2 ok increment 1`, events: []int{4, 5},
			want: `
			c2 began to increment the number at 0.000s.
			c1 wrote 1 at 0.004s.
			c2 wrote 1 as well, at 0.005s: it had read the number before, and one of the two was lost.
			In the end the number was 1, after 2 increments that were acknowledged.
			No assumption was broken. There was no lock: nothing kept the clients apart.`},

		{name: "a number that was forgotten", property: checker.NoLostUpdate, story: `
			0       c1 invoke increment
			0.004   resource set 1 key=counter by=c1
			0.006   c1 ok increment 1
			1       resource lose key=counter
			2       c2 invoke increment
			2.004   resource set 1 key=counter by=c2
			2.006   c2 ok increment 1`,
			want: `
			The resource lost the number at 1.000s.
			In the end the number was 1: 1 of 2 acknowledged increments is lost.
			The environment broke the assumption that the resource keeps what it has accepted.`},

		{name: "a number that was there already", property: checker.NoLostUpdate, change: numbers, broken: checker.None, story: `
			0       c1 invoke increment
			0       c2 invoke increment
			0.001   resource deliver c1 GET_counter sent=0
			0.002   resource deliver c2 GET_counter sent=0
			0.004   resource deliver c2 SET_counter_1 sent=0.003
			0.004   resource set 1 by=c2
			0.005   c2 ok increment 1
			0.006   resource deliver c1 SET_counter_1 sent=0.003
			0.009   c1 ok increment 1`, events: []int{6, 8},
			want: `
			c1 began to increment the number at 0.000s, and read it at 0.001s.
			c2 wrote 1 at 0.004s.
			c1 wrote 1 as well, at 0.006s: it had read the number before, and one of the two was lost.
			In the end the number was 1, after 2 increments that were acknowledged.
			No assumption was broken. There was no lock: nothing kept the clients apart, and each wrote one more than it had read.`},

		{name: "a number that was chosen before it was read", property: checker.NoLostUpdate, change: numbers, broken: checker.None, story: `
			0       c1 invoke increment
			0.001   resource deliver c1 MULTI;_GET_counter;_SET_counter_2;_EXEC
			0.001   resource set 2 by=c1
			0.002   c1 ok increment 2
			0.003   c2 invoke increment
			0.004   resource deliver c2 MULTI;_GET_counter;_SET_counter_2;_EXEC
			0.005   c2 ok increment 2`, events: []int{3, 6},
			want: `
			c1 wrote 2 at 0.001s.
			c2 wrote 2 as well at 0.004s, when the number was 2 already: it sent its GET together with its SET, and chose what to write before it had read anything.
			In the end the number was 2, after 2 increments that were acknowledged.
			No assumption was broken. There was no lock: nothing kept the clients apart, and what they wrote did not depend on what was there.`},

		{name: "a release that asks first, and deletes late", property: checker.OwnerOnly, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			9       c1 invoke release c1#1
			9.001   n1 deliver c1 GET_lock sent=9
			10.004  n1 expire c1#1
			10.5    c2 invoke acquire
			10.504  n1 set c2#1
			10.506  c2 ok acquire c2#1 until=20.5
			11      c1 deliver resource OK sent=10.9
			12      c1 deliver n1 c1#1 sent=9.001
			12.001  n1 deliver c1 DEL_lock sent=12
			12.001  n1 delete c2#1 by=c1 sent=12
			12.002  c1 ok release c1#1`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			c1 read the key on n1 at 9.001s, when it was that of c1#1, and got the answer at 12.000s.
			The key of c1#1 expired on n1 at 10.004s.
			c2 was granted c2#1 on n1 at 10.504s, valid until 20.500s by its own clock.
			c1 deleted the key of c2#1 on n1 at 12.001s, in the release of c1#1, which had begun at 9.000s: DEL does not compare the token.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a deletion by one who drew the same token", property: checker.OwnerOnly, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			10.004  n1 expire c1#1
			11      c2 invoke acquire
			11.004  n1 set c1#1 by=c2
			11.006  c2 ok acquire c2#1 until=21
			12      n1 delete c1#1 by=c1`,
			want: `
			c1 deleted the key of c2#1, which had the token of c1#1, on n1 at 12.000s.`},

		{name: "a deletion of a key that was given more time, before its owner knows of it", property: checker.OwnerOnly, change: retimes, story: `
			0       c2 invoke acquire
			0.004   n1 set c2#1
			1       n1 retime c2#1
			2       n1 delete c2#1 by=c1
			3       c2 ok acquire c2#1 until=10`,
			want: `
			c2 set its key of c2#1 on n1 at 0.004s.
			c1 deleted the key of c2#1 on n1 at 2.000s.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a pause in acquire, and a key that somebody deletes meanwhile", property: checker.ExpiredOnReturn, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.005   c1 fault pause pause_c1_12s
			5       n1 delete c1#1 by=c2
			12.005  c1 fault resume resume_c1
			12.006  c1 ok acquire c1#1 until=10`,
			want: `
			c1 asked for the lock at 0.000s.
			The key of c1#1 was set on n1 at 0.004s.
			From 0.005s to 12.005s c1 was paused.
			Acquire handed c1#1 to c1 at 12.006s, though it had ended at 10.000s by the clock of c1, which read 12.006s.
			The environment broke the assumption that no process is paused for longer than its lease lasts.`},

		{name: "keys that its own client removed before it was told that it has the lock", property: checker.LeaseExclusion, story: `
			nodes 3
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.1     n1 delete c1#1
			0.2     n2 set c1#1
			0.3     c1 ok acquire c1#1 until=10
			1       c2 invoke acquire
			1.004   n1 set c2#1
			1.004   n3 set c2#1
			1.006   c2 ok acquire c2#1 until=11`,
			want: `
			c1 itself deleted the key of c1#1 on n1 at 0.100s, during an acquire.
			c1 was granted c1#1 on n2 (and on n1, where its key was gone by then) at 0.300s, valid until 10.000s by its own clock.
			c2 was granted c2#1 on n1 n3 at 1.004s, valid until 11.000s by its own clock: n1 no longer had the key of the older lease, and n3 never had it.
			c1 did not know this: by its own clock c1#1 was valid until 10.000s.
			From 1.006s on both c1 and c2 held the lock, until the end of the run.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "two tries in one attempt, each on a minority", property: checker.FaultTolerance, broken: checker.None, story: `
			nodes 3
			0       n3 fault pause pause_n3
			0       c1 invoke acquire
			0.003   n1 set c1#1
			0.003   n2 set c1#2
			10      n1 expire c1#1
			10      n2 expire c1#2
			10.021  c1 fail acquire
			10.03   n3 fault resume`, events: []int{0, 1, 6},
			want: `
			From 0.000s to 10.030s n3 was paused.
			c1 asked for the lock at 0.000s, was refused at 10.021s, and never got it.
			Nobody had a majority: at 0.003s c1#1 had n1 and c1#2 had n2.
			The keys of c1#1 were left from earlier attempts.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a try that finds the key of an earlier one", property: checker.FaultTolerance, broken: checker.None, story: `
			0       c1 invoke acquire
			0.004   n1 deliver c1 SET_lock_1 word=SET sent=0.001
			0.004   n1 set c1#1
			0.006   n1 drop c1
			0.108   n1 deliver c1 SET_lock_2 word=SET sent=0.107
			8       c1 fail acquire
			10.004  n1 expire c1#1`, events: []int{0},
			want: `
			c1 asked for the lock at 0.000s, was refused at 8.000s, and never got it.
			The key of c1#1 was set on n1 at 0.004s, but c1 never had the lease: its acquire failed at 8.000s, and left the key.
			At 0.108s c1 asked n1 again, and the key of c1#1 was in its way.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a release that arrived, though its answer did not", property: checker.DeadlockFreedom, story: `
			probe probe
			bound 5
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=never
			0.006   c1 ok acquire c1#1 until=10
			0.9     n1->c1 fault cut cut_n1->c1
			1       c1 invoke release c1#1
			1.001   n1 deliver c1 sent=1
			2       c1 info release c1#1
			3       n1->c1 fault heal heal
			20      probe invoke acquire
			26      probe fail acquire`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			c1 asked for the release of c1#1 at 1.000s, and got no answer; the key was not deleted.
			The key of c1#1 on n1 had no expiry, and nobody else could delete it.
			probe asked for the lock at 20.000s, was refused at 26.000s, and never got it.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "an update that was lost with another of the same client", property: checker.NoLostUpdate, story: `
			0       c1 invoke update A
			0.001   resource accept A word=A by=c1
			0.002   resource accept A_Z word=Z by=c1
			0.003   c1 ok update A
			1       resource accept B word=B by=c2`,
			want: `
			c1 added A, and the value was ` + "`" + `A` + "`" + ` at 0.001s.
			c2 wrote ` + "`" + `B` + "`" + ` at 1.000s, without A: the update was lost.
			No assumption was broken. There was no lock: nothing kept the clients apart.`},

		{name: "an overwriting that gains nothing", property: checker.OwnerOnly, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=never
			0.006   c1 ok acquire c1#1 until=10
			11      c2 invoke acquire
			11.001  n1 deliver c2 GET_lock
			11.002  c3 invoke acquire
			11.003  n1 over c3#1 was=c1#1
			11.004  c3 ok acquire c3#1 until=21
			11.02   n1 deliver c2 GETSET_lock_5
			11.02   n1 over c2#1 was=c3#1
			11.021  c2 fail acquire`,
			want: `
			c2 read the key on n1 at 11.001s, when it was that of c1#1.
			c3 was granted c3#1 on n1 at 11.003s, valid until 21.000s by its own clock.
			c2 overwrote the key of c3#1 on n1 at 11.020s, in an acquire: GETSET does not compare the token.
			c2 did not get the lock that way: its acquire failed at 11.021s.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "two leases with one token", property: checker.OwnerOnly, story: `
			0       c1 invoke acquire
			0.004   n1 deliver c1 SET_lock_77ab_ex_10_nx
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			10.004  n1 expire c1#1
			11      c2 invoke acquire
			11.004  n1 deliver c2 SET_lock_77ab_ex_10_nx
			11.004  n1 set c2#1
			11.006  c2 ok acquire c2#1 until=21
			12      c1 invoke release c1#1
			12.001  n1 deliver c1 EVAL_e99aad_1_lock_77ab sent=12
			12.001  n1 delete c2#1 by=c1 sent=12
			12.002  c1 ok release c1#1`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			The key of c1#1 expired on n1 at 10.004s.
			c2 was granted c2#1 on n1 at 11.004s, valid until 21.000s by its own clock.
			c2#1 had the same token as c1#1: 77ab.
			c1 deleted the key of c2#1 on n1 at 12.001s, in the release of c1#1.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a second release", property: checker.OwnerOnly, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			1       c1 invoke release c1#1
			1.001   n1 delete c1#1 by=c1
			1.002   c1 ok release c1#1
			2       c2 invoke acquire
			2.004   n1 set c2#1
			2.006   c2 ok acquire c2#1 until=12
			3       c1 invoke release c1#1
			3.001   n1 delete c2#1 by=c1
			3.002   c1 ok release c1#1`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			c2 was granted c2#1 on n1 at 2.004s, valid until 12.000s by its own clock.
			c1 deleted the key of c2#1 on n1 at 3.001s, in another release of c1#1, after a first one at 1.000s.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a command that is late, and arrives in another operation", property: checker.OwnerOnly, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			1       c1 invoke release c1#1
			2       c1 info release c1#1
			10.004  n1 expire c1#1
			11      c2 invoke acquire
			11.004  n1 set c2#1
			11.006  c2 ok acquire c2#1 until=21
			12      c1 invoke acquire
			12.001  n1 deliver c1 DEL_lock sent=1
			12.001  n1 delete c2#1 by=c1 sent=1`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			The key of c1#1 expired on n1 at 10.004s.
			c2 was granted c2#1 on n1 at 11.004s, valid until 21.000s by its own clock.
			c1 deleted the key of c2#1 on n1 at 12.001s, in the release of c1#1, by a command that had been under way since 1.000s: DEL does not compare the token.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a command that is not simulated", property: checker.FaultTolerance, broken: checker.None, story: `
			0       c1 invoke acquire
			0.004   n1 refuse ZINTERSTORE by=c1
			0.006   c1 info acquire
			20      c1 info exit`, events: []int{0},
			want: `
			c1 asked for the lock at 0.000s, got no answer at 0.006s, and never got it.
			This may not be the fault of the lock: Lockstep does not simulate ZINTERSTORE, and answered with an error.`},

		{name: "a lease without a key of its own", property: checker.LeaseExclusion, story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			0.007   c1 invoke release c1#1
			0.008   c1 info release c1#1
			2       c1 invoke acquire
			2.011   c1 ok acquire c1#2 until=12
			10.004  n1 expire c1#1
			10.1    c2 invoke acquire
			10.104  n1 set c2#1
			10.106  c2 ok acquire c2#1 until=20
			11      c1 info exit
			11      c2 info exit`,
			want: `
			c1 was granted c1#2 at 2.011s, valid until 12.000s by its own clock, though no node had set a key for it: the key of c1#1 on n1 was still there, and kept its deadline.
			c2 was granted c2#1 on n1 at 10.104s, valid until 20.000s by its own clock: no key of an older lease was there.
			c1 did not know this: by its own clock c1#2 was valid until 12.000s.
			From 10.106s on both c1 and c2 held the lock, until c1 exited at 11.000s; c2 exited at 11.000s.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a client that crashed in a queue", property: checker.DeadlockFreedom, story: `
			probe probe
			bound 5
			0       c1 invoke acquire
			0.004   n1 set c1#1 key=queue until=never
			1       n1 delete c1#1 key=queue
			1       n1 set c1#1
			1.001   c1 ok acquire c1#1 until=11
			2       c2 invoke acquire
			2.004   n1 set c2#1 key=queue until=never
			3       c2 fault crash crash_c2
			11      n1 expire c1#1
			20      probe invoke acquire
			40      probe fail acquire`,
			want: `
			c2 was put into queue on n1 at 2.004s, where clients wait for the lock.
			c2 crashed at 3.000s, and nothing removed it from there.
			probe asked for the lock at 20.000s, was refused at 40.000s, and never got it.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "an extension that deletes all keys", property: checker.NoLostVote, story: `
			nodes 3
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=10
			0.004   n2 set c1#1 until=10
			0.004   n3 set c1#1 until=10
			0.006   c1 ok acquire c1#1 until=10
			2       c1 invoke extend c1#1
			2.1     n1 delete c1#1
			2.2     n2 delete c1#1
			2.2     n3 delete c1#1
			2.3     c1 fail extend c1#1`,
			want: `
			c1 was granted c1#1 on n1 n2 n3 at 0.004s, valid until 10.000s by its own clock.
			c1 deleted its own key of c1#1 on n1 at 2.100s, in the extension by 10s that had begun at 2.000s, and failed at 2.300s.
			It also deleted the keys on n2 n3 at 2.200s.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "two leases with the token that a script counted", property: checker.OwnerOnly, broken: checker.DurableNodes, change: fences(map[string]int64{"c1#1": 1, "c2#1": 1}), story: `
			0       c1 invoke acquire
			0.004   n1 deliver c1 EVALSHA_e99aad_2_lock_{lock}:revision_10000 word=EVALSHA
			0.004   n1 set 1 key={lock}:revision by=c1
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			0.5     n1 lose c1#1
			0.5     n1 lose key={lock}:revision
			1       c2 invoke acquire
			1.004   n1 deliver c2 EVALSHA_e99aad_2_lock_{lock}:revision_10000 word=EVALSHA
			1.004   n1 set 1 key={lock}:revision by=c2
			1.004   n1 set c2#1
			1.006   c2 ok acquire c2#1 until=11
			2       c1 invoke release c1#1
			2.001   n1 deliver c1 EVALSHA_77abcd_1_lock_1 word=EVALSHA
			2.001   n1 delete c2#1 by=c1
			2.002   c1 ok release c1#1`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s with fence 1, valid until 10.000s by its own clock.
			The key {lock}:revision was gone from n1 at 0.500s.
			c2 was granted c2#1 on n1 at 1.004s with fence 1, valid until 11.000s by its own clock.
			c2#1 had the same token as c1#1: 1.
			c1 deleted the key of c2#1 on n1 at 2.001s, in the release of c1#1.
			The environment broke the assumption that a node that has granted a lease, and any node that takes its place, remembers it while it lasts.`},

		{name: "a script that does not compare random tokens", property: checker.OwnerOnly, story: `
			0       c1 invoke acquire
			0.004   n1 deliver c1 EVALSHA_e99aad_2_lock_{lock}:revision_c1#1_10000 word=EVALSHA
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			10.004  n1 expire c1#1
			11      c2 invoke acquire
			11.004  n1 deliver c2 EVALSHA_e99aad_2_lock_{lock}:revision_c2#1_10000 word=EVALSHA
			11.004  n1 set c2#1
			11.006  c2 ok acquire c2#1 until=21
			12      c1 invoke release c1#1
			12.001  n1 deliver c1 EVALSHA_77abcd_1_lock word=EVALSHA
			12.001  n1 delete c2#1 by=c1
			12.002  c1 ok release c1#1`, change: func(h *history.History) {
			for i := range h.Events { // a handmade story takes a word with # for a lease
				if e := &h.Events[i]; e.Kind == history.Message && e.Lease != "" {
					e.Value, e.Lease = strings.ReplaceAll(e.Lease, "_", " "), ""
				}
			}
		},
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			The key of c1#1 expired on n1 at 10.004s.
			c2 was granted c2#1 on n1 at 11.004s, valid until 21.000s by its own clock.
			c1 deleted the key of c2#1 on n1 at 12.001s, in the release of c1#1: its script does not compare the token.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "scripts that share a TTL, and no token", property: checker.OwnerOnly, story: `
			0       c1 invoke acquire
			0.004   n1 deliver c1 EVALSHA_e99aad_1_lock_10000_a word=EVALSHA
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			10.004  n1 expire c1#1
			11      c2 invoke acquire
			11.004  n1 deliver c2 EVALSHA_e99aad_1_lock_10000_b word=EVALSHA
			11.004  n1 set c2#1
			11.006  c2 ok acquire c2#1 until=21
			12      c1 invoke release c1#1
			12.001  n1 deliver c1 EVALSHA_77abcd_1_lock_10000_a word=EVALSHA
			12.001  n1 delete c2#1 by=c1
			12.002  c1 ok release c1#1`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			The key of c1#1 expired on n1 at 10.004s.
			c2 was granted c2#1 on n1 at 11.004s, valid until 21.000s by its own clock.
			c1 deleted the key of c2#1 on n1 at 12.001s, in the release of c1#1.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a key that a late request planted", property: checker.FaultTolerance, story: `
			0       c1 invoke acquire
			1       c1 info acquire
			2       n1 set c1#1 sent=0.3
			3       c2 invoke acquire
			9       c2 fail acquire`,
			want: `
			A late request of c1 set the key of c1#1 on n1 at 2.000s, and nobody held that lease: the request had left at 0.300s, and the client had given up at 1.000s.
			c2 asked for the lock at 3.000s, was refused at 9.000s, and never got it.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a key that a late request planted after the release", property: checker.FaultTolerance, story: `
			0       c1 invoke acquire
			0.1     n1 set c1#1 sent=0.05
			0.2     c1 ok acquire c1#1 until=10
			1       c1 invoke release c1#1
			1.1     n1 delete c1#1 sent=1
			1.2     c1 ok release c1#1
			2       n1 set c1#1 sent=0.1
			3       c2 invoke acquire
			9       c2 fail acquire`,
			want: `
			c1 was granted c1#1 on n1 at 0.100s, and learnt of it at 0.200s, valid until 10.000s by its own clock.
			A late request of c1 set the key of c1#1 again on n1 at 2.000s: the request had left at 0.100s, and the acquire had returned at 0.200s.
			c2 asked for the lock at 3.000s, was refused at 9.000s, and never got it.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a release that is lost", property: checker.DeadlockFreedom, story: `
			probe probe
			bound 5
			0       c1 invoke acquire
			0.004   n1 set c1#1 until=10
			0.006   c1 ok acquire c1#1 until=10
			1       c1 invoke release c1#1
			1       n1 drop c1 DEL_lock
			1.1     c1 info release c1#1
			6       n1 retime c1#1 until=16
			12      n1 retime c1#1 until=22
			20      probe invoke acquire
			21      n1 retime c1#1 until=28
			26      probe fail acquire`,
			want: `
			c1 was granted c1#1 on n1 at 0.004s, valid until 10.000s by its own clock.
			c1 asked for the release of c1#1 at 1.000s, and the request was lost on its way to n1.
			probe asked for the lock at 20.000s, was refused at 26.000s, and never got it.
			c1 went on renewing c1#1 on n1, the last time at 21.000s.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a token that was given twice", property: checker.Tokens, broken: checker.DurableNodes, change: fences(map[string]int64{"c1#1": 33, "c2#1": 33}), story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			1       c1 invoke release c1#1
			1.001   n1 delete c1#1
			1.002   c1 ok release c1#1
			2       n1 fault crash crash_n1
			3       n1 fault restart restart_n1_empty
			3       n1 lose key=lock:fence
			4       c2 invoke acquire
			4.001   n1 set 33 key=lock:fence by=c2
			4.001   n1 set c2#1
			4.002   c2 ok acquire c2#1 until=14`, events: []int{2, 12},
			want: `
			c1 was granted c1#1 on n1 at 0.004s with fence 33, valid until 10.000s by its own clock.
			n1 crashed at 2.000s and came back at 3.000s.
			The key lock:fence was gone from n1 at 3.000s.
			c2 was granted c2#1 on n1 at 4.001s with fence 33, valid until 14.000s by its own clock.
			Fence 33 of c2#1 was the same as fence 33 of c1#1, though the lease is newer.
			The environment broke the assumption that a node that has granted a lease, and any node that takes its place, remembers it while it lasts.`},

		{name: "a counter that a release sets back, and a number that was read too late", property: checker.Tokens, change: fences(map[string]int64{"c1#1": 2, "c2#1": 1}), story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.004   n1 set 1 key=lock:fence by=c1
			0.006   c1 ok acquire c1#1 until=10
			1       c1 invoke release c1#1
			1.001   n1 over 0 key=lock:fence by=c1
			1.001   n1 delete c1#1
			1.002   c1 ok release c1#1
			4       c2 invoke acquire
			4.001   n1 set c2#1
			4.001   n1 over 1 key=lock:fence by=c2
			4.002   c2 ok acquire c2#1 until=14`, events: []int{3, 11},
			want: `
			c1 was granted c1#1 on n1 at 0.004s with fence 2, valid until 10.000s by its own clock.
			When the key of c1#1 was set at 0.004s, the counter lock:fence became 1, but c1 was given fence 2.
			c1 set the counter lock:fence on n1 back from 1 to 0 at 1.001s, in the release of c1#1.
			c2 was granted c2#1 on n1 at 4.001s with fence 1, valid until 14.000s by its own clock.
			Fence 1 of c2#1 was less than fence 2 of c1#1, though the lease is newer.
			No broken assumption explains this: the lock itself is at fault.`},

		{name: "a token that was given twice, from a counter that the history does not show", property: checker.Tokens, broken: checker.DurableNodes, change: fences(map[string]int64{"c1#1": 33, "c2#1": 33}), story: `
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10
			1       c1 invoke release c1#1
			1.001   n1 delete c1#1
			1.002   c1 ok release c1#1
			2       n1 fault crash crash_n1
			3       n1 fault restart restart_n1_empty
			4       c2 invoke acquire
			4.001   n1 set c2#1
			4.002   c2 ok acquire c2#1 until=14`, events: []int{2, 10},
			want: `
			c1 was granted c1#1 on n1 at 0.004s with fence 33, valid until 10.000s by its own clock.
			n1 came back with an empty disk at 3.000s, and so without the counter of fencing tokens.
			c2 was granted c2#1 on n1 at 4.001s with fence 33, valid until 14.000s by its own clock.
			Fence 33 of c2#1 was the same as fence 33 of c1#1, though the lease is newer.
			The environment broke the assumption that a node that has granted a lease, and any node that takes its place, remembers it while it lasts.`},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			h := handmade.History(t, c.story)
			if c.change != nil {
				c.change(h)
			}
			v := checker.Violation{Property: c.property, Assumption: c.broken, What: c.name, Events: c.events}
			if len(c.events) > 0 {
				v.At = h.Events[c.events[len(c.events)-1]].At
			} else if v = found(h, c.property); v.What == "" {
				t.Fatal("there is no violation")
			}
			if c.property == checker.FaultTolerance {
				v.At += h.Meta.TTL / 2
			}
			told := Story(facts.Of(h), v)
			var got []string
			for _, s := range told {
				got = append(got, s.Text)
			}
			want := strings.Split(strings.ReplaceAll(strings.TrimSpace(c.want), "\t", ""), "\n")
			if !slices.Equal(got, want) {
				t.Errorf("told:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			checkExplanation(t, h, v, told)
		})
	}
}

func found(h *history.History, p checker.Property) checker.Violation {
	for _, v := range checker.Check(facts.Of(h), nil).Violations {
		if v.Property == p {
			return v
		}
	}
	return checker.Violation{}
}

// If a history shows nothing, the explanation is the text of the violation.
func TestExplainWithoutGrounds(t *testing.T) {
	for _, p := range checker.Properties() {
		v := checker.Violation{Property: p, What: "something was wrong", Assumption: checker.None, Events: []int{-1, 0, 7}}
		for _, h := range []*history.History{{}, handmade.History(t, "0 c1 invoke wait"), handmade.History(t, "0 c1 ok acquire -")} {
			told := Story(facts.Of(h), v)
			if len(told) == 0 || len(told) > sentencesMost {
				t.Errorf("%s: %v", p, told)
			}
			for _, s := range told {
				for _, i := range s.Events {
					if i < 0 || i >= len(h.Events) {
						t.Errorf("%s: %q stands on event %d of %d", p, s.Text, i, len(h.Events))
					}
				}
			}
		}
	}
}

// An explanation that is too long loses its background sentences first, and never its end.
func TestExplainAtMostTen(t *testing.T) {
	n := &narrator{f: facts.Of(&history.History{Events: make([]history.Event, 40)}), v: checker.Violation{Assumption: checker.BoundedPause, Events: []int{39}}, told: map[int]bool{}}
	for i := range 8 {
		n.say(step, 2*i, nil, "step %d", i)
		n.say(detail, 2*i+1, nil, "detail %d", i)
		n.say(background, 2*i+1, nil, "background %d", i)
	}
	n.conclude()
	told := n.sentences()
	if len(told) != sentencesMost || told[9].Text != broke(checker.BoundedPause) || told[0].Text != "step 0" || told[1].Text != "detail 0" {
		t.Errorf("told %v", told)
	}
}

func TestExplainRandomHistories(t *testing.T) {
	count := map[checker.Property]int{}
	rapid.Check(t, func(t *rapid.T) {
		h := handmade.Random(t)
		seen := map[checker.Property]bool{}
		for _, v := range checker.Check(facts.Of(h), nil).Violations {
			if !seen[v.Property] {
				seen[v.Property] = true
				count[v.Property]++
				checkExplanation(t, h, v, Story(facts.Of(h), v))
			}
		}
	})
	if len(count) < 4 {
		t.Errorf("only %v were explained", count)
	}
}

func TestExplainNeverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := handmade.Garbage(t)
		v := checker.Violation{
			Property:   rapid.SampledFrom(checker.Properties()).Draw(t, "property"),
			At:         time.Duration(rapid.Int64().Draw(t, "at")),
			What:       "something",
			Assumption: rapid.SampledFrom(append(checker.Assumptions(), "", "odd")).Draw(t, "assumption"),
			Events:     rapid.SliceOfN(rapid.IntRange(-2, 40), 0, 4).Draw(t, "proof"),
		}
		if n := len(Story(facts.Of(h), v)); n < 1 || n > sentencesMost {
			t.Fatalf("%d sentences", n)
		}
		h = handmade.Random(t)
		Story(facts.Of(h), v)
	})
}

// checkExplanation fails the test unless an explanation has one to ten sentences in order, includes the last event of the
// violation, and mentions only what is in the events of each sentence.
func checkExplanation(t interface {
	Helper()
	Errorf(string, ...any)
}, h *history.History, v checker.Violation, told []Sentence) {
	t.Helper()
	if len(told) < 1 || len(told) > sentencesMost {
		t.Errorf("%d sentences", len(told))
	}
	var all []int
	for n, s := range told {
		if len(s.Events) == 0 {
			t.Errorf("%q stands on nothing", s.Text)
			continue
		}
		if n > 0 && n < len(told)-1 && s.Events[0] < told[n-1].Events[0] {
			t.Errorf("%q is told after %q", s.Text, told[n-1].Text)
		}
		all = append(all, s.Events...)
		if len(told) > 1 { // otherwise it is the text of the violation
			checkGrounds(t, h, s)
		}
	}
	for _, i := range v.Events { // a late message broke the assumption
		if last := told[len(told)-1]; v.Assumption == checker.BoundedDelay && i >= 0 && i < len(h.Events) && h.Events[i].Kind == history.Message && !slices.Contains(last.Events, i) {
			t.Errorf("%q does not cite event %d", last.Text, i)
		}
	}
	if last := v.Events[len(v.Events)-1]; !slices.Contains(all, last) {
		t.Errorf("event %d, the last that proves %q, is not told", last, v.What)
	}
}

var (
	mentioned = regexp.MustCompile(`\b(?:[cnrsp][0-9]+|probe)(?:#[0-9]+)?\b`)
	clocked   = regexp.MustCompile(`[0-9]+\.[0-9]{3}s\b`)
)

func checkGrounds(t interface {
	Helper()
	Errorf(string, ...any)
}, h *history.History, s Sentence) {
	t.Helper()
	names, times := map[string]bool{}, map[string]bool{}
	for _, i := range s.Events {
		e := h.Events[i]
		for _, name := range append(mentioned.FindAllString(e.Value, -1), e.Process, e.By, e.Lease, e.Owner) {
			names[name], names[history.Client(name)] = true, true
		}
		for _, at := range []time.Duration{e.At, e.Clock, e.Sent, e.Until} {
			times[strings.TrimPrefix(history.Seconds(at), "-")] = true
		}
	}
	for _, name := range mentioned.FindAllString(s.Text, -1) {
		if !names[name] {
			t.Errorf("%q names %s, which is in none of its events %v", s.Text, name, s.Events)
		}
	}
	for _, at := range clocked.FindAllString(s.Text, -1) {
		if !times[at] {
			t.Errorf("%q names %s, which is in none of its events %v", s.Text, at, s.Events)
		}
	}
}

// The explanation says what the client was told about an attempt.
func TestExplainAnswers(t *testing.T) {
	for want, e := range map[string]history.Event{
		"was refused":             {Kind: history.Fail, Error: "lock not acquired"},
		"could not connect":       {Kind: history.Info, Error: "dial tcp 10.0.0.1:6379: connection refused"},
		"got no answer":           {Kind: history.Info, Error: "read tcp 10.0.0.3:6379->10.0.0.1:6379: i/o timeout"},
		"was answered NOREPLICAS": {Kind: history.Info, Error: "NOREPLICAS Not enough good replicas to write."},
	} {
		if got := answer(e); got != want {
			t.Errorf("%q: %q, want %q", e.Error, got, want)
		}
	}
}

// The explanation of what a node forgot depends on its persistence.
func TestExplainPersistence(t *testing.T) {
	for _, c := range []struct{ persistence, crash, restart, want string }{
		{"none", "stop n1", "restart n1", ": it keeps nothing on a disk"},
		{"rdb", "crash n1", "restart n1", ": its last snapshot was older"},
		{"aof-everysec", "crash n1 power", "restart n1", ": what it had not yet synchronized to disk was lost"},
		{"aof-everysec", "crash n1", "restart n1", ""},
		{"aof-everysec-slow", "crash n1", "restart n1", ": its disk was busy with an earlier write, so it had replied before it had written"},
		{"aof-lying", "crash n1 power", "restart n1", ": its disk had only claimed to have written it"},
		{"aof-always", "crash n1 power", "restart n1", ""},
		{"aof-always", "crash n1", "restart n1 empty", ": its disk was empty"},
	} {
		op, _, _ := strings.Cut(c.crash, " ")
		n := &narrator{f: facts.Of(&history.History{Meta: history.Meta{Persistence: c.persistence}, Events: []history.Event{
			{Kind: history.Injected, Process: "n1", Op: op, Value: c.crash},
			{Kind: history.Injected, Process: "n1", Op: "restart", Value: c.restart},
		}})}
		if got := n.forgot(0, 1); got != c.want {
			t.Errorf("%s, %s, %s: %q, want %q", c.persistence, c.crash, c.restart, got, c.want)
		}
	}
}

// A resource that does not compare tokens accepts a lower token after a higher one.
func TestExplainUncheckedTokens(t *testing.T) {
	const overwrote = "At 13.001s the resource accepted A under c1#1, though c2#1 was the newer lease: it overwrote B."
	for _, test := range []struct{ resource, write, want string }{
		{"fenced", "12 resource accept B c2#1 fence=2", overwrote}, // it has forgotten fence 2
		{"plain", "12 resource accept B c2#1 fence=2", "The resource does not compare tokens: it accepted fence 1 after fence 2."},
		{"plain", "12 c2 invoke write B c2#1", "At 13.001s the resource accepted A under c1#1, though c2#1 was the newer lease: the resource does not compare tokens."},
		{"fenced", "12 c2 invoke write B c2#1", "At 13.001s the resource accepted A under c1#1, though c2#1 was the newer lease: no fence above 1 had reached it yet."},
	} {
		h := handmade.History(t, `
			0       c1 invoke acquire
			0.004   n1 set c1#1
			0.006   c1 ok acquire c1#1 until=10 fence=1
			1       resource accept A c1#1 fence=1
			10.004  n1 expire c1#1
			11      c2 invoke acquire
			11.004  n1 set c2#1
			11.006  c2 ok acquire c2#1 until=21 fence=2
			`+test.write+`
			13      c1 invoke write A c1#1
			13.001  resource accept A c1#1 fence=1`)
		h.Meta.Resource = test.resource
		v := found(h, checker.ResourceExclusion)
		told := Story(facts.Of(h), v)
		if len(told) < 2 || told[len(told)-2].Text != test.want {
			t.Errorf("%s: told %v, want %q", test.resource, told, test.want)
		}
		checkExplanation(t, h, v, told)
	}
}
