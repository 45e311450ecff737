package checker

import (
	"slices"
	"testing"

	"lockstep/checker/facts"
	"lockstep/checker/internal/handmade"
)

// A violation names the events that convince a reader, and no others.
func TestProof(t *testing.T) {
	for _, c := range []struct {
		property Property
		story    string
		want     []int
	}{
		{LeaseExclusion, `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.2  c1 ok acquire c1#1 until=9
			1    n1 lose c1#1
			2    c2 invoke acquire
			2.1  n1 set c2#1
			2.2  c2 ok acquire c2#1 until=11
			3    c1 invoke release c1#1
			4    c2 invoke release c2#1`, []int{1, 2, 3, 5, 6, 7}},
		{ResourceExclusion, `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.2  c1 ok acquire c1#1 until=9
			1    c1 fault pause
			8    c1 fault resume
			9    n1 expire c1#1
			10   c1 fault pause
			11   c2 invoke acquire
			11.1 n1 set c2#1
			12   c1 fault resume
			13   resource accept A c1#1 sent=12.9
			14   c2 ok acquire c2#1 until=21`, []int{1, 2, 3, 8, 10, 11}},
		{ExpiredOnReturn, `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			1    c1 fault pause
			11   c1 fault resume
			11   c1 ok acquire c1#1 until=9`, []int{0, 2, 4}},
		{ExpiredOnReturn, `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			11   c1 deliver n1 sent=0.1
			11   c1 ok acquire c1#1 until=9`, []int{0, 2, 3}},
		{OwnerOnly, `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.2  c1 ok acquire c1#1 until=9
			1    c1 fault pause
			11   c1 fault resume
			12   n1 expire c1#1
			13   n1 set c2#1
			14   c1 invoke release c1#1
			14   n1 delete c2#1 by=c1`, []int{6, 8}},
		{DeadlockFreedom, `
			probe c1
			bound 1
			0    c1 invoke acquire
			0.1  c1 fail acquire
			1    c1 invoke acquire
			2    c1 ok acquire c1#1 until=9`, []int{0, 3}},
		{NoLostUpdate, `
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.2  c1 ok acquire c1#1 until=9
			1    c1 invoke read
			1.1  c1 ok read
			2    c1 fault pause
			11   c2 invoke acquire
			11.1 n1 set c2#1
			11.2 c2 ok acquire c2#1 until=20
			11.3 c2 invoke update B c2#1
			11.4 resource accept B word=B c2#1 sent=11.35
			11.5 c2 ok update B c2#1
			12   c1 fault resume
			12   c1 invoke update A c1#1
			12.1 resource accept A word=A c1#1 sent=12.05
			12.2 c1 ok update A c1#1`, []int{4, 5, 10, 11, 14}},
		{NoLostUpdate, `
			0    c1 invoke increment
			0.1  c2 invoke increment
			0.2  resource set 1 key=counter by=c1
			0.3  c1 ok increment 1
			0.4  c2 ok increment 1
			1    c3 invoke increment
			1.1  resource over 2 key=counter by=c3
			1.2  c3 ok increment 2`, []int{0, 1, 2, 3, 4, 6}},
		{Tokens, `
			0    c1 invoke acquire
			0.1  n1 set 7 key=lock:fence by=c1
			0.1  n1 set c1#1
			0.2  c1 ok acquire c1#1 until=9 fence=7
			10   n1 lose key=lock:fence
			11   c2 invoke acquire
			11.1 n1 set 1 key=lock:fence by=c2
			11.1 n1 set c2#1
			11.2 c2 ok acquire c2#1 until=20 fence=1`, []int{2, 3, 4, 7, 8}},
		{FaultTolerance, `
			nodes 3
			0    n2 fault crash
			0    c1 invoke acquire
			2    n3 fault crash
			3    n3 fault restart
			9    n2 fault restart
			10   c1 fail acquire`, []int{0, 1, 5}},
		{LeaseExclusion, `
			replica r1
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.2  c1 ok acquire c1#1 until=9
			1    n1 fault crash
			1.1  r1 promote
			2    c2 invoke acquire
			2.1  r1 set c2#1
			2.2  c2 ok acquire c2#1 until=11`, []int{1, 2, 4, 6, 7}},
		{LeaseExclusion, `
			replica r1
			0    c1 invoke acquire
			0.1  n1 set c1#1
			0.2  c1 ok acquire c1#1 until=9
			1.1  r1 promote
			1.2  r1 fault promote
			2    c2 invoke acquire
			2.1  r1 set c2#1
			2.2  c2 ok acquire c2#1 until=11`, []int{1, 2, 3, 6, 7}},
		{Tokens, `
			replica r1
			0    c1 invoke acquire
			0.1  n1 set 7 key=lock:fence by=c1
			0.1  n1 set c1#1
			0.2  c1 ok acquire c1#1 until=9 fence=7
			10   r1 promote
			11   c2 invoke acquire
			11.1 r1 set 1 key=lock:fence by=c2
			11.1 r1 set c2#1
			11.2 c2 ok acquire c2#1 until=20 fence=1`, []int{2, 3, 4, 7, 8}},
	} {
		found := 0
		for _, v := range Check(facts.Of(handmade.History(t, c.story)), nil).Violations {
			if v.Property != c.property {
				continue
			}
			found++
			if !slices.Equal(v.Events, c.want) {
				t.Errorf("%q is proven by %v, want %v", v.What, v.Events, c.want)
			}
		}
		if found != 1 {
			t.Errorf("%s: %d violations", c.property, found)
		}
	}
}
