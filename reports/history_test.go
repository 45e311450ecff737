package reports

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/sim/history"
)

const (
	ms  = time.Millisecond
	us  = time.Microsecond
	ttl = 10 * time.Second
)

// A builder makes a history by hand, the way a run would have recorded it. Its methods are what happens in a run.
type builder struct {
	h       history.History
	ops     map[string]int           // the latest operation of each client
	leases  map[string]int           // how many leases each client asked for
	faults  int                      // how many faults there were
	wall    map[string]time.Duration // how far wall clocks are ahead
	keys    map[string]string        // what each node holds
	ends    map[string]time.Duration // when, by the wall clock of the node
	highest int64
}

func newBuilder(scenario, lock string, nodes, clients int, resource string) *builder {
	b := &builder{ops: map[string]int{}, leases: map[string]int{}, wall: map[string]time.Duration{}, keys: map[string]string{},
		ends: map[string]time.Duration{}}
	b.h.Meta = history.Meta{Scenario: scenario, Lock: lock, On: "sim", Seed: 1, Resource: resource, TTL: ttl}
	for i := range nodes {
		b.h.Meta.Nodes = append(b.h.Meta.Nodes, fmt.Sprintf("n%d", i+1))
	}
	for i := range clients {
		b.h.Meta.Clients = append(b.h.Meta.Clients, fmt.Sprintf("c%d", i+1))
	}
	return b
}

// history ends the run as every run ends, with everything healed and a probe that must acquire, and returns it in order.
func (b *builder) history() *history.History {
	b.sort()
	end := b.h.Events[len(b.h.Events)-1].At
	b.fault(end+ms, history.Heal{})
	b.h.Meta.Probe, b.h.Meta.Bound = "probe", 5*time.Second
	end = b.acquire(end+ttl+2*ms, "probe", b.highest+1, b.h.Meta.Nodes...)
	b.release(end, "probe", b.h.Meta.Nodes...)
	b.sort()
	return &b.h
}

func (b *builder) sort() {
	slices.SortStableFunc(b.h.Events, func(x, y history.Event) int { return int(x.At - y.At) })
	for i := range b.h.Events {
		e := &b.h.Events[i]
		e.Clock = e.At
	}
}

func (b *builder) add(e history.Event) { b.h.Events = append(b.h.Events, e) }

func (b *builder) fault(at time.Duration, f history.Fault) {
	b.faults++
	process := f.Target()
	e := history.Event{At: at, Process: process, Kind: history.Injected, Op: f.Verb(), ID: b.faults, Value: f.String()}
	if j, ok := f.(history.Jump); ok {
		b.wall[j.Process] += j.By
		e.Wall = b.wall[j.Process]
	}
	b.add(e)
	b.add(history.Event{At: at, Process: process, Kind: history.Bite, ID: b.faults})
	if j, ok := f.(history.Jump); ok && b.keys[j.Process] != "" && at+b.wall[j.Process] >= b.ends[j.Process] {
		b.expire(at, j.Process)
	}
}

func (b *builder) expire(at time.Duration, node string) {
	b.add(history.Event{At: at, Wall: b.wall[node], Process: node, Kind: history.State, Op: history.Expire, Lock: "lock", Key: "lock",
		Owner: b.keys[node], Until: b.ends[node]})
	delete(b.keys, node)
}

func (b *builder) lose(at time.Duration, node string) {
	b.add(history.Event{At: at, Process: node, Kind: history.State, Op: history.Lose, Lock: "lock", Key: "lock", Owner: b.keys[node]})
	delete(b.keys, node)
}

// latency is how long a message takes: about half a millisecond, different for each link.
func latency(from, to string) time.Duration {
	return 420*us + time.Duration(from[len(from)-1]%7)*37*us + time.Duration(to[len(to)-1]%7)*71*us
}

func (b *builder) message(from, to string, sent time.Duration, text string) time.Duration {
	at := sent + latency(from, to)
	b.add(history.Event{At: at, Process: to, Kind: history.Message, Op: history.Deliver, By: from, Sent: sent, Value: text})
	return at
}

