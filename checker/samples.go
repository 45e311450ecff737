package checker

import (
	"time"

	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// A Sample is one of the values that a [Measurement] of [Wait] or [Validity] summarizes.
type Sample struct {
	Client string
	At     time.Duration // when the acquire returned, or the client gave up
	Value  time.Duration // how long the client asked, or what was left of the lease
	Vain   bool          // of Wait: it never got the lock
}

// Samples returns the values behind a quantity, in the order in which they began; nil for a quantity that has none, and for a
// history that contradicts itself.
func Samples(f *facts.Facts, q Quantity) []Sample {
	if q != Wait && q != Validity || f.Malformed != nil {
		return nil
	}
	if q == Wait {
		return (&index{Facts: f}).asked()
	}
	return (&index{Facts: f}).validities()
}

// asked returns how long each client asked, with or without success.
func (ix *index) asked() []Sample {
	var all []Sample
	for _, a := range ix.asks() {
		if a.client != ix.Meta.Probe {
			all = append(all, Sample{Client: a.client, At: a.To, Value: a.To - a.From, Vain: !a.got})
		}
	}
	return all
}

// validities returns what was left of each lease that has an end when its acquire returned.
func (ix *index) validities() []Sample {
	var all []Sample
	for _, l := range ix.Leases {
		if e := ix.Events[l.ReturnEvent]; l.Client != ix.Meta.Probe && e.Until != history.NoEnd {
			all = append(all, Sample{Client: l.Client, At: e.At, Value: e.Until - e.Clock})
		}
	}
	return all
}
