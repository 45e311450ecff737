package handmade

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockstep/sim/history"

	"pgregory.net/rapid"
)

// A world is a lock service at random: clients acquire and release, and nodes set and drop keys, without regard for each other. The
// history is consistent, and breaks every property about as often as not.
type world struct {
	*history.History
	t       *rapid.T
	now     time.Duration
	clocks  map[string]history.Clock
	ids     map[string]int
	pending map[string]history.Event // the invocation in progress, by client
	leases  map[string][]string      // all labels that a client ever got
	gone    map[string]bool          // crashed or exited
	paused  map[string]bool
	keys    map[string]string // by node, the label that its key stands for
	words   []string          // in the value of the resource
	counter int64
	number  int // the last number of a word or an increment
}

// Random draws a history of three clients, three nodes and a replica. All times are whole seconds, so that instants coincide often.
func Random(t *rapid.T) *history.History {
	w := &world{
		History: &history.History{Meta: history.Meta{
			Scenario: "random", Nodes: []string{"n1", "n2", "n3"}, Replicas: map[string]string{"r1": "n1"}, Clients: []string{"c1", "c2"}, TTL: 4 * time.Second,
			Probe: "c3", Bound: 3 * time.Second,
		}},
		t: t, clocks: map[string]history.Clock{}, ids: map[string]int{}, pending: map[string]history.Event{}, leases: map[string][]string{},
		gone: map[string]bool{}, paused: map[string]bool{}, keys: map[string]string{},
	}
	steps := []func(client, node string){
		w.operate, w.operate, w.operate, w.operate, w.set, w.set, w.set, w.set, w.tick, w.tick, w.drop, w.command, w.command, w.write, w.write,
		w.fault, w.drift, w.extend, w.renew, w.replicate, w.lead, w.outage, w.cut, w.update, w.update, w.increment, w.message, w.choose,
	}
	for range rapid.IntRange(20, 120).Draw(t, "steps") {
		client := rapid.SampledFrom([]string{"c1", "c2", "c3"}).Draw(t, "client")
		node := rapid.SampledFrom([]string{"n1", "n2", "n3", "r1"}).Draw(t, "node")
		rapid.SampledFrom(steps).Draw(t, "step")(client, node)
	}
	return w.History
}

func (w *world) pick(n int) int { return rapid.IntRange(0, n-1).Draw(w.t, "pick") }

func (w *world) record(e history.Event) {
	e.At, e.Clock = w.now, w.read(e.Process)
	if e.Kind == history.Injected && e.Op == "drift" {
		w.clocks[e.Process] = history.Clock{Since: e.At, Steady: e.Clock, PPM: e.PPM}
	}
	w.Events = append(w.Events, e)
}

func (w *world) read(process string) time.Duration {
	return w.clocks[process].Reading(w.now)
}

func (w *world) tick(_, _ string) {
	w.now += time.Duration(1+w.pick(4)) * time.Second
}

func (w *world) operate(client, _ string) {
	if w.gone[client] {
		return
	}
	in, busy := w.pending[client]
	if busy {
		delete(w.pending, client)
		out := history.Event{Process: client, Op: in.Op, ID: in.ID, Lock: in.Lock, Lease: in.Lease, TTL: in.TTL, Kind: history.OK}
		if in.Op == history.Acquire {
			out.Kind = []history.Kind{history.OK, history.OK, history.OK, history.Fail, history.Info}[w.pick(5)]
		} else if in.Op == history.Release {
			out.Kind = []history.Kind{history.OK, history.Fail, history.Info}[w.pick(3)]
		}
		if in.Op == history.Extend {
			w.extended(in)
			return
		}
		if in.Op == history.Acquire && out.Kind == history.OK {
			w.leases[client] = append(w.leases[client], in.Lease)
			out.Until = w.read(client) + time.Duration(w.pick(7)-1)*time.Second
			if w.pick(8) == 0 {
				out.Until = history.NoEnd
			}
			if w.pick(3) > 0 {
				out.Fence = int64(len(w.Events)/8 + w.pick(3))
			}
		}
		w.record(out)
		return
	}
	w.ids[client]++
	in = history.Event{Process: client, Kind: history.Invoke, Op: history.Acquire, ID: w.ids[client], Lock: "a"}
	if got := w.leases[client]; len(got) > 0 && w.pick(2) == 0 {
		in.Op, in.Lease = history.Release, got[w.pick(len(got))]
	} else {
		in.Lease = fmt.Sprintf("%s#%d", client, in.ID)
		if w.pick(6) == 0 {
			in.Lock = "b"
		}
		if w.pick(4) == 0 {
			in.TTL = time.Duration(1+w.pick(3)) * time.Second
		}
	}
	w.pending[client] = in
	w.record(in)
}

