package course

import (
	"cmp"
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

// An Answer is a simple run, in which a lock must not differ from a right one in what its operations return, when its leases end, and what
// becomes of its keys. It is a scenario file, whose title says what is required; the run is the one for the lock that the exercise is like.
// A client may be another program there, if it asks for a lock with a special name, and a must is a state that a right lock does not reach.
// Stories do not find mistakes that violate no property, such as clients.ErrNotHeld where nobody knows whether the key is still there.
type Answer struct {
	Page   *script.Scenario
	Points int
}

//go:embed answers/*.txtar
var answers embed.FS

// findAnswer returns the page of an answer, with the run for a lock.
func findAnswer(name, lock string) (*script.Scenario, error) {
	data, err := answers.ReadFile("answers/" + name + ".txtar")
	if err != nil {
		return nil, fmt.Errorf("there must be a file scenarios/course/answers/%s.txtar", name)
	}
	s, err := script.Parse(name+".txtar", data)
	if err != nil {
		return nil, err
	}
	s.Runs = slices.DeleteFunc(s.Runs, func(r script.Section) bool { return r.Lock != lock })
	if len(s.Runs) != 1 {
		return nil, fmt.Errorf("scenarios/course/answers/%s.txtar must have one run of %s; it has %d", name, lock, len(s.Runs))
	}
	return s, nil
}

// run is the only run of the page.
func (a Answer) run() script.Section { return a.Page.Runs[0] }

// right plays the run with the lock that it names, which is right.
func (a Answer) right() (*play.Outcome, error) {
	build, err := clients.Find(a.run().Lock)
	if err != nil {
		return nil, err
	}
	return play.Simulate(a.Page, a.run(), amongOthers(build), 0)
}

// wrong says in a sentence how an outcome differs from that of a right lock; empty if it does not. A must of an answer is a state that the right
// lock does not reach.
func wrong(right, got *play.Outcome) string {
	for _, must := range right.Run.Musts {
		missed := func(unmet string) bool { return strings.HasPrefix(unmet, "must "+must.String()+":") }
		if slices.ContainsFunc(right.Result.Unmet, missed) && !slices.ContainsFunc(got.Result.Unmet, missed) {
			return fmt.Sprintf("In this run %s. With a right lock that does not occur.", must)
		}
	}
	return differ(right.History, got.History)
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

// tolerance is by how much the end of a lease, and the time for which a node keeps a key, may differ.
const tolerance = time.Millisecond

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
	return (o.Until-other.Until).Abs() > tolerance && (o.Until-o.began-other.Until+other.began).Abs() > tolerance
}

// needsEnd reports whether the end of the lease has to be right. An operation that did not happen need not say when the lease ends. But after
// clients.ErrNotExtended the lease goes on, and if the node has set an earlier end, it must be over.
func (o operation) needsEnd(other operation) bool {
	if sentinel(o) == "clients.ErrNotExtended" {
		return other.Until == 0 || other.Until > other.Clock
	}
	return o.Kind != history.Fail
}

func differInOperations(right, got *history.History) string {
	want, have := operations(right), operations(got)
	grow := map[string][2]int64{} // by clients, their last fencing tokens in both runs
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
		case w.Kind == history.Info && !slices.ContainsFunc(causes, func(c string) bool { return strings.Contains(h.Error, c) }):
			return fmt.Sprintf("%s returned %s, and should have returned %s.", what, returned(h), required(w))
		case w.Kind == history.OK && w.Op == history.Acquire && w.Lease != h.Lease:
			return fmt.Sprintf("%s gave %s, and should have given %s.", what, h.Lease, w.Lease)
		case w.needsEnd(h) && w.differInEnd(h):
			return fmt.Sprintf("After the %s of %s at %s the lease %s, and should end at %s.", h.Op, h.Process, history.Seconds(h.At), ends(h.Until), history.Seconds(w.Until))
		case w.Fence > grow[w.Process][0] && h.Fence <= grow[w.Process][1]:
			return fmt.Sprintf("%s gave the fencing token %d, and should have given one greater than %d.", what, h.Fence, grow[w.Process][1])
		}
		if w.Fence > 0 {
			grow[w.Process] = [2]int64{w.Fence, h.Fence}
		}
	}
	return ""
}

// causes are the words in the errors of go-redis that the answers bring about.
var causes = []string{"timeout", "deadline", "refused", "reset by peer", "EOF", "closed", "canceled", "NOREPLICAS", "EXECABORT"}

