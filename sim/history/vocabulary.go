package history

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// operations are what clients invoke; remarks are events of clients without an invocation.
var (
	operations = []string{Acquire, Release, Write, Read, Check, Extend, Update, Enter, Increment, Wait}
	remarks    = []string{Exit, Renew, Lost, Cancel, Unpaused}
)

// ops lists the operations of each kind of event.
var ops = map[Kind][]string{
	Invoke:   operations,
	OK:       operations,
	Fail:     operations,
	Info:     append(slices.Clone(operations), remarks...),
	Injected: append(FaultVerbs(), Missed),
	Bite:     {""},
	State:    {Set, Over, Retime, Delete, Expire, Lose, Accept, Reject, Keep, Mark, Promoted, Followed, Sdown, Odown, Leader, Refuse},
	Message:  {Deliver, Late, Drop},
}

// The process that the lock protects, and the name of the key there that clients increment where it is a counter.
const (
	ResourceName = "resource"
	CounterKey   = "counter"
)

// A vocabulary contains the names that the events of a foreign history may use: the processes in its first line, one lock, and
// the leases that were granted. An unknown name would be ignored by every property, and could hide a violation.
type vocabulary struct {
	clients, servers []string
	lock             string
	names            []string        // of the locks, if there are several
	leases           map[string]bool // that were granted
	paused           map[string]bool // what was paused at some time
}

// checkMeta returns an error if the first line names a process twice, or a replica of an unknown node: a node that counts twice
// would change the majority.
func checkMeta(m Meta) error {
	names := slices.Concat(m.Nodes, slices.Sorted(maps.Keys(m.Replicas)), m.Others, m.Clients)
	if m.Probe != "" {
		names = append(names, m.Probe)
	}
	seen := map[string]bool{ResourceName: true}
	for _, name := range names {
		switch {
		case name == "":
			return errors.New("a process without a name")
		case name == onNetwork || strings.ContainsFunc(name, unprintable):
			return fmt.Errorf("a process cannot be called %q; a name is one word, such as c1, and not %s", name, onNetwork)
		case seen[name]:
			return fmt.Errorf("two processes are called %q", name)
		}
		seen[name] = true
	}
	for i, name := range m.Names {
		if slices.Contains(m.Names[:i], name) {
			return fmt.Errorf(`"names": %q occurs twice; each lock must occur once`, name)
		}
	}
	for replica, node := range m.Replicas {
		if !slices.Contains(m.Nodes, node) {
			return fmt.Errorf(`"replicas": %s: %w`, replica, Unknown("node", node, m.Nodes))
		}
	}
	if m.TTL < 0 || m.Bound < 0 || m.CapAt < 0 {
		return errors.New(`"ttl", "bound" and "capAt" must not be negative`)
	}
	return nil
}

func unprintable(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }

func newVocabulary(m Meta) *vocabulary {
	v := &vocabulary{clients: slices.Clone(m.Clients), names: m.Names, leases: map[string]bool{}, paused: map[string]bool{}}
	if m.Probe != "" {
		v.clients = append(v.clients, m.Probe)
	}
	v.servers = slices.Concat(m.Nodes, slices.Sorted(maps.Keys(m.Replicas)), m.Others)
	return v
}

// check returns an error that says what is allowed if the next event has an unknown word.
func (v *vocabulary) check(e Event) error {
	known, ok := ops[e.Kind]
	if !ok {
		return Unknown("kind", string(e.Kind), kinds())
	}
	switch {
	case slices.Contains(known, e.Op):
	case len(known) == 1 && known[0] == "":
		return fmt.Errorf(`kind %s: an event of this kind has no "op"; leave it out`, e.Kind)
	default:
		return fmt.Errorf("kind %s: %w", e.Kind, Unknown("op", e.Op, known))
	}
	switch {
	case e.Sent < 0 || e.Sent > e.At:
		return fmt.Errorf(`"sent": %d must be from 0 to %d, which is "at": a message causes nothing before it is sent`, e.Sent, e.At)
	case e.Fence < 0:
		return fmt.Errorf(`"fence": %d must not be negative`, e.Fence)
	}
	switch e.Kind {
	case Invoke, OK, Fail, Info:
		return v.operation(e)
	case State:
		return v.change(e)
	case Message:
		return errors.Join(v.process(e.Process, v.everybody()), v.process(e.By, v.everybody()))
	}
	return v.fault(e)
}

func kinds() []string {
	return []string{string(Invoke), string(OK), string(Fail), string(Info), string(Injected), string(Bite), string(State), string(Message)}
}

// process returns an error unless a name is among the allowed ones.
func (v *vocabulary) process(name string, could []string) error {
	if slices.Contains(could, name) {
		return nil
	}
	if len(could) == 0 {
		return fmt.Errorf("unknown process %q: the first line must name it as a node, a replica, a client or the probe", name)
	}
	return Unknown("process", name, could)
}

func (v *vocabulary) everybody() []string {
	return append(slices.Concat(v.clients, v.servers), ResourceName)
}

