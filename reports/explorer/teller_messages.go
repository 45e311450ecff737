package explorer

import (
	"cmp"
	"slices"

	"lockstep/sim/history"
)

// flightsShown limits the messages of a picture. If there were more, lines would hide each other, so only writes are drawn.
const flightsShown = 150

// tellFlights draws the writes and, as long as there are few enough, the other messages that changed a server, and then all others.
func (t *teller) tellFlights() {
	var writes, requests, others []flight
	seen := map[flight]bool{}
	for i := range t.f.Events {
		e := &t.f.Events[i]
		if e.At > t.s.End || e.By == "" || e.By == e.Process || t.fruitless(i) && !t.proves(i) && !t.intrudes(e) {
			continue
		}
		if e.Kind == history.Message && slices.Contains(t.servers, e.By) && slices.Contains(t.servers, e.Process) {
			continue // servers talk to each other all the time
		}
		f := flight{From: e.By, To: e.Process, Sent: e.Sent, At: e.At}
		switch {
		case e.Kind == history.State && e.Sent > 0:
			seen[f] = true
			f.Client, f.Proof = e.By, t.proves(i)
			if atResource(e) {
				f.Write = true
				writes = append(writes, f)
			} else {
				requests = append(requests, f)
			}
		case t.silent[i] != "":
			f.Client, f.Write, f.Proof = e.By, true, t.proves(i)
			writes = append(writes, f)
		case e.Kind == history.Message:
			f.Lost = e.Op != history.Deliver
			f.Client = e.By
			if l := t.lane(e.Process); l != nil && l.Kind == ClientLane {
				f.Client = e.Process
			}
			others = append(others, f)
		}
	}
	// A message that caused a change has two events at the same instant.
	others = slices.DeleteFunc(others, func(f flight) bool {
		return seen[flight{From: f.From, To: f.To, Sent: f.Sent, At: f.At}]
	})
	t.s.Flights = writes
	if len(t.s.Flights)+len(requests) <= flightsShown {
		t.s.Flights = append(requests, t.s.Flights...)
	}
	if len(t.s.Flights)+len(others) <= flightsShown {
		t.s.Flights = append(others, t.s.Flights...)
	}
	slices.SortStableFunc(t.s.Flights, func(a, b flight) int {
		weight := func(f flight) int {
			switch {
			case f.Proof:
				return 2
			case f.Write:
				return 1
			}
			return 0
		}
		return cmp.Compare(weight(a), weight(b))
	})
}
