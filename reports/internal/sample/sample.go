// Package sample has hand-made histories for the tests of reports.
package sample

import (
	"fmt"
	"slices"
	"time"

	"lockstep/sim/history"
)

const (
	ms  = time.Millisecond
	us  = time.Microsecond
	TTL = 10 * time.Second
)

// A Builder makes a history as a run would have recorded it. Each method adds something that happens in a run.
type Builder struct {
	H       history.History
	Ops     map[string]int           // the latest operation of each client
	leases  map[string]int           // how many leases each client asked for
	faults  int                      // how many faults there were
	wall    map[string]time.Duration // how far wall clocks are ahead
	keys    map[string]string        // the lease whose key each node has
	Ends    map[string]time.Duration // when that key ends, by the wall clock of the node
	highest int64
}

func NewBuilder(scenario, lock string, nodes, clients int, resource string) *Builder {
	b := &Builder{Ops: map[string]int{}, leases: map[string]int{}, wall: map[string]time.Duration{}, keys: map[string]string{},
		Ends: map[string]time.Duration{}}
	b.H.Meta = history.Meta{Scenario: scenario, Lock: lock, On: "sim", Seed: 1, Resource: resource, TTL: TTL}
	for i := range nodes {
		b.H.Meta.Nodes = append(b.H.Meta.Nodes, fmt.Sprintf("n%d", i+1))
	}
	for i := range clients {
		b.H.Meta.Clients = append(b.H.Meta.Clients, fmt.Sprintf("c%d", i+1))
	}
	return b
}

// History ends the run as every run ends: faults heal, and a probe must acquire the lock. The events are in order of time.
func (b *Builder) History() *history.History {
	b.sort()
	end := b.H.Events[len(b.H.Events)-1].At
	b.Fault(end+ms, history.Heal{})
	b.H.Meta.Probe, b.H.Meta.Bound = "probe", 5*time.Second
	end = b.Acquire(end+TTL+2*ms, "probe", b.highest+1, b.H.Meta.Nodes...)
	b.Release(end, "probe", b.H.Meta.Nodes...)
	b.sort()
	return &b.H
}

func (b *Builder) sort() {
	slices.SortStableFunc(b.H.Events, func(x, y history.Event) int { return int(x.At - y.At) })
	for i := range b.H.Events {
		e := &b.H.Events[i]
		e.Clock = e.At
	}
}

func (b *Builder) Add(e history.Event) { b.H.Events = append(b.H.Events, e) }

func (b *Builder) Fault(at time.Duration, f history.Fault) {
	b.faults++
	process := f.Target()
	e := history.Event{At: at, Process: process, Kind: history.Injected, Op: f.Verb(), ID: b.faults, Value: f.String()}
	if j, ok := f.(history.Jump); ok {
		b.wall[j.Process] += j.By
		e.Wall = b.wall[j.Process]
	}
	b.Add(e)
	b.Add(history.Event{At: at, Process: process, Kind: history.Bite, ID: b.faults})
	if j, ok := f.(history.Jump); ok && b.keys[j.Process] != "" && at+b.wall[j.Process] >= b.Ends[j.Process] {
		b.expire(at, j.Process)
	}
}

func (b *Builder) expire(at time.Duration, node string) {
	b.Add(history.Event{At: at, Wall: b.wall[node], Process: node, Kind: history.State, Op: history.Expire, Lock: "lock", Key: "lock",
		Owner: b.keys[node], Until: b.Ends[node]})
	delete(b.keys, node)
}

func (b *Builder) lose(at time.Duration, node string) {
	b.Add(history.Event{At: at, Process: node, Kind: history.State, Op: history.Lose, Lock: "lock", Key: "lock", Owner: b.keys[node]})
	delete(b.keys, node)
}

// latency is how long a message takes: about half a millisecond, different for each link.
func latency(from, to string) time.Duration {
	return 420*us + time.Duration(from[len(from)-1]%7)*37*us + time.Duration(to[len(to)-1]%7)*71*us
}

func (b *Builder) message(from, to string, sent time.Duration, text string) time.Duration {
	at := sent + latency(from, to)
	b.Add(history.Event{At: at, Process: to, Kind: history.Message, Op: history.Deliver, By: from, Sent: sent, Value: text})
	return at
}

