package sample

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockstep/checker"
	"lockstep/checker/facts"
	"lockstep/sim/history"
)

// A Run is a history and what the checker finds in it.
type Run struct {
	Name   string
	H      *history.History
	Result checker.Result
}

func Judged(name string, h *history.History) Run {
	return Run{name, h, checker.Check(facts.Of(h), nil)}
}

// Runs returns histories like those of the runs in the catalogue.
func Runs(t testing.TB) []Run {
	t.Helper()
	unknown := Judged("unknown", calmRun())
	unknown.Result.Verdict = checker.Inconclusive
	unknown.Result.Unmet = []string{"must c1 resumes after its lease ended: it never did"}
	return []Run{
		Judged("pause", PauseAfterAcquire("single", "plain")),
		Judged("pause-fenced", PauseAfterAcquire("fenced", "fenced")),
		Judged("clock-jump", ClockJump()),
		Judged("crash-restart", crashRestart()),
		Judged("halves", halves()),
		Judged("calm", calmRun()),
		unknown,
		Judged("crash-no-ttl", crashNoTTL()),
		Judged("fixed-value", fixedValue()),
		Judged("pause-in-acquire", pauseInAcquire()),
		Judged("delay-to-resource", delayToResource()),
		Judged("herd", Herd()),
		Judged("failover", Failover(true)),
		Judged("failover-copied", Failover(false)),
		Judged("counter", Counter()),
		Judged("watchdog", watchdog()),
		Judged("check-and-set", checkAndSet()),
	}
}

func PauseAfterAcquire(lock, resource string) *history.History {
	b := NewBuilder("pause-after-acquire", lock, 1, 2, resource)
	f1, f2 := int64(0), int64(0)
	if resource == "fenced" {
		f1, f2 = 33, 34
	}
	t := b.Acquire(0, "c1", f1, "n1")
	b.Fault(t, history.Pause{Process: "c1", For: 15 * time.Second})
	u := b.Acquire(12*time.Second, "c2", f2, "n1")
	b.Write(u, "c2", "B", f2)
	b.Release(18*time.Second, "c2", "n1")
	b.exit(18*time.Second+4*ms, "c2")
	t += 15 * time.Second
	b.Add(history.Event{At: t, Process: "c1", Kind: history.Injected, Op: "resume", Value: "resume c1", ID: 1})
	t = b.Write(t, "c1", "A", f1)
	t = b.Release(t, "c1", "n1")
	b.exit(t, "c1")
	return b.History()
}

// crashNoTTL is a run in which the holder of a lock without a TTL crashes: nobody gets the lock again.
func crashNoTTL() *history.History {
	b := NewBuilder("crash-no-ttl", "setnx", 1, 2, "plain")
	t := b.Acquire(0, "c1", 0, "n1")
	b.Ends["n1"] = history.NoEnd
	for i := range b.H.Events {
		if b.H.Events[i].Until != 0 {
			b.H.Events[i].Until = history.NoEnd
		}
	}
	b.Fault(t+5*ms, history.Crash{Process: "c1"})
	for u := time.Second; u < 3*time.Second; u += 200 * ms {
		b.Acquire(u, "c2", 0, "n1")
	}
	return b.History()
}

// fixedValue is a run in which a release does not compare values, and deletes the key of another client.
func fixedValue() *history.History {
	b := NewBuilder("fixed-value", "fixed", 1, 3, "plain")
	t := b.Acquire(0, "c1", 0, "n1")
	b.Fault(t, history.Pause{Process: "c1", For: 11 * time.Second})
	u := b.Acquire(10500*ms, "c2", 0, "n1")
	b.Write(u, "c2", "B", 0)
	t += 11 * time.Second
	b.Add(history.Event{At: t, Process: "c1", Kind: history.Injected, Op: "resume", Value: "resume c1", ID: 1})
	b.Release(t, "c1", "n1")
	b.Add(history.Event{At: t + 600*us, Process: "n1", Kind: history.State, Op: history.Delete, Lock: "lock", Key: "lock", Owner: "c2#1", By: "c1", Sent: t + 15*us})
	delete(b.keys, "n1")
	v := b.Acquire(11200*ms, "c3", 0, "n1")
	b.Write(v, "c3", "C", 0)
	b.Release(12*time.Second, "c3", "n1")
	b.Release(12500*ms, "c2", "n1")
	return b.History()
}