func (w *world) set(client, node string) {
	in, asking := w.pending[client]
	if !asking || in.Op != history.Acquire {
		return
	}
	e := history.Event{Process: node, Kind: history.State, Op: history.Set, Key: "k", By: client, Lease: in.Lease, Sent: w.now}
	if owner := w.keys[node]; owner != "" {
		e.Op, e.Owner = history.Over, owner
		if w.pick(2) > 0 {
			return
		}
	}
	if w.pick(6) == 0 {
		e.Until = history.NoEnd
	}
	w.keys[node] = in.Lease
	w.record(e)
}

func (w *world) drop(_, node string) {
	if owner := w.keys[node]; owner != "" {
		delete(w.keys, node)
		w.record(history.Event{Process: node, Kind: history.State, Op: []string{history.Expire, history.Lose}[w.pick(2)], Key: "k", Owner: owner})
	}
}

func (w *world) command(client, node string) {
	owner := w.keys[node]
	if owner == "" || (history.Client(owner) != client && w.pick(2) > 0) {
		return
	}
	e := history.Event{Process: node, Kind: history.State, Op: []string{history.Retime, history.Delete}[w.pick(2)], Key: "k", Owner: owner, By: client}
	if e.Op == history.Delete {
		delete(w.keys, node)
	}
	w.record(e)
}

func (w *world) write(client, _ string) {
	if got := w.leases[client]; len(got) > 0 {
		sent := max(w.now-time.Duration(w.pick(6))*time.Second, 0)
		op := []string{history.Accept, history.Accept, history.Reject}[w.pick(3)]
		e := history.Event{Process: "resource", Kind: history.State, Op: op, By: client, Lease: got[w.pick(len(got))], Value: "A", Sent: sent}
		if w.pick(6) == 0 {
			e.Op, e.Value = history.Mark, ""
		}
		w.record(e)
	}
}

// extend records an extension, a renewal or the loss of a lease of a client.
func (w *world) extend(client, _ string) {
	got := w.leases[client]
	if _, busy := w.pending[client]; busy || w.gone[client] || len(got) == 0 {
		return
	}
	e := history.Event{Process: client, Lease: got[w.pick(len(got))], Lock: "a", Until: w.read(client) + time.Duration(w.pick(7)-1)*time.Second}
	switch w.pick(4) {
	case 0:
		e.Kind, e.Op, e.Until = history.Info, history.Lost, 0
	case 1:
		e.Kind, e.Op = history.Info, history.Renew
	default:
		w.ids[client]++
		in := history.Event{Process: client, Kind: history.Invoke, Op: history.Extend, ID: w.ids[client], Lease: e.Lease, Lock: "a"}
		in.TTL = time.Duration(w.pick(5)) * time.Second
		w.record(in)
		if w.pending[client] = in; w.pick(2) > 0 {
			delete(w.pending, client)
			w.extended(in)
		}
		return
	}
	w.record(e)
}

// extended records the outcome of an extension: the lease ends at another time, or is over, or is as it was.
func (w *world) extended(in history.Event) {
	e := in
	e.Kind = []history.Kind{history.OK, history.OK, history.Fail, history.Info}[w.pick(4)]
	if e.Kind == history.OK || w.pick(2) > 0 {
		e.Until = w.read(in.Process) + time.Duration(w.pick(7)-1)*time.Second
	}
	w.record(e)
}

// renew has a client renew its keys, or most of them, silently.
func (w *world) renew(client, _ string) {
	for _, node := range []string{"n1", "n2", "n3", "r1"} {
		if owner := w.keys[node]; !w.gone[client] && history.Client(owner) == client && w.pick(4) > 0 {
			w.record(history.Event{Process: node, Kind: history.State, Op: history.Retime, Key: "k", Owner: owner, By: client})
		}
	}
}

// replicate copies the key of n1 to r1.
func (w *world) replicate(_, _ string) {
	label := w.keys["n1"]
	if label == "" {
		return
	}
	e := history.Event{Process: "r1", Kind: history.State, Op: history.Set, Key: "k", By: "n1", Lease: label}
	if owner := w.keys["r1"]; owner != "" {
		e.Op, e.Owner = history.Over, owner
	}
	w.keys["r1"] = label
	w.record(e)
}

