// Package history represents what happened in a run, event by event, and the faults that were injected into it: as values, as
// text, and as the file that the checker and the pictures read. It does not depend on the kernel that ran it.
package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Kind is what an [Event] is.
type Kind string

// The kinds of events. Operations use Jepsen's four words: an operation is invoked, and then it is ok (it happened), fail (it
// certainly did not) or info (the outcome is unknown).
const (
	Invoke   Kind = "invoke"  // a client starts an operation
	OK       Kind = "ok"      // the operation happened
	Fail     Kind = "fail"    // the operation certainly did not happen
	Info     Kind = "info"    // the outcome is unknown; with Op "exit", "renew", "lost", "cancel" or "unpaused" it is not an operation, see there
	Injected Kind = "fault"   // the nemesis or a lane injected a fault
	Bite     Kind = "bite"    // an injected fault had its first effect; ID names it
	State    Kind = "state"   // the state of a server changed: a key was set, expired, ...; a write was accepted
	Message  Kind = "message" // a message was delivered, or lost
)

// Operations of clients (Event.Op where Kind is invoke, ok, fail or info).
const (
	Acquire = "acquire"
	Release = "release"
	Write   = "write"
	Read    = "read"
	Check   = "check"  // the client compares the end of its lease with its own clock
	Extend  = "extend" // ok: the lease ends at Until
	Update  = "update" // writes what the client read last, with one more word; Value is the word
	Enter   = "enter"  // sets the mark of a check-and-set resource to the token of the lease
	// Increment adds one to a number. Fail: it was skipped; ok: Value is the number written.
	Increment = "increment"
	Wait      = "wait" // the client sleeps by its own clock
	Exit      = "exit" // Kind Info: the client reached the end of its lane and is gone

	// Renew, of Kind Info: a lock has renewed its lease by itself, and the lease now ends at Until.
	Renew = "renew"
	// Lost, of Kind Info: the lock has told its user that the lease is lost.
	Lost = "lost"
	// Cancel, of Kind Info: the context of the acquire in progress has ended; its caller no longer waits.
	Cancel = "cancel"

	// Unpaused, of Kind Info: code of the client ran while the client was paused, as code does that waits by package time. It is
	// noted once per pause, and only if that code used the network or caused a recorded event.
	Unpaused = "unpaused"
)

// What became of a message (Event.Op where Kind is Message). Process is the receiver, By the sender.
const (
	Deliver = "deliver"
	Late    = "late" // it arrived, but its receiver had given up on the connection, or had crashed
	Drop    = "drop" // it was lost when its connection was reset
)

// Missed is Event.Op where Kind is Injected and the condition for the fault never occurred; Value is the fault.
const Missed = "missed"

// Changes of the state of servers (Event.Op where Kind is State).
const (
	Set    = "set"    // a key that did not exist got a value; the grant of a lock node is one of these
	Over   = "over"   // an existing key got another value
	Retime = "retime" // an existing key got another deadline
	Delete = "delete" // a command deleted an existing key
	Expire = "expire" // a key's deadline passed by the node's wall clock
	Lose   = "lose"   // an existing key was lost in a crash
	Accept = "accept" // the resource accepted a write
	Reject = "reject" // the resource refused a write, because of a higher fencing token or another mark
	Keep   = "keep"   // the resource stored a write as a separate version, which overwrites nothing
	Mark   = "mark"   // the mark of a check-and-set resource was set; Lease is the new one

	Promoted = "promote" // a replica became a primary
	Followed = "follow"  // a node became a replica of Value
	Sdown    = "sdown"   // a sentinel, or a voter, believes by itself that Value is down
	Odown    = "odown"   // enough of them do
	Leader   = "leader"  // it was elected to find a successor for Value

	// Refuse: a simulated node refused Value, a command of redis-server that it does not have, or the proxy of a real server did,
	// because it cannot follow it. It is noted once for each client.
	Refuse = "refuse"
)

