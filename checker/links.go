package checker

import (
	"slices"
	"time"

	"lockstep/sim/history"
)

// never is later than any instant of a run.
const never = history.NoEnd

// A direction is one direction of a link between two processes.
type direction struct{ from, to string }

// severed returns when messages could not pass in each direction, because it was cut or held, or because its delay made the other
// end as good as gone. It ignores resets, which are over at once, and faults of single messages.
func (ix *index) severed() map[direction][]stretch {
	if ix.broken != nil {
		return ix.broken
	}
	type state struct {
		cut, held, delayed bool
		since, shut        time.Duration
	}
	links := map[direction]*state{}
	ix.broken, ix.shut = map[direction][]stretch{}, map[direction][]stretch{}
	change := func(d direction, at time.Duration, f func(*state)) {
		s := links[d]
		if s == nil {
			s = &state{}
			links[d] = s
		}
		before, shut := s.cut || s.held || s.delayed, s.cut || s.held
		f(s)
		switch after := s.cut || s.held; {
		case after && !shut:
			s.shut = at
		case shut && !after:
			ix.shut[d] = append(ix.shut[d], stretch{s.shut, at})
		}
		switch after := s.cut || s.held || s.delayed; {
		case after && !before:
			s.since = at
		case before && !after:
			ix.broken[d] = append(ix.broken[d], stretch{s.since, at})
		}
	}
	both := func(l history.Link, at time.Duration, f func(*state)) {
		change(direction{l.From, l.To}, at, f)
		if l.Both {
			change(direction{l.To, l.From}, at, f)
		}
	}
	for _, e := range ix.Events {
		switch f := e.Fault().(type) {
		case history.Cut:
			both(f.Link, e.At, func(s *state) { s.cut = true })
		case history.Hold:
			both(f.Link, e.At, func(s *state) { s.held = true })
		case history.Delay:
			both(f.Link, e.At, func(s *state) { s.delayed = ix.outOfReach(f.By) })
		case history.ReleaseLink:
			both(f.Link, e.At, func(s *state) { s.held = false })
		case history.Heal:
			mend := func(s *state) { *s = state{since: s.since, shut: s.shut} }
			if f.Link != (history.Link{}) {
				both(f.Link, e.At, mend)
				continue
			}
			for d := range links {
				change(d, e.At, mend)
			}
		}
	}
	for d, s := range links {
		if s.cut || s.held {
			ix.shut[d] = append(ix.shut[d], stretch{s.shut, never})
		}
		if s.cut || s.held || s.delayed {
			ix.broken[d] = append(ix.broken[d], stretch{s.since, never})
		}
	}
	for d := range ix.broken {
		ix.broken[d] = merge(ix.broken[d])
	}
	return ix.broken
}

// keptBack returns when a fault held or delayed a message that it had chosen, in each direction. Messages that are sent after it
// on the same connection cannot overtake it. A message that is held waits for a release or a heal.
func (ix *index) keptBack() map[direction][]stretch {
	if ix.detained != nil {
		return ix.detained
	}
	ix.detained = map[direction][]stretch{}
	for i, e := range ix.Events {
		chosen, ok := e.Bites().(history.Chosen)
		if !ok {
			continue
		}
		link, s := direction{chosen.Link.From, chosen.Link.To}, stretch{e.At, never}
		switch chosen.Action {
		case history.DelayMessage:
			s.to = e.At + min(chosen.By, never-e.At)
		case history.HoldMessage:
			if end := slices.IndexFunc(ix.Events[i:], func(e history.Event) bool { return letsGo(e, link) }); end >= 0 {
				s.to = ix.at(i + end)
			}
		default:
			continue
		}
		ix.detained[link] = append(ix.detained[link], s)
	}
	for link := range ix.detained {
		ix.detained[link] = merge(ix.detained[link])
	}
	return ix.detained
}

// letsGo reports whether e releases messages that are held in a direction.
func letsGo(e history.Event, d direction) bool {
	var l history.Link
	switch f := e.Fault().(type) {
	case history.ReleaseLink:
		l = f.Link
	case history.Heal:
		l = f.Link
	default:
		return false
	}
	return l == history.Link{} || direction{l.From, l.To} == d || l.Both && direction{l.To, l.From} == d
}

// outOfReach reports whether a delay in one direction makes a server as good as gone. Both directions together may take as long
// as the sources let a client wait for a node: 5 to 50 ms at a TTL of 10 s (redis.io, "Distributed Locks").
func (ix *index) outOfReach(delay time.Duration) bool { return delay > 0 && delay >= ix.Meta.TTL/400 }

// apart returns when a process could not reach another, or the other could not reach it.
func (ix *index) apart(a, b string) []stretch {
	s := ix.severed()
	return merge(slices.Concat(s[direction{a, b}], s[direction{b, a}]))
}

// shutOff is apart without delays: however long the process waited.
func (ix *index) shutOff(a, b string) []stretch {
	ix.severed()
	return merge(slices.Concat(ix.shut[direction{a, b}], ix.shut[direction{b, a}]))
}
