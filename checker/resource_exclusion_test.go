package checker

import (
	"strings"
	"testing"
	"time"

	"lockstep/sim/history"
)

func TestResourceExclusion(t *testing.T) {
	const c1 = `
		0    c1 invoke acquire
		0.1  n1 set c1#1
		0.2  c1 ok acquire c1#1 until=10
	`
	const c2 = `
		11   c2 invoke acquire
		12   n1 set c2#1
		12.1 c2 ok acquire c2#1 until=22
	`
	const late = "c1 wrote A under c1#1 at 15.003s, after c2 was granted c2#1 at 12.000s"
	testProperty(t, ResourceExclusion, []verdictCase{
		{name: "everyone in turn", story: c1 + "5 resource accept A c1#1 sent=4.9" + c2 + "13 resource accept B c2#1 sent=12.9"},
		{name: "a client that works longer than its lease lasts", story: c1 + c2 + "14.9 c1 invoke write A c1#1\n15.003 resource accept A c1#1 sent=15",
			want: []string{late + " [none]"}},
		{name: "the same if it was told that the lease is lost", story: c1 + "10 c1 info lost c1#1\n" + c2 + "14.9 c1 invoke write A c1#1\n15.003 resource accept A c1#1 sent=15"},
		{name: "the same if it was told during the write", story: c1 + "9.5 c1 invoke write A c1#1\n9.6 c1 info lost c1#1\n" + c2 + "15.003 resource accept A c1#1 sent=15",
			want: []string{late + " [bounded delay]"}},
		{name: "the same if a node forgot the key", story: c1 + "3 n1 fault crash\n3 n1 lose c1#1\n4 c1 info lost c1#1\n5 c2 invoke acquire\n5.1 n1 set c2#1\n5.2 c2 ok acquire c2#1 until=15\n6 c1 invoke write A c1#1\n6.1 resource accept A c1#1 sent=6",
			want: []string{"c1 wrote A under c1#1 at 6.100s, after c2 was granted c2#1 at 5.100s [durable nodes]"}},
		{name: "a late write that nobody overtook", story: c1 + "15.003 resource accept A c1#1 sent=15"},
		{name: "a late write just before the grant", story: c1 + `
			11     c2 invoke acquire
			12     resource accept A c1#1 sent=11.9
			12     n1 set c2#1
			12.1   c2 ok acquire c2#1 until=22`},
		{name: "a late write just after the grant", story: c1 + `
			11     c2 invoke acquire
			12     n1 set c2#1
			12     resource accept A c1#1 sent=11.9
			12.1   c2 ok acquire c2#1 until=22`,
			want: []string{"c1 wrote A under c1#1 at 12.000s, after c2 was granted c2#1 at 12.000s [bounded delay]"}},
		{name: "the grant counts from the majority", story: "nodes 3\n" + `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.1  n2 set c1#1
			0.2  c1 ok acquire c1#1 until=10
			11   c2 invoke acquire
			11.1 n1 set c2#1
			11.2 n1 delete c2#1
			11.3 n1 set c2#1   # the same node twice is no majority
			12   resource accept A c1#1 sent=11.9
			13   n2 set c2#1
			13.1 c2 ok acquire c2#1 until=22`},
		{name: "the grant counts from the last majority before the return", story: "nodes 3\n" + `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.1  n2 set c1#1
			0.2  c1 ok acquire c1#1 until=10
			11   c2 invoke acquire
			11.1 n1 set c2#1
			11.2 n2 set c2#1
			12   resource accept A c1#1 sent=11.9
			12.5 n2 lose c2#1
			13   n2 set c2#1
			13.1 c2 ok acquire c2#1 until=22
			14   resource accept B c1#1 sent=11.9
			15   n2 delete c2#1
			16   n2 set c2#1   # too late to be its grant`,
			want: []string{"c1 wrote B under c1#1 at 14.000s, after c2 was granted c2#1 at 13.000s [bounded delay]"}},
		{name: "the grant counts from a majority that was lost before the return", story: "nodes 3\n" + `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.1  n2 set c1#1
			0.2  c1 ok acquire c1#1 until=10
			11   c2 invoke acquire
			11.1 n1 set c2#1
			11.2 n2 set c2#1
			12   resource accept A c1#1 sent=11.9
			12.5 n2 lose c2#1
			13.1 c2 ok acquire c2#1 until=22`,
			want: []string{"c1 wrote A under c1#1 at 12.000s, after c2 was granted c2#1 at 11.200s [none]"}},
		{name: "votes of several tries do not add up", story: "nodes 3\n" + `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.1  n2 set c1#1
			0.2  c1 ok acquire c1#1 until=10
			1    c2 invoke acquire
			1.1  n3 set c2#1
			1.2  n3 delete c2#1
			1.3  n2 lose c1#1
			1.4  n2 set c2#1
			1.5  n2 delete c2#1
			2    resource accept A c1#1 sent=1.9
			2.1  c1 invoke release c1#1
			2.2  n1 delete c1#1
			3    n1 set c2#1
			3    n2 set c2#1
			3.1  c2 ok acquire c2#1 until=13`},
		{name: "a lease that overwrites its own key keeps the vote", story: "nodes 3\n" + `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.1  n2 set c1#1
			0.2  c1 ok acquire c1#1 until=10
			11   c2 invoke acquire
			11.1 n1 set c2#1
			11.2 n1 over c2#1 was=c2#1
			11.3 n2 set c2#1
			12   resource accept A c1#1 sent=11.9
			12.1 n2 over c2#1 was=c2#1
			13.1 c2 ok acquire c2#1 until=22`,
			want: []string{"c1 wrote A under c1#1 at 12.000s, after c2 was granted c2#1 at 11.300s [none]"}},
		{name: "a majority after the return is no grant", story: "nodes 3\n" + `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.1  n2 set c1#1
			0.2  c1 ok acquire c1#1 until=10
			11   c2 invoke acquire
			11.1 n1 set c2#1
			13   c2 ok acquire c2#1 until=22
			14   resource accept A c1#1 sent=11.9
			15   n2 set c2#1`,
			want: []string{"c1 wrote A under c1#1 at 14.000s, after c2 was granted c2#1 at 13.000s [bounded delay]"}},
		{name: "a grant that was never seen, since the clocks of the nodes had jumped", story: goneAtOnce + "\n5 resource accept A c1#1 sent=4.9",
			want: []string{"c1 wrote A under c1#1 at 5.000s, after c2 was granted c2#1 at 4.200s [bounded clock error]"}},
		{name: "the same after the older lease had ended", story: strings.NewReplacer("\n\t\t4", "\n\t\t14", "until=14", "until=24", "until=13.9", "until=23.9", "\t3 ", "\t11 ").Replace(goneAtOnce) + "\n15 resource accept A c1#1 sent=14.9",
			want: []string{"c1 wrote A under c1#1 at 15.000s, after c2 was granted c2#1 at 14.200s [none]"}},
		{name: "a lease that its lock would renew, whose key was gone at once, since the clock of the node was ahead", story: `
			0    n1 fault jump wall=20
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10 wall=20
			0.1  n1 expire c1#1 wall=20
			0.2  c1 ok acquire c1#1 until=never renews
			1    c2 invoke acquire
			1.1  n1 set c2#1 until=11 wall=20
			1.1  n1 expire c2#1 wall=20
			1.2  c2 ok acquire c2#1 until=never renews
			1.3  c2 invoke release c2#1
			1.4  c2 ok release c2#1
			2    resource accept A c1#1 sent=1.9`,
			want: []string{"c1 wrote A under c1#1 at 2.000s, after c2 was granted c2#1 at 1.100s [bounded clock error]"}},
		{name: "a grant that was never seen counts from the return", story: c1 + `
			11   c2 invoke acquire
			12   resource accept A c1#1 sent=11.9
			12.1 c2 ok acquire c2#1 until=22
			13   resource accept B c1#1 sent=12.9`,
			want: []string{"c1 wrote B under c1#1 at 13.000s, after c2 was granted c2#1 at 12.100s [none]"}},
		{name: "the resource refused it", story: c1 + c2 + "15.003 resource reject A c1#1 sent=15"},
		{name: "an entry in time", story: c1 + "5 resource mark c1#1 sent=4.9" + c2 + "13 resource mark c2#1 sent=12.9"},
		{name: "an entry after a newer grant", story: c1 + c2 + "13 resource mark c2#1 sent=12.9\n15.003 resource mark c1#1 sent=15",
			want: []string{"c1 entered under c1#1 at 15.003s, after c2 was granted c2#1 at 12.000s [none]"}},
		{name: "a write without a lease", story: c1 + c2 + "15.003 resource accept A by=c3 sent=15"},
		{name: "a write under a lease that nobody got", story: c1 + c2 + "15.003 resource accept A c3#1 sent=15"},
		{name: "a newer lease that nobody learned of", story: c1 + `
			11     c2 invoke acquire
			12     n1 set c2#1
			13     c2 info acquire
			15.003 resource accept A c1#1 sent=15`},
		{name: "a newer lease that its client learns of later", story: c1 + `
			11     c2 invoke acquire
			12     n1 set c2#1
			15.003 resource accept A c1#1 sent=15
			16     c2 ok acquire c2#1 until=22`,
			want: []string{late + " [none]"}},
		{name: "a newer lease of another lock", story: c1 + `
			11     c2 invoke acquire lock=b
			12     n1 set c2#1 key=b
			12.1   c2 ok acquire c2#1 until=22 lock=b
			15.003 resource accept A c1#1 sent=15`},
		{name: "the newer lease was granted to the same client", story: c1 + `
			11     c1 invoke acquire
			12     n1 set c1#2
			12.1   c1 ok acquire c1#2 until=22
			15.003 resource accept A c1#1 sent=15`,
			want: []string{"c1 wrote A under c1#1 at 15.003s, after c1 was granted c1#2 at 12.000s [none]"}},
		{name: "the order is that of grants, not of returns", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			10.1 n1 expire c1#1
			11   c2 invoke acquire
			12   n1 set c2#1
			12.1 c2 ok acquire c2#1 until=22
			13   c1 ok acquire c1#1 until=10   # its reply took 13 s: it is not the newer one
			14   resource accept B c2#1 sent=13.9
			15.003 resource accept A c1#1 sent=15`,
			want: []string{late + " [none]"}},
		{name: "the first of several newer leases is named", story: c1 + c2 + `
			23   c3 invoke acquire
			24   n1 set c3#1
			24.1 c3 ok acquire c3#1 until=34
			25   resource accept A c1#1 sent=24
			26   resource accept B c2#1 sent=25
			27   resource accept C c3#1 sent=26`,
			want: []string{
				"c1 wrote A under c1#1 at 25.000s, after c2 was granted c2#1 at 12.000s [none]",
				"c2 wrote B under c2#1 at 26.000s, after c3 was granted c3#1 at 24.000s [none]",
			}},
	})
}