// An Event is one record of a history. Fields that do not apply are zero.
type Event struct {
	// At is the virtual time since the start of the run: true time, which no process can read.
	At time.Duration `json:"at"`
	// Clock is the steady clock of Process at that moment, since the start of the run.
	Clock time.Duration `json:"clock"`
	// Wall is how far the wall clock of Process is ahead of true time.
	Wall time.Duration `json:"wall,omitempty"`

	Process string `json:"process"` // the process to which it happened: c1, n1, resource; for faults on links, from->to
	Kind    Kind   `json:"kind"`
	Op      string `json:"op,omitempty"`
	ID      int    `json:"id,omitempty"`    // operations: joins an invocation with its outcome, per process, from 1. Faults and bites: the number of the fault in the run, from 1
	Lock    string `json:"lock,omitempty"`  // the lock that clients contend for
	Lease   string `json:"lease,omitempty"` // the lease concerned, named after its owner: c1#2 is the second that c1 asked for

	// Until is an end. For an ok acquire: that of the lease, by the steady clock of Process since the start of the run (NoEnd if
	// the lease has none). For an extend: the end of the lease if it has changed, whatever the outcome. For set, over and retime: that of the key,
	// by the wall clock of Process since the start of the run (NoEnd if the key has none); for expire, delete and lose: the end that the key had.
	Until time.Duration `json:"until,omitempty"`
	// Sent is when the message that caused this event was sent (State by a client, Message).
	Sent time.Duration `json:"sent,omitempty"`

	// Slept and NotBefore, of an invocation, say what its lane waited for since its last operation: how long it slept by the
	// steady clock of Process, and the true time since the start of the run before which it would not have continued in any
	// case.
	Slept     time.Duration `json:"slept,omitempty"`
	NotBefore time.Duration `json:"not_before,omitempty"`
	// Within, of the invocation of an acquire, is for how long Process retries if it is refused, by its steady clock.
	Within time.Duration `json:"within,omitempty"`
	// TTL, of an acquire or an extend, is how long the lease is to last from then, if that was asked for; otherwise it is [Meta.TTL].
	TTL time.Duration `json:"ttl,omitempty"`

	Key   string `json:"key,omitempty"`   // State on a lock node: the key
	By    string `json:"by,omitempty"`    // State: the client whose command caused it, or the primary that it was replicated from; Message: the sender
	Owner string `json:"owner,omitempty"` // State: the lease that the key stood for before (over, retime, delete, expire, lose)
	Fence int64  `json:"fence,omitempty"` // fencing token, where the lock gives one
	// Keys, of an ok acquire, is how many keys the lock has on one node, if it is more than one.
	Keys int `json:"keys,omitempty"`
	// Renews, of an ok acquire: the lock renews the lease by itself, and says when it is lost. If the lease has no end, renewals
	// are silent.
	Renews bool  `json:"renews,omitempty"`
	PPM    int64 `json:"ppm,omitempty"` // Injected drift: the new rate error of the clocks of Process
	// Step, of Injected, is the step of the nemesis that it comes from, from 1. It distinguishes faults that print alike. It is
	// 0 for a fault that a client injects in its own lane, and for a consequence of another fault.
	Step int `json:"step,omitempty"`

	Value string `json:"value,omitempty"` // what was written; the printed form of a fault; the text of a message
	Word  string `json:"word,omitempty"`  // State: the word that an update added to the value; Message: the first word of the request, or of the request to which it replies
	Error string `json:"error,omitempty"` // fail and info: why
}

// Departure returns when a message, or the one that caused a state change, left its sender. A message always says so, and 0 is the
// start of the run. For a state change that does not say so, it returns when the change happened.
func (e Event) Departure() time.Duration {
	if e.Sent == 0 && e.Kind != Message {
		return e.At
	}
	return e.Sent
}

// EndsOperation reports whether e is the outcome of an operation of a client. Steps that take no time (check, wait, exit) may be a
// single event, without a number that joins it with an invocation. Events about code that ran on during a pause, and what a lock
// does or reports by itself, are not operations.
func (e Event) EndsOperation() bool {
	switch e.Kind {
	case OK, Fail, Info:
		if e.Kind == Info && (e.Op == Unpaused || e.Op == Renew || e.Op == Lost || e.Op == Cancel) {
			return false
		}
		return e.ID != 0 || e.Op != Check && e.Op != Wait && e.Op != Exit
	}
	return false
}

