package checker

import (
	"testing"
	"time"

	"lockstep/sim"
)

// A lock that renews its leases without telling is relied upon until it says that they are lost: no sooner, and no later.
func TestLeaseExclusionOfALockThatRenewsWithoutTelling(t *testing.T) {
	testProperty(t, LeaseExclusion, []verdictCase{
		{name: "renewed beyond the TTL and given back", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never renews
			5    n1 retime c1#1 until=15
			10   n1 retime c1#1 until=20
			14   c1 invoke release c1#1
			14.1 n1 delete c1#1
			15   c2 invoke acquire
			15.1 n1 set c2#1 until=25.1
			15.2 c2 ok acquire c2#1 until=never renews`},
		{name: "lost and told in time", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never renews
			3    n1 delete c1#1 by=c3
			3.1  c1 info lost c1#1
			4    c2 invoke acquire
			4.1  n1 set c2#1 until=14.1
			4.2  c2 ok acquire c2#1 until=never renews`},
		{name: "the holder crashed", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never renews
			1    c1 fault crash
			10.1 n1 expire c1#1
			11   c2 invoke acquire
			11.1 n1 set c2#1 until=21.1
			11.2 c2 ok acquire c2#1 until=never renews`},
		{name: "one that renews nothing is not relied upon for longer than its key", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never
			10.1 n1 expire c1#1
			11   c2 invoke acquire
			11.1 n1 set c2#1 until=21.1
			11.2 c2 ok acquire c2#1 until=never`},
		{name: "renewed no more, and not told", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never renews
			10.1 n1 expire c1#1
			11   c2 invoke acquire
			11.1 n1 set c2#1 until=21.1
			11.2 c2 ok acquire c2#1 until=never renews
			12   c1 info lost c1#1`,
			want: []string{"c2 held c2#1 from 11.200s without end, while c1 held c1#1 from 0.200s to 12.000s [none]"}},
		{name: "told after the renewed end, with the clock of the node as it should be", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never renews
			5    n1 retime c1#1 until=15
			15   n1 expire c1#1
			15   c2 invoke acquire
			15.1 n1 set c2#1 until=25.1
			15.2 c2 ok acquire c2#1 until=never renews`,
			want: []string{"c2 held c2#1 from 15.200s without end, while c1 held c1#1 from 0.200s without end [none]"}},
		{name: "the holder was paused", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never renews
			1    c1 fault pause id=1
			1    c1 bite id=1
			10.1 n1 expire c1#1
			11   c2 invoke acquire
			11.1 n1 set c2#1 until=21.1
			11.2 c2 ok acquire c2#1 until=never renews
			16   c1 fault resume
			16   c1 info lost c1#1`,
			want: []string{"c2 held c2#1 from 11.200s without end, while c1 held c1#1 from 0.200s to 16.000s [bounded pause]"}},
		{name: "paused and back before the key was set anew", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never renews
			1    c1 fault pause id=1
			1    c1 bite id=1
			3    c1 fault resume
			5    n1 retime c1#1 until=15
			15   n1 expire c1#1
			16   c2 invoke acquire
			16.1 n1 set c2#1 until=26.1
			16.2 c2 ok acquire c2#1 until=never renews`,
			want: []string{"c2 held c2#1 from 16.200s without end, while c1 held c1#1 from 0.200s without end [none]"}},
		{name: "the holder was cut off", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never renews
			1    c1-n1 fault cut cut_c1-n1 id=1
			1    c1 bite id=1
			10.1 n1 expire c1#1
			11   c2 invoke acquire
			11.1 n1 set c2#1 until=21.1
			11.2 c2 ok acquire c2#1 until=never renews
			15   c1 info lost c1#1`,
			want: []string{"c2 held c2#1 from 11.200s without end, while c1 held c1#1 from 0.200s to 15.000s [bounded delay]"}},
		{name: "an end by the clock of the client, on a node that is ahead", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10 wall=20
			0.1  n1 expire c1#1 wall=20
			0.2  c1 ok acquire c1#1 until=never renews
			1    c2 invoke acquire
			1.1  n1 set c2#1 until=11 wall=20
			1.1  n1 expire c2#1 wall=20
			1.2  c2 ok acquire c2#1 until=never renews`,
			want: []string{"c2 held c2#1 from 1.200s without end, while c1 held c1#1 from 0.200s without end [bounded clock error]"}},
		{name: "the same of several keys, none of which lives to see the next", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10 wall=20 key=0
			0.1  n1 expire c1#1 wall=20 key=0
			0.2  n1 set c1#1 until=10 wall=20 key=1
			0.2  n1 expire c1#1 wall=20 key=1
			0.3  c1 ok acquire c1#1 until=never renews keys=2
			1    c2 invoke acquire
			1.2  c2 ok acquire c2#1 until=never renews keys=2`,
			want: []string{"c2 held c2#1 from 1.200s without end, while c1 held c1#1 from 0.300s without end [bounded clock error]"}},
	})
}

// Where a lock takes several keys of one node, it is granted with the one that completes them.
func TestGrantOfALockWithSeveralKeys(t *testing.T) {
	leases := Leases(story(t, `
		0    c1 invoke acquire
		0.1  n1 set c1#1 key=0
		0.2  c2 invoke acquire
		0.3  n1 set c2#1 key=1
		0.4  n1 set c2#1 key=2
		0.5  c2 ok acquire c2#1 until=10 keys=2
		1    c2 invoke release c2#1
		1.1  n1 delete c2#1 key=1
		1.2  n1 delete c2#1 key=2
		1.3  c2 ok release c2#1
		2    n1 set c1#1 key=1
		2.1  n1 delete c1#1 key=0
		2.2  n1 set c1#1 key=0
		2.3  n1 set c1#1 key=2
		2.4  c1 ok acquire c1#1 until=12 keys=2`))
	s := func(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }
	for i, want := range []time.Duration{s(0.4), s(2.2)} {
		if l := leases[i]; !l.GrantSeen || l.Granted != want {
			t.Errorf("%s was granted at %v (seen: %v), want %v", l.Label, l.Granted, l.GrantSeen, want)
		}
	}

	// With one key for each, the first would have been the grant.
	one := story(t, `
		0    c1 invoke acquire
		0.1  n1 set c1#1 key=0
		2    n1 set c1#1 key=1
		2.4  c1 ok acquire c1#1 until=12`)
	if l := Leases(one)[0]; l.Granted != s(0.1) {
		t.Errorf("one key is enough, granted at %v", l.Granted)
	}
}

// Of a lock with several keys it takes the loss of so many that the rival had its majority of them by it.
func TestLossOfKeysOfOneNode(t *testing.T) {
	for _, c := range []struct {
		lost string
		want Assumption
	}{
		{`
			1    n1 lose c1#1 key=0
			1    n1 lose c1#1 key=1`, DurableNodes},
		{`
			1    n1 lose c1#1 key=0
			1    n1 lose c1#1 key=1
			1    n1 delete c1#1 key=2 by=c3
			1    c2 invoke acquire
			2    n1 set c2#1 key=2 until=12`, DurableNodes},
		{`
			1    n1 delete c1#1 key=0 by=c3
			1    n1 delete c1#1 key=1 by=c3`, None},
	} {
		r := Check(story(t, `
			0    c1 invoke acquire
			0.1  n1 set c1#1 key=0 until=10.1
			0.1  n1 set c1#1 key=1 until=10.1
			0.1  n1 set c1#1 key=2 until=10.1
			0.2  c1 ok acquire c1#1 until=never renews keys=2`+c.lost+`
			2    c2 invoke acquire
			2.1  n1 set c2#1 key=0 until=12.1
			2.1  n1 set c2#1 key=1 until=12.1
			2.2  c2 ok acquire c2#1 until=never renews keys=2`), nil)
		var got []Assumption
		for _, v := range r.Violations {
			if v.Property == LeaseExclusion {
				got = append(got, v.Assumption)
			}
		}
		if len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: %v, want %s", c.lost, got, c.want)
		}
	}
}

// What a page calls the end of a lease is, for one that is renewed without telling, the end of its keys.
func TestEndOfALeaseThatIsRenewedWithoutTelling(t *testing.T) {
	for _, c := range []struct {
		end  string
		want time.Duration
	}{
		{"15 n1 expire c1#1", 15 * time.Second},
		{"15 n1 lose c1#1", 15 * time.Second},
		{"15 n1 delete c1#1", sim.NoEnd},
		{"15 c2 invoke acquire", sim.NoEnd},
	} {
		l := Leases(story(t, `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never renews
			5    n1 retime c1#1 until=15
			`+c.end+`
			16   c2 invoke release`))[0]
		if l.End != c.want || l.To != sim.NoEnd {
			t.Errorf("%s: ends at %v, held to %v, want %v and no end", c.end, l.End, l.To, c.want)
		}
	}
}