// acquire lets a client ask some nodes, and returns when it knows. It succeeds where a quorum is free.
func (b *builder) acquire(at time.Duration, client string, fence int64, nodes ...string) time.Duration {
	b.ops[client]++
	b.leases[client]++
	id, lease := b.ops[client], fmt.Sprintf("%s#%d", client, b.leases[client])
	b.add(history.Event{At: at, Process: client, Kind: history.Invoke, Op: history.Acquire, ID: id, Lock: "lock", Lease: lease})
	granted, end := 0, at
	for _, n := range nodes {
		sent := at + 15*us
		got := b.message(client, n, sent, "SET lock NX PX 10000")
		if b.keys[n] != "" && got+b.wall[n] > b.ends[n] {
			b.expire(b.ends[n]-b.wall[n], n)
		}
		answer := "nil"
		if b.keys[n] == "" {
			answer = "OK"
			granted++
			b.keys[n], b.ends[n] = lease, got+b.wall[n]+ttl
			b.add(history.Event{At: got, Wall: b.wall[n], Process: n, Kind: history.State, Op: history.Set, Lock: "lock", Key: "lock", Lease: lease,
				By: client, Sent: sent, Until: b.ends[n]})
		}
		end = max(end, b.message(n, client, got+20*us, answer))
	}
	e := history.Event{At: end + 10*us, Process: client, Kind: history.Fail, Op: history.Acquire, ID: id, Lock: "lock", Lease: lease, Error: "not acquired"}
	if granted >= b.h.Meta.Quorum() {
		e.Kind, e.Error, e.Until, e.Fence = history.OK, "", at+ttl, fence
	}
	b.add(e)
	if e.Kind == history.Fail {
		b.giveBack(e.At-5*us, client, lease, nodes)
	}
	return e.At
}

// giveBack deletes the keys of a lease on some nodes, and returns when the last reply is back.
func (b *builder) giveBack(at time.Duration, client, lease string, nodes []string) time.Duration {
	end := at
	for _, n := range nodes {
		sent := at + 15*us
		got := b.message(client, n, sent, "EVALSHA release lock")
		if b.keys[n] != "" && got+b.wall[n] > b.ends[n] {
			b.expire(b.ends[n]-b.wall[n], n)
		}
		if b.keys[n] == lease {
			b.add(history.Event{At: got, Wall: b.wall[n], Process: n, Kind: history.State, Op: history.Delete, Lock: "lock", Key: "lock", Owner: lease,
				By: client, Sent: sent, Until: b.ends[n]})
			delete(b.keys, n)
		}
		end = max(end, b.message(n, client, got+20*us, "1"))
	}
	return end
}

func (b *builder) release(at time.Duration, client string, nodes ...string) time.Duration {
	b.ops[client]++
	id, lease := b.ops[client], fmt.Sprintf("%s#%d", client, b.leases[client])
	b.add(history.Event{At: at, Process: client, Kind: history.Invoke, Op: history.Release, ID: id, Lock: "lock", Lease: lease})
	end := b.giveBack(at, client, lease, nodes)
	b.add(history.Event{At: end + 10*us, Process: client, Kind: history.OK, Op: history.Release, ID: id, Lock: "lock", Lease: lease})
	return end + 10*us
}

// write lets a client write under its latest lease.
func (b *builder) write(at time.Duration, client, value string, fence int64) time.Duration {
	b.ops[client]++
	id, lease := b.ops[client], fmt.Sprintf("%s#%d", client, b.leases[client])
	b.add(history.Event{At: at, Process: client, Kind: history.Invoke, Op: history.Write, ID: id, Lock: "lock", Lease: lease, Value: value, Fence: fence})
	sent := at + 15*us
	got := b.message(client, "resource", sent, "write "+value)
	op, kind, err := history.Accept, history.OK, ""
	if b.h.Meta.Resource == "fenced" && fence < b.highest {
		op, kind, err = history.Reject, history.Fail, "rejected"
	}
	b.highest = max(b.highest, fence)
	b.add(history.Event{At: got, Process: "resource", Kind: history.State, Op: op, Lock: "lock", Lease: lease, By: client, Sent: sent, Value: value, Fence: fence})
	end := b.message("resource", client, got+20*us, op)
	b.add(history.Event{At: end, Process: client, Kind: kind, Op: history.Write, ID: id, Lock: "lock", Lease: lease, Value: value, Fence: fence, Error: err})
	return end
}

func (b *builder) exit(at time.Duration, client string) {
	b.add(history.Event{At: at, Process: client, Kind: history.Info, Op: history.Exit})
}

// A run is a history and what the checker finds in it.
type run struct {
	name   string
	h      *history.History
	result checker.Result
}

func judged(name string, h *history.History) run {
	return run{name, h, checker.Check(h, nil)}
}