// lead records a promotion, or that a server follows another.
func (w *world) lead(_, _ string) {
	if w.pick(3) == 0 {
		w.record(history.Event{Process: []string{"r1", "r1", "n1"}[w.pick(3)], Kind: history.State, Op: []string{history.Promoted, history.Followed}[w.pick(2)]})
	}
}

func (w *world) outage(_, node string) {
	if w.pick(3) == 0 {
		w.record(history.Event{Process: node, Kind: history.Injected, Op: []string{"crash", "stop", "restart", "restart", "pause", "resume"}[w.pick(6)]})
	}
}

func (w *world) cut(client, node string) {
	link := history.Link{From: client, To: node, Both: w.pick(2) == 0}
	var f history.Fault = history.Cut{Link: link}
	switch w.pick(6) {
	case 0:
		f = history.Heal{Link: link}
	case 1:
		f = history.Heal{}
	case 2:
	default:
		return
	}
	w.record(history.Event{Process: f.Target(), Kind: history.Injected, Op: f.Verb(), Value: f.String()})
}

// message records that a message between a client and a node arrives or is lost.
func (w *world) message(client, node string) {
	from, to := client, node
	if w.pick(2) == 0 {
		from, to = node, client
	}
	sent := max(w.now-time.Duration(w.pick(3))*time.Second, 0)
	e := history.Event{Process: to, Kind: history.Message, Op: []string{history.Deliver, history.Late, history.Drop}[w.pick(3)], By: from, Sent: sent, Word: []string{"SET", "DEL"}[w.pick(2)]}
	if from == node && w.pick(4) == 0 {
		e.Value = "NOREPLICAS Not enough good replicas to write."
	}
	w.record(e)
}

// choose records that a fault hit its chosen message, or that held messages are released.
func (w *world) choose(client, node string) {
	link := history.Link{From: client, To: node}
	var f history.Fault = history.Chosen{What: history.Release, Link: link, Action: history.DelayMessage, By: time.Duration(1+w.pick(3)) * time.Second}
	switch w.pick(3) {
	case 0:
		f = history.Chosen{Reply: true, What: history.Release, Link: history.Link{From: node, To: client}, Action: history.HoldMessage}
	case 1:
		link.Both = w.pick(2) == 0
		f = history.ReleaseLink{Link: link}
		w.record(history.Event{Process: f.Target(), Kind: history.Injected, Op: f.Verb(), Value: f.String()})
		return
	}
	w.record(history.Event{Process: f.Target(), Kind: history.Bite, Value: f.String()})
}

// update adds a word to the value of the resource. It may remove others, or be lost.
func (w *world) update(client, _ string) {
	if _, busy := w.pending[client]; busy || w.gone[client] {
		return
	}
	w.ids[client]++
	w.number++
	word := fmt.Sprintf("w%d", w.number)
	e := history.Event{Process: client, Kind: history.Invoke, Op: history.Update, ID: w.ids[client], Value: word}
	w.record(e)
	if got := w.leases[client]; len(got) > 0 && w.pick(2) == 0 {
		e.Lease = got[len(got)-1]
	}
	if w.pick(2) == 0 && len(w.words) > 0 {
		w.words = w.words[:w.pick(len(w.words))]
	}
	switch w.pick(8) {
	case 0:
	case 1:
		w.record(history.Event{Process: "resource", Kind: history.State, Op: history.Keep, By: client, Lease: e.Lease, Word: word, Value: word})
	default:
		w.words = append(slices.Clone(w.words), word)
		w.record(history.Event{Process: "resource", Kind: history.State, Op: history.Accept, By: client, Lease: e.Lease, Word: word, Value: strings.Join(w.words, " ")})
	}
	e.Kind = []history.Kind{history.OK, history.OK, history.Fail, history.Info}[w.pick(4)]
	w.record(e)
}

// increment adds one to the counter, or to a value that the counter had before.
func (w *world) increment(client, _ string) {
	if _, busy := w.pending[client]; busy || w.gone[client] {
		return
	}
	w.ids[client]++
	e := history.Event{Process: client, Kind: history.Invoke, Op: history.Increment, ID: w.ids[client]}
	w.record(e)
	stale := int64(0)
	if w.pick(3) == 0 {
		stale = min(w.counter, int64(w.pick(3)))
	}
	n := w.counter - stale + 1
	op := history.Over
	if w.number++; w.counter == 0 {
		op = history.Set
	}
	e.Kind = []history.Kind{history.OK, history.OK, history.OK, history.Fail, history.Info}[w.pick(5)]
	if e.Kind != history.Fail {
		if n != w.counter { // a node records no event for a write that changes nothing
			w.record(history.Event{Process: "resource", Kind: history.State, Op: op, Key: "counter", By: client, Value: fmt.Sprint(n)})
		}
		w.counter, e.Value = n, fmt.Sprint(n)
	}
	w.record(e)
}