// sentinel is the error by which a lock says that an operation did not happen; empty if there is none.
func sentinel(e operation) string {
	if e.Kind != history.Fail {
		return ""
	}
	all := []struct {
		name string
		err  error
	}{{"clients.ErrNotAcquired", clients.ErrNotAcquired}, {"clients.ErrNotHeld", clients.ErrNotHeld}, {"clients.ErrNotExtended", clients.ErrNotExtended}}
	if e.Op != history.Acquire { // an Acquire may wrap that of its clean-up as well
		slices.Reverse(all)
	}
	for _, s := range all {
		if strings.Contains(e.Error, s.err.Error()) {
			return s.name
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

// A key is what became of a key on a node. A key of the lock belongs to a lease; others belong to none.
type key struct {
	node, name, lease string
	changes           []change
}

// A change is something that happened to a key.
type change struct {
	op       string        // the word for it; the first is set
	age, ttl time.Duration // since the key was set; and what it has to live if the change says so
	at       time.Duration
}

func (k key) String() string {
	if k.lease == "" {
		return fmt.Sprintf("the key %s on %s", k.name, k.node)
	}
	return fmt.Sprintf("the key of %s on %s", k.lease, k.node)
}

var lockNode = regexp.MustCompile(`^n[1-9]$`)

// keysOf returns what became of the keys of the clients until the end of their lanes, sorted by node, name and lease.
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
		if e.Kind != history.State || !lockNode.MatchString(e.Process) {
			continue
		}
		lease := e.Lease
		if e.Op != history.Set {
			lease = e.Owner
		}
		i := slices.IndexFunc(all, func(k key) bool { return k.node == e.Process && k.name == e.Key && k.lease == lease })
		if i < 0 {
			i = len(all)
			all = append(all, key{node: e.Process, name: e.Key, lease: lease})
		}
		k := &all[i]
		c := change{op: e.Op, at: e.At}
		if e.Op == history.Set || e.Op == history.Retime || e.Op == history.Over {
			c.ttl = history.NoEnd
			if e.Until != history.NoEnd {
				c.ttl = e.Until - e.At - e.Wall
			}
		}
		if last := len(k.changes) - 1; last >= 0 {
			if e.Op == history.Retime && k.changes[last].at == e.At {
				k.changes[last].ttl = c.ttl // in one script, or in one transaction
				continue
			}
			c.age = e.At - k.changes[0].at
		}
		k.changes = append(k.changes, c)
	}
	slices.SortFunc(all, func(a, b key) int {
		return cmp.Or(strings.Compare(a.node, b.node), strings.Compare(a.name, b.name), strings.Compare(a.lease, b.lease))
	})
	return all
}

// differInKeys compares the keys that a right lock sets. After an error that leaves it open whether the key is set, a client may give it back.
func differInKeys(right, got *history.History) string {
	have := keysOf(got)
	tries, unknown := map[string]int{}, map[string]bool{} // by clients, and by leases
	for _, e := range right.Events {
		switch {
		case e.Op != history.Acquire:
		case e.Kind == history.Invoke:
			tries[e.Process]++
		case e.Kind == history.Info && e.EndsOperation():
			unknown[fmt.Sprintf("%s#%d", e.Process, tries[e.Process])] = true
		}
	}
	for _, w := range keysOf(right) {
		i := slices.IndexFunc(have, func(k key) bool { return k.node == w.node && k.name == w.name && k.lease == w.lease })
		if i < 0 {
			return fmt.Sprintf("A right lock sets %s, and this one has not set it.", w)
		}
		if n := len(w.changes); unknown[w.lease] && len(have[i].changes) > n && have[i].changes[n].op == history.Delete {
			have[i].changes = have[i].changes[:n]
		}
		if text := w.differ(have[i]); text != "" {
			return strings.ToUpper(text[:1]) + text[1:]
		}
	}
	for _, h := range have {
		if last := h.changes[len(h.changes)-1]; last.ttl == history.NoEnd && !slices.ContainsFunc(keysOf(right), func(k key) bool { return k.node == h.node && k.name == h.name }) {
			return fmt.Sprintf("The key %s on %s stays for ever, and a right lock does not set it.", h.name, h.node)
		}
		if h.name == play.LockName && !slices.ContainsFunc(keysOf(right), func(k key) bool { return k.node == h.node && k.lease == h.lease }) {
			return fmt.Sprintf("A right lock does not set %s, and this one has set it.", h)
		}
	}
	return ""
}

// differ says how what became of a key differs from what should have become of it.
func (k key) differ(other key) string {
	const late = 100 * time.Millisecond // by how much a key may be deleted earlier or later
	for i, want := range k.changes {
		switch {
		case i == len(other.changes):
			return fmt.Sprintf("%s is still there, and should %s.", k, want.should())
		case want.op == history.Delete && other.changes[i].op == history.Expire && (want.age-other.changes[i].age).Abs() <= late:
			// It expired at about the time at which it should have been deleted.
		case want.op != other.changes[i].op, want.op == history.Delete && (want.age-other.changes[i].age).Abs() > late:
			return fmt.Sprintf("%s %s, and should %s.", k, other.changes[i].did(), want.should())
		case (want.ttl - other.changes[i].ttl).Abs() > tolerance:
			return fmt.Sprintf("%s got %s, and should have got %s.", k, lasting(other.changes[i].ttl), lasting(want.ttl))
		}
	}
	if n := len(k.changes); len(other.changes) > n && other.changes[n].op != history.Expire { // the run may have lasted longer
		return fmt.Sprintf("%s %s, and should not have been changed after that.", k, other.changes[n].did())
	}
	return ""
}

// isOtherTTL reports whether a sentence of [key.differ] is about a key with another TTL than the right one.
func isOtherTTL(text string) bool { return strings.Contains(text, ", and should have got ") }

func lasting(ttl time.Duration) string {
	if ttl == history.NoEnd {
		return "no TTL"
	}
	return "a TTL of " + history.FormatDuration(ttl.Round(10*time.Millisecond))
}

// fates are the words for what became of a key: what happened, and what should have happened.
var fates = map[string][2]string{
	history.Set:    {"was set", "have been set"},
	history.Delete: {"was deleted", "have been deleted"},
	history.Expire: {"expired", "have expired"},
	history.Retime: {"got another TTL", "have got another TTL"},
	history.Over:   {"was overwritten", "have been overwritten"},
	history.Lose:   {"was lost", "have been lost"},
}

func (c change) did() string    { return fates[c.op][0] + c.after() }
func (c change) should() string { return fates[c.op][1] + c.after() }

func (c change) after() string {
	if c.age == 0 {
		return ""
	}
	return " " + history.FormatDuration(c.age.Round(10*time.Millisecond)) + " after it was set"
}