// runs are histories of the kinds that a catalogue has.
func runs(t testing.TB) []run {
	t.Helper()
	unknown := judged("unknown", calmRun())
	unknown.result.Verdict = checker.Inconclusive
	unknown.result.Unmet = []string{"must c1 resumes after its lease ended: it never did"}
	return []run{
		judged("pause", pauseAfterAcquire("single", "plain")),
		judged("pause-fenced", pauseAfterAcquire("fenced", "fenced")),
		judged("clock-jump", clockJump()),
		judged("crash-restart", crashRestart()),
		judged("halves", halves()),
		judged("calm", calmRun()),
		unknown,
		judged("crash-no-ttl", crashNoTTL()),
		judged("fixed-value", fixedValue()),
		judged("pause-in-acquire", pauseInAcquire()),
		judged("delay-to-resource", delayToResource()),
		judged("herd", herd()),
		judged("failover", failover(true)),
		judged("failover-copied", failover(false)),
		judged("counter", counter()),
		judged("watchdog", watchdog()),
		judged("check-and-set", checkAndSet()),
	}
}

func pauseAfterAcquire(lock, resource string) *history.History {
	b := newBuilder("pause-after-acquire", lock, 1, 2, resource)
	f1, f2 := int64(0), int64(0)
	if resource == "fenced" {
		f1, f2 = 33, 34
	}
	t := b.acquire(0, "c1", f1, "n1")
	b.fault(t, history.Pause{Process: "c1", For: 15 * time.Second})
	u := b.acquire(12*time.Second, "c2", f2, "n1")
	b.write(u, "c2", "B", f2)
	b.release(18*time.Second, "c2", "n1")
	b.exit(18*time.Second+4*ms, "c2")
	t += 15 * time.Second
	b.add(history.Event{At: t, Process: "c1", Kind: history.Injected, Op: "resume", Value: "resume c1", ID: 1})
	t = b.write(t, "c1", "A", f1)
	t = b.release(t, "c1", "n1")
	b.exit(t, "c1")
	return b.history()
}

// crashNoTTL is the holder that dies with a lock that has no end: nobody gets it again.
func crashNoTTL() *history.History {
	b := newBuilder("crash-no-ttl", "setnx", 1, 2, "plain")
	t := b.acquire(0, "c1", 0, "n1")
	b.ends["n1"] = history.NoEnd
	for i := range b.h.Events {
		if b.h.Events[i].Until != 0 {
			b.h.Events[i].Until = history.NoEnd
		}
	}
	b.fault(t+5*ms, history.Crash{Process: "c1"})
	for u := time.Second; u < 3*time.Second; u += 200 * ms {
		b.acquire(u, "c2", 0, "n1")
	}
	return b.history()
}

// fixedValue is a release without comparison, which deletes the key of another client.
func fixedValue() *history.History {
	b := newBuilder("fixed-value", "fixed", 1, 3, "plain")
	t := b.acquire(0, "c1", 0, "n1")
	b.fault(t, history.Pause{Process: "c1", For: 11 * time.Second})
	u := b.acquire(10500*ms, "c2", 0, "n1")
	b.write(u, "c2", "B", 0)
	t += 11 * time.Second
	b.add(history.Event{At: t, Process: "c1", Kind: history.Injected, Op: "resume", Value: "resume c1", ID: 1})
	b.release(t, "c1", "n1")
	b.add(history.Event{At: t + 600*us, Process: "n1", Kind: history.State, Op: history.Delete, Lock: "lock", Key: "lock", Owner: "c2#1", By: "c1", Sent: t + 15*us})
	delete(b.keys, "n1")
	v := b.acquire(11200*ms, "c3", 0, "n1")
	b.write(v, "c3", "C", 0)
	b.release(12*time.Second, "c3", "n1")
	b.release(12500*ms, "c2", "n1")
	return b.history()
}

// pauseInAcquire is a lock that does not look at the clock before it returns.
func pauseInAcquire() *history.History {
	b := newBuilder("pause-in-acquire", "redlock no elapsed check", 3, 2, "plain")
	b.acquire(0, "c1", 0, "n1", "n2", "n3")
	b.fault(600*us, history.Pause{Process: "c1", For: 12 * time.Second})
	for i := range b.h.Events {
		if e := &b.h.Events[i]; e.Process == "c1" && (e.Kind == history.Message || e.Kind == history.OK) {
			e.At += 12 * time.Second
		}
	}
	b.write(12010*ms, "c1", "A", 0)
	b.release(12020*ms, "c1", "n1", "n2", "n3")
	return b.history()
}

