package search

import (
	"cmp"
	"slices"
	"time"

	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// What matters for a fault of a process is only its position among that process's own events; faults of different processes
// commute. So the sites of a node are its own events, those of a client the steps of its lane and the events of its operations,
// and the site of a message is the message.

// Sites lists the possible perturbations of a run of a scenario, in the order of time. The calm scenario has the lanes to which
// pauses are added; the magnitudes of the perturbations derive from c.
func Sites(calm *script.Scenario, o *play.Outcome, c Constants, kinds []script.Kind) []Perturbation {
	return newFinder(calm, o, c, kinds).sites()
}

// Ordered is like [Sites], but has more sites, and holds whatever can wait there past each later event that this can affect. whole is false
// if the run is so long that some of these events were left out.
func Ordered(calm *script.Scenario, o *play.Outcome, c Constants, kinds []script.Kind) (all []Perturbation, whole bool) {
	f := newFinder(calm, o, c, kinds)
	f.ordered = true
	all = f.sites()
	return all, !f.thinned
}

func newFinder(calm *script.Scenario, o *play.Outcome, c Constants, kinds []script.Kind) *finder {
	return &finder{run: calm.Resolve(calm.Runs[0]), history: o.History, Constants: c, kinds: kinds, end: lanesEnd(o)}
}

func (f *finder) sites() []Perturbation {
	f.atStart()
	f.betweenSteps()
	f.messages()
	f.betweenRequests()
	f.events()
	return ordered(f.found)
}

// lanesEnd returns when the last lane of a client ended. After that everything heals.
func lanesEnd(o *play.Outcome) time.Duration {
	var end time.Duration
	for _, e := range o.History.Events {
		if slices.Contains(o.History.Meta.Clients, e.Process) && e.Kind != history.Message && e.Kind != history.Injected {
			end = max(end, e.At)
		}
	}
	return end
}

// finder goes through a run and collects sites.
type finder struct {
	Constants
	run     script.Section // resolved, calm
	history *history.History
	kinds   []script.Kind
	end     time.Duration
	since   time.Duration // no sites before it are wanted, except from the beginning
	ordered bool          // see [Ordered]
	thinned bool          // some waits have been left out
	found   []Perturbation
}

// unwanted reports whether a site is too early.
func (f *finder) unwanted(at time.Duration) bool { return 0 < at && at < f.since }

func (f *finder) add(at time.Duration, kind script.Kind, steps ...script.Step) {
	if slices.Contains(f.kinds, kind) {
		f.found = append(f.found, Perturbation{Kind: kind, At: at, Steps: steps})
	}
}

// atStart adds what is wrong from the beginning.
func (f *finder) atStart() {
	for _, name := range slices.Concat(f.run.Clients(), f.locks()) {
		for _, sign := range []int64{-1, 1} {
			f.add(0, script.Drifting, script.AtStart{Fault: history.Drift{Process: name, PPM: sign * driftPPM}})
			f.add(0, script.Straying, script.AtStart{Fault: history.Drift{Process: name, PPM: sign * strayPPM}})
		}
	}
	for _, client := range f.run.Clients() {
		for _, node := range f.run.NodeNames() {
			for _, by := range f.slow() {
				f.add(0, script.SlowLink, script.AtStart{Fault: history.Delay{Link: history.Link{From: client, To: node, Both: true}, By: by}})
			}
		}
	}
	for _, node := range f.run.NodeNames() {
		restart := wait{what: waitingRestart, server: node}
		for _, down := range f.waits(restart, []time.Duration{f.long()}) {
			f.add(0, script.Crashing, script.AtStart{Fault: history.Crash{Process: node}}, script.At{Time: down, Fault: history.Restart{Process: node}})
		}
	}
	if !f.ordered {
		return
	}
	for _, by := range f.jumps() {
		for _, node := range f.locks() {
			f.add(0, script.Jumping, script.AtStart{Fault: history.Jump{Process: node, By: by}})
		}
		for _, client := range f.run.Clients() {
			f.add(0, script.ClientJumping, script.AtStart{Fault: history.Jump{Process: client, By: by}})
		}
	}
}

// locks are the nodes that can have the key of the lock.
func (f *finder) locks() []string { return slices.Concat(f.run.NodeNames(), f.run.ReplicaNames()) }

// betweenSteps adds the pauses of clients before the steps of their lanes.
func (f *finder) betweenSteps() {
	for _, lane := range f.run.Lanes {
		if lane.Process == script.Nemesis {
			continue
		}
		for i, at := range f.begins(lane) {
			if _, waits := lane.Steps[i].(script.Until); waits || f.unwanted(at) {
				continue // a pause before it is one after the step before
			}
			pauses := f.pauses()
			if _, sleeps := script.Once(lane.Steps[i]).(script.Sleep); !sleeps { // a pause before that comes to the same as one after it
				pauses = f.waits(wait{what: waitingClient, client: lane.Process, at: at}, pauses)
			}
			for _, d := range pauses {
				if at <= f.end && slices.Contains(f.kinds, script.Pausing) {
					f.found = append(f.found, Perturbation{Kind: script.Pausing, At: at, Client: lane.Process, Before: i, Steps: []script.Step{script.Pause{For: d}}})
				}
			}
		}
	}
}

// begins returns when each step of a lane began: with its operation, or, if it has none, with the step before it.
func (f *finder) begins(lane script.Lane) []time.Duration {
	var invoked []history.Event
	for _, e := range f.history.Events {
		if e.Process == lane.Process && e.Kind == history.Invoke {
			invoked = append(invoked, e)
		}
	}
	var begins []time.Duration
	var at time.Duration
	for _, step := range lane.Steps {
		op := operation(step)
		for tries := 0; len(invoked) > 0 && invoked[0].Op == op; tries++ {
			if _, again := script.Once(step).(script.Acquire); tries > 0 && !again {
				break // it belongs to another step
			}
			if tries == 0 {
				at = invoked[0].At
			}
			invoked = invoked[1:]
		}
		begins = append(begins, at)
	}
	return begins
}

// operation returns the operation that a step invokes, as in a history.
func operation(step script.Step) string {
	switch script.Once(step).(type) {
	case script.Acquire:
		return history.Acquire
	case script.Extend:
		return history.Extend
	case script.Release:
		return history.Release
	case script.Enter:
		return history.Enter
	case script.Write:
		return history.Write
	case script.Update:
		return history.Update
	case script.Read:
		return history.Read
	case script.Check:
		return history.Check
	case script.Increment:
		return history.Increment
	case script.Sleep, script.Until:
		return history.Wait
	}
	return ""
}

// messages adds the faults of single messages, which are identified by their link, their command, and a number.
func (f *finder) messages() {
	sent := slices.DeleteFunc(slices.Clone(f.history.Events), func(e history.Event) bool {
		return e.Kind != history.Message || e.Sent > f.end || e.Word == "" || e.Word == handshake
	})
	slices.SortStableFunc(sent, func(a, b history.Event) int { return cmp.Compare(a.Sent, b.Sent) })
	seen := map[history.Chosen]int{}
	for _, e := range sent {
		from, to := e.By, e.Process
		m := history.Chosen{Reply: f.run.IsClient(to), What: e.Word, Link: history.Link{From: from, To: to}}
		client, server := from, to
		if m.Reply {
			client, server = to, from
		}
		if !f.run.IsClient(client) || !slices.Contains(f.run.Servers(), server) {
			continue
		}
		seen[m]++
		if n := seen[m]; n > 1 {
			m.Nth = n
		}
		if f.unwanted(e.Sent) {
			continue
		}
		kind := script.Delaying
		if server == script.ResourceName {
			kind = script.LateWrite
		}
		w := wait{what: waitingRequest, client: client, server: server, text: e.Value, at: e.At}
		if m.Reply {
			w.what, w.over = waitingReply, f.over(client, e.At)
		}
		for _, by := range f.waits(w, f.delays()) {
			m.Action, m.By = history.DelayMessage, by
			f.add(e.Sent, kind, script.AtStart{Fault: m})
		}
		if kind == script.Delaying {
			m.Action, m.By = history.ResetMessage, 0
			f.add(e.Sent, script.Losing, script.AtStart{Fault: m})
		}
	}
}

// over returns when the operation ends that a client is in at an instant, or that instant if it is in none.
func (f *finder) over(client string, at time.Duration) time.Duration {
	for _, e := range f.history.Events {
		if e.Process == client && e.At >= at && e.EndsOperation() {
			return e.At
		}
	}
	return at
}

// betweenRequests adds what can happen to a client while it waits for a reply on which its next request, or the new end of its lease,
// depends: what the reply says may no longer be true when the client reads it. Requests that set the key of a lease are left to
// [finder.events]. Nothing depends on the last reply in any operation other than an acquire
// or an extension.
func (f *finder) betweenRequests() {
	type link struct{ client, node string }
	number := map[link]int{}      // of the requests that have arrived, those with which a connection begins included
	last := map[link]request{}    // of the operation that is under way
	during := map[string]string{} // by client: that operation
	idle := map[link]bool{}       // the last request has set no key of a lease
	pause := func(at link, r request) {
		if f.unwanted(r.at) {
			return
		}
		e := script.Event{Process: at.node, What: script.Receives, Value: at.client}
		if r.nth > 1 {
			e.Nth = r.nth
		}
		for _, d := range f.waits(wait{what: waitingClient, client: at.client, at: r.at}, f.pauses()) {
			f.add(r.at, script.Pausing, script.When{Event: e, Fault: history.Pause{Process: at.client, For: d}})
		}
		f.add(r.at, script.Dying, script.When{Event: e, Fault: history.Crash{Process: at.client}})
	}
	for _, e := range f.history.Events {
		if e.At > f.end {
			break
		}
		if f.run.IsClient(e.Process) && e.Kind != history.Message && e.Kind != history.Injected {
			granted := during[e.Process] == history.Acquire && e.Kind == history.OK
			for _, node := range f.run.NodeNames() {
				at := link{e.Process, node}
				if granted && idle[at] {
					pause(at, last[at])
				}
				delete(last, at)
				delete(idle, at)
			}
			if during[e.Process] = ""; e.Kind == history.Invoke {
				during[e.Process] = e.Op
			}
		}
		if _, ok := f.named(e); ok {
			delete(idle, link{e.By, e.Process})
		}
		if e.Kind != history.Message || e.Op != history.Deliver || !f.run.IsClient(e.By) || !slices.Contains(f.run.NodeNames(), e.Process) {
			continue
		}
		at := link{e.By, e.Process}
		number[at]++
		if e.Word == handshake || e.Word == "" {
			continue
		}
		r := request{nth: number[at], at: e.At, word: e.Word}
		if before, ok := last[at]; ok && !(before.word == "EVALSHA" && e.Word == "EVAL") { // the node did not know the script
			pause(at, before)
		}
		if during[e.By] == history.Extend {
			pause(at, r)
		}
		last[at], idle[at] = r, true
	}
}

// A request that has arrived at a node.
type request struct {
	nth  int // of its client, there
	at   time.Duration
	word string
}

// handshake is what go-redis sends first on each connection. A fault of it has the same effect as one of the request after it.
const handshake = "HELLO"

// events adds the faults right after an event of a client or of a node.
func (f *finder) events() {
	seen := map[script.Event]int{}
	for _, h := range f.history.Events {
		if h.At > f.end {
			break
		}
		e, ok := f.named(h)
		if !ok {
			continue
		}
		seen[e]++
		if n := seen[e]; n > 1 {
			e.Nth = n
		}
		if f.unwanted(h.At) {
			continue
		}
		if e.What.Server() {
			f.afterNodeEvent(h.At, e)
		} else {
			f.afterClientEvent(h.At, e)
		}
	}
}

// named returns the words for an event of a history to which a fault can be tied.
func (f *finder) named(h history.Event) (e script.Event, ok bool) {
	e.Process = h.Process
	switch {
	case h.Kind == history.State && f.run.IsLock(h.Process) && (h.Op == history.Set || h.Op == history.Delete):
		if e.What, e.Value = script.Sets, history.Client(h.Lease); h.Op == history.Delete {
			e.What, e.Value = script.Deletes, history.Client(h.Owner)
		}
		return e, f.run.IsClient(e.Value)
	case !f.run.IsClient(h.Process):
		return e, false
	}
	for _, what := range clientSites {
		if op, kinds := what.Means(); op == h.Op && slices.Contains(kinds, h.Kind) {
			e.What = what
			if what.Form() != "" {
				e.Value = h.Value
			}
			return e, true
		}
	}
	return e, false
}

// clientSites are the events of clients to which faults are tied.
var clientSites = []script.What{
	script.Acquires, script.Acquired, script.Refused, script.Extends, script.Extended, script.Releases, script.Released, script.Enters, script.Entered, script.Writes, script.Wrote, script.Updates, script.Updated, script.Renewed, script.Lost,
}

// withinSteps are the events of a client that are not at an end of a step, or after which it has read its clock and sent nothing yet.
var withinSteps = []script.What{script.Acquires, script.Refused, script.Extends, script.Renewed, script.Lost}

// afterNodeEvent adds what can happen to a node, and to the client of its reply, right after it set or deleted a key.
func (f *finder) afterNodeEvent(at time.Duration, e script.Event) {
	node, client := e.Process, e.Value
	now := func(fault history.Fault) script.When { return script.When{Event: e, Fault: fault} }
	later := func(d time.Duration, fault history.Fault) script.When {
		return script.When{Event: e, After: d, Fault: fault}
	}
	for _, down := range f.waits(wait{what: waitingRestart, server: node, at: at}, f.downs()) {
		f.add(at, script.Crashing, now(history.Crash{Process: node}), later(down, history.Restart{Process: node}))
		f.add(at, script.Emptying, now(history.Crash{Process: node}), later(down, history.Restart{Process: node, Empty: true}))
	}
	for _, d := range f.waits(wait{what: waitingNode, server: node, at: at}, f.pauses()) {
		f.add(at, script.Stalling, now(history.Pause{Process: node, For: d}))
	}
	for _, d := range f.waits(wait{what: waitingClient, client: client, at: at}, f.pauses()) {
		f.add(at, script.Pausing, now(history.Pause{Process: client, For: d}))
	}
	for _, by := range f.jumps() {
		f.add(at, script.Jumping, now(history.Jump{Process: node, By: by}))
		f.add(at, script.ClientJumping, now(history.Jump{Process: client, By: by}))
	}
	f.add(at, script.Dying, now(history.Crash{Process: client}))
	if node == "n1" {
		f.failover(at, e)
	}
}

// failover adds that a replica replaces n1.
func (f *finder) failover(at time.Duration, e script.Event) {
	for _, replica := range f.run.ReplicaNames() {
		f.add(at, script.FailingOver, script.When{Event: e, Fault: history.Promote{Process: replica}})
		for _, later := range f.waits(wait{what: waitingRestart, server: "n1", at: at}, []time.Duration{f.soon()}) {
			f.add(at, script.FailingOver, script.When{Event: e, Fault: history.Crash{Process: "n1"}}, script.When{Event: e, After: later, Fault: history.Promote{Process: replica}})
		}
	}
}

// afterClientEvent adds what can happen to a client, and to its links, right after an event of one of its operations.
func (f *finder) afterClientEvent(at time.Duration, e script.Event) {
	client := e.Process
	now := func(fault history.Fault) script.When { return script.When{Event: e, Fault: fault} }
	for _, by := range f.jumps() {
		f.add(at, script.ClientJumping, now(history.Jump{Process: client, By: by}))
	}
	f.add(at, script.Dying, now(history.Crash{Process: client}))
	if f.ordered && slices.Contains(withinSteps, e.What) {
		for _, d := range f.waits(wait{what: waitingClient, client: client, at: at}, f.pauses()) {
			f.add(at, script.Pausing, now(history.Pause{Process: client, For: d}))
		}
	}
	if e.What == script.Acquired { // the client may have waited for more than the key
		f.failover(at, e)
	}
	if _, kinds := e.What.Means(); !slices.Contains(kinds, history.Invoke) {
		return // links matter when a message is about to be sent
	}
	for _, link := range f.links(client) {
		f.add(at, script.Cutting, now(history.Cut{Link: link}), script.When{Event: e, After: f.long(), Fault: history.Heal{Link: link}})
	}
	if e.What != script.Acquires {
		return
	}
	for _, sides := range f.partitions() {
		var steps []script.Step
		for _, link := range sides {
			steps = append(steps, now(history.Cut{Link: link}))
		}
		for _, link := range sides {
			steps = append(steps, script.When{Event: e, After: f.long(), Fault: history.Heal{Link: link}})
		}
		f.add(at, script.Parting, steps...)
	}
}

// links returns the links of a client, and those for replication.
func (f *finder) links(client string) []history.Link {
	var links []history.Link
	for _, node := range f.run.NodeNames() {
		links = append(links, history.Link{From: client, To: node, Both: true})
	}
	for _, replica := range f.run.ReplicaNames() {
		links = append(links, history.Link{From: "n1", To: replica, Both: true})
	}
	return links
}

// partitions lists the ways to split clients and lock nodes into two sides such that at least one client is cut off from a node,
// each as the links that it cuts.
func (f *finder) partitions() [][]history.Link {
	clients, nodes := f.run.Clients(), f.locks()
	all := slices.Concat(clients, nodes)
	var ways [][]history.Link
	for sides := 1; sides < 1<<(len(all)-1); sides++ { // the last process is always on side 0
		side := func(i int) int { return sides >> i & 1 }
		var cut []history.Link
		for i := range clients {
			for j := range nodes {
				if side(i) != side(len(clients)+j) {
					cut = append(cut, history.Link{From: clients[i], To: nodes[j], Both: true})
				}
			}
		}
		for j := 1; j < len(nodes); j++ {
			if f.run.Replicas > 0 && side(len(clients)) != side(len(clients)+j) {
				cut = append(cut, history.Link{From: nodes[0], To: nodes[j], Both: true})
			}
		}
		if len(cut) > 1 { // a single link is a cut
			ways = append(ways, cut)
		}
	}
	return ways
}