// Acquire has a client ask some nodes for the lock, and returns the time of the outcome. It succeeds if a quorum is free.
func (b *Builder) Acquire(at time.Duration, client string, fence int64, nodes ...string) time.Duration {
	b.Ops[client]++
	b.leases[client]++
	id, lease := b.Ops[client], fmt.Sprintf("%s#%d", client, b.leases[client])
	b.Add(history.Event{At: at, Process: client, Kind: history.Invoke, Op: history.Acquire, ID: id, Lock: "lock", Lease: lease})
	granted, end := 0, at
	for _, n := range nodes {
		sent := at + 15*us
		got := b.message(client, n, sent, "SET lock NX PX 10000")
		if b.keys[n] != "" && got+b.wall[n] > b.Ends[n] {
			b.expire(b.Ends[n]-b.wall[n], n)
		}
		answer := "nil"
		if b.keys[n] == "" {
			answer = "OK"
			granted++
			b.keys[n], b.Ends[n] = lease, got+b.wall[n]+TTL
			b.Add(history.Event{At: got, Wall: b.wall[n], Process: n, Kind: history.State, Op: history.Set, Lock: "lock", Key: "lock", Lease: lease,
				By: client, Sent: sent, Until: b.Ends[n]})
		}
		end = max(end, b.message(n, client, got+20*us, answer))
	}
	e := history.Event{At: end + 10*us, Process: client, Kind: history.Fail, Op: history.Acquire, ID: id, Lock: "lock", Lease: lease, Error: "not acquired"}
	if granted >= b.H.Meta.Quorum() {
		e.Kind, e.Error, e.Until, e.Fence = history.OK, "", at+TTL, fence
	}
	b.Add(e)
	if e.Kind == history.Fail {
		b.giveBack(e.At-5*us, client, lease, nodes)
	}
	return e.At
}

// giveBack deletes the keys of a lease on some nodes, and returns the time of the last reply.
func (b *Builder) giveBack(at time.Duration, client, lease string, nodes []string) time.Duration {
	end := at
	for _, n := range nodes {
		sent := at + 15*us
		got := b.message(client, n, sent, "EVALSHA release lock")
		if b.keys[n] != "" && got+b.wall[n] > b.Ends[n] {
			b.expire(b.Ends[n]-b.wall[n], n)
		}
		if b.keys[n] == lease {
			b.Add(history.Event{At: got, Wall: b.wall[n], Process: n, Kind: history.State, Op: history.Delete, Lock: "lock", Key: "lock", Owner: lease,
				By: client, Sent: sent, Until: b.Ends[n]})
			delete(b.keys, n)
		}
		end = max(end, b.message(n, client, got+20*us, "1"))
	}
	return end
}

func (b *Builder) Release(at time.Duration, client string, nodes ...string) time.Duration {
	b.Ops[client]++
	id, lease := b.Ops[client], fmt.Sprintf("%s#%d", client, b.leases[client])
	b.Add(history.Event{At: at, Process: client, Kind: history.Invoke, Op: history.Release, ID: id, Lock: "lock", Lease: lease})
	end := b.giveBack(at, client, lease, nodes)
	b.Add(history.Event{At: end + 10*us, Process: client, Kind: history.OK, Op: history.Release, ID: id, Lock: "lock", Lease: lease})
	return end + 10*us
}

// Write has a client write under its latest lease, and returns the time of the reply.
func (b *Builder) Write(at time.Duration, client, value string, fence int64) time.Duration {
	b.Ops[client]++
	id, lease := b.Ops[client], fmt.Sprintf("%s#%d", client, b.leases[client])
	b.Add(history.Event{At: at, Process: client, Kind: history.Invoke, Op: history.Write, ID: id, Lock: "lock", Lease: lease, Value: value, Fence: fence})
	sent := at + 15*us
	got := b.message(client, "resource", sent, "write "+value)
	op, kind, err := history.Accept, history.OK, ""
	if b.H.Meta.Resource == "fenced" && fence < b.highest {
		op, kind, err = history.Reject, history.Fail, "rejected"
	}
	b.highest = max(b.highest, fence)
	b.Add(history.Event{At: got, Process: "resource", Kind: history.State, Op: op, Lock: "lock", Lease: lease, By: client, Sent: sent, Value: value, Fence: fence})
	end := b.message("resource", client, got+20*us, op)
	b.Add(history.Event{At: end, Process: client, Kind: kind, Op: history.Write, ID: id, Lock: "lock", Lease: lease, Value: value, Fence: fence, Error: err})
	return end
}

func (b *Builder) exit(at time.Duration, client string) {
	b.Add(history.Event{At: at, Process: client, Kind: history.Info, Op: history.Exit})
}