// pauseInAcquire is a run of a lock that does not look at the clock before acquire returns.
func pauseInAcquire() *history.History {
	b := NewBuilder("pause-in-acquire", "redlock no elapsed check", 3, 2, "plain")
	b.Acquire(0, "c1", 0, "n1", "n2", "n3")
	b.Fault(600*us, history.Pause{Process: "c1", For: 12 * time.Second})
	for i := range b.H.Events {
		if e := &b.H.Events[i]; e.Process == "c1" && (e.Kind == history.Message || e.Kind == history.OK) {
			e.At += 12 * time.Second
		}
	}
	b.Write(12010*ms, "c1", "A", 0)
	b.Release(12020*ms, "c1", "n1", "n2", "n3")
	return b.History()
}

// delayToResource is a run in which a write arrives 90 s late, without any pause.
func delayToResource() *history.History {
	b := NewBuilder("delay-to-resource", "single", 1, 2, "plain")
	t := b.Acquire(0, "c1", 0, "n1")
	b.Fault(t, history.Hold{Link: history.Link{From: "c1", To: "resource"}})
	b.Write(t+ms, "c1", "A", 0)
	u := b.Acquire(12*time.Second, "c2", 0, "n1")
	b.Write(u, "c2", "B", 0)
	b.Release(92*time.Second, "c2", "n1")
	b.Fault(90*time.Second, history.ReleaseLink{Link: history.Link{From: "c1", To: "resource"}})
	for i := range b.H.Events {
		if e := &b.H.Events[i]; (e.By == "c1" && e.Process == "resource") || e.By == "resource" && e.Process == "c1" || e.Kind == history.OK && e.Value == "A" {
			e.At += 90 * time.Second
		}
	}
	return b.History()
}

// Herd is a run in which many clients want the lock at once.
func Herd() *history.History {
	b := NewBuilder("expiry-herd", "redlock", 5, 10, "plain")
	all := b.H.Meta.Nodes
	t := b.Acquire(0, "c1", 0, all...)
	b.Write(t, "c1", "A", 0)
	for i, c := range b.H.Meta.Clients[1:] {
		for k := range 30 {
			b.Acquire(time.Duration(i+1)*ms/2+time.Duration(k)*300*ms, c, 0, all...)
		}
	}
	b.Acquire(11*time.Second, "c7", 0, all...)
	b.Release(12*time.Second, "c7", all...)
	return b.History()
}

func ClockJump() *history.History {
	b := NewBuilder("clock-jump", "redlock", 5, 2, "plain")
	both := func(from, to string) history.Link { return history.Link{From: from, To: to, Both: true} }
	b.Fault(0, history.Cut{Link: both("c1", "n4")})
	b.Fault(0, history.Cut{Link: both("c1", "n5")})
	b.Fault(0, history.Cut{Link: both("c2", "n1")})
	b.Fault(0, history.Cut{Link: both("c2", "n2")})
	t := b.Acquire(10*ms, "c1", 0, "n1", "n2", "n3")
	b.Write(t+1*ms, "c1", "A", 0)
	b.Fault(1500*ms, history.Jump{Process: "n3", By: 11 * time.Second})
	u := b.Acquire(2*time.Second, "c2", 0, "n3", "n4", "n5")
	b.Write(u+1*ms, "c2", "B", 0)
	b.Release(4*time.Second, "c2", "n3", "n4", "n5")
	b.Release(6*time.Second, "c1", "n1", "n2", "n3")
	return b.History()
}

