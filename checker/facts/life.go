package facts

import (
	"slices"
	"sort"
	"time"

	"lockstep/sim/history"
)

// Rounding is how much shorter a key may live because deadlines in Redis are whole milliseconds.
const Rounding = time.Millisecond

// A Life is that of one key, from its setting to its end.
type Life struct {
	Node, Key, Label string
	Group            string        // the lock node of node: itself, or the node of which it is a replica
	From, To         int           // if nothing ends it, To is the number of events
	Set              int           // the last event that set its deadline
	Timed            time.Duration // when that was
	Ordered          time.Duration // when that command reached the node to which a client sent it; for a copy that is another node
	Promise          time.Duration // its TTL from then on, or history.NoEnd
	Vote             bool          // a client set it, so it counts towards a majority; a copy does not
	lasting          bool          // its client set no deadline
	renewed          time.Duration // the deadline by the last silent renewal of its client; 0 if there was none
}

// A place is where a key can be.
type place struct{ node, key string }

// readKeys follows the keys of the lock nodes and of their replicas. A replicated key is not a vote.
func (f *Facts) readKeys() {
	f.readPassing()
	living := func(p place) *Life {
		if all := f.livesAt[p]; len(all) > 0 && f.Lives[all[len(all)-1]].To == len(f.Events) {
			return &f.Lives[all[len(all)-1]]
		}
		return nil
	}
	votes := map[string]map[string]int{} // label → group → number of keys there
	voting := map[string]int{}           // label → number of groups with enough of them
	end := func(p place, i int) (label string, vote bool) {
		l := living(p)
		if l == nil {
			return "", false
		}
		l.To = i
		if groups := votes[l.Label]; l.Vote {
			if groups[l.Group]--; groups[l.Group] == f.keys-1 {
				voting[l.Label]--
			}
		}
		return l.Label, l.Vote
	}
	begin := func(p place, label string, i int) {
		before, voted := end(p, i)
		if label == "" {
			return // another kind of key, such as the counter of fencing tokens
		}
		again := voted && before == label // a lease that overwrites its own key keeps the vote, and gets no second one
		l := Life{
			Node: p.node, Key: p.key, Label: label, Group: f.Groups[p.node], From: i, To: len(f.Events),
			Vote: again || !f.Servers[f.Events[i].By] && !f.Passing[p.key],
		}
		f.date(&l, i)
		l.lasting = l.Promise == history.NoEnd
		f.LivesOf[label] = append(f.LivesOf[label], len(f.Lives))
		f.livesAt[p] = append(f.livesAt[p], len(f.Lives))
		f.Lives = append(f.Lives, l)
		if !l.Vote {
			return
		}
		if votes[label] == nil {
			votes[label] = map[string]int{}
		}
		votes[label][l.Group]++
		if votes[label][l.Group] != f.keys {
			return
		}
		if voting[label]++; voting[label] == f.Meta.Quorum() && !again {
			f.grants[label] = append(f.grants[label], i)
		}
	}
	counts := f.counters()
	for i, e := range f.Events {
		if e.Kind != history.State || f.Groups[e.Process] == "" {
			continue
		}
		if counts(e.Key) {
			f.Fences[e.Process] = append(f.Fences[e.Process], i)
		}
		p := place{e.Process, e.Key}
		switch e.Op {
		case history.Set, history.Over:
			begin(p, f.marked(i), i)
		case history.Retime:
			if l := living(p); l != nil {
				f.date(l, i)
				if e.By != history.Client(l.Label) {
					continue
				}
				l.lasting = l.Promise == history.NoEnd
				if f.Unasked(i) {
					l.renewed = l.Due()
				}
			}
		case history.Delete, history.Expire, history.Lose:
			end(p, i)
		}
	}
}

// readPassing finds the keys that stood for a lease only until it was obtained: when its Acquire returned, clients had removed them from all
// nodes, and another key stood for it. A key of that name says that a client wants the lock, or waits for it, and is no vote.
func (f *Facts) readPassing() {
	if f.keys > 1 {
		return // the lock says how many keys a lease has
	}
	at := map[place]string{}                // the lease that a key stands for
	names := map[string]map[string]string{} // label → key → how it ended last; empty while it is there
	end := func(p place, how string) {
		if label := at[p]; label != "" {
			names[label][p.key] = how
			delete(at, p)
		}
	}
	for i, e := range f.Events {
		p := place{e.Process, e.Key}
		switch {
		case e.Kind == history.OK && e.Op == history.Acquire && len(names[e.Lease]) > 1:
			there := map[string]bool{}
			for q, label := range at {
				if label == e.Lease {
					there[q.key] = true
				}
			}
			for key, how := range names[e.Lease] {
				if len(there) > 0 && !there[key] && (how == history.Delete || how == history.Over) {
					f.Passing[key] = true
				}
			}
		case e.Kind != history.State || f.Groups[e.Process] == "" || f.Servers[e.By]:
		case e.Op == history.Set || e.Op == history.Over:
			end(p, e.Op)
			if label := f.marked(i); label != "" {
				if names[label] == nil {
					names[label] = map[string]string{}
				}
				at[p], names[label][e.Key] = label, ""
			}
		case e.Op == history.Delete || e.Op == history.Expire || e.Op == history.Lose:
			end(p, e.Op)
		}
	}
}

