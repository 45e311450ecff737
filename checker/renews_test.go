package checker

import (
	"strings"
	"testing"
	"time"

	"lockstep/checker/facts"
	"lockstep/checker/internal/handmade"
	"lockstep/sim/history"
)

// A client relies on a lease that its lock renews silently until it is told that the lease is lost, no longer and no shorter.
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
		{name: "paused just as it was about to renew, half a TTL after the reply to its last renewal", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never renews
			5    n1 retime c1#1 until=15
			10.1 c1 fault pause id=1
			10.1 c1 bite id=1
			15   n1 expire c1#1
			16   c2 invoke acquire
			16.1 n1 set c2#1 until=26.1
			16.2 c2 ok acquire c2#1 until=never renews
			20   c1 fault resume
			20   c1 info lost c1#1`,
			want: []string{"c2 held c2#1 from 16.200s without end, while c1 held c1#1 from 0.200s to 20.000s [bounded pause]"}},
		{name: "paused long after it should have renewed", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never renews
			5    n1 retime c1#1 until=15
			10.6 c1 fault pause id=1
			10.6 c1 bite id=1
			15   n1 expire c1#1
			16   c2 invoke acquire
			16.1 n1 set c2#1 until=26.1
			16.2 c2 ok acquire c2#1 until=never renews
			20   c1 fault resume
			20   c1 info lost c1#1`,
			want: []string{"c2 held c2#1 from 16.200s without end, while c1 held c1#1 from 0.200s to 20.000s [none]"}},
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
		{name: "the holder was cut off after it had renewed", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never renews
			5    n1 retime c1#1 until=15
			6    c1-n1 fault cut cut_c1-n1 id=1
			6    c1 bite id=1
			15   n1 expire c1#1
			16   c2 invoke acquire
			16.1 n1 set c2#1 until=26.1
			16.2 c2 ok acquire c2#1 until=never renews
			18   c1 info lost c1#1`,
			want: []string{"c2 held c2#1 from 16.200s without end, while c1 held c1#1 from 0.200s to 18.000s [bounded delay]"}},
		{name: "its renewal was under way for long", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never renews
			10.1 n1 expire c1#1
			10.5 n1 deliver c1 sent=3
			11   c2 invoke acquire
			11.1 n1 set c2#1 until=21.1
			11.2 c2 ok acquire c2#1 until=never renews
			15   c1 info lost c1#1`,
			want: []string{"c2 held c2#1 from 11.200s without end, while c1 held c1#1 from 0.200s to 15.000s [bounded delay]"}},
		{name: "the answer was", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never renews
			10.1 n1 expire c1#1
			10.5 c1 deliver n1 sent=3
			11   c2 invoke acquire
			11.1 n1 set c2#1 until=21.1
			11.2 c2 ok acquire c2#1 until=never renews
			15   c1 info lost c1#1`,
			want: []string{"c2 held c2#1 from 11.200s without end, while c1 held c1#1 from 0.200s to 15.000s [bounded delay]"}},
		{name: "a renewal that was sent too late", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never renews
			10.1 n1 expire c1#1
			10.9 n1 deliver c1 sent=10.8
			11   c2 invoke acquire
			11.1 n1 set c2#1 until=21.1
			11.2 c2 ok acquire c2#1 until=never renews
			15   c1 info lost c1#1
			16   n1 deliver c1 sent=10.2`,
			want: []string{"c2 held c2#1 from 11.200s without end, while c1 held c1#1 from 0.200s to 15.000s [none]"}},
		{name: "a slow message from when it was over", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never renews
			10.1 n1 expire c1#1
			11   c2 invoke acquire
			11.1 n1 set c2#1 until=21.1
			11.2 c2 ok acquire c2#1 until=never renews
			15   c1 info lost c1#1
			16   n1 deliver c1 sent=10.2`,
			want: []string{"c2 held c2#1 from 11.200s without end, while c1 held c1#1 from 0.200s to 15.000s [none]"}},
		{name: "a slow message from shortly before it was over", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never renews
			10.1 n1 expire c1#1
			11   c2 invoke acquire
			11.1 n1 set c2#1 until=21.1
			11.2 c2 ok acquire c2#1 until=never renews
			15   n1 deliver c1 sent=9
			16   c1 info lost c1#1`,
			want: []string{"c2 held c2#1 from 11.200s without end, while c1 held c1#1 from 0.200s to 16.000s [none]"}},
		{name: "a slow message from before the key was given its end", story: `
			0    c2 invoke acquire
			6    c2 fail acquire
			6    c1 invoke acquire
			6    n1 deliver c1 sent=0
			6.1  n1 set c1#1 until=16.1
			6.2  c1 ok acquire c1#1 until=never renews
			16.1 n1 expire c1#1
			17   c2 invoke acquire
			17.1 n1 set c2#1 until=27.1
			17.2 c2 ok acquire c2#1 until=never renews`,
			want: []string{"c2 held c2#1 from 17.200s without end, while c1 held c1#1 from 6.200s without end [none]"}},
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

