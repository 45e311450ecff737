package facts

import (
	"maps"
	"slices"
	"time"

	"lockstep/sim/history"
)

// A Direction is one direction of a link between two processes.
type Direction struct{ From, To string }

// Lasting returns the link of a fault that lasts until another ends it: a cut, a hold or a delay.
func Lasting(e history.Event) (history.Link, bool) {
	switch x := e.Fault().(type) {
	case history.Cut:
		return x.Link, true
	case history.Hold:
		return x.Link, true
	case history.Delay:
		return x.Link, x.By > 0
	}
	return history.Link{}, false
}

// readLinks finds out, for each direction of a link, when it was cut or held (Shut), when that or a long delay put the other end out of reach
// (broken), and when it was disturbed at all, be it only by a short delay (disturbed). It ignores resets, which are over at once, and faults
// of single messages.
func (f *Facts) readLinks() {
	type state struct {
		cut, held bool
		delay     time.Duration
	}
	levels := []struct {
		when map[Direction][]Stretch
		is   func(state) bool
	}{
		{f.Shut, func(s state) bool { return s.cut || s.held }},
		{f.broken, func(s state) bool { return s.cut || s.held || f.OutOfReach(s.delay) }},
		{f.disturbed, func(s state) bool { return s != state{} }},
	}
	links := map[Direction]state{}
	change := func(d Direction, at time.Duration, do func(*state)) {
		before := links[d]
		after := before
		do(&after)
		links[d] = after
		for _, l := range levels {
			switch s := l.when[d]; {
			case !l.is(before) && l.is(after):
				l.when[d] = append(s, Stretch{at, history.NoEnd})
			case l.is(before) && !l.is(after):
				s[len(s)-1].To = at
			}
		}
	}
	both := func(l history.Link, at time.Duration, do func(*state)) {
		change(Direction{l.From, l.To}, at, do)
		if l.Both {
			change(Direction{l.To, l.From}, at, do)
		}
	}
	for _, e := range f.Events {
		switch x := e.Fault().(type) {
		case history.Cut:
			both(x.Link, e.At, func(s *state) { s.cut = true })
		case history.Hold:
			both(x.Link, e.At, func(s *state) { s.held = true })
		case history.Delay:
			both(x.Link, e.At, func(s *state) { s.delay = x.By })
		case history.ReleaseLink:
			both(x.Link, e.At, func(s *state) { s.held = false })
		case history.Heal:
			mend := func(s *state) { *s = state{} }
			if x.Link != (history.Link{}) {
				both(x.Link, e.At, mend)
				continue
			}
			for d := range links {
				change(d, e.At, mend)
			}
		}
	}
	for _, l := range levels {
		for d := range l.when {
			l.when[d] = Merge(l.when[d])
		}
	}
}

// readKeptBack finds out when a fault held or delayed a message that it had chosen. A message that is held waits for a release or
// a heal.
func (f *Facts) readKeptBack() {
	for i, e := range f.Events {
		chosen, ok := e.Bites().(history.Chosen)
		if !ok {
			continue
		}
		link, s := Direction{chosen.Link.From, chosen.Link.To}, Stretch{e.At, history.NoEnd}
		switch chosen.Action {
		case history.DelayMessage:
			s.To = e.At + min(chosen.By, history.NoEnd-e.At)
		case history.HoldMessage:
			if end := slices.IndexFunc(f.Events[i:], func(e history.Event) bool { return letsGo(e, link) }); end >= 0 {
				s.To = f.At(i + end)
			}
		default:
			continue
		}
		f.KeptBack[link] = append(f.KeptBack[link], s)
	}
	for link := range f.KeptBack {
		f.KeptBack[link] = Merge(f.KeptBack[link])
	}
}

// letsGo reports whether e releases messages that are held in a direction.
func letsGo(e history.Event, d Direction) bool {
	var l history.Link
	switch f := e.Fault().(type) {
	case history.ReleaseLink:
		l = f.Link
	case history.Heal:
		l = f.Link
	default:
		return false
	}
	return l == history.Link{} || Direction{l.From, l.To} == d || l.Both && Direction{l.To, l.From} == d
}

// OutOfReach reports whether a delay in one direction makes a server as good as gone. Both directions together may take as long
// as the sources let a client wait for a node: 5 to 50 ms at a TTL of 10 s (redis.io, "Distributed Locks").
func (f *Facts) OutOfReach(delay time.Duration) bool { return delay > 0 && delay >= f.Meta.TTL/400 }

// Apart returns when a process could not reach another, or the other could not reach it.
func (f *Facts) Apart(a, b string) []Stretch {
	return Merge(slices.Concat(f.broken[Direction{a, b}], f.broken[Direction{b, a}]))
}

// Disturbed returns when some link was cut, held or slower than usual.
func (f *Facts) Disturbed() []Stretch {
	return Merge(slices.Concat(slices.Collect(maps.Values(f.disturbed))...))
}

// ShutOff is [Facts.Apart] without delays: however long the process waited.
func (f *Facts) ShutOff(a, b string) []Stretch {
	return Merge(slices.Concat(f.Shut[Direction{a, b}], f.Shut[Direction{b, a}]))
}