// Writes reports whether e may be the invocation of what the resource accepted.
func (e Event) Writes(accepted Event) bool {
	if e.Kind != Invoke || e.Lease != accepted.Lease || e.At > accepted.Departure() {
		return false
	}
	switch e.Op {
	case Write:
		return accepted.Op != Mark && e.Value == accepted.Value
	case Update:
		return accepted.Op != Mark && e.Value == accepted.Word
	case Enter:
		return accepted.Op == Mark
	}
	return false
}

// Fault returns the fault that an event of the kind [Injected] records. It is nil for all other events, for a fault whose condition
// never occurred ([Missed]), and for a text that is not a fault.
func (e Event) Fault() Fault {
	if e.Kind != Injected || e.Op == Missed {
		return nil
	}
	return e.spelled()
}

// Bites returns the fault whose first effect an event of the kind [Bite] records. It is nil for all other events.
func (e Event) Bites() Fault {
	if e.Kind != Bite {
		return nil
	}
	return e.spelled()
}

func (e Event) spelled() Fault {
	f, err := ParseFault(e.Value)
	if err != nil {
		return nil
	}
	return f
}

// NoEnd stands for a lease or a key that never ends.
const NoEnd = time.Duration(1<<63 - 1)

// Where a run takes place ([Meta.On]).
const (
	OnSim  = "sim"
	OnReal = "redis"
)

// Meta describes the run of a history.
type Meta struct {
	Scenario string   `json:"scenario"`
	Lock     string   `json:"lock"`            // name of the lock under test
	Names    []string `json:"names,omitempty"` // of the locks that clients ask for, if there are several
	For      string   `json:"for,omitempty"`   // the lock that the scenario names, if the lock under test took its place
	Label    string   `json:"label,omitempty"` // distinguishes several runs of one lock in one scenario
	On       string   `json:"on"`              // sim or redis
	Seed     uint64   `json:"seed"`
	Nodes    []string `json:"nodes"` // lock nodes, of which a majority grants a lease: n1 ...
	// Replicas says which lock node each replica copies, and may replace.
	Replicas map[string]string `json:"replicas,omitempty"`
	// Others are the servers that are neither lock nodes nor replicas of one: sentinels, the other shards of a cluster.
	Others []string `json:"others,omitempty"`
	// Persistence is what the lock nodes keep in a crash; see package nodes.
	Persistence string        `json:"persistence,omitempty"`
	Clients     []string      `json:"clients"`  // c1 ..., without the probe
	Resource    string        `json:"resource"` // kind of the resource: plain or fenced
	TTL         time.Duration `json:"ttl"`
	Probe       string        `json:"probe,omitempty"` // the client that must acquire at the end, if there is one
	// Pace is the interval between the tries of a client that keeps asking at times of its own; 0 if there is none.
	Pace time.Duration `json:"pace,omitempty"`
	// Guests says that the clients ran as WebAssembly; see the setting guests of a scenario.
	Guests bool `json:"guests,omitempty"`
	// TimersFirst says that clients, after a pause, first found the timers that had come due, then the messages that had arrived.
	TimersFirst bool `json:"timersFirst,omitempty"`
	// OtherOrder says how the run ended in the other order, if it ended differently: "UNSAFE: lease exclusion (bounded pause)".
	OtherOrder string `json:"otherOrder,omitempty"`
	// Bound is how long the probe may take.
	Bound time.Duration `json:"bound,omitempty"`
	// Cap says which limit ended the run early: "the cap of 500 events". Empty if none did.
	Cap string `json:"cap,omitempty"`
	// CapAt is when it did. The last event may have been long before.
	CapAt    time.Duration `json:"capAt,omitempty"`
	Checksum string        `json:"checksum,omitempty"`
}

// Quorum is the number of lock nodes that make a majority.
func (m Meta) Quorum() int { return len(m.Nodes)/2 + 1 }

// A History is everything that happened in one run, in order.
type History struct {
	Meta   Meta
	Events []Event
	// Foreign says that the history was not written by [History.WriteTo], or has been altered since: it may be incomplete.
	Foreign bool
}

