package checker

import (
	"testing"

	"lockstep/checker/facts"
	"lockstep/checker/internal/handmade"
)

func TestNoLostUpdateCounter(t *testing.T) {
	const race = `
		0    c1 invoke increment
		0.1  c2 invoke increment
		0.2  resource set 1 key=counter by=c1 sent=0.15
		0.3  c1 ok increment 1
	`
	testProperty(t, NoLostUpdate, []verdictCase{
		{name: "nobody counts", story: "0 c1 invoke acquire"},
		{name: "one after the other", story: race + "0.4 resource over 2 key=counter by=c2\n0.5 c2 ok increment 2"},
		{name: "skipped", story: race + "0.5 c2 fail increment"},
		{name: "unknown, and not done", story: race + "0.5 c2 info increment"},
		{name: "unknown, and done", story: race + "0.4 resource over 2 key=counter by=c2\n0.5 c2 info increment"},
		{name: "unknown, with no end", story: race},
		{name: "from ten", story: `
			0    resource set 10 key=counter by=nobody
			1    c1 invoke increment
			1.1  resource over 11 key=counter by=c1
			1.2  c1 ok increment 11`},
		{name: "from what the first writer must have read", story: `
			1    c1 invoke increment
			1.1  resource over 11 key=counter by=c1
			1.2  c1 ok increment 11`},
		{name: "both write the same", story: race + "0.5 c2 ok increment 1", // a node records no event for a write that changes nothing
			want: []string{"1 of 2 acknowledged increments are lost: the counter went from 0 to 1; c1 wrote 1 at 0.200s, and c2 was told at 0.500s that it had, too [none]"}},
		{name: "both write the same, long after", story: race + `
			1    c1 invoke increment
			1.1  resource over 2 key=counter by=c1
			1.2  c1 ok increment 2
			2    resource over 1 key=counter by=c2
			2.1  c2 ok increment 1`,
			want: []string{"2 of 3 acknowledged increments are lost: the counter went from 0 to 1; c1 wrote 1 at 0.200s, and so did c2 at 2.000s [none]"}},
		{name: "acknowledged and never done", story: race + "0.4 c1 invoke increment\n0.5 c1 ok increment 2",
			want: []string{"1 of 2 acknowledged increments are lost: the counter went from 0 to 1 [none]"}},
		{name: "the same client twice", story: race + "0.4 c1 invoke increment\n0.5 c1 ok increment 1",
			want: []string{"1 of 2 acknowledged increments are lost: the counter went from 0 to 1; c1 wrote 1 twice, at 0.200s and at 0.500s [none]"}},
		{name: "one of unknown outcome beside one that is lost", story: race + "0.5 c2 ok increment 1\n1 c3 invoke increment\n1.1 resource over 2 key=counter by=c3\n1.2 c3 info increment",
			want: []string{"1 of 2 acknowledged increments are lost: the counter went from 0 to 2, of which 1 was never acknowledged; c1 wrote 1 at 0.200s, and c2 was told at 0.500s that it had, too [none]"}},
		{name: "one that never ended beside one that is lost", story: race + "0.5 c2 ok increment 1\n1 c3 invoke increment\n1.1 resource over 2 key=counter by=c3",
			want: []string{"1 of 2 acknowledged increments are lost: the counter went from 0 to 2, of which 1 was never acknowledged; c1 wrote 1 at 0.200s, and c2 was told at 0.500s that it had, too [none]"}},
		{name: "one of unknown outcome wrote the same", story: race + "0.5 c2 info increment 1\n1 c3 invoke increment\n1.1 resource over 2 key=counter by=c3\n1.2 c3 ok increment 2"},
		{name: "one that wrote the same as one of unknown outcome", story: "0 c1 invoke increment\n0.1 c2 invoke increment\n0.2 resource set 1 key=counter by=c1\n0.3 c1 info increment\n0.4 c2 ok increment 1"},
		{name: "set back, and brought up again by what was never acknowledged", story: race + `
			0.4  resource over 2 key=counter by=c2
			0.5  c2 ok increment 2
			1    c3 invoke increment
			1.1  resource over 1 key=counter by=c3
			1.2  c3 info increment
			2    c4 invoke increment
			2.1  resource over 2 key=counter by=c4`,
			want: []string{"1 of 2 acknowledged increments are lost: the counter went from 0 to 2, of which 1 was never acknowledged [none]"}},
		{name: "one that adds two makes up for another", story: "0 c1 invoke increment\n0 c2 invoke increment\n0 c3 invoke increment\n1 resource set 2 key=counter by=c1\n2 c1 ok increment 2\n3 c2 ok increment 2\n4 c3 ok increment 2",
			want: []string{"1 of 3 acknowledged increments are lost: the counter went from 0 to 2; c1 wrote 2 at 1.000s, and c2 was told at 3.000s that it had, too [none]"}},
		{name: "one that adds two makes up for no other", story: "0 c1 invoke increment\n0 c2 invoke increment\n1 resource set 2 key=counter by=c1\n2 c1 ok increment 2\n3 c2 ok increment 2",
			want: []string{"1 of 2 acknowledged increments are lost: the counter went from 0 to 2; c1 wrote 2 at 1.000s, and c2 was told at 3.000s that it had, too [none]"}},
		{name: "the counter is gone", story: race + "1 resource lose key=counter",
			want: []string{"1 of 1 acknowledged increments are lost: the counter went from 0 to 0 [durable nodes]"}},
		{name: "another key", story: race + "0.4 resource set 7 key=other by=c2\n0.5 c2 fail increment"},
	})
}