func TestResourceExclusionBlame(t *testing.T) {
	const c1 = `
		0    c1 invoke acquire
		0.1  n1 set c1#1
		0.2  c1 ok acquire c1#1 until=10
	`
	const c2 = `
		11   c2 invoke acquire
		12   n1 set c2#1
		12.1 c2 ok acquire c2#1 until=22
	`
	const setBack = `
		0    c1 invoke acquire
		0.05 c1 fault jump jump_c1_-12s
		0.1  n1 set c1#1
		0.2  c1 ok acquire c1#1 until=22
		10.1 n1 expire c1#1
	`
	const sooner = `
		4    c2 invoke acquire
		5    n1 set c2#1
		5.1  c2 ok acquire c2#1 until=15
	`
	// c1 asks n3 first, and n3 drops its key before c2 asks. c1 learns of its lease first, and is granted it last.
	const crossed = `
		nodes 3
		0    c1 invoke acquire
		0.04 n3 set c1#1
		0.05 n3 GONE c1#1
		0.06 c2 invoke acquire
		0.10 n3 set c2#1
		0.11 n1 set c1#1
		0.15 n2 set c2#1
		0.18 c1 ok acquire c1#1 until=9.9
		0.21 c2 ok acquire c2#1 until=9.9
		0.24 resource accept B c2#1 sent=0.22
	`
	// The lease is extended on the primary only.
	const tookBack = `
		replica r1
		0    c1 invoke acquire
		0.1  n1 set c1#1 until=10.1
		0.1  r1 set c1#1 by=n1
		0.2  c1 ok acquire c1#1 until=10
		5    c1 invoke extend c1#1 ttl=20
		5.1  n1 retime c1#1 until=25.1
		5.2  c1 ok extend c1#1 until=25
		6    r1 promote
		7    n1 follow r1
		7.1  n1 retime c1#1 until=10.1 by=r1
		10.1 r1 expire c1#1
		10.1 n1 delete c1#1 by=r1
		11   c2 invoke acquire
		12   r1 set c2#1
		12.1 c2 ok acquire c2#1 until=22
	`
	const (
		extendedInVain = "0 c1 invoke acquire\n0.1 n1 set c1#1 until=never\n0.2 c1 ok acquire c1#1 until=10\n7.9 c1-n1 fault cut cut_c1-n1\n8 c1 invoke extend c1#1\n"
		inVain         = "7.9 c1-n1 fault cut cut_c1-n1\n8 c1 invoke extend c1#1\n10.1 n1 expire c1#1\n"
		taken          = "11 c2 invoke acquire\n12   n1 over c2#1 was=c1#1 until=never\n12.1 c2 ok acquire c2#1 until=22\n8.5 c1 info extend c1#1\n"
		attempt        = "11 c2 invoke acquire\n11.2 n1 set c2#1\n11.3 c2 info acquire\n"
		again          = "11.5 c2 invoke acquire\n12 c2 ok acquire c2#2 until=22\n8.5 c1 info extend c1#1\n"
		late           = "15.003 resource accept A c1#1 sent=15"
	)
	blame := func(name, story, assumption string) verdictCase {
		const late = "c1 wrote A under c1#1 at 15.003s, after c2 was granted c2#1 at 12.000s"
		text := late
		if strings.Contains(story, "ok acquire c2#2") {
			text = strings.Replace(late, "c2#1", "c2#2", 1)
		}
		return verdictCase{name: name, story: inOrder(t, story), want: []string{text + " [" + assumption + "]"}}
	}
	testProperty(t, ResourceExclusion, []verdictCase{
		blame("a pause after the return", c1+"1 c1 fault pause"+c2+"15 c1 fault resume\n15.003 resource accept A c1#1 sent=15.001", "bounded pause"),
		{name: "keys with deadlines by the clock of a client that is behind", want: []string{"c1 wrote A under c1#1 at 9.003s, after c2 was granted c2#1 at 1.100s [bounded clock error]"}, story: `
			nodes 3
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=-2
			0.1  n1 expire c1#1
			0.1  n2 set c1#1 until=-2
			0.1  n2 expire c1#1
			0.2  c1 ok acquire c1#1 until=never renews wall=-12
			0.3  c1 info lost c1#1
			1    c2 invoke acquire
			1.1  n1 set c2#1
			1.1  n2 set c2#1
			1.2  c2 ok acquire c2#1 until=10.9
			9    c1 invoke write A c1#1
			9.003 resource accept A c1#1 sent=9.001`},
		blame("work that outlived the lease", c1+c2+"15.003 resource accept A c1#1 sent=15.001", "none"),
		blame("a pause that made no difference", c1+"1 c1 fault pause\n2 c1 fault resume"+c2+"15.003 resource accept A c1#1 sent=15.001", "none"),
		blame("two pauses that together made one", c1+"1 c1 fault pause\n4 c1 fault resume\n5 c1 fault pause\n8 c1 fault resume"+c2+"15.003 resource accept A c1#1 sent=15.001", "bounded pause"),
		blame("a pause of another client", c1+"1 c3 fault pause"+c2+"15 c3 fault resume\n15.003 resource accept A c1#1 sent=15.001", "none"),
		blame("a pause after the write left", c1+c2+"12.5 c1 fault pause\n15.003 resource accept A c1#1 sent=12.4", "none"),
		blame("a pause before the return", `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			1    c1 fault pause
			9    c1 fault resume
			9.5  c1 ok acquire c1#1 until=10`+c2+"15.003 resource accept A c1#1 sent=15.001", "bounded pause"),
		blame("the message was late", c1+c2+"15.003 resource accept A c1#1 sent=9.9", "bounded delay"),
		blame("the message was late after a crash", c1+"3 c1 fault crash"+c2+"15.003 resource accept A c1#1 sent=3", "bounded delay"),
		blame("the message was late after a release", c1+"3 c1 invoke release c1#1\n3.1 n1 delete c1#1"+c2+"15.003 resource accept A c1#1 sent=2.9", "bounded delay"),
		blame("sent after the release", c1+"3 c1 invoke release c1#1\n3.1 n1 delete c1#1"+c2+"15.003 resource accept A c1#1 sent=3.1", "bounded delay"),
		blame("sent too late, after waiting for one that was late", c1+"1 c1 invoke write B c1#1\n9.5 resource deliver c1 sent=1\n9.6 c1 ok write B c1#1"+c2+"15 c1 invoke write A c1#1\n15.003 resource accept A c1#1 sent=15", "bounded delay"),
		blame("sent too late, though one was late for a moment", c1+"1 c1 invoke write B c1#1\n2 resource deliver c1 sent=1\n2.1 c1 ok write B c1#1"+c2+"15 c1 invoke write A c1#1\n15.003 resource accept A c1#1 sent=15", "none"),
		blame("invoked in time, sent when the connection was there", c1+"5 c1 invoke write A c1#1"+c2+"15.003 resource accept A c1#1 sent=14", "bounded delay"),
		blame("invoked in time, and paused for a moment", c1+"5 c1 invoke write A c1#1\n6 c1 fault pause\n7 c1 fault resume"+c2+"15.003 resource accept A c1#1 sent=14", "bounded delay"),
		blame("invoked in time, and paused for long", c1+"5 c1 invoke write A c1#1\n6 c1 fault pause"+c2+"14 c1 fault resume\n15.003 resource accept A c1#1 sent=14", "bounded pause"),
		blame("invoked after the lease", c1+"10.5 c1 invoke write A c1#1"+c2+"15.003 resource accept A c1#1 sent=14", "bounded delay"),
		blame("invoked after the release", c1+"3 c1 invoke release c1#1\n3.1 n1 delete c1#1\n3.2 c1 ok release c1#1\n5 c1 invoke write A c1#1"+c2+"15.003 resource accept A c1#1 sent=14", "bounded delay"),
		blame("another write invoked in time", c1+"5 c1 invoke write Z c1#1"+c2+"15.003 resource accept A c1#1 sent=14", "bounded delay"),
		blame("invoked again after the lease", c1+"5 c1 invoke write A c1#1\n6 c1 ok write"+c2+"13 c1 invoke write A c1#1\n15.003 resource accept A c1#1 sent=14", "none"),
		blame("an extension that did not arrive, and the end in the value passed", extendedInVain+taken+late, "bounded delay"),
		blame("the same if the key was deleted first", extendedInVain+strings.Replace(taken, "12   n1 over c2#1 was=c1#1", "12 n1 delete c1#1 by=c2\n12 n1 set c2#1", 1)+late, "bounded delay"),
		blame("the same, but the extension asked for too little", strings.ReplaceAll(extendedInVain, "extend c1#1", "extend c1#1 ttl=1")+taken+late, "none"),
		blame("the same, but the extension arrived", strings.Replace(extendedInVain, "7.9 c1-n1 fault cut cut_c1-n1\n", "", 1)+taken+late, "none"),
		{name: "an extension that did not arrive, and a key that was taken over before its end", want: []string{"c1 wrote A under c1#1 at 15.003s, after c2 was granted c2#1 at 9.000s [none]"},
			story: extendedInVain + "8.5 c1 info extend c1#1\n8.5 c2 invoke acquire\n9 n1 over c2#1 was=c1#1 until=never\n9.1 c2 ok acquire c2#1 until=19\n" + late},
		blame("an extension that did not arrive, and the lock was got with a key of an earlier attempt", c1+inVain+attempt+again+late, "bounded delay"),
		blame("the same with a key of another client", c1+inVain+strings.ReplaceAll(attempt, "c2", "c3")+again+late, "none"),
		blame("the same with a key that was gone", c1+inVain+attempt+"11.4 n1 delete c2#1\n"+again+late, "none"),
		blame("the same with a key that was gone, and its copy", "replica r1\n"+c1+"0.3 r1 set c1#1 by=n1\n"+strings.Replace(inVain, "10.1 n1 expire c1#1", "10.1 n1 expire c1#1\n10.1 r1 delete c1#1 by=n1", 1)+attempt+"11.3 r1 set c2#1 by=n1\n11.4 n1 delete c2#1\n"+again+late, "none"),
		blame("the same with a key that came too late", c1+inVain+again+"12.5 n1 set c2#1 sent=11.1\n"+late, "none"),
		blame("the same with a key of its own as well", "nodes 3\n"+c1+"0.15 n2 set c1#1\n"+inVain+"10.1 n2 expire c1#1\n"+attempt+strings.Replace(again, "12 c2", "11.8 n2 set c2#2\n12 c2", 1)+late, "none"),
		{name: "an extension that a failover took back", want: []string{"c1 wrote A under c1#1 at 15.003s, after c2 was granted c2#1 at 12.000s [durable nodes]"}, story: tookBack + "15.003 resource accept A c1#1 sent=15"},
		{name: "an extension that a failover took back, and the write was late, too", want: []string{"c1 wrote A under c1#1 at 30.000s, after c2 was granted c2#1 at 12.000s [durable nodes]"}, story: tookBack + "30 resource accept A c1#1 sent=15"},
		blame("sent at an unknown time", c1+c2+"15.003 resource accept A c1#1", "none"),
		blame("sent under a lease that was never valid", "0 c1 invoke acquire\n0.1 n1 set c1#1\n11 c1 ok acquire c1#1 until=10"+c2+"15.003 resource accept A c1#1 sent=11", "bounded delay"),
		blame("a check passed by a clock that had been set back", setBack+c2+"14.9 c1 ok check c1#1\n15 c1 invoke write A c1#1\n15.003 resource accept A c1#1 sent=15", "bounded clock error"),
		blame("the same without the check", setBack+c2+"15 c1 invoke write A c1#1\n15.003 resource accept A c1#1 sent=15", "none"),
		blame("the same with a check before the end of the lease", strings.Replace(setBack, "10.1", "9 c1 ok check c1#1\n10.1", 1)+c2+"15 c1 invoke write A c1#1\n15.003 resource accept A c1#1 sent=15", "none"),
		blame("a check passed by a clock that had been set back by too little", strings.ReplaceAll(setBack, "-12s", "-2s")+c2+"14.9 c1 ok check c1#1\n15 c1 invoke write A c1#1\n15.003 resource accept A c1#1 sent=15", "none"),
		blame("a check passed by a clock that was set back after the grant", strings.NewReplacer("until=22", "until=10", "\t0.05 c1 fault jump jump_c1_-12s\n", "", "10.1", "5 c1 fault jump jump_c1_-12s\n10.1").Replace(setBack)+c2+"14.9 c1 ok check c1#1\n15 c1 invoke write A c1#1\n15.003 resource accept A c1#1 sent=15", "bounded clock error"),
		blame("a lease that is too long anyway, and a jump back that prolonged nothing", strings.NewReplacer("\t0.05 c1 fault jump jump_c1_-12s\n", "", "10.1", "5 c1 fault jump jump_c1_-12s\n10.1").Replace(setBack)+c2+"14.9 c1 ok check c1#1\n15 c1 invoke write A c1#1\n15.003 resource accept A c1#1 sent=15", "none"),
		blame("the same with a jump ahead", strings.ReplaceAll(setBack, "-12s", "+12s")+c2+"14.9 c1 ok check c1#1\n15 c1 invoke write A c1#1\n15.003 resource accept A c1#1 sent=15", "none"),
		{name: "the leases overlapped after a crash of a node", story: c1 + "3 n1 lose c1#1" + sooner + "6 resource accept A c1#1 sent=5.9",
			want: []string{"c1 wrote A under c1#1 at 6.000s, after c2 was granted c2#1 at 5.000s [durable nodes]"}},
		{name: "the leases overlapped after a jump", story: c1 + "3 n1 expire c1#1" + sooner + "6 resource accept A c1#1 sent=5.9",
			want: []string{"c1 wrote A under c1#1 at 6.000s, after c2 was granted c2#1 at 5.000s [bounded clock error]"}},
		{name: "the leases overlapped and the write was late too", story: c1 + "3 n1 expire c1#1" + sooner + "16 resource accept A c1#1 sent=5.9",
			want: []string{"c1 wrote A under c1#1 at 16.000s, after c2 was granted c2#1 at 5.000s [bounded clock error]"}},
		{name: "the leases overlapped by the lock's own doing", story: c1 + "3 n1 delete c1#1 by=c2" + sooner + "16 resource accept A c1#1 sent=5.9",
			want: []string{"c1 wrote A under c1#1 at 16.000s, after c2 was granted c2#1 at 5.000s [none]"}},
		{name: "the leases did not overlap, though the first was cut short", story: c1 + "3 c1 invoke release c1#1\n3.1 n1 lose c1#1" + sooner + "6 resource accept A c1#1 sent=2.9",
			want: []string{"c1 wrote A under c1#1 at 6.000s, after c2 was granted c2#1 at 5.000s [bounded delay]"}},
		{name: "the older lease has its majority only because a key of the newer one was gone", story: strings.Replace(crossed, "GONE", "expire", 1),
			want: []string{"c2 wrote B under c2#1 at 0.240s, after c1 was granted c1#1 at 0.180s [bounded clock error]"}},
		{name: "the same after a restart without its keys", story: strings.Replace(crossed, "GONE", "lose", 1),
			want: []string{"c2 wrote B under c2#1 at 0.240s, after c1 was granted c1#1 at 0.180s [durable nodes]"}},
		{name: "the same by the lock's own doing", story: strings.Replace(crossed, "GONE c1#1", "delete c1#1 by=c2", 1),
			want: []string{"c2 wrote B under c2#1 at 0.240s, after c1 was granted c1#1 at 0.180s [none]"}},
		{name: "an entry after a pause", story: c1 + "1 c1 fault pause" + c2 + "15 c1 fault resume\n15 c1 invoke enter c1#1\n15.003 resource mark c1#1 sent=15.001",
			want: []string{"c1 entered under c1#1 at 15.003s, after c2 was granted c2#1 at 12.000s [bounded pause]"}},
		{name: "an entry that was invoked in time", story: c1 + "5 c1 invoke enter c1#1" + c2 + "15.003 resource mark c1#1 sent=14",
			want: []string{"c1 entered under c1#1 at 15.003s, after c2 was granted c2#1 at 12.000s [bounded delay]"}},
		{name: "an entry after a write that was invoked in time", story: c1 + "5 c1 invoke write A c1#1" + c2 + "15.003 resource mark c1#1 sent=14",
			want: []string{"c1 entered under c1#1 at 15.003s, after c2 was granted c2#1 at 12.000s [bounded delay]"}},
		{name: "no newer lease, no blame: a pause", story: c1 + "1 c1 fault pause\n15 c1 fault resume\n15.003 resource accept A c1#1 sent=15.001"},
		{name: "no newer lease, no blame: a delay", story: c1 + "15.003 resource accept A c1#1 sent=9.9"},
		{name: "no newer lease, no blame: a crash", story: c1 + "3 n1 lose c1#1\n15.003 resource accept A c1#1 sent=9.9"},
		{name: "the newer client wrote after a pause", story: c1 + c2 + "13 c2 fault pause\n40 c2 fault resume\n40.1 resource accept B c2#1 sent=40"},
	})
}