// firstLine is the meta line. It contains a sum of the lines that follow, so that missing or altered lines are detected. It does
// not prove who has written them.
type firstLine struct {
	Meta
	Events int    `json:"events,omitempty"`
	Sum    string `json:"sum,omitempty"` // the last field: CRC-32 (IEEE) of all lines, of this one without it
}

// WriteTo writes the history as JSON lines: the meta line, then one line per event.
func (h *History) WriteTo(w io.Writer) (int64, error) {
	first, err := encode(firstLine{Meta: h.Meta, Events: len(h.Events)})
	if err != nil {
		return 0, err
	}
	var events bytes.Buffer
	for i := range h.Events {
		line, err := encode(&h.Events[i])
		if err != nil {
			return 0, err
		}
		events.Write(line)
	}
	crc := crc32.Update(crc32.ChecksumIEEE(first), crc32.IEEETable, events.Bytes())
	first = append(bytes.TrimSuffix(first, []byte("}\n")), sumField(sum(crc))+"}\n"...)
	n, err := w.Write(first)
	if err != nil {
		return int64(n), err
	}
	m, err := events.WriteTo(w)
	return int64(n) + m, err
}

// encode returns a value as a line of JSON.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}

func sum(crc uint32) string { return fmt.Sprintf("%08x", crc) }

// sumField is the form of the sum at the end of the first line.
func sumField(sum string) string { return `,"sum":"` + sum + `"` }

// Limits of a history. A run ends after a million deliveries; each event takes some hundred bytes of memory, even if its line is
// short.
const (
	mostEvents  = 2_000_000
	longestLine = 16 << 20
)

// ReadHistory reads a history that [History.WriteTo] or another program has written. Errors begin with the number of the line. A
// history without a sum of its lines is foreign, and every word in it must be a known one.
func ReadHistory(r io.Reader) (*History, error) {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, longestLine)
	h := &History{}
	var first firstLine
	var whole, events uint32 // the sums of all lines, and of those of the events, which older versions wrote
	var words *vocabulary
	line := 1
	for ; sc.Scan(); line++ {
		text := sc.Bytes()
		if line == 1 {
			if err := json.Unmarshal(text, &first); err != nil {
				return nil, fmt.Errorf("1: %w", Mistyped(err))
			}
			if err := OnlyOnce(text); err != nil {
				return nil, fmt.Errorf("1: %w", err)
			}
			h.Meta, h.Foreign = first.Meta, first.Sum == ""
			whole = crc32.ChecksumIEEE(append(bytes.Replace(text, []byte(sumField(first.Sum)), nil, 1), '\n'))
			if h.Meta.Scenario == "" {
				return nil, errors.New("1: not a history: the first line must have a \"scenario\"")
			}
			if h.Foreign {
				if err := strictly(text, &firstLine{}); err != nil {
					return nil, fmt.Errorf("1: %w", err)
				}
				if err := checkMeta(h.Meta); err != nil {
					return nil, fmt.Errorf("1: %w", err)
				}
				words = newVocabulary(h.Meta)
			}
			continue
		}
		if len(h.Events) == mostEvents {
			return nil, fmt.Errorf("%d: a history may have at most %d events", line, mostEvents)
		}
		h.Events = append(h.Events, Event{})
		e := &h.Events[len(h.Events)-1]
		decode := json.Unmarshal
		if h.Foreign {
			decode = strictly
		}
		if err := decode(text, e); err != nil {
			return nil, fmt.Errorf("%d: %w", line, Mistyped(err))
		}
		if err := OnlyOnce(text); err != nil {
			return nil, fmt.Errorf("%d: %w", line, err)
		}
		if h.Foreign {
			if err := timed(text, e); err != nil {
				return nil, fmt.Errorf("%d: %w", line, err)
			}
			if err := words.check(*e); err != nil {
				return nil, fmt.Errorf("%d: %w", line, err)
			}
		}
		whole = crc32.Update(crc32.Update(whole, crc32.IEEETable, text), crc32.IEEETable, []byte{'\n'})
		events = crc32.Update(crc32.Update(events, crc32.IEEETable, text), crc32.IEEETable, []byte{'\n'})
	}
	if err := sc.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("%d: a line may have at most %d MB", line, longestLine>>20)
	} else if err != nil {
		return nil, err
	}
	if h.Meta.Scenario == "" {
		return nil, errors.New("1: not a history: the first line must have a \"scenario\"")
	}
	if first.Events > 0 && first.Events != len(h.Events) {
		return nil, fmt.Errorf("1: this line says that the history has %d events, but it has %d", first.Events, len(h.Events))
	}
	if h.Foreign {
		if i := strayBite(h.Events); i >= 0 {
			return nil, fmt.Errorf("%d: no fault has the id %d; a bite has that of the fault which had an effect", i+2, h.Events[i].ID)
		}
	}
	if !h.Foreign && first.Sum != sum(whole) && first.Sum != sum(events) {
		return nil, fmt.Errorf(`1: the history is not as it was written: its sum was %s, and is %s; without "sum" in this line it is judged as a history from elsewhere`, first.Sum, sum(whole))
	}
	return h, nil
}

