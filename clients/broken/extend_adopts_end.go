package broken

import (
	"context"
	"time"

	"lockstep/clients"
	"lockstep/clients/internal/parts"
)

// extendAdoptsEnd remembers the latest end that an extension asked for. If an extension gets no answer and a later one succeeds, the lease
// adopts the latest end, but the key has the end of the later extension. It needs a long extension whose reply is lost, and a shorter one
// after it.
var extendAdoptsEnd = clients.Lock{
	Name:  "single-extend-adopts-end",
	About: "single-extend, which adopts the later end of an earlier extension without an answer when the next one succeeds",
	Like:  []string{"single-extend"},
	New: extendableOnOne(func(l *parts.Lease) extension {
		var end time.Time
		return func(ctx context.Context, start time.Time, ttl time.Duration) error {
			until := start.Add(ttl)
			end = latest(end, until)
			n, err := parts.ExtendOn(ctx, l.Env.Nodes[0], l.Name, l.Token, ttl)
			if err := l.Extended(n != 0, err, until); err != nil {
				return err
			}
			l.End, end = end, time.Time{}
			return nil
		}
	}),
}

// extendAdoptsEndOnMany is the same mistake on many nodes. It needs a long extension of which so many replies are lost that no majority is
// left.
var extendAdoptsEndOnMany = clients.Lock{
	Name:  "redlock-extend-adopts-end",
	About: "redlock-extend, which adopts the later end of an earlier extension without enough answers when the next one succeeds",
	Like:  []string{"redlock-extend"},
	New: extendableOnMany(func(l *parts.RedlockLease) extension {
		var end time.Time
		return func(ctx context.Context, start time.Time, ttl time.Duration) error {
			r := l.Redlock
			until, _ := r.Validity(start, ttl)
			end = latest(end, until)
			extended, gone := parts.Count(r.Ask(ctx, parts.Extend(l.Name, l.Token, ttl)))
			_, left := r.Validity(start, ttl)
			switch {
			case extended >= r.Quorum() && left:
				l.End, end = end, time.Time{}
				return nil
			case len(r.Env.Nodes)-gone < r.Quorum():
				return clients.ErrNotHeld
			}
			return clients.ErrNotExtended
		}
	}),
}

// latest returns the later of two times.
func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