// Unasked reports whether the client that set a deadline by event i did so silently: outside of an operation that sets deadlines,
// and the key had one before.
func (f *Facts) Unasked(i int) bool {
	e := f.Events[i]
	for in := Before(f.Invokes[e.By], i); in >= 0; in = Before(f.Invokes[e.By], in) {
		if f.At(in) > e.Departure() {
			continue
		}
		switch out, ended := f.Outcome[in]; f.Events[in].Op {
		case history.Acquire, history.Extend, history.Release:
			return ended && f.At(out) < e.Departure()
		}
		return true
	}
	return false
}

// marked returns the lease that a key stands for after event i set its value. If two clients drew the same token, it has the name
// of the client that sent it first, but the key stands for the lease of the other. If a command puts the mark of a third client
// in the place of that of a lease, no token was drawn: if a queue is one key, the next in line has come to the front.
func (f *Facts) marked(i int) string {
	e := f.Events[i]
	if e.Lease == "" || e.By == "" || f.Servers[e.By] || history.Client(e.Lease) == e.By || f.Advances(i) {
		return e.Lease
	}
	if in := Before(f.Invokes[e.By], i); in >= 0 {
		if out, ok := f.Outcome[in]; ok && f.Events[out].Op == history.Acquire && f.Events[out].Lease != "" {
			return f.Events[out].Lease
		}
	}
	return e.By + "#?" // it was never obtained
}

// Advances reports whether event i brings the next in a queue to its front: by a command of one client, the key of a lease
// stands for that of another. A script may delete the key first, and then set it again.
func (f *Facts) Advances(i int) bool {
	e := f.Events[i]
	if e.Lease == "" || e.By == "" || f.Servers[e.By] || history.Client(e.Lease) == e.By {
		return false
	}
	if e.Op == history.Over {
		return e.Owner != ""
	}
	for j := i - 1; j >= 0 && e.Op == history.Set; j-- {
		d := f.Events[j]
		if d.Kind != history.State || d.Process != e.Process || d.By != e.By || d.At != e.At || d.Sent != e.Sent {
			return false
		}
		if d.Key == e.Key {
			return d.Op == history.Delete && d.Owner != ""
		}
	}
	return false
}

// LifeAt returns the life of a key that went on until event i, or beyond; nil if there was none.
func (f *Facts) LifeAt(node, key string, i int) *Life {
	lives := f.livesAt[place{node, key}]
	n := sort.Search(len(lives), func(n int) bool { return f.Lives[lives[n]].From >= i })
	if n == 0 || f.Lives[lives[n-1]].To < i {
		return nil
	}
	return &f.Lives[lives[n-1]]
}

// Lifetime returns how long a key lived after its deadline was last set.
func (f *Facts) Lifetime(l Life) time.Duration { return f.At(l.To) - l.Timed }

// promise returns the TTL that event i gave a key. That is what the command said, and not the TTL of the run: a lock that gives
// its keys less gets what it asked for. If the history has no deadline for a key, the TTL of the run is assumed. A copy has the
// rest of the original's TTL, whatever the clock of its own node says.
func (f *Facts) promise(l Life, i int) time.Duration {
	e := f.Events[i]
	if k := f.original(l, i); k != nil {
		if due := k.Due(); due < history.NoEnd {
			return max(0, due-e.At)
		}
		return history.NoEnd
	}
	switch {
	case e.Until == history.NoEnd, e.Until == 0 && f.Meta.TTL <= 0:
		return history.NoEnd
	case e.Until == 0:
		return f.Meta.TTL
	}
	return e.Until - (e.At + e.Wall)
}

// date sets the deadline of a key by event i.
func (f *Facts) date(l *Life, i int) {
	l.Set, l.Timed, l.Ordered, l.Promise = i, f.At(i), f.At(i), f.promise(*l, i)
	if k := f.original(*l, i); k != nil {
		l.Ordered = k.Ordered
	}
	f.Dues[i] = l.Due()
}

// original returns the key of which another was a copy when event i set its deadline, or nil.
func (f *Facts) original(l Life, i int) *Life {
	by := f.Events[i].By
	if !f.Servers[by] {
		return nil
	}
	for _, n := range slices.Backward(f.LivesOf[l.Label]) {
		if k := &f.Lives[n]; k.Node == by && k.Key == l.Key {
			return k
		}
	}
	return nil
}

// Due returns the deadline of a key in true time, had its node kept it and had its clock been right.
func (l Life) Due() time.Duration {
	if l.Promise < 0 {
		return l.Timed
	}
	return Later(l.Timed, l.Promise)
}

// Overdue returns when a key should be gone at the latest, even if its clock is a little slow: it allows a hundredth, and the 10
// ms that it may take to notice that a key has expired.
func (l Life) Overdue() time.Duration {
	return Later(l.Due(), max(0, l.Promise)/100+10*time.Millisecond)
}

// Early reports whether a key was gone before its TTL had passed in true time, though no command removed it.
func (f *Facts) Early(l Life) bool {
	if l.To == len(f.Events) {
		return false
	}
	switch f.Events[f.Cause(l)].Op {
	case history.Expire:
		return l.Promise != history.NoEnd && f.Lifetime(l) < l.Promise-Rounding
	case history.Lose:
		return f.Lifetime(l) < l.Promise-Rounding
	}
	return false
}

// Cause returns the event that ended a key. The cause for a copy is that for its original.
func (f *Facts) Cause(l Life) int {
	if l.To == len(f.Events) || !f.Servers[f.Events[l.To].By] {
		return l.To
	}
	for _, n := range slices.Backward(f.LivesOf[l.Label]) {
		if k := f.Lives[n]; k.Node == f.Events[l.To].By && k.Key == l.Key && k.To < l.To {
			return k.To
		}
	}
	return l.To
}