func TestNoLostUpdateWords(t *testing.T) {
	const lost = "the update B of c2 at 12.300s is lost: c1 overwrote it with A at 15.003s"
	testProperty(t, NoLostUpdate, []verdictCase{
		{name: "the resource refused the second", story: handmade.Overtaken + "1 c1 fault pause" + handmade.Overtaker + "15 c1 fault resume\n15 c1 invoke update A c1#1\n15.003 resource reject A word=A c1#1\n15.1 c1 fail update A c1#1"},
		{name: "the second had read the first", story: handmade.Overtaken + handmade.Overtaker + "15 c1 invoke update A c1#1\n15.003 resource accept B_A word=A c1#1\n15.1 c1 ok update A c1#1"},
		{name: "a version of its own", story: handmade.Overtaken + handmade.Overtaker + "15 c1 invoke update A c1#1\n15.003 resource keep A word=A c1#1\n15.1 c1 ok update A c1#1"},
		{name: "kept, then written over", story: "0 c1 invoke update A\n0.1 resource keep A word=A by=c1\n0.2 c1 ok update A\n1 resource accept B word=B by=c2"},
		{name: "not acknowledged", story: "0 c1 invoke update A\n0.1 resource accept A word=A by=c1\n0.2 c1 info update A\n1 resource accept B word=B by=c2"},
		{name: "never answered", story: "0 c1 invoke update A\n0.1 resource accept A word=A by=c1\n1 resource accept B word=B by=c2"},
		{name: "gone and back", story: "0 c1 invoke update A\n0.1 resource accept A word=A by=c1\n0.2 c1 ok update A\n1 resource accept B word=B by=c2\n2 resource accept B_A word=A by=c2"},
		{name: "plain writes are no updates", story: "0 c1 invoke write A\n0.1 resource accept A by=c1\n0.2 c1 ok write A\n1 resource accept B by=c2"},
		{name: "part of a word", story: "0 c1 invoke update A\n0.1 resource accept A word=A by=c1\n0.2 c1 ok update A\n1 resource accept AB word=B by=c2",
			want: []string{"the update A of c1 at 0.100s is lost: c2 overwrote it with B at 1.000s [none]"}},
		{name: "a plain write over an update, where nobody has a lock", story: "0 c1 invoke update A\n0.1 resource accept A word=A by=c1\n0.2 c1 ok update A\n1 resource accept Z by=c2"},
		{name: "replaced by the next holder", story: handmade.Released + "12 c2 invoke acquire\n12.1 n1 set c2#1\n12.2 c2 ok acquire c2#1 until=22\n13 c2 invoke write Z c2#1\n13.1 resource accept Z c2#1"},
		{name: "replaced by the next holder, late but before anybody else", story: handmade.Released + "12 c2 invoke acquire\n12.1 n1 set c2#1\n12.2 c2 ok acquire c2#1 until=22\n13 c2 invoke write Z c2#1\n40 resource accept Z c2#1 sent=13"},
		{name: "replaced under the same lease", story: handmade.Overtaken + "1 c1 invoke update A c1#1\n1.1 resource accept A word=A c1#1\n1.2 c1 ok update A c1#1\n2 c1 invoke write C c1#1\n2.1 resource accept C c1#1\n2.2 c1 ok write C c1#1"},
		{name: "replaced, and then updated", story: handmade.Released + "12 c2 invoke acquire\n12.1 n1 set c2#1\n12.2 c2 ok acquire c2#1 until=22\n13 resource accept Z c2#1\n14 c2 invoke update B c2#1\n14.1 resource accept Z_B word=B c2#1\n14.2 c2 ok update B c2#1"},
		{name: "a late update that the newer holder replaces", story: handmade.Overtaken + handmade.Overtaker + "15 c1 invoke update A c1#1\n15.1 resource accept B_A word=A c1#1\n15.2 c1 ok update A c1#1\n16 c2 invoke write Z c2#1\n16.1 resource accept Z c2#1 sent=16"},
		{name: "replaced without a lease while nobody holds", story: handmade.Released + "13 resource accept Z by=c9"},
		{name: "replaced under another lock while somebody holds", story: handmade.Released + "4 c2 invoke acquire\n4.1 n1 set c2#1\n4.2 c2 ok acquire c2#1 until=14\n5 c9 invoke acquire lock=b\n5.2 c9 ok acquire c9#1 until=14 lock=b\n6 resource accept Z c9#1"},
		{name: "replaced without a lease while somebody holds", story: handmade.Released + "4 c2 invoke acquire\n4.1 n1 set c2#1\n4.2 c2 ok acquire c2#1 until=14\n6 resource accept Z by=c9",
			want: []string{"the update A of c1 at 1.100s is lost: c9 overwrote it with Z at 6.000s [none]"}},
		{name: "blame: replaced by a zombie after a pause", story: handmade.Overtaken + "1 c1 fault pause" + handmade.Overtaker + "15 c1 fault resume\n15 c1 invoke write A c1#1\n15.003 resource accept A c1#1 sent=15.001", want: []string{lost + " [bounded pause]"}},
		{name: "blame: replaced by a zombie that took its time", story: handmade.Overtaken + handmade.Overtaker + "15 c1 invoke write A c1#1\n15.003 resource accept A c1#1 sent=15.001", want: []string{lost + " [none]"}},
		{name: "blame: replaced by a message that was late", story: handmade.Overtaken + "5 c1 invoke write A c1#1" + handmade.Overtaker + "15.003 resource accept A c1#1 sent=5.1", want: []string{lost + " [bounded delay]"}},
		{name: "blame: replaced by a zombie, though its rival wrote nothing", story: handmade.Released + `
			4    c2 invoke acquire
			4.1  n1 set c2#1
			4.2  c2 ok acquire c2#1 until=14
			5    c2 fault pause
			14.1 n1 expire c2#1
			15   c3 invoke acquire
			15.1 n1 set c3#1
			15.2 c3 ok acquire c3#1 until=25
			16   c2 fault resume
			16   c2 invoke write Z c2#1
			16.1 resource accept Z c2#1 sent=16`,
			want: []string{"the update A of c1 at 1.100s is lost: c2 overwrote it with Z at 16.100s [bounded pause]"}},
		{name: "blame: replaced by the newer holder while the older one holds", story: handmade.Overtaken + "0.5 c1 invoke update A c1#1\n0.6 resource accept A word=A c1#1\n0.7 c1 ok update A c1#1\n1 n1 lose c1#1\n2 c2 invoke acquire\n2 n1 set c2#1\n2.1 c2 ok acquire c2#1 until=12\n3 c2 invoke write Z c2#1\n3.1 resource accept Z c2#1",
			want: []string{"the update A of c1 at 0.600s is lost: c2 overwrote it with Z at 3.100s [durable nodes]"}},
		{name: "blame: read before it had the lock", story: "0 c2 invoke read\n0 c2 ok read\n" + handmade.Released + "12 c2 invoke acquire\n12.1 n1 set c2#1\n12.2 c2 ok acquire c2#1 until=22\n13 c2 invoke update B c2#1\n13.1 resource accept B word=B c2#1 sent=13\n13.2 c2 ok update B c2#1",
			want: []string{"the update A of c1 at 1.100s is lost: c2 overwrote it with B at 13.100s [none]"}},
		{name: "blame: asked for before it had read anything", story: `
			0    c2 invoke update B c2#1
			0.1  c2 info update B c2#1
			0.2  c1 invoke acquire
			0.3  n1 set c1#1
			0.4  c1 ok acquire c1#1 until=10
			1    c1 invoke update A c1#1
			11   c2 invoke acquire
			12   n1 set c2#1
			12.1 c2 ok acquire c2#1 until=22
			12.2 c2 invoke read
			12.3 c2 ok read
			13   resource accept A word=A c1#1 sent=1
			13.1 c1 ok update A c1#1
			14.1 resource accept B word=B c2#1 sent=0`,
			want: []string{"the update A of c1 at 13.000s is lost: c2 overwrote it with B at 14.100s [none]"}},
		{name: "blame: read before it had the lock, and the other was late as well", story: "0 c2 invoke read\n0 c2 ok read\n" + handmade.Overtaken + `
			1    c1 invoke update A c1#1
			11   c2 invoke acquire
			12   n1 set c2#1
			12.1 c2 ok acquire c2#1 until=22
			13   resource accept A word=A c1#1 sent=1
			13.1 c1 ok update A c1#1
			14   c2 invoke update B c2#1
			14.1 resource accept B word=B c2#1 sent=14.05
			14.2 c2 ok update B c2#1`,
			want: []string{"the update A of c1 at 13.000s is lost: c2 overwrote it with B at 14.100s [none]"}},
		{name: "blame: the older lease's message arrived between the newer's read and write", story: handmade.Overtaken + `
			1    c1 invoke update A c1#1
			11   c2 invoke acquire
			12   n1 set c2#1
			12.1 c2 ok acquire c2#1 until=22
			12.2 c2 invoke read
			12.3 c2 ok read
			13   resource accept A word=A c1#1 sent=1
			13.1 c1 ok update A c1#1
			14   c2 invoke update B c2#1
			14.1 resource accept B word=B c2#1 sent=14.05
			14.2 c2 ok update B c2#1`,
			want: []string{"the update A of c1 at 13.000s is lost: c2 overwrote it with B at 14.100s [bounded delay]"}},
		{name: "never got there", story: "0 c1 invoke update A\n0.2 c1 ok update A",
			want: []string{"c1 was told at 0.200s that its update A was done, but the resource never got it [none]"}},
		{name: "two by one write", story: "0 c1 invoke update A\n0.1 resource accept A word=A by=c1\n0.2 c1 ok update A\n0.3 c1 invoke update B\n0.4 resource accept A_B word=B by=c1\n0.5 c1 ok update B\n1 resource accept C word=C by=c2",
			want: []string{"the update A of c1 at 0.100s is lost: c2 overwrote it with C at 1.000s [none]", "the update B of c1 at 0.400s is lost: c2 overwrote it with C at 1.000s [none]"}},
		{name: "the last write that left it out is named", story: "0 c1 invoke update A\n0.1 resource accept A word=A by=c1\n0.2 c1 ok update A\n1 resource accept B word=B by=c2\n2 resource accept B_A word=A by=c1\n3 resource accept C word=C by=c3",
			want: []string{"the update A of c1 at 2.000s is lost: c3 overwrote it with C at 3.000s [none]"}},
		{name: "blame: a pause between read and update", story: handmade.Overtaken + "1 c1 fault pause" + handmade.Overtaker + "15 c1 fault resume\n15 c1 invoke update A c1#1\n" + handmade.Overwrites, want: []string{lost + " [bounded pause]"}},
		{name: "blame: work that outlived the lease", story: handmade.Overtaken + handmade.Overtaker + "15 c1 invoke update A c1#1\n" + handmade.Overwrites, want: []string{lost + " [none]"}},
		{name: "blame: a pause that made no difference", story: handmade.Overtaken + "1 c1 fault pause\n2 c1 fault resume" + handmade.Overtaker + "15 c1 invoke update A c1#1\n" + handmade.Overwrites, want: []string{lost + " [none]"}},
		{name: "blame: a late message", story: handmade.Overtaken + "5 c1 invoke update A c1#1" + handmade.Overtaker + "15.003 resource accept A word=A c1#1 sent=5.1\n15.1 c1 ok update A c1#1", want: []string{lost + " [bounded delay]"}},
		{name: "blame: a node that lost its key", story: handmade.Overtaken + "1 n1 lose c1#1\n2 c2 invoke acquire\n2 n1 set c2#1\n2.1 c2 ok acquire c2#1 until=12\n2.2 c2 invoke update B c2#1\n2.3 resource accept B word=B c2#1\n2.4 c2 ok update B c2#1\n3 c1 invoke update A c1#1\n3.003 resource accept A word=A c1#1 sent=3.001\n3.1 c1 ok update A c1#1",
			want: []string{"the update B of c2 at 2.300s is lost: c1 overwrote it with A at 3.003s [durable nodes]"}},
		{name: "blame: a lock that does not exclude", story: handmade.Overtaken + "2 c2 invoke acquire\n2.1 c2 ok acquire c2#1 until=12\n2.2 c2 invoke update B c2#1\n2.3 resource accept B word=B c2#1\n2.4 c2 ok update B c2#1\n3 c1 invoke update A c1#1\n3.003 resource accept A word=A c1#1 sent=3.001\n3.1 c1 ok update A c1#1",
			want: []string{"the update B of c2 at 2.300s is lost: c1 overwrote it with A at 3.003s [none]"}},
		{name: "blame: the older lease wrote between the newer's read and write", story: handmade.Overtaken + `
			1    c1 fault pause
			11   c2 invoke acquire
			12   n1 set c2#1
			12.1 c2 ok acquire c2#1 until=22
			12.2 c2 invoke read
			12.3 c2 ok read
			13   c1 fault resume
			13   c1 invoke update A c1#1
			13.1 resource accept A word=A c1#1 sent=13.05
			13.2 c1 ok update A c1#1
			14   c2 invoke update B c2#1
			14.1 resource accept B word=B c2#1 sent=14.05
			14.2 c2 ok update B c2#1`,
			want: []string{"the update A of c1 at 13.100s is lost: c2 overwrote it with B at 14.100s [bounded pause]"}},
		{name: "blame: one lease for both", story: handmade.Overtaken + "1 c1 invoke update A c1#1\n1.1 resource accept A word=A c1#1\n1.2 c1 ok update A c1#1\n2 resource accept B word=B c1#1",
			want: []string{"the update A of c1 at 1.100s is lost: c1 overwrote it with B at 2.000s [none]"}},
	})
}

// TestCount: how many increments were asked for, done, skipped and unknown. Other operations do not count.
func TestCount(t *testing.T) {
	c := (&index{Facts: facts.Of(handmade.History(t, `
		0   c2 invoke acquire
		0.1 c2 fail acquire
		0.2 c2 invoke read
		0.3 c2 ok read
		0.4 c2 invoke read
		0.5 c2 info read
		1   c1 invoke increment
		2   c1 ok increment 1
		3   c1 invoke increment
		4   c1 fail increment
		5   c1 invoke increment
		6   c1 info increment
		7   c1 invoke increment`))}).count()
	if c.asked != 4 || c.done != 1 || c.skipped != 1 || c.unknown != 2 || len(c.changes) != 1 {
		t.Errorf("%+v", c)
	}
}
