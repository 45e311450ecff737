package course

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"lockstep/clients"
	"lockstep/scenarios/play"
	"lockstep/scenarios/script"
	"lockstep/sim/history"
)

// An Answer is a simple run, in which a lock must do exactly what a right one does: what its operations return, when its leases end, and
// what becomes of its keys. It is a scenario file with one run, whose title says what is required. Stories leave such mistakes
// alone that break no property, such as an error that says too much.
type Answer struct {
	Page   *script.Scenario
	Points int
}

//go:embed answers/*.txtar
var answers embed.FS

// findAnswer returns the page of an answer.
func findAnswer(name string) (*script.Scenario, error) {
	data, err := answers.ReadFile("answers/" + name + ".txtar")
	if err != nil {
		return nil, fmt.Errorf("there must be a file scenarios/course/answers/%s.txtar", name)
	}
	s, err := script.Parse(name+".txtar", data)
	if err == nil && len(s.Runs) != 1 {
		err = fmt.Errorf("scenarios/course/answers/%s.txtar must have one run; it has %d", name, len(s.Runs))
	}
	return s, err
}

// right plays the run with the lock that it names, which is right.
func (a Answer) right() (*history.History, error) {
	build, err := clients.Find(a.Page.Runs[0].Lock)
	if err != nil {
		return nil, err
	}
	o, err := play.Simulate(a.Page, a.Page.Runs[0], build, 0)
	if err != nil {
		return nil, err
	}
	return o.History, nil
}

// differ says in a sentence how a run differs from that of a right lock; empty if it does not.
func differ(right, got *history.History) string {
	if text := differInOperations(right, got); text != "" {
		return text
	}
	return differInKeys(right, got)
}

// asked reports whether an event is the outcome of an operation on the lock.
func asked(e history.Event) bool {
	return e.EndsOperation() && e.Process != "probe" && slices.Contains([]string{history.Acquire, history.Extend, history.Release}, e.Op)
}

// soon is by how much the end of a lease, and the time for which a node keeps a key, may differ.
const soon = time.Millisecond

// An operation of a client on the lock.
type operation struct {
	history.Event               // its outcome
	began         time.Duration // when it was invoked, by the clock of the client
}

func operations(h *history.History) []operation {
	var all []operation
	began := map[string]time.Duration{}
	for _, e := range h.Events {
		if e.Kind == history.Invoke {
			began[e.Process] = e.Clock
		}
		if asked(e) {
			all = append(all, operation{e, began[e.Process]})
		}
	}
	slices.SortStableFunc(all, func(a, b operation) int { return strings.Compare(a.Process, b.Process) })
	return all
}

// differInEnd reports whether the lease ends at another time, and at another distance from the beginning of the operation. A lock that
// sends more messages begins its later operations a little later.
func (o operation) differInEnd(other operation) bool {
	return (o.Until-other.Until).Abs() > soon && (o.Until-o.began-other.Until+other.began).Abs() > soon
}

func differInOperations(right, got *history.History) string {
	want, have := operations(right), operations(got)
	for i, w := range want {
		if i == len(have) {
			return fmt.Sprintf("The %s of %s did not return.", w.Op, w.Process)
		}
		h := have[i]
		what := fmt.Sprintf("The %s of %s at %s", h.Op, h.Process, history.Seconds(h.At))
		switch {
		case w.Process != h.Process || w.Op != h.Op:
			return fmt.Sprintf("%s came instead of the %s of %s.", what, w.Op, w.Process)
		case w.Kind != h.Kind || sentinel(w) != sentinel(h):
			return fmt.Sprintf("%s returned %s, and should have returned %s.", what, returned(h), required(w))
		case w.Kind == history.OK && w.Op == history.Acquire && w.Lease != h.Lease:
			return fmt.Sprintf("%s gave %s, and should have given %s.", what, h.Lease, w.Lease)
		case w.Kind != history.Fail && w.differInEnd(h):
			return fmt.Sprintf("After the %s of %s at %s the lease %s, and should end at %s.", h.Op, h.Process, history.Seconds(h.At), ends(h.Until), history.Seconds(w.Until))
		}
	}
	return ""
}

// sentinel is the error by which a lock says that an operation did not happen; empty if there is none.
func sentinel(e operation) string {
	if e.Kind != history.Fail {
		return ""
	}
	for name, err := range map[string]error{
		"clients.ErrNotHeld": clients.ErrNotHeld, "clients.ErrNotAcquired": clients.ErrNotAcquired, "clients.ErrNotExtended": clients.ErrNotExtended,
	} {
		if strings.Contains(e.Error, err.Error()) {
			return name
		}
	}
	return e.Error
}