// delayToResource is a write that is 90 s late, without any pause.
func delayToResource() *history.History {
	b := newBuilder("delay-to-resource", "single", 1, 2, "plain")
	t := b.acquire(0, "c1", 0, "n1")
	b.fault(t, history.Hold{Link: history.Link{From: "c1", To: "resource"}})
	b.write(t+ms, "c1", "A", 0)
	u := b.acquire(12*time.Second, "c2", 0, "n1")
	b.write(u, "c2", "B", 0)
	b.release(92*time.Second, "c2", "n1")
	b.fault(90*time.Second, history.ReleaseLink{Link: history.Link{From: "c1", To: "resource"}})
	for i := range b.h.Events {
		if e := &b.h.Events[i]; (e.By == "c1" && e.Process == "resource") || e.By == "resource" && e.Process == "c1" || e.Kind == history.OK && e.Value == "A" {
			e.At += 90 * time.Second
		}
	}
	return b.history()
}

// herd is many clients that want the lock at once.
func herd() *history.History {
	b := newBuilder("expiry-herd", "redlock", 5, 10, "plain")
	all := b.h.Meta.Nodes
	t := b.acquire(0, "c1", 0, all...)
	b.write(t, "c1", "A", 0)
	for i, c := range b.h.Meta.Clients[1:] {
		for k := range 30 {
			b.acquire(time.Duration(i+1)*ms/2+time.Duration(k)*300*ms, c, 0, all...)
		}
	}
	b.acquire(11*time.Second, "c7", 0, all...)
	b.release(12*time.Second, "c7", all...)
	return b.history()
}

func clockJump() *history.History {
	b := newBuilder("clock-jump", "redlock", 5, 2, "plain")
	both := func(from, to string) history.Link { return history.Link{From: from, To: to, Both: true} }
	b.fault(0, history.Cut{Link: both("c1", "n4")})
	b.fault(0, history.Cut{Link: both("c1", "n5")})
	b.fault(0, history.Cut{Link: both("c2", "n1")})
	b.fault(0, history.Cut{Link: both("c2", "n2")})
	t := b.acquire(10*ms, "c1", 0, "n1", "n2", "n3")
	b.write(t+1*ms, "c1", "A", 0)
	b.fault(1500*ms, history.Jump{Process: "n3", By: 11 * time.Second})
	u := b.acquire(2*time.Second, "c2", 0, "n3", "n4", "n5")
	b.write(u+1*ms, "c2", "B", 0)
	b.release(4*time.Second, "c2", "n3", "n4", "n5")
	b.release(6*time.Second, "c1", "n1", "n2", "n3")
	return b.history()
}

func crashRestart() *history.History {
	b := newBuilder("crash-restart-5", "redlock", 5, 2, "plain")
	both := func(from, to string) history.Link { return history.Link{From: from, To: to, Both: true} }
	b.fault(0, history.Cut{Link: both("c1", "n4")})
	b.fault(0, history.Cut{Link: both("c1", "n5")})
	t := b.acquire(10*ms, "c1", 0, "n1", "n2", "n3")
	b.fault(1*time.Second, history.Crash{Process: "n3"})
	b.lose(1*time.Second, "n3")
	b.fault(1200*ms, history.Restart{Process: "n3", Empty: true})
	u := b.acquire(3*time.Second, "c2", 0, "n3", "n4", "n5")
	b.write(u, "c2", "B", 0)
	b.write(t+4*time.Second, "c1", "A", 0)
	b.release(5*time.Second, "c1", "n1", "n2", "n3")
	b.release(7*time.Second, "c2", "n3", "n4", "n5")
	return b.history()
}

func halves() *history.History {
	b := newBuilder("redlock-partition-halves", "redlock", 5, 2, "plain")
	both := func(from, to string) history.Link { return history.Link{From: from, To: to, Both: true} }
	for _, n := range []string{"n4", "n5"} {
		b.fault(0, history.Cut{Link: both("c1", n)})
	}
	for _, n := range []string{"n1", "n2", "n3"} {
		b.fault(0, history.Cut{Link: both("c2", n)})
	}
	t := b.acquire(1*ms, "c1", 0, "n1", "n2", "n3")
	u := 20 * ms
	for range 12 {
		u = b.acquire(u, "c2", 0, "n4", "n5") + 150*ms
	}
	b.write(t+500*ms, "c1", "A", 0)
	b.release(2500*ms, "c1", "n1", "n2", "n3")
	b.fault(3*time.Second, history.Heal{})
	u = b.acquire(3100*ms, "c2", 0, "n1", "n2", "n3", "n4", "n5")
	u = b.write(u, "c2", "B", 0)
	b.release(u+1*ms, "c2", "n1", "n2", "n3", "n4", "n5")
	return b.history()
}

