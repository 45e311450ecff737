package search

import (
	"slices"
	"time"

	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim"
	"lockstep/sim/history"
)

// Constants are the times that determine what happens in a run. The magnitudes of perturbations derive from them.
type Constants struct {
	TTL         time.Duration `json:"ttl"`
	NodeTimeout time.Duration `json:"nodeTimeout"` // how long a client waits for a node that does not answer
	Retry       time.Duration `json:"retry"`       // the longest delay of a client between its tries, when all nodes answer
}

// Magnitudes are slightly greater than the times that matter, so that a perturbation has a possible effect: a message overtakes
// another, or comes after its client gave up, or after the next try, or after the end of the lease.

func (c Constants) delays() []time.Duration {
	return distinct(c.NodeTimeout/2, c.NodeTimeout*6/5, c.NodeTimeout+c.Retry*6/5, c.long())
}

func (c Constants) slow() []time.Duration   { return distinct(c.NodeTimeout/5, c.NodeTimeout/2) }
func (c Constants) pauses() []time.Duration { return distinct(c.TTL/2, c.long()) }
func (c Constants) downs() []time.Duration  { return distinct(c.soon(), c.long()) }
func (c Constants) jumps() []time.Duration  { return []time.Duration{c.long(), -c.long()} }

// long returns more than a lease.
func (c Constants) long() time.Duration { return twoDigits(c.TTL * 6 / 5) }

// soon returns the duration of a quick restart.
func (c Constants) soon() time.Duration { return twoDigits(max(c.TTL/200, time.Millisecond)) }

// Rate errors: within the allowance of Redlock, one percent, and beyond it.
const (
	driftPPM = 5_000
	strayPPM = 100_000
)

// distinct rounds durations to two digits, and drops those below a millisecond and those that hardly differ from an earlier one.
func distinct(all ...time.Duration) []time.Duration {
	var kept []time.Duration
	for _, d := range all {
		d = twoDigits(d)
		alike := func(k time.Duration) bool { return max(d, k)*2 < min(d, k)*3 }
		if d >= time.Millisecond && !slices.ContainsFunc(kept, alike) {
			kept = append(kept, d)
		}
	}
	return kept
}

// twoDigits rounds a duration to two digits.
func twoDigits(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d.Abs()/unit >= 100 {
		unit *= 10
	}
	return d / unit * unit
}

// NodeTimeout measures how long a client waits for a node that does not answer, in a run in which the first request to n1 never
// arrives: until the operation ends. It is 0 if that is unknown.
func NodeTimeout(play play.Player, calm *script.Scenario, o *play.Outcome, seed uint64, build clients.New) time.Duration {
	var first history.Event
	for _, e := range o.History.Events {
		if e.Kind == history.Message && e.Process == "n1" && e.Word != "" && e.Word != handshake && slices.Contains(o.History.Meta.Clients, e.By) {
			first = e
			break
		}
	}
	if first.Word == "" {
		return 0
	}
	hold := Perturbation{Steps: []script.Step{script.AtStart{Fault: history.Chosen{What: first.Word, Link: history.Link{From: first.By, To: "n1"}, Action: history.HoldMessage}}}}
	held := Perturbed(calm, []Perturbation{hold})
	for _, e := range play(held, held.Runs[0], build, seed).History.Events {
		if e.Process == first.By && e.Op == history.Acquire && e.Kind != history.Invoke && e.At > first.Sent {
			return min(twoDigits(e.At-first.Sent), o.History.Meta.TTL)
		}
	}
	return 0
}

// RetryDelay returns the longest time in a calm run between a client's messages to nodes while it asks for the lock; 0 if it asks
// once.
func RetryDelay(o *play.Outcome) time.Duration {
	var longest time.Duration
	last := map[string]time.Duration{} // when each client last sent or received something during an acquire
	for _, e := range o.History.Events {
		if e.Op == history.Acquire && e.Kind != history.Message {
			delete(last, e.Process)
			if e.Kind == history.Invoke {
				last[e.Process] = e.At
			}
		}
		if e.Kind != history.Message {
			continue
		}
		if at, asking := last[e.By]; asking {
			longest = max(longest, e.Sent-at)
			last[e.By] = e.At
		}
		if _, asking := last[e.Process]; asking {
			last[e.Process] = e.At
		}
	}
	if longest < shortestRetry {
		return 0 // messages alone take that long
	}
	return twoDigits(longest)
}

// shortestRetry is the least time that counts as a delay between tries.
const shortestRetry = 5 * sim.MaxLatency

func (c Constants) String() string {
	text := "TTL " + history.FormatDuration(c.TTL)
	if c.NodeTimeout > 0 {
		text += ", node timeout " + history.FormatDuration(c.NodeTimeout)
	}
	if c.Retry > 0 {
		text += ", retry delay " + history.FormatDuration(c.Retry)
	}
	return text
}