func returned(e operation) string {
	switch e.Kind {
	case history.OK:
		return "no error"
	case history.Fail:
		return sentinel(e)
	}
	return fmt.Sprintf("the error %q", e.Error)
}

func required(e operation) string {
	switch e.Kind {
	case history.OK:
		return "no error"
	case history.Fail:
		return sentinel(e)
	}
	return "the error that it got from go-redis"
}

func ends(until time.Duration) string {
	switch until {
	case 0:
		return "still has its old end"
	case history.NoEnd:
		return "never ends"
	}
	return "ends at " + history.Seconds(until)
}

// A key is what became of a key on a node, for one lease.
type key struct {
	node, lease string
	changes     []string      // the words for them, the first of which is set
	ttl, age    time.Duration // what the node was told, and how long it kept the key
	set         time.Duration
}

var lockNode = regexp.MustCompile(`^n[1-9]$`)

// keysOf returns what became of the keys of the clients until the end of their lanes, sorted by node, and by lease.
func keysOf(h *history.History) []key {
	var all []key
	// At the end of the lanes the network heals, and requests arrive for which nobody waits any more.
	over := len(h.Events)
	for i, e := range h.Events {
		if e.Fault() == (history.Heal{}) {
			over = i
		}
	}
	for _, e := range h.Events[:over] {
		lease := e.Lease
		if e.Op != history.Set {
			lease = e.Owner
		}
		if e.Kind != history.State || e.Key != play.LockName || !lockNode.MatchString(e.Process) || history.Client(lease) == "probe" {
			continue
		}
		i := slices.IndexFunc(all, func(k key) bool { return k.node == e.Process && k.lease == lease })
		if i < 0 {
			i = len(all)
			all = append(all, key{node: e.Process, lease: lease, set: e.At, ttl: history.NoEnd})
		}
		k := &all[i]
		k.changes, k.age = append(k.changes, e.Op), e.At-k.set
		if e.Op == history.Set && e.Until != history.NoEnd {
			k.ttl = (e.Until - e.At - e.Wall).Round(time.Millisecond)
		}
	}
	slices.SortFunc(all, func(a, b key) int { return strings.Compare(a.node+" "+a.lease, b.node+" "+b.lease) })
	return all
}

func differInKeys(right, got *history.History) string {
	const late = 100 * time.Millisecond // by how much a key may be deleted earlier or later
	want, have := keysOf(right), keysOf(got)
	for i, w := range want {
		if i == len(have) || have[i].node != w.node || have[i].lease != w.lease {
			return fmt.Sprintf("%s should have set the key on %s for %s, and has not.", history.Client(w.lease), w.node, w.lease)
		}
		h := have[i]
		switch {
		case (w.ttl - h.ttl).Abs() > soon:
			return fmt.Sprintf("The key of %s on %s got %s, and should have got %s.", h.lease, h.node, lasting(h.ttl), lasting(w.ttl))
		case !slices.Equal(w.changes, h.changes), (w.age - h.age).Abs() > late:
			return fmt.Sprintf("The key of %s on %s %s, and should %s.", h.lease, h.node, h.fate(0), w.fate(1))
		}
	}
	if len(have) > len(want) {
		return fmt.Sprintf("%s should not have set the key on %s for %s.", history.Client(have[len(want)].lease), have[len(want)].node, have[len(want)].lease)
	}
	return ""
}

func lasting(ttl time.Duration) string {
	if ttl == history.NoEnd {
		return "no TTL"
	}
	return "a TTL of " + history.FormatDuration(ttl)
}

// fates are the words for what became of a key: what happened, and what should have happened.
var fates = map[string][2]string{
	history.Set:    {"is still there", "still be there"},
	history.Delete: {"was deleted", "have been deleted"},
	history.Expire: {"expired", "have expired"},
	history.Retime: {"got another TTL", "have got another TTL"},
	history.Over:   {"was overwritten", "have been overwritten"},
	history.Lose:   {"was lost", "have been lost"},
}

// fate says what became of a key, in the words for what happened (0) or for what should have happened (1).
func (k key) fate(words int) string {
	if len(k.changes) == 1 {
		return fates[history.Set][words]
	}
	var all []string
	for _, c := range k.changes[1:] {
		all = append(all, fates[c][words])
	}
	return history.List(all) + " " + history.FormatDuration(k.age.Round(time.Millisecond)) + " after it was set"
}
