package sim

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"lockstep/sim/history"
)

// A Branch makes a run differ from some instant on. Up to and including that instant it is the run that it would be without
// the branch, byte for byte. Then every fault ends, no further fault is injected, and random draws come from another seed.
type Branch struct {
	After time.Duration `json:"after"` // true time since the start; a negative one stands for the start itself
	Seed  uint64        `json:"seed"`
}

// A Sending identifies a message by its link, its text, and when it left. Messages that agree in all of these cannot be told apart.
type Sending struct {
	From string        `json:"from"`
	To   string        `json:"to"`
	Sent time.Duration `json:"sent"`
	Text string        `json:"text"` // as in [history.Event.Value]
}

// of reports whether a packet is one that s identifies. It must have been described.
func (s *Sending) of(p *packet) bool {
	return s != nil && p.kind == data && s.From == p.conn.link.From && s.To == p.conn.link.To && s.Sent == p.sent && s.Text == p.text
}

// branched reports whether the branch of the run, if it has one, has begun.
func (w *World) branched(now time.Duration) bool {
	return w.cfg.Branch != nil && now > w.cfg.Branch.After
}

// seed returns the seed of what is drawn now. Only the scheduler may call it.
func (w *World) seed() uint64 {
	if w.branched(w.now) {
		return w.cfg.Branch.Seed
	}
	return w.cfg.Seed
}

// Rand is [Rand] for draws in this world: after its branch they come from streams of the seed of the branch.
func (w *World) Rand(seed uint64, purpose, owner string) *rand.Rand {
	if w.cfg.Branch == nil {
		return Rand(seed, purpose, owner)
	}
	return rand.New(&branchedSource{w: w, before: Rand(seed, purpose, owner), after: Rand(w.cfg.Branch.Seed, purpose, owner)})
}

// branchedSource draws from one stream before the branch, and from another after it.
type branchedSource struct {
	w             *World
	before, after *rand.Rand
}

func (s *branchedSource) Uint64() uint64 {
	if s.w.branched(s.w.Now()) {
		return s.after.Uint64()
	}
	return s.before.Uint64()
}

// planBranch plans the branch.
func (w *World) planBranch() {
	b := w.cfg.Branch
	if b == nil {
		return
	}
	w.At(b.After+1, func() {
		if w.cfg.Reseed != nil {
			w.cfg.Reseed(int64(b.Seed))
		}
		w.Restore()
		for _, name := range slices.Sorted(maps.Keys(w.procs)) {
			w.procs[name].steadyClocks()
		}
	})
}

// steadyClocks makes the clocks of a process run at the right rate from now on. The error that they have stays.
func (p *Process) steadyClocks() {
	w := p.w
	if p.times.PPM != 0 {
		f := history.Drift{Process: p.Name}
		w.noteFault(f, 0)
		p.clock.drift(f)
	}
	w.mu.Lock()
	p.times = p.times.After(history.Jump{Process: p.Name}, w.Now()) // which ends a slew
	w.mu.Unlock()
	if s, ok := p.svc.(ClockWatcher); ok {
		s.ClockChanged()
	}
}