// TestWrites: for which invocations the resource accepted what they asked for.
func TestWrites(t *testing.T) {
	accepted := history.Event{At: 2 * time.Second, Sent: time.Second, Lease: "c1#1", Value: "A B", Word: "B"}
	mark := accepted
	mark.Op = history.Mark
	for _, test := range []struct {
		in       history.Event
		accepted history.Event
		want     bool
	}{
		{history.Event{Op: history.Write, Value: "A B"}, accepted, true},
		{history.Event{Op: history.Write, Value: "B"}, accepted, false},
		{history.Event{Op: history.Write, Value: "A B"}, mark, false},
		{history.Event{Op: history.Write, Value: "A B", At: time.Second}, accepted, true},
		{history.Event{Op: history.Write, Value: "A B", At: time.Second + 1}, accepted, false},
		{history.Event{Op: history.Update, Value: "B"}, accepted, true},
		{history.Event{Op: history.Update, Value: "A B"}, accepted, false},
		{history.Event{Op: history.Update, Value: "B"}, mark, false},
		{history.Event{Op: history.Enter}, mark, true},
		{history.Event{Op: history.Enter}, accepted, false},
		{history.Event{Op: history.Read, Value: "A B"}, accepted, false},
		{history.Event{Op: history.Release, Value: "A B"}, accepted, false},
	} {
		in := test.in
		in.Kind, in.Lease = history.Invoke, "c1#1"
		if got := in.Writes(test.accepted); got != test.want {
			t.Errorf("%+v: %v", in, got)
		}
		in.Lease = "c1#2"
		if in.Writes(test.accepted) {
			t.Errorf("%+v, of another lease", in)
		}
		in.Kind, in.Lease = history.OK, "c1#1"
		if in.Writes(test.accepted) {
			t.Errorf("%+v, an outcome", in)
		}
	}
}
