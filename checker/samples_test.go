package checker

import (
	"testing"
	"time"

	"lockstep/checker/facts"
	"lockstep/checker/internal/handmade"
)

// A sample says which client asked, when its wait ended, how long it was, and whether it was in vain. The probe's are left out.
func TestSamples(t *testing.T) {
	const text = "probe c3\n0 c3 invoke acquire\n0.1 c3 fail acquire\n1 c1 invoke acquire\n1.3 c1 ok acquire c1#1 until=9\n" +
		"2 c2 invoke acquire\n4 c2 fail acquire\n"
	h := handmade.History(t, text)
	at := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	for _, c := range []struct {
		quantity Quantity
		want     []Sample
	}{
		{Wait, []Sample{{"c1", at(1.3), at(0.3), false}, {"c2", at(4), at(2), true}}},
		{Validity, []Sample{{"c1", at(1.3), at(7.7), false}}},
		{RoundTrips, nil},
	} {
		got := Samples(facts.Of(h), c.quantity)
		if len(got) != len(c.want) {
			t.Fatalf("%s: %v, want %v", c.quantity, got, c.want)
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", c.quantity, got[i], c.want[i])
			}
		}
	}
	h.Events[0].At = 5 * time.Second
	if got := Samples(facts.Of(h), Wait); got != nil {
		t.Errorf("of a history that contradicts itself: %v", got)
	}
}