func calmRun() *history.History {
	b := newBuilder("redlock-calm", "redlock", 5, 2, "plain")
	all := []string{"n1", "n2", "n3", "n4", "n5"}
	t := b.acquire(0, "c1", 0, all...)
	t = b.write(t+200*us, "c1", "A", 0)
	b.release(t+200*us, "c1", all...)
	u := b.acquire(2*time.Second, "c2", 0, all...)
	u = b.write(u+200*us, "c2", "B", 0)
	b.release(u+200*us, "c2", all...)
	return b.history()
}

// failover is a primary that dies before its replica has learned of a lease, or, if nothing lags, after.
func failover(lag bool) *history.History {
	b := newBuilder("failover-sentinel", "single", 1, 2, "plain")
	b.h.Meta.Replicas = map[string]string{"r1": "n1"}
	b.h.Meta.Others = []string{"s1", "s2", "s3", "p2"}
	if lag {
		b.fault(0, history.Hold{Link: history.Link{From: "n1", To: "r1"}})
	}
	t := b.acquire(10*ms, "c1", 0, "n1")
	if !lag {
		b.add(history.Event{At: t, Process: "r1", Kind: history.State, Op: history.Set, Lock: "lock", Key: "lock", Lease: "c1#1", By: "n1", Sent: t - 300*us,
			Until: b.ends["n1"]})
		b.keys["r1"], b.ends["r1"] = "c1#1", b.ends["n1"]
	}
	b.fault(1*time.Second, history.Crash{Process: "n1"})
	for k := range 4 {
		b.ops["c2"]++
		ask := history.Event{At: 1200*ms + time.Duration(k)*200*ms, Process: "c2", Kind: history.Invoke, Op: history.Acquire, ID: b.ops["c2"], Lock: "lock"}
		b.add(ask)
		ask.At, ask.Kind, ask.Error = ask.At+5*ms, history.Info, "connection refused"
		b.add(ask)
	}
	for i, s := range []string{"s1", "s2", "s3"} {
		b.add(history.Event{At: 2*time.Second + time.Duration(i)*7*ms, Process: s, Kind: history.State, Op: history.Sdown, Value: "n1"})
	}
	b.add(history.Event{At: 2020 * ms, Process: "s2", Kind: history.State, Op: history.Odown, Value: "n1"})
	b.add(history.Event{At: 2100 * ms, Process: "s2", Kind: history.State, Op: history.Leader, Value: "n1"})
	b.add(history.Event{At: 2300 * ms, Process: "r1", Kind: history.State, Op: history.Promoted})
	u := b.acquire(3*time.Second, "c2", 0, "r1")
	if lag {
		b.write(u, "c2", "B", 0)
	}
	b.write(4*time.Second, "c1", "A", 0)
	b.fault(5*time.Second, history.Restart{Process: "n1"})
	b.add(history.Event{At: 5100 * ms, Process: "n1", Kind: history.State, Op: history.Followed, Value: "r1"})
	b.lose(5100*ms, "n1")
	if lag {
		b.release(6*time.Second, "c2", "r1")
	}
	b.release(7*time.Second, "c1", "r1")
	return b.history()
}

// counter is two clients that count to 40, under a lock.
func counter() *history.History {
	b := newBuilder("lost-update", "single", 1, 2, "counter")
	t := time.Duration(0)
	for i := range 40 {
		c := b.h.Meta.Clients[i%2]
		t = b.acquire(t, c, 0, "n1")
		b.ops[c]++
		in := history.Event{At: t, Process: c, Kind: history.Invoke, Op: history.Increment, ID: b.ops[c], Lock: "lock", Lease: fmt.Sprintf("%s#%d", c, b.leases[c])}
		b.add(in)
		op, value := history.Over, fmt.Sprint(i+1)
		if i == 0 {
			op = history.Set
		}
		out, set := in, history.Event{At: t + 500*us, Process: "resource", Kind: history.State, Op: op, Key: "counter", By: c, Sent: t + 100*us, Value: value, Until: history.NoEnd}
		out.At, out.Kind, out.Value = t+ms, history.OK, value
		b.add(set)
		b.add(out)
		t = b.release(t+ms, c, "n1")
	}
	return b.history()
}