func (w *world) fault(client, _ string) {
	switch {
	case w.gone[client]:
	case w.paused[client]:
		w.paused[client] = false
		w.record(history.Event{Process: client, Kind: history.Injected, Op: "resume"})
	case w.pick(4) > 0:
		w.paused[client] = true
		w.record(history.Event{Process: client, Kind: history.Injected, Op: "pause"})
	case w.pick(2) == 0:
		w.gone[client] = true
		w.record(history.Event{Process: client, Kind: history.Injected, Op: "crash"})
	case w.pending[client].Op == "":
		w.gone[client] = true
		w.record(history.Event{Process: client, Kind: history.Info, Op: history.Exit})
	}
}

func (w *world) drift(client, _ string) {
	if w.pick(3) == 0 {
		ppm := []int64{0, -500_000, -250_000, 1_000_000}[w.pick(4)]
		w.record(history.Event{Process: client, Kind: history.Injected, Op: "drift", PPM: ppm})
	}
}

// Garbage draws a history that need not be consistent.
func Garbage(t *rapid.T) *history.History {
	name := rapid.SampledFrom([]string{"", "c1", "c2", "n1", "n2", "resource", "#", "c1#1", "c2#1", "c1->n1"})
	kind := rapid.SampledFrom([]history.Kind{"", history.Invoke, history.OK, history.Fail, history.Info, history.Injected, history.Bite, history.State, history.Message})
	op := rapid.SampledFrom([]string{
		"", history.Acquire, history.Release, history.Write, history.Check, history.Exit, history.Deliver, history.Set, history.Over, history.Retime, history.Delete, history.Expire,
		history.Lose, history.Accept, history.Reject, history.Unpaused, "pause", "resume", "crash", "restart", "drift", "jump",
		history.Extend, history.Renew, history.Lost, history.Increment, history.Update, history.Read, history.Keep, history.Mark, history.Promoted, history.Followed, "stop", "cut", "heal",
	})
	instant := rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64())
	id := rapid.IntRange(-1, 2)
	h := &history.History{Meta: history.Meta{
		Nodes: rapid.SliceOfN(name, 0, 3).Draw(t, "nodes"),
		TTL:   time.Duration(instant.Draw(t, "ttl")),
		Bound: time.Duration(instant.Draw(t, "bound")),
		Probe: name.Draw(t, "probe"), Replicas: map[string]string{name.Draw(t, "replica"): name.Draw(t, "node")},
	}}
	text := rapid.SampledFrom([]string{"", "A", "A B", "7", "-1", "TTL lock", "cut c1-n1", "heal", "SET lock 1"})
	key := rapid.SampledFrom([]string{"", "lock", "lock:fence", "counter"})
	for range rapid.IntRange(0, 30).Draw(t, "events") {
		h.Events = append(h.Events, history.Event{
			At: time.Duration(instant.Draw(t, "at")), Clock: time.Duration(instant.Draw(t, "clock")), Wall: time.Duration(instant.Draw(t, "wall")),
			Process: name.Draw(t, "process"), Kind: kind.Draw(t, "kind"), Op: op.Draw(t, "op"), ID: id.Draw(t, "id"),
			Lock: name.Draw(t, "lock"), Lease: name.Draw(t, "lease"), Owner: name.Draw(t, "owner"), By: name.Draw(t, "by"),
			Until: time.Duration(instant.Draw(t, "until")), Sent: time.Duration(instant.Draw(t, "sent")), PPM: instant.Draw(t, "ppm"),
			Key: key.Draw(t, "key"), Value: text.Draw(t, "value"), Word: text.Draw(t, "word"), Fence: instant.Draw(t, "fence"),
		})
	}
	if rapid.Bool().Draw(t, "in order") { // otherwise the checker refuses nearly all of them at the first event out of order
		slices.SortStableFunc(h.Events, func(a, b history.Event) int { return int(a.At>>1) - int(b.At>>1) })
		for i := range h.Events {
			h.Events[i].At, h.Events[i].Clock = max(h.Events[i].At, 0), max(h.Events[i].At, 0)
		}
	}
	return h
}