// operation checks an event of a client.
func (v *vocabulary) operation(e Event) error {
	if err := v.process(e.Process, v.clients); err != nil {
		return err
	}
	if e.Clock == 0 && e.At > 0 {
		return fmt.Errorf(`%s %s of %s must have a "clock": what its steady clock showed, the same as "at" if the clock was right`, e.Kind, e.Op, e.Process)
	}
	if e.ID <= 0 && !slices.Contains(remarks, e.Op) && e.Op != Check && e.Op != Wait {
		return fmt.Errorf(`%s %s of %s without "id", the number that joins an invocation with its outcome, from 1`, e.Kind, e.Op, e.Process)
	}
	if e.Until == 0 && (e.Kind == OK && (e.Op == Acquire || e.Op == Extend) || e.Op == Renew) {
		return fmt.Errorf(`%s %s of %s must have an "until": when the lease ends by the steady clock of %[3]s, or %[4]d if it has no end`, e.Kind, e.Op, e.Process, NoEnd)
	}
	if e.Until < 0 {
		return fmt.Errorf(`"until": %d must not be negative: it is a time by the steady clock of %s`, e.Until, e.Process)
	}
	if e.Op == Acquire && e.Lock == "" {
		return fmt.Errorf(`%s acquire of %s without "lock", the name of the lock`, e.Kind, e.Process)
	}
	if err := v.sameLock(e); err != nil {
		return err
	}
	switch {
	case e.Op == Acquire && e.Kind == OK:
		if err := v.lease(e.Lease); err != nil {
			return err
		}
		if Client(e.Lease) != e.Process {
			return fmt.Errorf("%s cannot acquire the lease %s; its leases must be called %s#1, and so on", e.Process, e.Lease, e.Process)
		}
		v.leases[e.Lease] = true
	case e.Op == Acquire:
	case e.Lease != "", e.Op == Release, e.Op == Extend, e.Op == Renew, e.Op == Lost:
		return v.handedOut(e.Lease)
	}
	return nil
}

// change checks an event of a server or of the resource.
func (v *vocabulary) change(e Event) error {
	could := v.servers
	switch e.Op {
	case Accept, Reject, Keep, Mark:
		could = []string{ResourceName}
	case Set, Over, Retime, Delete, Expire, Lose:
		could = append(slices.Clone(v.servers), ResourceName)
		if e.Key == "" {
			return fmt.Errorf(`state %s of %s without "key"`, e.Op, e.Process)
		}
	}
	if err := v.process(e.Process, could); err != nil {
		return err
	}
	if err := v.sameLock(e); err != nil {
		return err
	}
	if e.By != "" {
		if err := v.process(e.By, v.everybody()); err != nil {
			return err
		}
	}
	if e.Process == ResourceName && e.Lease != "" {
		return v.handedOut(e.Lease)
	}
	for _, label := range []string{e.Lease, e.Owner} {
		if label == "" {
			continue
		}
		if err := v.lease(label); err != nil {
			return err
		}
	}
	return nil
}

// fault checks an event of the nemesis.
func (v *vocabulary) fault(e Event) error {
	f, err := ParseFault(e.Value)
	if _, pause := f.(Pause); pause || e.Op == (Pause{}).Verb() {
		v.paused[e.Process] = true
	}
	switch {
	case e.Kind == Injected && e.Op == (Resume{}).Verb() && !v.paused[e.Process] && slices.Contains(v.everybody(), e.Process):
		return fmt.Errorf("%s is resumed, and was not paused; an earlier fault must pause it", e.Process)
	case e.Value == "" && slices.Contains(v.everybody(), e.Process):
		return nil // it affects a process, and its op is enough
	case err != nil:
		return fmt.Errorf(`"value": %w`, err)
	case e.Kind == Injected && e.Op != Missed && e.Op != f.Verb():
		return fmt.Errorf("the op of the fault %q must be %s, not %s", e.Value, f.Verb(), e.Op)
	}
	target := f.Target()
	if target != e.Process {
		return fmt.Errorf("the process of the fault %q must be %q, not %q", e.Value, target, e.Process)
	}
	for _, separator := range []string{"->", "-"} {
		from, to, link := strings.Cut(target, separator)
		if link && slices.Contains(v.everybody(), from) && slices.Contains(v.everybody(), to) {
			return nil
		}
	}
	if target == "" { // heal, of all links
		return nil
	}
	return v.process(target, v.everybody())
}

// sameLock returns an error if an event names another lock than the events before it.
func (v *vocabulary) sameLock(e Event) error {
	switch {
	case e.Lock == "" || e.Lock == v.lock || slices.Contains(v.names, e.Lock):
		return nil
	case len(v.names) > 0:
		return fmt.Errorf("the lock must be one of the names in the first line, %s, not %q", strings.Join(v.names, ", "), e.Lock)
	case v.lock == "":
		v.lock = e.Lock
		return nil
	}
	return fmt.Errorf("the lock must be %q, as in the events before, not %q; if there are several, the first line must list them as \"names\"", v.lock, e.Lock)
}

// lease returns an error unless a label has the form of a lease.
func (v *vocabulary) lease(label string) error {
	if client, number, ok := strings.Cut(label, "#"); !ok || number == "" || !slices.Contains(v.clients, client) {
		return fmt.Errorf("the lease %q must be named after its client, such as %s#1", label, append(v.clients, "c1")[0])
	} else if n, err := strconv.Atoi(number); err == nil && n < 1 {
		return fmt.Errorf("the lease %q must have a number from 1, such as %s#1", label, client)
	}
	return nil
}

// handedOut returns an error unless a lease was granted before.
func (v *vocabulary) handedOut(label string) error {
	if v.leases[label] {
		return nil
	}
	if len(v.leases) == 0 {
		return fmt.Errorf("unknown lease %q: an earlier acquire must have handed it out", label)
	}
	return Unknown("lease", label, slices.Sorted(maps.Keys(v.leases)))
}