// If a lock takes several keys of one node, the key that completes them grants the lease.
func TestGrantOfALockWithSeveralKeys(t *testing.T) {
	leases := facts.Of(handmade.History(t, `
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
		2.4  c1 ok acquire c1#1 until=12 keys=2`)).Holds
	s := func(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }
	for i, want := range []time.Duration{s(0.4), s(2.2)} {
		if l := leases[i]; !l.GrantSeen || l.Granted != want {
			t.Errorf("%s was granted at %v (seen: %v), want %v", l.Label, l.Granted, l.GrantSeen, want)
		}
	}

	// If one key were enough, the first would grant the lease.
	one := handmade.History(t, `
		0    c1 invoke acquire
		0.1  n1 set c1#1 key=0
		2    n1 set c1#1 key=1
		2.4  c1 ok acquire c1#1 until=12`)
	if l := facts.Of(one).Holds[0]; l.Granted != s(0.1) {
		t.Errorf("one key is enough, granted at %v", l.Granted)
	}
}

// If a lock takes several keys of one node, the loss of keys is to blame only if enough were lost to make room for the rival.
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
		r := Check(facts.Of(handmade.History(t, `
			0    c1 invoke acquire
			0.1  n1 set c1#1 key=0 until=10.1
			0.1  n1 set c1#1 key=1 until=10.1
			0.1  n1 set c1#1 key=2 until=10.1
			0.2  c1 ok acquire c1#1 until=never renews keys=2`+c.lost+`
			2    c2 invoke acquire
			2.1  n1 set c2#1 key=0 until=12.1
			2.1  n1 set c2#1 key=1 until=12.1
			2.2  c2 ok acquire c2#1 until=never renews keys=2`)), nil)
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

// The End of a lease that is renewed silently is the time at which its keys expired or were lost.
func TestEndOfALeaseThatIsRenewedWithoutTelling(t *testing.T) {
	for _, c := range []struct {
		end  string
		want time.Duration
	}{
		{"15 n1 expire c1#1", 15 * time.Second},
		{"15 n1 lose c1#1", 15 * time.Second},
		{"15 n1 delete c1#1", history.NoEnd},
		{"15 c2 invoke acquire", history.NoEnd},
	} {
		l := facts.Of(handmade.History(t, `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never renews
			5    n1 retime c1#1 until=15
			`+c.end+`
			16   c2 invoke release`)).Holds[0]
		if l.End != c.want || l.To != history.NoEnd {
			t.Errorf("%s: ends at %v, held to %v, want %v and no end", c.end, l.End, l.To, c.want)
		}
	}
}