// timed returns an error if an event does not say when it was. Without a number there, it would count as the first.
func timed(text []byte, e *Event) error {
	var when struct {
		At *time.Duration `json:"at"`
	}
	if e.At == 0 && json.Unmarshal(text, &when) == nil && when.At == nil {
		return errors.New(`an event must have "at", the time since the start in nanoseconds`)
	}
	return nil
}

// strayBite returns the index of a bite of which there is no fault, or -1.
func strayBite(events []Event) int {
	faults := map[int]bool{}
	for _, e := range events {
		if e.Kind == Injected {
			faults[e.ID] = true
		}
	}
	return slices.IndexFunc(events, func(e Event) bool { return e.Kind == Bite && !faults[e.ID] })
}

// strictly is json.Unmarshal, but rejects unknown fields.
func strictly(text []byte, v any) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return errors.New("the line is empty; each line must be a JSON object")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		if field, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
			return fmt.Errorf("unknown field %s; docs/histories.md lists the fields of a history", field)
		}
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("a line must have only one JSON object")
	}
	return nil
}

// Mistyped translates an error of package json into the words of the file: what it must have there. It returns other errors
// unchanged.
func Mistyped(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		found := map[string]string{"array": "an array", "object": "an object", "bool": "a truth value"}[e.Value]
		if number, ok := strings.CutPrefix(e.Value, "number "); ok {
			found = number
		} else if found == "" {
			found = "a " + e.Value
		}
		field := strings.TrimPrefix(e.Field, "Meta.") // the embedded part of the first line
		if field == "" {
			return fmt.Errorf("the line must be %s, not %s", jsonType(e.Type), found)
		}
		return fmt.Errorf("%q must be %s, not %s", field, jsonType(e.Type), found)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) { // the error of a Decoder for a line that Unmarshal refuses in these words
		return errors.New("the line must be a JSON object: unexpected end of JSON input")
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("the line must be a JSON object: %w", e)
	}
	return err
}

// jsonType returns the JSON type for a Go type.
func jsonType(t reflect.Type) string {
	switch k := t.Kind(); {
	case t == reflect.TypeFor[time.Duration]():
		return "a whole number of nanoseconds"
	case k >= reflect.Int && k <= reflect.Int64:
		return "a whole number"
	case k >= reflect.Uint && k <= reflect.Uint64:
		return "a whole number, 0 or greater"
	case k == reflect.String:
		return "a string"
	case k == reflect.Bool:
		return "true or false"
	case k == reflect.Slice:
		return "an array"
	case k == reflect.Struct, k == reflect.Map:
		return "a JSON object"
	}
	return "a number"
}

// Seconds writes a virtual time as scenario files and violations do: in seconds, cut to the millisecond, so that a time in
// a timeline and the same time in a violation have the same digits.
func Seconds(d time.Duration) string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	return fmt.Sprintf("%s%d.%03ds", sign, d/time.Second, d%time.Second/time.Millisecond)
}

// List joins words for a sentence: a, b and c.
func List(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