// watchdog is a lock that renews itself until its client is paused, and says afterwards that the lease is lost.
func watchdog() *history.History {
	b := newBuilder("watchdog-pause", "watchdog", 1, 2, "plain")
	t := b.acquire(0, "c1", 0, "n1")
	for i := range 3 {
		at := time.Duration(i+1) * 3 * time.Second
		b.ends["n1"] = at + ttl
		b.add(history.Event{At: at, Process: "n1", Kind: history.State, Op: history.Retime, Lock: "lock", Key: "lock", Owner: "c1#1", By: "c1", Sent: at - 500*us, Until: at + ttl})
		b.add(history.Event{At: at + 500*us, Process: "c1", Kind: history.Info, Op: history.Renew, Lock: "lock", Lease: "c1#1", Until: at - ms + ttl})
	}
	t += 10 * time.Second
	b.fault(t, history.Pause{Process: "c1", For: 15 * time.Second})
	u := b.acquire(21*time.Second, "c2", 0, "n1")
	b.ops["c2"]++
	extend := history.Event{At: u + 2*time.Second, Process: "c2", Kind: history.Invoke, Op: history.Extend, ID: b.ops["c2"], Lock: "lock", Lease: "c2#1"}
	b.add(extend)
	b.add(history.Event{At: extend.At + 500*us, Process: "n1", Kind: history.State, Op: history.Retime, Lock: "lock", Key: "lock", Owner: "c2#1", By: "c2", Sent: extend.At,
		Until: extend.At + ttl})
	b.ends["n1"] = extend.At + ttl
	extend.At, extend.Kind, extend.Until = extend.At+ms, history.OK, extend.At+ttl
	b.add(extend)
	b.write(extend.At, "c2", "B", 0)
	t += 15 * time.Second
	b.add(history.Event{At: t, Process: "c1", Kind: history.Injected, Op: "resume", Value: "resume c1", ID: 1})
	t = b.write(t, "c1", "A", 0)
	b.add(history.Event{At: t + ms, Process: "c1", Kind: history.Info, Op: history.Lost, Lock: "lock", Lease: "c1#1"})
	b.release(28*time.Second, "c2", "n1")
	return b.history()
}

// checkAndSet is a client that enters with its token and changes what it read, and one whose token is no longer the mark.
func checkAndSet() *history.History {
	b := newBuilder("token-check-and-set", "single", 1, 2, "check-and-set")
	request := func(at time.Duration, client, op, value, lease, outcome, whole, err string) {
		b.ops[client]++
		in := history.Event{At: at, Process: client, Kind: history.Invoke, Op: op, ID: b.ops[client], Lock: "lock", Lease: lease, Value: value}
		b.add(in)
		if outcome != "" {
			b.add(history.Event{At: at + 500*us, Process: "resource", Kind: history.State, Op: outcome, Lock: "lock", Lease: lease, By: client, Sent: at,
				Value: whole, Word: value, Error: err})
		}
		in.At, in.Kind = at+ms, history.OK
		if op == history.Read {
			in.Value = whole
		}
		if err != "" {
			in.Kind, in.Error = history.Fail, "rejected by the resource: "+err
		}
		b.add(in)
	}
	t := b.acquire(0, "c1", 0, "n1")
	request(t, "c1", history.Enter, "", "c1#1", history.Mark, "", "")
	request(t+2*ms, "c1", history.Read, "", "c1#1", "", "x", "")
	u := b.acquire(12*time.Second, "c2", 0, "n1")
	request(u, "c2", history.Enter, "", "c2#1", history.Mark, "", "")
	request(u+2*ms, "c2", history.Read, "", "c2#1", "", "x", "")
	request(u+4*ms, "c2", history.Update, "B", "c2#1", history.Accept, "x B", "")
	request(15*time.Second, "c1", history.Update, "A", "c1#1", history.Reject, "x A", "mark is c2#1")
	b.add(history.Event{At: 16 * time.Second, Process: "resource", Kind: history.State, Op: history.Keep, Lock: "lock", Lease: "c2#1", By: "c2", Value: "C", Sent: 16*time.Second - ms})
	b.release(17*time.Second, "c2", "n1")
	return b.history()
}
