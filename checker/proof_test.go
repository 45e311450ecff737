package checker

import (
	"slices"
	"testing"
)

// The events of a violation are those that a reader needs to be convinced, and no others.
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
	} {
		found := 0
		for _, v := range Check(story(t, c.story), nil).Violations {
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
