package script

import (
	"fmt"
	"time"

	"lockstep/sim/history"
)

// A Step is one line of a lane. Steps of a client are operations on the lock and the resource, and waiting; steps of the nemesis
// are faults, each with its moment. Every step is a comparable value, and its printed form is its line in the file, without the
// indentation.
type Step interface {
	String() string
}

// Lock has the client ask for the lock with this name from now on, instead of the one named lock. A lease that it has stays as it
// is, until the client gets another: see [Acquire].
type Lock struct {
	Name string
}

// Acquire asks for the lock. If Within is above zero, the client retries, after short pauses, until it has the lock or that much
// time has passed; otherwise it tries once. If Every is above zero, tries begin at multiples of it, counted from the first. If
// Cancelled is above zero, its context ends that long after the step began, unless it has returned: as in a handler whose client
// goes away, or waits no longer.
type Acquire struct {
	TTL, Within, Every, Cancelled time.Duration
}

// Release gives back the newest lease of the client, even if it no longer holds. If Cancelled is set, its context is done: as in
// a handler whose client has gone away, and which releases with the context of the request. If Oldest is set, it is instead the oldest lease
// that the client has neither released nor dropped, even if it is over, or if the client has got another one of the same lock since. If Again
// is set, the lease that the client released last is released a second time, as by a function that releases explicitly and by defer.
type Release struct {
	Cancelled bool
	Oldest    bool
	Again     bool
}

// Extend asks for the newest lease to end TTL from now, if the lock supports that; if it is zero, the TTL of the run.
type Extend struct {
	TTL time.Duration
}

// Increment acquires the lock, reads the counter, writes one more, and releases the lock. A lock with its own way to increment
// does that instead. The client waits for the lock for Within if that is above zero, otherwise for one TTL, which is what a
// waiter in nemo2018, example 3, does. A client that waited without success skips the increment.
type Increment struct {
	Within time.Duration
}

// Enter sets the mark of a check-and-set resource to the token of the newest lease (antirez, "Is Redlock safe?", 2016: the
// shared state is marked on entry, and written only while the mark is still there).
type Enter struct{}

// Write writes a value to the resource, under the newest lease. A blind write ignores the mark of a check-and-set resource.
type Write struct {
	Value string
	Blind bool
}

// Update writes back what this client read last, with one more word, under the newest lease. It is the second half of a
// read-modify-write; a pause may come before it (Kleppmann, "How to do distributed locking", 2016: "this code is broken").
type Update struct {
	Word string
}

// Read reads the resource.
type Read struct{}

// Check compares the end of the newest lease with the client's own clock, as careful code does before a write.
type Check struct{}

// Pause stops the whole process, like [history.Pause], at this point of its lane.
type Pause struct {
	For time.Duration
}

// Sleep waits by the client's own steady clock, while the process runs: connections are read, timers fire.
type Sleep struct {
	For time.Duration
}

// Until waits until an instant of true time since the start of the run, or not at all if it has passed.
type Until struct {
	Time time.Duration
}

// Stay, as the last step, keeps the process alive until the run is over, though it does nothing more: goroutines that it has
// started keep running, such as those of a lock that renews itself. Without it a client exits at the end of its lane.
type Stay struct{}

// Repeat carries out a step of a client N times.
type Repeat struct {
	N    int // 1 to [MaxRepeat]
	Step Step
}

// MaxRepeat is how often a step can be repeated.
const MaxRepeat = 100_000

// AtStart injects a fault before any lane runs. A [history.Chosen] fault waits for its message from then on.
type AtStart struct {
	Fault history.Fault
}

// At injects a fault at an instant of true time since the start of the run.
type At struct {
	Time  time.Duration
	Fault history.Fault
}

// When injects a fault right after the first event of its kind, or the Nth, or After later.
type When struct {
	Event Event
	After time.Duration
	Fault history.Fault
}

func (s Acquire) String() string {
	text := "acquire"
	for _, part := range []struct {
		word string
		d    time.Duration
	}{{" for ", s.TTL}, {" within ", s.Within}, {" every ", s.Every}, {" cancelled after ", s.Cancelled}} {
		if part.d != 0 {
			text += part.word + history.FormatDuration(part.d)
		}
	}
	return text
}

func (s Increment) String() string {
	if s.Within == 0 {
		return "increment"
	}
	return "increment within " + history.FormatDuration(s.Within)
}

func (s Extend) String() string {
	if s.TTL == 0 {
		return "extend"
	}
	return "extend " + history.FormatDuration(s.TTL)
}

func (s Release) String() string {
	switch {
	case s.Cancelled:
		return "release cancelled"
	case s.Oldest:
		return "release oldest"
	case s.Again:
		return "release again"
	}
	return "release"
}

func (s Write) String() string {
	if s.Blind {
		return "write " + s.Value + " blind"
	}
	return "write " + s.Value
}

func (Enter) String() string     { return "enter" }
func (Stay) String() string      { return "stay" }
func (s Lock) String() string    { return "lock " + s.Name }
func (s Update) String() string  { return "update " + s.Word }
func (s Repeat) String() string  { return fmt.Sprintf("repeat %d %s", s.N, s.Step) }
func (Read) String() string      { return "read" }
func (Check) String() string     { return "check" }
func (s Pause) String() string   { return "pause " + history.FormatDuration(s.For) }
func (s Sleep) String() string   { return "sleep " + history.FormatDuration(s.For) }
func (s Until) String() string   { return "until " + history.FormatDuration(s.Time) }
func (s AtStart) String() string { return s.Fault.String() }
func (s At) String() string      { return "at " + history.FormatDuration(s.Time) + " " + s.Fault.String() }

func (s When) String() string {
	after := ""
	if s.After != 0 {
		after = "+" + history.FormatDuration(s.After) + " "
	}
	return "when " + s.Event.String() + " " + after + s.Fault.String()
}

// FaultOf returns the fault of a step of the nemesis, and nil for a step of a client.
func FaultOf(step Step) history.Fault {
	switch step := step.(type) {
	case AtStart:
		return step.Fault
	case At:
		return step.Fault
	case When:
		return step.Fault
	}
	return nil
}

// Once returns what a step does each time: for a [Repeat] the step that is repeated, otherwise the step itself.
func Once(step Step) Step {
	if r, ok := step.(Repeat); ok {
		return r.Step
	}
	return step
}

// Times returns how often a step is carried out.
func Times(step Step) int {
	if r, ok := step.(Repeat); ok {
		return r.N
	}
	return 1
}