func crashRestart() *history.History {
	b := NewBuilder("crash-restart-5", "redlock", 5, 2, "plain")
	both := func(from, to string) history.Link { return history.Link{From: from, To: to, Both: true} }
	b.Fault(0, history.Cut{Link: both("c1", "n4")})
	b.Fault(0, history.Cut{Link: both("c1", "n5")})
	t := b.Acquire(10*ms, "c1", 0, "n1", "n2", "n3")
	b.Fault(1*time.Second, history.Crash{Process: "n3"})
	b.lose(1*time.Second, "n3")
	b.Fault(1200*ms, history.Restart{Process: "n3", Empty: true})
	u := b.Acquire(3*time.Second, "c2", 0, "n3", "n4", "n5")
	b.Write(u, "c2", "B", 0)
	b.Write(t+4*time.Second, "c1", "A", 0)
	b.Release(5*time.Second, "c1", "n1", "n2", "n3")
	b.Release(7*time.Second, "c2", "n3", "n4", "n5")
	return b.History()
}

func halves() *history.History {
	b := NewBuilder("redlock-partition-halves", "redlock", 5, 2, "plain")
	both := func(from, to string) history.Link { return history.Link{From: from, To: to, Both: true} }
	for _, n := range []string{"n4", "n5"} {
		b.Fault(0, history.Cut{Link: both("c1", n)})
	}
	for _, n := range []string{"n1", "n2", "n3"} {
		b.Fault(0, history.Cut{Link: both("c2", n)})
	}
	t := b.Acquire(1*ms, "c1", 0, "n1", "n2", "n3")
	u := 20 * ms
	for range 12 {
		u = b.Acquire(u, "c2", 0, "n4", "n5") + 150*ms
	}
	b.Write(t+500*ms, "c1", "A", 0)
	b.Release(2500*ms, "c1", "n1", "n2", "n3")
	b.Fault(3*time.Second, history.Heal{})
	u = b.Acquire(3100*ms, "c2", 0, "n1", "n2", "n3", "n4", "n5")
	u = b.Write(u, "c2", "B", 0)
	b.Release(u+1*ms, "c2", "n1", "n2", "n3", "n4", "n5")
	return b.History()
}

func calmRun() *history.History {
	b := NewBuilder("redlock-calm", "redlock", 5, 2, "plain")
	all := []string{"n1", "n2", "n3", "n4", "n5"}
	t := b.Acquire(0, "c1", 0, all...)
	t = b.Write(t+200*us, "c1", "A", 0)
	b.Release(t+200*us, "c1", all...)
	u := b.Acquire(2*time.Second, "c2", 0, all...)
	u = b.Write(u+200*us, "c2", "B", 0)
	b.Release(u+200*us, "c2", all...)
	return b.History()
}

// Failover is a run in which a primary crashes. If replication lags, the replica has not learned of the lease by then.
func Failover(lag bool) *history.History {
	b := NewBuilder("failover-sentinel", "single", 1, 2, "plain")
	b.H.Meta.Replicas = map[string]string{"r1": "n1"}
	b.H.Meta.Others = []string{"s1", "s2", "s3", "p2"}
	if lag {
		b.Fault(0, history.Hold{Link: history.Link{From: "n1", To: "r1"}})
	}
	t := b.Acquire(10*ms, "c1", 0, "n1")
	if !lag {
		b.Add(history.Event{At: t, Process: "r1", Kind: history.State, Op: history.Set, Lock: "lock", Key: "lock", Lease: "c1#1", By: "n1", Sent: t - 300*us,
			Until: b.Ends["n1"]})
		b.keys["r1"], b.Ends["r1"] = "c1#1", b.Ends["n1"]
	}
	b.Fault(1*time.Second, history.Crash{Process: "n1"})
	for k := range 4 {
		b.Ops["c2"]++
		ask := history.Event{At: 1200*ms + time.Duration(k)*200*ms, Process: "c2", Kind: history.Invoke, Op: history.Acquire, ID: b.Ops["c2"], Lock: "lock"}
		b.Add(ask)
		ask.At, ask.Kind, ask.Error = ask.At+5*ms, history.Info, "connection refused"
		b.Add(ask)
	}
	for i, s := range []string{"s1", "s2", "s3"} {
		b.Add(history.Event{At: 2*time.Second + time.Duration(i)*7*ms, Process: s, Kind: history.State, Op: history.Sdown, Value: "n1"})
	}
	b.Add(history.Event{At: 2020 * ms, Process: "s2", Kind: history.State, Op: history.Odown, Value: "n1"})
	b.Add(history.Event{At: 2100 * ms, Process: "s2", Kind: history.State, Op: history.Leader, Value: "n1"})
	b.Add(history.Event{At: 2300 * ms, Process: "r1", Kind: history.State, Op: history.Promoted})
	u := b.Acquire(3*time.Second, "c2", 0, "r1")
	if lag {
		b.Write(u, "c2", "B", 0)
	}
	b.Write(4*time.Second, "c1", "A", 0)
	b.Fault(5*time.Second, history.Restart{Process: "n1"})
	b.Add(history.Event{At: 5100 * ms, Process: "n1", Kind: history.State, Op: history.Followed, Value: "r1"})
	b.lose(5100*ms, "n1")
	if lag {
		b.Release(6*time.Second, "c2", "r1")
	}
	b.Release(7*time.Second, "c1", "r1")
	return b.History()
}