// If a lock renews its leases silently and never reports that one is lost, its client relies on a lease until the end that the last
// renewal gave its keys. The cause is what prevented the next renewal.
func TestLockThatRenewsAndTellsNothing(t *testing.T) {
	const c1 = `
		0    c1 invoke acquire
		0.1  n1 set c1#1 until=10.1
		0.2  c1 ok acquire c1#1 until=never
		`
	const renewed = c1 + `
		5    n1 retime c1#1 until=15
		10   n1 retime c1#1 until=20
		`
	const c2 = `
		20   n1 expire c1#1
		30   c2 invoke acquire
		30.1 n1 set c2#1 until=40.1
		30.2 c2 ok acquire c2#1 until=never
		`
	const late = `
		42   c1 invoke write A c1#1
		42.1 resource accept A c1#1 sent=42`
	wrote := func(broken string) []string {
		return []string{"c1 wrote A under c1#1 at 42.100s, after c2 was granted c2#1 at 30.100s [" + broken + "]"}
	}
	testProperty(t, ResourceExclusion, []verdictCase{
		{name: "before another", story: renewed + "19 resource accept A c1#1 sent=19\n" + c2},
		{name: "after its end, when nobody had followed", story: renewed + "20 n1 expire c1#1\n25 resource accept A c1#1 sent=25"},
		{name: "by the one whose turn it is", story: renewed + c2 + "31 resource accept B c2#1 sent=31"},
		{name: "paused, and nobody followed", story: renewed + "12 c1 fault pause id=1\n20 n1 expire c1#1\n42 c1 fault resume" + late},
		{name: "refused", story: renewed + c2 + "42 resource reject A c1#1 sent=42"},
		{name: "paused until then", story: renewed + "12 c1 fault pause id=1\n" + c2 + "42 c1 fault resume" + late, want: wrote("bounded pause")},
		{name: "paused past its end and busy after", story: renewed + "12 c1 fault pause id=1\n" + c2 + "31 c1 fault resume" + late, want: wrote("bounded pause")},
		{name: "paused only after its end", story: renewed + c2 + "31 c1 fault pause id=1\n32 c1 fault resume" + late, want: wrote("none")},
		{name: "paused only before it was renewed last", story: c1 + "1 c1 fault pause id=1\n3 c1 fault resume\n5 n1 retime c1#1 until=15\n10 n1 retime c1#1 until=20" + c2 + late, want: wrote("none")},
		{name: "cut off", story: renewed + "12 c1-n1 fault cut cut_c1-n1 id=1" + c2 + late, want: wrote("bounded delay")},
		{name: "late on its way", story: renewed + "19 n1 deliver renewal by=c1 sent=12" + c2 + late, want: wrote("bounded delay")},
		{name: "with a slow clock", story: "0 c1 fault drift ppm=-500000 id=1" + renewed + c2 + late, want: wrote("bounded clock error")},
		{name: "for no reason", story: renewed + c2 + late, want: wrote("none")},
		{name: "never renewed", story: c1 + "4 c1 fault pause id=1\n5 c1 fault resume" + c2 + late, want: wrote("none")},
	})

	const second = `
		15   n1 delete c1#1 by=c3
		15   c2 invoke acquire
		15.1 n1 set c2#1 until=25.1
		15.2 c2 ok acquire c2#1 until=never`
	overlap := []string{"c2 held c2#1 from 15.200s to 25.200s, while c1 held c1#1 from 0.200s to 20.000s [none]"}
	testProperty(t, LeaseExclusion, []verdictCase{
		{name: "another lets the next in", story: renewed + second, want: overlap},
		{name: "another lets the next in, after one renewal", story: c1 + "10 n1 retime c1#1 until=20" + second, want: overlap},
		{name: "another lets the next in while it writes", story: c1 + "9 c1 invoke write A c1#1\n10 n1 retime c1#1 until=20" + second, want: overlap},
		{name: "another lets the next in before the last of three", story: c1 + "3 n1 retime c1#1 until=13\n6 n1 retime c1#1 until=16\n10 n1 retime c1#1 until=20" + second, want: overlap},
		{name: "another lets the next in after a pause", story: renewed + "12 c1 fault pause id=1\n13 c1 fault resume" + second, want: overlap},
		{name: "another lets the next in, after a renewal on a promoted replica", story: "replica r1\n" + c1 + `
			0.3  r1 set c1#1 until=10.1 by=n1
			3    n1 fault crash id=1
			4    r1 promote
			10   r1 retime c1#1 until=20` + strings.ReplaceAll(second, "n1", "r1"), want: overlap},
		{name: "not renewed", story: c1 + second},
		{name: "its owner gave its key its first deadline late", story: `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.15 n1 retime c1#1 until=20
			0.2  c1 ok acquire c1#1 until=never` + second},
		{name: "extended, which told that it failed", story: c1 + `
			10   c1 invoke extend c1#1
			10   n1 retime c1#1 until=20 sent=10
			10.1 c1 info extend c1#1` + second},
		{name: "extended after a renewal, and nobody knows", story: c1 + `
			5    n1 retime c1#1 until=15
			10   c1 invoke extend c1#1
			10   n1 retime c1#1 until=20 sent=10
			10.1 c1 info extend c1#1` + second},
		{name: "another gave it more time", story: c1 + "0.3 c3 invoke acquire\n0.4 c3 fail acquire\n10 n1 retime c1#1 until=20 by=c3" + second},
		{name: "a majority is renewed", story: "nodes 3\n" + `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.1  n2 set c1#1 until=10.1
			0.1  n3 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never
			9    n1 retime c1#1 until=20
			9    n2 retime c1#1 until=20
			9.5  n1 delete c1#1 by=c3
			9.5  n2 delete c1#1 by=c3
			9.6  c2 invoke acquire
			9.6  n1 set c2#1 until=25.1
			9.6  n2 set c2#1 until=25.1
			15.2 c2 ok acquire c2#1 until=never`, want: []string{"c2 held c2#1 from 15.200s to 25.200s, while c1 held c1#1 from 0.200s to 20.000s [none]"}},
		{name: "a minority is renewed, and another gave more of it more time", story: "nodes 3\n" + `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.1  n2 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never
			9    n1 retime c1#1 until=20
			9    n2 retime c1#1 until=20 by=c3
			15   c2 invoke acquire
			15.2 c2 ok acquire c2#1 until=never`},
		{name: "one of three nodes is renewed, and the replica that took its place", story: "nodes 3\nreplica r1\n" + `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.1  n2 set c1#1 until=10.1
			0.1  r1 promote
			0.1  r1 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never
			9    n1 retime c1#1 until=20
			9    r1 retime c1#1 until=20
			15   c2 invoke acquire
			15.2 c2 ok acquire c2#1 until=never`},
		{name: "a minority is renewed", story: "nodes 3\n" + `
			0    c1 invoke acquire
			0.1  n1 set c1#1 until=10.1
			0.1  n2 set c1#1 until=10.1
			0.1  n3 set c1#1 until=10.1
			0.2  c1 ok acquire c1#1 until=never
			10   n1 retime c1#1 until=20
			10.1 n2 expire c1#1
			10.1 n3 expire c1#1
			15   c2 invoke acquire
			15.1 n2 set c2#1 until=25.1
			15.1 n3 set c2#1 until=25.1
			15.2 c2 ok acquire c2#1 until=never`},
	})
}

