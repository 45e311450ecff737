package checker

import (
	"slices"
	"strings"
	"testing"
)

// goneAtOnce is a story in which the clocks of the nodes jump ahead, and the keys of both leases are gone: those of the second as
// soon as they are set, because they have deadlines.
const goneAtOnce = `
		nodes 3
		0    c1 invoke acquire
		0.1  n1 set c1#1
		0.1  n2 set c1#1
		0.2  c1 ok acquire c1#1 until=9.9
		3    n1 expire c1#1
		3    n2 expire c1#1
		4    c2 invoke acquire
		4.1  n1 set c2#1 until=14 wall=20
		4.1  n1 expire c2#1
		4.15 n2 set c2#1 until=14 wall=20
		4.15 n2 expire c2#1
		4.2  c2 ok acquire c2#1 until=13.9`

func TestLeaseExclusion(t *testing.T) {
	testProperty(t, LeaseExclusion, []verdictCase{
		{name: "one after the other", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.2  c1 ok acquire c1#1 until=9.9
			3    c1 invoke release c1#1
			3.1  n1 delete c1#1
			3.2  c1 ok release c1#1
			4    c2 invoke acquire
			4.1  n1 set c2#1
			4.2  c2 ok acquire c2#1 until=14`},
		{name: "nobody holds anything"},
		{name: "a lease that its lock grants with too few nodes, though a key of it is lost", story: `
			nodes 3
			0    c2 invoke acquire
			0.1  n1 set c2#1
			0.2  n1 fault crash
			0.2  n1 lose c2#1
			0.25 c1 invoke acquire
			0.3  n1 set c1#1
			0.3  n2 set c1#1
			0.4  c1 ok acquire c1#1 until=9.9
			0.5  c2 ok acquire c2#1 until=9.9`,
			want: []string{"c2 held c2#1 from 0.500s to 9.900s, while c1 held c1#1 from 0.400s to 9.900s [none]"}},
		{name: "an end that is not told, but asked for, and later than a TTL away", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.2  c1 ok acquire c1#1 until=never
			4    c1 invoke extend c1#1 ttl=20
			4.1  n1 retime c1#1 until=14.1
			4.2  c1 ok extend c1#1 ttl=20 until=never
			14.1 n1 expire c1#1
			15   c2 invoke acquire
			15.1 n1 set c2#1
			15.2 c2 ok acquire c2#1 until=24.9`,
			want: []string{"c2 held c2#1 from 15.200s to 24.900s, while c1 held c1#1 from 0.200s to 24.200s [none]"}},
		{name: "an end that is not told, but asked for, and sooner than a TTL away", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.2  c1 ok acquire c1#1 until=never
			1    c1 invoke extend c1#1 ttl=3
			1.1  n1 retime c1#1 until=4.1
			1.2  c1 ok extend c1#1 ttl=3 until=never
			4.1  n1 expire c1#1
			5    c2 invoke acquire
			5.1  n1 set c2#1
			5.2  c2 ok acquire c2#1 until=14.9`},
		{name: "a refusal is no hold", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.2  c1 ok acquire c1#1 until=9.9
			0.2  c2 invoke acquire
			0.3  c2 fail acquire`},
		{name: "an unknown outcome is no hold", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.2  c1 info acquire
			0.3  n1 delete c1#1
			0.3  c2 invoke acquire
			0.4  n1 set c2#1
			0.5  c2 ok acquire c2#1 until=9`},
		{name: "touching at the end of the lease", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.2  c1 ok acquire c1#1 until=9
			1    c2 invoke acquire
			9    c2 ok acquire c2#1 until=14`},
		{name: "a nanosecond before the end of the lease", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.2  c1 ok acquire c1#1 until=9.000000001
			1    c2 invoke acquire
			9    c2 ok acquire c2#1 until=14`,
			want: []string{"c2 held c2#1 from 9.000s to 14.000s, while c1 held c1#1 from 0.200s to 9.000s [none]"}},
		{name: "touching at the release", story: `
			0    c1 invoke acquire
			0.2  c1 ok acquire c1#1 until=9
			1    c2 invoke acquire
			3    c1 invoke release c1#1
			3    c2 ok acquire c2#1 until=14`},
		{name: "touching at the release, recorded the other way round", story: `
			0    c1 invoke acquire
			0.2  c1 ok acquire c1#1 until=9
			1    c2 invoke acquire
			3    c2 ok acquire c2#1 until=14
			3    c1 invoke release c1#1`},
		{name: "a hold ends where release is invoked, not where it returns", story: `
			0    c1 invoke acquire
			0.2  c1 ok acquire c1#1 until=9
			1    c2 invoke acquire
			3    c1 invoke release c1#1
			4    c2 ok acquire c2#1 until=14
			5    c1 ok release c1#1`},
		{name: "the release of another lease ends nothing", story: `
			0    c1 invoke acquire
			0.2  c1 ok acquire c1#1 until=9
			1    c2 invoke acquire
			3    c1 invoke release c1#0
			4    c2 ok acquire c2#1 until=14`,
			want: []string{"c2 held c2#1 from 4.000s to 14.000s, while c1 held c1#1 from 0.200s to 9.000s [none]"}},
		{name: "the holder crashed", story: `
			0    c1 invoke acquire
			0.2  c1 ok acquire c1#1 until=9
			1    c2 invoke acquire
			3    c1 fault crash
			3    c2 ok acquire c2#1 until=14`},
		{name: "another client crashed", story: `
			0    c1 invoke acquire
			0.2  c1 ok acquire c1#1 until=9
			1    c2 invoke acquire
			3    c3 fault crash
			3    c2 ok acquire c2#1 until=14`,
			want: []string{"c2 held c2#1 from 3.000s to 14.000s, while c1 held c1#1 from 0.200s to 9.000s [none]"}},
		{name: "the holder exited", story: `
			0    c1 invoke acquire
			0.2  c1 ok acquire c1#1 until=9
			1    c2 invoke acquire
			3    c1 info exit
			3    c2 ok acquire c2#1 until=14`},
		{name: "two locks", story: `
			0    c1 invoke acquire lock=a
			0.2  c1 ok acquire c1#1 until=9 lock=a
			1    c2 invoke acquire lock=b
			3    c2 ok acquire c2#1 until=14 lock=b`},
		{name: "two leases of one client", story: `
			0    c1 invoke acquire
			0.2  c1 ok acquire c1#1 until=9
			1    c1 invoke acquire
			3    c1 ok acquire c1#2 until=14`},
		{name: "two leases of one client hide nothing", story: `
			0    c2 invoke acquire
			0.1  c2 ok acquire c2#1 until=8
			0.1  c2 invoke release c2#1
			0.2  c1 invoke acquire
			0.3  c1 ok acquire c1#1 until=9
			1    c2 invoke acquire
			2    c2 ok acquire c2#2 until=20
			3    c2 invoke acquire
			4    c2 ok acquire c2#3 until=21`,
			want: []string{
				"c2 held c2#2 from 2.000s to 20.000s, while c1 held c1#1 from 0.300s to 9.000s [none]",
				"c2 held c2#3 from 4.000s to 21.000s, while c1 held c1#1 from 0.300s to 9.000s [none]",
			}},
		{name: "a shorter lease of the same client ends nothing", story: `
			0    c1 invoke acquire
			0.2  c1 ok acquire c1#1 until=9
			1    c1 invoke acquire
			1.2  c1 ok acquire c1#2 until=3
			4    c2 invoke acquire
			5    c2 ok acquire c2#1 until=14`,
			want: []string{"c2 held c2#1 from 5.000s to 14.000s, while c1 held c1#1 from 0.200s to 9.000s [none]"}},
		{name: "three at once", story: `
			0    c1 invoke acquire
			0    c2 invoke acquire
			0    c3 invoke acquire
			1    c1 ok acquire c1#1 until=9
			1    c2 ok acquire c2#1 until=5
			6    c3 ok acquire c3#1 until=20`,
			want: []string{
				"c2 held c2#1 from 1.000s to 5.000s, while c1 held c1#1 from 1.000s to 9.000s [none]",
				"c3 held c3#1 from 6.000s to 20.000s, while c1 held c1#1 from 1.000s to 9.000s [none]",
			}},
		{name: "a lease that is over on return is not held", story: `
			0    c1 invoke acquire
			0.2  c1 ok acquire c1#1 until=9
			1    c2 invoke acquire
			3    c2 ok acquire c2#1 until=3`},
		{name: "without an end a lease is trusted for its TTL", story: `
			0    c1 invoke acquire
			1    c1 ok acquire c1#1 until=never
			2    c2 invoke acquire
			11   c2 ok acquire c2#1 until=20`},
		{name: "without an end a lease is trusted for all of its TTL", story: `
			0    c1 invoke acquire
			1    c1 ok acquire c1#1 until=never
			2    c2 invoke acquire
			10.9 c2 ok acquire c2#1 until=20`,
			want: []string{"c2 held c2#1 from 10.900s to 20.000s, while c1 held c1#1 from 1.000s to 11.000s [none]"}},
		{name: "without an end, and keys without one, a lease is trusted until it is given up", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=never
			1    c1 ok acquire c1#1 until=never
			13   n1 fault restart
			13   n1 lose c1#1
			14   c2 invoke acquire
			14.1 n1 set c2#1 until=never
			14.2 c2 ok acquire c2#1 until=never
			16   c2 invoke release c2#1
			18   c1 invoke release c1#1`,
			want: []string{"c2 held c2#1 from 14.200s to 16.000s, while c1 held c1#1 from 1.000s to 18.000s [durable nodes]"}},
		{name: "until it is given up, and no longer", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=never
			1    c1 ok acquire c1#1 until=never
			13   n1 lose c1#1
			14   c1 invoke release c1#1
			14   c2 invoke acquire
			14.1 n1 set c2#1 until=never
			14.2 c2 ok acquire c2#1 until=never`},
		{name: "one that gives its keys an end once it has the lease is trusted for that", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=never
			0.2  n1 retime c1#1 until=10.2
			1    c1 ok acquire c1#1 until=never
			10.2 n1 expire c1#1
			12   c2 invoke acquire
			12.1 n1 set c2#1 until=never
			12.2 c2 ok acquire c2#1 until=never`},
		{name: "on a minority a key without an end is no lease without one", story: `
			nodes 3
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=never
			0.1  n2 set c1#1
			1    c1 ok acquire c1#1 until=never
			2    c2 invoke acquire
			11   c2 ok acquire c2#1 until=20`},
		{name: "without a TTL it is trusted for ever", story: `
			ttl 0
			0    c1 invoke acquire
			1    c1 ok acquire c1#1 until=never
			2    c2 invoke acquire
			9999 c2 ok acquire c2#1 until=never`,
			want: []string{"c2 held c2#1 from 9999.000s without end, while c1 held c1#1 from 1.000s without end [none]"}},
	})
}

// The clock of the holder decides when its hold ends. It may run at another rate than true time.
func TestLeaseExclusionByTheClockOfTheHolder(t *testing.T) {
	testProperty(t, LeaseExclusion, []verdictCase{
		{name: "a slow clock prolongs the hold", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			1    c1 ok acquire c1#1 until=9
			1    c1 fault drift ppm=-500000 id=1
			2    c1 bite id=1
			10.1 n1 expire c1#1
			11   c2 invoke acquire
			11.1 n1 set c2#1
			12   c2 ok acquire c2#1 until=20`,
			want: []string{"c2 held c2#1 from 12.000s to 20.000s, while c1 held c1#1 from 1.000s to 17.000s [bounded clock error]"}},
		{name: "a slow clock that the lock did not read: its lease had ended by the time that it went by", story: `
			0    c1 fault drift ppm=-500000 id=1
			2    c1 invoke acquire clock=1
			2.1  n1 set c1#1
			2.2  c1 ok acquire c1#1 until=12 clock=1.1
			12.1 n1 expire c1#1
			12.2 c2 invoke acquire
			12.3 n1 set c2#1
			12.4 c2 ok acquire c2#1 until=22`,
			want: []string{"c2 held c2#1 from 12.400s to 22.000s, while c1 held c1#1 from 2.200s to 24.000s [bounded clock error]"}},
		{name: "a slow clock that the lock did not read, and a lease that is too long even so", story: `
			0    c1 fault drift ppm=-500000 id=1
			2    c1 invoke acquire clock=1
			2.1  n1 set c1#1
			2.2  c1 ok acquire c1#1 until=13 clock=1.1
			12.1 n1 expire c1#1
			12.2 c2 invoke acquire
			12.3 n1 set c2#1
			12.4 c2 ok acquire c2#1 until=22`,
			want: []string{"c2 held c2#1 from 12.400s to 22.000s, while c1 held c1#1 from 2.200s to 26.000s [none]"}},
		{name: "a slow clock prolongs it to the nanosecond", story: `
			0    c1 invoke acquire
			1    c1 ok acquire c1#1 until=9
			1    c1 fault drift ppm=-500000
			2    c2 invoke acquire
			17   c2 ok acquire c2#1 until=20`},
		{name: "a lease without an end is trusted for a TTL by the slow clock of its holder", story: `
			0    c1 fault drift ppm=-500000 id=1
			0    c1 invoke acquire
			0.1  n1 set c1#1
			1    c1 ok acquire c1#1 until=never clock=0.5
			1    c1 bite id=1
			10.1 n1 expire c1#1
			11   c2 invoke acquire
			11.1 n1 set c2#1
			12   c2 ok acquire c2#1 until=20`,
			want: []string{"c2 held c2#1 from 12.000s to 20.000s, while c1 held c1#1 from 1.000s to 21.000s [bounded clock error]"}},
		{name: "and by a fast one", story: `
			0    c1 fault drift ppm=1000000 id=1
			0    c1 invoke acquire
			0.1  n1 set c1#1
			1    c1 ok acquire c1#1 until=never clock=2
			5    c2 invoke acquire
			6    c2 ok acquire c2#1 until=20`},
		{name: "a fast clock shortens it", story: `
			0    c1 invoke acquire
			1    c1 ok acquire c1#1 until=9
			1    c1 fault drift ppm=1000000
			2    c2 invoke acquire
			5    c2 ok acquire c2#1 until=20`},
		{name: "a fast clock does not shorten it enough", story: `
			0    c1 invoke acquire
			1    c1 ok acquire c1#1 until=9
			1    c1 fault drift ppm=1000000
			2    c2 invoke acquire
			4.999999999 c2 ok acquire c2#1 until=20`,
			want: []string{"c2 held c2#1 from 4.999s to 20.000s, while c1 held c1#1 from 1.000s to 5.000s [none]"}},
		{name: "a clock that is corrected meanwhile", story: `
			0    c1 fault drift ppm=-500000
			2    c1 invoke acquire clock=1
			2    c1 ok acquire c1#1 until=9 clock=1
			6    c1 fault drift ppm=0 clock=3
			7    c2 invoke acquire
			12   c2 ok acquire c2#1 until=20`},
		{name: "a clock that is corrected too late", story: `
			0    c1 fault drift ppm=-500000
			2    c1 invoke acquire clock=1
			2.1  n1 set c1#1
			2.2  c1 ok acquire c1#1 until=9 clock=1.1
			6    c1 fault drift ppm=0 clock=3
			7    c2 invoke acquire
			11.9 n1 expire c1#1
			11.9 n1 set c2#1
			11.9 c2 ok acquire c2#1 until=20`,
			want: []string{"c2 held c2#1 from 11.900s to 20.000s, while c1 held c1#1 from 2.200s to 12.000s [bounded clock error]"}},
		{name: "a clock that was wrong when the lease was asked for, and is corrected too late", story: `
			0    c1 fault drift ppm=-500000
			2    c1 invoke acquire clock=1
			2.1  n1 set c1#1
			2.2  c1 ok acquire c1#1 until=11 clock=1.1
			6    c1 fault drift ppm=0 clock=3
			12.1 n1 expire c1#1
			12.2 c2 invoke acquire
			12.3 n1 set c2#1
			12.4 c2 ok acquire c2#1 until=22`,
			want: []string{"c2 held c2#1 from 12.400s to 22.000s, while c1 held c1#1 from 2.200s to 14.000s [bounded clock error]"}},
		{name: "the drift of another client", story: `
			0    c2 fault drift ppm=-500000
			1    c1 invoke acquire
			1.1  n1 set c1#1
			1.2  c1 ok acquire c1#1 until=9
			7    c2 invoke acquire clock=3.5
			7.1  n1 delete c1#1 by=c2
			7.1  n1 set c2#1
			8    c2 ok acquire c2#1 until=20 clock=4`,
			want: []string{"c2 held c2#1 from 8.000s to 40.000s, while c1 held c1#1 from 1.200s to 9.000s [none]"}},
		{name: "a clock may be ahead of true time", story: `
			0    c1 invoke acquire clock=100
			1    c1 ok acquire c1#1 until=109 clock=101
			2    c2 invoke acquire
			9    c2 ok acquire c2#1 until=20`},
	})
}

// The checker derives the broken assumption from how the keys of the first lease vanished from the nodes where the second has its
// own.
func TestLeaseExclusionBlame(t *testing.T) {
	const jump = "c2 held c2#1 from 4.200s to 13.900s, while c1 held c1#1 from 0.200s to 9.900s"
	const extended = "c2 held c2#1 from 4.200s to 13.900s, while c1 held c1#1 from 0.200s to 11.000s"
	blame := func(name, story, assumption string) verdictCase {
		return verdictCase{name: name, story: story, want: []string{jump + " [" + assumption + "]"}}
	}
	const c1 = `
		nodes 5
		0    c1 invoke acquire
		0.1  n1 set c1#1
		0.1  n2 set c1#1
		0.1  n3 set c1#1
		0.2  c1 ok acquire c1#1 until=9.9
	`
	const c2 = `
		4    c2 invoke acquire
		4.1  n3 set c2#1
		4.1  n4 set c2#1
		4.1  n5 set c2#1
		4.2  c2 ok acquire c2#1 until=13.9
	`
	const (
		four = `
		4    c2 invoke acquire
		4.1  n1 set c2#1
		4.1  n3 set c2#1
		4.1  n4 set c2#1
		4.1  n5 set c2#1
		4.2  c2 ok acquire c2#1 until=13.9
	`
		five = `
		4    c2 invoke acquire
		4.1  n1 set c2#1
		4.1  n2 set c2#1
		4.1  n3 set c2#1
		4.1  n4 set c2#1
		4.2  c2 ok acquire c2#1 until=13.9
	`
	)
	expiring := strings.Replace(c2, "4.1  n3 set", "4.1 n3 expire c1#1\n4.1 n3 set", 1)
	fewOf := func(then string) string {
		return `
		nodes 5
		0    c1 invoke acquire
		0.1  n3 set c1#1 until=2.6
		0.2  c1 ok acquire c1#1 until=9.9
		` + then
	}
	promised := func(until string) string {
		return strings.Replace(c1, "n3 set c1#1", "n3 set c1#1 until="+until, 1)
	}
	// fleeting returns a story in which the three keys of the first lease are gone as soon as they are set.
	fleeting := func(n1, n2, n3 string) string {
		gone := strings.NewReplacer("N1", n1, "N2", n2, "N3", n3)
		return gone.Replace(`
		nodes 5
		0    c1 invoke acquire
		0.1  n1 set c1#1
		0.1  n1 N1 c1#1 by=c2
		0.1  n2 set c1#1
		0.1  n2 N2 c1#1 by=c2
		0.1  n3 set c1#1
		0.1  n3 N3 c1#1 by=c2
		0.2  c1 ok acquire c1#1 until=9.9
	`)
	}
	dated := strings.ReplaceAll(fleeting("expire", "expire", "expire"), "set c1#1", "set c1#1 until=-2")
	const (
		flicker = `
		4    c2 invoke acquire
		4.1  n3 set c2#1
		4.1  n3 expire c2#1
		4.1  n4 set c2#1
		4.1  n5 set c2#1
		4.2  c2 ok acquire c2#1 until=13.9
	`
		early = `
		nodes 3
		0    c1 invoke acquire
		1    n1 set c1#1
		1    n1 expire c1#1
		1    n2 set c1#1
		1    n2 expire c1#1
		1    n3 set c1#1
		2    c2 invoke acquire
		2.1  n1 set c2#1
		2.1  n2 set c2#1
		2.2  c2 ok acquire c2#1 until=11
		3    c1 ok acquire c1#1 until=9
	`
		late = "c1 held c1#1 from 3.000s to 9.000s, while c2 held c2#1 from 2.200s to 11.000s "
	)
	testProperty(t, LeaseExclusion, []verdictCase{
		blame("a node restarted empty", c1+"3 n3 lose c1#1"+c2, "durable nodes"),
		blame("the clock of a node jumped", c1+"3 n3 expire c1#1"+c2, "bounded clock error"),
		blame("loss outranks expiry", c1+"3 n3 lose c1#1\n3 n2 expire c1#1"+c2, "durable nodes"),
		blame("a node that the second did not use lost its key", c1+"3 n1 lose c1#1\n3 n3 delete c1#1 by=c2"+c2, "none"),
		blame("another client deleted it", c1+"3 n3 delete c1#1 by=c2"+c2, "none"),
		blame("the lock set its keys too short", "ttl 2.9\n"+c1+"3 n3 expire c1#1"+c2, "none"),
		blame("an expiry within rounding", "ttl 4.001\n"+c1+expiring, "none"),
		blame("an expiry beyond rounding", "ttl 4.002\n"+c1+expiring, "bounded clock error"),
		blame("a key counts from its last deadline", "ttl 3.5\n"+c1+"1 n3 retime c1#1\n3.7 n3 expire c1#1"+c2, "bounded clock error"),
		blame("the lock gave its keys less", promised("2.6")+"2.6 n3 expire c1#1"+c2, "none"),
		blame("the lock gave its keys less, and they lived for less yet", promised("4.5")+"3 n3 expire c1#1"+c2, "bounded clock error"),
		blame("the lock gave its keys more", promised("14")+"3.999 n3 expire c1#1"+c2, "bounded clock error"),
		blame("a deadline by the clock of a node that is ahead", promised("105 wall=100")+"3.999 n3 expire c1#1"+c2, "bounded clock error"),
		blame("a deadline by the clock of a node that is ahead, kept", promised("102.6 wall=100")+"2.6 n3 expire c1#1"+c2, "none"),
		blame("the last command gave it less", c1+"1 n3 retime c1#1 until=2\n2 n3 expire c1#1"+c2, "none"),
		blame("the last command gave it none", c1+"1 n3 retime c1#1 until=never\n2 n3 expire c1#1"+c2, "none"),
		blame("a key without a deadline was lost", promised("never")+"3 n3 lose c1#1"+c2, "durable nodes"),
		blame("a key was lost that would have expired before", promised("2.6")+"2 n3 lose c1#1"+c2, "none"),
		blame("a key expired early that would have expired before", promised("3.6")+"2 n3 expire c1#1"+c2, "none"),
		blame("a minority whose key had ended, and a clock", "0 c1 fault drift ppm=-1\n"+fewOf("2.6 n3 expire c1#1")+c2, "none"),
		blame("a minority whose key had ended", fewOf("2.6 n3 expire c1#1")+c2, "none"),
		blame("a minority whose key was lost, and a clock", "0 c1 fault drift ppm=-1\n"+fewOf("2 n3 lose c1#1")+c2, "none"),
		blame("a minority whose key was lost, and another key that came when it had returned", `
			nodes 5
			0    c1 invoke acquire
			0.1  n2 set c1#1
			0.1  n3 set c1#1
			0.2  c1 ok acquire c1#1 until=9.9
			0.3  n2 expire c1#1
			0.4  n1 set c1#1
			3    n3 lose c1#1`+c2, "none"),
		blame("a minority whose key lived on, and a clock", "0 c1 fault drift ppm=-1\n"+fewOf("")+strings.Replace(c2, "4.1  n3", "4.1 n2", 1), "none"),
		blame("a minority took the place of a majority that lived on, and a clock", "0 c1 fault drift ppm=-1\n"+c1+`
			4    c2 invoke acquire
			4.1  n4 set c2#1
			4.1  n5 set c2#1
			4.2  c2 ok acquire c2#1 until=13.9`, "none"),
		blame("the second never had a majority", c1+"3 n3 lose c1#1"+`
			4    c2 invoke acquire
			4.1  n3 set c2#1
			4.1  n4 set c2#1
			4.2  c2 ok acquire c2#1 until=13.9`, "none"),
		blame("the second has a majority without it", c1+"3 n3 lose c1#1\n3 n1 delete c1#1 by=c2"+four, "none"),
		blame("the second has no majority without both of them", c1+"3 n3 lose c1#1\n3 n1 lose c1#1"+four, "durable nodes"),
		blame("the loss does not matter, the expiries do", c1+`
			3    n3 lose c1#1
			3    n1 expire c1#1
			3    n2 expire c1#1`+five, "bounded clock error"),
		blame("the expiry does not matter, the losses do", c1+`
			3    n3 expire c1#1
			3    n1 lose c1#1
			3    n2 lose c1#1`+five, "durable nodes"),
		blame("either alone would do, and one is needed", c1+"3 n3 lose c1#1\n3 n1 expire c1#1"+four, "durable nodes"),
		blame("the loss does not matter, nor the clock of the holder", "0 c1 fault drift ppm=-1\n"+c1+`
			3    n3 lose c1#1
			3    n1 expire c1#1 key=other
			3    n1 delete c1#1 by=c2`+four, "none"),
		blame("a key that nobody removed", c1+c2, "none"),
		blame("a loss that came after", c1+"3 n3 delete c1#1"+c2+"5 n1 lose c1#1\n5 n3 lose c2#1", "none"),
		blame("a loss that came after the hold", c1+"3 n3 delete c1#1 by=c2"+c2+"11 n1 lose c1#1\n12 n1 set c2#1", "none"),
		blame("a loss of what was set anew", c1+"3 n3 delete c1#1 by=c2"+c2+"5 n3 delete c2#1\n6 n3 set c1#1\n7 n3 lose c1#1", "none"),
		blame("a loss of another key", c1+"1 n3 set c1#1 key=other\n3 n3 delete c1#1 by=c2\n3 n3 lose c1#1 key=other"+c2, "none"),
		blame("a correction of a clock that was right", c1+"2 c1 fault drift ppm=0\n3 n3 delete c1#1 by=c2"+c2, "none"),
		blame("a majority that was none", `
			nodes 5
			0    c1 invoke acquire
			0.1  n3 set c1#1
			0.2  c1 ok acquire c1#1 until=9.9
			3    n3 lose c1#1`+c2, "none"),
		blame("the keys on a replica do not count", `
			nodes 5
			0    c1 invoke acquire
			0.1  n3 set c1#1
			0.1  n8 set c1#1
			0.1  n9 set c1#1
			0.2  c1 ok acquire c1#1 until=9.9
			3    n3 lose c1#1`+c2, "none"),
		blame("keys that expired at once, so that no majority stood at one instant", fleeting("expire", "expire", "expire")+c2, "bounded clock error"),
		blame("keys that were lost at once", fleeting("lose", "lose", "lose")+c2, "durable nodes"),
		blame("of which the one that mattered was lost", fleeting("expire", "expire", "lose")+c2, "durable nodes"),
		blame("of which one was deleted, so that they are no majority", fleeting("expire", "delete", "expire")+c2, "none"),
		blame("of which the lock gave one less", strings.Replace(fleeting("expire", "expire", "expire"), "n1 set c1#1", "n1 set c1#1 until=0.15", 1)+c2, "none"),
		blame("keys with deadlines by the clock of a client that is behind", strings.Replace(dated, "until=9.9", "until=9.9 wall=-12", 1)+c2, "bounded clock error"),
		blame("keys with deadlines in the past, by a right clock", dated+c2, "none"),
		blame("keys with deadlines in the past, by more than the clock of the client is behind", strings.Replace(dated, "until=9.9", "until=9.9 wall=-3", 1)+c2, "none"),
		blame("of which the lock gave the one that mattered less than it took", strings.Replace(fleeting("expire", "expire", "expire"), "n3 set c1#1", "n3 set c1#1 until=3", 1)+c2, "none"),
		blame("the second has no majority at one instant, and needs a key that was lost", c1+"3 n3 lose c1#1"+flicker, "durable nodes"),
		blame("and needs none", c1+"3 n3 delete c1#1 by=c2"+flicker, "none"),
		blame("the second has keys that were gone at once, since the clocks of the nodes had jumped", goneAtOnce, "bounded clock error"),
		blame("the same, but the lock itself set too short a TTL for the key that mattered", strings.Replace(goneAtOnce, "n2 set c2#1 until=14 wall=20", "n2 set c2#1 until=4.1", 1), "none"),
		blame("the same, but the first client had deleted its keys", strings.ReplaceAll(goneAtOnce, "expire c1#1", "delete c1#1 by=c1"), "none"),
		{name: "the first to be granted had its keys where those of the second had expired at once", story: early, want: []string{late + "[bounded clock error]"}},
		{name: "where the second itself had deleted them", story: strings.ReplaceAll(early, "expire c1#1", "delete c1#1 by=c1"), want: []string{late + "[none]"}},
		{name: "where another had deleted them", story: strings.ReplaceAll(early, "expire c1#1", "delete c1#1 by=c2"), want: []string{late + "[none]"}},
		{name: "where another had deleted one, and one had expired", story: strings.Replace(early, "1    n2 expire c1#1", "1    n2 delete c1#1 by=c2", 1), want: []string{late + "[bounded clock error]"}},
		blame("the wall clock of the holder jumped while it held", c1+"2 c1 fault jump\n3 n3 delete c1#1 by=c2"+c2, "none"),
		blame("it jumped ahead by more than a TTL", c1+"2 c1 fault jump jump_c1_+12s\n3 n3 delete c1#1 by=c2"+c2, "none"),
		blame("it jumped back by more than a TTL", c1+"2 c1 fault jump jump_c1_-12s\n3 n3 delete c1#1 by=c2"+c2, "none"),
		blame("the wall clock of the holder had jumped before", "0 c1 fault jump\n"+c1+"3 n3 delete c1#1 by=c2"+c2, "none"),
		blame("the wall clock of the holder jumped afterwards", c1+"3 n3 delete c1#1 by=c2"+c2+"20 c1 fault jump", "none"),
		blame("a drift that was over before", `
			0    c1 fault drift ppm=5
			0    c1 fault drift ppm=0`+c1+"3 n3 delete c1#1 by=c2"+c2, "none"),
		{name: "a lock stopped renewing, long after a drift of the clock ended", story: `
			0    c1 fault drift ppm=5
			0    c1 fault drift ppm=0
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never renews
			10.1 n1 expire c1#1
			12   c2 invoke acquire
			12.1 n1 set c2#1 until=22.1
			12.2 c2 ok acquire c2#1 until=22
			13   c1 info exit
			23   c2 info exit`,
			want: []string{"c2 held c2#1 from 12.200s to 22.000s, while c1 held c1#1 from 0.200s to 13.000s [none]"}},
		{name: "an extension sent a deadline that had passed by the clock of the node, since that of the client was behind", story: `
			0    c1 fault jump jump_c1_-20s
			0    c1 invoke acquire wall=-20
			0.1  n1 set c1#1
			0.2  c1 ok acquire c1#1 until=9.9 wall=-20
			1    c1 invoke extend c1#1 wall=-20
			1.1  n1 delete c1#1 by=c1 sent=1
			1.2  c1 ok extend c1#1 until=11 wall=-20
			4    c2 invoke acquire
			4.1  n1 set c2#1
			4.2  c2 ok acquire c2#1 until=13.9`,
			want: []string{extended + " [bounded clock error]"}},
		{name: "an extension deleted the key, and the clock of the client explains only half of it", story: `
			0    c1 fault jump jump_c1_-5s
			0    c1 invoke acquire wall=-5
			0.1  n1 set c1#1
			0.2  c1 ok acquire c1#1 until=9.9 wall=-5
			1    c1 invoke extend c1#1 wall=-5
			1.1  n1 delete c1#1 by=c1 sent=1
			1.2  c1 ok extend c1#1 until=11 wall=-5
			4    c2 invoke acquire
			4.1  n1 set c2#1
			4.2  c2 ok acquire c2#1 until=13.9`,
			want: []string{extended + " [none]"}},
		{name: "the first grant is the one whose reply was late", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			3    n1 lose c1#1
			4    c2 invoke acquire
			4.1  n1 set c2#1
			4.2  c2 ok acquire c2#1 until=13.9
			5    c1 ok acquire c1#1 until=9.9`,
			want: []string{"c1 held c1#1 from 5.000s to 9.900s, while c2 held c2#1 from 4.200s to 13.900s [durable nodes]"}},
		{name: "no overlap, no blame", story: c1 + "3 n3 lose c1#1\n3.5 c1 invoke release c1#1" + c2},
		{name: "no overlap after a jump", story: c1 + "3 n3 expire c1#1\n3.5 c1 fault crash" + c2},
		{name: "no overlap after a drift", story: c1 + "3 c1 fault drift ppm=-900000\n3.5 c1 info exit clock=3.05" + c2},
		{name: "nobody came", story: c1 + "3 n3 lose c1#1"},
	})
}

// A node forgets an extension, and not the key: a promoted replica never received it, or the primary had not yet synchronized it to its disk.
func TestLeaseExclusionExtensionForgotten(t *testing.T) {
	const (
		extended = "5 c1 invoke extend c1#1\n5.1 n1 retime c1#1 until=15.1 by=c1\n5.2 c1 ok extend c1#1 until=15\n"
		c1       = "replica r1\n0 c1 invoke acquire\n0.1 n1 set c1#1 until=10.1\n0.1 r1 set c1#1 by=n1 until=10.1\n0.2 c1 ok acquire c1#1 until=10\n"
		dated    = "replica r1\n0 c1 invoke acquire\n0.1 n1 set c1#1 until=never\n0.1 r1 set c1#1 by=n1 until=never\n0.2 c1 ok acquire c1#1 until=10\n"
		told     = "5 c1 invoke extend c1#1\n5.2 c1 ok extend c1#1 until=15\n" // the end is in the value
		overlap  = "c2 held c2#1 from 11.200s to 21.000s, while c1 held c1#1 from 0.200s to 15.000s"
	)
	c2 := func(server, op string) string {
		return "11 c2 invoke acquire\n11.1 " + server + " " + op + " until=21.1 by=c2\n11.2 c2 ok acquire c2#1 until=21"
	}
	stories := []verdictCase{
		{name: "the replica", story: c1 + extended + "6 r1 promote\n10.1 r1 expire c1#1\n" + c2("r1", "set c2#1"), want: []string{overlap + " [durable nodes]"}},
		{name: "the replica, and the primary had not extended it either", story: c1 + told + "6 r1 promote\n10.1 r1 expire c1#1\n" + c2("r1", "set c2#1"), want: []string{overlap + " [none]"}},
		{name: "the disk", story: c1 + extended + "6 n1 retime c1#1 until=10.1 by=nobody\n10.1 n1 expire c1#1\n" + c2("n1", "set c2#1"), want: []string{overlap + " [durable nodes]"}},
		{name: "a client", story: c1 + extended + "6 n1 retime c1#1 until=10.1 by=c3\n10.1 n1 expire c1#1\n" + c2("n1", "set c2#1"), want: []string{overlap + " [none]"}},
		{name: "a date in the value", story: dated + "4 n1-r1 fault cut cut_n1-r1\n" + told + "6 r1 promote\n" + c2("r1", "over c2#1 was=c1#1"), want: []string{overlap + " [durable nodes]"}},
		{name: "a date in the value, and the link worked", story: dated + told + "6 r1 promote\n" + c2("r1", "over c2#1 was=c1#1"), want: []string{overlap + " [none]"}},
		{name: "a date in the value, and the primary lives", story: dated + "4 n1-r1 fault cut cut_n1-r1\n" + told + c2("n1", "over c2#1 was=c1#1"), want: []string{overlap + " [none]"}},
		{name: "the disk, and then a client", story: c1 + extended + "6 n1 retime c1#1 until=10.1 by=nobody\n7 n1 retime c1#1 until=10.5 by=c3\n10.5 n1 expire c1#1\n" + c2("n1", "set c2#1"), want: []string{overlap + " [none]"}},
	}
	good := slices.Clone(stories)
	for i := range good {
		good[i].name += ", and c1 has gone"
		good[i].story = strings.Replace(good[i].story, "11 c2", "10.5 c1 info exit\n11 c2", 1)
		good[i].want = nil
	}
	forgot := c1 + strings.Replace(extended, "c1#1 until=15\n", "c1#1 until=20\n", 1)
	late := strings.NewReplacer("11", "16", "21", "26").Replace
	none := []string{"c2 held c2#1 from 16.200s to 26.000s, while c1 held c1#1 from 0.200s to 20.000s [none]"}
	others := []verdictCase{
		{name: "the replica, but the key would have ended anyway", story: forgot + "6 r1 promote\n10.1 r1 expire c1#1\n" + late(c2("r1", "set c2#1")), want: none},
		{name: "the disk, but the key would have ended anyway", story: forgot + "6 n1 retime c1#1 until=10.1 by=nobody\n10.1 n1 expire c1#1\n" + late(c2("n1", "set c2#1")), want: none},
		{name: "the disk, by less than deadlines are rounded", story: forgot + "6 n1 retime c1#1 until=15.0991 by=nobody\n15 c2 invoke acquire\n15.0991 n1 expire c1#1\n15.0995 n1 set c2#1 until=25.1\n15.2 c2 ok acquire c2#1 until=25",
			want: []string{"c2 held c2#1 from 15.200s to 25.000s, while c1 held c1#1 from 0.200s to 20.000s [none]"}},
		{name: "the replica, but its copy had an end", story: c1 + "4 n1-r1 fault cut cut_n1-r1\n" + extended + "6 r1 promote\n8 c2 invoke acquire\n8.1 r1 over c2#1 was=c1#1 until=18.1 by=c2\n8.2 c2 ok acquire c2#1 until=18",
			want: []string{"c2 held c2#1 from 8.200s to 18.000s, while c1 held c1#1 from 0.200s to 15.000s [none]"}},
		{name: "a date in the value, and the copy came after the extension", story: strings.Replace(dated, "0.1 r1 set c1#1 by=n1 until=never\n", "", 1) + "4 n1-r1 fault cut cut_n1-r1\n" + told + "5.3 r1 set c1#1 by=n1 until=never\n6 r1 promote\n" + c2("r1", "over c2#1 was=c1#1"),
			want: []string{overlap + " [none]"}},
	}
	const (
		promoted = "6 r1 promote\n10.1 r1 expire c1#1\n"
		undated  = "replica r1\n0 c1 invoke acquire\n0.1 n1 set c1#1 until=10.1\n0.2 c1 ok acquire c1#1 until=10\n" // no copy yet
		soon     = "8 c2 invoke acquire\n8.1 r1 set c2#1 until=18.1\n8.2 c2 ok acquire c2#1 until=18"
	)
	taken := c2("r1", "set c2#1")
	others = append(others, []verdictCase{
		{name: "the replica, which the old primary follows", story: c1 + extended + "6 r1 promote\n7 n1 follow r1\n7.1 n1 retime c1#1 until=10.1 by=r1\n10.1 r1 expire c1#1\n10.1 n1 delete c1#1 by=r1\n" + taken,
			want: []string{overlap + " [durable nodes]"}},
		{name: "the replica never had the key, and the old primary follows it", story: undated + "6 r1 promote\n7 n1 follow r1\n7.1 n1 delete c1#1 by=r1\n" + soon,
			want: []string{"c2 held c2#1 from 8.200s to 18.000s, while c1 held c1#1 from 0.200s to 10.000s [durable nodes]"}},
		{name: "the replica never had the key, and a client removed it from the old primary", story: undated + "6 r1 promote\n7.1 n1 delete c1#1 by=c3\n" + soon,
			want: []string{"c2 held c2#1 from 8.200s to 18.000s, while c1 held c1#1 from 0.200s to 10.000s [none]"}},
		{name: "the old primary is extended", story: c1 + "4 r1 promote\n" + extended + "10.1 r1 expire c1#1\n" + taken, want: []string{overlap + " [durable nodes]"}},
		{name: "the replica, and the extension had set the key again", story: c1 + "5 c1 invoke extend c1#1\n5.1 n1 over c1#1 was=c1#1 until=15.1 by=c1\n5.2 c1 ok extend c1#1 until=15\n" + promoted + taken,
			want: []string{overlap + " [durable nodes]"}},
		{name: "the disk, and then the replica", story: undated + extended + "5.5 n1 retime c1#1 until=10.1 by=nobody\n5.6 r1 set c1#1 by=n1\n" + promoted + taken, want: []string{overlap + " [durable nodes]"}},
		{name: "the replica, and then a client", story: c1 + extended + "6 r1 promote\n7 r1 retime c1#1 until=10.5 by=c3\n10.5 r1 expire c1#1\n" + taken, want: []string{overlap + " [none]"}},
		{name: "the replica, and a client had shortened it again", story: c1 + extended + "5.5 n1 retime c1#1 until=10.1 by=c3\n" + promoted + taken, want: []string{overlap + " [none]"}},
		{name: "the replica, and a client had removed the key", story: "replica r2\n" + c1 + extended + "5.3 r2 set c1#1 by=n1\n5.5 n1 delete c1#1 by=c3\n" + promoted + taken, want: []string{overlap + " [none]"}},
		{name: "the replica, by less than deadlines are rounded", story: c1 + strings.Replace(extended, "15.1", "10.1005", 1) + "6 r1 promote\n10 c2 invoke acquire\n10.1 r1 expire c1#1\n10.1002 r1 set c2#1 until=20.1\n10.2 c2 ok acquire c2#1 until=20",
			want: []string{"c2 held c2#1 from 10.200s to 20.000s, while c1 held c1#1 from 0.200s to 15.000s [none]"}},
		{name: "the old primary is extended, but too late", story: c1 + told + promoted + "10.1 n1 expire c1#1\n" + taken + "\n12 n1 set c1#1 until=22", want: []string{overlap + " [none]"}},
		{name: "another key is extended", story: c1 + "0.3 n1 set c1#1 key=other until=10.1\n" + strings.Replace(extended, "until=15.1", "key=other until=15.1", 1) + promoted + taken, want: []string{overlap + " [none]"}},
		{name: "another replica is extended", story: "replica r2\n" + c1 + "0.2 r2 set c1#1 by=n1\n" + strings.Replace(extended, "n1", "r2", 1) + promoted + taken, want: []string{overlap + " [none]"}},
		{name: "one of three nodes is extended", story: "nodes 3\n0 c1 invoke acquire\n0.1 n1 set c1#1\n0.1 n2 set c1#1\n0.1 n3 set c1#1\n0.2 c1 ok acquire c1#1 until=10\n" + strings.Replace(extended, "n1", "n3", 1) +
			"10.1 n1 expire c1#1\n10.1 n2 expire c1#1\n11 c2 invoke acquire\n11.1 n1 set c2#1\n11.1 n2 set c2#1\n11.2 c2 ok acquire c2#1 until=21", want: []string{overlap + " [none]"}},
	}...)
	testProperty(t, LeaseExclusion, slices.Concat(stories, good, others))
	for i := range stories {
		stories[i].want = nil
	}
	stories[3].want = []string{"c3 re-timed the key of c1#1 on n1 at 6.000s [none]"}
	stories[5].want = []string{"c2 overwrote the key of c1#1 on r1 at 11.100s [none]"}
	stories[6].want = []string{"c2 overwrote the key of c1#1 on n1 at 11.100s [none]"}
	stories[7].want = []string{"c3 re-timed the key of c1#1 on n1 at 7.000s [none]"}
	stories = append(stories, verdictCase{name: "a date in the value, before the promotion", story: dated + "4 n1-r1 fault cut cut_n1-r1\n" + told + c2("n1", "over c2#1 was=c1#1") + "\n12 r1 promote",
		want: []string{"c2 overwrote the key of c1#1 on n1 at 11.100s [none]"}})
	testProperty(t, OwnerOnly, stories)
}

func TestLeaseExclusionFailover(t *testing.T) {
	const (
		c1 = `
			replica r1
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=10
		`
		c2 = `
			3.5  c2 invoke acquire
			4    r1 set c2#1 until=14
			4.1  c2 ok acquire c2#1 until=13
		`
		overlap = "c2 held c2#1 from 4.100s to 13.000s, while c1 held c1#1 from 0.200s to 10.000s"
	)
	testProperty(t, LeaseExclusion, []verdictCase{
		{name: "the replica never had the key", story: c1 + "3 r1 promote" + c2, want: []string{overlap + " [durable nodes]"}},
		{name: "nobody saw the promotion", story: c1 + c2, want: []string{overlap + " [durable nodes]"}},
		{name: "the primary lost the key and came back as a replica", story: c1 + "2 n1 lose c1#1\n3 r1 promote" + c2, want: []string{overlap + " [durable nodes]"}},
		{name: "the replica lost the key", story: c1 + "0.3 r1 set c1#1 by=n1 until=10.1\n2 r1 lose c1#1\n3 r1 promote" + c2, want: []string{overlap + " [durable nodes]"}},
		{name: "the clock of the replica was ahead", story: c1 + "0.3 r1 set c1#1 by=n1 until=10.1 wall=40\n3 r1 promote\n3 r1 expire c1#1 wall=40" + c2, want: []string{overlap + " [bounded clock error]"}},
		{name: "a client removed the copy, by the clock of a replica that was ahead", story: c1 + "0.3 r1 set c1#1 by=n1 until=10.1 wall=40\n3 r1 promote\n3 c2 invoke acquire\n3 r1 delete c1#1 by=c2 wall=40\n3 c2 fail acquire" + c2, want: []string{overlap + " [bounded clock error]"}},
		{name: "a client removed the copy", story: c1 + "0.3 r1 set c1#1 by=n1 until=10.1\n3 r1 promote\n3 r1 delete c1#1 by=c2" + c2, want: []string{overlap + " [none]"}},
		{name: "the clock of the primary jumped, and the replica followed", story: c1 + "0.3 r1 set c1#1 by=n1 until=10.1\n1 n1 expire c1#1 wall=40\n1.1 r1 delete c1#1 by=n1\n3 r1 promote" + c2, want: []string{overlap + " [bounded clock error]"}},
		{name: "the lock deleted the key of another", story: c1 + "0.3 r1 set c1#1 by=n1 until=10.1\n1 n1 delete c1#1 by=c3\n1.1 r1 delete c1#1 by=n1\n3 r1 promote" + c2, want: []string{overlap + " [none]"}},
		{name: "the lock deleted the key of another before there was a copy", story: c1 + "1 n1 delete c1#1 by=c3\n3 r1 promote" + c2, want: []string{overlap + " [none]"}},
		{name: "the old primary goes on", story: `
			replica r1
			1    r1 promote
			2    c1 invoke acquire
			2.1  r1 set c1#1
			2.2  c1 ok acquire c1#1 until=12
			3    c2 invoke acquire
			3.1  n1 set c2#1
			3.2  c2 ok acquire c2#1 until=13`,
			want: []string{"c2 held c2#1 from 3.200s to 13.000s, while c1 held c1#1 from 2.200s to 12.000s [durable nodes]"}},
		{name: "a key that the client did not count on any more", story: c1 + "3 c1 invoke release c1#1\n3 r1 promote" + c2},
		{name: "released in time", story: c1 + "1 c1 invoke release c1#1\n1.1 n1 delete c1#1\n1.2 c1 ok release c1#1\n3 r1 promote" + c2},
		{name: "over in time", story: c1 + "3 r1 promote\n11 c2 invoke acquire\n11.1 r1 set c2#1\n11.2 c2 ok acquire c2#1 until=21"},
		{name: "the key would have ended anyway, but not the lease, by a slow clock", story: `
			replica r1
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=10
			1    c1 fault drift ppm=-500000
			3    r1 promote
			11   c2 invoke acquire
			11.1 r1 set c2#1 until=21
			11.2 c2 ok acquire c2#1 until=21`,
			want: []string{"c2 held c2#1 from 11.200s to 21.000s, while c1 held c1#1 from 0.200s to 19.000s [bounded clock error]"}},
		{name: "a slow clock, but another client deleted the key before the extended lease would have ended by a right one", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=10
			1    c1 fault drift ppm=-500000
			5    c1 invoke extend c1#1 clock=3
			5    n1 retime c1#1 until=15
			5    c1 ok extend c1#1 until=13 clock=3
			12   c2 invoke acquire
			12   n1 delete c1#1 by=c2
			12.1 n1 set c2#1 until=22.1
			12.2 c2 ok acquire c2#1 until=22`,
			want: []string{"c2 held c2#1 from 12.200s to 22.000s, while c1 held c1#1 from 0.200s to 25.000s [none]"}},
		{name: "a copy is no vote", story: "nodes 3\nreplica r1\n" + `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.1  n2 set c1#1
			0.2  c1 ok acquire c1#1 until=10
			0.3  r1 set c1#1 by=n1`},
	})
}

func TestLeaseExclusionExtended(t *testing.T) {
	const (
		c1 = "0 c1 invoke acquire\n0.1 n1 set c1#1\n0.2 c1 ok acquire c1#1 until=10\n"
		c2 = "12 c2 invoke acquire\n12.1 n1 set c2#1\n12.2 c2 ok acquire c2#1 until=22\n"
	)
	testProperty(t, LeaseExclusion, []verdictCase{
		{name: "extended in time", story: c1 + "9 c1 invoke extend c1#1\n9.1 c1 ok extend c1#1 until=19\n" + c2,
			want: []string{"c2 held c2#1 from 12.200s to 22.000s, while c1 held c1#1 from 0.200s to 19.000s [none]"}},
		{name: "renewed in time", story: c1 + "9 c1 info renew c1#1 until=19\n" + c2,
			want: []string{"c2 held c2#1 from 12.200s to 22.000s, while c1 held c1#1 from 0.200s to 19.000s [none]"}},
		{name: "extended too late", story: c1 + c2 + "13 c1 invoke extend c1#1\n13.1 c1 ok extend c1#1 until=23",
			want: []string{"c1 held c1#1 from 13.100s to 23.000s, while c2 held c2#1 from 12.200s to 22.000s [none]"}},
		{name: "asked in time, extended too late", story: c1 + "9 c1 invoke extend c1#1\n" + c2 + "13.1 c1 ok extend c1#1 until=23",
			want: []string{"c1 held c1#1 from 13.100s to 23.000s, while c2 held c2#1 from 12.200s to 22.000s [none]"}},
		{name: "extended too late, but nobody was there", story: c1 + "11 c1 invoke extend c1#1\n11.1 c1 ok extend c1#1 until=12\n" + c2},
		{name: "told that it is lost", story: c1 + "9 c1 info renew c1#1 until=19\n11 c1 info lost c1#1\n" + c2},
		{name: "told too late that it is lost", story: c1 + "9 c1 info renew c1#1 until=19\n" + c2 + "13 c1 info lost c1#1",
			want: []string{"c2 held c2#1 from 12.200s to 22.000s, while c1 held c1#1 from 0.200s to 13.000s [none]"}},
		{name: "renewed by a zombie", story: c1 + "5 c1 invoke release c1#1\n9 c1 info renew c1#1 until=19\n" + c2},
		{name: "refused, because the lease is over", story: c1 + "3 n1 lose c1#1\n4 c1 invoke extend c1#1\n4.1 c1 fail extend c1#1 until=4.1\n5 c2 invoke acquire\n5.1 n1 set c2#1\n5.2 c2 ok acquire c2#1 until=15"},
		{name: "refused, and the lease lasts", story: c1 + "3 n1 lose c1#1\n4 c1 invoke extend c1#1\n4.1 c1 fail extend c1#1\n5 c2 invoke acquire\n5.1 n1 set c2#1\n5.2 c2 ok acquire c2#1 until=15",
			want: []string{"c2 held c2#1 from 5.200s to 15.000s, while c1 held c1#1 from 0.200s to 10.000s [durable nodes]"}},
		{name: "refused", story: c1 + "9 c1 invoke extend c1#1\n9.1 c1 fail extend c1#1\n" + c2},
		{name: "refused, and yet longer", story: c1 + "9 c1 invoke extend c1#1\n9.1 c1 fail extend c1#1 until=19\n" + c2,
			want: []string{"c2 held c2#1 from 12.200s to 22.000s, while c1 held c1#1 from 0.200s to 19.000s [none]"}},
	})
}
