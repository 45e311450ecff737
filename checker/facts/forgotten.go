package facts

import (
	"time"

	"lockstep/sim/history"
)

// Forgot returns the event by which a node came back from a crash with an earlier deadline of a key than a command had given it, and the
// deadline that it forgot, in true time. The event is -1 if there is none, or if a later command has set the deadline again.
func (f *Facts) Forgot(k Life) (event int, forgotten time.Duration) {
	event = -1
	due := f.Dues[k.From]
	for i := k.From + 1; i < k.To; i++ {
		e := f.Events[i]
		if e.Op != history.Retime || e.Process != k.Node || e.Key != k.Key {
			continue
		}
		switch {
		case e.By != "":
			event, forgotten, due = -1, 0, f.Dues[i]
		case f.Dues[i] < due-Rounding:
			event, forgotten = i, due
		}
	}
	return event, forgotten
}

// Commanded returns the last event before event i by which the command of a client gave a key its deadline. It ignores what the node took from
// its disk, or, as a replica, from the node that had replaced it.
func (f *Facts) Commanded(k Life, i int) int {
	last := k.From
	for j := k.From + 1; j < min(i, k.To); j++ {
		if e := f.Events[j]; e.Op == history.Retime && e.Process == k.Node && e.Key == k.Key && e.By != "" && !f.Servers[e.By] {
			last = j
		}
	}
	return last
}

// MissedExtension returns the promotion, before event i, of a node that has a copy of a key without a deadline, but did not receive the last
// extension of its lease: the link from the old primary did not work when the client learned that the lease was extended. A lock with such a
// key keeps the end of the lease in its value, which the history does not show. The result is -1 if there is no such promotion.
func (f *Facts) MissedExtension(k Life, i int) int {
	if k.Promise != history.NoEnd || !f.Servers[f.Events[k.From].By] {
		return -1
	}
	promoted := Before(f.Promotions[k.Group], i)
	extended := Before(f.Extensions[k.Label], promoted)
	if extended >= k.From && Covers(f.Apart(f.Events[k.From].By, k.Node), f.At(extended)) {
		return promoted
	}
	return -1
}