// A lock that renews its leases may send deadlines as instants by the wall clock of its client. If that clock is set back, the node
// deletes the key, and a write under the lease is late because of the clock, just as the overlap of the leases is.
func TestWriteUnderALeaseWithADeadlineThatHasPassed(t *testing.T) {
	const late = "c1 wrote A under c1#1 at 7.100s, after c2 was granted c2#1 at 6.100s"
	const rest = `
		6    c2 invoke acquire
		6.1  n1 set c2#1 until=16.1
		6.2  c2 ok acquire c2#1 until=never renews
		7    c1 invoke write A c1#1 wall=-20
		7.1  resource accept A c1#1 sent=7
		7.2  c1 ok write A c1#1 wall=-20
		9    c1 info lost c1#1 wall=-20
	`
	const renewed = `
		0    c1 invoke acquire
		0.1  n1 set c1#1 until=10.1
		0.2  c1 ok acquire c1#1 until=never renews
		1    c1 fault jump jump_c1_-20s wall=-20
		5.1  n1 delete c1#1 by=c1 sent=5
	`
	const born = `
		0    c1 fault jump jump_c1_-20s wall=-20
		0    c1 invoke acquire wall=-20
		0.1  n1 set c1#1 until=-10
		0.1  n1 expire c1#1
		0.2  c1 ok acquire c1#1 until=never renews wall=-20
	`
	hidden := strings.NewReplacer("0.1  n1 set c1#1 until=-10", "", "0.1  n1 expire c1#1", "").Replace(born)
	testProperty(t, ResourceExclusion, []verdictCase{
		{name: "sent with the acquire, to a real server, which hides such a key", story: "on redis\n" + hidden + rest, want: []string{late + " [bounded clock error]"}},
		{name: "a lock that has no key, in simulation", story: "on sim\n" + hidden + rest, want: []string{late + " [none]"}},
		{name: "a lock that has no key, on a real server, and a clock that is behind by less than a TTL", story: "on redis\n" + strings.ReplaceAll(hidden+rest, "-20", "-9"), want: []string{late + " [none]"}},
		{name: "a write before the other client was granted the lock", story: renewed + "5.5 resource accept A c1#1 sent=5.4" + rest[:strings.Index(rest, "7  ")]},
		{name: "no newer lease", story: born + strings.TrimSpace(rest[strings.Index(rest, "7  "):])},
		{name: "no write under the older lease", story: renewed + rest[:strings.Index(rest, "7  ")] + "7 resource accept B c2#1 sent=6.9"},
		{name: "a right clock, and a write after it was told", story: strings.NewReplacer("c1 fault jump jump_c1_-20s", "c3 invoke read", "wall=-20", "").Replace(renewed) +
			"5.5 c1 info lost c1#1" + strings.Replace(strings.ReplaceAll(rest, "wall=-20", ""), "9    c1 info lost c1#1", "", 1)},
		{name: "sent with a renewal", story: renewed + rest, want: []string{late + " [bounded clock error]"}},
		{name: "the clock was right", story: strings.NewReplacer("c1 fault jump jump_c1_-20s", "c3 invoke read", "wall=-20", "").Replace(renewed + rest), want: []string{late + " [none]"}},
		{name: "sent with the acquire", story: born + rest, want: []string{late + " [bounded clock error]"}},
		{name: "the clock was right, and the lock sent a deadline that had passed", story: strings.NewReplacer("c1 fault jump jump_c1_-20s", "c3 invoke read", "wall=-20", "").Replace(born + rest),
			want: []string{late + " [none]"}},
	})
}