// Counter is a run in which two clients count to 40 under a lock.
func Counter() *history.History {
	b := NewBuilder("lost-update", "single", 1, 2, "counter")
	t := time.Duration(0)
	for i := range 40 {
		c := b.H.Meta.Clients[i%2]
		t = b.Acquire(t, c, 0, "n1")
		b.Ops[c]++
		in := history.Event{At: t, Process: c, Kind: history.Invoke, Op: history.Increment, ID: b.Ops[c], Lock: "lock", Lease: fmt.Sprintf("%s#%d", c, b.leases[c])}
		b.Add(in)
		op, value := history.Over, fmt.Sprint(i+1)
		if i == 0 {
			op = history.Set
		}
		out, set := in, history.Event{At: t + 500*us, Process: "resource", Kind: history.State, Op: op, Key: "counter", By: c, Sent: t + 100*us, Value: value, Until: history.NoEnd}
		out.At, out.Kind, out.Value = t+ms, history.OK, value
		b.Add(set)
		b.Add(out)
		t = b.Release(t+ms, c, "n1")
	}
	return b.History()
}

// watchdog is a run of a lock that renews itself until its client is paused, and reports afterwards that the lease is lost.
func watchdog() *history.History {
	b := NewBuilder("watchdog-pause", "watchdog", 1, 2, "plain")
	t := b.Acquire(0, "c1", 0, "n1")
	for i := range 3 {
		at := time.Duration(i+1) * 3 * time.Second
		b.Ends["n1"] = at + TTL
		b.Add(history.Event{At: at, Process: "n1", Kind: history.State, Op: history.Retime, Lock: "lock", Key: "lock", Owner: "c1#1", By: "c1", Sent: at - 500*us, Until: at + TTL})
		b.Add(history.Event{At: at + 500*us, Process: "c1", Kind: history.Info, Op: history.Renew, Lock: "lock", Lease: "c1#1", Until: at - ms + TTL})
	}
	t += 10 * time.Second
	b.Fault(t, history.Pause{Process: "c1", For: 15 * time.Second})
	u := b.Acquire(21*time.Second, "c2", 0, "n1")
	b.Ops["c2"]++
	extend := history.Event{At: u + 2*time.Second, Process: "c2", Kind: history.Invoke, Op: history.Extend, ID: b.Ops["c2"], Lock: "lock", Lease: "c2#1"}
	b.Add(extend)
	b.Add(history.Event{At: extend.At + 500*us, Process: "n1", Kind: history.State, Op: history.Retime, Lock: "lock", Key: "lock", Owner: "c2#1", By: "c2", Sent: extend.At,
		Until: extend.At + TTL})
	b.Ends["n1"] = extend.At + TTL
	extend.At, extend.Kind, extend.Until = extend.At+ms, history.OK, extend.At+TTL
	b.Add(extend)
	b.Write(extend.At, "c2", "B", 0)
	t += 15 * time.Second
	b.Add(history.Event{At: t, Process: "c1", Kind: history.Injected, Op: "resume", Value: "resume c1", ID: 1})
	t = b.Write(t, "c1", "A", 0)
	b.Add(history.Event{At: t + ms, Process: "c1", Kind: history.Info, Op: history.Lost, Lock: "lock", Lease: "c1#1"})
	b.Release(28*time.Second, "c2", "n1")
	return b.History()
}

// checkAndSet is a run in which one client enters with its token and changes what it read, and the token of another is no longer
// the mark.
func checkAndSet() *history.History {
	b := NewBuilder("token-check-and-set", "single", 1, 2, "check-and-set")
	request := func(at time.Duration, client, op, value, lease, outcome, whole, err string) {
		b.Ops[client]++
		in := history.Event{At: at, Process: client, Kind: history.Invoke, Op: op, ID: b.Ops[client], Lock: "lock", Lease: lease, Value: value}
		b.Add(in)
		if outcome != "" {
			b.Add(history.Event{At: at + 500*us, Process: "resource", Kind: history.State, Op: outcome, Lock: "lock", Lease: lease, By: client, Sent: at,
				Value: whole, Word: value, Error: err})
		}
		in.At, in.Kind = at+ms, history.OK
		if op == history.Read {
			in.Value = whole
		}
		if err != "" {
			in.Kind, in.Error = history.Fail, "rejected by the resource: "+err
		}
		b.Add(in)
	}
	t := b.Acquire(0, "c1", 0, "n1")
	request(t, "c1", history.Enter, "", "c1#1", history.Mark, "", "")
	request(t+2*ms, "c1", history.Read, "", "c1#1", "", "x", "")
	u := b.Acquire(12*time.Second, "c2", 0, "n1")
	request(u, "c2", history.Enter, "", "c2#1", history.Mark, "", "")
	request(u+2*ms, "c2", history.Read, "", "c2#1", "", "x", "")
	request(u+4*ms, "c2", history.Update, "B", "c2#1", history.Accept, "x B", "")
	request(15*time.Second, "c1", history.Update, "A", "c1#1", history.Reject, "x A", "mark is c2#1")
	b.Add(history.Event{At: 16 * time.Second, Process: "resource", Kind: history.State, Op: history.Keep, Lock: "lock", Lease: "c2#1", By: "c2", Value: "C", Sent: 16*time.Second - ms})
	b.Release(17*time.Second, "c2", "n1")
	return b.History()
}

// Hostile returns a run in which every string tries to break the page that shows it.
func Hostile() Run {
	const script = `<script>alert("1")</script>'&]]>`
	evil := script + "\u202e\u2066\x1b[2J\x00\xff" + strings.Repeat("long ", 2000)
	h := PauseAfterAcquire("single", "plain")
	h.Meta.Scenario, h.Meta.Lock, h.Meta.Label = evil, evil, evil
	for i := range h.Events {
		e := &h.Events[i]
		if e.Value == "A" {
			e.Value = evil
		}
		if e.Kind == history.Injected {
			e.Value = evil
		}
		e.Error = evil
	}
	r := checker.Check(facts.Of(h), nil)
	for i := range r.Violations {
		r.Violations[i].What = evil
	}
	return Run{Name: "hostile", H: h, Result: r}
}

// Busy is a history of more than 2,000 events, most of them relevant.
func Busy() *history.History {
	b := NewBuilder("busy", "redlock", 5, 6, "plain")
	at := time.Duration(0)
	for i := range 60 {
		c := b.H.Meta.Clients[i%6]
		t := b.Acquire(at, c, 0, b.H.Meta.Nodes...)
		b.Write(t+time.Millisecond, c, fmt.Sprint("v", i), 0)
		b.Release(t+5*time.Millisecond, c, b.H.Meta.Nodes...)
		b.Fault(t+20*time.Millisecond, history.Jump{Process: "n1", By: time.Millisecond})
		at = t + 50*time.Millisecond
	}
	return b.History()
}

// HostileTexts are names that a browser, a terminal or a reader may take for something other than text.
var HostileTexts = []string{
	"<script>alert(1)</script>", `"'><img src=x onerror=alert(1)>`, "]]></script><!--", "\u202ereversed\u202c", "a\u2028b\x00\x1b[31m", strings.Repeat("x", 10<<10), "{{.}}", "é\xff",
}
